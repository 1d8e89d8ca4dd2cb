"""Samples that count several times: the same model as of samples that are repeated."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from nsse import NSSE, NSSECV
from nsse.graphs import gaussian_affinity
from nsse.graphs.metric import ClassRows, class_neighbor_graph, counted_neighbor_graph
from nsse.graphs.relevance import feature_weights
from nsse.kernels import median_distance, squared_distances

OPTIONS = {
    "default": {},
    "all neighbours": {"n_neighbors": None},
    "euclidean": {"metric": "euclidean"},
    "samples": {"normalization": "samples"},
    "searched": {"sigma": None},
    "published": {
        "sigma": None,
        "metric": "euclidean",
        "normalization": "samples",
        "classifier": "nearest",
    },
    "fewer components": {"n_components": 1},
    "logistic": {"classifier": LogisticRegression(tol=1e-12, max_iter=10_000)},
    "clusters": {"n_landmarks": 8},
    "clusters, all neighbours": {"n_landmarks": 8, "n_neighbors": None},
    "random": {"n_landmarks": 8, "landmarks": "random", "sigma": None},
    "ill-conditioned": {"mu2": 1e-12, "sigma": 3.0},
}


def counted(n=40, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, 4)) + y[:, np.newaxis], y, rng.integers(0, 5, n)


@pytest.mark.filterwarnings("ignore::nsse.ConditioningWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_whole_weights_are_repeated_rows(options, n_classes):
    X, y, w = counted(n_classes=n_classes)
    order = np.random.default_rng(9).permutation(len(y))
    weighted = NSSE(**options).fit(X[order], y[order], sample_weight=w[order])
    repeated = NSSE(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    new = np.random.default_rng(1).normal(size=(200, 4)) + 1.0
    # A σ that is found is so to the tolerance of its search.
    digits = 1e-5 if "sigma" in options or "mu2" in options else 1e-8
    tol = {"rtol": digits, "atol": digits}
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), **tol)
    if "mu2" not in options:  # there τ is a matter of rounding, within 1 %
        np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), **tol)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    np.testing.assert_allclose(weighted.length_unit_, repeated.length_unit_, rtol=1e-12)
    kept = order[w[order] > 0]
    np.testing.assert_array_equal(weighted.labels_, y[kept])
    np.testing.assert_allclose(weighted.embedding_, weighted.transform(X[kept]), **tol)


def test_of_sparse_rows_and_single_precision_too():
    X, y, w = counted()
    for rows, options in (
        (sparse.csr_array(np.where(X > 0.5, X, 0.0)), {}),
        (X.astype(np.float32), {"landmarks": X[:9].astype(np.float32), "metric": "euclidean"}),
    ):
        weighted = NSSE(**options).fit(rows, y, sample_weight=w)
        many = np.repeat(np.arange(len(y)), w)
        repeated = NSSE(**options).fit(rows[many], y[many])
        tol = 1e-8 if not options else 1e-3
        np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=tol)


def test_of_blocks_too():
    X, y, w = counted()
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    options = {"landmarks": X[:9]}
    whole = NSSE(**options).fit(X, y, sample_weight=w)
    blocks = [(X[:20], y[:20]), (X[20:], y[20:])]
    cut = NSSE(**options).fit_blocks(blocks, sample_weight=w)
    np.testing.assert_array_equal(cut.transform(X), whole.transform(X))
    np.testing.assert_array_equal(cut.predict_proba(X), whole.predict_proba(X))
    balanced = (
        NSSE(**options, class_weight="balanced").fit(X, y),
        NSSE(**options, class_weight="balanced").fit_blocks(blocks),
    )
    np.testing.assert_array_equal(*(model.transform(X) for model in balanced))
    with pytest.raises(ValueError, match="be positive where samples come in blocks"):
        NSSE(**options).fit_blocks(blocks, sample_weight=np.r_[0.0, np.ones(len(y) - 1)])


def test_weights_of_one_change_nothing():
    X, y, _ = counted()
    plain = NSSE().fit(X, y)
    for model in (
        NSSE().fit(X, y, sample_weight=np.ones(len(y))),
        NSSE().fit(X, y, sample_weight=1),
        NSSE(class_weight={0: 1.0}).fit(X, y),
    ):
        np.testing.assert_array_equal(model.transform(X), plain.transform(X))
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_class_weights_multiply_those_of_samples():
    X, y, w = counted()
    given = NSSE(class_weight={0: 3.0, 2: 2.0}).fit(X, y, sample_weight=w)
    by_hand = NSSE().fit(X, y, sample_weight=w * np.array([3.0, 1.0, 2.0])[y])
    np.testing.assert_array_equal(given.transform(X), by_hand.transform(X))
    sizes = np.bincount(y, w)
    balanced = NSSE(class_weight="balanced").fit(X, y, sample_weight=w)
    by_hand = NSSE().fit(X, y, sample_weight=w * (w.sum() / (3 * sizes))[y])
    np.testing.assert_allclose(balanced.transform(X), by_hand.transform(X), atol=1e-10)
    np.testing.assert_allclose(balanced.classifier_.sizes, w.sum() / 3)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 60}])
def test_balance_helps_a_small_class(options):
    rng = np.random.default_rng(0)
    y = (np.arange(1200) % 20 == 0).astype(int)
    X = rng.normal(size=(1200, 5)) + 1.2 * y[:, np.newaxis]
    train, test = np.arange(1200) < 400, np.arange(1200) >= 400
    scores = [
        balanced_accuracy_score(
            y[test], NSSE(class_weight=weight, **options).fit(X[train], y[train]).predict(X[test])
        )
        for weight in (None, "balanced")
    ]
    assert scores[1] > scores[0] + 0.1


def test_weights_between_whole_ones_lie_between():
    """No jump: a weight a little above or below a whole one gives nearly the same model."""
    X, y, w = counted()
    models = [
        NSSE().fit(X, y, sample_weight=np.maximum(w + step * (w > 0), 0.0)) for step in (-1e-6, 0, 1e-6)
    ]
    for model in models:
        np.testing.assert_allclose(model.transform(X), models[1].transform(X), atol=1e-3)


# The parts, each against the same part of repeated rows


def repeated_sums(W, many, n):
    """W of repeated rows summed over the copies of every pair."""
    E = np.zeros((len(many), n))
    E[np.arange(len(many)), many] = 1.0
    total = E.T @ W.toarray() @ E
    np.fill_diagonal(total, 0.0)
    return total


@pytest.mark.parametrize("k", [1, 3, 5, 12, None])
def test_edges_are_those_between_copies(k):
    X, y, w = counted(seed=3)
    X, y, w = X[w > 0], y[w > 0], w[w > 0].astype(float)
    many = np.repeat(np.arange(len(y)), w.astype(int))
    D2 = squared_distances(X)
    D2_many = squared_distances(X[many])
    for beta in (None, 0.7):
        expected = repeated_sums(gaussian_affinity(D2_many, y[many], k, beta), many, len(y))
        found = gaussian_affinity(D2, y, k, beta, w).toarray()
        np.testing.assert_allclose(found, expected, atol=1e-12)
    rows = ClassRows.of(X, y)
    _, n_edges = counted_neighbor_graph(rows, k, squared_distances, w)
    repeated = class_neighbor_graph(ClassRows.of(X[many], y[many]), k, squared_distances)
    assert n_edges == pytest.approx(repeated.nnz / 2)


def test_units_and_relevance_are_those_of_repeated_rows():
    for seed in range(5):
        X, y, w = counted(seed=seed)
        X, y, w = X[w > 0].round(1), y[w > 0], w[w > 0]
        many = np.repeat(np.arange(len(y)), w)
        unit = median_distance(squared_distances(X), w.astype(float))
        assert unit == pytest.approx(median_distance(squared_distances(X[many])), rel=1e-12)
        found = feature_weights(X, y, 0.5, w.astype(float))
        np.testing.assert_allclose(found, feature_weights(X[many], y[many], 0.5), rtol=1e-10)


def test_a_search_fits_with_the_weights_of_classes():
    X, y, _ = counted(n=60)
    search = NSSECV(estimator=NSSE(class_weight="balanced"), n_repeats=2, n_voters=2).fit(X, y)
    best = search.best_estimator_
    alone = NSSE(**best.get_params()).fit(X, y)
    np.testing.assert_array_equal(best.transform(X), alone.transform(X))
    assert all(voter.class_weight == "balanced" for voter in search.voters_)
