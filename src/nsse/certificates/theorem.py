"""Theorem 1 of the paper, term by term, for a fitted map and its training samples.

If ‖y_i − y_j‖ < A_δ for samples of a class with ‖x_i − x_j‖ ≤ 2δ, ‖y_i − y_j‖ > γ for samples of
different classes, f has the Lipschitz constant L and

    L δ + √d ε + A_δ ≤ γ/2,                                                                     (4)

then for any Q > 0 a sample of class m with N_m > Q/η_m training samples is classified correctly by the
nearest neighbor in the embedding with a probability of at least

    1 − exp(−2 (N_m η_m − Q)²/N_m) − 2d exp(−Q ε²/(2 L² δ²)),                                   (5)

where η_m is the smallest measure that the distribution of class m gives to a ball of radius δ around a
point of its support. η_m is unknown. It is replaced by an estimate here, so the value of (5) is an
estimate too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import is_sparse
from nsse.certificates.generalization import nearest_own_and_other
from nsse.certificates.lipschitz import lipschitz_constant
from nsse.certificates.radii import checked_samples, require_certifiable
from nsse.distances import squared_distances

Q_GRID = 256  # values of Q that are tried for every class
DELTA_GRID = 64


@dataclass(frozen=True)
class Theorem1:
    """The terms of Theorem 1. Arrays have one entry per class, in the order of `classes`.

    Attributes
    ----------
    gamma, A_delta, lipschitz : float
        γ is the smallest distance between classes in the embedding. A_δ is the largest distance in the
        embedding between samples of a class that are at most 2δ apart, or 0 if there are none. L is the
        smallest proved Lipschitz constant.
    delta, epsilon : float
        δ and ε, which were given or chosen.
    left, right : float
        Both sides of condition (4).
    largest_delta : float
        The largest δ for which (4) holds with the given ε, or with ε → 0. It is 0 if there is none.
    n_components : int
        d.
    classes, class_sizes : ndarray
        Labels, and the N_m.
    eta_estimate : ndarray
        η_m for the sample: the smallest share of a class, without the center, in an open ball of radius
        δ around one of its samples. **An estimate**, not a bound.
    Q : ndarray
        Q, which was given or chosen. It is NaN if no Q has N_m η_m > Q.
    bound_estimate : ndarray
        The right-hand side of (5) **with the estimate of η_m**, or NaN if the theorem has no statement
        because (4) does not hold or N_m η_m ≤ Q. A value below 0 contains no information, and is not
        changed.

    See Also
    --------
    theorem_1 : Computes the terms.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import theorem_1
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> terms = theorem_1(model, X[::3], y[::3])
    >>> terms.met == (terms.left <= terms.right), terms.bound_estimate.shape
    (True, (3,))
    """

    gamma: float
    A_delta: float
    lipschitz: float
    delta: float
    epsilon: float
    left: float
    right: float
    largest_delta: float
    n_components: int
    classes: NDArray[Any]
    class_sizes: Ints
    eta_estimate: Floats
    Q: Floats
    bound_estimate: Floats

    @property
    def met(self) -> bool:
        """Whether condition (4) holds, for a positive ε."""
        return self.left <= self.right and self.epsilon > 0

    @property
    def worst_bound_estimate(self) -> float:
        """The smallest estimate of (5) over the classes, or NaN if there is none for a class."""
        return float(self.bound_estimate.min())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name. The worst class represents all classes."""
        names = "gamma A_delta lipschitz delta epsilon left right met largest_delta"
        plain = {name: getattr(self, name) for name in names.split()}
        eta = float(self.eta_estimate.min())
        return plain | {"eta_estimate": eta, "bound_estimate": self.worst_bound_estimate}


def theorem_1(
    model: Any,
    X: SamplesLike,
    y: LabelsLike,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    Q: float | None = None,
) -> Theorem1:
    """Evaluate Theorem 1 for a fitted model.

    Parameters
    ----------
    model : estimator
        A fitted estimator with a kernel map, a linear map or an ensemble of such maps. L and δ are in
        the units of X. To measure them in the metric of a `SmoothEmbedding`, put `WithinMetric` before
        one with ``metric=None``, and pass that model with samples behind the metric.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The training samples.
    y : array-like of shape (n_samples,)
        Their labels.
    delta : float, default=None
        δ. None uses the one with the largest estimate of (5) for the worst class. If there is no
        estimate for any δ, it uses half of the largest δ that meets (4), because ε needs the other half.
        If no δ meets (4), it uses half of the smallest distance within a class.
    epsilon : float, default=None
        ε. None uses the largest value that (4) allows, because (5) grows with it, or 0 if it allows
        none.
    Q : float, default=None
        Q. None uses the best value for every class.

    Returns
    -------
    Theorem1
        All terms. With few samples in many dimensions there is usually no statement, because balls that
        are small enough for (4) contain no second sample.

    See Also
    --------
    lipschitz_bounds : Computes the Lipschitz constant.

    Examples
    --------
    >>> from nsse.certificates import theorem_1
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> terms = theorem_1(model, X[::3], y[::3])
    >>> terms.class_sizes
    array([17, 17, 16])
    """
    for name, value in (("delta", delta), ("epsilon", epsilon), ("Q", Q)):
        if value is not None:
            check_number(name, value, positive=True, cure="None takes the best value.")
    check_is_fitted(model)
    require_certifiable(model)
    f = model.map_
    X, y = checked_samples(model, X), column_or_1d(y)
    check_consistent_length(X, y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise rule_error("y", "hold two classes or more", classes.tolist(), "Pass the training labels.")
    terms = _Terms.of(X, f(X), y, classes, lipschitz_constant(f))
    largest = terms.largest_delta(0.0 if epsilon is None else epsilon)
    if delta is None:
        delta = terms.favourable_delta(largest, epsilon, Q)
    return terms.at(float(delta), epsilon, Q, largest)


@dataclass(frozen=True)
class _Terms:
    """The parts of the terms as functions of δ."""

    classes: NDArray[Any]
    sizes: Ints
    gamma: float
    L: float
    d: int
    halves: Floats  # half distances of pairs within classes, ascending
    diameters: Floats  # A_δ for δ at each of them
    complete_at: Sequence[Floats]  # per class: the r beyond which all balls hold k others, k = 1, 2, …

    @classmethod
    def of(cls, X: SamplesLike, Y: Floats, y: NDArray[Any], classes: NDArray[Any], L: float) -> _Terms:
        halves, lengths, complete_at = [], [], []
        for label in classes:
            members = np.flatnonzero(y == label)
            own = _centered(X[members])
            D = np.sqrt(squared_distances(own, own))
            pairs = np.triu_indices(len(members), 1)
            halves.append(D[pairs] / 2)
            lengths.append(np.linalg.norm(Y[members[pairs[0]]] - Y[members[pairs[1]]], axis=1))
            complete_at.append(np.sort(D, axis=1)[:, 1:].max(axis=0))
        half, length = np.concatenate(halves), np.concatenate(lengths)
        order = np.argsort(half)
        sizes = np.array([np.count_nonzero(y == label) for label in classes])
        gamma = float(nearest_own_and_other(Y, y, Y, y, same=True)[1].min())
        widest = np.maximum.accumulate(length[order])
        return cls(classes, sizes, gamma, L, Y.shape[1], half[order], widest, complete_at)

    def diameter(self, delta: float) -> float:
        """Return A_δ."""
        count = int(np.searchsorted(self.halves, delta, side="right"))
        return float(self.diameters[count - 1]) if count else 0.0

    def eta(self, delta: float) -> Floats:
        """Return the estimates of η_m. Balls are open, so a sample at distance δ is outside."""
        # A class with a single sample has no information, so its estimate is 0.
        shares = [np.searchsorted(r, delta) / max(len(r), 1) for r in self.complete_at]
        return np.array(shares, dtype=np.float64)

    def largest_delta(self, epsilon: float) -> float:
        """Return the largest δ with Lδ + A_δ ≤ γ/2 − √d ε, whose left-hand side rises with δ."""
        budget = self.gamma / 2 - np.sqrt(self.d) * epsilon
        if budget <= 0 or self.L == 0:
            return 0.0 if budget <= 0 else float("inf")
        # A_δ is constant between two half distances. Beyond the last one that fits, only Lδ grows.
        fits = self.L * self.halves + self.diameters <= budget
        count = int(fits.sum())
        furthest = float((budget - (self.diameters[count - 1] if count else 0.0)) / self.L)
        if count == len(self.halves):
            return furthest
        return min(furthest, float(np.nextafter(self.halves[count], 0.0)))

    def favourable_delta(self, largest: float, epsilon: float | None, Q: float | None) -> float:
        steps = np.concatenate([np.nextafter(r, np.inf) for r in self.complete_at])
        ends = largest if np.isfinite(largest) else float(self.halves[-1]) * 2
        grid = np.linspace(0.0, ends, DELTA_GRID + 1)[1:]
        tried = np.unique(np.concatenate([steps[steps <= ends], grid])) if ends > 0 else np.array([])
        worst = [self.at(float(t), epsilon, Q, largest).worst_bound_estimate for t in tried]
        if np.isfinite(worst).any():
            return float(tried[np.nanargmax(worst)])
        if ends > 0:
            return ends / 2
        return float(next(iter(self.halves[self.halves > 0]), 1.0))

    def at(self, delta: float, epsilon: float | None, Q: float | None, largest: float) -> Theorem1:
        """Return all terms at one δ."""
        A, right = self.diameter(delta), self.gamma / 2
        room = right - self.L * delta - A
        eps = max(room, 0.0) / np.sqrt(self.d) if epsilon is None else epsilon
        # With the largest ε both sides are equal. Rounding must not change this.
        left = right if epsilon is None and room > 0 else self.L * delta + np.sqrt(self.d) * eps + A
        eta = self.eta(delta)
        expected = self.sizes * eta
        best = [self._best_q(n, e, delta, eps) for n, e in zip(self.sizes, expected, strict=True)]
        q = np.array(best) if Q is None else np.full(len(best), float(Q))
        holds = (left <= right) & (eps > 0) & (expected > q)
        bound = np.where(holds, self._bound(self.sizes, expected, q, delta, eps), np.nan)
        sides = float(eps), float(left), right, largest
        per_class: Any = self.classes, self.sizes, eta, q, bound
        return Theorem1(self.gamma, A, self.L, delta, *sides, self.d, *per_class)

    def _best_q(self, size: int, expected: float, delta: float, epsilon: float) -> float:
        if expected <= 0:
            return float("nan")
        tried = np.linspace(0.0, expected, Q_GRID + 1)[1:-1]
        return float(tried[np.argmax(self._bound(size, expected, tried, delta, epsilon))])

    def _bound(self, size: Any, expected: Any, q: Any, delta: float, epsilon: float) -> Any:
        """Return the right-hand side of (5)."""
        few = np.exp(-2.0 * (expected - q) ** 2 / size)
        steep = 2.0 * (self.L * delta) ** 2
        rough = np.exp(-q * epsilon**2 / steep) if steep > 0 else np.zeros_like(q)
        return 1.0 - few - 2.0 * self.d * rough


def _centered(X: SamplesLike) -> Any:
    """Move rows to their mean, so that distances keep their digits. Sparse rows are not moved."""
    return X if is_sparse(X) else np.asarray(X, dtype=np.float64) - X.mean(axis=0)
