"""SPE against its definition: eigenmap, codes, exact representation, wording of errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import oracles_methods_a as oracles
from nsse import SPE, DegenerateEmbeddingWarning
from nsse.extensions import SparseCoder
from nsse.extensions.sparse_coding import lasso_code
from nsse.solvers import eigenmap


def fitted(data, **parameters):
    return SPE(**{"n_components": 3, **parameters}).fit(*data)


def up_to_sign(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


@pytest.mark.parametrize("beta", [None, 20.0])
@pytest.mark.parametrize("k", [None, 12])
def test_embedding_equals_the_literal_eigenmap(blobs, k, beta):
    model = fitted(blobs, n_neighbors=k, beta=beta, length_unit=1.0)
    W = oracles.neighbor_weights(blobs.X, k, beta)
    values, Y = oracles.laplacian_eigenmap(W, 3)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    np.testing.assert_allclose(model.embedding_, up_to_sign(Y, model.embedding_), atol=1e-9)


def test_embedding_is_the_minimiser(blobs):
    model = fitted(blobs)
    W = oracles.neighbor_weights(blobs.X)
    D = W.sum(axis=1)
    least = oracles.spread(model.embedding_, W)
    np.testing.assert_allclose((model.embedding_.T * D) @ model.embedding_, np.eye(3), atol=1e-9)
    assert least == pytest.approx(model.eigenvalues_.sum(), rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(10):
        A = rng.standard_normal((60, 3))
        A -= D @ A / D.sum()
        Y = np.linalg.qr(A * np.sqrt(D)[:, np.newaxis])[0] / np.sqrt(D)[:, np.newaxis]
        assert oracles.spread(Y, W) > least


@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("n_features", [5, 80])
def test_map_equals_the_definition(make_blobs, n_features, alpha):
    data = make_blobs((10, 8, 7), n_features=n_features)
    model = fitted(data, alpha=alpha)
    new = np.random.default_rng(0).standard_normal((6, n_features))
    expected = [oracles.sparse_coding_map(data.X, model.embedding_, x, alpha) for x in new]
    np.testing.assert_allclose(model.transform(new), expected, atol=2e-5)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 0.99])
@pytest.mark.parametrize("n_features", [2, 5, 200])
def test_a_training_sample_keeps_its_coordinates(make_blobs, n_features, alpha):
    data = make_blobs((10, 8, 7), n_features=n_features)
    Y = np.random.default_rng(0).standard_normal((25, 2))
    np.testing.assert_allclose(SparseCoder.at(data.X, Y, alpha)(data.X), Y, atol=1e-9)
    np.testing.assert_allclose(SparseCoder.at(data.X, Y, alpha)(3.7 * data.X), Y, atol=1e-9)


def test_an_exact_combination_is_found():
    """x = 0.6 e_1 + 0.3 e_3 over an orthonormal basis: soft thresholding of the entries by 0.6 α."""
    Y = np.arange(8.0).reshape(4, 2)
    x = np.array([[0.6, 0.0, 0.3, 0.0]])
    value = SparseCoder.at(np.eye(4), Y, 1e-3)(x)
    a, b = 0.6 - 6e-4, 0.3 - 6e-4
    np.testing.assert_allclose(value, [(a * Y[0] + b * Y[2]) / (a + b)], rtol=1e-12)
    np.testing.assert_allclose(SparseCoder.at(np.eye(4), Y, 0.7)(x), Y[[0]])


def test_codes_are_optimal(digits):
    X = digits.X
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    for alpha in (1e-3, 0.05, 0.5):
        for x in U[::40]:
            products, others = U[1::2] @ x, U[1::2]
            code, excess = lasso_code(products, others @ others.T, alpha)
            slope = others @ (x - code @ others)
            penalty = alpha * np.abs(products).max()
            assert np.abs(slope).max() <= penalty * (1 + 1e-8)
            active = np.abs(code) > 1e-15  # what LARS drops may leave 1e-20 behind
            np.testing.assert_allclose(slope[active], penalty * np.sign(code[active]), rtol=1e-7)
            assert excess <= 1e-8


def test_codes_that_miss_optimality_are_reported(monkeypatch):
    coder = SparseCoder.at(np.eye(3), np.eye(3), 0.1)
    monkeypatch.setattr("nsse.extensions.sparse_coding.LARGEST_EXCESS", -1.0)
    with pytest.warns(ConvergenceWarning, match="The codes of 2 of 2 samples .* Raise `alpha`"):
        coder(np.ones((2, 3)))


def test_a_sample_without_a_code_goes_to_its_nearest_training_sample():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [2.0, 2.0, 0.0], [1.0, 3.0, 0.0]])
    model = SPE(1).fit(X, [0, 1, 0, 1])
    new = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 7.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.transform(new), model.embedding_[[0, 0, 0]], atol=1e-12)


def test_a_zero_training_sample_is_no_atom():
    X = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 2.0], [1.0, 3.0]])
    coder = SparseCoder.at(X, np.arange(4.0).reshape(4, 1), 0.1)
    np.testing.assert_allclose(coder(X), np.arange(4.0).reshape(4, 1), atol=1e-9)


def test_parallel_samples_share_their_code():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    coder = SparseCoder.at(X, np.array([[0.0], [3.0], [10.0], [6.0]]), 0.1)
    np.testing.assert_allclose(coder(X), [[3.0], [3.0], [10.0], [3.0]])


@pytest.mark.parametrize("k", [None, 10])
def test_duplicates_share_their_coordinates(blobs, k):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    model = SPE(n_neighbors=k).fit(X, codes)
    assert np.all(np.isfinite(model.embedding_))
    np.testing.assert_array_equal(model.embedding_[::2], model.embedding_[1::2])


def test_a_point_has_the_same_bits_in_any_batch(blobs):
    X = np.random.default_rng(0).standard_normal((37, 5))
    X[X < -1] = 0.0
    for kind in (np.asarray, sparse.csr_array):
        model = fitted((kind(blobs.X), blobs.codes))
        whole = model.transform(kind(X))
        alone = np.vstack([model.transform(kind(X[[i]])) for i in range(37)])
        np.testing.assert_array_equal(alone, whole)
        np.testing.assert_array_equal(model.transform(kind(X[::-1])), whole[::-1])


def test_the_order_of_samples_labels_and_scale_do_not_matter(blobs):
    new = np.random.default_rng(1).standard_normal((20, 5))
    for k in (None, 10):
        model = fitted(blobs, n_neighbors=k, alpha=0.05)
        order = np.random.default_rng(0).permutation(60)
        shuffled = fitted((blobs.X[order], blobs.codes[order]), n_neighbors=k, alpha=0.05)
        np.testing.assert_allclose(shuffled.embedding_, model.embedding_[order], atol=1e-9)
        np.testing.assert_allclose(shuffled.transform(new), model.transform(new), atol=1e-9)
        scaled = fitted((1000 * blobs.X, blobs.codes), n_neighbors=k, alpha=0.05)
        np.testing.assert_allclose(scaled.transform(1000 * new), model.transform(new), atol=1e-9)
        other = fitted((blobs.X, blobs.codes[order]), n_neighbors=k, alpha=0.05)
        np.testing.assert_array_equal(other.embedding_, model.embedding_)


def test_sparse_and_dense_solvers_agree(digits, monkeypatch):
    dense = fitted(digits, n_neighbors=10)
    monkeypatch.setattr(eigenmap, "LARGE", 10)
    lanczos = fitted(digits, n_neighbors=10)
    np.testing.assert_allclose(lanczos.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(lanczos.embedding_, dense.embedding_, atol=1e-8)


def test_pieces_of_a_graph_are_reported(make_blobs):
    with pytest.warns(DegenerateEmbeddingWarning, match=r"eigenvalues 1 and 2 .* Raise `n_neighbors`"):
        SPE(1, n_neighbors=4).fit(*make_blobs((9, 8, 7), spread=50.0))


def test_two_classes_and_more_features_than_samples(make_blobs):
    data = make_blobs((6, 5), n_features=40)
    assert SPE().fit(*data).transform(data.X).shape == (11, 1)


def test_sparse_single_precision_pickle_clone(blobs):
    model = fitted(blobs)
    from_sparse = fitted((sparse.csr_array(blobs.X), blobs.codes))
    np.testing.assert_allclose(from_sparse.embedding_, model.embedding_, atol=1e-9)
    single = fitted((blobs.X.astype(np.float32), blobs.codes))
    assert single.embedding_.dtype == single.transform(blobs.X.astype(np.float32)).dtype == np.float32
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(blobs.X), model.transform(blobs.X))
    assert not hasattr(clone(model), "embedding_")


def test_pipeline_search_and_data_frames(blobs):
    pipeline = make_pipeline(MinMaxScaler(), SPE(3))
    search = GridSearchCV(pipeline, {"spe__alpha": [0.05, 0.5], "spe__n_neighbors": [None, 20]}, cv=3)
    assert search.fit(*blobs).best_score_ > 0.5
    frame = fitted(blobs).set_output(transform="pandas").transform(blobs.X)
    assert list(frame.columns) == ["spe0", "spe1", "spe2"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, r"`alpha` must be a positive, finite number. Got 0."),
        ({"alpha": 1.0}, r"`alpha` must be smaller than 1. Got 1.0. From 1 on every code vanishes"),
        ({"n_neighbors": 0}, r"`n_neighbors` must be a whole number, at least 1. Got 0."),
        ({"beta": -2.0}, r"`beta` must be a positive, finite number. Got -2.0."),
        ({"beta": 1e-6}, r"`beta` must be large enough for every sample .* Got 1e-06. Raise it"),
        ({"length_unit": "mean"}, r"`length_unit` must be one of 'median'. Got 'mean'."),
        ({"classifier": 3}, r"`classifier` must be a scikit-learn classifier"),
        (
            {"n_components": 60},
            r"`n_components` must be smaller than the number of training samples, 60",
        ),
    ],
)
def test_errors_say_rule_value_and_cure(blobs, parameters, message):
    model = SPE(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*blobs)
    assert not hasattr(model, "classes_")
