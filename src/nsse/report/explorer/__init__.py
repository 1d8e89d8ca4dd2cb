"""The report: one HTML file to explore an embedding in, offline, with the map itself inside.

In the order of the work:

- ``alike``: the training samples most alike a sample, within its class;
- ``models``: what a model and samples say: points, labels, radii, the trace;
- ``pictures``: the samples as small pictures or as rows of numbers;
- ``live``: the map, its classifier and what a certified radius needs, for the page to compute;
- ``blocks``: arrays as text;
- ``facts``: titles and sentences;
- ``bundle``: the modules of the page as one script;
- ``write``: `write_report`.

The page is ``page.html`` and ``style.css`` with the ES modules that ``main.js`` imports put inside.
They decode (``data.js``), do the arithmetic of the map (``map.js``) and of the camera (``view.js``),
draw points (``scatter.js``), what lies over them (``overlay.js`` with ``names.js``) and charts
(``charts.js``, ``figures.js``, ``confusion.js``), and answer to the visitor (``stage.js`` with
``controls.js``, ``panels.js``, ``live.js`` with ``pad.js``). They share ``elements.js``,
``pictures.js``, ``colors.js`` and ``numbers.js``; what the data is stands in ``types.d.ts``.
"""

from nsse.report.explorer.models import Samples
from nsse.report.explorer.write import WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
