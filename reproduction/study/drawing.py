"""The dot plot of mean ranks."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from nsse.palette import class_colors
from reproduction.paper.figures import FAINT, INK, MUTED
from reproduction.study.methods import OURS

ACCENT, BAND = class_colors(10)[0], "#eef1f5"


def rank_figure(frame: pd.DataFrame) -> Figure:
    """Draw mean ranks, one panel for each value of `panel`, with the methods in the order of the frame.

    A band begins at the best mean rank and is as wide as the critical difference. Methods outside of
    it differ significantly from the best one.
    """
    methods, panels = (list(dict.fromkeys(frame[name])) for name in ("method", "panel"))
    layout = ConstrainedLayoutEngine(wspace=0.05)
    figure = Figure((8.8, 0.25 * len(methods) + 1.3), facecolor="white", layout=layout)
    axes_of = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, panel in zip(axes_of, panels, strict=True):
        _panel(axes, frame[frame["panel"] == panel])
    axes_of[0].set_yticks(range(len(methods)), methods)
    for method, tick in zip(methods, axes_of[0].get_yticklabels(), strict=True):
        tick.set_color(ACCENT if method in OURS else INK)
        tick.set_weight("bold" if method in OURS else "normal")
    return figure


def _panel(axes: Any, own: pd.DataFrame) -> None:
    """Draw one line for each method, and the band of the critical difference."""
    best, difference = own["rank"].min(), own["critical difference"].iloc[0]
    axes.axvspan(best, best + difference, color=BAND, linewidth=0, gid="difference")
    place = best + difference / 2, len(own) - 0.35
    axes.annotate("critical difference", place, ha="center", va="center", fontsize=8, color=MUTED)
    for y, (method, rank) in enumerate(zip(own["method"], own["rank"], strict=True)):
        is_ours = method in OURS
        style: dict[str, Any] = {"color": ACCENT if is_ours else MUTED}
        axes.plot([best, rank], [y, y], color=FAINT, linewidth=0.8, zorder=1)
        axes.plot(rank, y, "o", markersize=8 if is_ours else 6, gid=method, **style)
        style |= {"weight": "bold" if is_ours else "normal", "fontsize": 8.5, "va": "center"}
        axes.annotate(f"{rank:.1f}", (rank, y), (8, 0), textcoords="offset points", **style)
    axes.set(ylim=(len(own), -0.8))
    title = f"{own['panel'].iloc[0]}, {own['data sets'].iloc[0]} data sets"
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold", color=INK)
    axes.set_xlabel("mean rank (lower is better)", fontsize=9, color=MUTED)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=MUTED, labelsize=9.5, length=0)
    axes.margins(x=0.09)


def save(figure: Figure, path: Path, n_colors: int = 64) -> None:
    """Save a figure as a PNG of few colors, which is a third of the size of a plain one."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(buffer) as image:
        image.convert("RGB").quantize(n_colors, dither=Image.Dither.NONE).save(path, optimize=True)
