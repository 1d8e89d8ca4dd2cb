"""Certified radii: how far x may be moved, in any direction, before its label can change.

The label is the class of the largest of some affine functions of f(x). Let i be one of x's own class
and j one of another. Their difference moves by at most √(a'Qa) √(2 − 2 exp(−r²/σ²)), a = w_i − w_j,
when x moves by r in the metric (`nsse.maps`). So i stays ahead of j while

    (v_i − v_j)(x) > √(a'Qa) · √(2 − 2 exp(−r²/σ²)),

and the label stays while every j has some own i ahead of it. Only the `OWN` largest own functions are
tried, so the radius may be less than the best of this form and is never more. A mean of scores is one
function with the sum of its members' bounds, solved for r by bisection; a majority is safe while the
winner's members that cannot change outweigh a rival's together with all that can.

Rounding is on the safe side throughout (`nsse.certificates.rounding`): differences of functions are
lowered by what they may be wrong by at x and again at the moved point, norms are raised, radii are
taken a little smaller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._support.errors import rule_message
from nsse.certificates.rounding import EPS, Front, MapBounds
from nsse.kernels import squared_distances
from nsse.maps import GaussianMap, LinearMap
from nsse.pipelines import opened
from nsse.scores import Scores
from nsse.votes import MajorityVote, MeanVote, Member, vote_of

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Own functions that are tried, and halvings of an interval.
OWN, HALVINGS = 4, 60
# exp(−r²/σ²) is below rounding from so many σ on.
SATURATED = 7.0
BLOCK_VALUES = 2_000_000


def certified_radius(model: Any, X: Any) -> Floats:
    """Certified radii of predictions, through pipelines and votes.

    Proved, not estimated: no sample that differs from x by less than its radius gets another label.

    Parameters
    ----------
    model : estimator
        Fitted: one with a Gaussian or linear map, a vote of such, or a pipeline with one of them at its
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
    if isinstance(vote, MeanVote):
        return mean_radius(vote, front)
    told = [member_radius(member, front) for member in vote.members]
    codes, radii = (np.column_stack(part) for part in zip(*told, strict=True))
    assert isinstance(vote, MajorityVote)
    return majority_radius(codes, radii, vote.weights)


def certified_vote(model: Any) -> MeanVote | MajorityVote:
    """The decision of a fitted model, all of whose maps are known; others are refused."""
    if not hasattr(model, "vote_") and not (hasattr(model, "map_") and hasattr(model, "scores_")):
        raise _uncertified(type(model).__name__)
    vote = vote_of(model)
    known = GaussianMap if isinstance(vote, MeanVote) else (GaussianMap, LinearMap)
    for member in vote.members:
        if not isinstance(member.map, known):
            raise _uncertified(f"{type(model).__name__} with a {type(member.map).__name__}")
    assert isinstance(vote, MeanVote | MajorityVote)
    return vote


def _uncertified(got: str) -> TypeError:
    rule = "have a Gaussian or linear map to be certified"
    return TypeError(rule_message("model", rule, got, "Nothing is proved here about other maps."))


def checked_samples(model: Any, X: Any) -> Any:
    """Samples as the model takes them, a dense or CSR matrix of floats."""
    floats = [np.float64, np.float32]
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=floats)


def member_radius(member: Member, front: Front) -> tuple[Ints, Floats]:
    """The class of every sample by one map, and its radius in the units of the samples."""
    f, scores, Z = member.map, member.scores, front.Z
    F = f(Z)
    codes, slack = lead_over_norm(scores, F, MapBounds.of(f, Z, F, np.zeros(len(F))))
    if isinstance(f, LinearMap):  # what rounding does to it depends on how far samples are moved
        codes, slack = lead_over_norm(scores, F, MapBounds.of(f, Z, F, slack))
    return codes, behind_metric(front, f).radius(reach(f, slack))


def behind_metric(front: Front, f: Any) -> Front:
    """The front with the metric of a Gaussian map behind it."""
    return front.behind(f.metric, EPS, None) if isinstance(f, GaussianMap) else front


def reach(f: Any, change: Floats) -> Floats:
    """Distance within which no coordinate of unit norm changes by ``change``, behind the metric."""
    safe = change * (1.0 - 8 * EPS)
    return f.kernel.reach(safe) * (1.0 - 8 * EPS) if isinstance(f, GaussianMap) else safe


def change(f: Any, distance: Floats) -> Floats:
    """What a function of unit norm can change by within a distance: the inverse of `reach`."""
    bound = np.sqrt(-2.0 * np.expm1(-np.square(distance / f.kernel.sigma)))
    return np.asarray(bound * (1.0 + 16 * EPS))


def lead_over_norm(scores: Scores, F: Floats, bounds: MapBounds) -> tuple[Ints, Floats]:
    """Classes, and min over rivals j of max over own i of (v_i − v_j)/√(a'Qa), never negative."""
    codes = scores.codes[scores.functions(F).argmax(axis=1)]
    images = scores.weights @ bounds.factor
    rounding = np.broadcast_to(4.0 * bounds.of_functions(scores), len(F))
    slack, rows = np.empty(len(F)), max(1, BLOCK_VALUES // len(images))
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        own, rivals = np.flatnonzero(scores.codes == code), np.flatnonzero(scores.codes != code)
        for start in range(0, len(members), rows):
            part = members[start : start + rows]
            v = scores.functions(F[part])
            ahead = v[:, rivals] + rounding[part][:, np.newaxis]
            slack[part] = _slack(v[:, own], ahead, images[own], images[rivals])
    return codes, slack


def _slack(own: Floats, rivals: Floats, own_images: Floats, rival_images: Floats) -> Floats:
    count = min(OWN, own.shape[1])
    tried = np.argpartition(own, -count, axis=1)[:, -count:]
    used, places = np.unique(tried, return_inverse=True)
    norms = norms_between(own_images[used], rival_images)
    best = np.zeros_like(rivals)
    for i in places.reshape(tried.shape).T:
        lead = own[np.arange(len(own)), used[i]][:, np.newaxis] - rivals
        np.maximum(best, lead / norms[i], out=best)
    return np.asarray(best.min(axis=1))


def norms_between(A: Floats, B: Floats) -> Floats:
    """‖a_i − b_j‖ of all rows, never less than it is and never zero."""
    largest = max(np.square(A).sum(axis=1).max(), np.square(B).sum(axis=1).max())
    D2 = squared_distances(A, B)
    D2 += 8.0 * (A.shape[1] + 8) * EPS * largest + np.finfo(np.float64).tiny
    return np.sqrt(D2, out=D2)


def mean_radius(vote: MeanVote, front: Front) -> Floats:
    """Radii of a mean of scores: its members' bounds add up."""
    V, Z = len(vote.members), front.Z
    values = np.zeros((Z.shape[0], len(vote.classes)))
    rounding, parts = np.zeros(len(values)), list[tuple[Any, Front, Floats]]()
    for f, scores in vote.members:
        F = f(Z)
        values += scores.functions(F) / V
        bounds = MapBounds.of(f, Z, F, np.zeros(1))
        rounding = rounding + 4.0 * bounds.of_functions(scores) / V
        parts.append((f, behind_metric(front, f), scores.weights @ bounds.factor / V))
    rounding = rounding + 8.0 * V * EPS * np.abs(values).max(axis=1)
    codes = values.argmax(axis=1)
    margins = values[np.arange(len(codes)), codes][:, np.newaxis] - values - rounding[:, np.newaxis]
    margins[np.arange(len(codes)), codes] = np.inf
    norms = [norms_between(images, images)[codes] for _, _, images in parts]

    def is_safe(r: Floats) -> NDArray[np.bool_]:
        lost = sum(
            n * change(f, way.moved(r))[:, np.newaxis]
            for (f, way, _), n in zip(parts, norms, strict=True)
        )
        return np.asarray((margins > lost).all(axis=1))

    # No member alone may lose the whole margin; beyond saturation nothing is lost any more.
    ends = [
        way.radius(np.minimum(reach(f, least_ratio(margins, n)), SATURATED * f.kernel.sigma))
        for (f, way, _), n in zip(parts, norms, strict=True)
    ]
    low, high = np.zeros(len(codes)), np.min(ends, axis=0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        safe = is_safe(middle)
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return np.where(is_safe(np.full(len(codes), np.inf)), np.inf, low)


def least_ratio(margins: Floats, norms: Floats) -> Floats:
    """The smallest margin over its norm of every row, never negative."""
    return np.asarray(np.maximum((margins / norms).min(axis=1), 0.0))


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
    counted = np.einsum("ijk,j->ik", codes[:, :, np.newaxis] == np.arange(n_classes), weights)
    won, order = counted.argmax(axis=1), np.argsort(radii, axis=1)
    rows, turned = np.arange(len(codes)), np.zeros(len(codes))
    certified, safe = radii[rows, order[:, 0]].copy(), np.ones(len(codes), dtype=bool)
    for place, following in zip(order.T, order.T[1:], strict=False):
        counted[rows, codes[rows, place]] -= weights[place]
        turned += weights[place]
        rivals = counted.copy()
        rivals[rows, won] = 0.0
        safe &= counted[rows, won] > rivals.max(axis=1) + turned
        certified[safe] = radii[rows, following][safe]
    return certified
