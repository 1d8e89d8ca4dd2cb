"""Figures of a fitted model: ``nsse.plot.embedding(model, X, y)`` and its siblings.

Each returns a matplotlib figure and the frame it is drawn from: columns by name, in a dict that
``pandas.DataFrame`` and ``polars.DataFrame`` take. A dict, since neither is needed by this library.
"""

from nsse.report.plots import confusion, embedding, radii, risk_coverage, trace

__all__ = ["confusion", "embedding", "radii", "risk_coverage", "trace"]
