"""Figures of a study of many sets: ranks, wins and losses, error by size, error by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from nsse.report import class_colors
from reproduction.study.methods import OURS
from reproduction.study.ranks import Comparison, alike
from reproduction.study.reading import Reading
from reproduction.study.sets import kind_of

INK, MUTED, FAINT = "#22262b", "#6b737d", "#d5d9de"
HUES = class_colors(10)
# Our methods, and what stands out among the others; the rest is grey.
OTHERS = {"SVC": HUES[0], "random forest": HUES[4], "shrinkage LDA": HUES[5]}
COLORS = dict(zip(OURS, (HUES[2], HUES[6], HUES[1], HUES[7], HUES[8]), strict=True)) | OTHERS
LINE = 0.19  # inches between two names


def write_figures(folder: Path, everything: Reading, halves: Mapping[str, Reading]) -> list[Path]:
    """The four figures of the page, as files of a folder."""
    told = {"reported half": halves["report"], "all sets": everything}
    told = {name: reading for name, reading in told.items() if reading.cases}
    first, timed = next(iter(told.items()))
    few, many = ([n for n in everything.sizes if (n <= 20) == is_few] for is_few in (True, False))
    ranked = {
        f"{name}, {_span(sizes)} per class": reading.of_sizes(*sizes)
        for name, reading in told.items()
        for sizes in (few, many)
        if reading.of_sizes(*sizes).cases
    }
    whole = [n for n in everything.names if everything.of_sets([n]).sizes == everything.sizes]
    panels = {
        "Tables, reported half": [n for n in whole if n in halves["report"].names],
        "Tables, other half": [n for n in whole if n not in halves["report"].names],
    }
    panels = {name: [n for n in own if kind_of(n) == "tables"] for name, own in panels.items()}
    panels["Pictures, both halves"] = [n for n in whole if kind_of(n) == "pictures"]
    by_size = {name: everything.of_sets(own) for name, own in panels.items() if own}
    ends = sorted({timed.sizes[0], timed.sizes[-1]})
    drawn = {
        "ranks": rank_figure(ranked),
        "duels": comparison_figure(
            {name: part.comparisons(part.tuned) for name, part in told.items()}, everything.tuned
        ),
        "sizes": size_figure(by_size),
        "times": time_figure({f"{first}, {n} per class": timed.of_sizes(n) for n in ends}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    return [_save(figure, folder / f"study_{name}.png") for name, figure in drawn.items()]


def _save(figure: Figure, path: Path) -> Path:
    """As a PNG of few colours, a third of the size of a plain one."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    with Image.open(buffer) as picture:
        picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def _span(sizes: Sequence[int]) -> str:
    return f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(*sizes)


def _panels(
    names: Sequence[str], size: tuple[float, float], title: str, room: float, left: float = 0.6
) -> Any:
    """A figure, and axes of a size in inches beside each other, each with room to the right of it."""
    whole = len(names) * (size[0] + room) + left, size[1] + 1.5
    figure = Figure(figsize=whole, facecolor="white")
    figure.text(0.3 / whole[0], 1 - 0.35 / whole[1], title, fontsize=14, weight="bold", color=INK)
    panels = []
    for place, name in enumerate(names):
        corner = (left + place * (size[0] + room)) / whole[0], 0.6 / whole[1]
        axes = figure.add_axes((*corner, size[0] / whole[0], size[1] / whole[1]))
        axes.set_title(name, loc="left", fontsize=10.5, weight="bold", color=INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.tick_params(colors=MUTED, labelsize=8.5, length=0)
        panels.append(axes)
    return figure, panels


def _style(method: str) -> dict[str, Any]:
    return {"color": COLORS.get(method, MUTED), "weight": "bold" if method in OURS else "normal"}


def rank_figure(readings: Mapping[str, Reading]) -> Figure:
    """Mean ranks, a line for each method; above, bars join what no critical difference parts."""
    names = [f"{name}: {len(reading.names)} sets" for name, reading in readings.items()]
    height = LINE * (max(len(reading.methods) for reading in readings.values()) + 5)
    figure, panels = _panels(names, (2.2, height), "Mean ranks", room=1.9, left=1.7)
    for axes, reading in zip(panels, readings.values(), strict=True):
        ordered, difference = reading.by_rank, reading.critical_difference
        for y, method in enumerate(ordered):
            axes.plot([reading.ranks[method]], [y], "o", color=COLORS.get(method, MUTED), gid=method)
        for number, stretch in enumerate(alike(list(reading.ranks.values()), difference)):
            axes.plot(stretch, [-1 - 0.6 * number] * 2, color=INK, linewidth=2.6, gid="alike")
        axes.plot([1, 1 + difference], [-4.2, -4.2], color=MUTED, linewidth=1.4, gid="difference")
        axes.text(
            1.2 + difference, -4, f"critical difference {difference:.2f}", fontsize=7.5, color=MUTED
        )
        axes.set_yticks(
            range(len(ordered)), [f"{m} {reading.ranks[m]:.2f}" for m in ordered], fontsize=8
        )
        axes.set(xlim=(1, len(ordered)), ylim=(len(ordered) - 0.5, -5))
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        for tick, method in zip(axes.get_yticklabels(), ordered, strict=True):
            tick.set(**_style(method))
    return figure


def comparison_figure(comparisons: Mapping[str, Sequence[Comparison]], ours: str) -> Figure:
    """Shares of cases won, tied and lost against each other method, one panel per reading."""
    height = 0.27 * len(next(iter(comparisons.values()))) + 0.1
    title = f"{ours} beside each of the others"
    figure, panels = _panels(list(comparisons), (3.3, height), title, room=2.2, left=1.8)
    for axes, found in zip(panels, comparisons.values(), strict=True):
        for row, one in enumerate(reversed(found)):
            counts = np.array([one.wins, one.ties, one.losses])
            shares = 100 * counts / counts.sum()
            starts = np.cumsum(shares) - shares
            bars = axes.barh([row] * 3, shares, left=starts, color=(HUES[9], FAINT, HUES[3]))
            shown = [str(n) if n >= 0.07 * counts.sum() else "" for n in counts]
            axes.bar_label(bars, shown, label_type="center", fontsize=7.5, color=INK)
            told = f"p {one.adjusted:.3f}" if one.adjusted >= 0.001 else "p < 0.001"
            weight = "bold" if one.adjusted < 0.05 else "normal"
            axes.text(101.5, row, told, fontsize=7.5, va="center", color=MUTED, weight=weight)
        axes.set(xlim=(0, 100), ylim=(-0.6, len(found) - 0.4), xticks=[0, 50, 100])
        axes.set_yticks(range(len(found)), [one.other for one in reversed(found)], fontsize=9)
        axes.set_xlabel("cases won, tied, lost (%)", fontsize=9, color=MUTED)
    return figure


def size_figure(readings: Mapping[str, Reading]) -> Figure:
    """Mean error by training samples per class; the sets of a panel go to every size."""
    names = [f"{name}: {len(reading.names)} sets" for name, reading in readings.items()]
    figure, panels = _panels(names, (2.9, 3.4), "Error by training samples per class", room=1.9)
    for axes, reading in zip(panels, readings.values(), strict=True):
        lines = {}
        for method in sorted(reading.methods, key=lambda one: one in COLORS):
            errors = [reading.of_sizes(size).mean_error(method) for size in reading.sizes]
            line = {"color": COLORS.get(method, FAINT), "linewidth": 2.2 if method in OURS else 1.3}
            axes.plot(reading.sizes, errors, "o-", markersize=3.5, gid=method, **line)
            lines[method] = (float(reading.sizes[-1]), errors[-1])
        _finish(axes, lines, "training samples per class", reading.sizes)
    return figure


def time_figure(readings: Mapping[str, Reading]) -> Figure:
    """Mean error by median seconds of the processor, one panel per reading."""
    figure, panels = _panels(list(readings), (4.0, 3.5), "Error by time", room=2.1)
    for axes, reading in zip(panels, readings.values(), strict=True):
        dots = {m: (reading.seconds(m), reading.mean_error(m)) for m in reading.methods}
        for method, dot in dots.items():
            axes.plot(*dot, "o", color=COLORS.get(method, MUTED), markersize=7, gid=method)
        _finish(axes, dots, "median seconds to tune, fit and predict")
    return figure


def _finish(
    axes: Any, dots: Mapping[str, tuple[float, float]], label: str, ticks: Sequence[int] = ()
) -> None:
    """Names of the methods to the right, in the order of their errors, joined to their dots."""
    axes.set_xscale("log")
    if ticks:
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel(label, fontsize=9, color=MUTED)
    axes.set_ylabel("mean error (%)", fontsize=9, color=MUTED)
    x, (low, high) = axes.get_xlim()[1] * 1.1, axes.get_ylim()
    for method, y in spread({m: dot[1] for m, dot in dots.items()}, (high - low) / 19).items():
        axes.plot([dots[method][0], x], [dots[method][1], y], color=FAINT, linewidth=0.5, clip_on=False)
        axes.text(x, y, f" {method} {dots[method][1]:.1f}", fontsize=8, va="center", **_style(method))
    axes.set(xlim=(None, x / 1.1), ylim=(low, high))


def spread(heights: Mapping[str, float], least: float) -> dict[str, float]:
    """Heights at which words do not touch, near those of their dots."""
    names = sorted(heights, key=lambda name: heights[name])
    found = np.array([heights[name] for name in names])
    for place in range(1, len(found)):
        found[place] = max(found[place], found[place - 1] + least)
    found -= np.mean(found - [heights[name] for name in names])
    return dict(zip(names, map(float, found), strict=True))
