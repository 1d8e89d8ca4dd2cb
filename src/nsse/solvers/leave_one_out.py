"""The scores that samples have where they were not learned from, without learning again.

Scores are a regression of class indicators E on features φ (`solvers.closed_form`): kernel values, and a
constant at the price α where that is finite. With row weights w, feature penalties ν and

    T = Σ w_i φ_i φ_i' + N,   A = T⁻¹,   c = A Σ w_i φ_i e_i',   h = φ_i'Aφ_i,

leaving out row i gives at φ_i the well known p = (c'φ_i − w h e_i)/(1 − w h). A sample that is a centre
takes its feature with it, which a new sample has none of: with its coefficient held at zero,

    p − F q/(a (1 − w h) + w F²),   a = A_ii,   F = (Aφ_i)_i,   q = c_i − w F (e_i − p).

Where all samples are centres and count once, T = K² + νI commutes with K: h = 1 − ν A_ii, and F is the
sum of a row of A times K, value by value. One inverse serves all rows (`left_out_of_samples`).

Rows that go together, a sample and its copies Φ with the centres S that they are: with
z = √WΦc of the coefficients without them, M = (√WΦ; I_S), (g, h) = (MAM', MA Σ w φ e' of the others),

    (I − g_11) z + g_12 λ = h_1,   −g_21 z + g_22 λ = h_2.

Targets are centred by the shares π of the samples that are left, s = π + p − (p1)π: all is linear.
Exact for the regression that it is, that of class means without L_w where classes have equal sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack, solve_triangular
from scipy.linalg.blas import dsyrk

from nsse._threads import one_blas_thread

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)
# Samples of an exact fit that the regression is made of, and those that are left out: a temperature
# needs no more, and each costs two triangular solves.
MOST_SAMPLES, MOST_ROWS = 1000, 500
PANEL = 128  # of them at a time


@dataclass(frozen=True)
class IndicatorRegression:
    """Sums over all rows that the regression is made of.

    Attributes
    ----------
    products : ndarray of shape (m, m)
        Σ w_i φ_i φ_i' of the kernel features.
    class_sums : ndarray of shape (M, m)
        Σ w_i φ_i over the rows of every class.
    sizes : ndarray of shape (M,)
        Σ w_i over the rows of every class.
    smoothness : float
        ν.
    constant_price : float
        α; infinite where there is no constant.
    """

    products: Floats
    class_sums: Floats
    sizes: Floats
    smoothness: float
    constant_price: float

    @one_blas_thread()
    def left_out(self, rows: Floats, codes: Ints, weights: Floats, own: Ints) -> Floats:
        """Scores (rows × M) of rows that are among those summed, each without itself; once only.

        Parameters
        ----------
        rows : ndarray of shape (r, m)
            φ of some rows.
        codes, weights : ndarrays of shape (r,)
            Their classes and w.
        own : ndarray of int, shape (r,)
            Which feature is a row's own and goes with it; −1 where none is.
        """
        T, sums = self._with_constant()
        factor, _ = _factor(T)
        c = cho_solve(factor, sums.T, check_finite=False)  # features × M
        found = [
            self._some_left_out(factor, c, rows[part], codes[part], weights[part], own[part])
            for part in (slice(start, start + PANEL) for start in range(0, len(codes), PANEL))
        ]
        return np.concatenate(found) if found else np.empty((0, len(self.sizes)))

    def _some_left_out(
        self,
        factor: tuple[Floats, bool],
        c: Floats,
        rows: Floats,
        codes: Ints,
        weights: Floats,
        own: Ints,
    ) -> Floats:
        features = rows if len(c) == rows.shape[1] else np.c_[rows, np.ones(len(rows))]
        half = _solved(factor, features.T)
        targets, w = np.eye(len(self.sizes))[codes], weights[:, np.newaxis]
        h = np.einsum("ij,ij->j", half, half)[:, np.newaxis]
        rest = np.maximum(1.0 - w * h, EPS)  # positive but for rounding
        p = (features @ c - w * h * targets) / rest
        centres = np.flatnonzero(own >= 0)
        if centres.size:
            unit = np.zeros((len(c), len(centres)))
            unit[own[centres], np.arange(len(centres))] = 1.0
            unit = _solved(factor, unit)
            a = np.einsum("ij,ij->j", unit, unit)[:, np.newaxis]
            F = np.einsum("ij,ij->j", unit, half[:, centres])[:, np.newaxis]
            v, left = w[centres], rest[centres]
            q = c[own[centres]] - v * F * (targets[centres] - p[centres])
            p[centres] -= F * q / (a * left + v * F**2)
        return _centred(p, targets, w, self.sizes)

    @one_blas_thread()
    def left_out_together(self, rows: Floats, codes: Ints, weights: Floats, own: Ints) -> Floats:
        """Scores (groups × M) of the first row of every group, without all rows of it; once only.

        Parameters
        ----------
        rows : ndarray of shape (g, k, m)
            φ of the rows of groups.
        codes : ndarray of shape (g,)
            Classes, one for all rows of a group.
        weights : ndarray of shape (g, k)
            w of the rows.
        own : ndarray of int, shape (g, k)
            Which feature is a row's own and goes with it; −1 where none is.
        """
        T, sums = self._with_constant()
        factor, _ = _factor(T)
        c = cho_solve(factor, sums.T, check_finite=False)  # features × M
        targets = np.eye(len(self.sizes))[codes]
        found = [
            self._group_left_out(factor, c, *each)
            for each in zip(rows, targets, weights, own, strict=True)
        ]
        p = np.array(found).reshape(len(codes), len(self.sizes))
        return _centred(p, targets, weights.sum(axis=1, keepdims=True), self.sizes)

    def _group_left_out(
        self, factor: tuple[Floats, bool], c: Floats, rows: Floats, e: Floats, w: Floats, own: Ints
    ) -> Floats:
        features = rows if len(c) == rows.shape[1] else np.c_[rows, np.ones(len(rows))]
        centres, roots, k = np.unique(own[own >= 0]), np.sqrt(w), len(rows)
        M = np.zeros((k + len(centres), len(c)))
        M[:k] = features * roots[:, np.newaxis]
        M[k + np.arange(len(centres)), centres] = 1.0
        half = _solved(factor, M.T)
        G = half.T @ half
        h = M @ c - G[:, :k] @ (roots[:, np.newaxis] * e)
        system = np.block([[np.eye(k) - G[:k, :k], G[:k, k:]], [-G[k:, :k], G[k:, k:]]])
        return np.asarray(np.linalg.lstsq(system, h, rcond=EPS)[0][0] / roots[0])

    def _with_constant(self) -> tuple[Floats, Floats]:
        """T and class sums, with a constant where its price is finite."""
        m = len(self.products)
        if math.isinf(self.constant_price):
            T = self.products  # used up
            T[np.diag_indices(m)] += self.smoothness
            return T, self.class_sums
        T = np.empty((m + 1, m + 1))
        T[:m, :m] = self.products
        T[m, :m] = T[:m, m] = self.class_sums.sum(axis=0)
        T[m, m] = self.sizes.sum() + self.constant_price
        T[np.arange(m), np.arange(m)] += self.smoothness
        return T, np.c_[self.class_sums, self.sizes]


@one_blas_thread()
def left_out_of_samples(K: Floats, codes: Ints, smoothness: float, some: Ints) -> Floats:
    """Scores of ``some`` samples, each without itself: all are centres, and f has no constant."""
    T, E = _gram(K), np.eye(int(codes.max()) + 1)[codes]
    T[np.diag_indices(len(T))] += smoothness
    factor, added = _factor(T)
    c = cho_solve(factor, K @ E, check_finite=False)
    inverse, _ = lapack.dpotri(factor[0], lower=1, overwrite_c=1)  # one half of it
    a = np.diag(inverse)[some, np.newaxis]
    products = np.tril(inverse) * K
    F = products.sum(axis=1) + products.sum(axis=0) - np.diag(products)
    F, targets = F[some, np.newaxis], E[some]
    rest = np.maximum((smoothness + added) * a, EPS)
    p = (K[some] @ c - (1.0 - rest) * targets) / rest
    p -= F * (c[some] - F * (targets - p)) / (a * rest + F**2)
    return _centred(p, targets, 1.0, E.sum(axis=0))


def _centred(p: Floats, targets: Floats, weights: Floats | float, sizes: Floats) -> Floats:
    """Scores from the regression of indicators: those of targets less the shares of what is left."""
    shares = (sizes - weights * targets) / (sizes.sum() - weights)
    return np.asarray(shares + p - p.sum(axis=1, keepdims=True) * shares)


def _factor(T: Floats) -> tuple[tuple[Floats, bool], float]:
    """Cholesky's, in the place of T; where ν is less than the rounding of T, with as much added."""
    diagonal = np.diag(T).copy()
    added, largest = 0.0, float(diagonal.sum())
    while True:
        try:
            # Its transpose, stored by columns, is taken as it is, and one half of it overwritten.
            return cho_factor(T.T, lower=True, overwrite_a=True, check_finite=False), added
        except LinAlgError:
            added = max(10.0 * added, EPS * largest)
            for i in range(1, len(T)):
                T[:i, i] = T[i, :i]  # from the other half
            T[np.diag_indices(len(T))] = diagonal + added


def _solved(factor: tuple[Floats, bool], A: Floats) -> Floats:
    return np.asarray(solve_triangular(factor[0], A, lower=True, check_finite=False))


def some_of(codes: Ints, sizes: Floats, weights: Floats, most: int = MOST_ROWS) -> Ints:
    """Rows to leave out: all, or as many as that from all classes; none that is all of its class."""
    order = np.argsort(codes, kind="stable")
    order = order[weights[order] < sizes[codes[order]] * (1.0 - 1e-9)]
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).astype(np.intp)]
    return np.sort(order).astype(np.intp)


def _gram(A: Floats) -> Floats:
    """A'A, both halves, for the work of one."""
    half = np.asarray(dsyrk(1.0, A.T, lower=1))  # by columns: its transpose is stored by rows
    half += np.tril(half, -1).T
    return half.T


def regression_of_samples(
    K: Floats, codes: Ints, weights: Floats, smoothness: float, constant_price: float
) -> tuple[IndicatorRegression, Floats]:
    """The regression where all samples are centres, and its features: columns of ``K`` times √w.

    A sample of weight w stands for w equal ones, which share a coefficient; so the penalty of its own is
    divided by w.
    """
    features = weighted = K
    if np.any(weights != 1.0):
        roots = np.sqrt(weights)
        features = K * roots
        weighted = features * roots[:, np.newaxis]  # symmetric
    n_classes = int(codes.max()) + 1
    E = np.eye(n_classes)[codes] * weights[:, np.newaxis]
    with one_blas_thread():
        products = _gram(weighted)
        sums = E.T @ features
    sizes = E.sum(axis=0)
    return IndicatorRegression(products, sums, sizes, smoothness, constant_price), features
