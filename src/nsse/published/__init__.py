"""Implement the method of the paper.

Read the files in this order:

- ``objective`` defines Eq. (11) and its slope,
- ``embedding`` computes Y at one σ, Eqs. (12) and (13),
- ``alternating`` is Algorithm 1, with Eq. (14),
- ``scale`` searches for the best σ, which `NSSE` does by default instead of Algorithm 1,
- ``trace`` records the steps of a search,
- ``nsse`` is the estimator.
"""

from nsse.published.nsse import NSSE, Condition
from nsse.published.trace import Step, Trace

__all__ = ["NSSE", "Condition", "Step", "Trace"]
