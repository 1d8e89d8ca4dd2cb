"""Figures of a study of many sets: ranks, wins and losses, error by size, error by time.

Each takes readings: anything with the attributes of ``nsse.evaluation.reading.Reading``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsse.report.certificate_plots import chart_axes, label_axes
from nsse.report.page import new_figure, place_axes, write
from nsse.report.palette import FAINT, INK, MUTED_INK, PAPER, hues

# Our methods, and what stands out among the others; the rest is grey.
_COLORS = {
    "NSSECV": hues()[2],
    "NSSE": hues()[6],
    "NSSE, Euclidean": hues()[1],
    "SVC": hues()[0],
    "random forest": hues()[4],
    "shrinkage LDA": hues()[5],
}
# Inches.
_EDGE, _LINE = 0.45, 0.19


def _is_ours(method: str) -> bool:
    return method.startswith("NSSE")


def rank_figure(readings: Mapping[str, Any], alike: Any, title: str = "Mean ranks") -> Any:
    """Critical-difference diagrams, two beside each other.

    Parameters
    ----------
    readings : mapping of str to Reading
        By the title of their diagram.
    alike : callable
        ``alike(ranks, critical_difference)`` gives the stretches that are joined by a bar.
    title : str
        Of the figure.
    """
    width, n_rows = 5.9, -(-len(readings) // 2)
    first = next(iter(readings.values()))
    height = 1.15 + _LINE * (-(-len(first.methods) // 2))
    figure = new_figure(2 * width + 2 * _EDGE, n_rows * (height + 0.35) + 0.8)
    top = figure.get_size_inches()[1]
    write(figure, _EDGE, top - 0.35, title, fontsize=14, weight="bold", color=INK)
    for place, (name, reading) in enumerate(readings.items()):
        row, column = divmod(place, 2)
        bottom = top - 0.6 - (row + 1) * (height + 0.35) + 0.3
        axes = place_axes(figure, _EDGE + column * width, bottom, width - 0.45, height)
        _draw_ranks(axes, reading, alike, name, height)
    return figure


def _draw_ranks(axes: Any, reading: Any, alike: Any, name: str, height: float) -> None:
    """Ranks on a line, best to the left; names on both sides; bars join what no test tells apart."""
    ordered, ranks = reading.by_rank, reading.ranks
    k = len(ordered)
    difference = reading.critical_difference
    # The ranks fill the middle; names stand outside.
    margin = 0.52 * (k - 1)
    axes.set(xlim=(1 - margin, k + margin), ylim=(-height, 0))
    line = -0.62
    axes.text(1 - margin, -0.02, name, fontsize=9.5, weight="bold", color=INK, va="top")
    axes.plot([1, k], [line, line], color=INK, linewidth=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [line, line + 0.05], color=INK, linewidth=0.8)
        axes.text(tick, line + 0.07, str(tick), fontsize=7.5, color=MUTED_INK, ha="center")
    bar = line + 0.27
    axes.plot([1, 1 + difference], [bar, bar], color=MUTED_INK, linewidth=1.4, gid="difference")
    words = f"critical difference {difference:.2f}"
    axes.text(1 + difference + 0.15, bar, words, fontsize=7.5, color=MUTED_INK, va="center")
    stretches = alike(list(ranks.values()), difference)
    for number, (least, greatest) in enumerate(stretches):
        y = line - 0.07 - 0.055 * number
        axes.plot([least - 0.06, greatest + 0.06], [y, y], color=INK, linewidth=2.6, gid="alike")
    start = line - 0.14 - 0.055 * len(stretches)
    half = -(-k // 2)
    for place, method in enumerate(ordered):
        is_left = place < half
        y = start - _LINE * (place if is_left else k - 1 - place)
        end = 1 - 0.35 if is_left else k + 0.35
        color = _COLORS.get(method, MUTED_INK) if _is_ours(method) else INK
        axes.plot([ranks[method], ranks[method], end], [line, y, y], color=color, linewidth=0.9)
        words = f"{method}  {ranks[method]:.2f}" if is_left else f"{ranks[method]:.2f}  {method}"
        weight = "bold" if _is_ours(method) else "normal"
        side = "right" if is_left else "left"
        axes.text(
            end + (-0.12 if is_left else 0.12),
            y,
            words,
            ha=side,
            va="center",
            fontsize=8.5,
            color=color,
            weight=weight,
        )


def duel_figure(duels: Mapping[str, Sequence[Any]], title: str) -> Any:
    """Shares of cases won, tied and lost against each other method, one panel per reading."""
    first = next(iter(duels.values()))
    width, height = 3.3, 0.27 * len(first) + 0.1
    left = 2.0
    figure = new_figure(left + len(duels) * (width + 0.9), height + 1.75)
    write(figure, _EDGE, height + 1.3, title, fontsize=14, weight="bold", color=INK)
    names = [duel.other for duel in first]
    for place, (name, found) in enumerate(duels.items()):
        axes = chart_axes(figure, left + place * (width + 0.9), 0.55, width, height, name)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        by_name = {duel.other: duel for duel in found}
        for row, other in enumerate(reversed(names)):
            _draw_duel(axes, row, by_name[other])
        axes.set(xlim=(0, 100), ylim=(-0.6, len(names) - 0.4), xticks=[0, 50, 100])
        shown = list(reversed(names)) if place == 0 else []
        axes.set_yticks(range(len(shown)), shown, fontsize=9, color=INK)
        label_axes(axes, "cases won, tied, lost (%)", "")
    return figure


def _draw_duel(axes: Any, row: int, duel: Any) -> None:
    total = duel.wins + duel.ties + duel.losses
    start = 0.0
    parts = ((duel.wins, _COLORS["NSSECV"]), (duel.ties, FAINT), (duel.losses, hues()[8]))
    for count, color in parts:
        share = 100 * count / total
        axes.barh(row, share, left=start, height=0.72, color=color, edgecolor=PAPER, linewidth=0.8)
        if share >= 7:
            ink = INK if color == FAINT else PAPER
            axes.text(
                start + share / 2, row, str(count), ha="center", va="center", fontsize=7.5, color=ink
            )
        start += share
    told = f"p {duel.adjusted:.3f}" if duel.adjusted >= 0.001 else "p < 0.001"
    weight = "bold" if duel.adjusted < 0.05 else "normal"
    axes.text(101.5, row, told, fontsize=7.5, va="center", color=MUTED_INK, weight=weight)


def size_figure(readings: Mapping[str, Mapping[int, Any]], title: str) -> Any:
    """Mean error by training samples per class; one panel per kind of set, the same sets at all sizes.

    Parameters
    ----------
    readings : mapping of str to mapping of int to Reading
        Panel, size, reading.
    title : str
        Of the figure.
    """
    width, height = 2.9, 3.4
    figure = new_figure(_EDGE + 0.4 + len(readings) * (width + 1.9), height + 1.75)
    write(figure, _EDGE, height + 1.32, title, fontsize=14, weight="bold", color=INK)
    for place, (name, by_size) in enumerate(readings.items()):
        axes = chart_axes(figure, _EDGE + 0.4 + place * (width + 1.9), 0.6, width, height, name)
        _draw_sizes(axes, by_size)
    return figure


def _draw_sizes(axes: Any, by_size: Mapping[int, Any]) -> None:
    sizes = sorted(by_size)
    methods = by_size[sizes[0]].methods
    ends = {}
    for method in sorted(methods, key=lambda name: name in _COLORS):
        errors = [by_size[size].mean_error(method) for size in sizes]
        color, line = _COLORS.get(method, FAINT), 2.2 if _is_ours(method) else 1.3
        axes.plot(sizes, errors, "o-", color=color, linewidth=line, markersize=3.5, gid=method)
        ends[method] = errors[-1]
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, low), high)
    axes.set_yticks([tick for tick in np.linspace(0, 100, 21) if low <= tick <= high])
    places = _spread(ends, (high - low) / 19, *axes.get_ylim())
    for method, y in places.items():
        color = _COLORS.get(method, MUTED_INK)
        axes.annotate(
            f"{method} {ends[method]:.1f}",
            (sizes[-1], y),
            (8, 0),
            textcoords="offset points",
            fontsize=8,
            va="center",
            color=color,
            weight="bold" if _is_ours(method) else "normal",
            annotation_clip=False,
        )
    label_axes(axes, "training samples per class", "mean error (%)")


def _spread(ends: Mapping[str, float], least: float, low: float, high: float) -> dict[str, float]:
    """Heights at which words do not touch, near where their lines end."""
    names = sorted(ends, key=lambda name: ends[name])
    heights = [max(ends[name], low) for name in names]
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + least)
    heights[-1] = min(heights[-1], high)
    for place in reversed(range(len(heights) - 1)):
        heights[place] = min(heights[place], heights[place + 1] - least)
    return dict(zip(names, heights, strict=True))


def time_figure(readings: Mapping[str, Any], title: str) -> Any:
    """Mean error by median seconds of the processor, one panel per reading."""
    width, height = 4.6, 3.5
    figure = new_figure(_EDGE + 0.4 + len(readings) * (width + 0.7), height + 1.75)
    write(figure, _EDGE, height + 1.32, title, fontsize=14, weight="bold", color=INK)
    for place, (name, reading) in enumerate(readings.items()):
        axes = chart_axes(figure, _EDGE + 0.4 + place * (width + 0.7), 0.6, width, height, name)
        _draw_times(axes, reading, width, height)
    return figure


def _draw_times(axes: Any, reading: Any, width: float, height: float) -> None:
    dots = {method: (reading.seconds(method), reading.mean_error(method)) for method in reading.methods}
    seconds, errors = zip(*dots.values(), strict=True)
    left, right = min(seconds) / 4, max(seconds) * 4
    room = 0.12 * (max(errors) - min(errors)) + 0.1
    low, high = min(errors) - room, max(errors) + room
    axes.set_xscale("log")
    axes.set(xlim=(left, right), ylim=(low, high))

    def inches(x: float, y: float) -> tuple[float, float]:
        return width * np.log(x / left) / np.log(right / left), height * (y - low) / (high - low)

    boxes = [_box(*inches(x, y), 0.12, 0.12) for x, y in dots.values()]
    for method, (x, y) in dots.items():
        color = _COLORS.get(method, MUTED_INK)
        weight = "bold" if _is_ours(method) else "normal"
        axes.plot([x], [y], "o", color=color, markersize=7, markeredgecolor=PAPER, gid=method)
        offset, box = _free_place(*inches(x, y), 0.068 * len(method), boxes)
        boxes.append(box)
        axes.annotate(
            method,
            (x, y),
            (72 * offset[0], 72 * offset[1]),
            textcoords="offset points",
            fontsize=8,
            ha="center",
            va="center",
            color=color,
            weight=weight,
        )
    ticks = [tick for tick in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) if left <= tick <= right]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    step = 2.0 if high - low < 25 else 5.0
    axes.set_yticks([tick for tick in np.arange(0, 101, step) if low <= tick <= high])
    label_axes(axes, "median seconds to tune, fit and predict", "mean error (%)")


_Box = tuple[float, float, float, float]


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _free_place(
    x: float, y: float, length: float, taken: Sequence[_Box]
) -> tuple[tuple[float, float], _Box]:
    """Where words beside a dot cover least of what is there: below, above, right, left, and further."""
    aside = length / 2 + 0.1
    near = [(0.0, -0.14), (0.0, 0.14), (aside, 0.0), (-aside, 0.0)]
    places = [*near, (aside, 0.12), (aside, -0.12), (-aside, 0.12), (-aside, -0.12), (0.0, -0.27)]

    def covered(offset: tuple[float, float]) -> float:
        own = _box(x + offset[0], y + offset[1], length, 0.13)
        return sum(
            max(0.0, min(own[2], other[2]) - max(own[0], other[0]))
            * max(0.0, min(own[3], other[3]) - max(own[1], other[1]))
            for other in taken
        )

    best = min(places, key=covered)
    return best, _box(x + best[0], y + best[1], length, 0.13)
