"""The tables of methods that a study compares: ours, and what people use, tuned.

To add or rename one is a line of `METHODS`; ours are the first two. Each is a function of the training
samples, which are standardised, and their labels, that gives a classifier. Grids are small and
tuned on inner splits of the training samples: five folds where a fit is a matter of milliseconds, three
for a forest and NCA, one split for boosting and UMAP, which take a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.splits import BalancedSplits

# Beyond so many features boosting and NCA see principal components, for the sake of time.
MANY_FEATURES, N_PRINCIPAL = 300, 50
# Widths of a Gaussian by 1 / n_features: standardised samples have a mean squared distance of 2 n.
WIDTHS = (0.1, 0.3, 1.0, 3.0)
PENALTIES = [1.0, 10.0, 100.0, 1000.0]
FIVE_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
THREE_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
ONE_SPLIT = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)


def svc(X: Any, y: Any) -> Any:
    """Support vector machine, Gaussian kernel: 16 points."""
    return GridSearchCV(SVC(), {"C": PENALTIES, "gamma": _gammas(X)}, cv=FIVE_FOLDS)


def shrinkage_lda(X: Any, y: Any) -> Any:
    """Linear discriminant analysis; Ledoit and Wolf's formula is its tuning."""
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def logistic(X: Any, y: Any) -> Any:
    """Logistic regression: 4 penalties."""
    return GridSearchCV(LogisticRegression(max_iter=200), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=FIVE_FOLDS)


def neighbors(X: Any, y: Any) -> Any:
    """A vote of the nearest: 1 to 9 of them."""
    numbers = [k for k in (1, 3, 5, 9) if k <= _inner(X)]
    return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": numbers}, cv=FIVE_FOLDS)


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
    steps = [("kpca", KernelPCA(kernel="rbf", random_state=0)), ("lda", shrinkage_lda(X, y))]
    numbers = sorted({min(number, _inner(X) // 2) for number in (20, 100, 300)})
    grid = {"kpca__gamma": _gammas(X), "kpca__n_components": numbers}
    return GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS)


def supervised_umap(X: Any, y: Any) -> Any:
    """UMAP that sees the classes, and five neighbours: 2 numbers of neighbours in its graph."""
    import umap

    inner = _inner(X)
    n_components = min(10, max(2, len(np.unique(y)) - 1), inner - 2)
    model = umap.UMAP(n_components=n_components, random_state=0, n_jobs=1)
    steps = [("umap", model), ("nearest", KNeighborsClassifier(min(5, inner)))]
    numbers = sorted({min(k, inner - 1) for k in (5, 15)})
    return GridSearchCV(Pipeline(steps), {"umap__n_neighbors": numbers}, cv=ONE_SPLIT)


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
    "SVC": svc,
    "shrinkage LDA": shrinkage_lda,
    "logistic regression": logistic,
    "k-NN": neighbors,
    "random forest": forest,
    "boosting": boosting,
    "NCA": nca,
    "kernel PCA + LDA": kernel_pca_lda,
    "supervised UMAP": supervised_umap,
}
# In a process of its own: it compiles itself at import and starts threads.
APART = ("supervised UMAP",)
QUICK = ("SmoothEmbeddingCV", "SmoothEmbedding", "SVC", "shrinkage LDA", "k-NN")
# Rows of version 0.2, which no code computes any more: their stored names, and how they are shown.
OF_0_2 = {"NSSECV": "NSSECV 0.2", "NSSE": "NSSE 0.2", "NSSE, Euclidean": "NSSE 0.2, Euclidean"}
# Ours, always a search and the estimator without one first: pages speak of the first two that are there.
OURS = (*QUICK[:2], *OF_0_2.values())
SHOWN = (*OURS, *tuple(METHODS)[2:])
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
    "NSSE.as_published()": lambda X, y: NSSE(),
    "SVC(C=10)": lambda X, y: SVC(C=10),
    "1-NN": lambda X, y: KNeighborsClassifier(1),
}
# How rows are shown: what 0.2 called NSSE is another model, and the paper's had another name.
IMBALANCED_NAMES = {
    "NSSECV()": "NSSECV() 0.2",
    "NSSE()": "NSSE() 0.2",
    "NSSE.as_published()": "NSSE(), the paper's",
    'NSSE(metric="euclidean")': 'NSSE(metric="euclidean") 0.2',
    'NSSE.as_published(metric="within", shrinkage=3)': "NSSE 0.2, the paper's in the metric",
}
IMBALANCED_TUNED = ("SmoothEmbeddingCV()", "NSSECV() 0.2", *tuple(IMBALANCED)[1:7])
IMBALANCED_UNTUNED = ("SmoothEmbedding()", "NSSE() 0.2", "NSSE(), the paper's", "SVC(C=10)", "1-NN")
IMBALANCED_PLAIN = ("LDA", *IMBALANCED_UNTUNED)
IMBALANCED_SHOWN = (*IMBALANCED_TUNED, *IMBALANCED_UNTUNED, *tuple(IMBALANCED_NAMES.values())[3:])


def available() -> list[str]:
    """Methods that can be run here: UMAP is an optional part."""
    return [name for name in METHODS if name not in APART or find_spec("umap")]
