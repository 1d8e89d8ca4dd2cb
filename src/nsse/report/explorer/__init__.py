"""Write a report as one HTML file that works offline and contains the map itself.

In the order of the work:

- ``models``: results of a model for samples, such as points, labels, radii, probabilities and sets,
- ``alike``: the training samples that are most similar to a sample, within its class,
- ``pictures``: the samples as small images or as rows,
- ``live``: the map, its scores and the numbers for a certified radius, for the page to compute with,
- ``blocks``: arrays as text,
- ``facts``, ``charts``: titles and sentences, and the panels below the map as data,
- ``bundle``: the modules of the page as one script,
- ``write``: `write_report`.

The page is ``page.html`` and ``style.css`` with the ES modules that ``main.js`` imports put inside. They
decode (``data.js``), do the arithmetic of the model (``model.js``) and of the camera (``view.js``), draw
points (``scatter.js``), the layer above them (``overlay.js``) and charts (``charts.js``), and handle
input (``stage.js``, ``panels.js``, ``live.js`` with ``pictures.js``). They share ``basics.js``.
``types.d.ts`` describes the data.
"""

from nsse.report.explorer.models import Samples
from nsse.report.explorer.write import WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
