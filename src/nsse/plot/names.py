"""Names of classes in a map: at the corners, in a list, or among the samples."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.class_maps import BAND, MOST_LABELS, ClassMap
from nsse.palette import FAINT, HUES_PER_SHAPE, INK, MUTED_INK, PAPER, SHAPES, class_colors, ink_on
from nsse.plot.samples import Shown

# Pairs of classes in the list of confusions, and its width in inches.
_PAIRS, _LIST = 18, 2.9
# Sizes of fonts are in points.
POINTS_PER_INCH = 72.0
# Probabilities of the second of two classes that are marked.
_MARKED = (0.01, 0.1, 0.5, 0.9, 0.99)


def shape_of(code: int) -> str:
    """Return the mark of a class as matplotlib calls it. Every ten classes have another one."""
    return SHAPES[code // HUES_PER_SHAPE % len(SHAPES)]


def draw_corners(axes: Any, placed: ClassMap, shown: Shown) -> None:
    """Set the limits, draw the polygon, and name the classes or list their confusions."""
    names = [str(name) for name in shown.classes]
    if not placed.is_line:
        ring = np.argsort(np.arctan2(placed.corners[:, 0], placed.corners[:, 1]))
        axes.fill(*placed.corners[ring].T, facecolor="none", edgecolor=FAINT, linewidth=0.8, zorder=1)
    else:
        _draw_probabilities(axes, placed, names[1])
    width, height = size_in_inches(axes)
    if len(names) > MOST_LABELS:
        room = min(_LIST, 0.42 * width)
        _set_limits(axes, min(height / 2.2, (width - room) / 2.2), left=1.1)
        _list_confusions(axes, shown, names, room)
        return
    tallest, least = height / 2 / 1.36, min(0.68 * height / 2 / 1.36, 0.3 * width)
    points = _label_points(placed, tallest)
    widest = 0.0 if placed.is_line else max(_text_width(name, points) for name in names)
    pad = points / POINTS_PER_INCH
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
    points = float(np.clip(1.6 * size_in_inches(axes)[0], 5.5, 8.5))
    style = {"ha": "center", "va": "top", "fontsize": points, "color": MUTED_INK, "parse_math": False}
    for place, mark in zip(x, marks, strict=True):
        axes.text(place, -1.03 * BAND, f"{100 * mark:.0f} %", gid="probability", **style)
    axes.text(0.0, -1.15 * BAND, f"probability of {name}", gid="probability", **style)


def _label_points(placed: ClassMap, scale: float) -> float:
    """Return the font size of labels that fit into their gap. ``scale`` is in inches per unit."""
    return float(np.clip(0.62 * placed.label_gap * scale * POINTS_PER_INCH, 6.5, 12.0))


def size_in_inches(axes: Any) -> tuple[float, float]:
    """Return the width and the height of axes."""
    box, inches = axes.get_position(), axes.figure.get_size_inches()
    return box.width * inches[0], box.height * inches[1]


def _set_limits(axes: Any, scale: float, left: float) -> None:
    """Set limits with this many inches per unit, and this many units to the left of the middle."""
    width, height = size_in_inches(axes)
    half = height / 2 / scale
    axes.set(xlim=(-left, width / scale - left), ylim=(-half, half), aspect="equal")


def _list_confusions(axes: Any, shown: Shown, names: list[str], room: float) -> None:
    """List the pairs of classes that are confused most often, to the right of the circle."""
    points = float(np.clip(3.0 * room, 6.0, 8.5))
    most = min(_PAIRS, int(size_in_inches(axes)[1] * POINTS_PER_INCH / (1.5 * points)) - 5)
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


def name_groups(axes: Any, shown: Shown, places: Floats, codes: Ints) -> None:
    """Write the name of each class at the median of its samples."""
    for code, name in enumerate(shown.classes):
        own = places[codes == code]
        if len(own):
            _write_name(axes, np.median(own, axis=0), name, _color_of(code, shown))


def name_bands(axes: Any, shown: Shown, places: Floats, codes: Ints) -> None:
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


def _color_of(code: int, shown: Shown) -> str:
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
    return width / 100.0 * points / POINTS_PER_INCH
