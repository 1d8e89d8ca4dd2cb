"""The figure of an embedding: one large view, others beside it for comparison, mistakes below.

Training samples are outlined dots, unseen ones plain dots, mislabelled ones ringed; classes are named
at their corners, so colour is never the only cue. All views share one scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse.report.mistakes import draw_mistakes, letter_mistakes
from nsse.report.page import new_figure, place_axes, write
from nsse.report.palette import FAINT, INK, MUTED_INK, PAPER, class_colors, ink_on
from nsse.report.polygon import PolygonView

_HALF_SIDE = 1.56  # of every view, in radii of the polygon
_LABEL_RADIUS = 1.42
# Inches. The page is built from the bottom: caption, mistakes, views, titles.
_WIDTH, _MARGIN, _CAPTION, _STRIP, _VIEW, _TITLES = 12.0, 0.45, 0.7, 1.25, 7.2, 1.15
_BOLD = {"weight": "bold", "color": INK}
_HOW = (
    "Each view is a linear projection of all dimensions of an embedding: the least-squares map that"
    " sends training samples to their class’s corner. Unseen samples take no part in it."
)
_HOW_A_LINE = (
    "Places across are a linear projection of the embedding: the least-squares map that sends training"
    " samples to their class’s end.\nHeights mean nothing: each class has a band, wider where its"
    " samples are denser, in which they are kept apart."
)


def embedding_figure(
    view: PolygonView,
    others: Sequence[PolygonView] = (),
    *,
    images: NDArray[Any] | None = None,
    noun: str = "samples",
    kind: str = "unseen",
    caption: str = "",
) -> Any:
    """Draw an embedding, with others beside it.

    Parameters
    ----------
    view : PolygonView
        Drawn large; the title states its error on unseen samples.
    others : sequence of PolygonView, default=()
        Drawn small, on the same scale.
    images : ndarray of shape (n_test, height, width), default=None
        Images of the test samples of `view`, darker for larger values; the mislabelled are shown.
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
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> view = polygon_view("NSSE", model.embedding_, y[::3], model.transform(X), y, model.predict(X))
    >>> type(embedding_figure(view, noun="flowers")).__name__
    'Figure'
    """
    _check_images(images, view)
    has_strip = images is not None and view.wrong.size > 0
    floor = _CAPTION + _STRIP * has_strip
    figure = new_figure(_WIDTH, floor + _VIEW + _TITLES)
    left = _MARGIN if others else (_WIDTH - _VIEW) / 2
    main = place_axes(figure, left, floor, _VIEW, _VIEW)
    draw_view(main, view, size=1.0)
    add_key(main, view, kind)
    _draw_others(figure, others, floor)
    _write_titles(figure, view, kind, noun)
    if images is not None and has_strip:
        letter_mistakes(main, view)
        draw_mistakes(figure, view, images, _MARGIN, _CAPTION)
    text = f"{how_made(view)}\n{caption}".strip()
    write(figure, _MARGIN, 0.18, text, fontsize=7.8, color=MUTED_INK, va="bottom", linespacing=1.5)
    return figure


def how_made(view: PolygonView) -> str:
    """How a reader is to understand the places of the points."""
    return _HOW_A_LINE if view.is_line else _HOW


def _check_images(images: NDArray[Any] | None, view: PolygonView) -> None:
    if images is not None and (np.ndim(images) != 3 or len(images) != len(view.test)):
        cure = f"Pass an array of shape ({len(view.test)}, height, width)."
        raise rule_error("images", "hold one image per test sample", np.shape(images), cure)


def _write_titles(figure: Any, view: PolygonView, kind: str, noun: str) -> None:
    top = figure.get_size_inches()[1]
    write(figure, _MARGIN, top - 0.32, title_of(view, kind, noun), fontsize=19, va="top", **_BOLD)
    what = f"{_dimensions(view)}, fitted to {len(view.train)} samples of {len(view.classes)} classes"
    write(figure, _MARGIN, top - 0.8, what, fontsize=11, color=MUTED_INK, va="top")


def title_of(view: PolygonView, kind: str, noun: str = "samples") -> str:
    """What the view finds, in one line."""
    if view.predicted_codes is None or not len(view.test):
        return f"{view.name} embedding of {len(view.train) + len(view.test)} {noun}"
    count = view.wrong.size or "none"
    return f"{view.name} mislabels {count} of {len(view.test)} {kind} {noun} ({_percent(view)})"


def _percent(view: PolygonView) -> str:
    return f"{100 * view.wrong.size / len(view.test):.1f} %"


def _dimensions(view: PolygonView) -> str:
    return f"{view.name}, {view.n_components} dimension{'s' * (view.n_components != 1)}"


def _draw_others(figure: Any, others: Sequence[PolygonView], floor: float) -> None:
    side = min(3.25, _VIEW / max(1, len(others)) - 0.4)
    left = _WIDTH - _MARGIN - side
    for place, view in enumerate(others):
        bottom = floor + _VIEW - (place + 1) * _VIEW / len(others)
        draw_view(place_axes(figure, left, bottom, side, side), view, size=0.45)
        error = "" if view.predicted_codes is None else f": {_percent(view)} mislabelled"
        write(figure, left, bottom + side + 0.1, _dimensions(view) + error, fontsize=10, **_BOLD)


def draw_view(axes: Any, view: PolygonView, size: float) -> None:
    """Draw one view; `size` scales the marks."""
    colors = np.array(class_colors(len(view.classes)))
    axes.set(xlim=(-_HALF_SIDE, _HALF_SIDE), ylim=(-_HALF_SIDE, _HALF_SIDE), aspect="equal")
    if not view.is_line:
        axes.fill(*view.corners.T, facecolor="none", edgecolor=FAINT, linewidth=0.8, zorder=1)
    dots = {"c": colors[view.test_codes], "s": 19 * size, "alpha": 0.62, "linewidths": 0}
    axes.scatter(*view.test.T, **dots, zorder=2, gid=f"{view.name}-test")
    outlined = {"c": colors[view.train_codes], "s": 36 * size**1.4, "edgecolors": INK}
    axes.scatter(*view.train.T, **outlined, linewidths=0.8 * size, zorder=3, gid=f"{view.name}-train")
    rings = {"facecolors": "none", "edgecolors": INK, "s": 68 * size, "linewidths": size**0.5}
    axes.scatter(*view.test[view.wrong].T, **rings, zorder=4, gid=f"{view.name}-wrong")
    _name_classes(axes, view, colors, size)
    _count_outside(axes, view)


def _name_classes(axes: Any, view: PolygonView, colors: NDArray[Any], size: float) -> None:
    are_short = max(len(str(name)) for name in view.classes) <= 3
    bands = np.array([[-1.0, 0.9], [1.0, -0.9]])  # of two classes, above and below what is seen of them
    places = bands if view.is_line else _LABEL_RADIUS * view.corners
    shape = "circle,pad=0.3" if are_short else "round,pad=0.3,rounding_size=0.6"
    style: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "fontsize": 4 + 8 * size}
    for place, name, color in zip(places, view.classes, colors, strict=True):
        badge = {"boxstyle": shape, "facecolor": color, "edgecolor": PAPER, "linewidth": 1.5 * size}
        style |= {"color": ink_on(color), "bbox": badge, "parse_math": False, "zorder": 6}
        axes.text(*place, str(name), **style)


def _count_outside(axes: Any, view: PolygonView) -> None:
    points = np.vstack([view.train, view.test])
    outside = int((np.abs(points) > _HALF_SIDE).any(axis=1).sum())
    if outside:
        note = f"{outside} of {len(points)} outside the frame"
        # On the right: the key stands on the left.
        axes.text(1, 0, note, transform=axes.transAxes, ha="right", fontsize=7, color=MUTED_INK)


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
