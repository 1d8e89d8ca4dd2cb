"""Charts of certificates: radii, rejection of uncertain predictions, generalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsse._support.frames import Columns
from nsse._support.types import LabelsLike, SamplesLike
from nsse.certificates import GeneralizationReport, RiskCoverage, certified_radius
from nsse.certificates import risk_coverage as curve_of
from nsse.figures import (
    Plot,
    chart_axes,
    name_axes,
    new_figure,
    note,
    place_axes,
    quiet_axes,
    scale_axes,
    write_title,
)
from nsse.palette import BLUE, FAINT, INK, MUTED_INK, ORANGE, PAPER, RED
from nsse.plot.samples import labeled

_BINS = 30  # of the histogram of radii


def radii(model: Any, X: SamplesLike, y: LabelsLike = None, *, ax: Any = None) -> Plot:
    """Draw a histogram of certified radii.

    Parameters
    ----------
    model : estimator
        A fitted model with certificates, alone or behind affine steps of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples that the model was not fitted to.
    y : array-like of shape (n_samples,), default=None
        Their labels, to show misclassified samples in another color.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The number of infinite radii is written below the axis. The frame has ``radius``, in the units of
        X, ``predicted`` and, with labels, ``wrong`` for every sample.

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
    >>> len(nsse.plot.radii(model, X[1::3], y[1::3]).frame)
    50
    """
    radius, predicted = certified_radius(model, X), np.asarray(model.predict(X))
    wrong = np.zeros(len(radius), dtype=bool) if y is None else predicted != np.asarray(y)
    axes = chart_axes(ax, "Certified radii")
    finite = np.isfinite(radius)
    axes.hist(
        [radius[finite & wrong], radius[finite & ~wrong]], bins=_BINS, stacked=True, color=[RED, BLUE]
    )
    infinite = int((~finite).sum())
    words = "certified radius" + ("" if y is None else " (red: misclassified)")
    scale_axes(axes, words + (f"; {infinite} infinite" if infinite else ""), "samples")
    frame: Columns = {"radius": radius.tolist(), "predicted": predicted.tolist()}
    return Plot(axes.figure, frame if y is None else frame | {"wrong": wrong.tolist()}, ax is None)


def risk_coverage(
    model: Any,
    X: SamplesLike,
    y: LabelsLike,
    *,
    by: str = "radius",
    coverage: float = 0.8,
    ax: Any = None,
) -> Plot:
    """Draw the error of the predictions that remain if uncertain ones are rejected.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, alone or at the end of a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples that the model was not fitted to, and their labels.
    by : {"radius", "probability"}, default="radius"
        Whether predictions with the largest certified radii or with the largest probabilities are
        accepted.
    coverage : float, default=0.8
        The share of accepted predictions at which the error is written.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        The frame has ``threshold``, ``coverage`` and ``risk``.

    See Also
    --------
    nsse.certificates.risk_coverage : Computes the curve.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.risk_coverage(model, X[1::3], y[1::3])
    >>> len(drawn.frame) > 0
    True
    """
    labeled(model, X, y)
    curve = curve_of(model, X, y, by=by)
    kind = "largest radii" if by == "radius" else "largest probabilities"
    axes = chart_axes(ax, "Errors by coverage")
    _draw_curve(axes, curve, coverage, kind)
    return Plot(axes.figure, dict(curve.to_dict()), ax is None)


def generalization(report: GeneralizationReport) -> Plot:
    """Draw a `GeneralizationReport`: separations, shuffled labels, and errors by certified radius.

    Parameters
    ----------
    report : GeneralizationReport
        The result of `nsse.certificates.generalization_report`.

    Returns
    -------
    Plot
        The frame has ``set`` ("training" or "unseen") and ``separation`` for every sample.

    See Also
    --------
    nsse.certificates.generalization_report : Computes the numbers.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse.certificates import generalization_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
    >>> report = generalization_report(model, X[::3], y[::3], X[1::3], y[1::3], n_permutations=3)
    >>> len(nsse.plot.generalization(report).frame)
    100
    """
    train, unseen = report.train_separation, report.test_separation
    figure = new_figure(14.3, 4.85)
    title = f"Separation {train.mean():.2f} in training, {unseen.mean():.2f} on unseen samples"
    write_title(figure, 0.75, title)
    panels = {
        "Separation of samples": _draw_separations,
        "Separation with shuffled labels": _draw_permutations,
        "Error by certified radius": _draw_errors_by_radius,
    }
    for k, (name, draw) in enumerate(panels.items()):
        axes = place_axes(figure, 0.75 + 4.55 * k, 0.95, 3.7, 2.7)
        quiet_axes(axes)
        name_axes(axes, name)
        draw(axes, report)
    columns = {"set": ["training"] * len(train) + ["unseen"] * len(unseen)}
    return Plot(figure, columns | {"separation": [*train.tolist(), *unseen.tolist()]})


def _draw_curve(axes: Any, curve: RiskCoverage, coverage: float, kind: str) -> None:
    """Draw the risk by coverage, with its values at one coverage and for all predictions."""
    percent, error = 100 * curve.coverage, 100 * curve.risk
    _draw_error_of_all(axes, error[-1], 2, "left")
    axes.fill_between(percent, error, color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(percent, error, color=BLUE, linewidth=2, solid_capstyle="round", gid="risk")
    at = 100 * (1 - curve.accuracy_at(coverage))
    axes.plot([100 * coverage], [at], "o", color=BLUE, markersize=7, markeredgecolor=PAPER)
    highest = max(error[percent >= 5].max(initial=error[-1]), error[-1]) * 1.22 + 0.1
    axes.set(xlim=(0, 102), ylim=(0, highest))
    words = f"{at:.1f} % at {100 * coverage:.0f} %\ncoverage"
    note(axes, words, (100 * coverage, at), (-10, 12), BLUE, ha="right", weight="bold")
    scale_axes(axes, f"coverage: accepted predictions, {kind} first (%)", "wrong among accepted (%)")


def _draw_error_of_all(axes: Any, error: float, place: float, side: str) -> None:
    """Draw the error of all predictions as a dashed line, with its value above it."""
    axes.axhline(error, color=MUTED_INK, linewidth=1, linestyle=(0, (4, 3)), gid="all")
    note(axes, f"{error:.1f} % of all", (place, error), (0, 4), MUTED_INK, ha=side, fontsize=9)


def _draw_separations(axes: Any, report: GeneralizationReport) -> None:
    axes.axvline(0, color=INK, linewidth=0.8)
    for values, color, name, height in (
        (report.train_separation, MUTED_INK, "training", 10),
        (report.test_separation, BLUE, "unseen", 55),
    ):
        ordered = np.sort(values)
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(ordered, share, where="post", color=color, linewidth=2, gid=name)
        place = ordered[int(np.searchsorted(share, height))]
        note(axes, name, (place, height), (-7, 0), color, ha="right", va="center", weight="bold")
    nearer = 100 * np.mean(report.test_separation <= 0)
    words = f"{nearer:.1f} % of the unseen\nare nearer to\nanother class"
    note(axes, words, (0, nearer), (-8, 14), BLUE, ha="right", fontsize=9)
    axes.plot([0], [nearer], "o", color=BLUE, markersize=6, markeredgecolor=PAPER)
    axes.set(xlim=(-1.02, 1.02), ylim=(0, 102))
    scale_axes(axes, "separation", "samples with less (%)")


def _draw_permutations(axes: Any, report: GeneralizationReport) -> None:
    rows = (
        ("training", report.train_separation.mean(), report.permuted_train),
        ("unseen", report.test_separation.mean(), report.permuted_test),
    )
    count = len(report.permuted_test)
    scale_axes(axes, f"mean separation; p = {report.p_value:.3f} on unseen ({count} shuffles)", "")
    axes.grid(visible=False)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    for height, (name, true, shuffled) in enumerate(reversed(rows)):
        style = {"color": MUTED_INK, "markersize": 16, "alpha": 0.7, "gid": f"shuffled-{name}"}
        axes.plot(shuffled, np.full(len(shuffled), height), "|", **style)
        axes.plot([true], [height], "o", color=ORANGE, markersize=9, markeredgecolor=PAPER)
    for words, values, color in (
        ("shuffled labels", report.permuted_test, MUTED_INK),
        ("true labels", [report.test_separation.mean()], ORANGE),
    ):
        if len(values):
            style = {"ha": "center", "va": "baseline", "weight": "bold", "bbox": None}
            note(axes, words, (float(np.mean(values)), 0), (0, 14), color, **style)
    axes.set(xlim=(-1.05, 1.05), ylim=(-0.6, 1.6), yticks=[0, 1])
    axes.set_yticklabels([name for name, *_ in reversed(rows)], color=INK, fontsize=9.5)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])


def _draw_errors_by_radius(axes: Any, report: GeneralizationReport) -> None:
    bins, every = report.calibration, 100 * report.test_error
    places = np.arange(len(bins.error))
    axes.bar(places, 100 * bins.error, width=0.8, color=RED, gid="error")
    _draw_error_of_all(axes, every, places[-1] + 0.45, "right")
    axes.set_ylim(0, max(100 * bins.error.max() * 1.08, 1.0))
    scale_axes(axes, "median radius of equal bins", "wrong (%)")
    shown = places[:: max(1, len(places) // 5)]
    axes.set_xticks(shown, [f"{bins.median[k]:.2f}" for k in shown])
