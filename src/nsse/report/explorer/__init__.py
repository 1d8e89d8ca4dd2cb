"""The report: one HTML file to explore an embedding in, offline, with the map itself inside.

In the order of the work:

- ``scaling``: steps before a model that only scale features;
- ``models``: what a model and samples say: points, labels, radii, the trace;
- ``pictures``: the samples as small grey pictures or as rows of numbers;
- ``live``: the map, its classifier and what a certified radius needs, for the page to compute;
- ``blocks``: arrays as text;
- ``facts``: titles and sentences;
- ``write``: `write_report`.

The page is ``page.html`` and ``style.css`` with the scripts of ``SCRIPTS`` (``write``) put inside: they
decode (``data.js``), do the arithmetic of the map (``map.js``) and of the camera (``view.js``), draw
points (``scatter.js``), what lies over them (``overlay.js``) and charts (``charts.js``, ``figures.js``),
and answer to the visitor (``stage.js``, ``panels.js``, ``live.js``, ``main.js``).
"""

from nsse.report.explorer.models import Samples
from nsse.report.explorer.write import WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
