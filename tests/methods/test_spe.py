"""SPE against its definition: eigenmap, codes, exact representation."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from sklearn.exceptions import ConvergenceWarning

from nsse.methods import SPE, spe


def fitted(data, **parameters):
    return SPE(**{"n_components": 3, **parameters}).fit(*data)


@pytest.mark.parametrize("beta", [None, 20.0])
@pytest.mark.parametrize("k", [None, 12])
def test_embedding_equals_the_literal_eigenmap(blobs, k, beta):
    model = fitted(blobs, n_neighbors=k, beta=beta, length_unit=1.0)
    W = oracle.neighbor_weights(blobs.X, k, beta)
    values, Y = oracle.laplacian_eigenmap(W, 3)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(Y), atol=1e-9)


@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("n_features", [5, 80])
def test_map_equals_the_definition(make_blobs, n_features, alpha):
    data = make_blobs((10, 8, 7), n_features=n_features)
    model = fitted(data, alpha=alpha)
    new = np.random.default_rng(0).standard_normal((6, n_features))
    expected = [oracle.sparse_coding_map(data.X, model.embedding_, x, alpha) for x in new]
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-6)


def test_codes_of_many_atoms_equal_the_definition(digits):
    model = fitted(digits, alpha=0.01)
    new = digits.X[::40] + digits.X[7::40]
    literal = [oracle.sparse_coding_map(digits.X, model.embedding_, x, 0.01) for x in new]
    np.testing.assert_allclose(model.transform(new), literal, atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 0.99])
@pytest.mark.parametrize("n_features", [2, 5, 200])
def test_a_training_sample_and_its_multiples_keep_their_coordinates(make_blobs, n_features, alpha):
    data = make_blobs((10, 8, 7), n_features=n_features)
    model = fitted(data, alpha=alpha)
    for factor in (1.0, 3.7, -2.0):
        np.testing.assert_allclose(model.transform(factor * data.X), model.embedding_, atol=1e-9)


def test_codes_that_miss_optimality_are_reported(blobs, monkeypatch):
    model = fitted(blobs)
    monkeypatch.setattr(spe, "LARGEST_EXCESS", -1.0)
    with pytest.warns(ConvergenceWarning, match="The codes of 2 of 2 samples .* Raise `alpha`"):
        model.transform(np.ones((2, 5)))


def test_a_sample_without_a_code_goes_to_its_nearest_training_sample():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [2.0, 2.0, 0.0], [1.0, 3.0, 0.0]])
    model = SPE(1).fit(X, [0, 1, 0, 1])
    new = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 7.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.transform(new), model.embedding_[[0, 0, 0]], atol=1e-12)


def test_a_zero_training_sample_is_no_atom():
    X = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 2.0], [1.0, 3.0]])
    model = SPE(2).fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_parallel_samples_share_their_code():
    """Three multiples of e_1: each has the mean of their coordinates in the eigenmap."""
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    model = SPE(2, length_unit=1.0).fit(X, [0, 1, 0, 1])
    Y = oracle.laplacian_eigenmap(oracle.neighbor_weights(X), 2)[1]
    Y[[0, 1, 3]] = Y[[0, 1, 3]].mean(axis=0)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(Y), atol=1e-12)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1.0}, r"`alpha` must be smaller than 1. Got 1.0. From 1 on every code vanishes"),
        ({"beta": 1e-6}, r"`beta` must be large enough for every sample .* Got 1e-06. Raise it"),
    ],
)
def test_errors_say_rule_value_and_cure(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        SPE(**parameters).fit(*blobs)
