"""Explain predictions by the features that move them, and by the most influential training samples.

A prediction depends on the difference of two affine functions of f, for the class c and its rival r,

    v_c(x) − v_r(x) = b + a'f(x) = b + Σ_j w_j(x),    w_j(x) = k(A x, z_j) a'C_j,    a = w_c − w_r.

Every center z_j has a signed weight w_j(x), so a sum of kernels shows which training samples support a
prediction. The gradient by x has a closed form (`nsse.maps.KernelMap.gradients`) and passes through the
affine steps of a pipeline. The contribution of a feature is its share of the path from the mean x̄ of the
training samples to x, with the gradient integrated along the path (Sundararajan, Taly & Yan 2017),

    (x_k − x̄_k) ∫₀¹ ∂_k (v_c − v_r)(x̄ + t (x − x̄)) dt.

The contributions of all features add up to the difference of the margins at x and at x̄. They have no
units, so features with different units can be compared.

An ensemble is a weighted sum, S = Σ_k w_k v_k. Its gradients, contributions and weights of training
samples are weighted sums over its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error, rule_message
from nsse._support.frames import Columns, Frame, as_frame
from nsse._support.samples import validate_data
from nsse._support.types import Floats, Ints, Matrix, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.maps import Member, members_of, plainest
from nsse.pipelines import affine_of_step, behind, check_model, opened

__all__ = ["Explanation", "explain", "feature_relevance"]

# Influential samples of a prediction that are listed, and centers that are used for the relevance, at
# most.
INFLUENTIAL, LOOKED_AT = 8, 2000
# Centers of two members that are compared, and their largest difference as a share of the largest entry.
COMPARED, SAME = 32, 1e-6
NODES = 16  # nodes of Gauss's rule on the path from the mean to a sample
BLOCK_VALUES = 4_000_000  # weights of centers held at a time, 32 MB
# Of the repr: samples with a line, and features that a line names.
SHOWN_SAMPLES, SHOWN_FEATURES = 10, 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanations of the predictions for some samples.

    `print` shows one line per sample. `to_frame` returns the numbers of all features as a table.

    Attributes
    ----------
    gradient : ndarray of shape (n_samples, n_features)
        Gradient of the margin by each feature. A positive value means that a small increase of the
        feature supports the class.
    contribution : ndarray of shape (n_samples, n_features)
        Part of the margin that comes from the feature. The contributions of a sample add up to
        ``margin - margin_at_mean``.
    margin : ndarray of shape (n_samples,)
        Score of the explained class minus the score of its rival.
    margin_at_mean : ndarray of shape (n_samples,)
        The same difference of scores at the mean training sample. If the model has fewer centers than
        training samples, the mean is the mean of the centers.
    label, rival : ndarray of shape (n_samples,)
        The class that is explained, and the other class with the largest score.
    influential : ndarray of int of shape (n_samples, n_influential)
        Rows of ``centers_`` with the largest weights. If the model is exact and has neither equal nor
        augmented rows, these are training samples in their order. The members of an ensemble usually
        have the same centers. If some of them have augmented samples in addition, the weight of a
        training sample includes the weights of its augmented samples. Linear maps have no influential
        samples, and neither do ensembles whose members have different centers.
    weights : ndarray of shape (n_samples, n_influential)
        Contributions of these samples to the margin. A positive weight supports the class, and a
        negative weight supports the rival. The weights of all centers and ``offset`` add up to the
        margin.
    offset : ndarray of shape (n_samples,)
        The margin of a sample that is far from all centers.
    feature_names : tuple of str
        Names of the features.
    space : str
        "X" if the features are the columns of X. Otherwise the step of the pipeline that returns them.

    See Also
    --------
    nsse.explanations.explain : Returns an explanation.
    nsse.plot.explanation : Draws an explanation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> data = load_iris(as_frame=True)
    >>> model = SmoothEmbedding().fit(data.data[::3], data.target_names[data.target][::3])
    >>> found = model.explain(data.data[:3])
    >>> found.gradient.shape, found.space
    ((3, 4), 'X')
    >>> len(found.to_frame())
    12
    """

    gradient: Floats
    contribution: Floats
    margin: Floats
    margin_at_mean: Floats
    label: NDArray[Any]
    rival: NDArray[Any]
    influential: Ints
    weights: Floats
    offset: Floats
    feature_names: tuple[str, ...]
    space: str

    def __len__(self) -> int:
        return len(self.margin)

    def __repr__(self) -> str:
        n = len(self)
        lines = [f"Explanation of {n} prediction{'s' * (n != 1)}:"]
        lines += [f"  {row}: {self.line(row)}" for row in range(min(n, SHOWN_SAMPLES))]
        if n > SHOWN_SAMPLES:
            lines.append(f"  and {n - SHOWN_SAMPLES} more. `to_frame()` returns all of them.")
        return "\n".join(lines)

    def line(self, row: int) -> str:
        """Return the explanation of one sample in one line.

        Parameters
        ----------
        row : int
            Which sample.

        Returns
        -------
        str
            The class, its rival, the margin, and the features with the largest contributions.
        """
        contribution = self.contribution[row]
        largest = np.argsort(-np.abs(contribution), kind="stable")[:SHOWN_FEATURES]
        parts = [f"{self.feature_names[k]} {contribution[k]:+.2f}" for k in largest]
        more = ", …" if len(contribution) > SHOWN_FEATURES else ""
        return (
            f"{self.label[row]!s} over {self.rival[row]!s} by {self.margin[row]:.2f}: "
            f"{', '.join(parts)}{more}"
        )

    def with_names(self, names: Sequence[str]) -> Explanation:
        """Return the same explanation with other names of the features.

        Parameters
        ----------
        names : sequence of str
            One name for each feature.

        Returns
        -------
        Explanation
            A copy with these names.
        """
        return replace(self, feature_names=tuple(map(str, names)))

    def to_frame(self) -> Frame:
        """Return one row per sample and feature.

        Returns
        -------
        pandas.DataFrame or dict of lists
            The columns ``sample``, ``label``, ``rival``, ``margin``, ``feature``, ``gradient`` and
            ``contribution``. If pandas is not installed, the result is a dict of columns.
        """
        n_samples, n_features = self.gradient.shape
        each = {
            "sample": np.arange(n_samples),
            "label": self.label,
            "rival": self.rival,
            "margin": self.margin,
        }
        columns: Columns = {name: np.repeat(part, n_features).tolist() for name, part in each.items()}
        columns["feature"] = list(self.feature_names) * n_samples
        columns["gradient"] = self.gradient.ravel().tolist()
        columns["contribution"] = self.contribution.ravel().tolist()
        return as_frame(columns)


def explain(model: Any, X: SamplesLike, target: Any = None) -> Explanation:
    """Explain predictions by features and by training samples.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel map or a linear map, alone, in a search or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    target : label or array-like of shape (n_samples,), default=None
        The class to explain, one for all samples or one for each. None explains the predicted class.

    Returns
    -------
    Explanation
        Gradients and contributions of the features, and the influential training samples with their
        weights. Affine steps of a pipeline are included, so the features are the columns of ``X``. If a
        step is not affine, such as an encoder, the features are its output, and ``space`` names it.

    See Also
    --------
    nsse.plot.explanation : Draws the contributions.
    nsse.certificates.certified_radius : How far a sample may move without a change of its label.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::6], y[::6])
    >>> found = nsse.explanations.explain(model, X[:3])
    >>> found.gradient.shape, found.influential.shape
    ((3, 64), (3, 8))
    """
    steps, core = opened(model)
    members = _members(core)
    Z, front, base, step = _behind_steps(steps, X)
    codes = _codes(core, Z, target)
    Z = validate_data(core, Z, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
    parts = _explained(members, Z, codes)
    Z = _dense(Z)
    along = _mean_gradient(members, Z, parts.label, parts.rival)
    gradient = parts.gradient
    if front is not None:
        gradient, along = front.pull_back(gradient), front.pull_back(along)
    return Explanation(
        gradient,
        along * (_dense(base) - _mean_sample(plainest(members), front)),
        parts.margin,
        parts.margin_at_mean,
        core.classes_[parts.label],
        core.classes_[parts.rival],
        parts.influential,
        parts.weights,
        parts.offset,
        _feature_names(base, model if step is None else step, gradient.shape[1], step is not None),
        "X" if step is None else f"output of {type(step).__name__}",
    )


def feature_relevance(model: Any) -> Floats:
    """Return the share of each feature in the predictions of the training samples.

    The relevance of a feature is the root mean square of its gradient times its distance from the mean,
    over the training samples or, if the model has fewer centers, over the centers.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel map, alone, in a search or at the end of a pipeline. If a step of
        the pipeline is not affine, such as a `TableEncoder` of categories, the features are its output.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares that add up to one. They do not depend on the units of the features.

    See Also
    --------
    nsse.explanations.explain : Explains single predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.explanations import feature_relevance
    >>> X, y = load_iris(return_X_y=True)
    >>> relevance = feature_relevance(SmoothEmbedding().fit(X, y))
    >>> relevance.shape, int(relevance.argmax())
    ((4,), 2)
    """
    steps, core = opened(model)
    members = _members(core)
    front, _ = _affine_end(steps)
    f = plainest(members).map
    if not len(f.coef):
        rule, cure = "have training samples as centers", "Use the gradients of `explain`."
        raise TypeError(rule_message("model", rule, type(core).__name__, cure))
    n = f.coef.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))
    rows = f.affine.inverse(f.centers[some])
    gradient = _explained(members, rows, None).gradient
    if front is not None:
        gradient, rows = front.pull_back(gradient), front.inverse(_dense(rows))
    size = np.sqrt(
        np.mean(np.square(gradient * (_dense(rows) - _mean_sample(plainest(members), front))), axis=0)
    )
    total = float(size.sum())
    return size / total if total > 0 else np.full(len(size), 1.0 / len(size))


class _Parts(NamedTuple):
    """The explanation of a block of samples, with classes as codes."""

    gradient: Floats
    margin: Floats
    margin_at_mean: Floats
    label: Ints
    rival: Ints
    influential: Ints
    weights: Floats
    offset: Floats


def _explained(members: tuple[Member, ...], Z: Matrix, codes: Ints | None) -> _Parts:
    """Explain the classes of ``codes``, or those with the largest value, block by block."""
    size = _block_size(members)
    parts = [
        _of_block(
            members, Z[start : start + size], None if codes is None else codes[start : start + size]
        )
        for start in range(0, max(Z.shape[0], 1), size)
    ]
    return parts[0] if len(parts) == 1 else _Parts(*map(np.concatenate, zip(*parts, strict=True)))


def _block_size(members: tuple[Member, ...]) -> int:
    """Return the number of samples in a block."""
    widest = max(len(member.map.coef) or len(member.scores.weights) for member in members)
    return max(1, BLOCK_VALUES // widest)


def _of_block(members: tuple[Member, ...], Z: Matrix, codes: Ints | None) -> _Parts:
    values = np.sum([member.values(Z) for member in members], axis=0)
    rows = np.arange(len(values))
    label = values.argmax(axis=1) if codes is None else codes
    others = values.copy()
    others[rows, label] = -np.inf
    rival = others.argmax(axis=1)
    pairs = [(member, _directions(member, Z, label, rival)) for member in members]
    gradient = np.sum([member.map.gradients(Z, a) for member, a in pairs], axis=0)
    margin = values[rows, label] - values[rows, rival]
    weights = _summed_weights([_weights(member, Z, a) for member, a in pairs], _n_rows(members))
    most = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :INFLUENTIAL]
    own = np.take_along_axis(weights, most, axis=1)
    offset = margin - weights.sum(axis=1)
    mean = _mean_sample(plainest(members))
    at_mean = np.sum([_at_mean(member, mean, Z, label, rival) for member in members], axis=0)
    return _Parts(gradient, margin, at_mean, label, rival, most, own, offset)


def _summed_weights(each: list[Floats], n_rows: int) -> Floats:
    """Return the weights of the training rows, summed over the members and over augmented samples."""
    n_samples = len(each[0])
    if n_rows == 0:
        return np.empty((n_samples, 0))
    return np.sum([part.reshape(n_samples, n_rows, -1).sum(axis=2) for part in each], axis=0)


def _n_rows(members: tuple[Member, ...]) -> int:
    """Return the number of rows that are the centers of every member, or 0 if there are none.

    A member may have augmented samples in addition, which follow their row.
    """
    first = plainest(members).map
    if not len(first.coef):
        return 0
    return len(first.coef) if all(_same_rows(first, member.map) for member in members) else 0


def _same_rows(first: Any, f: Any) -> bool:
    """Return whether the centers of two maps are the same rows. Some of them are compared."""
    n_rows, per_row = len(first.coef), len(f.coef) // len(first.coef)
    if f is first or f.centers is first.centers:
        return True
    if len(f.coef) != per_row * n_rows:
        return False
    some = np.unique(np.linspace(0, n_rows - 1, COMPARED).astype(np.intp))
    own, others = (
        _dense(g.metric.inverse(g.centers[stride * some])) for g, stride in ((first, 1), (f, per_row))
    )
    return bool(np.abs(own - others).max() <= SAME * max(np.abs(own).max(), np.abs(others).max()))


def _at_mean(member: Member, mean: Floats, Z: Matrix, label: Ints, rival: Ints) -> Floats:
    """Return the difference at the mean of the two functions that are the largest at each sample."""
    v = member.scores.functions(member.map(mean))[0]
    lead = v[_largest(member, Z, label)] - v[_largest(member, Z, rival)]
    return np.asarray(member.weight * lead)


def _mean_gradient(members: tuple[Member, ...], Z: Floats, label: Ints, rival: Ints) -> Floats:
    """Return the mean gradient on the path from the mean sample, by Gauss's rule."""
    size, mean = _block_size(members), _mean_sample(plainest(members))
    if len(Z) > size:
        cuts = [slice(start, start + size) for start in range(0, len(Z), size)]
        return np.vstack([_mean_gradient(members, Z[cut], label[cut], rival[cut]) for cut in cuts])
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    directions = [(member, _directions(member, Z, label, rival)) for member in members]
    total = np.zeros(Z.shape)
    for node, share in zip((nodes + 1.0) / 2.0, shares / 2.0, strict=True):
        on_path = mean + node * (Z - mean)
        for member, a in directions:
            total += share * member.map.gradients(on_path, a)
    return total


def _directions(member: Member, Z: Matrix, label: Ints, rival: Ints) -> Floats:
    """Return a for every sample, the weighted difference of the largest functions of two classes."""
    own, other = (_largest(member, Z, codes) for codes in (label, rival))
    return np.asarray(member.weight * (member.scores.weights[own] - member.scores.weights[other]))


def _weights(member: Member, Z: Matrix, a: Floats) -> Floats:
    """Return the weight of each center in a'f. A linear map has no centers."""
    return np.asarray(member.map.kernel_rows(Z) * (a @ member.map.coef.T))


def _largest(member: Member, Z: Matrix, codes: Ints) -> Ints:
    """Return which function of the given class is the largest at every sample."""
    scores = member.scores
    if scores.has_one_per_class:
        return codes
    v = scores.functions(member.map(Z))
    return np.asarray(np.where(scores.codes == codes[:, np.newaxis], v, -np.inf).argmax(axis=1))


def _members(core: Any) -> tuple[Member, ...]:
    """Return the members of a model, or raise an error if its map cannot be explained."""
    check_model(core)
    members = members_of(core)
    if not members:
        rule, cure = "have a kernel or linear map", "SmoothEmbedding, NSSE and most methods have one."
        raise TypeError(rule_message("model", rule, type(core).__name__, cure))
    return members


def _behind_steps(steps: list[Any], X: SamplesLike) -> tuple[Any, Affine | None, Any, Any]:
    """Return the samples behind the steps, and the affine steps at the end as one map.

    The other two values are the samples that this affine map takes, and the step that returns them. The
    step is None if these samples are X.
    """
    front, n_before = _affine_end(steps)
    base = behind(steps[:n_before], X)
    return behind(steps[n_before:], base), front, base, steps[n_before - 1] if n_before else None


def _affine_end(steps: list[Any]) -> tuple[Affine | None, int]:
    """Return the affine steps at the end as one map, None without any, and the number of other steps."""
    front, n_before = None, 0
    for place, step in enumerate(steps):
        try:
            affine = affine_of_step(step, with_gaps=True)
        except ValueError:
            front, n_before = None, place + 1
        else:
            front = affine if front is None else affine.after(front)
    return front, n_before


def _feature_names(base: Any, source: Any, n_features: int, is_output: bool) -> tuple[str, ...]:
    """Return the names of a data frame, of the fitted model or of a step, or x0, x1, ... ."""
    names: Sequence[Any] | None = getattr(base, "columns", None)
    if names is None and is_output:
        names = _output_names(source)
    elif names is None:
        names = getattr(source, "feature_names_in_", None)
    if names is None or len(names) != n_features:
        return tuple(f"x{k}" for k in range(n_features))
    return tuple(str(name) for name in names)


def _output_names(step: Any) -> Sequence[Any] | None:
    """Return the names that scikit-learn's protocol gives to the output of a step, or None."""
    try:
        return list(step.get_feature_names_out())
    except (AttributeError, ValueError):  # the protocol is optional, and some steps need input names
        return None


def _codes(core: Any, Z: Matrix, target: Any) -> Ints:
    """Return the codes of the classes to explain."""
    predicted = core.predict(Z)  # checks the samples
    labels = predicted if target is None else np.asarray(target)
    if labels.ndim > 0 and labels.shape != predicted.shape:
        cure = f"Pass one label, or {len(predicted)}."
        raise rule_error("target", "be a label, or one label per sample", labels.shape, cure)
    unknown = sorted(set(labels.ravel().tolist()) - set(core.classes_.tolist()), key=str)
    if unknown:
        cure = f"The classes of the model are {core.classes_.tolist()[:10]}."
        raise rule_error("target", "be labels of training samples", unknown, cure)
    codes = np.searchsorted(core.classes_, labels)
    return np.broadcast_to(codes, predicted.shape).astype(np.intp)


def _mean_sample(member: Member, front: Affine | None = None) -> Floats:
    """Return the mean of the centers in the units of the samples, or the shift of a linear map."""
    mean = member.map.mean_sample
    return mean if front is None else _dense(front.inverse(mean))


def _dense(X: SamplesLike) -> Floats:
    return X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
