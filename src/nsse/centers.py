"""Choose the centers of the map, which are all rows or fewer.

Selectors draw rows by their labels and read only these rows, so that the same seed gives the same
centers for every source of the rows. All return centers in the units of the samples.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from nsse._support.errors import rule_error
from nsse._support.parameters import check_count
from nsse._support.threads import in_parallel
from nsse._support.types import Floats, Ints
from nsse.affine import Affine, is_sparse
from nsse.distances import BLOCK_VALUES, squared_norms
from nsse.rows import Rows, drawn

__all__ = ["CenterSelector", "CentersPerClass", "KMeansCenters", "RandomCenters"]

Centers = NDArray[Any] | sparse.csr_array

# "auto": all rows up to this number, and this number of k-means centers for more.
EXACT_UP_TO, FEWER = 5000, 3000
# Rows per cluster that k-means reads. All of many rows would take longer than the fit.
ROWS_PER_CLUSTER = 20
# Rows whose median is the middle, and by how many times their spread a mean may differ from it.
MIDDLE_ROWS, FAR = 15, 100.0
# Steps of Lloyd's algorithm. The first ones do nearly all of the work.
STEPS = 4


class CenterSelector(ABC):
    """Base class of center selectors, which choose the centers of a map from the training rows.

    A subclass defines ``__call__``. Pass an object of it as the parameter ``centers`` of
    `SmoothEmbedding`. You can also pass a function with the same arguments. A file contains the chosen
    centers, but it cannot contain your own selector. Set ``centers`` of the fitted model to None before
    you save it.

    See Also
    --------
    KMeansCenters, CentersPerClass, RandomCenters : The selectors of nsse.
    nsse.SmoothEmbedding : Takes a selector as ``centers``.

    Examples
    --------
    A selector that chooses the labeled rows that are farthest from the mean of their class:

    >>> import numpy as np
    >>> from nsse import SmoothEmbedding
    >>> from nsse.centers import CenterSelector
    >>> from sklearn.datasets import load_iris
    >>> class Farthest(CenterSelector):
    ...     def __init__(self, n_per_class):
    ...         self.n_per_class = n_per_class
    ...
    ...     def __call__(self, rows, rng):
    ...         X = rows.source.take(np.arange(len(rows)))
    ...         chosen = []
    ...         for code in range(len(rows.classes)):
    ...             own = np.flatnonzero(rows.codes == code)
    ...             distances = np.linalg.norm(X[own] - X[own].mean(axis=0), axis=1)
    ...             chosen.append(own[np.argsort(distances)[-self.n_per_class :]])
    ...         return X[np.concatenate(chosen)]
    >>> X, y = load_iris(return_X_y=True)
    >>> SmoothEmbedding(centers=Farthest(5)).fit(X, y).centers_.shape
    (15, 4)
    """

    @abstractmethod
    def __call__(self, rows: Rows, rng: np.random.Generator) -> Centers | None:
        """Return the centers.

        Parameters
        ----------
        rows : Rows
            The training rows. Equal samples of a class are one row, and augmented samples are rows as
            well. ``len(rows)`` is their number. ``rows.classes`` contains the labels, and
            ``rows.codes`` contains for each row the position of its label there, or −1 if it has none.
            ``rows.weights`` contains the weights. ``rows.source.take(positions)`` returns rows by their
            ascending positions, as an array or as a sparse matrix if ``rows.source.is_sparse``. Other
            rows are not read, so that the samples may be larger than the memory. The columns are
            standardized if the estimator has ``standardize=True``.
        rng : numpy.random.Generator
            Random numbers that follow from ``random_state`` of the estimator. A selector that draws
            from them returns the same centers in every fit with the same integer ``random_state``.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_centers, n_features) or None
            The centers in the units of ``rows``. They may be rows or any other finite numbers. None
            means that the rows themselves are the centers.
        """


@dataclass(frozen=True)
class _NumberOfCenters(CenterSelector):
    """Base class of selectors of a number of centers."""

    n_centers: int

    def __post_init__(self) -> None:
        check_count("n_centers", self.n_centers, cure="Pass for example 1000.")

    def __call__(self, rows: Rows, rng: np.random.Generator) -> Centers | None:
        """Return the centers, or None if there are no more rows than ``n_centers``."""
        return None if self.n_centers >= len(rows) else self._chosen(rows, rng)

    @abstractmethod
    def _chosen(self, rows: Rows, rng: np.random.Generator) -> Centers:
        """Return the centers if there are more rows."""


@dataclass(frozen=True)
class KMeansCenters(_NumberOfCenters):
    """Choose means of clusters, the same number in every class that has enough rows.

    Parameters
    ----------
    n_centers : int
        Number of centers. If there are not more rows than this, all rows are centers.

    See Also
    --------
    CentersPerClass : Random samples of every class, also for sparse samples.
    nsse.SmoothEmbedding : Takes it as ``centers``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.centers import KMeansCenters
    >>> X, y = load_iris(return_X_y=True)
    >>> len(SmoothEmbedding(centers=KMeansCenters(12)).fit(X, y).centers_)
    12
    """

    def __call__(self, rows: Rows, rng: np.random.Generator) -> Centers | None:
        """Return the centers. Raises an error for sparse rows."""
        if rows.source.is_sparse:
            cure = "The means of sparse rows are not sparse. Use CentersPerClass, or an integer."
            raise rule_error(
                "centers", "be another selector than KMeansCenters for sparse samples", self, cure
            )
        return super().__call__(rows, rng)

    def _chosen(self, rows: Rows, rng: np.random.Generator) -> Centers:
        places = np.flatnonzero(rows.is_labeled)
        codes = rows.codes[places]
        counts = np.bincount(codes)
        shares = equal_shares(counts, self.n_centers)
        chosen = drawn(codes, np.minimum(counts, ROWS_PER_CLUSTER * shares), rng)
        X, own = rows.source.take(places[chosen]), codes[chosen]
        X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
        sizes = np.bincount(own)
        means: dict[int, Any] = {
            c: np.sort(rng.choice(sizes[c], k, replace=False)) for c, k in enumerate(shares) if k
        }

        def move(c: int) -> None:
            means[c] = cluster_means(X[own == c], means[c])

        in_parallel(move, means, X.size)
        return np.concatenate(list(means.values()))


@dataclass(frozen=True)
class CentersPerClass(_NumberOfCenters):
    """Choose rows at random, the same number from every class that has enough rows.

    Parameters
    ----------
    n_centers : int
        Number of centers. If there are not more rows than this, all rows are centers.

    See Also
    --------
    KMeansCenters : Means of clusters, with fewer errors.
    nsse.SmoothEmbedding : Takes it as ``centers``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.centers import CentersPerClass
    >>> X, y = load_iris(return_X_y=True)
    >>> len(SmoothEmbedding(centers=CentersPerClass(12)).fit(X, y).centers_)
    12
    """

    def _chosen(self, rows: Rows, rng: np.random.Generator) -> Centers:
        places = np.flatnonzero(rows.is_labeled)
        codes = rows.codes[places]
        return rows.source.take(
            places[drawn(codes, equal_shares(np.bincount(codes), self.n_centers), rng)]
        )


@dataclass(frozen=True)
class RandomCenters(_NumberOfCenters):
    """Choose rows at random from all rows, with or without a label.

    Parameters
    ----------
    n_centers : int
        Number of centers. If there are not more rows than this, all rows are centers.

    See Also
    --------
    KMeansCenters : Means of clusters, with fewer errors.
    nsse.SmoothEmbedding : Takes it as ``centers``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.centers import RandomCenters
    >>> X, y = load_iris(return_X_y=True)
    >>> len(SmoothEmbedding(centers=RandomCenters(12)).fit(X, y).centers_)
    12
    """

    def _chosen(self, rows: Rows, rng: np.random.Generator) -> Centers:
        return rows.source.take(np.sort(rng.choice(len(rows), self.n_centers, replace=False)))


@dataclass(frozen=True)
class Given(CenterSelector):
    """Use the centers that the user chose, as rows or as indices of samples."""

    values: Any

    def __call__(self, rows: Rows, rng: np.random.Generator) -> Centers:
        """Return the centers."""
        values = self.values
        if not is_sparse(values) and np.ndim(values) == 1:
            return self._by_index(rows, np.asarray(values))
        return center_rows(values, rows.source.n_features, "hold indices of samples, or")

    def _by_index(self, rows: Rows, indices: NDArray[Any]) -> Any:
        n_samples = len(rows.given)
        whole = np.issubdtype(indices.dtype, np.integer) and len(indices) > 0
        if not whole or indices.min() < 0 or indices.max() >= n_samples:
            cure = "Pass an array with two axes for the centers themselves."
            raise rule_error("centers", f"hold indices from 0 to {n_samples - 1}", indices, cure)
        places = np.unique(rows.given[indices])
        return rows.source.take(places[places >= 0] * rows.per_sample)


def chosen_centers(centers: Any, rows: Rows, rng: np.random.Generator) -> Any:
    """Return the centers that a `centers` parameter describes, or None for the rows themselves."""
    check_centers(centers)
    if isinstance(centers, str):
        centers = None if len(rows) <= EXACT_UP_TO else FEWER
    if isinstance(centers, Integral):
        centers = CentersPerClass(int(centers)) if rows.source.is_sparse else KMeansCenters(int(centers))
    if centers is None:
        return None
    if not callable(centers):
        return Given(centers)(rows, rng)
    found = centers(rows, rng)
    return None if found is None else center_rows(found, rows.source.n_features, "return None, or")


def requested_centers(centers: Any) -> int | None:
    """Return the number of centers that a `centers` parameter contains, or None."""
    number = getattr(centers, "n_centers", centers)
    return int(number) if isinstance(number, Integral) else None


def mapped_centers(centers: Any, affine: Affine) -> Any:
    """Return a `centers` parameter for rows behind a map. Given rows are mapped as well."""
    is_given = not (centers is None or isinstance(centers, str | Integral) or callable(centers))
    if is_given and (is_sparse(centers) or np.ndim(centers) == 2):
        return affine(center_rows(centers, affine.n_features, "hold indices of samples, or"))
    return centers


def check_centers(centers: Any) -> None:
    """Raise an error if the value of a `centers` parameter is invalid, before samples are read."""
    if isinstance(centers, str) and centers != "auto":
        cure = "Or pass None, a number, rows, indices, or a selector such as KMeansCenters(1000)."
        raise rule_error("centers", 'be "auto" if it is a string', centers, cure)
    is_number = isinstance(centers, Integral) and not isinstance(centers, bool)
    if is_number and centers < 1:
        rule, cure = "be at least 1 if it is a number", "None takes all samples."
        raise rule_error("centers", rule, centers, cure)
    is_selector = callable(centers) and not isinstance(centers, type)
    is_known = centers is None or isinstance(centers, str) or is_number or is_selector
    if not is_known and not is_sparse(centers) and np.ndim(centers) not in (1, 2):
        rule = 'be "auto", None, a whole number, rows, indices or a selector'
        raise rule_error("centers", rule, centers, "Pass for example 1000, or KMeansCenters(1000).")


def center_rows(found: Any, n_features: int, rule: str) -> Any:
    """Return centers as checked rows. The errors name the user's parameter or the selector."""
    cure = "Give centers in the units of X, one per row."
    rule = f"{rule} rows of {n_features} finite numbers"
    try:
        rows = check_array(found, accept_sparse="csr", dtype=[np.float64, np.float32])
    except (TypeError, ValueError):
        raise rule_error("centers", rule, described(found), cure) from None
    if rows.shape[1] != n_features:
        raise rule_error("centers", rule, described(rows), cure)
    return rows


def described(value: Any) -> Any:
    """Return the description of rows for an error message: their shape and type, or the value itself."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return value
    words = f"{type(value).__name__} of shape {tuple(value.shape)} and type {value.dtype}"
    values = value.data if is_sparse(value) else np.asarray(value)
    is_finite = values.dtype.kind not in "fc" or bool(np.isfinite(values).all())
    return words if is_finite else f"{words} with NaN or infinite numbers"


def equal_shares(counts: Ints, total: int) -> Ints:
    """Return how many centers each class gets.

    The numbers are equal if possible, and ``total`` in all.
    """
    shares, left = np.zeros_like(counts), total
    # Starts with the smallest class, so that larger classes can replace what it lacks.
    for place, c in enumerate(order := np.argsort(counts, kind="stable")):
        shares[c] = min(counts[c], left // (len(order) - place))
        left -= shares[c]
    return shares


def cluster_means(X: Floats, first: Ints) -> Floats:
    """Take a few steps of Lloyd's algorithm from some of the rows. The center of an empty cluster stays.

    Computes in the precision of the rows, because it only finds which of them lie together.
    """
    shift = middle(X)
    Z = X - shift
    largest = float(max(Z.max(), -Z.min()))
    scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000)) if largest > 0 else 1.0
    Z *= scale
    means, n_clusters = Z[first], len(first)
    for _ in range(STEPS if n_clusters < len(Z) else 0):
        size, half = max(1, BLOCK_VALUES // n_clusters), squared_norms(means) / 2.0
        parts = (Z[start : start + size] for start in range(0, len(Z), size))
        nearest = np.concatenate([(part @ means.T - half).argmax(axis=1) for part in parts])
        sizes = np.bincount(nearest, minlength=n_clusters)
        members = sparse.csr_array(
            (np.ones(len(Z), Z.dtype), (nearest, np.arange(len(Z)))), shape=(n_clusters, len(Z))
        )
        full = sizes > 0
        means[full] = (members @ Z)[full] / sizes[full, np.newaxis]
    return np.asarray(means / scale + shift, dtype=np.float64)


def middle(X: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of the rows, or the median of a few of them if far rows have moved the mean away.

    Rows in single precision would be the same behind a mean that lies far from all of them.
    """
    mean = X.mean(axis=0)
    some = np.linspace(0, len(X) - 1, min(MIDDLE_ROWS, len(X))).astype(np.intp)
    few = np.sort(X[some], axis=0)
    quarter = len(few) // 4
    usual = float((few[-1 - quarter] - few[quarter]).max())
    median = few[len(few) // 2]
    return median if 0.0 < FAR * usual < np.abs(mean - median).max() else mean
