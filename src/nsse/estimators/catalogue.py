"""The methods the paper compares, ready to fit, under the names of its columns.

>>> from nsse.estimators.catalogue import catalogue
>>> methods = catalogue()
>>> list(methods)
['NSSE', 'SUPLAP', 'SVM', 'NN', 'LFDA', 'LDA', 'LDE', 'NYS', 'SPE', 'IsoKRR', 'MReg']

A plain dictionary of unfitted estimators: exchange one, add one, leave one out in one line,

>>> from sklearn.linear_model import LogisticRegression
>>> methods = catalogue(SVM=LogisticRegression(), NN=None)

and hand it to `nsse.evaluation.compare`. Three of the methods are scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from nsse import estimators


def _lda() -> Any:
    # As in the paper, LDA embeds and the nearest neighbour classifies. The principal components leave
    # out directions in which samples do not vary: LDA cannot tell them from perfect ones.
    return make_pipeline(PCA(0.95, svd_solver="full"), LinearDiscriminantAnalysis(), _nearest())


def _nearest() -> Any:
    return KNeighborsClassifier(n_neighbors=1)


# The defaults of version 0.1 where they are others now. What was computed with them, the rows of the
# reproduction above all, names them.
DEFAULTS_0_1: dict[str, dict[str, Any]] = {
    "SUPLAP": {"mu": 0.01, "n_neighbors": "adaptive"},
    "LFDA": {"pca": "auto", "reg": None},
    "LDE": {"n_components": None, "pca": "auto", "reg": None},
    "NYS": {"n_components": None, "sigma": None},
    "SPE": {"alpha": 0.5},
    "IsoKRR": {"n_neighbors": 15, "alpha": 1e-6},
}

# The columns of the paper's tables, in its order. Most are named as the method is in `nsse.estimators`.
COLUMNS = ("NSSE", "SUPLAP", "SVM", "NN", "LFDA", "LDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg")
_OTHERWISE: dict[str, Callable[[], Any]] = {
    "NSSE": estimators.NSSE.as_published,
    "SVM": lambda: SVC(C=10.0),
    "NN": _nearest,
    "LDA": _lda,
}


def catalogue(**changes: Any) -> dict[str, Any]:
    """Unfitted estimators by the name of their column in the paper's tables, in its order.

    Parameters
    ----------
    **changes : estimator or None
        Under a name of the catalogue: takes its place, or leaves it out (None). Under any other name:
        is added at the end.

    Returns
    -------
    dict of str to estimator
        New estimators at every call, NSSE as published, the others with their default parameters; no
        features are scaled.
    """
    methods = {name: None if name in changes else _made(name) for name in COLUMNS} | changes
    return {name: method for name, method in methods.items() if method is not None}


def _made(name: str) -> Any:
    return _OTHERWISE[name]() if name in _OTHERWISE else getattr(estimators, name)()
