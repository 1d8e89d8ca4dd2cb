"""The methods that the paper compares, ready to fit, under the names of its columns.

>>> from nsse.methods import catalogue
>>> methods = catalogue()
>>> list(methods)
['NSSE', 'SUPLAP', 'SVM', 'NN', 'LFDA', 'LDA', 'LDE', 'NYS', 'SPE', 'IsoKRR', 'MReg']

A plain dictionary of unfitted estimators: exchange one, add one, leave one out in one line,

>>> from sklearn.linear_model import LogisticRegression
>>> methods = catalogue(SVM=LogisticRegression(), NN=None)

Three of the methods are scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from nsse.methods.isokrr import IsoKRR
from nsse.methods.lde import LDE
from nsse.methods.lfda import LFDA
from nsse.methods.mreg import MReg
from nsse.methods.nys import NYS
from nsse.methods.spe import SPE
from nsse.methods.suplap import SUPLAP


def _nsse() -> Any:
    from nsse.published import NSSE  # at use: it is no part of this room

    return NSSE()


def _nearest() -> Any:
    return KNeighborsClassifier(n_neighbors=1)


def _lda() -> Any:
    # As in the paper, LDA embeds and the nearest neighbour classifies. The principal components leave
    # out directions in which samples do not vary: LDA cannot tell them from perfect ones.
    return make_pipeline(PCA(0.95, svd_solver="full"), LinearDiscriminantAnalysis(), _nearest())


# The columns of the paper's tables, in its order.
COLUMNS: dict[str, Callable[[], Any]] = {
    "NSSE": _nsse,
    "SUPLAP": SUPLAP,
    "SVM": lambda: SVC(C=10.0),
    "NN": _nearest,
    "LFDA": LFDA,
    "LDA": _lda,
    "LDE": LDE,
    "NYS": NYS,
    "SPE": SPE,
    "IsoKRR": IsoKRR,
    "MReg": MReg,
}


def catalogue(**changes: Any) -> dict[str, Any]:
    """Unfitted estimators by the name of their column in the paper's tables, in its order.

    Parameters
    ----------
    **changes : estimator or None
        Under a name of the catalogue: takes its place, or leaves it out (None). Under any other name: is
        added at the end.

    Returns
    -------
    dict of str to estimator
        New estimators at every call, with their default parameters; no features are scaled.

    See Also
    --------
    nsse.NSSE : The method of the paper.

    Examples
    --------
    >>> from nsse.methods import catalogue
    >>> catalogue()["LFDA"]
    LFDA()
    """
    methods = {name: None if name in changes else made() for name, made in COLUMNS.items()} | changes
    return {name: method for name, method in methods.items() if method is not None}
