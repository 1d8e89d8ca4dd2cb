"""Certify how far a sample may move in any direction before its label can change.

A fitted model is a sum of members (`nsse.maps.Member`). A single model is one member, and an ensemble
has several. Member k has a map f_k, affine functions a_i'f_k + b_i, each of a class, and a weight w_k.
Its value for a class is the largest function of the class, and the label of x is the class c with the
largest weighted sum S_c of these values. A class score is one function per class. The nearest training
sample is one function per sample.

Why is there a bound? Let x move by at most δ. Behind the metric of member k it moves by at most s_k δ,
where s_k is the stretch of everything in front of the kernel. No function of norm 1 in the space of
the kernel changes by more than ρ_k(s_k δ) over such a distance, with ρ_k(d) = √(2 − 2κ_k(d²/σ_k²)). The
difference of function i of class c and function j of a rival class r has the norm ‖a_i − a_j‖_Qk, where
Q_k is the Gram matrix of the coordinates. At the moved sample, i therefore leads j by at least

    (a_i − a_j)'f_k(x) + b_i − b_j − ‖a_i − a_j‖_Qk ρ_k(s_k δ).                                  (1)

The value of class c is at least that of any of its functions, and the value of class r is that of one
of its functions. The margin S_c − S_r is therefore at least Σ_k w_k min_{j in r} max_{i in c} (1). The
radius of x is the largest δ at which this sum is positive for every rival class. It is found by
bisection. For a single member (1) can be inverted. For a kernel ρ_k never exceeds √2, so that the sum
may stay positive however far x moves, and then the radius is infinite. Linear maps have ρ_k(d) = d.

Some kernels have a second bound (`Kernel.local_bound`), which uses the value and the slope of the
difference at x (`nsse.certificates.slopes`). It replaces (1) where it is larger, which about doubles the
radii.

All radii are rounded down (`nsse.certificates.front`, `nsse.certificates.map_bounds`), and the sum is
lowered by what the computed scores of an ensemble can differ from it. The margins of one member are in
`nsse.certificates.margins`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_message
from nsse._support.samples import validate_data
from nsse._support.types import Bools, Floats, SamplesLike
from nsse.certificates.front import EPS, Front
from nsse.certificates.map_bounds import is_ordinary, require_valid, widest_weight
from nsse.certificates.margins import BLOCK_VALUES, Margins, values_held
from nsse.maps import KernelMap, LinearMap, Member
from nsse.pipelines import opened
from nsse.scores import Scores

# Steps of a bisection, the precision at which it ends, and steps of the search for its upper end.
HALVINGS = 60
PRECISION = 1e-13
EXPANSIONS = 60
LEAST_ROWS = 16  # number in a block, so that products of matrices are worth their overhead


def certified_radius(model: Any, X: SamplesLike) -> Floats:
    """Return the certified radii of predictions, through pipelines.

    They are proved, not estimated. No sample that differs from x by less than its radius gets another
    label.

    Parameters
    ----------
    model : estimator
        A fitted estimator with a kernel map, a linear map or an ensemble of such maps, or a pipeline
        that ends in one and has affine steps before it (`nsse.pipelines`). Other estimators raise an
        error, because we have no proof for them.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, as the first step takes them. Missing values are ignored, so the radius does not cover
        changes to them.

    Returns
    -------
    ndarray of shape (n_samples,)
        Radii in the units of ``X``. The radius is 0 if nothing is certain, and ``inf`` if no change of
        the sample can change its label.

    See Also
    --------
    certified_accuracy : The share of samples that are right and have a radius above a limit.
    nsse.certificates.lipschitz_bounds : How fast the embedding can change.
    nsse.certificates.SelectivePredictor : Withholds labels with a small radius.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import certified_radius
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> radius = certified_radius(model, X[:4])
    >>> bool((radius > 0).all())
    True

    No change of the sample shorter than its radius changes the label:

    >>> moved = X[:4].copy()
    >>> moved[:, 0] += 0.99 * radius
    >>> bool((model.predict(moved) == model.predict(X[:4])).all())
    True
    """
    before, last = opened(model)
    check_is_fitted(last)
    decision = Decision.of(last)
    front = Front.through(before, X)
    front = replace(front, Z=checked_samples(last, front.Z))
    n_samples, size = front.Z.shape[0], decision.rows_of_block
    parts = [slice(start, start + size) for start in range(0, n_samples, size)]
    # Samples may lie anywhere. If numbers overflow, bounds are infinite and comparisons are False.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([decision.radius(front.select(part)) for part in parts])


def require_certifiable(model: Any) -> tuple[Member, ...]:
    """Return the members of a fitted model, or raise an error if nothing is proved about its map."""
    f: Any = getattr(model, "map_", None)
    scores = getattr(model, "scores_", None)
    if scores is None or not hasattr(f, "members"):
        raise _uncertified(type(model).__name__)
    members: tuple[Member, ...] = f.members(scores)
    for member in members:
        if not isinstance(member.map, KernelMap | LinearMap):
            raise _uncertified(f"{type(model).__name__} with a {type(member.map).__name__}")
    return members


def _uncertified(got: str) -> TypeError:
    rule = "have a kernel or linear map to be certified"
    return TypeError(rule_message("model", rule, got, "Nothing is proved here about other maps."))


def checked_samples(model: Any, X: SamplesLike) -> Any:
    """Return samples as the model takes them, a dense or CSR matrix of floats."""
    floats = [np.float64, np.float32]
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=floats)


@dataclass(frozen=True)
class Decision:
    """The label of a fitted model as the class with the largest sum over its members.

    Attributes
    ----------
    members : tuple of Member
        Those with a weight other than 0.
    is_sum : bool
        Whether the model is an ensemble.
    rounding : float
        The error of the computed difference of two classes, divided by the weighted sum of the sizes of
        their functions. The errors of the members come in addition.
    offset : float
        The part of this error that does not depend on the sizes of functions.
    """

    members: tuple[Member, ...]
    is_sum: bool = False
    rounding: float = 0.0
    offset: float = 0.0

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the decision of a fitted model. If nothing is proved about it, an error is raised."""
        members = require_certifiable(model)
        for member in members:
            require_valid(member.map)
        f, scores = model.map_, model.scores_
        if any(member.map is f for member in members):
            return cls(members)
        if scores.weights.shape != f.rotation.shape:
            raise _uncertified(f"{type(model).__name__} whose scores are not those of its ensemble")
        used = tuple(member for member in members if member.weight != 0.0)
        offset = 2.0 * float(np.abs(scores.offsets).max())
        return cls(used, True, rounding_of_sum(f.rotation, scores, len(used)), offset)

    @property
    def rows_of_block(self) -> int:
        """The number of samples that are certified at once."""
        held = sum(values_held(member) for member in self.members)
        return max(LEAST_ROWS, 4 * BLOCK_VALUES // max(held, 1))

    def radius(self, front: Front) -> Floats:
        """Return the radii of samples behind the steps of a pipeline."""
        if not self.members or not all(map(is_ordinary, self.members)):
            return np.zeros(front.Z.shape[0])
        coordinates = [member.map(front.Z) for member in self.members]
        pairs = list(zip(self.members, coordinates, strict=True))
        values = sum(member.weight * member.scores.values(F) for member, F in pairs)
        codes = np.asarray(values).argmax(axis=1)
        share = self.offset / sum(member.weight for member in self.members)
        margins = [Margins.of(member, F, front, codes, self.rounding, share) for member, F in pairs]
        by_norms = margins[0].radius() if len(margins) == 1 else radius_of_sum(margins)
        by_norms[np.arange(len(codes)), codes] = np.inf
        return nearby_radius(margins, by_norms)


def rounding_of_sum(rotation: Floats, scores: Scores, n_members: int) -> float:
    """Return the error of the difference of two classes, divided by the sizes of the functions.

    The computed scores of an ensemble are W V'S, with coordinates V'S and weights W of the scores. If V
    is orthonormal and W = V, they are S without its mean, up to rounding. WV' − (I − 11'/n) is computed
    here, so that nothing has to be trusted.
    """
    W, V = scores.weights, rotation
    n = len(V)
    wrong = float(np.linalg.norm(W @ V.T - (np.eye(n) - 1.0 / n), axis=1).max())
    products = 8.0 * (n + 8) * EPS * widest_weight(scores) * float(np.linalg.norm(V))
    return 4.0 * np.sqrt(n) * (wrong + products) + 8.0 * (n + n_members + 8) * EPS


def radius_of_sum(margins: list[Margins]) -> Floats:
    """Return the radii of a sum of members by norms, of shape (n_samples, n_classes)."""

    def is_safe(radius: Floats) -> Bools:
        total = sum(one.member.weight * one.least(radius) for one in margins)
        return np.asarray(total) > 0.0

    shape = margins[0].lead.shape[0], len(margins[0].starts)
    scale = np.max([one.scale for one in margins], axis=0)
    high = np.broadcast_to(np.where((scale > 0) & np.isfinite(scale), scale, 1.0)[:, np.newaxis], shape)
    low = np.zeros(shape)
    is_endless = is_safe(np.full(shape, np.inf))
    for _ in range(EXPANSIONS):
        safe = is_safe(high) & ~is_endless
        if not safe.any():
            break
        low, high = np.where(safe, high, low), np.where(safe, 16.0 * high, high)
    high = np.where(is_safe(low), high, 0.0)
    return np.where(is_endless, np.inf, halved(is_safe, low, high))


def nearby_radius(margins: list[Margins], by_norms: Floats) -> Floats:
    """Return the radii by norms, or by values and slopes at the samples if these are larger.

    Rival classes are looked at in the order of their radii by norms, a few at a time, until none could
    be smaller than the radius that has been found.
    """
    local = [one for one in margins if one.member.map.has_local_bound]
    if not local:
        return np.asarray(by_norms.min(axis=1))
    furthest = np.max([one.scale for one in local], axis=0)  # the second bound is smaller beyond that
    order, radius = np.argsort(by_norms, axis=1), np.full(len(by_norms), np.inf)
    held = max(one.own.shape[1] * one.sizes.max() * one.F.shape[1] for one in local)
    place, count = 0, 1
    while place < by_norms.shape[1]:
        some = np.flatnonzero(by_norms[np.arange(len(order)), order[:, place]] < radius)
        if len(some) == 0:
            break
        rivals = order[some, place : place + count]
        start = by_norms[some[:, np.newaxis], rivals]
        duels = [(one.member.weight, one.against(some, rivals)) for one in margins]

        def is_safe(r: Floats, duels: Any = duels) -> Bools:
            return np.asarray(sum(weight * duel.least(r) for weight, duel in duels)) > 0.0

        stop = np.broadcast_to(np.minimum(radius, furthest)[some, np.newaxis], start.shape)
        found = np.maximum(start, halved(is_safe, np.minimum(start, stop), stop))
        radius[some] = np.minimum(radius[some], found.min(axis=1))
        place += count  # twice as many in the end
        count = min(place, max(1, BLOCK_VALUES // (len(some) * held)))
    return radius


def halved(is_safe: Callable[[Floats], Bools], low: Floats, high: Floats) -> Floats:
    """Return the largest radii found by bisection that are safe, or ``low`` if there are none."""
    start, low = low, np.where(is_safe(high), high, low)
    for _ in range(HALVINGS):
        if np.all(high - low <= PRECISION * high):
            break
        middle = (low + high) / 2.0
        safe = is_safe(middle)
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return np.maximum(start, low * (1.0 - 8 * EPS))
