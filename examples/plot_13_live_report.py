"""
The live report
===============

One HTML file to look at an embedding with, and to hand on. It carries the map: draw a digit on its
pad, or drop a picture on it, and see where it lands. It needs no network, no notebook, and not this
library.
"""

import tempfile
from pathlib import Path

from nsse import SmoothEmbedding
from nsse.datasets import load_dataset, per_class_split
from nsse.report import Samples, write_report

digits = load_dataset("digits")
train, test = per_class_split(digits.y, 15, 100)
model = SmoothEmbedding().fit(digits.X[train], digits.y[train])
preparation = {"kind": "images", "size": digits.image_shape, "unit_norm": False}

# %%
# Its static twin, for a paper, is written by the same function: the ending says which.

# sphinx_gallery_thumbnail_path = 'images/report.png'
folder = Path(tempfile.mkdtemp())
shown = Samples(digits.X[test][:400], digits.y[test][:400])
write_report(folder / "digits.png", model, shown, preparation=preparation, title="Digits")

# %%
# At the end of a notebook's cell, or of a block of this page, the report shows itself:

write_report(folder / "digits.html", model, shown, preparation=preparation, title="Digits")
