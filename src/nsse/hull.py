"""Project new rows onto the affine hull of the training rows, if there are more features than rows.

Let u be a new row behind the metric, Πu its projection onto the affine hull of the training rows z_j,
and h² = ‖u − Πu‖². Then ‖u − z_j‖² = ‖Πu − z_j‖² + h² for every j. The component outside of the hull
adds the same number to all squared distances, so it contains no information about the classes. It
multiplies all Gaussian kernel values by one small factor, so that only the class priors would matter.
The map therefore measures from Πu. A projection is a contraction, so certified radii stay valid.

Everything follows from inner products. Choose an origin o among the rows and rows p that are affinely
independent of it. With C = (z_p − o)'(z_q − o) = LL', the vectors L⁻¹(z_p − o) are an orthonormal basis
of the hull, so that

    coordinates of u:    L⁻¹ [(z_p − o)'(u − o)]_p                  (one number for every p)
    squared height of row i over the hull of the other rows:    1/(C⁻¹)_ii,    1/(1'C⁻¹1) for the origin,

because row i is the only one at which its barycentric coordinate is not zero, and (C⁻¹)_ii is the
squared slope of that coordinate. A row that the others span affinely has height zero. Leaving a row out
removes its height, as a new row has lost its own h.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# A row belongs to the hull of others if the square of its height, as a share of its squared distance
# from the origin, is below this value, because the rest is a rounding error.
FLAT = 1e-10
# Weights below this value are rounding errors.
NO_WEIGHT = 1e-5


@dataclass(frozen=True)
class Hull:
    """Affinely independent rows that span the affine hull of all rows.

    Attributes
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        Inner products of the rows.
    origin : int
        The row with the smallest norm.
    independent : ndarray of shape (rank,)
        Rows that are affinely independent of each other and of the origin.
    """

    gram: Floats
    origin: int
    independent: Ints

    @classmethod
    def of(cls, gram: Floats) -> Hull:
        """Choose independent rows by a pivoted Cholesky factorization."""
        origin = int(gram.diagonal().argmin())
        C, lengths = from_origin(gram, origin)
        apart = np.flatnonzero(lengths > 0.0)
        C = C[np.ix_(apart, apart)]
        C /= lengths[apart]
        C /= lengths[apart, np.newaxis]
        _, pivots, rank, _ = linalg.lapack.dpstrf(C.T, tol=FLAT, overwrite_a=True)
        return cls(gram, origin, apart[np.sort(pivots[:rank] - 1)])

    def within(self, gram: Floats) -> Hull:
        """Return the hull of the same rows behind an invertible linear map with these products."""
        return Hull(gram, self.origin, self.independent)

    def factor(self) -> tuple[Floats, Floats]:
        """Return L of the independent rows at unit distance from the origin, and their distances."""
        C, lengths = from_origin(self.gram, self.origin)
        own = lengths[self.independent]
        C = C[np.ix_(self.independent, self.independent)] / own / own[:, np.newaxis]
        return linalg.cholesky(C, lower=True, overwrite_a=True, check_finite=False), own

    @cached_property
    def combinations(self) -> Floats:
        """Return the weights of all rows in the vectors of the basis, of shape (rank, n_rows)."""
        L, lengths = self.factor()
        inverse = linalg.lapack.dtrtri(L, lower=True)[0] / lengths
        weights = np.zeros((len(L), len(self.gram)))
        weights[:, self.independent] = inverse
        weights[:, self.origin] -= inverse.sum(axis=1)
        return weights

    @cached_property
    def coordinates(self) -> Floats:
        """Return the coordinates of all rows, of shape (n_rows, rank)."""
        found = self._coordinates(*self.factor(), np.arange(len(self.gram)))
        return np.ascontiguousarray(found.T)

    def heights(self, rows: Ints) -> Floats:
        """Return the squared height of some rows over the affine hull of all other rows."""
        L, lengths = self.factor()
        vertices = np.append(self.independent, self.origin)
        # Column p of L⁻¹ is the slope of the barycentric coordinate of row p. The slope for the origin
        # is −Σ.
        slopes = linalg.lapack.dtrtri(L, lower=True)[0] / lengths
        slopes = np.column_stack([slopes, slopes.sum(axis=1)])
        squares = np.zeros(len(self.gram))
        squares[vertices] = 1.0 / np.maximum(np.einsum("ij,ij->j", slopes, slopes), 1e-300)
        squares[self._spanned(vertices)] = 0.0
        return np.asarray(squares[rows])

    def _spanned(self, vertices: Ints) -> Ints:
        """Return the vertices that have a weight in a row that is not a vertex."""
        others = np.setdiff1d(np.arange(len(self.gram)), vertices)
        if len(others) == 0:
            return others
        L, lengths = self.factor()
        inside = self._coordinates(L, lengths, others)
        weights = linalg.solve_triangular(L.T, inside, check_finite=False)
        of_origin = 1.0 - (weights / lengths[:, np.newaxis]).sum(axis=0, keepdims=True)
        # Compare lengths, because rows far away have small weights. The rest of a row that is equal to
        # the origin is a rounding error.
        distances = from_origin(self.gram, self.origin)[1][others]
        weights = np.where(distances > 0.0, weights / np.where(distances > 0.0, distances, 1.0), 0.0)
        return vertices[np.any(np.abs(np.concatenate([weights, of_origin])) > NO_WEIGHT, axis=1)]

    def _coordinates(self, L: Floats, lengths: Floats, rows: Ints) -> Floats:
        """Return the coordinates of some rows, one column for every row."""
        own = self.gram[self.origin]
        products = self.gram[np.ix_(self.independent, rows)] - own[rows] + own[self.origin]
        products -= own[self.independent, np.newaxis]
        products[:, rows == self.origin] = 0.0
        products /= lengths[:, np.newaxis]
        return np.asarray(linalg.solve_triangular(L, products, lower=True, check_finite=False))


def from_origin(gram: Floats, origin: int) -> tuple[Floats, Floats]:
    """Return the inner products of the rows minus the origin, and their lengths."""
    own = gram[origin]
    C = gram - own
    C -= own[:, np.newaxis]
    C += own[origin]
    C[origin] = 0.0
    C[:, origin] = 0.0
    squares = np.maximum(C.diagonal(), 0.0)
    # The rest of two equal rows is a rounding error.
    squares[squares <= FLAT * (np.abs(gram.diagonal()) + abs(own[origin]))] = 0.0
    return C, np.sqrt(squares)


def squared_heights(gram: Floats, across: Floats, squares: Floats) -> Floats:
    """Return the squared heights of other rows over the hull of the rows with these inner products.

    ``across`` are inner products of the others with the rows, and ``squares`` their squared norms.
    """
    hull = Hull.of(gram)
    o = hull.origin
    moved = across - across[:, [o]] - gram[o] + gram[o, o]
    inside = np.square(moved @ hull.combinations.T).sum(axis=1)
    return np.maximum(squares - 2.0 * across[:, o] + gram[o, o] - inside, 0.0)
