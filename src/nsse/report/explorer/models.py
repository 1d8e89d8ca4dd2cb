"""What a fitted model and some samples say, as arrays: all that a report shows comes from here.

Training points come from the model itself. A model keeps no labels, but its nearest-neighbour classifier
does; with another classifier the training points carry the labels that the model gives them, and the
report says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error, rule_message
from nsse.certificates import Answers, decision_of, opened
from nsse.certificates.asking import answers_behind
from nsse.certificates.models import centers_of_samples, training_labels
from nsse.certificates.steps import Affine, scaling_of
from nsse.certificates.votes import vote_chances, winners
from nsse.invariances import copy_names
from nsse.report.explorer.chances import NO_CHANCES, TestChances, find_chances

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Centres at which the map is evaluated to see whether they are the training samples.
COMPARED = 32


@dataclass(frozen=True)
class Samples:
    """Samples to lay over the training points of a report.

    Attributes
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        What the model takes; None for the training points alone.
    y : array-like of shape (n_samples,), default=None
        Their labels, where they are known.
    names : sequence of str, default=None
        What to call them: file names, keys.

    See Also
    --------
    nsse.report.write_report : Takes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.report import Samples
    >>> X, y = load_iris(return_X_y=True)
    >>> Samples(X[:2], y[:2], names=["first", "second"]).names
    ['first', 'second']
    """

    X: Any
    y: Any = None
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class Points:
    """Embedded samples. ``codes`` are places in the list of classes; -1 where a label is not known."""

    embedding: Floats
    codes: Codes
    predicted: Codes
    inputs: Any  # dense or sparse, in the units of the user; None where the model does not keep them
    names: tuple[str, ...] | None = None
    # Of training samples that had no label: which they are, and how probable the given ones are.
    unlabelled: NDArray[np.bool_] | None = None
    certainty: Floats | None = None

    def __len__(self) -> int:
        return len(self.embedding)


@dataclass(frozen=True)
class NearestCopies:
    """Which training sample is nearest to each of the others in the embedding, and which copy of it.

    ``copy`` is a place among ``names``; the first one is the sample as it is.
    """

    sample: Codes
    copy: Codes
    names: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """A model and samples, ready to be shown.

    ``judge`` gives labels and radii: ``core``, whose map is shown, or a vote of which it is the best;
    ``n_otherwise`` counts the samples that ``core`` alone labels otherwise.
    ``knows_labels`` says whether the training labels are the true ones, or what the model says of its
    own samples. ``radius`` is None where nothing is certified, and ``unproved`` tells why; it is in the
    units of the samples, or, where a step before the model is not affine (``beyond`` tells which), in
    those of what the model takes, as ``model_radius`` always is. ``n_seen`` counts the samples that are
    centres of the map, that is training samples; ``keeps_samples`` says whether the centres are all of
    these, with their copies, and ``seen`` is what the model saw of the samples. ``nearest`` is None
    where the model has no copies of its training samples, or does not keep them. ``chances`` are the
    probabilities and sets of labels of the samples.
    """

    judge: Any
    core: Any
    scaling: Affine | None
    classes: tuple[str, ...]
    train: Points
    test: Points
    knows_labels: bool
    radius: Floats | None
    model_radius: Floats | None
    unproved: str
    beyond: str
    has_labels: bool
    n_seen: int
    n_otherwise: int
    keeps_samples: bool
    seen: Any
    nearest: NearestCopies | None = None
    chances: TestChances = NO_CHANCES

    @property
    def name(self) -> str:
        """Name of the method."""
        return type(self.core).__name__

    @property
    def teller(self) -> str:
        """Whose labels these are."""
        n = len(self.voters)
        return self.name if n == 1 else f"The vote of {n} {self.name} maps"

    @property
    def voters(self) -> list[Any]:
        """The models that vote on labels; ``core`` alone where there is no vote."""
        return voters_of(self.judge)

    @property
    def n_features(self) -> int:
        """Features of a sample as the user has them."""
        inputs = self.test.inputs
        return int(self.core.n_features_in_ if inputs is None else inputs.shape[1])

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which samples are known to be mislabelled."""
        return np.asarray((self.test.codes >= 0) & (self.test.codes != self.test.predicted))

    @property
    def trace(self) -> dict[str, list[Any]] | None:
        """The steps of the fit as columns; None where the method takes none."""
        trace = getattr(self.core, "trace_", None)
        return None if trace is None else trace.to_dict()


def find(model: Any, samples: Samples) -> Findings:
    """Embed and label the samples, and ask the model for its training points."""
    before, judge = steps_and_judge(model)
    core = voters_of(judge)[0]
    scaling = scaling_of(before, int(core.n_features_in_))
    X = samples.X
    for step in before if X is not None else []:
        X = step.transform(X)
    n_samples = 0 if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
    labels = _labels(samples.y, core.classes_, n_samples)
    known = core.classes_.tolist()
    others = sorted({label for label in labels if label not in known}, key=str)
    place = {label: code for code, label in enumerate([*known, *others])}
    keeps = _centers_are_samples(core)
    train, knows_labels = _training_points(judge, core, scaling if keeps else None, place)
    said = None if samples.X is None else answers_behind(before, judge, samples.X)
    radius = None if said is None or said.model_radius is None else said.model_radius
    test = _no_points(train) if said is None else _test_points(said, samples, labels, place)
    seen = _seen_rows(core, X, n_samples)
    return Findings(
        judge,
        core,
        scaling,
        tuple(str(label) for label in place),
        train,
        test,
        knows_labels,
        said.radius if said is not None and said.radius is not None else radius,
        radius,
        "No samples came with the model." if said is None else _why_unproved(judge, said),
        beyond=said.unproved if said is not None and radius is not None else "",
        has_labels=said is not None and samples.y is not None,
        n_seen=int(seen.sum()),
        n_otherwise=0 if said is None or core is judge else _n_otherwise(core, said),
        keeps_samples=keeps,
        seen=X,
        nearest=None if said is None else _nearest_copies(core, said.embedding),
        chances=NO_CHANCES if said is None else find_chances(judge, said, test.codes, seen),
    )


def steps_and_judge(model: Any) -> tuple[list[Any], Any]:
    """The steps in front of our model, and our model, the one that predicts; also within a search."""
    before, core = opened(_that_predicts(model))
    core = _that_predicts(core)
    cure = "Pass NSSE or another method of this library, alone or at the end of a pipeline."
    if not all(hasattr(core, name) for name in ("transform", "predict", "fit")):
        raise TypeError(rule_message("model", "embed and predict", type(core).__name__, cure))
    check_is_fitted(core)
    if not hasattr(core, "embedding_"):
        rule = "keep the embedding of its training samples, `embedding_`"
        raise TypeError(rule_message("model", rule, type(core).__name__, cure))
    return before, core


def _that_predicts(model: Any) -> Any:
    """Out of any search that leaves labels to its best model alone."""
    while hasattr(model, "best_estimator_") and len(getattr(model, "voters_", [])) < 2:
        model = model.best_estimator_
    return model


def voters_of(judge: Any) -> list[Any]:
    """The models that vote on labels, the best one first."""
    return list(getattr(judge, "voters_", [judge]))


def _test_points(said: Answers, samples: Samples, labels: list[Any], place: dict[Any, int]) -> Points:
    embedding = np.asarray(said.embedding, dtype=np.float64)
    return Points(
        embedding,
        codes=np.array([place[label] for label in labels] or [-1] * len(embedding), dtype=np.intp),
        predicted=np.array([place[label] for label in said.label.tolist()], dtype=np.intp),
        inputs=samples.X if sparse.issparse(samples.X) else np.asarray(samples.X, dtype=np.float64),
        names=_names(samples.names, len(embedding)),
    )


def _n_otherwise(core: Any, said: Answers) -> int:
    return int(np.count_nonzero(said.label != np.array(_predicted(core, said.embedding))))


def _no_points(train: Points) -> Points:
    return Points(train.embedding[:0], train.codes[:0], train.predicted[:0], None)


def _training_points(
    judge: Any, core: Any, scaling: Affine | None, place: dict[Any, int]
) -> tuple[Points, bool]:
    embedding = np.asarray(core.embedding_, dtype=np.float64)
    predicted = _said_in_training(judge)
    labels = training_labels(core)
    known_as = predicted if labels is None else labels.tolist()
    codes = np.array([place.get(label, -1) for label in known_as], np.intp)  # -1: a mark of none
    said = np.array([place[label] for label in predicted], dtype=np.intp)
    inputs = None if scaling is None else scaling.undone(centers_of_samples(core))
    hidden = ~np.asarray(getattr(core, "is_labeled_", np.ones(len(codes), dtype=bool)))
    if not hidden.any():
        return Points(embedding, codes, said, inputs), labels is not None
    certainty = _certainty(judge, hidden)
    return Points(embedding, np.where(hidden, said, codes), said, inputs, None, hidden, certainty), True


def _certainty(judge: Any, hidden: NDArray[np.bool_]) -> Floats:
    """Probabilities of the labels that samples without one were given, zero for the others."""
    told: list[Floats | None] = []
    votes = []
    for voter in voters_of(judge):
        Y = voter.embedding_[hidden]
        votes.append(np.searchsorted(judge.classes_, _predicted(voter, Y)))
        knows = hasattr(voter.classifier_, "predict_proba")
        P = np.asarray(voter.classifier_.predict_proba(Y)) if knows else None
        told.append(None if P is None or np.isin(P, (0.0, 1.0)).all() else P)
    certainty = np.zeros(len(hidden))
    if len(told) > 1 or told[0] is None:
        P = vote_chances(told, np.column_stack(votes), len(judge.classes_))
    else:
        P = told[0]
    certainty[hidden] = P.max(axis=1)
    return certainty


def _said_in_training(judge: Any) -> list[Any]:
    """What the voters make of the embeddings of their training samples, the same for all of them."""
    said = [_predicted(voter, voter.embedding_) for voter in voters_of(judge)]
    votes = np.column_stack([np.searchsorted(judge.classes_, labels) for labels in said])
    return list(judge.classes_[winners(votes)].tolist())


def _predicted(core: Any, embedding: NDArray[Any]) -> list[Any]:
    if core.classifier_ is None:
        return list(np.asarray(decision_of(core).labels(embedding)).tolist())
    return list(np.asarray(core.classifier_.predict(embedding)).tolist())


def _centers_are_samples(core: Any) -> bool:
    """Whether the centres of the map are the training samples, in order: f there is the embedding."""
    centers = centers_of_samples(core)
    if centers is None:
        return False
    some = np.unique(np.linspace(0, centers.shape[0] - 1, COMPARED).astype(int))
    there, kept = np.asarray(core.transform(centers[some])), core.embedding_[some]
    return bool(np.allclose(there, kept, rtol=1e-3, atol=1e-3 * np.abs(core.embedding_).max()))


def _nearest_copies(core: Any, embedding: NDArray[Any]) -> NearestCopies | None:
    """By the distance in the embedding, of all training samples and their copies."""
    n_copies = getattr(core, "n_copies_", 0)
    if not n_copies or not len(embedding) or not _centers_are_samples(core):
        return None
    places = pairwise_distances_argmin(embedding, core.transform(core.centers_))
    names = copy_names(core.invariances, n_copies)
    if len(names) != n_copies:  # the parameter was changed after the fit
        names = copy_names(None, n_copies)
    return NearestCopies(places // (1 + n_copies), places % (1 + n_copies), ("as it is", *names))


def _seen_rows(core: Any, X: Any, n_samples: int) -> NDArray[np.bool_]:
    """Which samples are, to the bit, centres of the map."""
    centers = getattr(core, "centers_", None)
    if centers is None or X is None:
        return np.zeros(n_samples, dtype=bool)
    either_sparse = sparse.issparse(centers) or sparse.issparse(X)
    known = set(_row_keys(centers, either_sparse))
    return np.array([key in known for key in _row_keys(X, either_sparse)], dtype=bool)


def _row_keys(X: Any, as_sparse: bool) -> Iterator[bytes | tuple[bytes, bytes]]:
    """The same key for the same row."""
    if not as_sparse:
        yield from (row.tobytes() for row in np.asarray(X, dtype=np.float64))
        return
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    rows.sort_indices()
    for start, stop in pairwise(rows.indptr):
        yield rows.indices[start:stop].astype(np.int64).tobytes(), rows.data[start:stop].tobytes()


def _why_unproved(judge: Any, said: Answers) -> str:
    if said.model_radius is not None:
        return ""
    first = voters_of(judge)[0]
    if not hasattr(first, "certified_radius"):
        return f"{type(first).__name__} has no Gaussian map, and nothing is proved about others."
    name = type(first.classifier_).__name__
    return f"Nothing is proved about the decisions of the classifier in use, {name}."


def _labels(y: Any, classes: NDArray[Any], n_samples: int) -> list[Any]:
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


def _names(names: Sequence[str] | None, n_samples: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != n_samples:
        cure = f"Pass {n_samples} names, or None."
        raise rule_error("samples.names", "hold one name per sample", f"{len(names)} names", cure)
    return tuple(str(name) for name in names)
