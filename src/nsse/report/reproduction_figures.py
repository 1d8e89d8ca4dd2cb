"""Figures of a reproduction, drawn from frames (columns by name): convergence, dimension, embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsse.report.page import new_figure
from nsse.report.palette import FAINT, INK, MUTED_INK, class_colors

Frame = dict[str, list[Any]]

_STYLES = (("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."))


def convergence_figure(frame: Frame) -> Any:
    """Three panels per start: objective above its floor, test error, kernel scale; by step."""
    starts = list(dict.fromkeys(frame["start"]))
    figure = new_figure(10.5, 2.9 * len(starts))
    panels = (
        ("excess", "objective above its floor"),
        ("error", "test error, %"),
        ("sigma", "kernel scale σ"),
    )
    for row, start in enumerate(starts):
        chosen = [i for i, name in enumerate(frame["start"]) if name == start]
        for column, (name, label) in enumerate(panels):
            axes = figure.add_subplot(len(starts), 3, 3 * row + column + 1)
            _plain(axes)
            values = [frame[name][i] for i in chosen]
            color = class_colors(3)[0]
            axes.plot([frame["step"][i] for i in chosen], values, "o-", color=color, markersize=4)
            if name == "excess":
                axes.set_yscale("log")
            axes.set(xlabel="step: embedding and scale by turns")
            axes.set_title(label, loc="left", color=INK)
            if column == 0:
                axes.set_ylabel(f"σ begins {start}", color=INK)
            _whole_ticks(axes)
    figure.tight_layout()
    return figure


def dimension_figure(frame: Frame, groups: Sequence[Sequence[str]]) -> Any:
    """One panel per group of methods: mean test error against d."""
    figure = new_figure(10.5, 3.6)
    for place, group in enumerate(groups):
        axes = figure.add_subplot(1, len(groups), place + 1)
        _plain(axes)
        for number, method in enumerate(group):
            chosen = [i for i, name in enumerate(frame["method"]) if name == method]
            if not chosen:
                continue
            marker, line = _STYLES[number % len(_STYLES)]
            ds = [frame["d"][i] for i in chosen]
            errors = [frame["error"][i] for i in chosen]
            color = class_colors(4)[number]
            axes.plot(ds, errors, marker + line, color=color, markersize=4.5, label=method)
            best = int(np.argmin(errors))
            axes.plot(ds[best], errors[best], marker, color=color, markersize=9, markeredgecolor=INK)
        axes.set(xlabel="dimension d", ylabel="test error, %")
        axes.set_title(", ".join(group), loc="left", color=INK)
        axes.set_ylim(bottom=0)
        if axes.lines:
            axes.legend(frameon=False)
        _whole_ticks(axes)
    figure.tight_layout()
    return figure


def embeddings_figure(frame: Frame) -> Any:
    """Methods across; training samples above, test samples below; numbers name the classes."""
    methods = list(dict.fromkeys(frame["method"]))
    labels = sorted(set(frame["label"]))
    colors = dict(zip(labels, class_colors(len(labels)), strict=True))
    figure = new_figure(5.2 * len(methods), 10.0)
    for row, part in enumerate(("train", "test")):
        for column, method in enumerate(methods):
            axes = figure.add_subplot(2, len(methods), row * len(methods) + column + 1)
            _plain(axes)
            axes.set(xticks=[], yticks=[])
            shown = [
                i
                for i in range(len(frame["set"]))
                if frame["set"][i] == part and frame["method"][i] == method
            ]
            points = np.array([[frame["y1"][i], frame["y2"][i]] for i in shown])
            of = np.array([frame["label"][i] for i in shown])
            for label in labels:
                own = points[of == label]
                axes.scatter(own[:, 0], own[:, 1], s=18, color=colors[label], alpha=0.8, linewidth=0)
                axes.annotate(str(label), np.median(own, axis=0), color=INK, fontsize=9, weight="bold")
            wrong = f", {frame['error'][shown[0]]:.1f} % wrong" if part == "test" else ""
            title = f"{method}, {'training' if part == 'train' else 'test'} samples{wrong}"
            axes.set_title(title, loc="left", color=INK)
    figure.tight_layout()
    return figure


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=MUTED_INK, labelsize=9)
    axes.xaxis.label.set_color(MUTED_INK)
    axes.yaxis.label.set_color(MUTED_INK)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _whole_ticks(axes: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
