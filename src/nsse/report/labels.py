"""Names of the classes beside the corners of their polygon: every one readable, or left out.

Few and short names stand in badges at the corners. Where these would cover each other, names stand in
a column on either side, as high as their corners if there is room, joined to them by lines; where there
is not room for all, every second, third, … is left out.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from nsse._support.types import Floats
from nsse.report.palette import FAINT, INK, PAPER, class_colors, ink_on
from nsse.report.polygon import PolygonView

# Marks of the first ten classes, of the next ten, and so on: colours of different tens are alike.
SHAPES, HUES_PER_SHAPE = "os^DvP", 10
# From the middle, in radii of the polygon: badges, where columns begin, half the picture at least.
_BADGE, _COLUMN, _HALF, _HALF_OF_COLUMNS = 1.2, 1.24, 1.34, 1.9
_MOST_BADGES = 15
# Letters of columns, in points, the largest that fits; and the height of a line over that of letters.
_SIZES, _LINE = (9.0, 8.0, 7.0, 6.5), 1.3
_POINTS_PER_INCH = 72.0


def shape_of(code: int) -> str:
    """The mark of a class, as matplotlib calls it."""
    return SHAPES[code // HUES_PER_SHAPE % len(SHAPES)]


def name_classes(axes: Any, view: PolygonView, size: float) -> None:
    """Set the limits of the axes, and write the names of the classes."""
    names = [str(name) for name in view.classes]
    places, badges = _badges(view, names, 4 + 8 * size)
    scale = _set_limits(axes, _HALF, _HALF)
    # Of two classes names stand above and below their points, each with half of the picture.
    if view.is_line or (len(names) <= _MOST_BADGES and not _cover(places * scale, badges)):
        _draw_badges(axes, view, places, size)
        return
    scale = _set_limits(axes, _HALF, _HALF_OF_COLUMNS)
    for side in (-1, 1):
        own = np.flatnonzero((view.corners[:, 0] >= 0) == (side > 0))
        _draw_column(axes, view, own, side, scale)


def _set_limits(axes: Any, half_height: float, half_width: float) -> float:
    """Limits that hold at least these, to the same scale; inches per unit."""
    box, inches = axes.get_position(), axes.figure.get_size_inches()
    width, height = box.width * inches[0], box.height * inches[1]
    half = max(half_height, half_width * height / width)
    across = half * width / height
    axes.set(xlim=(-across, across), ylim=(-half, half), aspect="equal")
    return float(height / (2 * half))


def _badges(view: PolygonView, names: list[str], points: float) -> tuple[Floats, Floats]:
    """Middles of badges in radii of the polygon, and their sizes in inches."""
    bands = np.array([[-1.0, 0.9], [1.0, -0.9]])  # of two classes, above and below what is seen of them
    places = bands if view.is_line else _BADGE * view.corners
    sizes = np.array([[text_width(name, points, "bold"), points / _POINTS_PER_INCH] for name in names])
    return places, sizes + 0.8 * points / _POINTS_PER_INCH


def _cover(places: Floats, sizes: Floats) -> bool:
    """Whether two boxes cover each other."""
    apart = np.abs(places[:, np.newaxis] - places)
    room = (sizes[:, np.newaxis] + sizes) / 2
    return bool(np.triu((apart < room).all(axis=2), k=1).any())


def _draw_badges(axes: Any, view: PolygonView, places: Floats, size: float) -> None:
    are_short = max(len(str(name)) for name in view.classes) <= 3
    shape = "circle,pad=0.3" if are_short else "round,pad=0.3,rounding_size=0.6"
    points = 4 + 8 * size
    style: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "fontsize": points}
    for place, name, color in zip(places, view.classes, class_colors(len(view.classes)), strict=True):
        badge = {"boxstyle": shape, "facecolor": color, "edgecolor": PAPER, "linewidth": 1.5 * size}
        style |= {"color": ink_on(color), "bbox": badge, "parse_math": False, "zorder": 6}
        axes.text(*place, str(name), **style, gid="class-name")


def _draw_column(axes: Any, view: PolygonView, own: NDArray[np.intp], side: int, scale: float) -> None:
    colors = class_colors(len(view.classes))
    own = own[np.argsort(-view.corners[own, 1], kind="stable")]
    top = float(axes.get_ylim()[1])
    lines = [_LINE * points / _POINTS_PER_INCH / scale for points in _SIZES]
    rooms = [int(2 * top / line) for line in lines]
    k = next((k for k, room in enumerate(rooms) if room >= len(own)), len(_SIZES) - 1)
    if len(own) > rooms[k]:
        own = own[np.linspace(0, len(own) - 1, rooms[k]).round().astype(np.intp)]
    heights = spread(1.2 * view.corners[own, 1], lines[k], top - lines[k] / 2)
    room = (float(axes.get_xlim()[1]) - _COLUMN) * scale
    align = "left" if side > 0 else "right"
    for code, height in zip(own, heights, strict=True):
        name, corner = shortened(str(view.classes[code]), room, _SIZES[k]), 1.03 * view.corners[code]
        end = side * (_COLUMN - 0.05)
        axes.plot([corner[0], end], [corner[1], height], color=FAINT, linewidth=0.7, zorder=0.5)
        axes.plot(end, height, shape_of(code), color=colors[code], markersize=_SIZES[k] / 2, zorder=6)
        style = {"ha": align, "va": "center", "fontsize": _SIZES[k], "color": INK, "parse_math": False}
        axes.text(side * _COLUMN, height, name, **style, gid="class-name")


def spread(heights: Floats, gap: float, most: float) -> Floats:
    """Descending heights, moved as little as keeps them apart by ``gap`` and within ± ``most``."""
    steps = gap * np.arange(len(heights))
    moved = isotonic_regression(heights + steps, increasing=False) - steps
    moved = np.minimum(moved, most - steps)
    return np.asarray(np.maximum(moved, steps[::-1] - most))


def shortened(name: str, inches: float, points: float) -> str:
    """The name, or as much of it as there is room for, and an ellipsis."""
    if text_width(name, points) <= inches:
        return name
    while name and text_width(f"{name}…", points) > inches:
        name = name[:-1]
    return f"{name}…"


def text_width(text: str, points: float, weight: str = "normal") -> float:
    """Inches that a line of letters of this size is wide."""
    return sum(_letter_width(letter, weight) for letter in text) * points / _POINTS_PER_INCH


@cache
def _letter_width(letter: str, weight: str) -> float:
    """Width of a letter over its size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    of_hundred = FontProperties(weight=weight, size=100.0)
    return float(text_to_path.get_text_width_height_descent(letter, of_hundred, False)[0]) / 100.0
