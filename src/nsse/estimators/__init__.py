"""scikit-learn shells: one method, one file. The mathematics lives in the rooms to the left."""

from nsse.estimators._conformal import ConformalClassifier
from nsse.estimators._isokrr import IsoKRR
from nsse.estimators._lde import LDE
from nsse.estimators._lfda import LFDA
from nsse.estimators._mreg import MReg
from nsse.estimators._nsse import NSSE
from nsse.estimators._nys import NYS
from nsse.estimators._selective import SelectivePredictor
from nsse.estimators._semi_rbf import SemiRBF
from nsse.estimators._spe import SPE
from nsse.estimators._suplap import SUPLAP
from nsse.estimators._warnings import (
    ConditioningWarning,
    DegenerateEmbeddingWarning,
    ScaleAtBoundWarning,
)
from nsse.estimators._within_metric import WithinMetric

__all__ = [
    "LDE",
    "LFDA",
    "NSSE",
    "NYS",
    "SPE",
    "SUPLAP",
    "ConditioningWarning",
    "ConformalClassifier",
    "DegenerateEmbeddingWarning",
    "IsoKRR",
    "MReg",
    "ScaleAtBoundWarning",
    "SelectivePredictor",
    "SemiRBF",
    "WithinMetric",
]
