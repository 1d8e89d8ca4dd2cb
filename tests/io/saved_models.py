"""Small fitted models of every kind, which the tests of files and graphs share."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, methods
from nsse.affine import Affine
from nsse.augment import Noise
from nsse.centers import CentersPerClass, KMeansCenters, RandomCenters
from nsse.datasets import TableEncoder
from nsse.kernels import Matern32
from nsse.pipelines import AffineStep
from nsse.unlabeled import GraphPenalty, LabelPropagation

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
WIDE = np.random.default_rng(0).standard_normal((len(X), 40)) + np.repeat(X, 10, axis=1)
FACTORED = Affine(
    np.full(4, 2.0),
    np.array([1.0, 2.0, 0.5, 1.0]),
    np.ones(3),
    sparse.csr_array([[1.0, 0, 0, 0, 1], [0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, -1, 3, 1]]),
    tail=np.random.default_rng(0).standard_normal((5, 3)),
)
COLUMNS = ColumnTransformer(
    [
        ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), [0, 2]),
        ("as they are", "passthrough", [3]),
    ]
)
SOME = np.where(np.arange(len(Y)) % 3 == 0, Y, -1)

# A name, the unfitted model, samples and labels.
PROBLEMS = {
    "default": (SmoothEmbedding(), X, Y),
    "nearest": (SmoothEmbedding(decision="nearest"), X, Y),
    "plane": (SmoothEmbedding(1, sigma=2.0, smoothness=1.0), X, NAMES),
    "euclidean": (SmoothEmbedding(metric=None), X, Y),
    "metric": (SmoothEmbedding(metric=WithinMetric(np.inf, relevance=0.0, n_neighbors=None)), X, Y),
    "wide": (SmoothEmbedding(centers=RandomCenters(9)), WIDE[:30], NAMES[:60:2]),
    "number": (SmoothEmbedding(centers=20, class_weight={0: 1.0, 1: 2.5, 2: 1.0}), X, Y),
    "k-means": (
        SmoothEmbedding(centers=KMeansCenters(12), class_weight="balanced"),
        X,
        NAMES.astype(object),
    ),
    "per class": (SmoothEmbedding(centers=CentersPerClass(12)), X.astype(np.float32), Y),
    "rows": (SmoothEmbedding(centers=X[::7]), X, Y.astype(float)),
    "places": (SmoothEmbedding(centers=[0, 60, 120, 149]), X, Y),
    "augmented": (SmoothEmbedding(augment=Noise(0.1)), X, Y),
    "smooth": (SmoothEmbedding(unlabeled=GraphPenalty(0.5)), X, SOME),
    "spread": (SmoothEmbedding(unlabeled=LabelPropagation(marker="")), X, np.where(SOME < 0, "", NAMES)),
    "missing": (SmoothEmbedding(unlabeled=GraphPenalty()), X, np.where(SOME < 0, None, NAMES)),
    "two classes": (SmoothEmbedding(), X, Y == 1),
    "sparse": (SmoothEmbedding(), sparse.csr_array(np.where(X < 2, 0, X)), Y),
    "published": (NSSE(), X, Y),
    "published, linear": (NSSE(classifier="linear", solver="alternating", length_unit=1.0), X, NAMES),
    "published, sparse": (NSSE(sigma=1.0), sparse.csr_matrix(np.where(X < 2, 0, X)), Y),
    "metric alone": (WithinMetric(2.0), X, Y),
    "standardised": (make_pipeline(StandardScaler(), SmoothEmbedding()), X, NAMES),
    "reduced": (make_pipeline(MinMaxScaler(), PCA(2), NSSE(sigma=1.0)), X, Y),
    "factored": (make_pipeline(AffineStep(FACTORED), SmoothEmbedding()), X, Y),
    "imputed": (make_pipeline(StandardScaler(), SimpleImputer(), SmoothEmbedding()), X, Y),
    "columns": (make_pipeline(COLUMNS, SmoothEmbedding()), X, Y),
    "table": (make_pipeline(TableEncoder(), StandardScaler(), SmoothEmbedding()), X, NAMES),
    "ensemble": (
        SmoothEmbeddingCV(grid={"sigma": [0.5, 1.0], "smoothness": [0.1]}, cv=3, max_members=3),
        X,
        NAMES,
    ),
    "augmented ensemble": (
        SmoothEmbeddingCV(
            grid={"kernel": ["gaussian", Matern32()]}, augment=[None, Noise(0.1)], cv=3, max_members=3
        ),
        X,
        Y,
    ),
    "smooth ensemble": (
        SmoothEmbeddingCV(SmoothEmbedding(unlabeled=GraphPenalty()), cv=3, max_members=3),
        X,
        SOME,
    ),
    "scored": (
        SmoothEmbeddingCV(grid={"sigma": [0.5, 1.0], "smoothness": [0.1]}, cv=2, scoring="accuracy"),
        X,
        NAMES,
    ),
    "plane of an ensemble": (SmoothEmbeddingCV(SmoothEmbedding(1), cv=3, max_members=2), X, Y),
    "search": (GridSearchCV(make_pipeline(StandardScaler(), SmoothEmbedding()), {}, cv=2), X, Y),
    **{kind.__name__: (kind(), X, Y) for kind in vars(methods).values() if isinstance(kind, type)},
}


@cache
def fitted(name):
    """Return the model with this name, which is fitted once. Tests must not change it."""
    model, samples, labels = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(samples, labels)


def new_samples(name, n_samples=200):
    """Return samples around the training samples of a model, and some that are far away."""
    _, samples, _ = PROBLEMS[name]
    dense = samples.toarray() if sparse.issparse(samples) else samples
    rng = np.random.default_rng(1)
    rows = dense[rng.integers(len(dense), size=n_samples)]
    new = rows + rng.choice([0.1, 0.5, 3.0], size=(n_samples, 1)) * rng.standard_normal(rows.shape)
    return sparse.csr_array(new) if sparse.issparse(samples) else new.astype(dense.dtype)
