"""The figure of an embedding: samples in the plane.

Training samples are outlined dots, unseen ones plain dots, mislabelled ones ringed; classes are named
beside their corners, so colour is never the only cue.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse.report.labels import HUES_PER_SHAPE, name_classes, shape_of
from nsse.report.page import new_figure, place_axes, write
from nsse.report.palette import FAINT, INK, MUTED_INK, class_colors
from nsse.report.polygon import PolygonView

# Inches. The page is built from the bottom: caption, view, titles.
_WIDTH, _MARGIN, _CAPTION, _VIEW, _TITLES = 12.0, 0.45, 0.7, 7.2, 1.15
_BOLD = {"weight": "bold", "color": INK}
_HOW = (
    "A sample lies at the mean of the classes’ corners, weighted by their probabilities to the power"
    " {:.1f}: at a corner where one class is certain,\nin the middle where all are alike. Classes that"
    " are confused stand side by side."
)
_HOW_A_LINE = (
    "Places across are weights of the class on the right less those of the other: probabilities to the"
    " power {:.1f}.\nHeights mean nothing: each class has a band, wider where its samples are denser, in"
    " which they are kept apart."
)


def embedding_figure(
    view: PolygonView, *, noun: str = "samples", kind: str = "unseen", caption: str = ""
) -> Any:
    """Draw an embedding.

    Parameters
    ----------
    view : PolygonView
        What is drawn; the title states the error on unseen samples.
    noun : str, default="samples"
        What the samples are, for the title.
    kind : str, default="unseen"
        What to call the samples that are not training samples.
    caption : str, default=""
        Where the samples come from, added to the line that tells how the picture is made.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot; write it with ``save_figure``.

    See Also
    --------
    nsse.report.polygon_view : What is drawn.
    nsse.plot.embedding : Both in one call.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.report import embedding_figure, polygon_view
    >>> X, y = load_iris(return_X_y=True)
    >>> view = polygon_view(SmoothEmbedding().fit(X[::3], y[::3]), X, y)
    >>> type(embedding_figure(view, noun="flowers")).__name__
    'Figure'
    """
    figure = new_figure(_WIDTH, _CAPTION + _VIEW + _TITLES)
    main = place_axes(figure, _MARGIN, _CAPTION, _WIDTH - 2 * _MARGIN, _VIEW)
    draw_view(main, view, size=1.0)
    add_key(main, view, kind)
    _write_titles(figure, view, kind, noun)
    text = f"{how_made(view)}\n{caption}".strip()
    write(figure, _MARGIN, 0.18, text, fontsize=7.8, color=MUTED_INK, va="bottom", linespacing=1.5)
    return figure


def how_made(view: PolygonView) -> str:
    """How a reader is to understand the places of the points."""
    return (_HOW_A_LINE if view.is_line else _HOW).format(view.sharpness)


def _write_titles(figure: Any, view: PolygonView, kind: str, noun: str) -> None:
    top = figure.get_size_inches()[1]
    write(figure, _MARGIN, top - 0.32, title_of(view, kind, noun), fontsize=19, va="top", **_BOLD)
    what = f"{_dimensions(view)}, fitted to {len(view.train)} samples of {len(view.classes)} classes"
    write(figure, _MARGIN, top - 0.8, what, fontsize=11, color=MUTED_INK, va="top")


def title_of(view: PolygonView, kind: str, noun: str = "samples") -> str:
    """What the view finds, in one line."""
    if view.predicted_codes is None or not len(view.test):
        return f"{view.name} embedding of {len(view.train) + len(view.test)} {noun}"
    count, percent = view.wrong.size or "none", 100 * view.wrong.size / len(view.test)
    return f"{view.name} mislabels {count} of {len(view.test)} {kind} {noun} ({percent:.1f} %)"


def _dimensions(view: PolygonView) -> str:
    return f"{view.name}, {view.n_components} dimension{'s' * (view.n_components != 1)}"


def draw_view(axes: Any, view: PolygonView, size: float) -> None:
    """Draw one view; `size` scales the marks."""
    name_classes(axes, view, size)
    if not view.is_line:
        # Corners stand in the order of the ring: by their angle.
        ring = np.argsort(np.arctan2(view.corners[:, 0], view.corners[:, 1]))
        axes.fill(*view.corners[ring].T, facecolor="none", edgecolor=FAINT, linewidth=0.8, zorder=1)
    dots = {"s": 19 * size, "alpha": 0.62, "linewidths": 0}
    _scatter(axes, view.test, view.test_codes, view, gid="test", zorder=2, **dots)
    outlined = {"s": 36 * size**1.4, "edgecolors": INK, "linewidths": 0.8 * size}
    _scatter(axes, view.train, view.train_codes, view, gid="train", zorder=3, **outlined)
    rings = {"facecolors": "none", "edgecolors": INK, "s": 68 * size, "linewidths": size**0.5}
    axes.scatter(*view.test[view.wrong].T, **rings, zorder=4, gid=f"{view.name}-wrong")


def _scatter(
    axes: Any, places: NDArray[Any], codes: NDArray[np.intp], view: PolygonView, gid: str, **style: Any
) -> None:
    """Marks in the colours of the classes; every ten classes have another shape."""
    colors = np.array(class_colors(len(view.classes)))
    for first in range(0, len(view.classes), HUES_PER_SHAPE):
        own = (codes >= first) & (codes < first + HUES_PER_SHAPE)
        mark = {"c": colors[codes[own]], "marker": shape_of(first), "gid": f"{view.name}-{gid}"}
        axes.scatter(*places[own].T, **mark, **style)


def add_key(axes: Any, view: PolygonView, kind: str) -> None:
    """Say what the three kinds of marks are, in neutral grey."""
    from matplotlib.lines import Line2D

    marks: list[tuple[str, dict[str, Any]]] = [
        ("training", {"ms": 6, "mfc": FAINT, "mec": INK, "mew": 0.8})
    ]
    if len(view.test):
        marks.append((kind, {"ms": 4.5, "mfc": MUTED_INK, "mec": "none", "alpha": 0.62}))
    if view.wrong.size:
        marks.append((f"{kind}, mislabelled", {"ms": 8, "mfc": "none", "mec": INK, "mew": 1.0}))
    handles = [Line2D([], [], ls="", marker="o", label=label, **style) for label, style in marks]
    pads = {"borderpad": 0, "borderaxespad": 0.2, "handletextpad": 0.2}
    style = {"loc": "lower left", "frameon": False, "fontsize": 9, "labelcolor": MUTED_INK}
    axes.legend(handles=handles, **style, **pads)
