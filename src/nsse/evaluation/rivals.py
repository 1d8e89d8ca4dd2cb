"""What people use, tuned: scikit-learn's classifiers and supervised UMAP, for standardised samples.

Each is a function of the shape of the training samples that gives a classifier. Grids are small and
tuned on inner splits of the training samples: five folds where a fit is a matter of milliseconds, three
for a forest and NCA, one split for boosting and UMAP, which take a hundred times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from nsse._errors import optional

# Beyond so many features boosting and NCA see principal components, for the sake of time.
MANY_FEATURES, N_PRINCIPAL = 300, 50
# Widths of a Gaussian by 1 / n_features: standardised samples have a mean squared distance of 2 n.
WIDTHS = (0.1, 0.3, 1.0, 3.0)
FIVE_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
THREE_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
ONE_SPLIT = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=0)


@dataclass(frozen=True)
class Shape:
    """What a grid may depend on: the training samples' number, features and classes."""

    n_train: int
    n_features: int
    n_classes: int

    @property
    def n_inner(self) -> int:
        """Fewest samples that an inner split trains on: two of three."""
        return 2 * self.n_train // 3


def svc(shape: Shape) -> Any:
    """Support vector machine, Gaussian kernel: 16 points."""
    grid = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": _gammas(shape)}
    return GridSearchCV(SVC(), grid, cv=FIVE_FOLDS)


def shrinkage_lda(shape: Shape) -> Any:
    """Linear discriminant analysis; Ledoit and Wolf's formula is its tuning."""
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def logistic(shape: Shape) -> Any:
    """Logistic regression: 4 penalties."""
    return GridSearchCV(LogisticRegression(max_iter=200), {"C": [0.01, 0.1, 1.0, 10.0]}, cv=FIVE_FOLDS)


def neighbors(shape: Shape) -> Any:
    """A vote of the nearest: 1 to 9 of them."""
    numbers = [k for k in (1, 3, 5, 9) if k <= shape.n_inner]
    return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": numbers}, cv=FIVE_FOLDS)


def forest(shape: Shape) -> Any:
    """Random forest of 100 trees: 2 sizes of a leaf."""
    model = RandomForestClassifier(100, random_state=0)
    return GridSearchCV(model, {"min_samples_leaf": [1, 3]}, cv=THREE_FOLDS)


def boosting(shape: Shape) -> Any:
    """Histogram gradient boosting, 50 rounds: 2 sizes of a leaf, both smaller than its own."""
    # With the 20 samples in a leaf that it asks for, 20 samples of a class make no tree.
    steps = [*_fewer_features(shape), ("boosting", HistGradientBoostingClassifier(max_iter=50))]
    model = Pipeline(steps).set_params(boosting__random_state=0)
    return GridSearchCV(model, {"boosting__min_samples_leaf": [2, 5]}, cv=ONE_SPLIT)


def nca(shape: Shape) -> Any:
    """Neighbourhood components analysis and three neighbours: 2 dimensions."""
    reduced = _fewer_features(shape)
    width = min(N_PRINCIPAL, shape.n_inner) if reduced else shape.n_features
    steps = [
        *reduced,
        ("nca", NeighborhoodComponentsAnalysis(max_iter=30, random_state=0)),
        ("nearest", KNeighborsClassifier(3)),
    ]
    grid = {"nca__n_components": sorted({min(2, width), min(10, width)})}
    return GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS)


def kernel_pca_lda(shape: Shape) -> Any:
    """Kernel principal components and LDA of them: 4 widths, up to 3 numbers of components."""
    most = shape.n_inner // 2
    steps = [("kpca", KernelPCA(kernel="rbf", random_state=0)), ("lda", shrinkage_lda(shape))]
    numbers = sorted({min(number, most) for number in (20, 100, 300)})
    grid = {"kpca__gamma": _gammas(shape), "kpca__n_components": numbers}
    return GridSearchCV(Pipeline(steps), grid, cv=THREE_FOLDS)


def supervised_umap(shape: Shape) -> Any:
    """UMAP that sees the classes, and five neighbours: 2 numbers of neighbours in its graph."""
    umap = optional("umap", "Supervised UMAP needs umap-learn", "umap")
    n_components = min(10, max(2, shape.n_classes - 1), shape.n_inner - 2)
    model = umap.UMAP(n_components=n_components, random_state=0, n_jobs=1)
    steps = [("umap", model), ("nearest", KNeighborsClassifier(min(5, shape.n_inner)))]
    numbers = sorted({min(k, shape.n_inner - 1) for k in (5, 15)})
    return GridSearchCV(Pipeline(steps), {"umap__n_neighbors": numbers}, cv=ONE_SPLIT)


def _gammas(shape: Shape) -> list[float]:
    return [width / shape.n_features for width in WIDTHS]


def _fewer_features(shape: Shape) -> list[tuple[str, Any]]:
    if shape.n_features <= MANY_FEATURES:
        return []
    return [("pca", PCA(min(N_PRINCIPAL, shape.n_inner), random_state=0))]
