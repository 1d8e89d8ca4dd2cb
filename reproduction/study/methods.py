"""The methods that the study compares: ours and common ones, with their grids.

`METHODS` has one line for each method. A method is a function of the standardized training samples and
their labels, and returns a classifier. Methods that depend on distances or inner products only receive
coordinates in the span of the samples (`Span`), which changes nothing and saves time. Grids are small.
They are searched by cross-validation on the training samples, with five folds for fast methods, three
for forests, NCA and xRFM, and one split for boosting and UMAP.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.splits import BalancedSplits
from reproduction.study.span import Span

# With more features than this, boosting and NCA receive 50 principal components, because they would be
# too slow. With more than a thousand, LDA receives all principal components, because its covariances
# would fill gigabytes.
MANY_FEATURES, TOO_MANY_FEATURES, N_PRINCIPAL = 300, 1000, 50
# In units of 1 / n_features. The mean squared distance of standardized samples is twice the number of
# features.
WIDTHS = (0.1, 0.3, 1.0, 3.0)
PENALTIES = [1.0, 10.0, 100.0, 1000.0]
FIVE_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
THREE_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
ONE_SPLIT = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)


def svc(X: Any, y: Any) -> Any:
    """Return a support vector machine with a Gaussian kernel, tuned over 16 settings."""
    return _in_span(GridSearchCV(SVC(), {"C": PENALTIES, "gamma": _gammas(X)}, cv=FIVE_FOLDS))


def linear_svc(X: Any, y: Any) -> Any:
    """Return a linear support vector machine, tuned over 5 penalties."""
    penalties = [penalty / X.shape[1] for penalty in (0.01, 0.1, 1.0, 10.0, 100.0)]
    return _in_span(GridSearchCV(SVC(kernel="linear"), {"C": penalties}, cv=FIVE_FOLDS))


def shrinkage_lda(X: Any, y: Any) -> Any:
    """Return linear discriminant analysis with the shrinkage of Ledoit and Wolf."""
    steps = [("pca", PCA()), ("lda", _shrunk())]
    return Pipeline(steps) if X.shape[1] > TOO_MANY_FEATURES else _shrunk()


def _shrunk() -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def pca_lda(X: Any, y: Any) -> Any:
    """Return LDA of principal components, tuned over up to 4 numbers of components."""
    most = _inner(X) - len(np.unique(y))
    numbers = sorted({min(number, most, X.shape[1]) for number in (5, 10, 20, 50)})
    steps = [("pca", PCA(random_state=0)), ("lda", LinearDiscriminantAnalysis())]
    return _in_span(GridSearchCV(Pipeline(steps), {"pca__n_components": numbers}, cv=THREE_FOLDS))


def pls_da(X: Any, y: Any) -> Any:
    """Return partial least squares on class indicators, tuned over up to 5 numbers of components."""
    numbers = sorted({min(number, _inner(X), X.shape[1]) for number in (1, 2, 4, 8, 16)})
    return _in_span(GridSearchCV(PLSDA(), {"n_components": numbers}, cv=FIVE_FOLDS))


class PLSDA(ClassifierMixin, BaseEstimator):
    """Predict the class whose indicator has the largest value by partial least squares."""

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> PLSDA:
        """Regress the class indicators on the standardized samples."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.regression_ = PLSRegression(self.n_components, scale=False)
        self.regression_.fit(X, np.eye(len(self.classes_))[codes])
        return self

    def predict(self, X: Any) -> Any:
        """Return the labels of the rows of X."""
        return self.classes_[self.regression_.predict(X).argmax(axis=1)]


def shrunken_centroids(X: Any, y: Any) -> Any:
    """Return nearest shrunken centroids (Tibshirani and others 2002), tuned over 6 thresholds."""
    thresholds = [None, 0.25, 0.5, 1.0, 2.0, 3.0]
    return GridSearchCV(NearestCentroid(), {"shrink_threshold": thresholds}, cv=FIVE_FOLDS)


def logistic(X: Any, y: Any) -> Any:
    """Return logistic regression, tuned over 4 penalties."""
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    return _in_span(GridSearchCV(LogisticRegression(max_iter=200), grid, cv=FIVE_FOLDS))


def neighbors(X: Any, y: Any) -> Any:
    """Return k nearest neighbors, tuned over 1 to 9 neighbors."""
    numbers = [k for k in (1, 3, 5, 9) if k <= _inner(X)]
    return _in_span(GridSearchCV(KNeighborsClassifier(), {"n_neighbors": numbers}, cv=FIVE_FOLDS))


def forest(X: Any, y: Any) -> Any:
    """Return a random forest of 100 trees, tuned over 2 sizes of leaves."""
    model = RandomForestClassifier(100, random_state=0)
    return GridSearchCV(model, {"min_samples_leaf": [1, 3]}, cv=THREE_FOLDS)


def boosting(X: Any, y: Any) -> Any:
    """Return histogram gradient boosting with 50 rounds, tuned over 2 sizes of leaves."""
    # By default a leaf has at least 20 samples, and 20 training samples per class could not grow a tree.
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    grid = {"boosting__min_samples_leaf": [2, 5]}
    return GridSearchCV(Pipeline([*_fewer_features(X), ("boosting", model)]), grid, cv=ONE_SPLIT)


def nca(X: Any, y: Any) -> Any:
    """Return 3-NN after neighborhood components analysis, tuned over 2 dimensions."""
    reduced = _fewer_features(X)
    width = min(N_PRINCIPAL, _inner(X)) if reduced else X.shape[1]
    learnt = NeighborhoodComponentsAnalysis(max_iter=30, random_state=0)
    steps = [*reduced, ("nca", learnt), ("nearest", KNeighborsClassifier(3))]
    grid = {"nca__n_components": sorted({min(2, width), min(10, width)})}
    return GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS)


def kernel_pca_lda(X: Any, y: Any) -> Any:
    """Return LDA of kernel principal components, tuned over 4 widths and up to 3 dimensions."""
    steps = [("kpca", KernelPCA(kernel="rbf", random_state=0)), ("lda", _shrunk())]
    numbers = sorted({min(number, _inner(X) // 2) for number in (20, 100, 300)})
    grid = {"kpca__gamma": _gammas(X), "kpca__n_components": numbers}
    return _in_span(GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS))


def supervised_umap(X: Any, y: Any) -> Any:
    """Return 5-NN after supervised UMAP, tuned over 2 numbers of neighbors."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # read at import
    import umap

    inner = _inner(X)
    n_components = min(10, max(2, len(np.unique(y)) - 1), inner - 2)
    model = umap.UMAP(n_components=n_components, random_state=0, n_jobs=1)
    steps = [("umap", model), ("nearest", KNeighborsClassifier(min(5, inner)))]
    numbers = sorted({min(k, inner - 1) for k in (5, 15)})
    return _in_span(GridSearchCV(Pipeline(steps), {"umap__n_neighbors": numbers}, cv=ONE_SPLIT))


def nearest_series(X: Any, y: Any) -> Any:
    """Return the nearest neighbor by dynamic time warping, for time series."""
    from reproduction.study.dtw import NearestSeries

    return NearestSeries()


def tabpfn(X: Any, y: Any) -> Any:
    """Return TabPFN version 1, which accepts ten classes and a hundred features."""
    from tabpfn import TabPFNClassifier

    reduced = [("pca", PCA(min(100, len(X)), random_state=0))] if X.shape[1] > 100 else []
    return Pipeline([*reduced, ("tabpfn", TabPFNClassifier(device="cpu", seed=0))])


def xrfm(X: Any, y: Any) -> Any:
    """Return xRFM, tuned over 20 settings. With many features, diagonal metrics are left out."""
    from reproduction.study.feature_machine import TunedXRFM

    return _in_span(TunedXRFM(diagonal=False)) if X.shape[1] > MANY_FEATURES else TunedXRFM()


def _in_span(model: Any) -> Any:
    return Pipeline([("span", Span()), ("model", model)])


def _inner(X: Any) -> int:
    """Return the number of samples that the smallest inner split trains on."""
    return 2 * len(X) // 3


def _gammas(X: Any) -> list[float]:
    return [width / X.shape[1] for width in WIDTHS]


def _fewer_features(X: Any) -> list[tuple[str, Any]]:
    if X.shape[1] <= MANY_FEATURES:
        return []
    return [("pca", PCA(min(N_PRINCIPAL, _inner(X)), random_state=0))]


def _on_our_splits(model: Any, grid: dict[str, Any], X: Any, y: Any) -> Any:
    """Return a search over the grid on random balanced splits."""
    n_splits = min(16, max(8, 2000 // len(y)))
    return GridSearchCV(model, grid, cv=list(BalancedSplits(n_splits, 0.2, 0).split(X, y)))


Method = Callable[[Any, Any], Any]
METHODS: dict[str, Method] = {
    "SmoothEmbeddingCV": lambda X, y: SmoothEmbeddingCV(),
    "SmoothEmbedding": lambda X, y: SmoothEmbedding(),
    "SVC": svc,
    "linear SVC": linear_svc,
    "shrinkage LDA": shrinkage_lda,
    "PCA + LDA": pca_lda,
    "PLS-DA": pls_da,
    "shrunken centroids": shrunken_centroids,
    "logistic regression": logistic,
    "k-NN": neighbors,
    "random forest": forest,
    "boosting": boosting,
    "NCA": nca,
    "kernel PCA + LDA": kernel_pca_lda,
    "supervised UMAP": supervised_umap,
    "xRFM": xrfm,
    "1-NN, DTW": nearest_series,
    "TabPFN v1": tabpfn,
}
OURS = ("SmoothEmbeddingCV", "SmoothEmbedding")
# They have rows on some data sets or splits only, and are compared with ours on these.
REFERENCES = ("xRFM", "TabPFN v1", "1-NN, DTW")
RANKED = tuple(name for name in METHODS if name not in REFERENCES)
# These methods receive columns that are not standardized.
RAW = ("1-NN, DTW",)
# Optional packages, for measuring only. Without its package, a method is left out.
PACKAGES = {"supervised UMAP": "umap", "1-NN, DTW": "numba", "TabPFN v1": "tabpfn", "xRFM": "xrfm"}
# They compile code when they are first used.
COMPILED = ("supervised UMAP", "1-NN, DTW")
QUICK = (*OURS, "SVC", "shrinkage LDA", "k-NN")
# For imbalanced tables: seven tuned methods and five with default parameters (LDA is both).
IMBALANCED: dict[str, Method] = {
    "SmoothEmbeddingCV()": lambda X, y: SmoothEmbeddingCV(),
    "SVC tuned": lambda X, y: _on_our_splits(
        SVC(), {"C": PENALTIES, "gamma": [w / (X.shape[1] * X.var()) for w in WIDTHS]}, X, y
    ),
    "LDA": shrinkage_lda,
    "logistic": lambda X, y: LogisticRegression(max_iter=500),
    "forest": lambda X, y: RandomForestClassifier(200, random_state=0),
    "boosting": lambda X, y: HistGradientBoostingClassifier(min_samples_leaf=5, random_state=0),
    "k-NN tuned": lambda X, y: _on_our_splits(
        KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9]}, X, y
    ),
    "SmoothEmbedding()": lambda X, y: SmoothEmbedding(),
    "NSSE()": lambda X, y: NSSE(),
    "SVC(C=10)": lambda X, y: SVC(C=10),
    "1-NN": lambda X, y: KNeighborsClassifier(1),
}
IMBALANCED_TUNED = tuple(IMBALANCED)[:7]
IMBALANCED_PLAIN = (*tuple(IMBALANCED)[7:], "LDA")


def available() -> list[str]:
    """Return the methods whose packages are installed."""
    return [name for name in METHODS if name not in PACKAGES or find_spec(PACKAGES[name])]


def applies(method: str, kind: str, n_classes: int) -> bool:
    """Return whether a method accepts data of a kind with so many classes."""
    if method == "TabPFN v1":
        return n_classes <= 10
    return method != "1-NN, DTW" or kind == "series"
