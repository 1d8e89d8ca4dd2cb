"""IsoKRR: dissimilarities, geodesics, scaling and regression against their definitions."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from sklearn.kernel_ridge import KernelRidge

from nsse.methods import IsoKRR

CASES = [
    {"n_neighbors": 2, "beta": None, "overlap": 0.3},
    {"n_neighbors": 6, "beta": None, "overlap": 0.0},
    {"n_neighbors": 30, "beta": 7.0, "overlap": 0.5},
    {"n_neighbors": None, "beta": 7.0, "overlap": 1.0},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fit_is_its_parts(make_blobs, case):
    X, codes = make_blobs((10, 9, 8, 6))
    model = IsoKRR(3, **case, alpha=0.1, sigma=2.0, length_unit=1.0).fit(X, codes)
    D = oracle.class_dissimilarities(X, codes, case["beta"], case["overlap"])
    edges = oracle.neighbor_edges(D, case["n_neighbors"] or len(X))
    assert model.n_connected_components_ == len(oracle.pieces(edges, len(D)))
    assert model.n_connected_components_ >= (4 if case["n_neighbors"] == 2 else 1)
    B = oracle.scaled_inner_products(oracle.floyd_warshall(D, oracle.joined(D, edges)))
    values, vectors = np.linalg.eigh(B)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3])
    Y = vectors[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    np.testing.assert_allclose(np.abs(model.isomap_embedding_), np.abs(Y), atol=1e-7)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert model.negative_share_ == pytest.approx(share, abs=1e-12)
    assert share > 0.01
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.25).fit(X, model.isomap_embedding_)
    np.testing.assert_allclose(model.coef_, ridge.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.transform(X + 0.3), ridge.predict(X + 0.3), atol=1e-8)


def test_duplicates_are_joined_by_edges_of_length_zero(make_blobs):
    X, codes = make_blobs((6, 5))
    twice = IsoKRR(1, n_neighbors=3).fit(np.vstack([X, X]), np.append(codes, codes))
    Y = twice.isomap_embedding_
    np.testing.assert_allclose(Y[:11], Y[11:], atol=1e-7)


def test_ridge_from_interpolation_to_shrinking(digits):
    model = IsoKRR(alpha=1e-10).fit(*digits)
    Y = model.isomap_embedding_
    np.testing.assert_allclose(model.transform(digits.X), Y, atol=1e-6 * np.abs(Y).max())
    shrunk = IsoKRR(alpha=10.0).fit(*digits)
    assert np.linalg.norm(shrunk.embedding_) < 0.9 * np.linalg.norm(Y)


def test_fewer_coordinates_than_classes_where_there_are_no_more():
    """Two samples have one positive eigenvalue, whatever is left to the number of classes."""
    X, y = np.array([[0.0], [0.0], [1.0]]), [0, 1, 2]
    assert IsoKRR(overlap=1.0).fit(X, y).embedding_.shape == (3, 1)
    with pytest.raises(ValueError, match=r"not exceed the number of positive eigenvalues, 1\. Got 2"):
        IsoKRR(2, overlap=1.0).fit(X, y)


def test_errors_say_rule_value_and_cure(make_blobs):
    X, codes = make_blobs((4, 4))
    with pytest.raises(ValueError, match=r"`beta` must be at least the largest squared distance / 300"):
        IsoKRR(beta=1e-4).fit(X, codes)
    with pytest.raises(ValueError, match=r"`alpha` must be large enough .* Got 1e-300\."):
        IsoKRR(alpha=1e-300).fit(np.vstack([X, X]), np.append(codes, codes))
