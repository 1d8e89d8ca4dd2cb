"""The samples of a plot: which of them are training samples, and what the model predicts for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.base import EmbeddingClassifier
from nsse.class_maps import left_out_coordinates, training_probabilities, training_rows
from nsse.pipelines import behind, opened

NOTHING = slice(0, 0)  # selects no samples


@dataclass(frozen=True, eq=False)
class _Part:
    """Training samples, or other samples. Codes are places in the list of classes, −1 if not known."""

    values: Floats  # probabilities, or coordinates
    codes: Ints
    predicted: Ints

    def __len__(self) -> int:
        return len(self.codes)

    def select(self, rows: Any) -> _Part:
        """Return some of the samples."""
        return _Part(self.values[rows], self.codes[rows], self.predicted[rows])

    @property
    def shown(self) -> Ints:
        """The classes that samples are colored by: their label, or else the predicted one."""
        return np.where(self.codes >= 0, self.codes, self.predicted)

    @property
    def wrong(self) -> Bools:
        """Which samples have another label than the predicted one."""
        return (self.codes >= 0) & (self.predicted >= 0) & (self.codes != self.predicted)


@dataclass(frozen=True, eq=False)
class Shown:
    """The samples of a map and the sentences about them."""

    name: str
    classes: NDArray[Any]
    train: _Part
    new: _Part
    is_left_out: bool  # whether every training sample that is drawn was left out
    n_recognized: int  # samples of X that are training samples
    knows_training: bool

    @property
    def judged(self) -> _Part | None:
        """The samples whose predictions are counted: new ones, else training samples left out."""
        part = self.new if len(self.new) else self.train
        can_be_wrong = ((part.codes >= 0) & (part.predicted >= 0)).any()
        return part if can_be_wrong and (part is self.new or self.is_left_out) else None

    def title(self, what: str) -> str:
        """Return what is drawn, with the number of mistakes and of the samples that it refers to."""
        judged = self.judged
        if judged is None:
            return f"{what} of {self._parts()}"
        n = int((judged.codes >= 0).sum())
        kind = "new " if judged is self.new and self.knows_training else ""
        of = counted(n, f"{kind}sample")
        if judged is self.train:
            of = f"{counted(n, 'training sample')}, each left out"
        return mistakes(self.name, int(judged.wrong.sum()), n, of)

    def _parts(self) -> str:
        parts = []
        if len(self.new):
            parts.append(counted(len(self.new), f"{'new ' * self.knows_training}sample"))
        if len(self.train):
            parts.append(counted(len(self.train), "training sample"))
        return " and ".join(parts) or "no samples"

    def sentence(self) -> str:
        """Describe which samples are drawn, and where training samples are."""
        found = [f"{len(self.classes)} classes, {self._parts()}."]
        if len(self.train) and self.is_left_out:
            found.append("Each training sample is placed by the model without it.")
        elif len(self.train):
            found.append(
                "Training samples are placed by the model that was fitted to them and look too good."
            )
        if len(self.new) and self.n_recognized:
            found.append(f"{self.n_recognized} of the given samples are training samples.")
        if (self.new.codes < 0).any():
            found.append("Samples without a label have the color of their predicted class.")
        return " ".join(found)


def mistakes(name: str, wrong: int, n: int, of: str) -> str:
    """Return how many of ``n`` samples, which are described by ``of``, a model mislabels."""
    return f"{name} mislabels {wrong or 'none'} of {of} ({100 * wrong / n:.1f} %)"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, such as "1 sample" and "2 samples"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def shown_samples(model: Any, X: SamplesLike, y: LabelsLike, *, coordinates: bool) -> Shown:
    """Return the samples of a map, with probabilities or coordinates."""
    check_is_fitted(model)
    steps, core = opened(model)
    classes = np.asarray(core.classes_) if is_classifier(core) else np.unique(np.asarray(y))
    labels = _codes_of(y, classes, X)
    if not isinstance(core, EmbeddingClassifier):
        if X is None:
            cure = "Pass samples, or a model of this library, which stores its training samples."
            raise rule_error("X", "be given for this model", None, cure)
        other = _part(model, X, labels, coordinates, classes)
        return Shown(type(core).__name__, classes, other.select(NOTHING), other, False, 0, False)
    train, left_out = _training(core, coordinates)
    if X is None:
        nothing = train.select(NOTHING)
        return Shown(type(core).__name__, classes, train, nothing, bool(left_out.all()), 0, True)
    Z = behind(steps, X)
    rows = training_rows(core, Z)
    new = _part(core, Z, labels, coordinates, classes)
    unseen, recognized = rows < 0, rows[rows >= 0]
    if not unseen.any():  # only training samples: draw those that were given
        train = train.select(recognized)
        train = train if y is None else replace(train, codes=labels)
        left_out = left_out[recognized]
    name, n_recognized = type(core).__name__, len(recognized)
    return Shown(name, classes, train, new.select(unseen), bool(left_out.all()), n_recognized, True)


def _part(model: Any, X: SamplesLike, labels: Ints, coordinates: bool, classes: NDArray[Any]) -> _Part:
    """Return samples with their predictions by the model."""
    if coordinates:
        values = np.asarray(model.transform(X), dtype=np.float64)
    else:
        values = np.asarray(model.predict_proba(X), dtype=np.float64)
    predicted = np.full(len(values), -1, dtype=np.intp)
    if is_classifier(model):
        predicted = np.searchsorted(classes, np.asarray(model.predict(X))).astype(np.intp)
    codes = labels if len(labels) else np.full(len(values), -1, dtype=np.intp)
    return _Part(values, codes, predicted)


def _training(core: Any, coordinates: bool) -> tuple[_Part, Bools]:
    """Return the training samples of a model, and whether they were left out."""
    P, is_left_out = training_probabilities(core)
    values, predicted = P, P.argmax(axis=1)
    codes = np.full(len(P), -1, dtype=np.intp)
    labels = getattr(core, "labels_", None)
    if labels is not None:
        places = np.searchsorted(core.classes_, labels).clip(0, len(core.classes_) - 1)
        codes = np.where(core.classes_[places] == labels, places, -1)
    if coordinates:
        values, is_left_out = left_out_coordinates(core)
        if values.shape[1] < core.scores_.weights.shape[1]:  # too few coordinates for predictions
            predicted = np.where(codes >= 0, -1, predicted)
    return _Part(values, codes, predicted), is_left_out


def _codes_of(y: LabelsLike, classes: NDArray[Any], X: SamplesLike) -> Ints:
    """Return the labels as places in the list of classes, or nothing if there are none."""
    if y is None:
        return np.empty(0, dtype=np.intp)
    labels, n = np.asarray(y), None if X is None else _n_rows(X)
    if labels.ndim != 1 or len(labels) != n:
        cure = "Pass X, too." if n is None else f"Pass {n} labels, or None."
        raise rule_error("y", "contain one label per sample of X", np.shape(y), cure)
    known = classes.tolist()
    strangers = sorted({label for label in labels.tolist() if label not in known}, key=str)
    if strangers:
        cure = f"Remove these samples, or pass y=None. The classes are {known[:10]}."
        raise rule_error("y", "contain only classes of the model", strangers[:10], cure)
    return np.searchsorted(classes, labels).astype(np.intp)


def _n_rows(X: SamplesLike) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def name_of(model: Any) -> str:
    """Return the name of the class of a model, without the steps in front of it."""
    return type(opened(model)[1]).__name__


def labeled(model: Any, X: SamplesLike, y: LabelsLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and predictions."""
    if X is None or y is None:
        raise rule_error("y", "be given to count mistakes", None, "Pass samples and their labels.")
    labels, predicted = np.asarray(y), np.asarray(model.predict(X))
    if labels.shape != predicted.shape:
        cure = f"Pass {len(predicted)} labels."
        raise rule_error("y", "contain one label per sample of X", labels.shape, cure)
    return labels, predicted


def are_unseen(model: Any, X: SamplesLike, n: int) -> Bools:
    """Return which samples are not recognized as training samples of a model of ours."""
    steps, core = opened(model)
    if not isinstance(core, EmbeddingClassifier):
        return np.ones(n, dtype=bool)
    return np.asarray(training_rows(core, behind(steps, X)) < 0)
