"""Contain the rows of a fit in its metric, and the affine map that takes new rows to the metric.

Rows are first centered and divided by a power of two, so that their values are of order one. If there
are no more rows than features, the map also projects new rows onto the affine hull of the rows
(`nsse.hull`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._support.errors import Described, rule_error
from nsse._support.types import Matrix, SamplesLike
from nsse.affine import Affine, dense_array, is_sparse
from nsse.distances import distances_from, products, squared_distances
from nsse.hull import Hull

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Rows whose median is the middle of all.
MIDDLE_ROWS = 15
# Stored values of sparse rows that are looked at for their usual size.
SOME_VALUES = 1000
# Usual values below this share of the largest one have no digits left.
LEAST_USUAL = 1e-50
# Values of the largest matrix of a metric, 2 GiB.
LARGEST = 2 * 1024**3 // 8


class Root(Protocol):
    """A with the rows Z before it."""

    @property
    def Z(self) -> Any:  # noqa: N802
        """Return the rows before A."""

    def projector(self, weights: Floats) -> tuple[Any, Floats | None]:
        """Return T, as a product of two factors or as one of them, with x'T = x'A'A Σ_j weights_j z_j.

        T has one column for every row of weights.
        """


@dataclass(frozen=True)
class Identity:
    """A = I, with the rows Z before it."""

    Z: Matrix

    def projector(self, weights: Floats) -> tuple[Any, Floats | None]:
        """Return Z' and the weights of sparse rows, and their product for dense rows."""
        if is_sparse(self.Z):
            return sparse.csr_array(self.Z.T), weights.T
        return (weights @ self.Z).T, None


@dataclass(frozen=True)
class Projection:
    """The matrix that takes new rows to coordinates of the hull, formed when first needed."""

    hull: Hull
    root: Root

    @cached_property
    def factors(self) -> tuple[Any, Floats | None]:
        """Return the factors of the matrix."""
        return self.root.projector(self.hull.combinations)

    @property
    def matrix(self) -> Any:
        """Return the first factor of the matrix."""
        return self.factors[0]

    @property
    def tail(self) -> Floats | None:
        """Return the second factor of the matrix, if there is one."""
        return self.factors[1]

    @cached_property
    def rows(self) -> Floats:
        """Return the coordinates of the rows."""
        return self.hull.coordinates


@dataclass(frozen=True)
class Learned:
    """Contain the rows that a metric was learned from, multiplied by its matrix A.

    Attributes
    ----------
    affine : Affine
        The map of rows to the metric, with values of order one.
    rows : ndarray or csr_array of shape (n_rows, n_outputs), or function returning it
        The rows.
    unit : float
        The factor that multiplies lengths in the units of the samples.
    gram : ndarray of shape (n_rows, n_rows) or None
        Inner products of the rows, if they are known.
    hull : Hull or None
        The affine hull of the rows before A. None if new rows are not projected onto it.
    root : Root or None
        A with the rows before it. None if there is no hull.
    """

    affine: Affine
    rows: Any
    unit: float
    gram: Floats | None = None
    hull: Hull | None = None
    root: Root | None = None

    def with_hull(self) -> Learned:
        """Return these rows with their hull, if there are no more rows than features. A is I."""
        if self.rows.shape[0] > self.affine.n_features:
            return self
        gram = products(self.rows, self.rows)
        return replace(self, gram=gram, hull=Hull.of(gram), root=Identity(self.rows))

    def projected(self) -> Learned:
        """Return the rows in coordinates of their hull, onto which the affine map projects new rows."""
        if self.hull is None or self.gram is None or self.root is None:
            return self
        hull, scale = self.hull.within(self.gram), self.affine.scale
        projection = Projection(hull, self.root)
        later: dict[str, Any] = {
            name: partial(getattr, projection, name) for name in ("matrix", "tail", "rows")
        }
        rows = later.pop("rows")
        shift = self.affine.shift + dense_array(self.root.Z[[hull.origin]]).ravel() / scale
        affine = Affine(shift, scale, np.zeros(len(hull.independent)), **later)
        return replace(self, affine=affine, rows=rows)

    @property
    def formed_rows(self) -> Any:
        """Return the rows, formed now if they are given by a function."""
        return self.rows() if callable(self.rows) else self.rows

    def distances(self, places: Ints | None = None) -> Floats:
        """Return squared distances of all rows, or of some of them."""
        if self.gram is not None:
            return distances_from(self.gram if places is None else self.gram[np.ix_(places, places)])
        Z = self.rows if places is None else self.rows[places]
        # features that are constant, such as the edges of images, do not distinguish samples
        if not is_sparse(Z):
            Z = Z[:, Z.max(axis=0) > Z.min(axis=0)]
        return squared_distances(Z, Z) if is_sparse(Z) else distances_from(Z @ Z.T, overwrite=True)


def centered(X: SamplesLike) -> Affine:
    """Return a map that centers rows and makes them of order one by a power of two.

    Sparse rows stay in place.

    The middle is the median of a few rows, so that one distant row does not move it.
    """
    n_features = X.shape[1]
    shift: Any
    if is_sparse(X):
        shift, largest = np.zeros(n_features), float(abs(X.data).max(initial=0.0))
        some = abs(X.data[:: 1 + len(X.data) // SOME_VALUES])
        usual = float(np.median(some[some > 0])) if some.any() else 0.0
    else:
        few = np.linspace(0, X.shape[0] - 1, min(MIDDLE_ROWS, X.shape[0])).astype(np.intp)
        ordered, quarter = np.sort(np.asarray(X[few], dtype=np.float64), axis=0), len(few) // 4
        shift = ordered[len(few) // 2]
        usual = float((ordered[-1 - quarter] - ordered[quarter]).max())
        largest = float(np.maximum(X.max(axis=0) - shift, shift - X.min(axis=0)).max())
    if 0.0 < usual < LEAST_USUAL * largest:
        rule = f"have no value more than {1 / LEAST_USUAL:.0e} times as large as the usual ones"
        cure = "Leave the samples with the largest values out, or mark the values as missing."
        raise rule_error("X", rule, Described(f"values up to {largest:.1e}"), cure)
    unit = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000)) if largest > 0 else 1.0
    return Affine.diagonal(shift, np.full(n_features, unit))


def dense_rows(X: SamplesLike) -> Floats:
    """Return dense or sparse rows as a dense float64 array."""
    if is_sparse(X):
        if X.shape[0] * X.shape[1] > LARGEST:
            raise too_large(*X.shape)
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


def too_large(n_rows: int, n_columns: int) -> ValueError:
    """Return the error for a matrix of a metric that would be too large."""
    sizes = [f"{8 * n_values / 1024**3:.1f} GiB" for n_values in (LARGEST, n_rows * n_columns)]
    cure = "Pass metric=None, or reduce the features first (TruncatedSVD)."
    rule = f"have matrices of at most {sizes[0]} in a learned metric"
    return rule_error("X", rule, Described(f"{n_rows} × {n_columns}, {sizes[1]}"), cure)
