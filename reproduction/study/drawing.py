"""The figure of a study of many sets: mean ranks, and what no critical difference parts."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from nsse.palette import class_colors
from reproduction.paper.figures import INK, MUTED, framed
from reproduction.study.methods import OURS
from reproduction.study.ranks import alike
from reproduction.study.reading import Reading

HUES = class_colors(10)
# Our methods, and what stands out among the others; the rest is grey.
NAMED = (*OURS, "SVC", "random forest", "logistic regression")
COLORS = dict(zip(NAMED, (HUES[2], HUES[6], HUES[0], HUES[4], HUES[5]), strict=True))


def rank_figure(readings: Mapping[str, Reading]) -> Figure:
    """Mean ranks, a line for each method; above, bars join what no critical difference parts."""
    height = 0.19 * max(len(reading.methods) for reading in readings.values()) + 1.9
    figure = Figure((4.6 * len(readings), height), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(readings), squeeze=False)[0]
    for axes, (name, reading) in zip(panels, readings.items(), strict=True):
        ordered, difference = reading.by_rank, reading.critical_difference
        for y, method in enumerate(ordered):
            axes.plot([reading.ranks[method]], [y], "o", color=COLORS.get(method, MUTED), gid=method)
        for number, stretch in enumerate(alike(list(reading.ranks.values()), difference)):
            axes.plot(stretch, [-1 - 0.6 * number] * 2, color=INK, linewidth=2.6, gid="alike")
        axes.plot([1, 1 + difference], [-4.9, -4.9], color=MUTED, linewidth=1.4, gid="difference")
        axes.text(1.2 + difference, -4.7, f"critical: {difference:.2f}", fontsize=7.5, color=MUTED)
        names = [f"{method} {reading.ranks[method]:.2f}" for method in ordered]
        axes.set_yticks(range(len(ordered)), names, fontsize=8)
        axes.set(xlim=(1, len(ordered)), ylim=(len(ordered) - 0.5, -5.6))
        framed(axes)
        axes.set_title(f"{name}, {len(reading.names)} sets", loc="left", weight="bold", color=INK)
        axes.tick_params(labelsize=8.5, length=0)
        for tick, method in zip(axes.get_yticklabels(), ordered, strict=True):
            tick.set_color(COLORS.get(method, MUTED))
            tick.set_weight("bold" if method in OURS else "normal")
    return figure


def save(figure: Figure, path: Path, n_colors: int = 64) -> None:
    """Save a figure as a PNG of few colors, a third of the size of a plain one."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(buffer) as picture:
        picture.convert("RGB").quantize(n_colors, dither=Image.Dither.NONE).save(path, optimize=True)
