"""Figures of what `nsse.certificates` returns: risk by coverage, and how well a model generalises.

Each is drawn from the arrays of a result; any object with the same attributes will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse.report.page import new_figure, place_axes, write, write_title
from nsse.report.palette import FAINT, INK, MUTED_INK, PAPER, class_colors

_BLUE, _ORANGE, _RED = class_colors(3)
_ON_PAPER = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}  # words that lie on grid lines
# Inches.
_MARGIN, _PANEL, _GAP, _CHART, _FLOOR, _TITLES = 0.75, 3.7, 0.85, 2.7, 0.95, 1.2


def risk_coverage_figure(
    curves: Mapping[str, Any], *, coverage: float = 0.8, title: str = "", caption: str = ""
) -> Any:
    """Draw the share of mistakes among accepted predictions, one panel per curve.

    Parameters
    ----------
    curves : mapping of str to RiskCoverage
        Curves by name.
    coverage : float, default=0.8
        Where to read the error off and write it beside that of all predictions.
    title, caption : str, default=""
        What is found, and from what.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot; write it with ``save_figure``.

    See Also
    --------
    nsse.certificates.risk_coverage : What is drawn.
    nsse.plot.risk_coverage : Both in one call.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import risk_coverage
    >>> from nsse.report import risk_coverage_figure
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> curve = risk_coverage(model, X[1::3], y[1::3])
    >>> type(risk_coverage_figure({"irises": curve})).__name__
    'Figure'
    """
    if not curves:
        raise rule_error("curves", "hold at least one curve", curves, "Pass {name: risk_coverage(...)}.")
    title = title or "Mistakes among the predictions with the largest radii"
    figure = _page(len(curves), title, caption)
    for place, (name, curve) in enumerate(curves.items()):
        draw_curve(_chart(figure, place, name), curve, coverage)
    return figure


def generalization_figure(report: Any, *, title: str = "", caption: str = "") -> Any:
    """Draw a `GeneralizationReport`: separations, shuffled labels, errors by radius.

    Parameters
    ----------
    report : GeneralizationReport
        What `nsse.certificates.generalization_report` returns.
    title, caption : str, default=""
        What is found, and from what.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot; write it with ``save_figure``.

    See Also
    --------
    nsse.certificates.generalization_report : What is drawn.
    nsse.plot : Drawings in one call.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.certificates import generalization_report
    >>> from nsse.report import generalization_figure
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> report = generalization_report(model, X[::3], y[::3], X[1::3], y[1::3], n_permutations=3)
    >>> type(generalization_figure(report, title="Irises")).__name__
    'Figure'
    """
    found = (
        f"Separation {report.train_separation.mean():.2f} in training,"
        f" {report.test_separation.mean():.2f} on unseen samples"
    )
    figure = _page(3, title or found, caption)
    _draw_separations(_chart(figure, 0, "Separation of samples"), report)
    _draw_permutations(_chart(figure, 1, "Separation of shuffled labels"), report)
    _draw_calibration(_chart(figure, 2, "Error by certified radius"), report)
    return figure


def _page(n_panels: int, title: str, caption: str) -> Any:
    width = 2 * _MARGIN + n_panels * _PANEL + (n_panels - 1) * _GAP
    figure = new_figure(width, _FLOOR + _CHART + _TITLES)
    write_title(figure, _MARGIN, title)
    write(figure, _MARGIN, 0.14, caption, fontsize=7.8, color=MUTED_INK, va="bottom")
    return figure


def _chart(figure: Any, place: int, name: str) -> Any:
    left = _MARGIN + place * (_PANEL + _GAP)
    return chart_axes(figure, left, _FLOOR, _PANEL, _CHART, name)


def chart_axes(figure: Any, left: float, bottom: float, width: float, height: float, name: str) -> Any:
    """Axes with two thin lines, small numbers and a name above."""
    axes = place_axes(figure, left, bottom, width, height)
    write(figure, left, bottom + height + 0.16, name, fontsize=10.5, weight="bold", color=INK)
    quiet_axes(axes)
    return axes


def quiet_axes(axes: Any) -> None:
    """Two thin lines and small numbers."""
    for side in ("left", "bottom"):
        axes.spines[side].set(visible=True, color=FAINT)
    axes.tick_params(colors=MUTED_INK, labelsize=8.5, length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def label_axes(axes: Any, x: str, y: str) -> None:
    """Name both axes, quietly."""
    axes.set_xlabel(x, fontsize=9, color=MUTED_INK)
    axes.set_ylabel(y, fontsize=9, color=MUTED_INK)


def _note(
    axes: Any, words: str, at: tuple[Any, Any], offset: tuple[int, int], color: str, **options: Any
) -> None:
    """Words beside a point, ``offset`` points away from it."""
    options = {"fontsize": 9.5, "va": "bottom", "bbox": _ON_PAPER} | options
    axes.annotate(words, at, offset, textcoords="offset points", color=color, **options)


def auto_ticks(axes: Any) -> None:
    """A few round numbers on both axes."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def draw_curve(axes: Any, curve: Any, coverage: float) -> None:
    """Draw the risk by coverage, and write its value at one coverage beside that of all."""
    percent, error = 100 * curve.coverage, 100 * curve.risk
    axes.axhline(error[-1], color=MUTED_INK, linewidth=1, linestyle=(0, (4, 3)), gid="all")
    axes.fill_between(percent, error, color=_BLUE, alpha=0.12, linewidth=0)
    axes.plot(percent, error, color=_BLUE, linewidth=2, solid_capstyle="round", gid="risk")
    at = 100 * (1 - curve.accuracy_at(coverage))
    axes.plot([100 * coverage], [at], "o", color=_BLUE, markersize=7, markeredgecolor=PAPER)
    highest = max(error[percent >= 5].max(initial=error[-1]), error[-1]) * 1.22 + 0.1
    axes.set(xlim=(0, 102), ylim=(0, highest))
    words = f"{at:.1f} % at {100 * coverage:.0f} %\ncoverage"
    _note(axes, words, (100 * coverage, at), (-10, 12), _BLUE, ha="right", weight="bold")
    _note(axes, f"{error[-1]:.1f} % of all", (2, error[-1]), (0, 4), MUTED_INK)
    auto_ticks(axes)
    label_axes(axes, "coverage: share accepted, largest radii first (%)", "wrong among accepted (%)")


def _draw_separations(axes: Any, report: Any) -> None:
    axes.axvline(0, color=INK, linewidth=0.8)
    for values, color, name, height in (
        (report.train_separation, MUTED_INK, "training", 10),
        (report.test_separation, _BLUE, "unseen", 55),
    ):
        ordered = np.sort(values)
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(ordered, share, where="post", color=color, linewidth=2, gid=name)
        place = ordered[int(np.searchsorted(share, height))]
        _note(axes, name, (place, height), (-7, 0), color, ha="right", va="center", weight="bold")
    nearer = 100 * np.mean(report.test_separation <= 0)
    words = f"{nearer:.1f} % of the unseen\nare nearer to\nanother class"
    _note(axes, words, (0, nearer), (-8, 14), _BLUE, ha="right", fontsize=9)
    axes.plot([0], [nearer], "o", color=_BLUE, markersize=6, markeredgecolor=PAPER)
    axes.set(xlim=(-1.02, 1.02), ylim=(0, 102))
    auto_ticks(axes)
    label_axes(axes, "separation", "samples with less (%)")


def _draw_permutations(axes: Any, report: Any) -> None:
    rows = (
        ("training", report.train_separation.mean(), report.permuted_train),
        ("unseen", report.test_separation.mean(), report.permuted_test),
    )
    axes.grid(visible=False)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    for height, (name, true, shuffled) in enumerate(reversed(rows)):
        style = {"color": MUTED_INK, "markersize": 16, "alpha": 0.7, "gid": f"shuffled-{name}"}
        axes.plot(shuffled, np.full(len(shuffled), height), "|", **style)
        axes.plot([true], [height], "o", color=_ORANGE, markersize=9, markeredgecolor=PAPER)
    for words, values, color in (
        ("shuffled labels", report.permuted_test, MUTED_INK),
        ("true labels", [report.test_separation.mean()], _ORANGE),
    ):
        if len(values):
            style = {"ha": "center", "va": "baseline", "weight": "bold", "bbox": None}
            _note(axes, words, (float(np.mean(values)), 0), (0, 14), color, **style)
    axes.set(xlim=(-1.05, 1.05), ylim=(-0.6, 1.6), yticks=[0, 1])
    axes.set_yticklabels([name for name, *_ in reversed(rows)], color=INK, fontsize=9.5)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    count = len(report.permuted_test)
    label_axes(axes, f"mean separation; p = {report.p_value:.3f} on unseen ({count} shuffles)", "")


def _draw_calibration(axes: Any, report: Any) -> None:
    bins = report.calibration
    places = np.arange(len(bins.error))
    axes.bar(places, 100 * bins.error, width=0.8, color=_RED, gid="error")
    axes.axhline(100 * report.test_error, color=MUTED_INK, linewidth=1, linestyle=(0, (4, 3)))
    corner = (places[-1] + 0.45, 100 * report.test_error)
    words = f"{100 * report.test_error:.1f} % of all"
    _note(axes, words, corner, (0, 4), MUTED_INK, ha="right", fontsize=9)
    axes.set_ylim(0, max(100 * bins.error.max() * 1.08, 1.0))
    auto_ticks(axes)
    shown = places[:: max(1, len(places) // 5)]
    axes.set_xticks(shown, [f"{bins.median[k]:.2f}" for k in shown])
    label_axes(axes, "median radius of equal bins", "wrong (%)")
