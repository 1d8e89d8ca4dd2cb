"""The configurations of the golden master: small fits of everything public, each a function with a name.

A configuration returns its quantities by name. Samples come from scikit-learn and are the same
everywhere; nothing here knows how numbers are stored or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, methods
from nsse.augment import Images, Noise, Signals
from nsse.centers import CentersPerClass, KMeansCenters, RandomCenters
from nsse.certificates import certified_radius
from nsse.unlabeled import GraphPenalty, LabelPropagation

Numbers = dict[str, Any]
Configuration = Callable[[], Numbers]
N_NEW = 30
CENTERS = 40
PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "joint": {},
    "alternating": {"solver": "alternating"},
    "given sigma": {"sigma": 0.8},
    "units of X": {"length_unit": 1.0, "mu3": 1.0},
    "four dimensions": {"n_components": 4, "mu2": 0.1},
    "weights far apart": {"mu1": 100.0, "mu2": 1e-5},
    "linear": {"classifier": "linear"},
}
SELECTED: Mapping[str, Any] = {
    "kmeans": KMeansCenters(CENTERS),
    "per class": CentersPerClass(CENTERS),
    "random": RandomCenters(CENTERS),
    "indices": np.arange(0, 240, 6),
    "rows": load_digits().data[1200:1240] / 16.0,
}
METHODS = ("SUPLAP", "LFDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg", "SemiRBF")


def digits(n_samples: int = 240, n_classes: int = 5) -> tuple[Any, Any, Any]:
    """Training digits, their labels, and new digits; noise, so that no two neighbours are as near."""
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X = X / 16.0 + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    return X[:n_samples], y[:n_samples], X[-N_NEW:]


def table(n_classes: int = 3, n_features: int = 12, n_samples: int = 150) -> tuple[Any, Any, Any]:
    """Training rows of a generated table, their labels, and new rows."""
    X, y = make_classification(
        n_samples + N_NEW, n_features, n_informative=6, n_classes=n_classes, random_state=0
    )
    return X[:n_samples], y[:n_samples], X[n_samples:]


def weights(n_samples: int) -> Any:
    """Weights around one, integers among them."""
    return np.random.default_rng(0).choice([0.5, 1.0, 2.0, 3.0], n_samples)


def quantities(model: Any, X_new: Any, *, certified: bool = True) -> Numbers:
    """Labels, scores, probabilities, radii and embedding of new samples; the kernel scale."""
    found = {"labels": model.predict(X_new), "embedding": model.transform(X_new)}
    for name, method in {"scores": "decision_function", "probabilities": "predict_proba"}.items():
        if hasattr(model, method):
            found[name] = getattr(model, method)(X_new)
    if certified:
        found["radii"] = certified_radius(model, X_new)
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "sigma_"):
        found["sigma"] = last.sigma_  # in the units of X
    return found


def exact() -> Numbers:
    """The default model: with its metric, its distances and its embedding of the training samples."""
    X, y, X_new = digits(300, 10)
    model = SmoothEmbedding().fit(X, y)
    origin = np.zeros((1, X.shape[1]))
    axes = model.metric_.transform(np.eye(X.shape[1])) - model.metric_.transform(origin)
    return (
        quantities(model, X_new)
        | {
            "metric": axes @ axes.T,  # A'A
            "length unit": model._length_unit,
            "training embedding": model.embedding_[:60],
        }
    )


def exact_with(
    given: Mapping[str, Any], samples: Callable[[], tuple[Any, Any, Any]] = digits
) -> Numbers:
    X, y, X_new = samples()
    return quantities(SmoothEmbedding(**given).fit(X, y), X_new)


def stored_as(convert: Callable[[Any], Any], **given: Any) -> Numbers:
    """The same samples in another form: sparse, in single precision."""
    X, y, X_new = digits()
    return quantities(SmoothEmbedding(**given).fit(convert(X), y), convert(X_new))


def duplicates() -> Numbers:
    X, y, X_new = digits()
    return quantities(SmoothEmbedding().fit(np.vstack([X, X[:20]]), np.hstack([y, y[:20]])), X_new)


def weighted(**given: Any) -> Numbers:
    X, y, X_new = digits()
    return quantities(SmoothEmbedding(**given).fit(X, y, sample_weight=weights(len(y))), X_new)


def unlabelled(use: Any, **given: Any) -> Numbers:
    """Six labels of every class."""
    X, y, X_new = digits()
    keep = np.concatenate([np.flatnonzero(y == label)[:6] for label in np.unique(y)])
    marked = np.full_like(y, -1)
    marked[keep] = y[keep]
    model = SmoothEmbedding(unlabeled=use, **given).fit(X, marked)
    return quantities(model, X_new) | {"transduction": model.transduction_}


def centers(given: Any) -> Numbers:
    X, y, X_new = digits()
    model = SmoothEmbedding(centers=given).fit(X, y)
    return quantities(model, X_new) | {"centers": model.centers_[:5]}


def dask_rows(sample_weight: Any = None) -> Numbers:
    import dask.array as da

    X, y, X_new = digits()
    model = SmoothEmbedding(centers=CENTERS).fit(da.from_array(X, chunks=(70, -1)), y, sample_weight)
    return quantities(model, X_new)


def blocks() -> Numbers:
    X, y, X_new = digits()
    cut = [(X[i : i + 80], y[i : i + 80]) for i in range(0, len(y), 80)]
    return quantities(SmoothEmbedding(centers=CENTERS).fit_blocks(cut), X_new)


def pipeline(*steps: Any) -> Numbers:
    X, y, X_new = table(4, 20)
    return quantities(
        make_pipeline(*steps, SmoothEmbedding()).fit(10.0 * X + 3.0, y), 10.0 * X_new + 3.0
    )


def published(given: Mapping[str, Any]) -> Numbers:
    X, y, X_new = digits(150)
    model = NSSE(**given).fit(X, y)
    return quantities(model, X_new) | {
        "objective": model.objective_,
        "eigenvalues": model.eigenvalues_,
        "training embedding": model.embedding_[:60],
    }


def published_two_classes() -> Numbers:
    X, y, X_new = table(2)
    return quantities(NSSE(mu2=0.1).fit(X, y), X_new)


def within_metric(samples: Callable[[], tuple[Any, Any, Any]], **given: Any) -> Numbers:
    """Distances of new rows in the metric: they depend neither on its axes nor on where zero is."""
    X, y, X_new = samples()
    return {"distances": pdist(WithinMetric(**given).fit(X, y).transform(X_new))}


def compared(method: str) -> Numbers:
    X, y, X_new = digits(150)
    model = getattr(methods, method)().fit(X, y)
    return quantities(model, X_new, certified=method not in ("NYS", "SPE"))


def chosen() -> Numbers:
    """A search: what it chose, and what the ensemble predicts."""
    X, y = load_iris(return_X_y=True)
    is_new = np.arange(len(X)) % 3 == 0
    search = SmoothEmbeddingCV().fit(X[~is_new], y[~is_new])
    return {
        "labels": search.predict(X[is_new]),
        "probabilities": search.predict_proba(X[is_new]),
        "radii": search.certified_radius(X[is_new]),
        "weights": search.weights_,
        "scores": search.cv_results_["mean_test_score"],
    }


IMAGES = Images((8, 8), shift=1, rotate=None)
CONFIGURATIONS: dict[str, Configuration] = {
    "exact": exact,
    "exact, table": partial(exact_with, {}, table),
    "exact, two classes": partial(exact_with, {}, partial(table, 2)),
    "exact, more features than samples": partial(exact_with, {}, partial(table, 3, 300, 60)),
    "exact, nearest": partial(exact_with, {"decision": "nearest"}),
    "exact, Euclidean": partial(exact_with, {"metric": None}),
    "exact, metric": partial(exact_with, {"metric": WithinMetric(0.3, relevance=0.0)}),
    "exact, smooth": partial(exact_with, {"sigma": 4.0, "smoothness": 10.0}),
    "exact, sparse": partial(stored_as, sparse.csr_array),
    "exact, float32": partial(stored_as, np.float32),
    "exact, duplicates": duplicates,
    "exact, sample weights": weighted,
    "exact, class weights": partial(exact_with, {"class_weight": {0: 3.0, 1: 0.5}}),
    "exact, balanced": partial(exact_with, {"class_weight": "balanced"}, table),
    "exact, images": partial(exact_with, {"augment": IMAGES}),
    "exact, signals": partial(exact_with, {"augment": Signals(shift=1)}, table),
    "exact, noise": partial(exact_with, {"augment": Noise(0.1, copies=2)}),
    "exact, unlabelled, smooth": partial(unlabelled, GraphPenalty()),
    "exact, unlabelled, spread": partial(unlabelled, LabelPropagation()),
    **{f"centers, {name}": partial(centers, given) for name, given in SELECTED.items()},
    "centers, two classes": partial(exact_with, {"centers": CENTERS}, partial(table, 2)),
    "centers, sparse": partial(stored_as, sparse.csr_array, centers=CENTERS),
    "centers, float32": partial(stored_as, np.float32, centers=CENTERS),
    "centers, sample weights": partial(weighted, centers=CENTERS),
    "centers, images": partial(exact_with, {"augment": IMAGES, "centers": CENTERS}),
    "centers, unlabelled, smooth": partial(unlabelled, GraphPenalty(), centers=CENTERS),
    "centers, unlabelled, spread": partial(unlabelled, LabelPropagation(), centers=CENTERS),
    "centers, Dask": dask_rows,
    "centers, Dask, weights": partial(dask_rows, weights(240)),
    "centers, blocks": blocks,
    "pipeline, scaler": partial(pipeline, StandardScaler()),
    "pipeline, scaler, PCA": partial(pipeline, StandardScaler(), PCA(10, whiten=True)),
    "search": chosen,
    **{f"published, {name}": partial(published, given) for name, given in PUBLISHED.items()},
    "published, two classes": published_two_classes,
    "metric": partial(within_metric, table, shrinkage=1.0, relevance=0.0),
    "metric, relevance": partial(within_metric, table, shrinkage=0.3, relevance=0.5),
    "metric, more features": partial(
        within_metric, partial(table, 3, 300, 60), shrinkage=1.0, relevance=0.0
    ),
    **{f"method, {method}": partial(compared, method) for method in METHODS},
}
