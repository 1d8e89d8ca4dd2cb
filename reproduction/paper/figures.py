"""The figures: each has a function that computes a frame, and one that draws it.

- `errors_figure`: NSSE, our estimators and the best other method of the paper;
- `convergence`: Algorithm 1 from a kernel scale that is too high and one that is too low;
- `error_against_dimension`: read from the rows of the tables;
- `plane_embeddings`: NSSE and SUPLAP in two dimensions, training and test samples.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from threadpoolctl import threadpool_limits

from nsse import NSSE
from nsse.datasets import per_class_split
from nsse.methods import SUPLAP
from nsse.palette import class_colors
from nsse.published.alternating import alternate
from nsse.published.scale import Found
from nsse.published.trace import Recorder, Stopped
from reproduction.paper.candidates import WHOLE
from reproduction.paper.grid_row import best, validated
from reproduction.paper.grids import FIXED
from reproduction.paper.printed import DIMENSION_FIGURES
from reproduction.paper.settings import IMAGE_SIZE, N_CLASSES, TITLES, Profile
from reproduction.paper.tables import grouped, paper_errors
from reproduction.paper.work import samples
from reproduction.rows import Row

Frame = list[dict[str, Any]]

# Which data set a figure shows: the first of these that is there.
CONVERGENCE_SETS = ("fei", "orl", "coil20", "digits")
PLANE_SETS = ("csie", "coil20", "digits")
CONVERGENCE_SAMPLES, CONVERGENCE_DIMENSION = 100, 10
STARTS = {"too high": 8.0, "too low": 0.12}  # σ, in units of the median distance
PLANE_CLASSES, PLANE_TRAIN = 10, 7
DIMENSION_GROUPS = (("NSSE", "SUPLAP", "LDA"), ("LFDA", "LDE"))
INK, MUTED, FAINT = "#22262b", "#6b737d", "#d5d9de"
STYLES = ("o-", "s--", "^:", "D-.")


def convergence(dataset: str) -> Frame:
    """Return a line for each start and step of Algorithm 1: objective, excess, σ and test error.

    As in the paper, 100 training samples in all and d = 10. An iteration has two steps, embedding and
    scale. The test error of a step belongs to a fit that a callback stops at this step.
    """
    data = samples(dataset, "unit", IMAGE_SIZE)
    train, test = per_class_split(data.y, max(2, CONVERGENCE_SAMPLES // N_CLASSES[dataset]), 0)
    frame: Frame = []
    with threadpool_limits(1):
        for start, sigma in STARTS.items():
            model = StartedNSSE(CONVERGENCE_DIMENSION, solver="alternating")
            model.start = sigma
            steps: list[Any] = []
            model.set_params(callback=steps.append).fit(data.X[train], data.y[train])
            for number, step in enumerate(steps, start=1):
                model.set_params(callback=partial(_is_at, step)).fit(data.X[train], data.y[train])
                error = 100.0 * (1.0 - model.score(data.X[test], data.y[test]))
                line = {"start": start, "step": number, "iteration": step.iteration + 1}
                line |= {name: getattr(step, name) for name in ("stage", "objective", "excess", "sigma")}
                frame.append(line | {"error": error})
    return frame


class StartedNSSE(NSSE):
    """Algorithm 1 that starts at a given kernel scale, in units of length."""

    start: float

    def _searched(self, recorder: Recorder) -> Found:
        try:
            return alternate(recorder, self.sigma_range, self.tol, self.max_iter, self.start)
        except Stopped as stop:
            return Found(stop.best, converged=True, at_bound=False)


def _is_at(last: Any, step: Any) -> bool:
    """Stop a search at a step (a callback)."""
    return bool((step.iteration, step.stage) == (last.iteration, last.stage))


def error_against_dimension(rows: Iterable[Row], profile: Profile, dataset: str) -> Frame:
    """Return a line for each method and d: the lowest mean test error over parameters, in percent."""
    n_train = DIMENSION_FIGURES.get(dataset, max(profile.sizes[dataset]))
    shown = [r for r in rows if (r.task.dataset, r.task.n_train) == (dataset, n_train)]
    shown = [row for row in shown if row.task.method in sum(DIMENSION_GROUPS, ())]
    frame: Frame = []
    for (*_, method), group in grouped(shown, profile).items():
        least: dict[int, float] = {}
        for candidate, errors in paper_errors(group).items():
            # LDA has one dimension less than there are classes.
            d = N_CLASSES[dataset] - 1 if (candidate.d, method) == (WHOLE, "LDA") else candidate.d
            if isinstance(d, int):
                least[d] = min(least.get(d, np.inf), float(np.mean(errors)))
        what = {"dataset": dataset, "n_train": n_train, "method": method}
        for d, error in sorted(least.items()):
            frame.append(what | {"d": d, "error": error, "repeats": len(group)})
    return frame


def plane_embeddings(profile: Profile, dataset: str) -> Frame:
    """Return a line for each method and sample: set, label, two coordinates, and the test error.

    There are ten classes with seven training samples each. All parameters are chosen by cross-validation
    at d = 2.
    """
    data = samples(dataset, "unit", IMAGE_SIZE)
    kept = np.isin(data.y, np.unique(data.y)[:PLANE_CLASSES])
    X, y = data.X[kept], data.y[kept]
    train, test = per_class_split(y, PLANE_TRAIN, 0)
    frame: Frame = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # degenerate embeddings are part of a grid
        for method, estimator in (("NSSE", NSSE), ("SUPLAP", SUPLAP)):
            recipe = replace(profile.recipe(dataset, method, PLANE_TRAIN), shares=(0.0,), multiples=())
            scored = validated(method, recipe, {"unit": X[train]}, y[train], 0, Counter())
            in_plane = {tried: one for tried, one in scored.items() if tried.d == 2}
            point = FIXED.get(method, {}) | dict(best(method, in_plane).parameters)
            model = estimator(n_components=2, **point).fit(X[train], y[train])
            error = 100.0 * (1.0 - model.score(X[test], y[test]))
            for part, indices in (("train", train), ("test", test)):
                for label, (y1, y2) in zip(y[indices], model.transform(X[indices]), strict=True):
                    line = {"method": method, "set": part, "label": int(label)}
                    frame.append(line | {"y1": float(y1), "y2": float(y2), "error": error})
    return frame


def convergence_figure(frame: Frame) -> Figure:
    """Draw the objective above its floor, the test error and the kernel scale by step."""
    starts = list(dict.fromkeys(line["start"] for line in frame))
    figure = Figure(figsize=(10.5, 2.9 * len(starts)), facecolor="white")
    panels = {"excess": "objective above its floor", "error": "test error, %", "sigma": "kernel scale σ"}
    for row, start in enumerate(starts):
        own = [line for line in frame if line["start"] == start]
        for column, (name, label) in enumerate(panels.items()):
            axes = _panel(figure, (len(starts), 3, 3 * row + column + 1), label)
            steps, values = ([line[of] for line in own] for of in ("step", name))
            axes.plot(steps, values, "o-", color=class_colors(3)[0], markersize=4)
            if name == "excess":
                axes.set_yscale("log")
                axes.set_ylabel(f"σ begins {start}", color=INK)
            axes.set(xlabel="step: embedding and scale by turns")
    figure.tight_layout()
    return figure


def dimension_figure(frame: Frame) -> Figure:
    """Draw the mean test error by d, with one panel for each group of methods."""
    figure = Figure(figsize=(10.5, 3.6), facecolor="white")
    for place, group in enumerate(DIMENSION_GROUPS):
        axes = _panel(figure, (1, len(DIMENSION_GROUPS), place + 1), ", ".join(group))
        there = {m: [line for line in frame if line["method"] == m] for m in group}
        for number, (method, own) in enumerate((m, own) for m, own in there.items() if own):
            color, style = class_colors(4)[number], STYLES[number]
            ds, errors = ([line[of] for line in own] for of in ("d", "error"))
            axes.plot(ds, errors, style, color=color, markersize=4.5, label=method)
            least = int(np.argmin(errors))
            axes.plot(ds[least], errors[least], style[0], color=color, markersize=9, markeredgecolor=INK)
        axes.set(xlabel="dimension d", ylabel="test error, %")
        axes.set_ylim(bottom=0)
        if axes.lines:
            axes.legend(frameon=False)
    figure.tight_layout()
    return figure


def embeddings_figure(frame: Frame) -> Figure:
    """Draw the methods side by side, with training samples above and test samples below."""
    methods = list(dict.fromkeys(line["method"] for line in frame))
    labels = sorted({line["label"] for line in frame})
    figure = Figure(figsize=(5.2 * len(methods), 10.0), facecolor="white")
    for place, (part, method) in enumerate((p, m) for p in ("train", "test") for m in methods):
        shown = [line for line in frame if (line["set"], line["method"]) == (part, method)]
        wrong = f", {shown[0]['error']:.1f} % wrong" if part == "test" else ""
        title = f"{method}, {'training' if part == 'train' else 'test'} samples{wrong}"
        axes = _panel(figure, (2, len(methods), place + 1), title)
        axes.set(xticks=[], yticks=[])
        for label, color in zip(labels, class_colors(len(labels)), strict=True):
            own = np.array([(line["y1"], line["y2"]) for line in shown if line["label"] == label])
            axes.scatter(own[:, 0], own[:, 1], s=18, color=color, alpha=0.8, linewidth=0)
            axes.annotate(str(label), np.median(own, axis=0), color=INK, fontsize=9, weight="bold")
    figure.tight_layout()
    return figure


def errors_figure(frame: Frame) -> Figure:
    """Draw errors by training samples per class, one panel for each data set."""
    datasets = list(dict.fromkeys(line["dataset"] for line in frame))
    figure = Figure((3.5 * len(datasets) + 0.4, 3.9), facecolor="white", layout="constrained")
    colors = class_colors(10)
    styles: dict[str, dict[str, Any]] = {
        "NSSE, printed": {"color": MUTED, "linestyle": "--", "marker": "o", "markersize": 4},
        "NSSE": {"color": INK, "marker": "o", "markersize": 4},
        "best other method of the paper": {"color": colors[3], "marker": "s", "markersize": 4},
        "SmoothEmbeddingCV": {"color": colors[0], "marker": "o", "linewidth": 2.2},
        "SmoothEmbeddingCV, augmented": {"color": colors[2], "marker": "D", "markersize": 4},
    }
    for number, dataset in enumerate(datasets, start=1):
        axes = figure.add_subplot(1, len(datasets), number)
        framed(axes)
        axes.set_title(TITLES[dataset], loc="left", color=INK, weight="bold", fontsize=10.5)
        for name, style in styles.items():
            own = [line for line in frame if (line["dataset"], line["method"]) == (dataset, name)]
            axes.plot(
                [line["n_train"] for line in own], [line["error"] for line in own], **style, label=name
            )
        sizes = sorted({line["n_train"] for line in frame if line["dataset"] == dataset})
        axes.set(yscale="log", xlabel="training samples per class", xticks=sizes)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        axes.yaxis.set_minor_formatter(NullFormatter())
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def framed(axes: Any) -> None:
    """Style axes: two faint spines, horizontal lines, gray numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=MUTED)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)


def _panel(figure: Figure, place: tuple[int, int, int], title: str) -> Any:
    axes = figure.add_subplot(*place)
    framed(axes)
    axes.set_title(title, loc="left", color=INK)
    axes.tick_params(labelsize=9)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return axes
