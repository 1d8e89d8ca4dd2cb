"""Which centres: selectors that draw samples, or the middles of what they draw.

All of them draw indices into the training samples from the labels, so that the same seed gives the same
centres whether the samples lie in memory, on disk or on a cluster, and then take those rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse._threads import in_parallel, one_blas_thread
from nsse.graphs import first_of_tied
from nsse.kernels import check_distinct, precision_of, squared_distances_between

Ints = NDArray[np.intp]
Take = Callable[[Ints], Any]

# Candidates per centre among which k-means++ picks, and samples per cluster of k-means: all of them
# would take longer than the fit.
CANDIDATES = 4
CLUSTERED = 10
# Steps of Lloyd's algorithm: the first ones do nearly all of the work.
STEPS = 4
ROWS = 1024  # assigned to clusters at a time


@dataclass(frozen=True)
class Centers:
    """Rows, and which samples they are (None: they are no samples)."""

    rows: Any
    indices: Ints | None

    @classmethod
    def among(cls, indices: Ints, take: Take) -> Centers:
        """Some of the samples, as floating-point numbers and apart from them."""
        rows = take(indices)
        keep = rows.dtype in (np.float32, np.float64)
        return cls(rows.copy() if keep else rows.astype(np.float64), indices)


Selector = Callable[[Ints, int, np.random.Generator, Take], Centers]


def at_random(codes: Ints, n_centers: int, rng: np.random.Generator, take: Take) -> Centers:
    """Draw from all samples, every one with the same chance."""
    return Centers.among(_sorted(rng.choice(len(codes), n_centers, replace=False)), take)


def per_class(codes: Ints, n_centers: int, rng: np.random.Generator, take: Take) -> Centers:
    """Draw the same number from every class, as far as its samples go."""
    return Centers.among(_drawn(codes, equal_shares(np.bincount(codes), n_centers), rng), take)


def kmeans_plus_plus(codes: Ints, n_centers: int, rng: np.random.Generator, take: Take) -> Centers:
    """Spread the centres: far samples are drawn with a greater chance (k-means++), from candidates."""
    from sklearn.cluster import kmeans_plusplus

    n_candidates = min(len(codes), CANDIDATES * n_centers)
    candidates = _drawn(codes, equal_shares(np.bincount(codes), n_candidates), rng)
    rows = take(candidates)
    check_distinct(rows)
    seed = int(rng.integers(2**31 - 1))
    with one_blas_thread():  # thousands of small products
        _, chosen = kmeans_plusplus(rows.astype(precision_of(rows.dtype)), n_centers, random_state=seed)
    return Centers.among(_sorted(candidates[chosen]), take)


def kmeans(codes: Ints, n_centers: int, rng: np.random.Generator, take: Take) -> Centers:
    """The same number of clusters in every class; the centres are their means, no samples.

    A mean stands for its neighbourhood better than any one sample in it, and to look for clusters inside
    a class costs a fraction of what it does among all samples.
    """
    counts = np.bincount(codes)
    if n_centers == len(codes):  # every sample is a cluster
        return per_class(codes, n_centers, rng, take)
    shares = equal_shares(counts, n_centers)
    drawn = _drawn(codes, np.minimum(counts, CLUSTERED * shares), rng)
    rows = take(drawn)
    if sparse.issparse(rows):
        raise rule_error(
            "landmarks",
            'be another than "kmeans" for sparse samples',
            "kmeans",
            'The means of sparse rows are not sparse; take "per-class".',
        )
    check_distinct(rows)
    kept = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
    classes = [c for c, share in enumerate(shares) if share]
    streams = rng.spawn(len(classes))
    means: list[Any] = [None] * len(classes)

    def fill(place: int) -> None:
        c = classes[place]
        means[place] = cluster_means(rows[codes[drawn] == c], shares[c], streams[place])

    in_parallel(fill, range(len(classes)), rows.size)
    return Centers(np.concatenate(means).astype(kept), None)


SELECTORS: dict[str, Selector] = {
    "kmeans": kmeans,
    "per-class": per_class,
    "random": at_random,
    "kmeans++": kmeans_plus_plus,
}


def cluster_means(rows: NDArray[Any], n_clusters: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A few steps of Lloyd's algorithm from random samples; a cluster that runs empty stays put.

    Sums are in a fixed order: the bits do not depend on the number of threads.
    """
    shift = rows.mean(axis=0, dtype=np.float64)
    X = np.subtract(rows, shift, dtype=np.float64)
    # In single precision numbers far from one have no square: an exact change of units first.
    exponent = _exponent(X)
    X = (np.ldexp(X, -exponent) if exponent else X).astype(precision_of(rows.dtype))
    means = X[_sorted(rng.choice(len(X), n_clusters, replace=False))]
    for _ in range(STEPS if n_clusters < len(X) else 0):
        nearest = _nearest(X, means)
        sizes = np.bincount(nearest, minlength=n_clusters)
        by_cluster = np.argsort(nearest, kind="stable"), np.append(0, np.cumsum(sizes))
        members = sparse.csr_array((np.ones(len(X)), *by_cluster), shape=(n_clusters, len(X)))
        full = sizes > 0
        means[full] = (members @ X)[full] / sizes[full, np.newaxis]
    return np.asarray(np.ldexp(means.astype(np.float64), exponent) + shift)


def _exponent(X: NDArray[np.float64]) -> int:
    """Of the power of two next to the largest number; 0 for what lies between 1e-9 and 1e9."""
    largest = max(float(X.max()), -float(X.min()))
    return 0 if 1e-9 < largest < 1e9 or largest == 0 else int(np.frexp(largest)[1])


def _nearest(X: NDArray[Any], means: NDArray[Any]) -> Ints:
    """Index of the nearest mean, the first of those that tie."""
    out = np.empty(len(X), dtype=np.intp)
    norms = np.einsum("ij,ij->i", means, means)
    size2 = float(np.median(norms))

    def fill(start: int) -> None:
        part = slice(start, start + ROWS)
        out[part] = first_of_tied(squared_distances_between(X[part], means, norms), size2)

    in_parallel(fill, range(0, len(X), ROWS), len(X) * len(means))
    return out


def stratified(codes: Ints, n_rows: int, rng: np.random.Generator) -> Ints:
    """A subsample with the proportions of the classes, and at least two of each that has them."""
    counts = np.bincount(codes)
    wanted = np.maximum(np.round(n_rows * counts / len(codes)), 2).astype(np.intp)
    return _drawn(codes, np.minimum(wanted, counts), rng)


def equal_shares(counts: Ints, total: int) -> Ints:
    """How many to draw from every class: the same, but no more than there are; ``total`` in all."""
    shares, left = np.zeros_like(counts), total
    # The smallest class first: what it cannot give, the larger ones do.
    for place, c in enumerate(order := np.argsort(counts, kind="stable")):
        shares[c] = min(counts[c], left // (len(order) - place))
        left -= shares[c]
    return shares


def _drawn(codes: Ints, shares: Ints, rng: np.random.Generator) -> Ints:
    """So many samples of every class."""
    drawn = [
        rng.choice(np.flatnonzero(codes == c), share, replace=False) for c, share in enumerate(shares)
    ]
    return _sorted(np.concatenate(drawn))


def _sorted(indices: Any) -> Ints:
    return np.sort(indices).astype(np.intp)
