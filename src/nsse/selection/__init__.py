"""Choosing parameters by cross-validation.

- ``nssecv``: the estimator; ``splits`` what it holds out, ``scoring`` how labels are judged.
- ``quick``: metric, σ, one weight and the reader in seconds, by a closed form and a race.
- ``choosing``, ``search``: scores of points, and which to take; ``voting``: the best few vote on labels.
- ``sequential``: one parameter at a time, for any estimator.
- ``invariant``: which transformed copies of the samples help; ``unlabeled``: samples without a label.
- ``subsample``: few rows that stand for many; ``memory``: what a search takes.
"""

from nsse.selection.invariant import InvarianceChoice, choose_invariances
from nsse.selection.nssecv import NSSECV
from nsse.selection.sequential import SequentialSearchCV
from nsse.selection.splits import BalancedSplits

__all__ = ["NSSECV", "BalancedSplits", "InvarianceChoice", "SequentialSearchCV", "choose_invariances"]
