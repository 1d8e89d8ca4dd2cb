"""Charts of predictions: confusion matrix, calibration, and the trace of a fit of `NSSE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.frames import Columns
from nsse._support.types import Floats, LabelsLike, SamplesLike
from nsse.certificates.reliability import EDGES, Bin, log_loss, reliability_curve
from nsse.figures import (
    Plot,
    chart_axes,
    check_axes,
    label_axes,
    name_axes,
    new_figure,
    note,
    place_axes,
    scale_axes,
    strip_axes,
    write_title,
)
from nsse.palette import BLUE, INK, MUTED_INK, PAPER, RED
from nsse.pipelines import opened
from nsse.plot.names import POINTS_PER_INCH, size_in_inches
from nsse.plot.samples import are_unseen, counted, labeled, mistakes, name_of


def confusion(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw the confusion matrix of any classifier.

    Parameters
    ----------
    model : estimator
        Any fitted scikit-learn classifier or pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        Rows are labels and columns are predictions. The title states how many of the samples are
        training samples of a model of this library. The frame has ``label``, ``predicted`` and ``count``
        for every pair that occurs.

    See Also
    --------
    nsse.plot.class_map : Draws the samples.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.confusion(model, X[1::3], y[1::3])
    >>> int(sum(drawn.frame["count"]))
    50
    """
    labels, predicted = labeled(model, X, y)
    classes = np.unique(np.concatenate([np.asarray(opened(model)[1].classes_), labels]))
    counts = np.zeros((len(classes),) * 2, dtype=int)
    np.add.at(counts, (np.searchsorted(classes, labels), np.searchsorted(classes, predicted)), 1)
    wrong, n = int((labels != predicted).sum()), len(labels)
    known = n - int(are_unseen(model, X, n).sum())
    kind = "training sample" if known == n else "sample"
    of = counted(n, kind) + (f", {known} of them training samples" if 0 < known < n else "")
    title = mistakes(name_of(model), wrong, n, of)
    if ax is None:
        side = max(3.6, min(12.0, 1.2 + 0.42 * len(counts)))
        margin = 0.75 + min(3.0, 0.075 * max(len(str(name)) for name in classes))
        figure = new_figure(margin + side + 0.55, margin + side + 0.8)
        write_title(figure, 0.55, title)
        axes = place_axes(figure, margin, margin, side, side)
    else:
        check_axes(ax)
        axes = ax
        strip_axes(axes)
        name_axes(axes, title)
    _draw_matrix(axes, counts, [str(name) for name in classes])
    rows, columns = np.nonzero(counts)
    frame: Columns = {"label": classes[rows].tolist(), "predicted": classes[columns].tolist()}
    return Plot(axes.figure, frame | {"count": counts[rows, columns].tolist()}, ax is None)


def reliability(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw how often labels with a given probability are correct.

    Parameters
    ----------
    model : estimator
        Any fitted scikit-learn classifier or pipeline with ``predict_proba``.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels. Training samples of a model of this
        library are recognized and not counted.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has one row for each interval of the probability: its ends ``low`` and ``high``, the
        number ``n`` of samples, the ``mean`` probability, the share ``right`` of correct labels, and
        the ends ``right_low``, ``right_high`` of the 95 % interval (Wilson) of that share, which are
        the error bars.

    See Also
    --------
    nsse.plot.risk_coverage : Errors among accepted predictions.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.reliability(model, X[1::3], y[1::3])
    >>> int(sum(drawn.frame["n"]))
    50
    """
    labels, predicted = labeled(model, X, y)
    core = opened(model)[1]
    P = np.asarray(model.predict_proba(X))
    unseen = np.isin(labels, core.classes_) & are_unseen(model, X, len(labels))
    if not unseen.any():
        cure = "Pass labeled samples that are not training samples."
        raise rule_error(
            "X", "contain samples that the model was not fitted to", Described("none of them"), cure
        )
    codes = np.searchsorted(core.classes_, labels[unseen])
    columns = np.searchsorted(core.classes_, predicted[unseen])
    of_label = P[unseen][np.arange(len(codes)), columns]
    bins = reliability_curve(of_label, columns == codes, EDGES)
    frame: Columns = {name: [getattr(each, name) for each in bins] for name in Bin._fields}
    frame["right_low"] = [each.interval[0] for each in bins]
    frame["right_high"] = [each.interval[1] for each in bins]
    axes = chart_axes(ax, f"Calibration, log-loss {log_loss(P[unseen], codes):.3f}")
    _draw_reliability(axes, frame)
    return Plot(axes.figure, frame, ax is None)


def trace(model: Any, *, ax: Any = None) -> Plot:
    """Draw the objective of `NSSE` for the kernel scales that its fit evaluated.

    Parameters
    ----------
    model : estimator
        A fitted `NSSE`, alone or at the end of a pipeline.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        One dot for every step. The smallest objective is red. The frame is ``trace_.to_dict()``: σ, the
        terms of the objective and the seconds of every step.

    See Also
    --------
    nsse.NSSE : The method.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> drawn = nsse.plot.trace(nsse.NSSE().fit(X[::3], y[::3]))
    >>> len(drawn.frame) > 0
    True
    """
    found = getattr(opened(model)[1], "trace_", None)
    if found is None:
        raise TypeError(
            rule_message("model", "search for its kernel scale", name_of(model), "Pass an NSSE.")
        )
    frame: Columns = dict(found.to_dict())
    axes = chart_axes(ax, "Objective by kernel scale")
    _draw_trace(axes, np.array(frame["sigma"]), np.array(frame["excess"]))
    return Plot(axes.figure, frame, ax is None)


def _draw_matrix(axes: Any, counts: NDArray[Any], classes: Sequence[str]) -> None:
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(counts / totals, cmap="Blues", vmin=0, vmax=1.6)
    cell = POINTS_PER_INCH * size_in_inches(axes)[0] / len(classes)
    size = max(4.0, min(9.0, 0.55 * cell))
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for row, column in zip(*np.nonzero(counts), strict=True):
        color, weight = (INK, "normal") if row == column else (RED, "bold")
        axes.text(column, row, str(counts[row, column]), color=color, weight=weight, **middle)
    axes.set_xticks(range(len(classes)), classes, rotation=90, fontsize=size, parse_math=False)
    axes.set_yticks(range(len(classes)), classes, fontsize=size, parse_math=False)
    axes.tick_params(length=0, colors=MUTED_INK)
    label_axes(axes, "predicted label", "true label")


def _draw_reliability(axes: Any, frame: Mapping[str, Any]) -> None:
    mean, right, below, above = (
        100.0 * np.array(frame[name]) for name in ("mean", "right", "right_low", "right_high")
    )
    low = 10.0 * np.floor(min(mean.min(), below.min()) / 10.0)
    axes.plot([low, 100.0], [low, 100.0], "--", color=MUTED_INK, linewidth=0.8)
    bars = {"color": BLUE, "markersize": 4, "linewidth": 1.2, "capsize": 2}
    axes.errorbar(mean, right, yerr=[right - below, above - right], fmt="o", gid="reliability", **bars)
    for x, y, n in zip(mean, right, frame["n"], strict=True):
        note(axes, f"{n}", (x, y), (5, -3), MUTED_INK, fontsize=7.5, va="top")
    axes.set(xlim=(low, 103.0), ylim=(low, 103.0))
    scale_axes(axes, "mean probability of the label (%)", "correct labels (%), with counts")


def _draw_trace(axes: Any, sigma: Floats, excess: Floats) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    order = np.argsort(sigma, kind="stable")
    sigma, excess = sigma[order], excess[order]
    best = int(np.argmin(excess))
    axes.plot(sigma, excess, "o-", color=BLUE, markersize=3.5, linewidth=1.4, gid="excess")
    axes.plot(sigma[best], excess[best], "o", color=RED, markersize=6, markeredgecolor=PAPER)
    scale_axes(axes, "kernel scale σ (red: the smallest objective)", "objective, above its floor")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if excess.min() > 0:
        axes.set_yscale("log")
