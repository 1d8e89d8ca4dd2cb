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
difference at x (`Local`). It replaces (1) where it is larger, which about doubles the radii.

All radii are rounded down (`nsse.certificates.rounding`). Leads are lowered by what rounding can change
at x and at the moved sample, norms are raised, and the sum is lowered by what the computed scores of
an ensemble can differ from it. At most `OWN` functions of class c are tried for each sample, and at most
`WORST` functions of each rival class get the second bound. Both can only make a radius smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeGuard

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_message
from nsse._support.samples import validate_data
from nsse._support.types import Bools, Floats, Ints, SamplesLike
from nsse.affine import dense_array, is_sparse
from nsse.certificates.rounding import (
    EPS,
    PRODUCT_ROUNDING,
    TINY,
    Front,
    MapBounds,
    is_ordinary,
    require_valid,
    widest_weight,
)
from nsse.distances import in_row_blocks, squared_distances
from nsse.kernels import Kernel
from nsse.maps import KernelMap, LinearMap, Member, summed_gradients
from nsse.pipelines import opened
from nsse.scores import Scores

# Functions of the own class that are tried, and functions of a rival class that are looked at closely.
OWN, WORST = 4, 256
# Steps of a bisection, the precision at which it ends, and steps of the search for its upper end.
HALVINGS, PRECISION, EXPANSIONS = 60, 1e-13, 60
# Local bounds are below rounding from so many σ on.
SATURATED = 7.0
BLOCK_VALUES = 2_000_000
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


def has_local_bound(f: Any) -> TypeGuard[KernelMap]:
    """Return whether values and slopes give a bound. Slopes of sparse centers would be dense."""
    return isinstance(f, KernelMap) and f.kernel.has_local_bound and not is_sparse(f.centers)


def behind_metric(front: Front, f: Any) -> Front:
    """Return the front with the metric of a kernel map behind it."""
    return front.behind(f.metric, EPS, None) if isinstance(f, KernelMap) else front


def reach(f: Any, change: Floats) -> Floats:
    """Return the distance behind the metric within which no function of norm 1 changes by ``change``."""
    safe = change * (1.0 - 8 * EPS)
    return f.kernel.reach(safe) * (1.0 - 8 * EPS) if isinstance(f, KernelMap) else safe


def change(f: Any, distance: Floats) -> Floats:
    """Return ρ, by which no function of norm 1 changes more within a distance behind the metric."""
    safe = distance * (1.0 + 8 * EPS)
    return f.kernel.change(safe) * (1.0 + 8 * EPS) if isinstance(f, KernelMap) else safe


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
        What the computed difference of two classes can be wrong by in addition to what is wrong in the
        members, divided by the weighted sum of the sizes of their functions.
    offset : float
        Another part of this error, which does not depend on the sizes of functions.
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
            if isinstance(member.map, KernelMap):
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
        held = sum(_values_held(member) for member in self.members)
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
    W, V, n = scores.weights, rotation, len(rotation)
    wrong = float(np.linalg.norm(W @ V.T - (np.eye(n) - 1.0 / n), axis=1).max())
    products = 8.0 * (n + 8) * EPS * widest_weight(scores) * float(np.linalg.norm(V))
    return 4.0 * np.sqrt(n) * (wrong + products) + 8.0 * (n + n_members + 8) * EPS


def _values_held(member: Member) -> int:
    """Return how many numbers are held for each sample."""
    scores, d = member.scores, member.map.n_components
    sizes = np.bincount(scores.codes)
    kept = int(np.minimum(sizes, WORST).sum())
    own, rivals = min(OWN, int(sizes.max())), min(WORST, int(sizes.max()))
    return 2 * d**2 + len(scores.codes) + 2 * own * kept + own * rivals * (d + 6)


@dataclass(frozen=True)
class Margins:
    """The leads of functions of the label over those of all classes, for one member at samples.

    Functions of the own class count as rivals, too. They are computed for the sake of equal shapes, and
    nobody uses the result.

    Attributes
    ----------
    member : Member
        The map, its functions and their weight.
    F : ndarray of shape (n_samples, d)
        The map at the samples.
    front : Front
        The steps before the map.
    bounds : MapBounds
        The Gram matrix, and what rounding can change.
    wrong : ndarray of shape (n_samples or 1, 1)
        By how much all leads are lowered because of rounding.
    own : ndarray of shape (n_samples, n_own)
        The functions i of the label that are tried.
    rivals : ndarray of shape (n_samples, n_rivals)
        The functions j that are looked at closely, by class.
    sizes : ndarray of shape (n_classes,)
        The number of functions of each class in ``rivals``.
    lead, norm : ndarrays of shape (n_samples, n_own, n_rivals)
        The lead of i over j at the samples, and the norm of the difference.
    others : Others
        A bound for all functions that are not in ``rivals``.
    """

    member: Member
    F: Floats
    front: Front
    bounds: MapBounds
    wrong: Floats
    own: Ints
    rivals: Ints
    sizes: Ints
    lead: Floats
    norm: Floats
    others: Others

    @classmethod
    def of(
        cls, member: Member, F: Floats, front: Front, codes: Ints, rounding: float, share: float
    ) -> Self:
        """Return the margins of samples with these classes."""
        f, scores, _ = member
        bounds = MapBounds.of(f, front.Z, F)
        images = scores.weights @ bounds.factor
        wrong = 4.0 * bounds.of_functions(scores) + rounding * bounds.largest_function(scores) + share
        wrong = np.broadcast_to(wrong, len(F))[:, np.newaxis]
        # Rounding errors of a linear map grow with the distance, like its values.
        steeper = 4.0 * bounds.growth_of_functions(scores)
        steeper += rounding * widest_weight(scores) * bounds.size_growth
        own = own_functions(scores, F, codes)
        rows = max(1, BLOCK_VALUES // (own.shape[1] * len(images)))
        found = []
        for start in range(0, len(F), rows):
            part = slice(start, start + rows)
            v = scores.functions(F[part])
            used, places = np.unique(own[part], return_inverse=True)
            norm = (norms_between(images[used], images) + steeper)[places.reshape(own[part].shape)]
            best = np.take_along_axis(v, own[part], axis=1)
            lead = best[:, :, np.newaxis] - (v + wrong[part])[:, np.newaxis, :]
            lead[~np.isfinite(lead)] = -np.inf  # values that have overflowed
            found.append(closest_rivals(scores, lead, norm))
        rivals, lead, norm, *others = (np.concatenate(parts) for parts in zip(*found, strict=True))
        sizes = np.minimum(np.bincount(scores.codes), WORST)
        way = replace(behind_metric(front, f), Z=front.Z)
        return cls(member, F, way, bounds, wrong, own, rivals, sizes, lead, norm, Others(*others))

    @cached_property
    def starts(self) -> Ints:
        """The first function of each class in ``rivals``."""
        return np.cumsum(self.sizes) - self.sizes

    def least(self, radius: Floats) -> Floats:
        """Return the lower bound of the margins within ``radius``, of shape (n_samples, n_classes)."""
        by = change(self.member.map, self.front.moved(radius.T).T)
        ahead = self.lead - self.norm * np.repeat(by, self.sizes, axis=1)[:, np.newaxis, :]
        least = np.minimum.reduceat(ahead.max(axis=1), self.starts, axis=1)
        return np.asarray(np.minimum(least, self.others.least(by)))

    def radius(self) -> Floats:
        """Return the largest radii at which `least` is not negative, the inverse of (1)."""
        ratio = np.minimum.reduceat((self.lead / self.norm).max(axis=1), self.starts, axis=1)
        ratio = np.minimum(ratio, self.others.ratio)
        ratio = np.where(ratio > 0.0, ratio, 0.0)
        return self.front.radius(reach(self.member.map, ratio.T)).T

    @cached_property
    def scale(self) -> Floats:
        """Distances of the order at which the margins change."""
        if isinstance(self.member.map, KernelMap):
            return self.front.radius(np.full(len(self.F), SATURATED * self.member.map.kernel.sigma))
        return np.asarray(self.radius().max(axis=1))

    @cached_property
    def grams(self) -> Floats:
        """`slope_grams` of all samples."""
        f: Any = self.member.map
        return slope_grams(f, self.front.Z, self.front)

    def against(self, some: Ints, rivals: Ints) -> Duels:
        """Return the margins of some samples over ``rivals``, a few classes each, by all bounds."""
        # Classes with fewer functions repeat their last one.
        steps = np.arange(self.sizes[rivals].max())
        steps = np.minimum(steps, self.sizes[rivals][:, :, np.newaxis] - 1)
        columns = self.starts[rivals][:, :, np.newaxis] + steps
        local = None
        if has_local_bound(self.member.map):
            functions = np.take_along_axis(self.rivals[some], columns.reshape(len(some), -1), axis=1)
            local = Local.of(self, some, functions.reshape(columns.shape))
        rows, tried = some[:, np.newaxis, np.newaxis, np.newaxis], np.arange(self.own.shape[1])
        places = rows, tried[:, np.newaxis], columns[:, :, np.newaxis]
        others, front = self.others.of(some[:, np.newaxis], rivals), self.front.select(some)
        return Duels(self.member, front, self.lead[places], self.norm[places], others, local)


@dataclass(frozen=True)
class Others:
    """A lower bound of (1) for many functions of a class, of which each has its best own function.

    Let q be the smallest lead over its norm. All of (1) is at least (q − ρ) times the smallest norm, or
    times the largest one if it is negative.

    Attributes
    ----------
    ratio : ndarray of shape (n_samples, n_classes)
        q, which is infinite for a class without such functions.
    shortest, longest : ndarrays of shape (n_samples, n_classes)
        The smallest and the largest norm.
    """

    ratio: Floats
    shortest: Floats
    longest: Floats

    def least(self, by: Floats) -> Floats:
        """Return the bound for changes ρ of shape (n_samples, n_classes)."""
        ahead = self.ratio - by
        return np.where(ahead > 0.0, ahead * self.shortest, ahead * self.longest)

    def of(self, some: Ints, rivals: Ints) -> Others:
        """Return the bound for some samples and classes."""
        return Others(*(part[some, rivals] for part in (self.ratio, self.shortest, self.longest)))


@dataclass(frozen=True)
class Duels:
    """The margins of the label over a few rival classes, for one member around samples.

    Attributes
    ----------
    member, front : Member, Front
        Those of the margins.
    lead, norm : ndarrays of shape (n_samples, n_rivals, n_own, n_functions)
        The leads over the functions of each rival class, and the norms of the differences.
    others : Others
        The bound for further functions of these classes.
    local : Local or None
        The second bound of the same differences.
    """

    member: Member
    front: Front
    lead: Floats
    norm: Floats
    others: Others
    local: Local | None

    def least(self, radius: Floats) -> Floats:
        """Return the lower bounds of the margins within ``radius``, of shape (n_samples, n_rivals)."""
        by = change(self.member.map, self.front.moved(radius.T).T)
        ahead = self.lead - self.norm * by[:, :, np.newaxis, np.newaxis]
        if self.local is not None:
            ahead = np.maximum(ahead, self.local.least(radius))
        return np.minimum(ahead.max(axis=2).min(axis=2), self.others.least(by))


def own_functions(scores: Scores, F: Floats, codes: Ints) -> Ints:
    """Return the largest functions of the class of every sample, `OWN` of them at most."""
    if scores.has_one_per_class:
        return codes[:, np.newaxis]
    sizes = np.bincount(scores.codes)
    starts, count = np.cumsum(sizes) - sizes, min(OWN, int(sizes.max()))
    found = np.empty((len(F), count), dtype=np.intp)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        own, size = np.arange(starts[code], starts[code] + sizes[code]), min(count, sizes[code])
        v = F[rows] @ scores.weights[own].T + scores.offsets[own]
        largest = np.argpartition(v, -size, axis=1)[:, -size:]
        # A class with fewer functions repeats the last one.
        found[rows] = own[largest[:, np.minimum(np.arange(count), size - 1)]]
    return found


def closest_rivals(scores: Scores, lead: Floats, norm: Floats) -> tuple[Floats, ...]:
    """Choose `WORST` functions of every class, with the smallest leads over their norms.

    Returns
    -------
    rivals, lead, norm, ratio, shortest, longest : ndarrays
        The functions with their leads and norms, and the attributes of `Others` for the other ones.
    """
    n, _, n_functions = lead.shape
    sizes = np.bincount(scores.codes)
    none = np.full((n, len(sizes)), np.inf), np.ones((n, len(sizes))), np.ones((n, len(sizes)))
    if sizes.max() <= WORST:
        return np.broadcast_to(np.arange(n_functions), (n, n_functions)), lead, norm, *none
    ratio = lead / norm
    best = ratio.argmax(axis=1)[:, np.newaxis]
    ratio, length = (np.take_along_axis(part, best, axis=1)[:, 0] for part in (ratio, norm))
    kept = []
    for code, (start, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes, strict=True)):
        if size <= WORST:
            kept.append(np.broadcast_to(np.arange(start, start + size), (n, size)))
            continue
        order = start + np.argpartition(ratio[:, start : start + size], WORST, axis=1)
        kept.append(order[:, :WORST])
        others = order[:, WORST:]
        lengths = np.take_along_axis(length, others, axis=1)
        of_class = np.take_along_axis(ratio, others, axis=1).min(axis=1)
        for part, values in zip(none, (of_class, lengths.min(axis=1), lengths.max(axis=1)), strict=True):
            part[:, code] = values
    rivals = np.concatenate(kept, axis=1)
    lead, norm = (np.take_along_axis(part, rivals[:, np.newaxis], axis=2) for part in (lead, norm))
    return rivals, lead, norm, *none


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
    local = [one for one in margins if has_local_bound(one.member.map)]
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


@dataclass(frozen=True)
class Local:
    """The second bound: values, slopes and norms of differences of functions at samples.

    Of a difference h = a'f of functions let m be the value, g the gradient behind the metric and B the
    norm. In the space of the kernel m and g determine a part of h of squared norm m² + σ²‖g‖²/(2γ), with
    γ = −κ′(0). The rest has the norm R, R² = B² − m² − σ²‖g‖²/(2γ). `Kernel.local_bound` computes a
    bound of h(v) from these. Here v − u is A times the move: −g'(v − u) is at most ‖A'g‖ r, and ‖v − u‖
    at most ‖A‖ r. Lengths behind the metric are measured in σ, and A is divided by its norm. All slopes
    are then of order one. Without that, the squares of the slopes of very large samples vanish, and a
    slope of zero allows any move.

    Attributes
    ----------
    kernel : Kernel
        The kernel of the map.
    front : Front
        The steps in front of the kernel.
    offset, value, gradient, slope, rest : ndarrays, shaped like those of `Duels`
        b less rounding, m, ‖g‖ σ, ‖A'g‖ σ/‖A‖, and R.
    """

    kernel: Kernel
    front: Front
    offset: Floats
    value: Floats
    gradient: Floats
    slope: Floats
    rest: Floats

    @classmethod
    def of(cls, margins: Margins, some: Ints, rivals: Ints) -> Local:
        """Return the bound of some samples for ``rivals`` (n_samples, n_classes, n_functions)."""
        f: Any = margins.member.map
        scores, bounds, way = margins.member.scores, margins.bounds, margins.front
        own, error = margins.own[some][:, np.newaxis, :], bounds.of_functions(scores)
        W, b = scores.weights, scores.offsets
        A = W[own][:, :, :, np.newaxis] - W[rivals][:, :, np.newaxis]
        offset = b[own][:, :, :, np.newaxis] - b[rivals][:, :, np.newaxis]
        offset = offset - margins.wrong[some][:, :, np.newaxis, np.newaxis]
        A, grams = A.reshape(len(some), -1, A.shape[-1]), margins.grams[some]
        m = (A @ margins.F[some][:, :, np.newaxis])[:, :, 0]
        B2 = np.square(A @ bounds.factor).sum(axis=2)
        squares = np.stack([np.einsum("npd,npd->np", A @ grams[:, side], A) for side in (0, 1)])
        g, slope = np.sqrt(np.maximum(squares, 0.0))
        # The gradients and their squares are rounded, and a'JJ'a may cancel.
        traces = np.sqrt(32 * EPS * A.shape[2] * np.einsum("isdd->si", grams))[:, :, np.newaxis]
        wrong = (f.kernel.sigma * bounds.gradient_error + traces) * np.linalg.norm(A, axis=2)
        known = np.square(np.maximum(np.abs(m) - 2.0 * error, 0.0))
        known += np.square(np.maximum(g - wrong[0], 0.0)) / (2.0 * f.kernel.curvature)
        R = np.sqrt(np.maximum(B2 - known, 0.0) + 64 * EPS * B2 + TINY)
        g, slope = g + wrong[0], slope * (1.0 + PRODUCT_ROUNDING) + wrong[1]
        slope += 2.0 * way.growth / way.norm * g  # the product with A' is rounded, too
        parts = (part.reshape(offset.shape) for part in (m, g, slope, R))
        return cls(f.kernel, way.select(some), offset, *parts)

    def least(self, radius: Floats) -> Floats:
        """Return the bound of all differences within ``radius``, of shape (n_samples, n_classes)."""
        way, sigma = self.front, self.kernel.sigma
        moved = (way.norm * radius / sigma)[:, :, np.newaxis, np.newaxis]
        off = (way.growth * radius.T + 2.0 * way.error).T[:, :, np.newaxis, np.newaxis] / sigma
        line = self.value - self.slope * moved - self.gradient * off
        bound = self.kernel.local_bound(np.square(moved + off), line, self.rest)
        return self.offset + bound - 16 * EPS * np.abs(line)


def slope_grams(f: KernelMap, Z: Any, way: Front) -> Floats:
    """Return JJ' of the Jacobians of f behind the metric and before all steps, (n_samples, 2, d, d).

    The first are multiplied by σ, and the others by σ over the norm of all steps, so all are of order
    one.
    """
    whole: Any = way.whole
    whole = whole.multiplied(1.0 / way.norm)
    d, centers = f.n_components, dense_array(f.centers)
    # Centers in front of all steps would be dense and as wide as the samples.
    pulled = None if whole.tail is not None else whole.pull_back(centers)

    def grams(rows: Any) -> Floats:
        U = f.metric(Z[rows])
        weights, U = f.kernel.sigma * f.slope_weights(U), dense_array(U)
        out = np.empty((len(rows), 2, d, d))
        J = summed_gradients(weights, U, centers)
        out[:, 0] = J @ J.transpose(0, 2, 1)
        J = (
            whole.pull_back(J)
            if pulled is None
            else summed_gradients(weights, whole.pull_back(U), pulled)
        )
        out[:, 1] = J @ J.transpose(0, 2, 1)
        return out.reshape(len(rows), -1)

    width = d * (len(f.coef) + 2 * max(f.metric.n_outputs, whole.n_features))
    found = in_row_blocks(grams, np.arange(Z.shape[0]), width, 2 * d * d)
    return found.reshape(-1, 2, d, d)


def norms_between(A: Floats, B: Floats) -> Floats:
    """Return ‖a_i − b_j‖ of all rows, never less than it is and never zero."""
    largest = max(np.square(A).sum(axis=1).max(), np.square(B).sum(axis=1).max())
    D2 = squared_distances(A, B)
    D2 += 8.0 * (A.shape[1] + 8) * EPS * largest + TINY
    D2[~np.isfinite(D2)] = np.inf
    return np.sqrt(D2, out=D2)
