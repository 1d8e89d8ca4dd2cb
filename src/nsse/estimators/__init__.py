"""scikit-learn shells: one method, one file. The mathematics lives in the rooms to the left."""

from nsse.estimators._nsse import NSSE
from nsse.estimators._warnings import ConditioningWarning, ScaleAtBoundWarning

__all__ = ["NSSE", "ConditioningWarning", "ScaleAtBoundWarning"]
