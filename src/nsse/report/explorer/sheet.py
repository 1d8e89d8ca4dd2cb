"""Draw the report as one figure that can be printed, with the plots of `nsse.plot` on one page."""

from __future__ import annotations

from typing import Any

from nsse import plot
from nsse.figures import new_figure, place_axes, write, write_title
from nsse.palette import INK, MUTED_INK
from nsse.report.explorer.facts import finding, made_of, notes
from nsse.report.explorer.models import Findings, Samples


def report_figure(model: Any, samples: Samples, findings: Findings, title: str) -> Any:
    """Return a figure with the class map, the confusion matrix and up to four charts."""
    figure = new_figure(14.0, 11.6)
    write_title(figure, 0.55, title or f"{findings.name} report")
    write(figure, 0.55, 10.95, finding(findings), fontsize=12, color=INK, va="top")
    write(figure, 0.55, 10.64, made_of(findings), fontsize=9.5, color=MUTED_INK, va="top")
    X, y = samples.X, samples.y
    plot.class_map(model, X, y, ax=place_axes(figure, 0.55, 3.75, 6.9, 6.0))
    if findings.has_labels:
        plot.confusion(model, X, y, ax=place_axes(figure, 9.0, 4.9, 4.5, 4.5))
    charts = _charts(model, samples, findings)
    pitch = 13.0 / max(len(charts), 1)
    for k, draw in enumerate(charts):
        draw(place_axes(figure, 0.95 + pitch * k, 0.95, pitch - 0.95, 1.75))
    write(figure, 0.55, 0.15, " ".join(notes(findings)), fontsize=7.8, color=MUTED_INK, va="bottom")
    return figure


def _charts(model: Any, samples: Samples, findings: Findings) -> list[Any]:
    """Return the charts that the model and the samples allow, as functions of axes."""
    X, y, charts = samples.X, samples.y, list[Any]()
    if findings.trace:
        charts.append(lambda ax: plot.trace(model, ax=ax))
    if findings.radius is not None:
        charts.append(lambda ax: plot.radii(model, X, y, ax=ax))
        if findings.has_labels:
            charts.append(lambda ax: plot.risk_coverage(model, X, y, ax=ax))
    if findings.calibration.curve:
        charts.append(lambda ax: plot.reliability(model, X, y, ax=ax))
    return charts
