"""Why a prediction: which features move it, and which training samples speak for it.

The decision is about a difference of two affine functions of f, own class c less strongest rival r,

    v_c(x) − v_r(x) = b + a'f(x) = b + Σ_j w_j(x),    w_j(x) = k(A x, z_j) a'C_j,    a = w_c − w_r,

so that every centre z_j has a signed weight: a kernel expansion names its witnesses. Its gradient by x
has a closed form (`nsse.maps.KernelMap.gradients`), and goes through affine steps of a pipeline. A vote
is the mean of its members' differences. What a feature contributes is its part of the way from the mean
x̄ of the samples to x, gradients integrated along it (Sundararajan, Taly & Yan 2017),

    (x_k − x̄_k) ∫₀¹ ∂_k (v_c − v_r)(x̄ + t (x − x̄)) dt,

so that contributions of all features make up the difference of the margins at x and at x̄, and features
of different units compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error, rule_message
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.maps import KernelMap, LinearMap
from nsse.pipelines import affine_of_step, opened
from nsse.votes import Member, vote_of

__all__ = ["Explanation", "explain"]

# Witnesses of a prediction that are listed, and centres at which relevance is looked at, at most.
WITNESSES, LOOKED_AT = 8, 2000
NODES = 16  # places on the way from the mean to a sample
BLOCK_VALUES = 4_000_000  # weights of centres held at a time, 32 MB


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why samples are predicted as they are.

    Attributes
    ----------
    gradient : ndarray of shape (n_samples, n_features)
        Gradient of the margin by every feature, in the units of the features: by how much a small step
        along the feature speaks for the class.
    contribution : ndarray of shape (n_samples, n_features)
        What the feature adds to the margin on the way from the mean of the centres of the model, which
        are the training samples where it is exact, to the sample.
    margin : ndarray of shape (n_samples,)
        Score of the explained class less that of its strongest rival.
    label, rival : ndarray of shape (n_samples,)
        The class that is explained, and its strongest rival.
    witnesses : ndarray of int of shape (n_samples, n_witnesses)
        Rows of ``centers_`` with the largest weights: training samples in their order where the model is
        exact, all are different, and none is augmented. Empty for linear maps, and for votes whose
        members have different centres.
    weights : ndarray of shape (n_samples, n_witnesses)
        What these add to the margin: positive ones speak for the class, negative ones for the rival. All
        centres together and ``offset`` make the margin.
    offset : ndarray of shape (n_samples,)
        What is left of the margin where no centre is near.
    space : str
        What the features are: "X", or the output of the last step that is not affine.

    See Also
    --------
    nsse.explanations.explain : Gives it.
    nsse.plot.explanation : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> found = SmoothEmbedding().fit(X[::3], y[::3]).explain(X[:5])
    >>> found.gradient.shape, found.space
    ((5, 4), 'X')
    """

    gradient: Floats
    contribution: Floats
    margin: Floats
    label: NDArray[Any]
    rival: NDArray[Any]
    witnesses: Ints
    weights: Floats
    offset: Floats
    space: str

    def __len__(self) -> int:
        return len(self.margin)


def explain(model: Any, X: SamplesLike, target: Any = None) -> Explanation:
    """Which features move predictions, and which training samples speak for them.

    Parameters
    ----------
    model : estimator
        Fitted, with a kernel or linear map: alone, a vote, or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    target : label or array-like of shape (n_samples,), default=None
        The class to explain, the same for all samples or one for each. None is the predicted class.

    Returns
    -------
    Explanation
        Gradients and contributions of the features, and witnesses with their weights. Through affine
        steps of a pipeline these are of the features of ``X``; behind another step, such as an encoder,
        of what that step gives, and ``space`` says so.

    See Also
    --------
    nsse.plot.explanation : Draws it.
    nsse.certificates.certified_radius : How far a sample may move.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::6], y[::6])
    >>> found = nsse.explanations.explain(model, X[:3])
    >>> found.gradient.shape, found.witnesses.shape
    ((3, 64), (3, 8))
    """
    _, core = opened(model)
    members = _members(core)
    Z, front, base, space = _behind_steps(model, X)
    parts = _explained(members, Z, _codes(core, Z, target))
    gradient, along = (
        each if front is None else front.pull_back(each)
        for each in (parts.gradient, _along_the_way(members, _dense(Z), parts.label, parts.rival))
    )
    return Explanation(
        gradient,
        along * (_dense(base) - _mean_sample(members[0], front)),
        parts.margin,
        core.classes_[parts.label],
        core.classes_[parts.rival],
        parts.witnesses,
        parts.weights,
        parts.offset,
        space,
    )


def feature_relevance(core: Any) -> Floats:
    """Root mean square over the centres of gradient times distance from the mean, shares of one.

    The centres are the training samples where the model is exact.
    """
    members = _members(core)
    f = members[0].map
    if not isinstance(f, KernelMap):
        rule, cure = "have training samples as centres", "Take the gradients of `explain`."
        raise AttributeError(rule_message("model", rule, type(core).__name__, cure))
    n = f.coef.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))
    rows = f.metric.inverse(f.centers[some])
    parts = _explained(members, rows, None)
    size = np.sqrt(
        np.mean(np.square(parts.gradient * (_dense(rows) - _mean_sample(members[0]))), axis=0)
    )
    total = float(size.sum())
    return size / total if total > 0 else np.full(len(size), 1.0 / len(size))


class _Parts(NamedTuple):
    """What is known of a block of samples; classes are codes."""

    gradient: Floats
    margin: Floats
    label: Ints
    rival: Ints
    witnesses: Ints
    weights: Floats
    offset: Floats


def _explained(members: list[Member], Z: Any, codes: Ints | None) -> _Parts:
    """The samples explained, as many at a time as there is room for; no codes take the largest value."""
    size = _block_size(members)
    parts = [
        _of_block(
            members, Z[start : start + size], None if codes is None else codes[start : start + size]
        )
        for start in range(0, max(Z.shape[0], 1), size)
    ]
    return parts[0] if len(parts) == 1 else _Parts(*map(np.concatenate, zip(*parts, strict=True)))


def _block_size(members: list[Member]) -> int:
    """Samples that are looked at together."""
    widest = max(getattr(member.map, "coef", member.scores.weights).shape[0] for member in members)
    return max(1, BLOCK_VALUES // widest)


def _of_block(members: list[Member], Z: Any, codes: Ints | None) -> _Parts:
    values = np.mean([member.values(Z) for member in members], axis=0)
    rows = np.arange(len(values))
    label = values.argmax(axis=1) if codes is None else codes
    others = values.copy()
    others[rows, label] = -np.inf
    rival = others.argmax(axis=1)
    directions = [_directions(member, Z, label, rival) for member in members]
    pairs = list(zip(members, directions, strict=True))
    gradient = np.mean([member.map.gradients(Z, a) for member, a in pairs], axis=0)
    margin = values[rows, label] - values[rows, rival]
    # Members of a vote that have different centres have no witnesses in common.
    each = [_weights(member, Z, a) for member, a in pairs]
    widths = {part.shape[1] for part in each}
    weights = np.mean(each, axis=0) if len(widths) == 1 else np.empty((len(rows), 0))
    most = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :WITNESSES]
    own = np.take_along_axis(weights, most, axis=1)
    return _Parts(gradient, margin, label, rival, most, own, margin - weights.sum(axis=1))


def _along_the_way(members: list[Member], Z: Floats, label: Ints, rival: Ints) -> Floats:
    """Mean gradient of the difference of two classes on the way from the mean, by Gauss's rule."""
    size, mean = _block_size(members), _mean_sample(members[0])
    if len(Z) > size:
        cuts = [slice(start, start + size) for start in range(0, len(Z), size)]
        return np.vstack([_along_the_way(members, Z[cut], label[cut], rival[cut]) for cut in cuts])
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    ways = [(member, _directions(member, Z, label, rival)) for member in members]
    total = np.zeros(Z.shape)
    for node, share in zip((nodes + 1.0) / 2.0, shares / 2.0, strict=True):
        there = mean + node * (Z - mean)
        for member, a in ways:
            total += share / len(ways) * member.map.gradients(there, a)
    return total


def _directions(member: Member, Z: Any, label: Ints, rival: Ints) -> Floats:
    """a of every sample: the difference of the largest functions of two classes."""
    own, other = (_largest(member, Z, codes) for codes in (label, rival))
    return np.asarray(member.scores.weights[own] - member.scores.weights[other])


def _weights(member: Member, Z: Any, a: Floats) -> Floats:
    """The weight of each center in a'f; none for linear maps."""
    f: Any = member.map
    if isinstance(f, LinearMap):
        return np.empty((len(a), 0))
    return np.asarray(f.kernel_rows(Z) * (a @ f.coef.T))


def _largest(member: Member, Z: Any, codes: Ints) -> Ints:
    """Which function of the given class is the largest at every sample."""
    scores = member.scores
    if scores.has_one_per_class:
        return codes
    v = scores.functions(member.map(Z))
    return np.asarray(np.where(scores.codes == codes[:, np.newaxis], v, -np.inf).argmax(axis=1))


def _members(core: Any) -> list[Member]:
    """Maps and scores that decide, all of a kind that can be explained."""
    members = list(vote_of(core).members)
    if not all(isinstance(member.map, KernelMap | LinearMap) for member in members):
        rule, cure = "have a kernel or linear map", "SmoothEmbedding, NSSE and most methods have one."
        raise TypeError(rule_message("model", rule, type(core).__name__, cure))
    return members


def _behind_steps(model: Any, X: SamplesLike) -> tuple[Any, Affine | None, Any, str]:
    """Samples behind the steps; the last steps as one affine map, what it takes, and what that is."""
    steps, _ = opened(model)
    front, base, Z, space = None, X, X, "X"
    for step in steps:
        Z = step.transform(Z)
        try:
            affine = affine_of_step(step, with_gaps=True)
        except ValueError:
            front, base, space = None, Z, f"output of {type(step).__name__}"
        else:
            front = affine if front is None else affine.after(front)
    return Z, front, base, space


def _codes(core: Any, Z: Any, target: Any) -> Ints:
    """Codes of the classes to explain."""
    predicted = core.predict(Z)  # checks the samples
    labels = predicted if target is None else np.asarray(target)
    if labels.ndim > 0 and labels.shape != predicted.shape:
        cure = f"Pass one label, or {len(predicted)}."
        raise rule_error("target", "be a label, or one label per sample", labels.shape, cure)
    unknown = sorted(set(labels.ravel().tolist()) - set(core.classes_.tolist()), key=str)
    if unknown:
        cure = f"The model knows {core.classes_.tolist()[:10]}."
        raise rule_error("target", "be labels that the model knows", unknown, cure)
    codes = np.searchsorted(core.classes_, labels)
    return np.broadcast_to(codes, predicted.shape).astype(np.intp)


def _mean_sample(member: Member, front: Affine | None = None) -> Floats:
    """The mean of the centres in the units of the samples; of a linear map, what it shifts by."""
    f: Any = member.map
    if isinstance(f, KernelMap):
        middle = np.asarray(f.centers.mean(axis=0), dtype=np.float64).reshape(1, -1)
        mean = _dense(f.metric.inverse(middle))
    else:
        mean = f.affine.shift[np.newaxis]
    return mean if front is None else _dense(front.inverse(mean))


def _dense(X: SamplesLike) -> Floats:
    return X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
