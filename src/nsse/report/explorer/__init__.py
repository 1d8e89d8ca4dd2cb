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

The page consists of ``page.html``, ``style.css`` and the ES modules that ``main.js`` imports. Python
computes the layout, and the page draws it. Only new samples of the reader are placed by the page.
``data.js`` decodes the data, and ``types.d.ts`` describes them. ``model.js`` computes the map, its
scores and radii with ``kernels.js``, ``margins.js`` and ``vectors.js``. ``view.js`` is the camera.
``scatter.js`` draws points, ``overlay.js`` the layer above them, and ``charts.js`` the charts.
``stage.js``, ``panels.js`` and ``live.js`` with ``pictures.js`` handle input. All share ``basics.js``.
"""

from nsse.report.explorer.models import Samples
from nsse.report.explorer.write import WrittenReport, write_report

__all__ = ["Samples", "WrittenReport", "write_report"]
