"""Implement the methods that the paper compares with and builds on, one file each.

All are scikit-learn transformers and classifiers on the maps and scores of `nsse.maps` and
`nsse.scores`. `catalogue` has them, scikit-learn's own and `NSSE` under the names of the paper.
"""

from nsse.methods.catalogue import catalogue
from nsse.methods.isokrr import IsoKRR
from nsse.methods.kda import KDA
from nsse.methods.lde import LDE
from nsse.methods.lfda import LFDA
from nsse.methods.lpp import LPP
from nsse.methods.mfa import MFA
from nsse.methods.mreg import MReg
from nsse.methods.npe import NPE
from nsse.methods.nppe import NPPE
from nsse.methods.nys import NYS
from nsse.methods.semi_rbf import SemiRBF
from nsse.methods.spe import SPE
from nsse.methods.suplap import SUPLAP

__all__ = [
    "KDA",
    "LDE",
    "LFDA",
    "LPP",
    "MFA",
    "NPE",
    "NPPE",
    "NYS",
    "SPE",
    "SUPLAP",
    "IsoKRR",
    "MReg",
    "SemiRBF",
    "catalogue",
]
