"""Write reports: one HTML file to explore the predictions of a model on some samples, offline.

- ``explorer``: the page, and `write_report`,
- ``notebook``: the report in a notebook.

The figures are in `nsse.plot`.
"""

from nsse.report.explorer import Samples, WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
