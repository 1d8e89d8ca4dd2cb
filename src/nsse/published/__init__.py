"""The method of the paper, file by file its terms.

``objective`` Eq. (11) and its slope · ``embedding`` Y at one σ (Eq. 12) · ``scale`` the search for σ ·
``alternating`` Algorithm 1 · ``trace`` what a search reports · ``nsse`` the estimator.
"""

from nsse.published.nsse import NSSE, Condition
from nsse.published.trace import Step, Trace

__all__ = ["NSSE", "Condition", "Step", "Trace"]
