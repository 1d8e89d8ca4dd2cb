"""Figures of a fitted model: ``nsse.plot.embedding(model, X, y)`` and its siblings.

Each returns a `Plot`: a matplotlib figure, which a notebook shows, ``show`` and ``plt.show()`` too, and
the frame it is drawn from, a data frame where pandas is installed and a dict of columns elsewhere. With
``ax=`` they draw on axes of yours.
"""

from nsse.report.explanation_plot import explanation
from nsse.report.plots import confusion, embedding, radii, reliability, risk_coverage, trace

__all__ = ["confusion", "embedding", "explanation", "radii", "reliability", "risk_coverage", "trace"]
