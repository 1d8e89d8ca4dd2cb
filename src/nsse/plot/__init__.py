"""Plots of fitted models: `nsse.plot.class_map(classifier, X, y)` and others.

Each function returns a `Plot`, which contains a matplotlib figure and the frame that it is drawn from.
A notebook shows the figure. A script saves it in one call, ``model.plot(X, y).save("map.png")``, or
shows it with ``.show()``. With ``ax=`` a function draws on axes of your own figure.

Training samples are drawn where the model without them would put them, if the model stores these
positions (``left_out_embedding_``). The positions in the fitted embedding look too good, because
training samples lie close to the targets of their class.

- ``samples``: the samples of a plot, and which of them are training samples;
- ``names``: names of classes in a map;
- ``maps``: `class_map` and `embedding`;
- ``charts``: `confusion`, `reliability` and `trace`;
- ``certified``: `radii`, `risk_coverage` and `generalization`;
- ``explained``: `explanation`.
"""

from nsse.figures import Plot
from nsse.plot.certified import generalization, radii, risk_coverage
from nsse.plot.charts import confusion, reliability, trace
from nsse.plot.explained import explanation
from nsse.plot.maps import class_map, embedding

__all__ = [
    "Plot",
    "class_map",
    "confusion",
    "embedding",
    "explanation",
    "generalization",
    "radii",
    "reliability",
    "risk_coverage",
    "trace",
]
