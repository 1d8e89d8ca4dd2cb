"""The tables of methods that a study compares: ours, and what people use, tuned.

To add or rename one is a line of `METHODS`; ours are the first two. Each is a function of the training
samples, which are standardised, and their labels, that gives a classifier. What is made of distances
or products alone sees them in their span. Grids are small and
tuned on inner splits of the training samples: five folds where a fit is a matter of milliseconds, three
for a forest and NCA, one split for boosting and UMAP, which take a hundred times as long.
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
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.splits import BalancedSplits
from reproduction.study.span import Span

# Beyond so many features boosting and NCA see principal components, for the sake of time; beyond a
# thousand LDA sees all of them: its covariances would fill gigabytes.
MANY_FEATURES, TOO_MANY_FEATURES, N_PRINCIPAL = 300, 1000, 50
# Widths of a Gaussian by 1 / n_features: standardised samples have a mean squared distance of 2 n.
WIDTHS = (0.1, 0.3, 1.0, 3.0)
PENALTIES = [1.0, 10.0, 100.0, 1000.0]
FIVE_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
THREE_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
ONE_SPLIT = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)


def svc(X: Any, y: Any) -> Any:
    """Support vector machine, Gaussian kernel: 16 points."""
    return _in_span(GridSearchCV(SVC(), {"C": PENALTIES, "gamma": _gammas(X)}, cv=FIVE_FOLDS))


def linear_svc(X: Any, y: Any) -> Any:
    """Support vector machine without a kernel: 5 penalties, by the number of features."""
    penalties = [penalty / X.shape[1] for penalty in (0.01, 0.1, 1.0, 10.0, 100.0)]
    return _in_span(GridSearchCV(SVC(kernel="linear"), {"C": penalties}, cv=FIVE_FOLDS))


def shrinkage_lda(X: Any, y: Any) -> Any:
    """Linear discriminant analysis; Ledoit and Wolf's formula is its tuning."""
    steps = [("pca", PCA()), ("lda", _shrunk())]
    return Pipeline(steps) if X.shape[1] > TOO_MANY_FEATURES else _shrunk()


def _shrunk() -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def pca_lda(X: Any, y: Any) -> Any:
    """Principal components and linear discriminant analysis of them: up to 4 numbers of components."""
    most = _inner(X) - len(np.unique(y))
    numbers = sorted({min(number, most, X.shape[1]) for number in (5, 10, 20, 50)})
    steps = [("pca", PCA(random_state=0)), ("lda", LinearDiscriminantAnalysis())]
    return _in_span(GridSearchCV(Pipeline(steps), {"pca__n_components": numbers}, cv=THREE_FOLDS))


def pls_da(X: Any, y: Any) -> Any:
    """Partial least squares on indicators of the classes: up to 5 numbers of components."""
    numbers = sorted({min(number, _inner(X), X.shape[1]) for number in (1, 2, 4, 8, 16)})
    return _in_span(GridSearchCV(PLSDA(), {"n_components": numbers}, cv=FIVE_FOLDS))


class PLSDA(ClassifierMixin, BaseEstimator):
    """The class whose indicator partial least squares put highest."""

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> PLSDA:
        """Regress on indicators; the samples are scaled already."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.regression_ = PLSRegression(self.n_components, scale=False)
        self.regression_.fit(X, np.eye(len(self.classes_))[codes])
        return self

    def predict(self, X: Any) -> Any:
        """Labels."""
        return self.classes_[self.regression_.predict(X).argmax(axis=1)]


def shrunken_centroids(X: Any, y: Any) -> Any:
    """Nearest shrunken centroids of Tibshirani and others: 6 thresholds."""
    thresholds = [None, 0.25, 0.5, 1.0, 2.0, 3.0]
    return GridSearchCV(NearestCentroid(), {"shrink_threshold": thresholds}, cv=FIVE_FOLDS)


def logistic(X: Any, y: Any) -> Any:
    """Logistic regression: 4 penalties."""
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    return _in_span(GridSearchCV(LogisticRegression(max_iter=200), grid, cv=FIVE_FOLDS))


def neighbors(X: Any, y: Any) -> Any:
    """A vote of the nearest: 1 to 9 of them."""
    numbers = [k for k in (1, 3, 5, 9) if k <= _inner(X)]
    return _in_span(GridSearchCV(KNeighborsClassifier(), {"n_neighbors": numbers}, cv=FIVE_FOLDS))


def forest(X: Any, y: Any) -> Any:
    """Random forest of 100 trees: 2 sizes of a leaf."""
    model = RandomForestClassifier(100, random_state=0)
    return GridSearchCV(model, {"min_samples_leaf": [1, 3]}, cv=THREE_FOLDS)


def boosting(X: Any, y: Any) -> Any:
    """Histogram gradient boosting, 50 rounds: 2 sizes of a leaf, both smaller than its own."""
    # With the 20 samples in a leaf that it asks for, 20 samples of a class make no tree.
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    grid = {"boosting__min_samples_leaf": [2, 5]}
    return GridSearchCV(Pipeline([*_fewer_features(X), ("boosting", model)]), grid, cv=ONE_SPLIT)


def nca(X: Any, y: Any) -> Any:
    """Neighbourhood components analysis and three neighbours: 2 dimensions."""
    reduced = _fewer_features(X)
    width = min(N_PRINCIPAL, _inner(X)) if reduced else X.shape[1]
    learnt = NeighborhoodComponentsAnalysis(max_iter=30, random_state=0)
    steps = [*reduced, ("nca", learnt), ("nearest", KNeighborsClassifier(3))]
    grid = {"nca__n_components": sorted({min(2, width), min(10, width)})}
    return GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS)


def kernel_pca_lda(X: Any, y: Any) -> Any:
    """Kernel principal components and LDA of them: 4 widths, up to 3 numbers of components."""
    steps = [("kpca", KernelPCA(kernel="rbf", random_state=0)), ("lda", _shrunk())]
    numbers = sorted({min(number, _inner(X) // 2) for number in (20, 100, 300)})
    grid = {"kpca__gamma": _gammas(X), "kpca__n_components": numbers}
    return _in_span(GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS))


def supervised_umap(X: Any, y: Any) -> Any:
    """UMAP that sees the classes, and five neighbours: 2 numbers of neighbours in its graph."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # read at import
    import umap

    inner = _inner(X)
    n_components = min(10, max(2, len(np.unique(y)) - 1), inner - 2)
    model = umap.UMAP(n_components=n_components, random_state=0, n_jobs=1)
    steps = [("umap", model), ("nearest", KNeighborsClassifier(min(5, inner)))]
    numbers = sorted({min(k, inner - 1) for k in (5, 15)})
    return _in_span(GridSearchCV(Pipeline(steps), {"umap__n_neighbors": numbers}, cv=ONE_SPLIT))


def nearest_series(X: Any, y: Any) -> Any:
    """One neighbour by dynamic time warping, for series alone."""
    from reproduction.study.dtw import NearestSeries

    return NearestSeries()


def tabpfn(X: Any, y: Any) -> Any:
    """TabPFN, version 1, as it comes: ten classes, a hundred features or principal components."""
    from tabpfn import TabPFNClassifier

    reduced = [("pca", PCA(min(100, len(X)), random_state=0))] if X.shape[1] > 100 else []
    return Pipeline([*reduced, ("tabpfn", TabPFNClassifier(device="cpu", seed=0))])


def _in_span(model: Any) -> Any:
    return Pipeline([("span", Span()), ("model", model)])


def _inner(X: Any) -> int:
    """Fewest samples that an inner split trains on: two of three."""
    return 2 * len(X) // 3


def _gammas(X: Any) -> list[float]:
    return [width / X.shape[1] for width in WIDTHS]


def _fewer_features(X: Any) -> list[tuple[str, Any]]:
    if X.shape[1] <= MANY_FEATURES:
        return []
    return [("pca", PCA(min(N_PRINCIPAL, _inner(X)), random_state=0))]


def _on_our_splits(model: Any, grid: dict[str, Any], X: Any, y: Any) -> Any:
    """Tuned on the splits that our search takes by itself."""
    n_splits = min(16, max(8, 2000 // len(y)))
    return GridSearchCV(model, grid, cv=list(BalancedSplits(n_splits, 0.2, 0).split(X, y)))


Method = Callable[[Any, Any], Any]
METHODS: dict[str, Method] = {
    "SmoothEmbeddingCV": lambda X, y: SmoothEmbeddingCV(),
    "SmoothEmbedding": lambda X, y: SmoothEmbedding(),
    "SmoothEmbedding, columns as they come": lambda X, y: SmoothEmbedding(),
    "SmoothEmbedding, asinh": lambda X, y: Pipeline(
        [("asinh", FunctionTransformer(np.arcsinh)), ("model", SmoothEmbedding())]
    ),
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
    "1-NN, DTW": nearest_series,
    "TabPFN v1": tabpfn,
}
# Ours: a search, and the estimator without one.
OURS = tuple(METHODS)[:2]
# They run on some sets only, and are shown beside ours there.
REFERENCES = ("TabPFN v1", "1-NN, DTW")
# Ours on columns scaled in other ways: what the others get is standardised.
VARIANTS = {
    "SmoothEmbedding, columns as they come": "not scaled",
    "SmoothEmbedding, asinh": "standardised, then arcsinh",
}
RAW = ("1-NN, DTW", "SmoothEmbedding, columns as they come")
RANKED = tuple(name for name in METHODS if name not in (*REFERENCES, *VARIANTS))
# Optional packages, for measuring only: without one, its method is left out.
PACKAGES = {"supervised UMAP": "umap", "1-NN, DTW": "numba", "TabPFN v1": "tabpfn"}
# They compile themselves when they are first used.
COMPILED = ("supervised UMAP", "1-NN, DTW")
QUICK = (*OURS, "SVC", "shrinkage LDA", "k-NN")
# Of imbalanced tables: seven that are tuned, five as they come (LDA is both).
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
    """Methods that can be run here."""
    return [name for name in METHODS if name not in PACKAGES or find_spec(PACKAGES[name])]


def applies(method: str, kind: str, n_classes: int) -> bool:
    """Whether a method is for data of a kind with so many classes."""
    if method == "TabPFN v1":
        return n_classes <= 10
    return method != "1-NN, DTW" or kind == "series"
