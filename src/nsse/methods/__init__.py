"""The methods that the paper compares, one file each with its mathematics.

All are scikit-learn transformers and classifiers on the maps and scores of `nsse.maps` and
`nsse.scores`. `catalogue` has them, scikit-learn's own and `NSSE` under the names of the paper's
columns.
"""

from nsse.methods.catalogue import catalogue
from nsse.methods.isokrr import IsoKRR
from nsse.methods.lde import LDE
from nsse.methods.lfda import LFDA
from nsse.methods.mreg import MReg
from nsse.methods.nys import NYS
from nsse.methods.semi_rbf import SemiRBF
from nsse.methods.spe import SPE
from nsse.methods.suplap import SUPLAP

__all__ = ["LDE", "LFDA", "NYS", "SPE", "SUPLAP", "IsoKRR", "MReg", "SemiRBF", "catalogue"]
