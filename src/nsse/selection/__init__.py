"""Choosing NSSE's parameters by cross-validation: many points, few solves.

- ``nssecv``: the estimator; ``splits`` what it holds out, ``scoring`` how labels are judged.
- ``grid``: points of a parameter grid, and which of them share a sweep; ``center_grid`` with landmarks.
- ``trial``: the scores of all points on all splits; ``search``: which to score, which to take.
- ``subsample``: few rows that stand for many; ``voting``: the best few points vote on labels.
"""

from nsse.selection.grid import default_param_grid
from nsse.selection.nssecv import NSSECV

__all__ = ["NSSECV", "default_param_grid"]
