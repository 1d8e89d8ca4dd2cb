"""Certified radii: how far x may be moved, in any direction, before its label can change.

The label is the class of the largest of some affine functions of f(x). Let i be one of x's own class
and j one of another. Their difference moves by at most √(a'Qa) √(2 − 2κ(r²/σ²)), a = w_i − w_j,
when x moves by r in the metric (`nsse.maps`). So i stays ahead of j while

    (v_i − v_j)(x) > √(a'Qa) · √(2 − 2κ(r²/σ²)).

That is for the steepest function of this norm. The value and the gradient of the difference at x are
known as well. Some kernels have a bound (`Kernel.local_bound`) in which only the rest of the norm that
they leave unknown counts, by r² instead of r (`Local`): radii become about twice as large. The label
stays while every j has some own i ahead of it; only the `OWN` largest own functions are tried, so the
radius may be less than the best of this form and is never more. A mean of scores is one function with
the sum of its members' bounds; a majority is safe while the winner's members that cannot change
outweigh a rival's together with all that can.

Rounding is on the safe side throughout (`nsse.certificates.rounding`): differences of functions are
lowered by what they may be wrong by at x and again at the moved point, norms are raised, radii are
taken a little smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_message
from nsse._support.samples import validate_data
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import dense_array, is_sparse
from nsse.certificates.rounding import EPS, PRODUCT_ROUNDING, TINY, Front, MapBounds, is_ordinary
from nsse.distances import in_row_blocks, squared_distances
from nsse.kernels import Kernel
from nsse.maps import KernelMap, LinearMap, summed_gradients
from nsse.pipelines import opened
from nsse.scores import Scores
from nsse.votes import MeanVote, Member, Vote, vote_of

# Own functions that are tried, rivals whose slope is looked at, and halvings of an interval.
OWN, WORST, HALVINGS = 4, 256, 50
# Local bounds are below rounding from so many σ on.
SATURATED = 7.0
BLOCK_VALUES = 2_000_000


def certified_radius(model: Any, X: SamplesLike) -> Floats:
    """Certified radii of predictions, through pipelines and votes.

    Proved, not estimated: no sample that differs from x by less than its radius gets another label.

    Parameters
    ----------
    model : estimator
        Fitted: one with a kernel or linear map, a vote of such, or a pipeline with one of them at its
        end and affine steps before it (`nsse.pipelines`); others are refused by name.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, as the first step takes them. What is missing from a sample is no part of it that could
        change.

    Returns
    -------
    ndarray of shape (n_samples,)
        Radii in the units of ``X``: 0 where nothing is certain, ``inf`` where no change of x can change
        the label.

    See Also
    --------
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
    vote = certified_vote(last)
    front = Front.through(before, X)
    front = replace(front, Z=checked_samples(last, front.Z))
    # Samples are taken by blocks: slopes of all functions are held for each.
    n_samples, held = front.Z.shape[0], sum(2 * member.map.n_components**2 for member in vote.members)
    size = max(64, 4 * BLOCK_VALUES // held)
    parts = [slice(start, start + size) for start in range(0, n_samples, size)]
    # Samples may lie anywhere. Where numbers overflow, bounds are infinite and comparisons are False.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([vote_radius(vote, front.select(part)) for part in parts])


def vote_radius(vote: Any, front: Front) -> Floats:
    """Radii of samples behind the steps of a pipeline."""
    if isinstance(vote, MeanVote):
        return mean_radius(vote, front)
    of_members = [member_radius(member, front) for member in vote.members]
    codes, radii = (np.column_stack(part) for part in zip(*of_members, strict=True))
    return majority_radius(codes, radii, vote.weights)


def certified_vote(model: Any) -> Vote:
    """The decision of a fitted model, all of whose maps are known; others are refused."""
    if not hasattr(model, "vote_") and not (hasattr(model, "map_") and hasattr(model, "scores_")):
        raise _uncertified(type(model).__name__)
    vote = vote_of(model)
    known = KernelMap if isinstance(vote, MeanVote) else (KernelMap, LinearMap)
    for member in vote.members:
        if not isinstance(member.map, known):
            raise _uncertified(f"{type(model).__name__} with a {type(member.map).__name__}")
        if isinstance(vote, MeanVote):
            kernel = member.map.kernel  # type: ignore[union-attr]
            if not kernel.has_local_bound:
                raise _uncertified(f"a mean of scores with the kernel {kernel!r}")
    return vote


def _uncertified(got: str) -> TypeError:
    rule = "have a kernel or linear map to be certified"
    return TypeError(rule_message("model", rule, got, "Nothing is proved here about other maps."))


def checked_samples(model: Any, X: SamplesLike) -> Any:
    """Samples as the model takes them, a dense or CSR matrix of floats."""
    floats = [np.float64, np.float32]
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=floats)


def member_radius(member: Member, front: Front) -> tuple[Ints, Floats]:
    """The class of every sample by one map, and its radius in the units of the samples."""
    f, scores, Z = member.map, member.scores, front.Z
    F = f(Z)
    codes, leads = Leads.of(scores, F, MapBounds.of(f, Z, F, np.zeros(len(F))))
    if not is_ordinary(member):
        return codes, np.zeros(len(F))
    if isinstance(f, LinearMap):  # what rounding does to it depends on how far samples are moved
        codes, leads = Leads.of(scores, F, MapBounds.of(f, Z, F, leads.ratio[:, 0]))
    way = behind_metric(front, f)
    if has_local_bound(f):
        return codes, nearby_radius(f, scores, F, Z, leads, way)
    return codes, way.radius(reach(f, leads.ratio[:, 0]))


def has_local_bound(f: Any) -> TypeGuard[KernelMap]:
    """Whether values and slopes at samples give a bound; slopes of sparse centers would be dense."""
    return isinstance(f, KernelMap) and f.kernel.has_local_bound and not is_sparse(f.centers)


def behind_metric(front: Front, f: Any) -> Front:
    """The front with the metric of a kernel map behind it."""
    return front.behind(f.metric, EPS, None) if isinstance(f, KernelMap) else front


def reach(f: Any, change: Floats) -> Floats:
    """Distance within which no coordinate of unit norm changes by ``change``, behind the metric."""
    safe = change * (1.0 - 8 * EPS)
    return f.kernel.reach(safe) * (1.0 - 8 * EPS) if isinstance(f, KernelMap) else safe


@dataclass(frozen=True)
class Leads:
    """(v_i − v_j)/√(a'Qa) of the rivals j that are closest to winning, each with its best own i.

    Attributes
    ----------
    ratio : ndarray of shape (n_samples, n_worst + 1)
        Ascending, never negative; the last stands for all other rivals, inf where there are none.
    own, rival : ndarrays of shape (n_samples, n_worst)
        i and j.
    """

    ratio: Floats
    own: Ints
    rival: Ints

    @classmethod
    def of(cls, scores: Scores, F: Floats, bounds: MapBounds) -> tuple[Ints, Leads]:
        """Classes of samples, where the map is ``F``, and their leads."""
        codes = scores.codes[scores.functions(F).argmax(axis=1)]
        images = scores.weights @ bounds.factor
        rounding = np.broadcast_to(4.0 * bounds.of_functions(scores), len(F))[:, np.newaxis]
        worst, rows = min(WORST, len(images) - 1), max(1, BLOCK_VALUES // len(images))
        ratio = np.full((len(F), worst + 1), np.inf)
        pairs = np.zeros((2, len(F), worst), dtype=np.intp)
        for code in np.unique(codes):
            members = np.flatnonzero(codes == code)
            own, rivals = np.flatnonzero(scores.codes == code), np.flatnonzero(scores.codes != code)
            count = min(worst + 1, len(rivals))
            for start in range(0, len(members), rows):
                part = members[start : start + rows]
                v = scores.functions(F[part])
                ahead = v[:, rivals] + rounding[part]
                best, by = best_leads(v[:, own], ahead, images[own], images[rivals])
                order = np.argsort(best, axis=1)[:, :count]
                ratio[part, :count] = np.take_along_axis(best, order, axis=1)
                kept = order[:, :worst]
                pairs[0][part, : kept.shape[1]] = own[np.take_along_axis(by, kept, axis=1)]
                pairs[1][part, : kept.shape[1]] = rivals[kept]
        return codes, cls(ratio, *pairs)


def best_leads(
    own: Floats, rivals: Floats, own_images: Floats, rival_images: Floats
) -> tuple[Floats, Ints]:
    """For every rival the largest lead of an own function over its norm, and which one."""
    count = min(OWN, own.shape[1])
    tried = np.argpartition(own, -count, axis=1)[:, -count:]
    used, places = np.unique(tried, return_inverse=True)
    norms = norms_between(own_images[used], rival_images)
    best, by = np.full_like(rivals, -1.0), np.zeros(rivals.shape, dtype=np.intp)
    for i in places.reshape(tried.shape).T:
        lead = (own[np.arange(len(own)), used[i]][:, np.newaxis] - rivals) / norms[i]
        lead[~np.isfinite(lead)] = 0.0  # values that have overflowed
        by = np.where(lead > best, used[i][:, np.newaxis], by)
        np.maximum(best, lead, out=best)
    return np.maximum(best, 0.0), by


def nearby_radius(f: KernelMap, scores: Scores, F: Floats, Z: Any, leads: Leads, way: Front) -> Floats:
    """Radii by norms of differences of functions, or by their slopes at the samples if these give more.

    Rivals are looked at in the order of their norms, until none could make the radius less.
    """
    local = Local.of(f, scores, F, Z, way)
    by_norm = way.radius(reach(f, leads.ratio.T))
    radius = by_norm[-1].copy()
    for place in range(len(by_norm) - 1):
        some = np.flatnonzero(by_norm[place] < radius)
        if len(some) == 0:
            break
        lead = local.lead(some, leads.own[some, place], leads.rival[some, place])
        near = halved(lead, local.furthest[some])
        radius[some] = np.minimum(radius[some], np.maximum(near, by_norm[place, some]))
    return radius


@dataclass(frozen=True)
class Local:
    """A kernel map around samples: values, slopes and norms of its functions there.

    Of a difference h = a'f of functions let m be the value, g the gradient behind the metric and B the
    norm. In the space of the kernel m and g determine a part of h of squared norm m² + σ²‖g‖²/(2γ), with
    γ = −κ′(0). The rest has the norm R, R² = B² − m² − σ²‖g‖²/(2γ). `Kernel.local_bound` computes a
    bound of h(v) from these. Here v − u is A times the move: −g'(v − u) is at most ‖A'g‖ r, and ‖v − u‖
    at most ‖A‖ r. Lengths behind the metric are measured in σ, and A is divided by its norm. All slopes
    are then of order one. Without that, the squares of the slopes of very large samples vanish, and a
    slope of zero allows any move.
    """

    kernel: Kernel
    scores: Scores
    F: Floats
    grams: Floats
    way: Front
    bounds: MapBounds

    @classmethod
    def of(cls, f: Any, scores: Scores, F: Floats, Z: Any, way: Front) -> Local:
        """Around samples ``Z``, where the map is ``F``."""
        bounds = MapBounds.of(f, Z, F, np.zeros(1))
        return cls(f.kernel, scores, F, slope_grams(f, Z, way), way, bounds)

    @property
    def furthest(self) -> Floats:
        """Radii beyond which nothing changes any more."""
        return self.way.radius(np.full(len(self.F), SATURATED * self.kernel.sigma))

    def lead(self, some: Ints, own: Ints, rival: Ints) -> Callable[[Floats], Floats]:
        """What functions ``own`` of some samples lead ``rival`` by at least, within a radius."""
        scores, error = self.scores, self.bounds.of_functions(self.scores)
        kernel = self.kernel
        A, way = scores.weights[own] - scores.weights[rival], self.way
        rounded = 2.0 * np.broadcast_to(way.error, len(self.F))[some]
        b = scores.offsets[own] - scores.offsets[rival] - 4.0 * error
        m, B2 = np.einsum("id,id->i", A, self.F[some]), np.square(A @ self.bounds.factor).sum(axis=1)
        g, slope = np.sqrt(np.maximum(np.einsum("id,isde,ie->si", A, self.grams[some], A), 0.0))
        # The gradients are rounded, and their squares: a'JJ'a may cancel.
        squares = 32 * EPS * A.shape[1] * np.einsum("isdd->si", self.grams[some])
        wrong = kernel.sigma * self.bounds.gradient_error + np.sqrt(squares)
        wrong *= np.linalg.norm(A, axis=1)
        known = np.square(np.maximum(np.abs(m) - 2.0 * error, 0.0))
        known += np.square(np.maximum(g - wrong[0], 0.0)) / (2.0 * kernel.curvature)
        R = np.sqrt(np.maximum(B2 - known, 0.0) + 64 * EPS * B2 + TINY)
        g, slope = g + wrong[0], slope * (1.0 + PRODUCT_ROUNDING) + wrong[1]
        slope += 2.0 * way.growth / way.norm * g  # the product with A' is rounded, too

        def at_least(r: Floats) -> Floats:
            moved, off = way.norm * r / kernel.sigma, (way.growth * r + rounded) / kernel.sigma
            line = m - slope * moved - g * off
            return b + kernel.local_bound(np.square(moved + off), line, R) - 16 * EPS * np.abs(line)

        return at_least


def slope_grams(f: KernelMap, Z: Any, way: Front) -> Floats:
    """JJ' of the Jacobians of f behind the metric and in front of all steps, (n_samples, 2, d, d).

    The first are multiplied by σ, the others by σ over the norm of all steps: all are of order one.
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


def halved(ahead: Callable[[Floats], Floats], high: Floats) -> Floats:
    """Radii below ``high`` where ``ahead`` is positive, by bisection."""
    low = np.zeros(len(high))
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        safe = ahead(middle) > 0.0
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return low * (1.0 - 8 * EPS)


def norms_between(A: Floats, B: Floats) -> Floats:
    """‖a_i − b_j‖ of all rows, never less than it is and never zero."""
    largest = max(np.square(A).sum(axis=1).max(), np.square(B).sum(axis=1).max())
    D2 = squared_distances(A, B)
    D2 += 8.0 * (A.shape[1] + 8) * EPS * largest + TINY
    D2[~np.isfinite(D2)] = np.inf
    return np.sqrt(D2, out=D2)


def mean_radius(vote: MeanVote, front: Front) -> Floats:
    """Radii of a mean of scores: the leads of its members add up."""
    if not all(map(is_ordinary, vote.members)):
        return np.zeros(front.Z.shape[0])
    local = [
        Local.of(f, scores, f(front.Z), front.Z, behind_metric(front, f)) for f, scores in vote.members
    ]
    values = np.mean([one.scores.functions(one.F) for one in local], axis=0)
    codes, rounding = values.argmax(axis=1), 8.0 * len(local) * EPS * np.abs(values).max(axis=1)
    furthest = np.max([one.furthest for one in local], axis=0)
    radius = np.full(len(codes), np.inf)
    for rival in range(len(vote.classes)):
        some = np.flatnonzero(codes != rival)
        leads = [one.lead(some, codes[some], np.full(len(some), rival)) for one in local]

        def ahead(r: Floats, leads: Any = leads, some: Ints = some) -> Floats:
            return np.asarray(np.mean([lead(r) for lead in leads], axis=0) - rounding[some])

        radius[some] = np.minimum(radius[some], halved(ahead, furthest[some]))
    return radius


def majority_radius(codes: Ints, radii: Floats, weights: Floats) -> Floats:
    """Radius within which a majority cannot change, from the radii of its members.

    Within r only members with radii up to r can change, and at worst all of these turn to one rival.

    Parameters
    ----------
    codes, radii : ndarrays of shape (n_samples, n_members)
        Classes that the members give, and the radii within which they keep to them.
    weights : ndarray of shape (n_members,)
        Weights of the members.
    """
    n_classes = int(codes.max()) + 1
    votes = np.einsum("ijk,j->ik", codes[:, :, np.newaxis] == np.arange(n_classes), weights)
    won, order = votes.argmax(axis=1), np.argsort(radii, axis=1)
    rows, turned = np.arange(len(codes)), np.zeros(len(codes))
    certified, safe = radii[rows, order[:, 0]].copy(), np.ones(len(codes), dtype=bool)
    for place, following in zip(order.T, order.T[1:], strict=False):
        votes[rows, codes[rows, place]] -= weights[place]
        turned += weights[place]
        rivals = votes.copy()
        rivals[rows, won] = 0.0
        safe &= votes[rows, won] > rivals.max(axis=1) + turned
        certified[safe] = radii[rows, following][safe]
    return certified
