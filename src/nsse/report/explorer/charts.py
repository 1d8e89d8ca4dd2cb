"""Describe the panels below the map as data: sentences and charts, in their order.

A panel is a list of parts. A part is a sentence, a chart, or a list of charts that are side by side. A
chart has a title, ranges and names of its axes, and bars, lines and dots of a kind. A dot also has a
name and a label. Marks are words above the horizontal axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsse.certificates.reliability import Bin
from nsse.certificates.selective import risk_coverage_curve
from nsse.datasets import Preparation
from nsse.report.explorer import facts
from nsse.report.explorer.models import Findings

BINS = 30
# Points of a curve in the page. The eye cannot distinguish more.
CURVE_POINTS = 400
# Height of the counts below the calibration curve, as a share of the range of probabilities.
ROOM_FOR_COUNTS = 0.18


def panels(findings: Findings, preparation: Preparation) -> dict[str, list[Any]]:
    """Return the parts of every panel by its name. A panel without parts is not shown."""
    return {
        "probabilities": _probabilities(findings),
        "radii": _radii(findings, preparation),
        "trace": _trace(findings),
    }


def _probabilities(findings: Findings) -> list[Any]:
    """Return the calibration of the probabilities, and where prediction sets come from."""
    curve = findings.calibration.curve
    if not curve and findings.sets is None:
        return []
    parts: list[Any] = [facts.probability_sentence(findings), facts.set_sentence(findings)]
    if curve:
        parts.insert(1, _calibration(curve))
    return parts


def _calibration(curve: tuple[Bin, ...]) -> dict[str, Any]:
    dots = [["dot", 100.0 * each.mean, 100.0 * each.right, _bin_words(each), ""] for each in curve]
    marks = [[100.0 * each.mean, str(each.n)] for each in curve]
    errors = [[100.0 * end for end in each.interval] for each in curve]
    lowest = min(90.0, *(100.0 * each.mean for each in curve), *(below for below, _ in errors))
    axis = [float(np.floor(lowest / 10.0) * 10.0), 100.0]
    labels = ["mean probability of the label (%)", "correct labels (%)"]
    lines: list[Any] = [["reference", axis, axis]]
    lines += [["error", [mark[0]] * 2, ends] for mark, ends in zip(marks, errors, strict=True)]
    heights = [axis[0] - ROOM_FOR_COUNTS * (100.0 - axis[0]), 100.0]
    return _chart("Calibration", axis, heights, labels, lines=lines, dots=dots, marks=marks)


def _bin_words(each: Bin) -> str:
    between = f"{_percent(each.low)} to {_percent(each.high)}"
    return f"{each.n} labels of {between}: mean {_percent(each.mean)}, correct {_percent(each.right)}"


def _radii(findings: Findings, preparation: Preparation) -> list[Any]:
    """Return the histogram of radii, and the error of the predictions with the largest ones."""
    if omitted := facts.without_radii(preparation):
        return [omitted]
    if findings.radius is None or not len(findings.radius):
        return [f"There are no certified radii. {findings.unproved}"]
    unit = facts.radius_unit(findings, preparation)
    intro = (
        "No change of a sample that is smaller than its certified radius changes the predicted "
        f"label. The radius is measured in {unit}. It does not show whether the label is correct. "
        f"{facts.radius_sentence(findings)}"
    )
    finite = np.isfinite(findings.radius)
    if not finite.any():
        return [intro, "All radii are infinite, so no change of a sample changes its label."]
    charts = [_histogram(findings, findings.radius[finite], findings.wrong[finite])]
    parts, infinite = [intro, charts], int(np.sum(~finite))
    if infinite:
        parts.append(f"{infinite} more samples have an infinite radius.")
    if findings.has_labels:
        curve = risk_coverage_curve(findings.radius, findings.wrong)
        kept = np.unique(np.linspace(0, len(curve.risk) - 1, CURVE_POINTS).astype(int))
        charts.append(_risk(100.0 * curve.coverage[kept], 100.0 * curve.risk[kept], curve))
        parts.append(
            f"{_percent(curve.error)} of all test samples are mislabeled, and "
            f"{_percent(1.0 - curve.accuracy_at(0.8))} of the 80 % with the largest radii."
        )
    return parts


def _histogram(findings: Findings, radius: Any, wrong: Any) -> dict[str, Any]:
    high = max(float(radius.max()), 1e-12)
    counts, edges = np.histogram(radius, BINS, (0.0, high))
    mistaken, _ = np.histogram(radius[wrong], edges)
    places = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    bars = [["bar", *place, n] for place, n in zip(places, counts.tolist(), strict=True)]
    bars += [["bar-wrong", *place, n] for place, n in zip(places, mistaken.tolist(), strict=True)]
    key = [["", "correct label"], ["is-wrong", "wrong label"]] if findings.has_labels else [["", "all"]]
    labels, title = ["certified radius", "samples"], "Certified radii of the test samples"
    y = [0.0, float(counts.max())]
    return _chart(title, [0.0, high], y, labels, bars=bars, key=key, whole=True)


def _risk(coverage: Any, risk: Any, curve: Any) -> dict[str, Any]:
    every, at_80 = 100.0 * curve.error, 100.0 * (1.0 - curve.accuracy_at(0.8))
    top = max(1.25 * max([*risk[coverage >= 5.0].tolist(), every]), 1.0)
    inside = risk <= top
    lines = [["reference", [0.0, 100.0], [every, every]]]
    lines.append(["line", coverage[inside].tolist(), risk[inside].tolist()])
    dots = [["dot", 80.0, at_80, f"{at_80:.1f} % of the accepted are mislabeled", f"{at_80:.1f} %"]]
    labels = ["samples accepted, largest radii first (%)", "mislabeled (%)"]
    title = "Errors if uncertain predictions are rejected"
    return _chart(title, [0.0, 100.0], [0.0, top], labels, lines=lines, dots=dots)


def _trace(findings: Findings) -> list[Any]:
    """Return the objective for the scales that a fit evaluated."""
    trace = findings.trace
    # A single scale needs no curve. The title of the page states it.
    if not trace or len(trace["sigma"]) < 2:
        return []
    order = np.argsort(trace["sigma"], kind="stable")
    sigma, excess = (np.asarray(trace[name], dtype=np.float64)[order] for name in ("sigma", "excess"))
    best, is_log = int(excess.argmin()), bool(excess.min() > 0)
    dots = []
    for k, step in enumerate(order.tolist()):
        name = f"step {step + 1}, {trace['stage'][step]}: σ {sigma[k]:.4g}, objective {excess[k]:.4g}"
        kind = "dot chosen" if k == best else "dot"
        dots.append([kind, float(sigma[k]), float(excess[k]), name, ""])
    intro = (
        f"The objective, without its constant part, at the {len(order)} scales σ that the fit "
        f"evaluated. The marked one, σ = {sigma[best]:.4g}, has the smallest value."
    )
    y = _stretched(excess) if is_log else [float(excess.min()), float(excess.max())]
    lines = [["line", sigma.tolist(), excess.tolist()]]
    title, labels = "Objective by kernel scale", ["kernel scale σ", "objective"]
    log = [True, is_log]
    return [intro, _chart(title, _stretched(sigma), y, labels, lines=lines, dots=dots, log=log)]


def _chart(
    title: str, x: list[float], y: list[float], labels: list[str], **parts: Any
) -> dict[str, Any]:
    return {"title": title, "x": x, "y": y, "labels": labels, **parts}


def _stretched(values: Any) -> list[float]:
    return [float(values.min()) / 1.1, float(values.max()) * 1.1]


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"
