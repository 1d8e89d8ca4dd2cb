"""SPE against its definition: eigenmap, codes, exact representation, wording of errors."""

from __future__ import annotations

import numpy as np
import oracles_suplap_nys_spe as oracles
import pytest
from sklearn.exceptions import ConvergenceWarning

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
def test_labels_do_not_touch_the_embedding(blobs, k):
    other = np.random.default_rng(0).permutation(blobs.codes)
    model = fitted(blobs, n_neighbors=k)
    np.testing.assert_array_equal(fitted((blobs.X, other), n_neighbors=k).embedding_, model.embedding_)


def test_sparse_and_dense_solvers_agree(digits, monkeypatch):
    dense = fitted(digits, n_neighbors=10)
    monkeypatch.setattr(eigenmap, "LARGE", 10)
    lanczos = fitted(digits, n_neighbors=10)
    np.testing.assert_allclose(lanczos.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(lanczos.embedding_, dense.embedding_, atol=1e-8)


def test_pieces_of_a_graph_are_reported(make_blobs):
    with pytest.warns(DegenerateEmbeddingWarning, match=r"eigenvalues 1 and 2 .* Raise `n_neighbors`"):
        SPE(1, n_neighbors=4).fit(*make_blobs((9, 8, 7), spread=50.0))
