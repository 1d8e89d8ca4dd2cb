"""The report: one HTML file to explore an embedding in, offline, with the map itself inside.

In the order of the work:

- ``models``: what a model and samples say: points, labels, radii, probabilities, sets of labels;
- ``alike``: the training samples most alike a sample, within its class;
- ``pictures``: the samples as small pictures or as rows;
- ``live``: the map, its scores and what a certified radius needs, for the page to compute;
- ``blocks``: arrays as text;
- ``facts``, ``charts``: titles and sentences; the panels below the map as data;
- ``bundle``: the modules of the page as one script;
- ``write``: `write_report`.

The page is ``page.html`` and ``style.css`` with the ES modules that ``main.js`` imports put inside.
They decode (``data.js``), do the arithmetic of the model (``model.js``) and of the camera
(``view.js``), draw points (``scatter.js``), what lies over them (``overlay.js``) and charts
(``charts.js``), and answer to the visitor (``stage.js``, ``panels.js``, ``live.js`` with
``pictures.js``). They share ``basics.js``; what the data is stands in ``types.d.ts``.
"""

from nsse.report.explorer.models import Samples
from nsse.report.explorer.write import WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
