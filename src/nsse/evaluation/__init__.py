"""Measuring: how well estimators do on samples they have not seen.

- ``splits``: which samples train and which test;
- ``comparison``: fit several estimators on the same splits, one row per fit, and summarise.

Estimators of ours come in as arguments; nothing here knows them.
"""

from nsse.evaluation.comparison import Fit, Summary, compare, summarize
from nsse.evaluation.splits import per_class_split

__all__ = ["Fit", "Summary", "compare", "per_class_split", "summarize"]
