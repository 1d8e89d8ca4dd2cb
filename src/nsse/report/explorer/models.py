"""Collect the results of a fitted model for some samples as arrays, for the report.

Training points come from the model: its embedding, its labels, and its samples if the centers of the map
are the samples. New samples go through all steps of a pipeline. Radii and the live map need affine
steps, and the page contains a sentence if there are others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.base import EmbeddingClassifier
from nsse.certificates import ConformalClassifier, certified_radius
from nsse.certificates.reliability import EDGES, Bin, log_loss, reliability_curve
from nsse.class_maps import (
    ClassMap,
    class_map_of,
    left_out_coordinates,
    training_probabilities,
    training_rows,
)
from nsse.maps import KernelMap, Member, members_of, plainest, with_maps
from nsse.pipelines import affine_of_step, behind, opened

# Centers at which the map is evaluated to see whether they are the training samples.
COMPARED = 32
# The largest share of prediction sets that may lack the true label.
ALPHA = 0.1
NO_SAMPLES = "The report has no samples besides the training samples."


@dataclass(frozen=True)
class Samples:
    """Samples to draw over the training samples of a report.

    Attributes
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples in the form that the model accepts. None shows the training samples alone.
    y : array-like of shape (n_samples,), default=None
        The labels of the samples, if they are known.
    names : sequence of str, default=None
        Names of the samples, such as file names or keys.
    pictures, train_pictures : sequence of bytes or None, default=None
        JPEG files to show for the samples and for the training samples, with None for samples without a
        file. By default, images are shown if the features are their gray levels.
    train_names : sequence of str, default=None
        Names of the training samples, in their order.

    See Also
    --------
    nsse.report.write_report : Writes a report on them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.report import Samples
    >>> X, y = load_iris(return_X_y=True)
    >>> Samples(X[:2], y[:2], names=["first", "second"]).names
    ['first', 'second']
    """

    X: SamplesLike
    y: Any = None
    names: Sequence[str] | None = None
    pictures: Sequence[bytes | None] | None = None
    train_pictures: Sequence[bytes | None] | None = None
    train_names: Sequence[str] | None = None


@dataclass(frozen=True)
class Points:
    """Embedded samples. ``codes`` are places in the list of classes, and −1 for unknown labels."""

    embedding: Floats
    codes: Ints
    predicted: Ints
    # samples as the user has them (floats, dense or sparse, or objects), or None if not known
    inputs: Any
    names: tuple[str, ...] | None = None
    # Probability of the label that a training sample without one was given, −1 if unknown, and 0
    # otherwise.
    certainty: Floats | None = None
    probabilities: Floats | None = None  # of the classes that the model knows
    is_left_out: Bools | None = None  # training samples at the positions of models without them

    def __len__(self) -> int:
        return len(self.embedding)


@dataclass(frozen=True)
class Calibration:
    """The quality of probabilities and prediction sets on samples that the model has not seen."""

    n_samples: int = 0
    curve: tuple[Bin, ...] = ()
    log_loss: float = 0.0
    coverage: float = 0.0
    size: float = 0.0


@dataclass(frozen=True)
class Findings:
    """The results of a model for samples.

    ``core`` is the model at the end of the pipeline, whose map is drawn. ``front`` contains the steps
    before it as one affine map. It is None if there are no steps, or if ``not_affine`` states why they
    are not affine. If there are no certified radii, ``radius`` is None and ``unproved`` states why.
    ``behind`` contains the samples behind the steps, and ``seen`` marks those that are training samples.
    ``per_sample`` is the number of centers of a training sample, which are the sample and its augmented
    samples. It is 0 if the centers are other rows. ``nearest`` contains the training sample that is
    nearest to each of the others, which of its augmented samples that is, and their names.
    """

    core: Any
    front: Affine | None
    not_affine: str
    classes: tuple[str, ...]
    train: Points
    test: Points
    behind: Any
    per_sample: int
    class_map: ClassMap
    has_labels: bool = False
    seen: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    radius: Any = None  # an array, or nothing
    unproved: str = NO_SAMPLES
    probabilities: Floats | None = None
    sets: Bools | None = None
    threshold: float = -np.inf
    calibration: Calibration = Calibration()
    nearest: tuple[Ints, Ints, tuple[str, ...]] | None = None

    @property
    def knows_labels(self) -> bool:
        """Whether the model stores the labels of its training samples."""
        return hasattr(self.core, "labels_")

    @property
    def name(self) -> str:
        """The name of the method."""
        return type(self.core).__name__

    @property
    def members(self) -> tuple[Member, ...]:
        """Kernel and linear maps with their scores and weights. A single model is one member."""
        return used_members(self.core)

    @property
    def rows(self) -> KernelMap:
        """The kernel map whose centers are the training samples, if `per_sample` is not 0."""
        f: Any = plainest(self.members).map
        return f

    @property
    def n_features(self) -> int:
        """The number of features of a sample as the user has them."""
        if self.test.inputs is not None:
            return int(self.test.inputs.shape[1])
        return int(self.core.n_features_in_ if self.front is None else self.front.n_features)

    def places(self) -> Floats:
        """Return training and other samples in the plane."""
        parts = (self.train.probabilities, self.probabilities)
        return self.class_map(np.vstack([part for part in parts if part is not None]))

    @property
    def wrong(self) -> Bools:
        """Which samples are known to be mislabeled."""
        return np.asarray((self.test.codes >= 0) & (self.test.codes != self.test.predicted))

    @property
    def trace(self) -> dict[str, list[Any]] | None:
        """Return the steps of the fit as columns, or None if the method has no steps."""
        trace = getattr(self.core, "trace_", None)
        return None if trace is None else trace.to_dict()


def find(model: Any, samples: Samples, *, without_radii: str = "") -> Findings:
    """Embed and label the samples, and get the training points of the model.

    ``without_radii`` states why radii are omitted, if they are.
    """
    before, core = steps_and_core(model)
    front, not_affine = affine_front(before)
    Z = None if samples.X is None else behind(before, samples.X)
    n_samples = 0 if Z is None else Z.shape[0] if hasattr(Z, "shape") else len(Z)
    labels, known = _labels(samples.y, core.classes_, n_samples), core.classes_.tolist()
    # Training samples of weight zero may have a class of their own.
    spread = getattr(core, "transduction_", None)
    seen = [*labels, *(known if spread is None else spread.tolist())]
    others = sorted({label for label in seen if label not in known}, key=str)
    place = {label: code for code, label in enumerate([*known, *others])}
    classes, per_sample = tuple(str(label) for label in place), centers_per_sample(core)
    train = _training_points(core, front, not_affine, per_sample, place)
    train = replace(train, names=_names(samples.train_names, len(train), "train_names"))
    nothing = Points(train.embedding[:0], train.codes[:0], train.predicted[:0], None)
    class_map = class_map_of(core)
    findings = Findings(core, front, not_affine, classes, train, nothing, Z, per_sample, class_map)
    if Z is None:
        return findings
    return _with_samples(findings, model, samples, labels, place, without_radii)


def steps_and_core(model: Any) -> tuple[list[Any], Any]:
    """Return the steps in front of our model, and our model, also inside a search."""
    before, core = opened(model)
    cure = "Pass SmoothEmbedding or another method of this library, alone or at the end of a pipeline."
    if not isinstance(core, EmbeddingClassifier) and not hasattr(core, "scores_"):
        raise TypeError(rule_message("model", "embed and predict", type(core).__name__, cure))
    check_is_fitted(core)
    return before, core


def used_members(core: Any) -> tuple[Member, ...]:
    """Return the members of a model whose weight is not zero. A single model is one member."""
    return tuple(member for member in members_of(core) if member.weight != 0.0)


def affine_front(before: list[Any], *, with_gaps: bool = False) -> tuple[Affine | None, str]:
    """Return the steps as one affine map, or None with a sentence about steps that are not affine."""
    whole = None
    for step in before:
        try:
            affine = affine_of_step(step, with_gaps=with_gaps)
        except ValueError:
            name = type(step).__name__
            return None, f"They need affine steps before the model, such as scalers; {name} is not one."
        whole = affine if whole is None else affine.after(whole)
    return whole, ""


def centers_per_sample(core: Any) -> int:
    """Return how many centers each training sample has, with its augmented samples.

    The result is 0 if the centers are other rows. For an ensemble, it is the smallest number of a
    member.
    """
    members, n_train = used_members(core), len(core.embedding_)
    maps = [member.map for member in members]
    if not maps or not all(len(f.coef) and len(f.coef) % n_train == 0 for f in maps):
        return 0
    some = np.unique(np.linspace(0, n_train - 1, COMPARED).astype(int))
    there = _at_samples(core, some)[:, : core.embedding_.shape[1]]
    largest = np.abs(core.embedding_).max()
    same = np.allclose(there, core.embedding_[some], rtol=1e-3, atol=1e-3 * largest)
    return min(len(f.coef) for f in maps) // n_train if same else 0


def _at_samples(core: Any, rows: Ints) -> Floats:
    """Return f at training samples, which are centers of every member."""
    n_train = len(core.embedding_)

    def at_centers(f: Any) -> Any:
        return lambda some: _behind_metric(f)(f.centers[len(f.coef) // n_train * some])

    return np.asarray(with_maps(core.map_, at_centers)(rows))


def _with_samples(
    findings: Findings,
    model: Any,
    samples: Samples,
    labels: list[Any],
    place: dict[Any, int],
    without_radii: str,
) -> Findings:
    core, Z = findings.core, findings.behind
    predicted = np.array([place[label] for label in core.predict(Z).tolist()], dtype=np.intp)
    codes = np.array([place[label] for label in labels] or [-1] * len(predicted), dtype=np.intp)
    embedding, names = np.asarray(core.transform(Z), np.float64), _names(samples.names, len(predicted))
    test = Points(embedding, codes, predicted, _as_shown(samples.X), names)
    P, seen = np.asarray(core.predict_proba(Z)), training_rows(core, _plain(Z)) >= 0
    unproved = without_radii or why_unproved(model)
    sets, threshold = _label_sets(core, Z)
    return replace(
        findings,
        test=test,
        has_labels=samples.y is not None,
        seen=seen,
        radius=None if unproved else certified_radius(model, samples.X),
        unproved=unproved,
        probabilities=P,
        sets=sets,
        threshold=threshold,
        calibration=_calibration(P, sets, test, seen),
        nearest=_nearest(core, findings.per_sample, test.embedding),
    )


def why_unproved(model: Any) -> str:
    """Return a sentence about why there are no certified radii, or "" if there are."""
    before, core = opened(model)
    members = used_members(core)
    if not members:
        return f"They need a kernel or linear map; {type(core).__name__} has another kind."
    return why_not_valid(members) or affine_front(before, with_gaps=True)[1]


def why_not_valid(members: tuple[Member, ...]) -> str:
    """Return a sentence about a kernel that certificates refuse, or "" if there is none."""
    for f, *_ in members:
        if f.flaw is not None:
            return f"They need a valid kernel; {type(f.kernel).__name__} is not valid: {f.flaw}."
    return ""


def _training_points(
    core: Any, front: Affine | None, not_affine: str, per_sample: int, place: dict[Any, int]
) -> Points:
    embedding, _ = left_out_coordinates(core)
    given = getattr(core, "labels_", None)
    spread = getattr(core, "transduction_", None)
    if spread is None:
        spread = core.scores_.predict(np.asarray(core.embedding_)) if given is None else given
    own = np.array([place[label] for label in spread.tolist()], dtype=np.intp)
    known = spread if given is None else given
    hidden = np.array([label not in place for label in known.tolist()], dtype=bool)
    inputs = None if not_affine or not per_sample else _in_user_units(core, front, per_sample)
    certainty = _certainty(core, hidden, own, per_sample) if hidden.any() else None
    probabilities, is_left_out = training_probabilities(core)
    return Points(embedding, own, own, inputs, None, certainty, probabilities, is_left_out)


def _in_user_units(core: Any, front: Affine | None, per_sample: int) -> Any:
    """Return training samples computed from the centers, or None if a step cannot be inverted."""
    if front is not None and (front.matrix is not None or front.down is not None):
        return None
    f: Any = plainest(used_members(core)).map
    rows = f.metric.inverse(f.centers[::per_sample])
    with np.errstate(all="ignore"):
        rows = rows if front is None else front.inverse(rows)
    return rows if is_sparse(rows) or np.isfinite(rows).all() else None


def _certainty(core: Any, hidden: Bools, own: Ints, per_sample: int) -> Floats:
    certainty = np.where(hidden, -1.0, 0.0)
    if per_sample:
        rows = np.flatnonzero(hidden)
        P = core.scores_.probabilities(_at_samples(core, rows))
        certainty[rows] = P[np.arange(len(rows)), own[rows]]
    return certainty


def _behind_metric(f: KernelMap) -> KernelMap:
    """Return the map of rows that are in the space of the kernel."""
    return replace(f, metric=Affine.identity(f.metric.n_outputs))


def _nearest(core: Any, per_sample: int, embedding: Floats) -> tuple[Ints, Ints, tuple[str, ...]] | None:
    """Find the nearest of all training samples and their augmented samples, in the embedding."""
    n_centers = {len(f.coef) for f, *_ in used_members(core)}
    if per_sample < 2 or not len(embedding) or len(n_centers) > 1:
        return None
    every = with_maps(core.map_, lambda f: lambda _: _behind_metric(f)(f.centers))
    F = every(None)[:, : embedding.shape[1]]
    places = pairwise_distances_argmin(embedding, F)
    names = tuple(getattr(getattr(core, "augment", None), "names", ()))
    if len(names) != per_sample - 1:
        names = tuple(f"copy {k}" for k in range(1, per_sample))
    return places // per_sample, places % per_sample, ("as it is", *names)


def _label_sets(core: Any, Z: Any) -> tuple[Bools | None, float]:
    """Return prediction sets from left-out training samples, and the least score in a set."""
    if not len(getattr(core, "_leave_one_out", ())):
        return None, -np.inf
    conformal = ConformalClassifier(core, alpha=ALPHA).fit()
    _, own, _, counts = conformal.folds_[0]
    own = np.sort(np.repeat(own, np.rint(counts).astype(np.intp)))
    rank = int(np.floor(ALPHA * (len(own) + 1) + 1e-9))
    return conformal.predict_set(Z), float(own[rank - 1]) if rank else -np.inf


def _calibration(P: Floats, sets: Bools | None, test: Points, seen: Bools) -> Calibration:
    fair = np.flatnonzero((test.codes >= 0) & (test.codes < P.shape[1]) & ~seen)
    if not len(fair):
        return Calibration()
    codes, predicted = test.codes[fair], test.predicted[fair]
    of_label = P[fair, predicted]
    curve = tuple(reliability_curve(of_label, predicted == codes, EDGES))
    found = Calibration(len(fair), curve, log_loss(P[fair], codes))
    if sets is None:
        return found
    return replace(found, coverage=sets[fair, codes].mean(), size=sets[fair].sum(axis=1).mean())


def _plain(Z: Any) -> Any:
    return sparse.csr_array(Z) if is_sparse(Z) else np.asarray(Z, dtype=np.float64)


def _as_shown(X: SamplesLike) -> Any:
    """Return samples as the user has them: floats, dense or sparse, or objects if a column is text."""
    if is_sparse(X):
        return X
    table = np.asarray(X)
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError):
        return table.astype(object)


def _labels(y: LabelsLike, classes: NDArray[Any], n_samples: int) -> list[Any]:
    if y is None:
        return []
    labels = np.asarray(y).tolist()
    if np.ndim(y) != 1 or len(labels) != n_samples:
        cure = f"Pass {n_samples} labels, or None where they are not known."
        raise rule_error("samples.y", "hold one label per sample", np.shape(y), cure)
    if labels and not set(labels) & set(classes.tolist()):
        rule = f"share labels with the model, which knows {classes.tolist()[:5]!r}"
        cure = "Pass labels of the same kind, or None where they are not known."
        raise rule_error("samples.y", rule, labels[:5], cure)
    return labels


def _names(names: Sequence[str] | None, n_samples: int, field: str = "names") -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != n_samples:
        cure = f"Pass {n_samples} names, or None."
        raise rule_error(
            f"samples.{field}", "hold one name per sample", Described(f"{len(names)} names"), cure
        )
    return tuple(str(name) for name in names)
