"""Methods implemented from abstracts, against literal loops: NPDE, ESLLE, SMFA, SOLDE."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from test_graph_embeddings import assert_directions
from test_reconstruction import up_to_sign

from nsse.methods import MFA
from reproduction.from_abstracts import ESLLE, NPDE, SOLDE, SubclassMFA, from_abstracts
from reproduction.paper.grids import CITED, GRIDS, candidate


def test_all_are_in_the_tables_of_cited_methods(digits):
    """And their grids fit."""
    assert set(from_abstracts()) < set(CITED) <= set(GRIDS)
    for name in from_abstracts():
        assert candidate(name, {}, digits.X, 10).fit(digits.X, digits.codes).score(*digits) > 0.9


@pytest.mark.parametrize("model", from_abstracts().values(), ids=str)
def test_new_samples_and_order(blobs, model):
    order = np.random.default_rng(0).permutation(len(blobs.X))
    one, other = clone(model).fit(*blobs), clone(model).fit(blobs.X[order], blobs.codes[order])
    np.testing.assert_allclose(other.transform(blobs.X), one.embedding_, atol=1e-8)
    assert one.score(*blobs) > 0.9


def nearest_of_class(X, k, codes):
    return [oracle.nearest_of(i, X, np.flatnonzero(codes == codes[i]), k) for i in range(len(X))]


# NPDE


@pytest.mark.parametrize("k", [1, 3, None])
def test_npde_is_fishers_criterion_of_residuals(mixed, k):
    X, codes = mixed
    model = NPDE(n_neighbors=k, reg=0).fit(X, codes)
    residuals = oracle.residual_scatter(X, nearest_of_class(X, k, codes))
    values, V = eigh(oracle.between_scatter(X, codes), residuals)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-7)
    up_to_sign(model.components_.T, V[:, ::-1][:, :3], 1e-7)


def test_npde_has_no_more_coordinates_than_classes_less_one(mixed):
    with pytest.raises(ValueError, match=r"`n_components` must not exceed .*, 3\. Got 4"):
        NPDE(4).fit(*mixed)


# ESLLE


@pytest.mark.parametrize(("k", "beta", "overlap"), [(4, None, 0.0), (16, 5.0, 0.0), (20, None, 1.0)])
def test_eslle_minimizes_the_literal_objective(mixed, k, beta, overlap):
    X, codes = mixed
    model = ESLLE(3, n_neighbors=k, beta=beta, overlap=overlap, length_unit=1.0).fit(X, codes)
    D = oracle.class_dissimilarities(X, codes, beta, overlap)
    near = [
        sorted((j for j in range(len(X)) if j != i), key=lambda j: D[i, j])[:k] for i in range(len(X))
    ]
    M = oracle.lle_matrix(X, near)
    values, _ = eigh(M)
    Y = model.lle_embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Y.sum(axis=0), 0.0, atol=1e-7)
    np.testing.assert_allclose(np.sort(model.eigenvalues_), values[1:4], atol=1e-11)
    assert np.trace(Y.T @ M @ Y) == pytest.approx(values[1:4].sum(), abs=1e-10)
    K = oracle.gaussian(X, X, model.sigma_)
    np.testing.assert_allclose(model.embedding_ + model.ridge * model.coef_, Y, atol=1e-8)
    np.testing.assert_allclose(model.embedding_, K @ model.coef_, atol=1e-9)


def test_classes_larger_than_their_neighbourhoods_are_points(make_blobs):
    """In the order of how far apart the means of the classes are, seen along the indicators."""
    X, codes = make_blobs((9, 8, 10, 7))
    model = ESLLE(n_neighbors=4).fit(X, codes)
    Y = model.lle_embedding_
    for c in range(4):
        np.testing.assert_allclose(np.ptp(Y[codes == c], axis=0), 0.0, atol=1e-7)
    spread = np.linalg.norm(X.T @ Y, axis=0)
    np.testing.assert_allclose((X.T @ Y).T @ (X.T @ Y), np.diag(spread**2), atol=1e-6 * spread[0] ** 2)
    assert np.all(np.diff(spread) <= 0)


@pytest.mark.parametrize(
    ("sizes", "k"), [((9, 8, 10), 5), ((9, 4, 1, 7), 3), ((3, 2, 1), 1), ((1, 7), 5)]
)
def test_neighbourhoods_of_eslle_stay_in_the_smallest_class_of_several(make_blobs, sizes, k):
    X, codes = make_blobs(sizes)
    one, other = ESLLE(1).fit(X, codes), ESLLE(1, n_neighbors=k).fit(X, codes)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


# SMFA


@pytest.mark.parametrize("n_subclasses", [2, 3])
def test_subclasses_are_wards_and_make_the_graphs(mixed, n_subclasses):
    X, codes = mixed
    model = SubclassMFA(None, n_neighbors=3, n_pairs=15, n_subclasses=n_subclasses, reg=0).fit(X, codes)
    groups = model.subclasses_
    for c in range(4):
        own = codes == c
        n_own = max(1, min(n_subclasses, own.sum() // 2))
        assert len(np.unique(groups[own])) == n_own
        if n_own > 1:
            ward = AgglomerativeClustering(n_own).fit_predict(X[own])
            assert {tuple(groups[own] == g) for g in np.unique(groups[own])} == {
                tuple(ward == g) for g in range(n_own)
            }
        assert not np.isin(groups[own], groups[~own]).any()
    assert_directions(model, *oracle.mfa_scatters(X, codes, 3, 15, groups))


def test_one_subclass_is_mfa(mixed):
    one, other = MFA(2).fit(*mixed), SubclassMFA(2, n_subclasses=1).fit(*mixed)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


# SOLDE


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 4.0), (0.9, 20.0), (0.6, 40.0)])
@pytest.mark.parametrize(("k", "k_between"), [(3, 5), (None, None)])
def test_solde_is_found_one_by_one(mixed, alpha, beta, k, k_between):
    settings = {"alpha": alpha, "n_neighbors": k, "n_neighbors_between": k_between, "beta": beta}
    model = SOLDE(None, **settings, length_unit=1.0, reg=0).fit(*mixed)
    B, A = oracle.solde_scatters(*mixed, k, k_between, beta, alpha)
    ratios, V = oracle.orthogonal_maximisers(B, A, 5)
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-7)
    found = model.components_.T * np.sign(np.sum(model.components_.T * V, axis=0))
    np.testing.assert_allclose(found, V, atol=1e-6)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-12)


@pytest.mark.slow
def test_solde_of_many_axes_by_lanczos(make_blobs):
    """More axes than LAPACK is asked for: the same directions."""
    X, codes = make_blobs((60, 50, 60), n_features=120)
    model = SOLDE(4, beta=400.0, length_unit=1.0, reg=0.1).fit(X, codes)
    B, A = oracle.solde_scatters(X, codes, 5, 20, 400.0, 0.9)
    assert model.reg_ == pytest.approx(0.1 * np.trace(A) / 120)
    ratios, V = oracle.orthogonal_maximisers(B, A + model.reg_ * np.eye(120), 4)
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-7)
    assert subspace_angles(model.components_.T, V).max() < 1e-5


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
def test_width_of_solde_keeps_neighbours_together(mixed, alpha):
    """By default no edge within a class pushes its ends apart."""
    X, codes = mixed
    model = SOLDE(2, alpha=alpha, n_neighbors=3).fit(X, codes)
    lengths = [
        oracle.distance2(X[i], X[j])
        for i in range(len(X))
        for j in oracle.nearest_of(i, X, np.flatnonzero(codes == codes[i]), 3)
    ]
    assert np.exp(-max(lengths) / model.beta_) >= 1 - alpha - 1e-12


def test_solde_refuses_more_diversity_than_similarity(mixed):
    with pytest.raises(ValueError, match=r"`alpha` must be large enough .* Got 0\.5\. Raise it"):
        SOLDE(alpha=0.5, beta=1e-3).fit(*mixed)
