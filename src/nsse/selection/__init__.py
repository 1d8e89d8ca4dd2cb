"""Choosing NSSE's parameters by cross-validation: many points, few solves.

- ``nssecv``: the estimator; ``splits`` what it holds out, ``scoring`` how labels are judged.
- ``grid``: points of a parameter grid, and which of them share a sweep; ``center_grid`` with landmarks.
- ``trial``: the scores of all points on all splits; ``search``: which to score, which to take.
- ``sequential``: one parameter at a time, for any estimator.
- ``quick``: metric, σ, one weight and the reader in seconds, by a closed form and a race.
- ``invariant``: which transformed copies of the samples help.
- ``subsample``: few rows that stand for many; ``voting``: the best few points vote on labels.
"""

from nsse.selection.grid import default_param_grid
from nsse.selection.invariant import InvarianceChoice, choose_invariances
from nsse.selection.nssecv import NSSECV
from nsse.selection.sequential import SequentialSearchCV
from nsse.selection.splits import BalancedSplits

__all__ = [
    "NSSECV",
    "BalancedSplits",
    "InvarianceChoice",
    "SequentialSearchCV",
    "choose_invariances",
    "default_param_grid",
]
