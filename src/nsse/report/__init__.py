"""Reports: one HTML file to explore the predictions of a model on some samples, offline.

- ``explorer``: the page, and `write_report`;
- ``notebook``: how a notebook shows a report.

The figures are in `nsse.plot`.
"""

from nsse.report.explorer import Samples, WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
