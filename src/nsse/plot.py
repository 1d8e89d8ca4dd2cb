"""Figures of a fitted model: ``nsse.plot.embedding(model, X, y)`` and its siblings.

Each returns a `Plot`: a matplotlib figure, which a notebook shows, and the frame it is drawn from,
columns by name in a dict that ``pandas.DataFrame`` and ``polars.DataFrame`` take. A dict, since neither
is needed by this library. With ``ax=`` they draw on axes of yours.
"""

from nsse.report.plots import confusion, embedding, radii, risk_coverage, trace

__all__ = ["confusion", "embedding", "radii", "risk_coverage", "trace"]
