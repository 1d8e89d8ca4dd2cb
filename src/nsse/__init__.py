"""Nonlinear Supervised Smooth Embedding: supervised maps that hold on new data.

>>> from nsse import NSSE

``NSSE`` is a scikit-learn transformer and classifier. The rooms of the package follow the method:
``datasets`` → ``graphs``, ``kernels`` → ``solvers``, ``extensions`` → ``estimators`` →
``evaluation`` → ``report``, ``cli``; imports point to the left only.
"""

from nsse.estimators import NSSE, ConditioningWarning, ScaleAtBoundWarning

__all__ = ["NSSE", "ConditioningWarning", "ScaleAtBoundWarning", "__version__"]
__version__ = "0.1.0"
