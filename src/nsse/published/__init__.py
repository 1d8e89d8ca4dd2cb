"""The method of the paper.

Read the files in this order:

- ``objective``: Eq. (11) and its slope,
- ``embedding``: Y at one σ, Eqs. (12) and (13), with the triangular factors of ``factors``,
- ``alternating``: Algorithm 1, with Eq. (14),
- ``scale``: the search for the best σ that `NSSE` uses instead of Algorithm 1 by default,
- ``trace``: the steps that a search reports,
- ``nsse``: the estimator.
"""

from nsse.published.nsse import NSSE, Condition
from nsse.published.trace import Step, Trace

__all__ = ["NSSE", "Condition", "Step", "Trace"]
