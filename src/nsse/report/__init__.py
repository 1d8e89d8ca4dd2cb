"""Showing: figures made of frames. Every colour of the library lives here.

- ``palette``: colours of classes, chosen to survive colour-blindness;
- ``polygon``, ``labels``: the frame: samples in the plane, classes at the corners of a polygon; names;
- ``page``, ``embedding_plot``, ``explanation_plot``: figures drawn from such frames;
- ``certificate_plots``: risk by coverage, and how well a model generalises;
- ``explorer``: the report, a page to explore an embedding in, and `write_report`;
- ``shown``: how a figure (`Plot`) or the report is shown, in notebooks and scripts;
- ``plots``: figures of a fitted model, each with its frame (`nsse.plot`), and the report's static twin.

Figures take arrays and do not know which method made them; ``explorer`` and ``plots`` ask a model.
"""

from nsse.report.certificate_plots import generalization_figure, risk_coverage_figure
from nsse.report.embedding_plot import embedding_figure
from nsse.report.explorer import Samples, WrittenReport, write_report
from nsse.report.page import require_matplotlib, save_figure
from nsse.report.palette import class_colors
from nsse.report.plots import polygon_view
from nsse.report.polygon import PolygonView
from nsse.report.shown import Plot

__all__ = [
    "Plot",
    "PolygonView",
    "Samples",
    "WrittenReport",
    "class_colors",
    "embedding_figure",
    "generalization_figure",
    "polygon_view",
    "require_matplotlib",
    "risk_coverage_figure",
    "save_figure",
    "write_report",
]
