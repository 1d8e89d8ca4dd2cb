"""Plots of fitted models: `nsse.plot.class_map(classifier, X, y)` and others.

Each function returns a `Plot`, which contains a matplotlib figure and the frame that it is drawn from.
A notebook shows the figure. A script saves it in one call, ``model.plot(X, y).save("map.png")``, or
shows it with ``.show()``. With ``ax=`` a function draws on axes of your own figure.

Training samples are drawn where the model without them would put them, if the model stores these
positions (``left_out_embedding_``). The positions in the fitted embedding look too good, because
training samples lie close to the targets of their class.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.frames import Columns
from nsse._support.parameters import check_choice
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.base import EmbeddingClassifier
from nsse.certificates import GeneralizationReport, RiskCoverage, certified_radius
from nsse.certificates import risk_coverage as curve_of
from nsse.certificates.reliability import EDGES, log_loss, reliability_curve, wilson_interval
from nsse.class_maps import (
    BAND,
    MOST_LABELS,
    ClassMap,
    class_map_of,
    confusions,
    left_out_coordinates,
    spread_heights,
    training_probabilities,
    training_rows,
)
from nsse.explanations import explain
from nsse.figures import (
    Plot,
    chart_axes,
    check_axes,
    label_axes,
    name_axes,
    new_figure,
    note,
    place_axes,
    quiet_axes,
    strip_axes,
    write,
    write_title,
)
from nsse.palette import FAINT, HUES_PER_SHAPE, INK, MUTED_INK, PAPER, SHAPES, class_colors, ink_on
from nsse.pipelines import opened

__all__ = [
    "Plot",
    "class_map",
    "confusion",
    "embedding",
    "explanation",
    "generalization",
    "radii",
    "reliability",
    "risk_coverage",
    "trace",
]

_BLUE, _ORANGE, _RED = class_colors(3)
# Inches: size of a map with its titles and its caption.
_WIDTH, _MARGIN, _CAPTION, _VIEW, _TITLES = 9.6, 0.45, 0.75, 7.0, 1.1
# Pairs of classes in the list of confusions, and its width in inches.
_PAIRS, _LIST = 18, 2.9
_POINTS_PER_INCH = 72.0
_BINS = 30
# Probabilities of the second of two classes that are marked.
_MARKED = (0.01, 0.1, 0.5, 0.9, 0.99)
# Share of the mean variance that is added to the scatter within classes, before a plane is chosen.
_SHRINKAGE = 0.1
# Training samples up to which outlines are drawn in full strength.
_OUTLINED = 400
_HOW_CLASS_MAP = (
    "Class map (related to RadViz): each sample is at the mean of the corners of the classes,"
    " weighted by its class probabilities\nto the power {power:.2g}. Samples in the middle are"
    " uncertain. Classes that are often confused are neighbors."
)
_ONE_COORDINATE = "The vertical position has no meaning. It separates the samples of a class."
_HOW_LINE = (
    "Class map (related to RadViz): the horizontal position shows the probabilities of the two classes"
    f" to the power {{power:.2g}}.\n{_ONE_COORDINATE}"
)


# Samples ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """Training samples, or other samples. Codes are places in the list of classes, −1 if not known."""

    values: Floats  # probabilities, or coordinates
    codes: Ints
    predicted: Ints

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shown(self) -> Ints:
        """The classes that samples are colored by: their label, or else the predicted one."""
        return np.where(self.codes >= 0, self.codes, self.predicted)

    @property
    def wrong(self) -> Bools:
        """Which samples have another label than the predicted one."""
        return (self.codes >= 0) & (self.predicted >= 0) & (self.codes != self.predicted)


@dataclass(frozen=True, eq=False)
class _Shown:
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
        labeled = judged.codes >= 0
        n, wrong = int(labeled.sum()), int(judged.wrong.sum())
        kind = "new " if judged is self.new and self.knows_training else ""
        of = _count(n, f"{kind}sample")
        if judged is self.train:
            of = f"{_count(n, 'training sample')}, each left out"
        return f"{self.name} mislabels {wrong or 'none'} of {of} ({100 * wrong / n:.1f} %)"

    def _parts(self) -> str:
        parts = []
        if len(self.new):
            parts.append(_count(len(self.new), f"{'new ' * self.knows_training}sample"))
        if len(self.train):
            parts.append(_count(len(self.train), "training sample"))
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


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _shown_samples(model: Any, X: SamplesLike, y: LabelsLike, *, coordinates: bool) -> _Shown:
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
        nothing = _Part(other.values[:0], other.codes[:0], other.predicted[:0])
        return _Shown(type(core).__name__, classes, nothing, other, False, 0, False)
    train, left_out = _training(core, coordinates)
    if X is None:
        nothing = _Part(train.values[:0], train.codes[:0], train.predicted[:0])
        return _Shown(type(core).__name__, classes, train, nothing, bool(left_out.all()), 0, True)
    Z = X
    for step in steps:
        Z = step.transform(Z)
    rows = training_rows(core, Z)
    new = _part(core, Z, labels, coordinates, classes)
    unseen, recognized = rows < 0, rows[rows >= 0]
    if not unseen.any():  # only training samples: draw those that were given
        known = train.codes[recognized] if y is None else labels
        train = _Part(train.values[recognized], known, train.predicted[recognized])
        left_out = left_out[recognized]
    new = _Part(new.values[unseen], new.codes[unseen], new.predicted[unseen])
    name, n_recognized = type(core).__name__, len(recognized)
    return _Shown(name, classes, train, new, bool(left_out.all()), n_recognized, True)


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


# Maps ------------------------------------------------------------------------------------------------


def class_map(classifier: Any, X: SamplesLike = None, y: LabelsLike = None, *, ax: Any = None) -> Plot:
    """Draw a map of class probabilities, for any classifier.

    The map is related to RadViz. Each class is a corner of a polygon, and a sample is at the mean of the
    corners, weighted by its class probabilities. Misclassified samples are circled. The map shows what
    the classifier predicts. `embedding` draws the coordinates that a model computes.

    Parameters
    ----------
    classifier : estimator
        Any fitted scikit-learn classifier or pipeline with ``predict_proba``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples. Rows that are training samples of a model of this library are recognized. None draws the
        training samples, which only models of this library store.
    y : array-like of shape (n_samples,), default=None
        The labels of the samples. None colors them by their predicted labels.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has one row per sample: ``set`` ("training" or "new", or "given" for other libraries),
        ``label`` (None if it is not known), ``predicted``, ``probability`` of the predicted class, and
        the place ``x``, ``y``. With two classes, ``y`` has no meaning.

    See Also
    --------
    nsse.plot.embedding : Draws the coordinates of ``transform``.

    Notes
    -----
    Classes that are often confused are neighbors on the polygon. For a model of this library, the
    confusions are those of left-out training samples, so the order of the classes is fixed. For other
    classifiers they are computed from ``X``. With more than 30 classes, a list of the largest confusions
    replaces the labels on the circle.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = LogisticRegression(max_iter=1000).fit(X[::3], y[::3])
    >>> drawn = nsse.plot.class_map(classifier, X[1::3], y[1::3])
    >>> drawn.save("map.png")
    >>> len(drawn.frame)
    50
    """
    if not hasattr(classifier, "predict_proba"):
        rule, cure = "have the method predict_proba", "Wrap it in CalibratedClassifierCV."
        raise TypeError(rule_message("classifier", rule, type(classifier).__name__, cure))
    shown = _shown_samples(classifier, X, y, coordinates=False)
    placed = _class_map(classifier, shown)
    places = placed(np.vstack([shown.train.values, shown.new.values]))
    if placed.is_line and len(places):
        codes = np.concatenate([shown.train.shown, shown.new.shown])
        places[:, 1], _ = spread_heights(places[:, 0], codes)
    frame = _map_frame(shown, places)
    how = (_HOW_LINE if placed.is_line else _HOW_CLASS_MAP).format(power=placed.sharpness)
    axes = _map_axes(ax, shown.title("Class map"), shown.sentence(), how)
    _draw_corners(axes, placed, shown)
    _draw_samples(axes, shown, places)
    return Plot(axes.figure, frame, ax is None)


def embedding(
    model: Any,
    X: SamplesLike = None,
    y: LabelsLike = None,
    *,
    coordinates: tuple[int, int] | None = None,
    ax: Any = None,
) -> Plot:
    """Draw the coordinates that ``transform`` returns.

    Parameters
    ----------
    model : estimator
        Any fitted estimator with ``transform``, or a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples. Rows that are training samples of a model of this library are recognized. None draws the
        training samples, which only models of this library store.
    y : array-like of shape (n_samples,), default=None
        The labels of the samples. None colors them by their predicted labels.
    coordinates : tuple of two int, default=None
        The two coordinates to draw, counted from 0. If None and there are more than two, the plot shows
        the linear projection of all coordinates that separates the pairs of classes (the approximate
        pairwise accuracy criterion of Loog, Duin and Haeb-Umbach, 2001). The title states which one is
        drawn.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has one row per sample: ``set``, ``label``, ``predicted``, the place ``x``, ``y``, and
        the coordinates ``y1``, ``y2``, ... . If there is one coordinate, ``y`` has no meaning.

    See Also
    --------
    nsse.plot.class_map : Draws class probabilities, which separate many classes better.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.embedding(model, X[1::3], y[1::3])
    >>> drawn.save("embedding.png")
    >>> len(drawn.frame)
    100
    """
    if not hasattr(model, "transform"):
        rule, cure = "have the method transform", "`nsse.plot.class_map` takes any classifier."
        raise TypeError(rule_message("model", rule, type(model).__name__, cure))
    shown = _shown_samples(model, X, y, coordinates=True)
    F = np.vstack([shown.train.values, shown.new.values])
    codes = np.concatenate([shown.train.shown, shown.new.shown])
    places, what, names = _projected(shown, F, coordinates)
    if places.shape[1] == 1:
        places = np.column_stack(
            [places[:, 0], np.ptp(places) / 4 * spread_heights(places[:, 0], codes)[0]]
        )
    frame = _map_frame(shown, places, probabilities=False)
    frame |= {f"y{k + 1}": F[:, k].tolist() for k in range(F.shape[1])}
    how = (
        "The coordinates that transform returns, both to the same scale."
        if F.shape[1] > 1
        else _ONE_COORDINATE
    )
    axes = _map_axes(ax, f"{what}: {shown.title('embedding')}", shown.sentence(), how)
    if F.shape[1] > 1:
        axes.set(aspect="equal", adjustable="datalim")
    axes.set_xlabel(names[0], fontsize=9, color=MUTED_INK)
    axes.set_ylabel(names[1], fontsize=9, color=MUTED_INK)
    _draw_samples(axes, shown, places)
    if F.shape[1] == 1:
        _name_bands(axes, shown, places, codes)
    elif len(shown.classes) <= MOST_LABELS:
        _name_groups(axes, shown, places, codes)
    return Plot(axes.figure, frame, ax is None)


def _class_map(classifier: Any, shown: _Shown) -> ClassMap:
    """Return the class map of a model of ours, or one with the confusions among the samples."""
    _, core = opened(classifier)
    if isinstance(core, EmbeddingClassifier):
        return class_map_of(core)
    known = shown.new.shown >= 0
    return ClassMap.of_confusions(confusions(shown.new.values[known], shown.new.shown[known]))


def _projected(
    shown: _Shown, F: Floats, coordinates: tuple[int, int] | None
) -> tuple[Floats, str, tuple[str, str]]:
    """Return at most two coordinates, a description of them, and the names of the axes."""
    d = F.shape[1]
    if coordinates is not None:
        try:
            first, second = (index(place) for place in coordinates)
        except (TypeError, ValueError):  # not two integers
            first = second = -1
        if not (0 <= first < d and 0 <= second < d):
            cure = f"The model has {d} coordinates."
            raise rule_error("coordinates", f"be two numbers from 0 to {d - 1}", coordinates, cure)
        names = (f"coordinate {first + 1}", f"coordinate {second + 1}")
        return F[:, [first, second]], f"Coordinates {first + 1} and {second + 1} of {d}", names
    if d <= 2:
        words = "Coordinate 1 of 1" if d == 1 else "Coordinates 1 and 2 of 2"
        return F, words, ("coordinate 1", "" if d == 1 else "coordinate 2")
    part = shown.train if len(shown.train) else shown.new
    if len(np.unique(part.shown)) < 3:
        return F[:, :2], f"Coordinates 1 and 2 of {d}", ("coordinate 1", "coordinate 2")
    basis = _separating_plane(part.values, part.shown)
    return F @ basis, f"Linear projection of {d} coordinates", ("direction 1", "direction 2")


def _separating_plane(F: Floats, codes: Ints) -> Floats:
    """Return two orthonormal directions that separate the pairs of classes (Loog et al. 2001).

    The criterion sums the scatter of the means of all pairs of classes, in units of the scatter within
    the classes. A pair at the distance Δ has the weight erf(Δ/√8)/(2Δ²), so that a few distant classes
    do not determine the plane.
    """
    classes = np.unique(codes)
    means = np.array([F[codes == code].mean(axis=0) for code in classes])
    centered = F - means[np.searchsorted(classes, codes)]
    within = centered.T @ centered / len(F)
    within += _SHRINKAGE * np.trace(within) / len(within) * np.eye(len(within))
    values, vectors = np.linalg.eigh(within)
    whitened = vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    first, second = np.triu_indices(len(classes), k=1)
    pairs = (means[first] - means[second]) @ whitened
    distance = np.maximum(np.linalg.norm(pairs, axis=1), np.finfo(float).eps)
    weights = erf(distance / np.sqrt(8.0)) / (2.0 * distance**2)
    _, directions = np.linalg.eigh((pairs * weights[:, np.newaxis]).T @ pairs)
    basis, _ = np.linalg.qr(whitened @ directions[:, [-1, -2]])
    largest = basis[np.abs(basis).argmax(axis=0), [0, 1]]
    return np.asarray(basis * np.where(largest < 0, -1.0, 1.0))


def _map_frame(shown: _Shown, places: Floats, *, probabilities: bool = True) -> Columns:
    """Return one row per sample."""
    parts, names = (shown.train, shown.new), [*shown.classes.tolist(), None]  # −1 is the last one
    kind = "new" if shown.knows_training else "given"
    frame: Columns = {"set": ["training"] * len(shown.train) + [kind] * len(shown.new)}
    frame["label"] = [names[code] for part in parts for code in part.codes]
    frame["predicted"] = [names[code] for part in parts for code in part.predicted]
    if probabilities:
        frame["probability"] = [float(p) for part in parts for p in part.values.max(axis=1, initial=0.0)]
    return frame | {"x": places[:, 0].tolist(), "y": places[:, 1].tolist()}


def _map_axes(ax: Any, title: str, sentence: str, how: str) -> Any:
    """Return the axes of a map with its title and the text that explains it."""
    if ax is not None:
        check_axes(ax)
        strip_axes(ax)
        inches, _ = _inches(ax)
        name_axes(ax, textwrap.fill(title, max(24, int(inches * 10))))
        # Axes have room for three lines. The whole text is on figures of our own.
        first, _, _ = how.partition(":")
        words = textwrap.fill(f"{first.rstrip('.')}. {sentence}", max(30, int(inches * 17)), max_lines=3)
        ax.set_xlabel(words, fontsize=7.0, color=MUTED_INK)
        return ax
    figure = new_figure(_WIDTH, _CAPTION + _VIEW + _TITLES)
    write_title(figure, _MARGIN, title, 17.0)
    top = figure.get_size_inches()[1]
    style = {"color": MUTED_INK, "linespacing": 1.4}
    write(figure, _MARGIN, top - 0.72, textwrap.fill(sentence, 125), fontsize=9.5, va="top", **style)
    write(figure, _MARGIN, 0.16, how, fontsize=8.0, va="bottom", **style)
    return place_axes(figure, _MARGIN, _CAPTION, _WIDTH - 2 * _MARGIN, _VIEW - 0.1)


def _draw_samples(axes: Any, shown: _Shown, places: Floats) -> None:
    """Draw training samples outlined, other samples plain, and circles around mistakes."""
    n_train, size = len(shown.train), min(1.0, _inches(axes)[0] / 7)
    colors = np.array(class_colors(len(shown.classes)))
    dots = {"s": 20 * size, "alpha": 0.65, "linewidths": 0, "zorder": 2, "gid": "new"}
    line = 0.8 * size * min(1.0, _OUTLINED / max(n_train, 1))
    outlined = {"s": 34 * size, "edgecolors": INK, "linewidths": line, "zorder": 3, "gid": "training"}
    for part, own, style in (
        (shown.train, places[:n_train], outlined),
        (shown.new, places[n_train:], dots),
    ):
        for first in range(0, len(shown.classes), HUES_PER_SHAPE):
            some = (part.shown >= first) & (part.shown < first + HUES_PER_SHAPE)
            axes.scatter(*own[some].T, c=colors[part.shown[some]], marker=_shape_of(first), **style)
    judged = shown.judged
    if judged is not None:
        own = places[:n_train] if judged is shown.train else places[n_train:]
        area = 130 if judged is shown.train else 72  # training samples have an outline inside the ring
        rings = {"facecolors": "none", "edgecolors": INK, "s": area * size, "linewidths": size**0.5}
        axes.scatter(*own[judged.wrong].T, **rings, zorder=4, gid="wrong")
    _add_key(axes, shown)


def _add_key(axes: Any, shown: _Shown) -> None:
    """Explain the kinds of marks in a neutral gray."""
    from matplotlib.lines import Line2D

    marks: list[tuple[str, dict[str, Any]]] = []
    if len(shown.train):
        name = "training, left out" if shown.is_left_out else "training, fitted"
        marks.append((name, {"ms": 6, "mfc": FAINT, "mec": INK, "mew": 0.8}))
    if len(shown.new):
        name = "new" if shown.knows_training else "sample"
        marks.append((name, {"ms": 4.5, "mfc": MUTED_INK, "mec": "none", "alpha": 0.65}))
    if shown.judged is not None and shown.judged.wrong.any():
        marks.append(("misclassified", {"ms": 8, "mfc": "none", "mec": INK, "mew": 1.0}))
    handles = [Line2D([], [], ls="", marker="o", label=label, **style) for label, style in marks]
    size = float(np.clip(1.6 * _inches(axes)[0], 6.5, 9.0))
    style = {"loc": "lower left", "frameon": False, "fontsize": size, "labelcolor": MUTED_INK}
    axes.legend(handles=handles, **style, borderpad=0, borderaxespad=0.2, handletextpad=0.2)


def _shape_of(code: int) -> str:
    """Return the mark of a class as matplotlib calls it. Every ten classes have another one."""
    return SHAPES[code // HUES_PER_SHAPE % len(SHAPES)]


# Labels of classes -----------------------------------------------------------------------------------


def _draw_corners(axes: Any, placed: ClassMap, shown: _Shown) -> None:
    """Set the limits, draw the polygon, and name the classes or list their confusions."""
    names = [str(name) for name in shown.classes]
    if not placed.is_line:
        ring = np.argsort(np.arctan2(placed.corners[:, 0], placed.corners[:, 1]))
        axes.fill(*placed.corners[ring].T, facecolor="none", edgecolor=FAINT, linewidth=0.8, zorder=1)
    else:
        _draw_probabilities(axes, placed, names[1])
    width, height = _inches(axes)
    if len(names) > MOST_LABELS:
        room = min(_LIST, 0.42 * width)
        _set_limits(axes, min(height / 2.2, (width - room) / 2.2), left=1.1)
        _list_confusions(axes, shown, names, room)
        return
    tallest, least = height / 2 / 1.36, min(0.68 * height / 2 / 1.36, 0.3 * width)
    points = _label_points(placed, tallest)
    widest = 0.0 if placed.is_line else max(_text_width(name, points) for name in names)
    pad = points / _POINTS_PER_INCH
    scale = float(np.clip((width / 2 - widest - pad) / 1.25, least, tallest))
    _set_limits(axes, scale, left=width / 2 / scale)
    points = min(points, _label_points(placed, scale))
    colors, room = class_colors(len(names)), width / 2 - 1.25 * scale - 0.5 * pad
    for code, (x, y, side) in enumerate(placed.labels):
        name = names[code] if placed.is_line else _shortened(names[code], room, points)
        corner = placed.corners[code]
        if side and abs(y - 1.14 * corner[1]) > 0.02:
            axes.plot([corner[0], x], [corner[1], y], color=FAINT, linewidth=0.7, zorder=0.5)
        badge = {
            "boxstyle": "round,pad=0.28,rounding_size=0.7",
            "fc": colors[code],
            "ec": PAPER,
            "lw": 1.2,
        }
        style = {
            "weight": "bold",
            "fontsize": points,
            "color": ink_on(colors[code]),
            "parse_math": False,
        }
        aligned = {0: "center", 1: "left", -1: "right"}[int(side)]
        axes.text(x, y, name, ha=aligned, va="center", bbox=badge, zorder=6, gid="class-name", **style)


def _draw_probabilities(axes: Any, placed: ClassMap, name: str) -> None:
    """Mark some probabilities of the second class below the samples of two classes."""
    marks = np.array(_MARKED)
    x = placed(np.column_stack([1.0 - marks, marks]))[:, 0]
    axes.vlines(x, -BAND, BAND, color=FAINT, linewidth=0.8, zorder=0.5)
    points = float(np.clip(1.6 * _inches(axes)[0], 5.5, 8.5))
    style = {"ha": "center", "va": "top", "fontsize": points, "color": MUTED_INK, "parse_math": False}
    for place, mark in zip(x, marks, strict=True):
        axes.text(place, -1.03 * BAND, f"{100 * mark:.0f} %", gid="probability", **style)
    axes.text(0.0, -1.15 * BAND, f"probability of {name}", gid="probability", **style)


def _label_points(placed: ClassMap, scale: float) -> float:
    """Return the font size of labels that fit into their gap. ``scale`` is in inches per unit."""
    return float(np.clip(0.62 * placed.label_gap * scale * _POINTS_PER_INCH, 6.5, 12.0))


def _inches(axes: Any) -> tuple[float, float]:
    box, inches = axes.get_position(), axes.figure.get_size_inches()
    return box.width * inches[0], box.height * inches[1]


def _set_limits(axes: Any, scale: float, left: float) -> None:
    """Set limits with this many inches per unit, and this many units to the left of the middle."""
    width, height = _inches(axes)
    half = height / 2 / scale
    axes.set(xlim=(-left, width / scale - left), ylim=(-half, half), aspect="equal")


def _list_confusions(axes: Any, shown: _Shown, names: list[str], room: float) -> None:
    """List the pairs of classes that are confused most often, to the right of the circle."""
    points = float(np.clip(3.0 * room, 6.0, 8.5))
    most = min(_PAIRS, int(_inches(axes)[1] * _POINTS_PER_INCH / (1.5 * points)) - 5)
    lines = [f"{len(names)} classes. Labels that", "are confused most often:", ""]
    judged = shown.judged
    if judged is None:
        lines = [f"{len(names)} classes.", "Without labels, confusions", "cannot be counted."]
    else:
        pairs = zip(
            judged.codes[judged.wrong].tolist(), judged.predicted[judged.wrong].tolist(), strict=True
        )
        counts = Counter(pairs).most_common()
        short = [_shortened(name, 0.36 * room, points) for name in names]
        lines += [f"{n} × {short[own]} → {short[other]}" for (own, other), n in counts[:most]]
        lines += [] if counts else ["none"]
        lines += [f"and {len(counts) - most} other pairs"] if len(counts) > most else []
    style = {"va": "center", "fontsize": points, "color": INK, "linespacing": 1.5, "parse_math": False}
    axes.text(1.15, 0.0, "\n".join(lines), gid="confusions", **style)


def _name_groups(axes: Any, shown: _Shown, places: Floats, codes: Ints) -> None:
    """Write the name of each class at the median of its samples."""
    for code, name in enumerate(shown.classes):
        own = places[codes == code]
        if len(own):
            _write_name(axes, np.median(own, axis=0), name, _color_of(code, shown))


def _name_bands(axes: Any, shown: _Shown, places: Floats, codes: Ints) -> None:
    """Write the name of each class to the left of its band of samples."""
    axes.margins(x=0.2)
    for code, name in enumerate(shown.classes):
        own = places[codes == code]
        if len(own):
            _write_name(axes, (0.0, float(np.median(own[:, 1]))), name, _color_of(code, shown), "left")


def _write_name(axes: Any, place: Any, name: Any, color: str, side: str = "center") -> None:
    """Write the name of a class with a light outline. A name on the left is at the edge of the axes."""
    from matplotlib.patheffects import withStroke

    style = {"va": "center", "weight": "bold", "fontsize": 10.5, "parse_math": False, "zorder": 7}
    where = axes.transData if side == "center" else axes.get_yaxis_transform()
    edge = [withStroke(linewidth=2.5, foreground=PAPER)]
    axes.text(*place, str(name), ha=side, color=color, path_effects=edge, transform=where, **style)


def _color_of(code: int, shown: _Shown) -> str:
    """Return the color of a class, or ink if the color is too light for text."""
    color = class_colors(len(shown.classes))[code]
    return INK if ink_on(color) == INK else color


def _shortened(name: str, inches: float, points: float) -> str:
    """Return the name, or its start and its end with an ellipsis if there is too little room."""
    if _text_width(name, points) <= inches:
        return name
    for n in range(len(name) - 1, 1, -1):
        short = f"{name[: (n + 1) // 2]}…{name[len(name) - n // 2 :]}"
        if _text_width(short, points) <= inches:
            return short
    return f"{name[:1]}…"


def _text_width(text: str, points: float) -> float:
    """Return the width in inches of a bold line in this font size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(weight="bold", size=100.0)
    width = float(text_to_path.get_text_width_height_descent(text, font, False)[0])
    return width / 100.0 * points / _POINTS_PER_INCH


# Charts ----------------------------------------------------------------------------------------------


def confusion(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw the confusion matrix of any classifier.

    Parameters
    ----------
    model : estimator
        Any fitted scikit-learn classifier or pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        Rows are labels and columns are predictions. The title states how many of the samples are
        training samples of a model of this library. The frame has ``label``, ``predicted`` and ``count``
        for every pair that occurs.

    See Also
    --------
    nsse.plot.class_map : Draws the samples.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.confusion(model, X[1::3], y[1::3])
    >>> int(sum(drawn.frame["count"]))
    50
    """
    labels, predicted = _labeled(model, X, y)
    classes = np.unique(np.concatenate([np.asarray(opened(model)[1].classes_), labels]))
    counts = np.zeros((len(classes),) * 2, dtype=int)
    np.add.at(counts, (np.searchsorted(classes, labels), np.searchsorted(classes, predicted)), 1)
    wrong, n = int((labels != predicted).sum()), len(labels)
    known = n - int(_are_unseen(model, X, n).sum())
    kind = "training sample" if known == n else "sample"
    title = f"{_name_of(model)} mislabels {wrong or 'none'} of {_count(n, kind)}"
    title += f", {known} of them training samples" if 0 < known < n else ""
    title += f" ({100 * wrong / n:.1f} %)"
    if ax is None:
        side = max(3.6, min(12.0, 1.2 + 0.42 * len(counts)))
        margin = 0.75 + min(3.0, 0.075 * max(len(str(name)) for name in classes))
        figure = new_figure(margin + side + 0.55, margin + side + 0.8)
        write_title(figure, 0.55, title)
        axes = place_axes(figure, margin, margin, side, side)
    else:
        check_axes(ax)
        axes = ax
        strip_axes(axes)
        name_axes(axes, title)
    _draw_matrix(axes, counts, [str(name) for name in classes])
    rows, columns = np.nonzero(counts)
    frame: Columns = {"label": classes[rows].tolist(), "predicted": classes[columns].tolist()}
    return Plot(axes.figure, frame | {"count": counts[rows, columns].tolist()}, ax is None)


def reliability(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw how often labels with a given probability are correct.

    Parameters
    ----------
    model : estimator
        Any fitted scikit-learn classifier or pipeline with ``predict_proba``.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels. Training samples of a model of this
        library are recognized and not counted.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has one row for each interval of the probability: its ends ``low`` and ``high``, the
        number ``n`` of samples, the ``mean`` probability, the share ``right`` of correct labels, and
        the ends ``right_low``, ``right_high`` of the 95 % interval (Wilson) of that share, which are
        the error bars.

    See Also
    --------
    nsse.plot.risk_coverage : Errors among accepted predictions.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.reliability(model, X[1::3], y[1::3])
    >>> int(sum(drawn.frame["n"]))
    50
    """
    labels, predicted = _labeled(model, X, y)
    core = opened(model)[1]
    P = np.asarray(model.predict_proba(X))
    unseen = np.isin(labels, core.classes_) & _are_unseen(model, X, len(labels))
    if not unseen.any():
        cure = "Pass labeled samples that are not training samples."
        raise rule_error(
            "X", "contain samples that the model was not fitted to", Described("none of them"), cure
        )
    codes = np.searchsorted(core.classes_, labels[unseen])
    columns = np.searchsorted(core.classes_, predicted[unseen])
    of_label = P[unseen][np.arange(len(codes)), columns]
    rows = [
        (*each, *wilson_interval(each[4], each[2]))
        for each in reliability_curve(of_label, columns == codes, EDGES)
    ]
    names = ("low", "high", "n", "mean", "right", "right_low", "right_high")
    frame: Columns = {
        name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }
    axes = chart_axes(ax, f"Calibration, log-loss {log_loss(P[unseen], codes):.3f}")
    _draw_reliability(axes, frame)
    return Plot(axes.figure, frame, ax is None)


def radii(model: Any, X: SamplesLike, y: LabelsLike = None, *, ax: Any = None) -> Plot:
    """Draw a histogram of certified radii.

    Parameters
    ----------
    model : estimator
        A fitted model with certificates, alone or behind affine steps of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples that the model was not fitted to.
    y : array-like of shape (n_samples,), default=None
        Their labels, to show misclassified samples in another color.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The number of infinite radii is written below the axis. The frame has ``radius``, in the units of
        X, ``predicted`` and, with labels, ``wrong`` for every sample.

    See Also
    --------
    nsse.plot.risk_coverage : Errors among accepted predictions.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> len(nsse.plot.radii(model, X[1::3], y[1::3]).frame)
    50
    """
    radius, predicted = certified_radius(model, X), np.asarray(model.predict(X))
    wrong = np.zeros(len(radius), dtype=bool) if y is None else predicted != np.asarray(y)
    axes = chart_axes(ax, "Certified radii")
    finite = np.isfinite(radius)
    axes.hist(
        [radius[finite & wrong], radius[finite & ~wrong]], bins=_BINS, stacked=True, color=[_RED, _BLUE]
    )
    infinite = int((~finite).sum())
    words = "certified radius" + ("" if y is None else " (red: misclassified)")
    label_axes(axes, words + (f"; {infinite} infinite" if infinite else ""), "samples")
    frame: Columns = {"radius": radius.tolist(), "predicted": predicted.tolist()}
    return Plot(axes.figure, frame if y is None else frame | {"wrong": wrong.tolist()}, ax is None)


def risk_coverage(
    model: Any,
    X: SamplesLike,
    y: LabelsLike,
    *,
    by: str = "radius",
    coverage: float = 0.8,
    ax: Any = None,
) -> Plot:
    """Draw the error of the predictions that remain if uncertain ones are rejected.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, alone or at the end of a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels.
    by : {"radius", "probability"}, default="radius"
        Whether predictions with the largest certified radii or with the largest probabilities are
        accepted.
    coverage : float, default=0.8
        The share of accepted predictions at which the error is written.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has ``threshold``, ``coverage`` and ``risk``.

    See Also
    --------
    nsse.certificates.risk_coverage : Computes the curve.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.risk_coverage(model, X[1::3], y[1::3])
    >>> len(drawn.frame) > 0
    True
    """
    _labeled(model, X, y)
    curve = curve_of(model, X, y, by=by)
    kind = "largest radii" if by == "radius" else "largest probabilities"
    axes = chart_axes(ax, "Errors by coverage")
    _draw_curve(axes, curve, coverage, kind)
    return Plot(axes.figure, dict(curve.to_dict()), ax is None)


def trace(model: Any, *, ax: Any = None) -> Plot:
    """Draw the objective of `NSSE` for the kernel scales that its fit evaluated.

    Parameters
    ----------
    model : estimator
        A fitted `NSSE`, alone or at the end of a pipeline.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        One dot for every step. The smallest objective is red. The frame is ``trace_.to_dict()``: σ, the
        terms of the objective and the seconds of every step.

    See Also
    --------
    nsse.NSSE : The method.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> drawn = nsse.plot.trace(nsse.NSSE().fit(X[::3], y[::3]))
    >>> len(drawn.frame) > 0
    True
    """
    found = getattr(opened(model)[1], "trace_", None)
    if found is None:
        raise TypeError(
            rule_message("model", "search for its kernel scale", _name_of(model), "Pass an NSSE.")
        )
    frame: Columns = dict(found.to_dict())
    axes = chart_axes(ax, "Objective by kernel scale")
    _draw_trace(axes, np.array(frame["sigma"]), np.array(frame["excess"]))
    return Plot(axes.figure, frame, ax is None)


def generalization(report: GeneralizationReport) -> Plot:
    """Draw a `GeneralizationReport`: separations, shuffled labels, and errors by certified radius.

    Parameters
    ----------
    report : GeneralizationReport
        The result of `nsse.certificates.generalization_report`.

    Returns
    -------
    Plot
        The frame has ``set`` ("training" or "unseen") and ``separation`` for every sample.

    See Also
    --------
    nsse.certificates.generalization_report : Computes the numbers.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse.certificates import generalization_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
    >>> report = generalization_report(model, X[::3], y[::3], X[1::3], y[1::3], n_permutations=3)
    >>> len(nsse.plot.generalization(report).frame)
    100
    """
    train, unseen = report.train_separation, report.test_separation
    figure = new_figure(14.3, 4.85)
    title = f"Separation {train.mean():.2f} in training, {unseen.mean():.2f} on unseen samples"
    write_title(figure, 0.75, title)
    panels = {
        "Separation of samples": _draw_separations,
        "Separation with shuffled labels": _draw_permutations,
        "Error by certified radius": _draw_errors_by_radius,
    }
    for k, (name, draw) in enumerate(panels.items()):
        axes = place_axes(figure, 0.75 + 4.55 * k, 0.95, 3.7, 2.7)
        quiet_axes(axes)
        name_axes(axes, name)
        draw(axes, report)
    columns = {"set": ["training"] * len(train) + ["unseen"] * len(unseen)}
    return Plot(figure, columns | {"separation": [*train.tolist(), *unseen.tolist()]})


def _name_of(model: Any) -> str:
    return type(opened(model)[1]).__name__


def _labeled(model: Any, X: SamplesLike, y: LabelsLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and predictions."""
    if X is None or y is None:
        raise rule_error("y", "be given to count mistakes", None, "Pass samples and their labels.")
    labels, predicted = np.asarray(y), np.asarray(model.predict(X))
    if labels.shape != predicted.shape:
        cure = f"Pass {len(predicted)} labels."
        raise rule_error("y", "contain one label per sample of X", labels.shape, cure)
    return labels, predicted


def _are_unseen(model: Any, X: SamplesLike, n: int) -> Bools:
    """Return which samples are not recognized as training samples of a model of ours."""
    steps, core = opened(model)
    if not isinstance(core, EmbeddingClassifier):
        return np.ones(n, dtype=bool)
    Z = X
    for step in steps:
        Z = step.transform(Z)
    return np.asarray(training_rows(core, Z) < 0)


def _draw_matrix(axes: Any, counts: NDArray[Any], classes: Sequence[str]) -> None:
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(counts / totals, cmap="Blues", vmin=0, vmax=1.6)
    cell = _POINTS_PER_INCH * _inches(axes)[0] / len(classes)
    size = max(4.0, min(9.0, 0.55 * cell))
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for row, column in zip(*np.nonzero(counts), strict=True):
        color, weight = (INK, "normal") if row == column else (_RED, "bold")
        axes.text(column, row, str(counts[row, column]), color=color, weight=weight, **middle)
    axes.set_xticks(range(len(classes)), classes, rotation=90, fontsize=size, parse_math=False)
    axes.set_yticks(range(len(classes)), classes, fontsize=size, parse_math=False)
    axes.tick_params(length=0, colors=MUTED_INK)
    axes.set_xlabel("predicted label", fontsize=9, color=MUTED_INK)
    axes.set_ylabel("true label", fontsize=9, color=MUTED_INK)


def _draw_reliability(axes: Any, frame: Mapping[str, Any]) -> None:
    mean, right, below, above = (
        100.0 * np.array(frame[name]) for name in ("mean", "right", "right_low", "right_high")
    )
    low = 10.0 * np.floor(min(mean.min(), below.min()) / 10.0)
    axes.plot([low, 100.0], [low, 100.0], "--", color=MUTED_INK, linewidth=0.8)
    bars = {"color": _BLUE, "markersize": 4, "linewidth": 1.2, "capsize": 2}
    axes.errorbar(mean, right, yerr=[right - below, above - right], fmt="o", gid="reliability", **bars)
    for x, y, n in zip(mean, right, frame["n"], strict=True):
        note(axes, f"{n}", (x, y), (5, -3), MUTED_INK, fontsize=7.5, va="top")
    axes.set(xlim=(low, 103.0), ylim=(low, 103.0))
    label_axes(axes, "mean probability of the label (%)", "correct labels (%), with counts")


def _draw_curve(axes: Any, curve: RiskCoverage, coverage: float, kind: str) -> None:
    """Draw the risk by coverage, with its value at one coverage and that of all predictions."""
    percent, error = 100 * curve.coverage, 100 * curve.risk
    axes.axhline(error[-1], color=MUTED_INK, linewidth=1, linestyle=(0, (4, 3)), gid="all")
    axes.fill_between(percent, error, color=_BLUE, alpha=0.12, linewidth=0)
    axes.plot(percent, error, color=_BLUE, linewidth=2, solid_capstyle="round", gid="risk")
    at = 100 * (1 - curve.accuracy_at(coverage))
    axes.plot([100 * coverage], [at], "o", color=_BLUE, markersize=7, markeredgecolor=PAPER)
    highest = max(error[percent >= 5].max(initial=error[-1]), error[-1]) * 1.22 + 0.1
    axes.set(xlim=(0, 102), ylim=(0, highest))
    words = f"{at:.1f} % at {100 * coverage:.0f} %\ncoverage"
    note(axes, words, (100 * coverage, at), (-10, 12), _BLUE, ha="right", weight="bold")
    note(axes, f"{error[-1]:.1f} % of all", (2, error[-1]), (0, 4), MUTED_INK)
    label_axes(axes, f"coverage: accepted predictions, {kind} first (%)", "wrong among accepted (%)")


def _draw_trace(axes: Any, sigma: Floats, excess: Floats) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    order = np.argsort(sigma, kind="stable")
    sigma, excess = sigma[order], excess[order]
    best = int(np.argmin(excess))
    axes.plot(sigma, excess, "o-", color=_BLUE, markersize=3.5, linewidth=1.4, gid="excess")
    axes.plot(sigma[best], excess[best], "o", color=_RED, markersize=6, markeredgecolor=PAPER)
    label_axes(axes, "kernel scale σ (red: the smallest objective)", "objective, above its floor")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if excess.min() > 0:
        axes.set_yscale("log")


def _draw_separations(axes: Any, report: GeneralizationReport) -> None:
    axes.axvline(0, color=INK, linewidth=0.8)
    for values, color, name, height in (
        (report.train_separation, MUTED_INK, "training", 10),
        (report.test_separation, _BLUE, "unseen", 55),
    ):
        ordered = np.sort(values)
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(ordered, share, where="post", color=color, linewidth=2, gid=name)
        place = ordered[int(np.searchsorted(share, height))]
        note(axes, name, (place, height), (-7, 0), color, ha="right", va="center", weight="bold")
    nearer = 100 * np.mean(report.test_separation <= 0)
    words = f"{nearer:.1f} % of the unseen\nare nearer to\nanother class"
    note(axes, words, (0, nearer), (-8, 14), _BLUE, ha="right", fontsize=9)
    axes.plot([0], [nearer], "o", color=_BLUE, markersize=6, markeredgecolor=PAPER)
    axes.set(xlim=(-1.02, 1.02), ylim=(0, 102))
    label_axes(axes, "separation", "samples with less (%)")


def _draw_permutations(axes: Any, report: GeneralizationReport) -> None:
    rows = (
        ("training", report.train_separation.mean(), report.permuted_train),
        ("unseen", report.test_separation.mean(), report.permuted_test),
    )
    count = len(report.permuted_test)
    label_axes(axes, f"mean separation; p = {report.p_value:.3f} on unseen ({count} shuffles)", "")
    axes.grid(visible=False)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    for height, (name, true, shuffled) in enumerate(reversed(rows)):
        style = {"color": MUTED_INK, "markersize": 16, "alpha": 0.7, "gid": f"shuffled-{name}"}
        axes.plot(shuffled, np.full(len(shuffled), height), "|", **style)
        axes.plot([true], [height], "o", color=_ORANGE, markersize=9, markeredgecolor=PAPER)
    for words, values, color in (
        ("shuffled labels", report.permuted_test, MUTED_INK),
        ("true labels", [report.test_separation.mean()], _ORANGE),
    ):
        if len(values):
            style = {"ha": "center", "va": "baseline", "weight": "bold", "bbox": None}
            note(axes, words, (float(np.mean(values)), 0), (0, 14), color, **style)
    axes.set(xlim=(-1.05, 1.05), ylim=(-0.6, 1.6), yticks=[0, 1])
    axes.set_yticklabels([name for name, *_ in reversed(rows)], color=INK, fontsize=9.5)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])


def _draw_errors_by_radius(axes: Any, report: GeneralizationReport) -> None:
    bins, every = report.calibration, 100 * report.test_error
    places = np.arange(len(bins.error))
    axes.bar(places, 100 * bins.error, width=0.8, color=_RED, gid="error")
    axes.axhline(every, color=MUTED_INK, linewidth=1, linestyle=(0, (4, 3)))
    note(
        axes,
        f"{every:.1f} % of all",
        (places[-1] + 0.45, every),
        (0, 4),
        MUTED_INK,
        ha="right",
        fontsize=9,
    )
    axes.set_ylim(0, max(100 * bins.error.max() * 1.08, 1.0))
    label_axes(axes, "median radius of equal bins", "wrong (%)")
    shown = places[:: max(1, len(places) // 5)]
    axes.set_xticks(shown, [f"{bins.median[k]:.2f}" for k in shown])


# Explanations ----------------------------------------------------------------------------------------

_KINDS = ("auto", "image", "curve", "bars")
# Samples of a figure, features in bars, and features up to which "auto" draws bars.
_MOST_SAMPLES, _MOST_BARS, _FEW_FEATURES = 12, 12, 40
_SIDE, _WIDE, _TOP, _BOTTOM = 2.3, 3.6, 0.9, 0.55  # inches


def explanation(
    model: Any,
    X: SamplesLike,
    target: Any = None,
    *,
    shape: tuple[int, ...] | None = None,
    kind: str = "auto",
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Plot:
    """Draw the contributions of the features to predictions.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel map or a linear map, alone, in a search or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        At most twelve samples, or one if ``ax`` is given.
    target : label or array-like of shape (n_samples,), default=None
        The class to explain. None explains the predicted class.
    shape : tuple of int, default=None
        Height and width of samples that are images, and 3 as a third number for color images.
    kind : {"auto", "image", "curve", "bars"}, default="auto"
        A map over pixels, a curve of all features in their order (for spectra and series), or bars of
        the features that contribute most. "auto" is an image if ``shape`` is given, else bars for at
        most 40 features, else a curve.
    names : sequence of str, default=None
        Names of the features. None takes those of a data frame or of the fitted model.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        Blue supports the class and red supports its rival. The frame is that of `Explanation.to_frame`.

    See Also
    --------
    nsse.explanations.explain : Computes the numbers.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::6], y[::6])
    >>> drawn = nsse.plot.explanation(model, X[1:4], shape=(8, 8))
    >>> len(drawn.frame)
    192
    """
    check_choice("kind", kind, _KINDS)
    found = explain(model, X, target)
    n_samples, n_features = found.gradient.shape
    most = _MOST_SAMPLES if ax is None else 1
    if not 1 <= n_samples <= most:
        cure = "Pass some of them: X[:4]."
        raise rule_error("X", f"contain 1 to {most} samples", Described(f"{n_samples} samples"), cure)
    if kind == "auto":
        kind = "image" if shape is not None else "bars" if n_features <= _FEW_FEATURES else "curve"
    if kind == "image" and (shape is None or math.prod(shape) != n_features):
        raise rule_error("shape", f"have {n_features} pixels", shape, "Pass the height and the width.")
    if names is not None and len(names) != n_features:
        cure = f"Pass {n_features} names, or None."
        raise rule_error("names", "name every feature", Described(f"{len(names)} names"), cure)
    if names is not None:
        found = found.with_names(names)
    figure, places = _explanation_axes(kind, n_samples, ax)
    scale = float(np.abs(found.contribution).max()) or 1.0
    for row, axes in enumerate(places):
        contribution = found.contribution[row]
        if kind == "image" and shape is not None:
            _draw_image(axes, _values(X, row, n_features), contribution, shape, scale)
        elif kind == "curve":
            _draw_features(axes, _values(X, row, n_features), contribution, scale)
        else:
            _draw_bars(axes, contribution, found.feature_names)
        name_axes(axes, f"{found.label[row]} over {found.rival[row]}, by {found.margin[row]:.2f}")
    if ax is None:
        write_title(figure, 0.35, "Features that support the class (blue) or its rival (red)", 12.0)
        words = "The contributions add up to the difference from the margin of the mean training sample."
        if found.space != "X":
            words += f" The features are the {found.space}."
        write(figure, 0.35, 0.15, words, fontsize=7.8, color=MUTED_INK, va="bottom")
    return Plot(figure, found.to_frame(), ax is None)


def _values(X: SamplesLike, row: int, n_features: int) -> Floats | None:
    """Return a sample as it was given, or None if the features are the output of a step."""
    part = X.iloc[[row]] if hasattr(X, "iloc") else X[row : row + 1]
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part).ravel()
    return values.astype(np.float64) if len(values) == n_features else None


def _explanation_axes(kind: str, n_samples: int, ax: Any) -> tuple[Any, list[Any]]:
    """Return the figure and axes for each sample."""
    if ax is not None:
        check_axes(ax)
        return ax.figure, [ax]
    across = min(n_samples, 4 if kind == "image" else 2)
    down = -(-n_samples // across)
    wide = _SIDE if kind == "image" else _WIDE + (1.1 if kind == "bars" else 0.0)
    left = 1.7 if kind == "bars" else 0.35
    pitch = wide + (0.25 if kind == "image" else 0.45 + left * (kind == "bars"))
    width, height = max(left + across * pitch, 6.8), _TOP + down * (_SIDE + 0.45) + _BOTTOM
    figure = new_figure(width, height)
    spots = [divmod(k, across) for k in range(n_samples)]
    return figure, [
        place_axes(
            figure, left + column * pitch, height - _TOP - (row + 1) * (_SIDE + 0.45) + 0.3, wide, _SIDE
        )
        for row, column in spots
    ]


def _draw_image(
    axes: Any, values: Floats | None, contribution: Floats, shape: tuple[int, ...], scale: float
) -> None:
    """Draw the contributions over the image in light gray."""
    from matplotlib.colors import LinearSegmentedColormap

    over = contribution.reshape(shape)
    over = over.sum(axis=2) if over.ndim == 3 else over
    strip_axes(axes)
    if values is not None:
        gray = values.reshape(shape)
        gray = gray.mean(axis=2) if gray.ndim == 3 else gray
        axes.imshow(gray, cmap="gray_r", alpha=0.4, interpolation="nearest")
    strength = np.minimum(np.abs(over) / scale, 1.0) ** 0.6
    colors = LinearSegmentedColormap.from_list("support", [_RED, PAPER, _BLUE])
    style = {"cmap": colors, "alpha": 0.9 * strength, "interpolation": "nearest"}
    axes.imshow(over, vmin=-scale, vmax=scale, **style)


def _draw_features(axes: Any, values: Floats | None, contribution: Floats, scale: float) -> None:
    """Draw the sample as a line, with the contribution of each feature as color and width."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    quiet_axes(axes)
    places = np.arange(len(contribution), dtype=np.float64)
    line = contribution if values is None else values
    points = np.column_stack([places, line])
    axes.plot(places, line, color=MUTED_INK, linewidth=0.8)
    segments = np.stack([points[:-1], points[1:]], axis=1)
    strength = np.minimum(np.abs(contribution[:-1]) / scale, 1.0) ** 0.5
    colors = np.array([to_rgb(_BLUE if value >= 0 else _RED) for value in contribution[:-1]])
    colors = np.column_stack([colors, strength])
    axes.add_collection(LineCollection(list(segments), colors=colors, linewidths=1 + 5 * strength))
    axes.autoscale()


def _draw_bars(axes: Any, contribution: Floats, names: Sequence[str]) -> None:
    """Draw the features that contribute most, with the largest on top."""
    quiet_axes(axes)
    most = np.argsort(-np.abs(contribution), kind="stable")[:_MOST_BARS][::-1]
    values = contribution[most]
    axes.barh(np.arange(len(most)), values, color=np.where(values >= 0, _BLUE, _RED), height=0.7)
    axes.axvline(0.0, color=MUTED_INK, linewidth=0.8)
    shown = [name if len(name) <= 22 else name[:21] + "…" for name in (names[k] for k in most)]
    axes.set_yticks(np.arange(len(most)), shown, fontsize=8, parse_math=False)
