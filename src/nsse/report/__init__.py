"""Showing: figures made of frames. Every colour of the library lives here.

- ``palette``: colours of classes, chosen to survive colour-blindness;
- ``polygon``: the frame: an embedding seen in the plane, its classes at the corners of a polygon;
- ``page``, ``mistakes``, ``embedding_plot``: the figure drawn from such frames.

Arrays come in; nothing here knows which method made them.
"""

from nsse.report.embedding_plot import embedding_figure
from nsse.report.page import require_matplotlib, save_figure
from nsse.report.palette import class_colors
from nsse.report.polygon import PolygonView, polygon_view

__all__ = [
    "PolygonView",
    "class_colors",
    "embedding_figure",
    "polygon_view",
    "require_matplotlib",
    "save_figure",
]
