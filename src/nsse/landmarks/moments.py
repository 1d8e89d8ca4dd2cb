"""What the samples contribute to the m × m matrices of the pencil, a block of rows at a time.

With m centres Z and Y = KC, K the N × m kernel matrix, NSSE is (derivation, section 1)

    minimise tr(C'PC)  s.t.  C'BC = I,   B = K'K,   P = K'SK + μ2 I,
    S = L_w + μ1 (diag(n_c) − EE' + 11').

Both are sums over samples. With the mean k̄_c of the rows of K in class c, K̃ the rows less that mean,

    K'K  = Σ_c ( K̃_c'K̃_c + n_c k̄_c k̄_c' )
    K'SK = Σ_c K̃_c'( μ1 n_c I + L_c )K̃_c + μ1 (Σ_c n_c k̄_c)(Σ_c n_c k̄_c)'

so a block adds to two m × m matrices and to one sum per class, and memory is O(m² + rows · m) whatever
N. The means are not known before the last block. Each row is therefore moved by a *reference* near the
mean of its class, the same for all blocks, and what the reference missed is taken off in the end: digits
are not lost to the difference of two large numbers, and single precision suffices for the products.

Departs from the paper: neighbours within a class (L_c) are looked for among the rows of the same block,
of `BLOCK_ROWS` rows in their order; whoever has rows in other chunks regroups them first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._threads import in_parallel, one_blas_thread
from nsse.graphs import class_slices
from nsse.kernels import KernelRows
from nsse.landmarks.neighborhoods import Neighbors, within_class_laplacians
from nsse.solvers.constraint import TERMS

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows whose kernel values are held at a time; neighbours are looked for among them.
BLOCK_ROWS = 4096
# Rows of the m × m matrices computed at a time, and of small ones.
PANEL, SMALL_PANEL = 256, 64


@dataclass(frozen=True)
class Terms:
    """What a block of samples must know of the whole problem.

    Attributes
    ----------
    kernel : KernelRows
        The centres.
    sigma : float
        Kernel scale, in units of length.
    pull : ndarray of shape (M,)
        μ1 n_c, with the size of class c among *all* samples.
    references : ndarray of shape (M, m)
        Rows of K near the mean of their class.
    neighbors : Neighbors
        Of the rows of a block; β None takes the mean squared edge of the block.
    """

    kernel: KernelRows
    sigma: float
    pull: Floats
    references: Floats
    neighbors: Neighbors


@dataclass(frozen=True)
class Moments:
    """Sums over rows so far: those of two runs over different rows may be added.

    Of the rows of K less their reference, K̂: their number and sum per class; ``scatter`` is Σ K̂'K̂ and
    ``spread`` Σ K̂'(μ1 n_c I + L_c)K̂, both on and below the diagonal only.
    """

    counts: Floats
    sums: Floats
    scatter: Floats
    spread: Floats

    @classmethod
    def zero(cls, n_classes: int, n_centers: int) -> Moments:
        """Before the first block."""
        square = (n_centers, n_centers)
        return cls(
            np.zeros(n_classes), np.zeros((n_classes, n_centers)), np.zeros(square), np.zeros(square)
        )

    def __add__(self, other: Moments) -> Moments:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moments(*(a + b for a, b in pairs))


# Called with the rows K̂ of a block, sorted by class: their order, their classes, and themselves.
Keep = Callable[[Ints, Ints, NDArray[Any]], None]


def block_moments(
    terms: Terms,
    X: Any,
    codes: Ints,
    into: Moments | None = None,
    keep: Keep | None = None,
    counts: Floats | None = None,
) -> Moments:
    """Add the rows of ``X`` to ``into`` (in place; None starts from zero) and return it.

    ``keep`` is given the rows K̂ of every block; ``counts`` say how many times every row counts.
    """
    total = Moments.zero(*terms.references.shape) if into is None else into
    with one_blas_thread():
        for start in range(0, len(codes), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            own = None if counts is None else counts[part]
            _add(terms, X[part], codes[part], total, keep, own)
    return total


def _add(
    terms: Terms, X: Any, codes: Ints, total: Moments, keep: Keep | None, counts: Floats | None
) -> None:
    order = np.argsort(codes, kind="stable")
    codes, counts = codes[order], None if counts is None else counts[order]
    rows = terms.kernel.measured(X[order])
    laplacians = within_class_laplacians(rows, codes, terms.neighbors, counts)
    K = terms.kernel.kernel(rows, terms.sigma)
    spread = np.empty_like(K)
    references = terms.references.astype(K.dtype)
    plain = K if counts is None or keep is None else np.empty_like(K)  # rows for `keep` have no √w
    roots = None if counts is None else np.sqrt(counts)[:, np.newaxis].astype(K.dtype)

    def fill(part: tuple[slice, Any]) -> None:
        members, L_c = part
        c = codes[members.start]
        own = K[members]
        own -= references[c]
        if roots is None:
            total.counts[c] += len(own)
            total.sums[c] += own.sum(axis=0, dtype=np.float64)
        else:
            assert counts is not None
            plain[members] = own
            total.counts[c] += counts[members].sum()
            own *= roots[members]
            total.sums[c] += (own * roots[members]).sum(axis=0, dtype=np.float64)
        spread[members] = L_c.astype(K.dtype, copy=False) @ own
        spread[members] += terms.pull[c].astype(K.dtype) * own

    in_parallel(fill, zip(class_slices(codes), laplacians, strict=True), K.size)
    add_products(K, K, total.scatter)
    add_products(K, spread, total.spread)
    if keep is not None:
        keep(order, codes, plain)


def add_products(A: NDArray[Any], F: NDArray[Any], out: Floats) -> None:
    """out += A'F on and below the diagonal: products in the precision of A, sums in double."""
    panel = PANEL if len(out) > 8 * SMALL_PANEL else SMALL_PANEL

    def fill(start: int) -> None:
        stop = min(start + panel, len(out))
        out[start:stop, :stop] += A[:, start:stop].T @ F[:, :stop]

    work = out.size * max(1, len(A) // TERMS)
    in_parallel(fill, reversed(range(0, len(out), panel)), work)  # the longest panels first


@dataclass(frozen=True)
class GramMatrices:
    """B and P of the pencil, symmetric and full, with the sums of the rows of K in every class."""

    B: Floats
    P: Floats
    class_sums: Floats


def gram_matrices(
    moments: Moments, references: Floats, mu1: float, mu2: float, centring: float = 1.0
) -> GramMatrices:
    """B = K'K and P = K'SK + μ2 I, from all rows; the matrices of ``moments`` are overwritten."""
    n = moments.counts[:, np.newaxis]
    missed = moments.sums / n  # mean of a class less its reference
    means = references + missed
    total = moments.sums.sum(axis=0) + (n * references).sum(axis=0)  # K'1
    with one_blas_thread():
        # Both in one product of short factors: + Σ n_c k̄k̄' − Σ n_c (k̄ − ref)(k̄ − ref)', and so on.
        _add_outer(moments.scatter, np.vstack([means, missed]), np.vstack([n, -n]))
        weights = np.vstack([-mu1 * n**2, [[mu1 * centring]]])
        _add_outer(moments.spread, np.vstack([missed, total]), weights)
    moments.spread[np.diag_indices(len(total))] += mu2
    return GramMatrices(moments.scatter, moments.spread, n * means)


def _add_outer(out: Floats, A: Floats, weights: Floats) -> None:
    """out += A' diag(weights) A, mirrored to the upper half."""
    for start in range(0, len(out), PANEL):
        stop = min(start + PANEL, len(out))
        out[start:stop, :stop] += (weights * A)[:, start:stop].T @ A[:, :stop]
    for start in range(0, len(out), PANEL):
        stop = min(start + PANEL, len(out))
        corner = out[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        out[start:stop, stop:] = out[stop:, start:stop].T
