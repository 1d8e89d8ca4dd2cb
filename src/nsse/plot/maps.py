"""Maps: class probabilities of any classifier, and the coordinates of a model."""

from __future__ import annotations

import textwrap
from operator import index
from typing import Any

import numpy as np
from scipy.special import erf

from nsse._support.errors import rule_error, rule_message
from nsse._support.frames import Columns
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike
from nsse.base import EmbeddingClassifier
from nsse.class_maps import MOST_LABELS, ClassMap, class_map_of, confusions, spread_heights
from nsse.figures import (
    Plot,
    check_axes,
    label_axes,
    name_axes,
    new_figure,
    place_axes,
    strip_axes,
    write,
    write_title,
)
from nsse.palette import HUES_PER_SHAPE, INK, MUTED_INK, class_colors
from nsse.pipelines import opened
from nsse.plot.names import draw_corners, name_bands, name_groups, shape_of, size_in_inches
from nsse.plot.samples import Shown, shown_samples

# Inches: size of a map with its titles and its caption.
_WIDTH = 9.6
_MARGIN = 0.45
_CAPTION = 0.75
_VIEW = 7.0
_TITLES = 1.1
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
    shown = shown_samples(classifier, X, y, coordinates=False)
    placed = _class_map(classifier, shown)
    places = placed(np.vstack([shown.train.values, shown.new.values]))
    if placed.is_line and len(places):
        codes = np.concatenate([shown.train.shown, shown.new.shown])
        places[:, 1], _ = spread_heights(places[:, 0], codes)
    frame = _map_frame(shown, places)
    how = (_HOW_LINE if placed.is_line else _HOW_CLASS_MAP).format(power=placed.sharpness)
    axes = _map_axes(ax, shown.title("Class map"), shown.sentence(), how)
    draw_corners(axes, placed, shown)
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
    shown = shown_samples(model, X, y, coordinates=True)
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
    label_axes(axes, *names)
    _draw_samples(axes, shown, places)
    if F.shape[1] == 1:
        name_bands(axes, shown, places, codes)
    elif len(shown.classes) <= MOST_LABELS:
        name_groups(axes, shown, places, codes)
    return Plot(axes.figure, frame, ax is None)


def _class_map(classifier: Any, shown: Shown) -> ClassMap:
    """Return the class map of a model of ours, or one with the confusions among the samples."""
    _, core = opened(classifier)
    if isinstance(core, EmbeddingClassifier):
        return class_map_of(core)
    known = shown.new.shown >= 0
    return ClassMap.of_confusions(confusions(shown.new.values[known], shown.new.shown[known]))


def _projected(
    shown: Shown, F: Floats, coordinates: tuple[int, int] | None
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


def _map_frame(shown: Shown, places: Floats, *, probabilities: bool = True) -> Columns:
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
        inches, _ = size_in_inches(ax)
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


def _draw_samples(axes: Any, shown: Shown, places: Floats) -> None:
    """Draw training samples large with a white edge, other samples small, and circles around mistakes.

    A dark edge would look like the circle of a mistake.
    """
    n_train, size = len(shown.train), min(1.0, size_in_inches(axes)[0] / 7)
    colors = np.array(class_colors(len(shown.classes)))
    dots = {"s": 20 * size, "alpha": 0.65, "linewidths": 0, "zorder": 2, "gid": "new"}
    line = 0.8 * size * min(1.0, _OUTLINED / max(n_train, 1))
    outlined = {
        "s": 42 * size,
        "edgecolors": "white",
        "linewidths": line,
        "zorder": 3,
        "gid": "training",
    }
    for part, own, style in (
        (shown.train, places[:n_train], outlined),
        (shown.new, places[n_train:], dots),
    ):
        for first in range(0, len(shown.classes), HUES_PER_SHAPE):
            some = (part.shown >= first) & (part.shown < first + HUES_PER_SHAPE)
            axes.scatter(*own[some].T, c=colors[part.shown[some]], marker=shape_of(first), **style)
    judged = shown.judged
    if judged is not None:
        own = places[:n_train] if judged is shown.train else places[n_train:]
        area = 130 if judged is shown.train else 72  # training samples have an outline inside the ring
        rings = {"facecolors": "none", "edgecolors": INK, "s": area * size, "linewidths": size**0.5}
        axes.scatter(*own[judged.wrong].T, **rings, zorder=4, gid="wrong")
    _add_key(axes, shown)


def _add_key(axes: Any, shown: Shown) -> None:
    """Explain the kinds of marks in a neutral gray."""
    from matplotlib.lines import Line2D

    marks: list[tuple[str, dict[str, Any]]] = []
    if len(shown.train):
        name = "training, left out" if shown.is_left_out else "training, fitted"
        marks.append((name, {"ms": 6.5, "mfc": MUTED_INK, "mec": "white", "mew": 0.8}))
    if len(shown.new):
        name = "new" if shown.knows_training else "sample"
        marks.append((name, {"ms": 4.5, "mfc": MUTED_INK, "mec": "none", "alpha": 0.65}))
    if shown.judged is not None and shown.judged.wrong.any():
        marks.append(("misclassified", {"ms": 8, "mfc": "none", "mec": INK, "mew": 1.0}))
    handles = [Line2D([], [], ls="", marker="o", label=label, **style) for label, style in marks]
    size = float(np.clip(1.6 * size_in_inches(axes)[0], 6.5, 9.0))
    style = {"loc": "lower left", "frameon": False, "fontsize": size, "labelcolor": MUTED_INK}
    axes.legend(handles=handles, **style, borderpad=0, borderaxespad=0.2, handletextpad=0.2)
