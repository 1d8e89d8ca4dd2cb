"""The maps of the benchmark: each is fitted to training samples and places new samples one by one.

A method is a function of training samples, their classes and a number of coordinates. It returns one or
more fitted maps. Models of ours give several, because one fit has an embedding and a class map, each
with two positions of the training samples. Parameters are the defaults of the methods, except that the
width of kernel PCA is chosen on three folds of the training samples.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse._support.types import Bools, Floats, Ints
from nsse.class_maps import ClassMap, class_map_of, confusions, training_probabilities
from nsse.methods import LFDA, SUPLAP

Place = Callable[[Floats], Floats]
LEFT_OUT = ", left out"
CLASS_MAP = " class map"
# With more features, NCA sees principal components, because its time grows with their square, and LDA
# sees all of them, because it would need covariances of all features.
MANY_FEATURES, TOO_MANY_FEATURES, N_PRINCIPAL = 300, 1000, 50
# Widths of a Gaussian by 1 / n_features: standardized samples have a mean squared distance of 2 n.
WIDTHS = (0.1, 0.3, 1.0, 3.0)
N_NEIGHBORS_OF_UMAP = 15
N_NEIGHBORS = 5


@dataclass(frozen=True)
class FittedMap:
    """A map of one fit: its name, its model, the positions of training samples, and new positions."""

    name: str
    model: Any
    train: Floats
    place: Place


def of_transform(name: str, model: Any, X: Floats) -> list[FittedMap]:
    """Return the map of an estimator with ``transform``."""
    return [FittedMap(name, model, columns(model.transform(X)), lambda Z: columns(model.transform(Z)))]


def columns(F: Any) -> Floats:
    """Return positions as a matrix of floats."""
    F = np.asarray(F, dtype=np.float64)
    return F.reshape(len(F), -1)


def ours(name: str, model: Any) -> Callable[[Floats, Ints, int], list[FittedMap]]:
    """Return a method that has an embedding and, in two dimensions, a class map.

    The fitted positions of the training samples and their left-out positions are two maps of one fit.
    """

    def fit(X: Floats, y: Ints, d: int) -> list[FittedMap]:
        fitted = model().fit(X, y)

        def embed(Z: Floats) -> Floats:
            return columns(fitted.transform(Z))[:, :d]

        left_out = columns(fitted.left_out_embedding_)[:, :d]
        found = [
            FittedMap(name, fitted, embed(X), embed),
            FittedMap(name + LEFT_OUT, fitted, left_out, embed),
        ]
        if d != 2:
            return found
        placed = class_map_of(fitted)

        def place(Z: Floats) -> Floats:
            return placed(fitted.predict_proba(Z))

        left_out = placed(training_probabilities(fitted)[0])
        return [
            *found,
            FittedMap(name + CLASS_MAP, fitted, place(X), place),
            FittedMap(name + CLASS_MAP + LEFT_OUT, fitted, left_out, place),
        ]

    return fit


def drawn_as_class_map(name: str, model: Any) -> Callable[[Floats, Ints, int], list[FittedMap]]:
    """Return a method that draws the class probabilities of a classifier.

    The order of the corners is that of the confusions on training samples.
    """

    def fit(X: Floats, y: Ints, d: int) -> list[FittedMap]:
        fitted = model(X).fit(X, y)
        placed = ClassMap.of_confusions(confusions(fitted.predict_proba(X), y))

        def place(Z: Floats) -> Floats:
            return placed(fitted.predict_proba(Z))

        return [FittedMap(name, fitted, place(X), place)]

    return fit


def shrunk_lda(X: Floats, n_components: int | None = None) -> Any:
    """Return LDA with the shrinkage of Ledoit and Wolf."""
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto", n_components=n_components)
    return make_pipeline(PCA(random_state=0), lda) if X.shape[1] > TOO_MANY_FEATURES else lda


def lda(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """LDA with shrinkage."""
    return of_transform("LDA", shrunk_lda(X, most_axes(y, d)).fit(X, y), X)


def most_axes(y: Ints, d: int) -> int:
    """Return the number of axes that separate class means, at most d."""
    return int(min(d, len(np.unique(y)) - 1))


def pls_da(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """Partial least squares on class indicators."""
    Y = np.eye(y.max() + 1)[y]
    model = PLSRegression(min(d, X.shape[1], len(X) - 1), scale=False).fit(X, Y)
    return of_transform("PLS-DA", model, X)


def nca(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """Neighborhood components analysis."""
    learned = NeighborhoodComponentsAnalysis(min(d, X.shape[1], len(X)), max_iter=50, random_state=0)
    steps = [("nca", learned)]
    if X.shape[1] > MANY_FEATURES:
        n_components = min(max(N_PRINCIPAL, d), len(X))
        steps = [("pca", PCA(n_components, random_state=0)), *steps]
    return of_transform("NCA", Pipeline(steps).fit(X, y), X)


def lfda(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """Local Fisher discriminant analysis."""
    return of_transform("LFDA", LFDA(min(d, X.shape[1])).fit(X, y), X)


def kernel_pca_lda(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """LDA of kernel principal components, whose width is chosen on three folds."""
    n_components = min(100, 2 * len(X) // 3 - 1)
    kernel = KernelPCA(n_components, kernel="rbf", random_state=0)
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto", n_components=most_axes(y, d))
    grid = {"kernel__gamma": [width / X.shape[1] for width in WIDTHS]}
    steps = Pipeline([("kernel", kernel), ("lda", lda)])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    best = GridSearchCV(steps, grid, cv=folds).fit(X, y).best_estimator_
    return of_transform("kernel PCA + LDA", best, X)


def pcovc(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """Principal covariates classification, half PCA and half logistic regression."""
    from skmatter.decomposition import PCovC

    n_components = min(d, X.shape[1], len(X) - 1)
    classifier = LogisticRegression(max_iter=1000)
    model = PCovC(0.5, n_components, classifier=classifier, scale_z=True, random_state=0)
    return of_transform("PCovC", model.fit(X, y), X)


def supervised_umap(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """UMAP that is given the classes of the training samples."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # read at import
    import umap

    n_neighbors = min(N_NEIGHBORS_OF_UMAP, len(X) - 1)
    model = umap.UMAP(n_neighbors, n_components=d, random_state=0, n_jobs=1).fit(X, y)
    place: Place = lambda Z: columns(model.transform(Z))  # noqa: E731
    return [FittedMap("supervised UMAP", model, columns(model.embedding_), place)]


class ForestPhate:
    """RF-PHATE: PHATE of the proximities of a random forest, with an extension to new samples.

    The package ``rf_phate`` can be installed but not imported, so its two steps are here, with the 100
    trees that it grows whatever number it is given. The proximity
    of two samples is the share of trees with both in one leaf, among the trees that were grown without
    both. The extension is ours: a new sample is placed at the mean of the positions of the five training
    samples with the largest proximities, weighted by proximity.
    """

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: Floats, y: Ints) -> ForestPhate:
        """Grow the forest and place the training samples."""
        from phate import PHATE

        self.forest_ = RandomForestClassifier(random_state=0).fit(X, y)
        self.leaves_ = self.forest_.apply(X)
        self.is_left_out_ = np.ones(self.leaves_.shape, dtype=bool)
        for tree, drawn in enumerate(self.forest_.estimators_samples_):
            self.is_left_out_[drawn, tree] = False
        proximities = self._proximities(self.leaves_, self.is_left_out_)
        np.fill_diagonal(proximities, 1.0)
        phate = PHATE(self.n_components, knn_dist="precomputed_affinity", random_state=0, verbose=0)
        self.embedding_ = np.asarray(phate.fit_transform(proximities))
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the positions of new samples."""
        leaves = self.forest_.apply(X)
        proximities = self._proximities(leaves, np.ones(leaves.shape, dtype=bool))
        least = np.sort(proximities, axis=1)[:, -N_NEIGHBORS, np.newaxis]
        proximities[proximities < least] = 0.0
        # A sample that shares no leaf is placed in the middle.
        proximities += 1e-12
        return proximities @ self.embedding_ / proximities.sum(axis=1, keepdims=True)

    def _proximities(self, leaves: Ints, is_left_out: Bools) -> Floats:
        shared = np.zeros((len(leaves), len(self.leaves_)))
        both = np.asarray(is_left_out, dtype=float) @ self.is_left_out_.T.astype(float)
        for tree in range(leaves.shape[1]):
            same = leaves[:, tree, np.newaxis] == self.leaves_[:, tree]
            shared += same & is_left_out[:, tree, np.newaxis] & self.is_left_out_[:, tree]
        return np.asarray(shared / np.maximum(both, 1.0))


def forest_phate(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """RF-PHATE with a stated extension to new samples."""
    model = ForestPhate(d).fit(X, y)
    return [FittedMap("RF-PHATE", model, model.embedding_, model.transform)]


def nsse(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """The method of the paper."""
    return of_transform("NSSE", NSSE(n_components=most_axes(y, d)).fit(X, y), X)


def suplap(X: Floats, y: Ints, d: int) -> list[FittedMap]:
    """Supervised Laplacian eigenmaps with a smooth extension."""
    return of_transform("SUPLAP", SUPLAP(n_components=most_axes(y, d)).fit(X, y), X)


def _logistic(X: Floats) -> Any:
    return LogisticRegression(max_iter=500)


Method = Callable[[Floats, Ints, int], list[FittedMap]]
METHODS: dict[str, Method] = {
    "SmoothEmbeddingCV": ours("SmoothEmbeddingCV", SmoothEmbeddingCV),
    "SmoothEmbedding": ours("SmoothEmbedding", SmoothEmbedding),
    "supervised UMAP": supervised_umap,
    "LDA": lda,
    "LDA class map": drawn_as_class_map("LDA class map", shrunk_lda),
    "logistic class map": drawn_as_class_map("logistic class map", _logistic),
    "PLS-DA": pls_da,
    "NCA": nca,
    "LFDA": lfda,
    "kernel PCA + LDA": kernel_pca_lda,
    "PCovC": pcovc,
    "RF-PHATE": forest_phate,
    "NSSE": nsse,
    "SUPLAP": suplap,
}
# Only in two dimensions.
FLAT = ("LDA class map", "logistic class map", "RF-PHATE")
# Classifiers of all features, for comparison. They have no map.
REFERENCES: dict[str, Callable[[], Any]] = {
    "5-NN of all features": lambda: KNeighborsClassifier(N_NEIGHBORS),
    "forest of all features": lambda: RandomForestClassifier(200, random_state=0),
}
# Methods of optional packages, and methods that compile themselves when they are first used.
PACKAGES = {"supervised UMAP": "umap", "PCovC": "skmatter.decomposition._pcovc"}
PACKAGES |= {"RF-PHATE": "phate"}
COMPILED = ("supervised UMAP", "RF-PHATE")


def available() -> list[str]:
    """Return the methods that can be run here."""
    return [name for name in METHODS if name not in PACKAGES or _is_found(PACKAGES[name])]


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False
