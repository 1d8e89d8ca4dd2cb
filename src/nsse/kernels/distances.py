"""Squared Euclidean distances, computed once per fit and reused for every σ.

‖x − z‖² is expanded as ‖x‖² + ‖z‖² − 2x'z so that a matrix product does the work. The expansion
loses digits when the data lie far from the origin; dense data are therefore shifted by the mean of
the centres first, which changes no distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.utils.extmath import row_norms

from nsse._errors import rule_error
from nsse._threads import in_parallel
from nsse.kernels.gaussian import fill_gaussian

Floats = NDArray[np.float64]

PANEL = 256  # rows computed at a time
# Sizes of samples: the sums of their squares do not overflow, and the squares of what is left of them
# after sixteen digits do not underflow.
SMALLEST, LARGEST = 1e-140, 1e140
# Squared distances below this share of the largest are rounding: the samples are duplicates.
SAME_PLACE = 1e-14
# Samples that tell how far samples typically lie apart.
FEW = 64
# From so many pairs on the median is looked for between two shares of so many of them.
MANY_PAIRS, SOME_PAIRS, AROUND = 100_000, 4096, (0.46, 0.54)


@dataclass(frozen=True)
class Shifted:
    """Points in float64, moved so that their mean lies at the origin (sparse points stay put)."""

    points: Any
    shift: Floats | None
    norms: Floats

    @classmethod
    def of(cls, X: Any) -> Shifted:
        """Shift ``X`` by its own mean."""
        shift = None if sparse.issparse(X) else np.asarray(np.mean(X, axis=0, dtype=np.float64))
        points = _moved(X, shift)
        return cls(points, shift, row_norms(points, squared=True))

    def moved(self, X: Any) -> Any:
        """The rows of ``X`` by the same shift."""
        return _moved(X, self.shift)

    def squared_distances_from(self, X: Any) -> Floats:
        """‖x_i − z_j‖² from the rows of ``X`` to these points, never below zero."""
        return self.squared_distances_from_moved(self.moved(X))

    def squared_distances_from_moved(
        self, rows: Any, part: slice = slice(None), squares: Floats | None = None
    ) -> Floats:
        """The same from rows that were `moved` already, to all or some of these points.

        ``squares`` are their squared lengths, where they are known.
        """
        squares = row_norms(rows, squared=True) if squares is None else squares
        return _expanded(rows, squares, self.points[part], self.norms[part])

    def kernel_from_moved(
        self, rows: Any, sigma: float, part: slice = slice(None), squares: Floats | None = None
    ) -> Floats:
        """exp(−‖x_i − z_j‖²/σ²) from rows that were `moved` already."""
        K = self.squared_distances_from_moved(rows, part, squares)
        return fill_gaussian(K, sigma, K)


def squared_distances(X: Any) -> Floats:
    """All ‖x_i − x_j‖² of the rows of ``X``: symmetric to the bit, with an exact zero diagonal."""
    shifted = Shifted.of(X)
    points, norms = shifted.points, shifted.norms
    N = len(norms)
    D2 = np.empty((N, N))

    def fill(start: int) -> None:
        stop = min(start + PANEL, N)
        lower = _expanded(points[start:stop], norms[start:stop], points[:stop], norms[:stop])
        D2[start:stop, :stop] = lower
        D2[:start, start:stop] = lower[:, :start].T
        corner = np.tril(lower[:, start:], -1)
        D2[start:stop, start:stop] = corner + corner.T

    in_parallel(fill, reversed(range(0, N, PANEL)), D2.size)  # the longest panels first
    return D2


def check_distinct(X: Any) -> None:
    """Refuse samples between which no distance can be measured.

    They are all the same; or their squares overflow or underflow; or a few lie so far out that the
    distances between the others are less than the rounding of theirs.
    """
    high, low = (as_dense(extreme).astype(np.float64) for extreme in (X.max(axis=0), X.min(axis=0)))
    if np.array_equal(high, low):
        raise _all_equal()
    check_magnitude(float(max(np.abs(high).max(), np.abs(low).max())))
    spans = high - low
    if spans.max() < SMALLEST:
        raise _not_squarable("features that span no more than", float(spans.max()))
    typical, widest = _typical_square(X), float(spans.ravel() @ spans.ravel())
    if typical <= SAME_PLACE * widest:
        raise rule_error(
            "X",
            "have no samples so far from the others that these are the same beside them",
            f"features that span {np.sqrt(widest):.3g} where samples lie {np.sqrt(typical):.3g} apart",
            "Leave out the far samples, or rescale the features, by their logarithms for instance.",
        )


def check_magnitude(largest: float) -> None:
    """Refuse lengths whose squares, or the sums of them, overflow."""
    if not largest <= LARGEST:
        raise _not_squarable("values up to", largest)


def _typical_square(X: Any) -> float:
    """Squared distance that four fifths of a few samples' pairs do not exceed; infinite without pairs.

    Pairs in one place are left out. Some may be near-duplicates, and some far from all others.
    """
    some = np.unique(np.linspace(0, X.shape[0] - 1, FEW).astype(np.intp))
    squares = pdist(as_dense(X[some]).astype(np.float64), "sqeuclidean")
    return float(np.quantile(squares[squares > 0], 0.8)) if squares.any() else np.inf


def median_distance(D2: Floats, weights: Floats | None = None) -> float:
    """Median distance over the pairs of distinct points: our unit of length.

    With ``weights`` every point counts as so many, and every pair as their product.

    Pairs at distance zero are left out, so that duplicated samples do not change the unit much and
    never make it zero.
    """
    pairs = np.concatenate([D2[i, :i] for i in range(1, len(D2))])
    # Rounding leaves duplicates at a tiny positive distance; they are still no distance at all.
    apart = pairs > SAME_PLACE * pairs.max()
    distinct = pairs if apart.all() else pairs[apart]
    if distinct.size == 0:
        raise _all_equal()
    if weights is not None:
        counts = np.concatenate([weights[i] * weights[:i] for i in range(1, len(D2))])
        return float(np.sqrt(weighted_median(distinct, counts[apart])))
    return float(np.sqrt(_median(distinct)))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Of values each of which counts as often as its weight says: half of the weight on either side.

    Where it is exactly half up to a value, the middle between that and the next one.
    """
    order = np.argsort(values, kind="stable")
    reached, half = np.cumsum(weights[order]), float(weights.sum()) / 2.0
    near = 1e-12 * half
    place = int(np.searchsorted(reached, half - near))
    if abs(reached[place] - half) <= near and place + 1 < len(order):
        return float((values[order[place]] + values[order[place + 1]]) / 2.0)
    return float(values[order[place]])


def _median(values: Floats) -> float:
    middle, below, n_odd = len(values) // 2, 0, len(values) % 2
    if len(values) >= MANY_PAIRS:
        values, below = _around_the_middle(values)
    # One partition: np.median asks for two places at once, which takes five times as long.
    parted = np.partition(values, middle - below)
    if n_odd:
        return float(parted[middle - below])
    return float((parted[: middle - below].max() + parted[middle - below]) / 2)


def _around_the_middle(values: Floats) -> tuple[Floats, int]:
    """Those around the median, and how many are less than all of them: a look at each, no sorting.

    Between which values they lie is told by some from everywhere; all are given where that fails.
    """
    some = np.sort(values[:: len(values) // SOME_PAIRS])
    low, high = some[[int(share * len(some)) for share in AROUND]]
    inside = values[(values >= low) & (values <= high)]
    below, middle = int(np.count_nonzero(values < low)), len(values) // 2
    if below < middle < below + len(inside):
        return inside, below
    return values, 0


def _all_equal() -> ValueError:
    return rule_error(
        "X",
        "contain at least two distinct samples",
        "samples that are all equal",
        "Check the features: no distance, hence no kernel, can be built from these.",
    )


def _not_squarable(what: str, value: float) -> ValueError:
    return rule_error(
        "X",
        f"have values that can be squared, between {SMALLEST:.0e} and {LARGEST:.0e} in size",
        f"{what} {value:.3g}",
        "Multiply X by a constant, nothing else depends on its units; leave out single samples that lie "
        "so far from all others.",
    )


def _moved(X: Any, shift: Floats | None) -> Any:
    return X.astype(np.float64) if shift is None else as_dense(X) - shift


def _expanded(A: Any, a: Floats, B: Any, b: Floats) -> Floats:
    """‖a‖² + ‖b‖² − 2a'b for the rows of A and B with squared norms a and b."""
    with np.errstate(over="ignore", invalid="ignore"):
        D2 = complete_squares(dense_product(A, B.T), a, b)
    # New samples may lie anywhere: where ‖a‖² overflows, so does the distance.
    far = np.isinf(a)
    if far.any():
        D2[far] = np.inf
    return D2


def complete_squares(G: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """‖a‖² + ‖b‖² − 2a'b, never below zero, in the place of the products G = (a'b)."""
    G *= -2.0
    G += a[:, np.newaxis]
    G += b
    return np.maximum(G, 0.0, out=G)


def as_dense(A: Any) -> Floats:
    """A dense array of a dense or sparse matrix."""
    return np.asarray(A.toarray() if hasattr(A, "toarray") else A)


def dense_product(A: Any, B: Any) -> NDArray[Any]:
    """A B of dense or sparse factors, as a dense array."""
    return as_dense(A @ B)
