"""SUPLAP against its definition: graphs, minimiser, interpolation, invariance, wording of errors."""

from __future__ import annotations

import warnings

import numpy as np
import oracles_suplap_nys_spe as oracles
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles

from nsse import SUPLAP, DegenerateEmbeddingWarning
from nsse.extensions import interpolate
from nsse.graphs import class_graphs, nearest
from nsse.graphs.adaptive import signed_laplacian
from nsse.kernels import as_dense, squared_distances
from nsse.solvers import eigenmap, smallest_eigenpairs

KINDS = [("adaptive", "adaptive"), (3, 5), (50, "adaptive"), ("adaptive", 2), (None, None)]


def fitted(data, **parameters):
    chosen = {"n_neighbors": "adaptive", "n_neighbors_between": 10, "mu": 0.1}
    parameters = {"n_components": 3, **chosen, **parameters}
    return SUPLAP(**parameters).fit(data.X, data.codes)


def literal_matrix(data, within, between, mu, beta=None):
    W_w, W_b = oracles.suplap_weights(data.X, data.codes, within, between, beta)
    return oracles.laplacian(W_w) - mu * oracles.laplacian(W_b)


@pytest.mark.parametrize("beta", [None, 7.0])
@pytest.mark.parametrize(("within", "between"), KINDS)
def test_graphs_equal_the_double_loop(blobs, within, between, beta):
    got = class_graphs(squared_distances(blobs.X), blobs.codes, within, between, beta)
    expected = oracles.suplap_weights(*blobs, within, between, beta)
    for W, literal in zip(got, expected, strict=True):
        np.testing.assert_allclose(as_dense(W), literal, rtol=1e-10)


@pytest.mark.parametrize(("within", "between"), KINDS)
def test_laplacians_are_joined_as_defined(blobs, within, between):
    W_w, W_b = class_graphs(squared_distances(blobs.X), blobs.codes, within, between, None)
    L = signed_laplacian(W_w, W_b, 0.3)
    assert sparse.issparse(L) == ((within, between) == (3, 5))
    np.testing.assert_allclose(as_dense(L), literal_matrix(blobs, within, between, 0.3), atol=1e-12)


def test_sparse_and_dense_solvers_agree(digits, monkeypatch):
    parameters = {"n_components": 6, "n_neighbors": 5, "n_neighbors_between": 5}
    dense = fitted(digits, **parameters)
    monkeypatch.setattr(eigenmap, "LARGE", 10)
    monkeypatch.setattr(eigenmap, "_proven_lanczos", None)  # what the dense route would call
    lanczos = fitted(digits, **parameters)
    np.testing.assert_allclose(lanczos.eigenvalues_, dense.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(lanczos.embedding_, dense.embedding_, atol=1e-6)


@pytest.mark.parametrize("k", [1, 3, 100, None])
def test_nearest_are_among_the_candidates_and_never_the_sample_itself(blobs, k):
    D2 = squared_distances(blobs.X)
    rows, candidates = np.arange(0, 60, 7), np.arange(10, 40)
    edges = list(zip(*nearest(D2, rows, candidates, k), strict=True))
    for i in rows:
        allowed = sorted((j for j in candidates if j != i), key=lambda j: D2[i, j])
        assert {j for r, j in edges if r == i} == set(allowed[:k])
    assert len(edges) == len(set(edges))


def test_nearest_of_nothing_is_nothing(blobs):
    D2, none, some = squared_distances(blobs.X), np.arange(0), np.arange(3)
    for rows, candidates in [(none, some), (some, none), (some[:1], some[:1])]:
        assert [len(part) for part in nearest(D2, rows, candidates, 2)] == [0, 0]


@pytest.mark.parametrize("d", [1, 3, 60])
@pytest.mark.parametrize(("within", "between"), KINDS[:4])
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_objective_is_the_sum_of_the_eigenvalues_of_the_literal_matrix(blobs, within, between, d):
    model = fitted(
        blobs,
        n_components=d,
        n_neighbors=within,
        n_neighbors_between=between,
        length_unit=1.0,
        sigma=2.0,
    )
    values = eigh(literal_matrix(blobs, within, between, 0.1), eigvals_only=True)[:d]
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-11)
    assert model.objective_ == pytest.approx(values.sum(), abs=1e-10)


@pytest.mark.slow
def test_embedding_is_the_minimiser(blobs):
    model = fitted(blobs)
    W = oracles.suplap_weights(*blobs, "adaptive", 10)
    Y = model.embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(3), atol=1e-7)
    assert oracles.suplap_objective(Y, *W, 0.1) == pytest.approx(model.objective_, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((60, 3)))[0]
        assert oracles.suplap_objective(other, *W, 0.1) > model.objective_


@pytest.mark.parametrize(("sigma", "ridge"), [(0.1, 1e-10), (1.0, 1e-10), (3.0, 1e-10), (1.0, 0.1)])
def test_the_map_passes_through_the_embedding(blobs, sigma, ridge):
    """f(x_i) = y_i − ρ c_i: the ridge shows where a wide kernel needs large coefficients."""
    d, mu = 3, 0.1
    model = fitted(blobs, sigma=sigma, ridge=ridge)
    Y = eigh(literal_matrix(blobs, "adaptive", 10, mu), subset_by_index=(0, d - 1))[1]
    signs = np.sign(np.sum(Y * model.embedding_, axis=0))
    np.testing.assert_allclose(model.transform(blobs.X) + ridge * model.coef_, Y * signs, atol=1e-8)
    if sigma < 3.0 and ridge < 0.1:
        np.testing.assert_allclose(model.transform(blobs.X), Y * signs, atol=1e-6)


def test_interpolation_solves_with_the_ridged_kernel(blobs):
    D2, Y = squared_distances(blobs.X), np.random.default_rng(0).standard_normal((60, 2))
    before = D2.copy()
    C = interpolate(D2, Y, 2.0, 0.3)
    np.testing.assert_allclose((np.exp(-D2 / 4.0) + 0.3 * np.eye(60)) @ C, Y, atol=1e-12)
    np.testing.assert_array_equal(D2, before)


def test_joining_all_other_classes_is_degenerate_and_collapses_the_classes(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # three dimensions span all there is: determined up to rotation
        Y = fitted(blobs, n_neighbors_between=None).embedding_
    E = np.eye(4)[blobs.codes]
    assert subspace_angles(Y, E).max() < 1e-6
    with pytest.warns(DegenerateEmbeddingWarning, match="eigenvalues 2 and 3"):
        model = fitted(blobs, n_neighbors_between=None, n_components=2)
    np.testing.assert_allclose(model.eigenvalues_, [-6.0, -6.0], rtol=1e-12)  # −μN


def test_classes_without_edges_between_them_are_degenerate(make_blobs):
    with pytest.warns(DegenerateEmbeddingWarning, match="Change `n_neighbors_between`") as record:
        fitted(make_blobs((9, 8, 7), spread=50.0), n_components=2, n_neighbors_between="adaptive")
    assert record[0].filename.endswith("test_suplap.py")


@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_duplicates_are_interpolated(blobs):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    model = SUPLAP(mu=0.1, n_neighbors_between=10).fit(X, codes)
    assert np.all(np.isfinite(model.embedding_))
    assert model.score(X, codes) == 1.0
    np.testing.assert_array_equal(model.embedding_[::2], model.embedding_[1::2])


def test_without_a_ridge_duplicates_are_an_error_that_says_the_cure(blobs):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    with pytest.raises(ValueError, match=r"`ridge` must be large enough .* Got 0\.?0?\. Raise it"):
        SUPLAP(1, ridge=0.0, n_neighbors_between=10).fit(X, codes)


def test_solver_sees_the_gap():
    A = np.diag([1.0, 1.0, 3.0, 7.0])
    assert smallest_eigenpairs(A, 1).gap == pytest.approx(0.0, abs=1e-15)
    assert smallest_eigenpairs(A, 2).gap == pytest.approx(2 / 7)
    assert smallest_eigenpairs(A, 4).gap == np.inf
