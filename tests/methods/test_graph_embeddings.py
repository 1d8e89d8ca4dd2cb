"""Graph embeddings against literal loops, and what they are in special cases: LPP, MFA, SOLDE, KDA."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.cluster import AgglomerativeClustering
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nsse.methods import KDA, LDE, LPP, MFA, NPE, NPPE, SOLDE


def assert_directions(model, penalty, intrinsic, normalized_by=None):
    """Eigenvalues and columns are those of the pencil, columns of unit length by a form."""
    values, V = eigh(penalty, intrinsic)
    values, V = values[::-1], V[:, ::-1]
    V = V / np.sqrt(
        np.einsum("ij,ij->j", V, (intrinsic if normalized_by is None else normalized_by) @ V)
    )
    d = len(model.eigenvalues_)
    np.testing.assert_allclose(model.eigenvalues_, values[:d], rtol=1e-7)
    found = model.components_.T
    found = found * np.sign(np.sum(found * V[:, :d], axis=0))
    np.testing.assert_allclose(found, V[:, :d], atol=1e-7 * np.abs(V).max())


def lda_directions(X, codes):
    return LinearDiscriminantAnalysis().fit(X, codes).scalings_[:, : len(np.unique(codes)) - 1]


# LPP


@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("k", [2, 5, 100, None])
@pytest.mark.parametrize("supervised", [False, True])
def test_lpp_is_the_papers_pencil(mixed, supervised, k, beta):
    settings = {"supervised": supervised, "n_neighbors": k, "beta": beta, "length_unit": 1.0}
    d = 3 if supervised and k is None else None  # those beyond n_classes − 1 all have the ratio one
    model = LPP(d, **settings, reg=0).fit(*mixed)
    laplacian, degrees = oracle.lpp_forms(*mixed, k, beta, supervised)
    assert_directions(model, degrees, laplacian, normalized_by=laplacian if supervised else degrees)


def test_lpp_without_labels_ignores_them(mixed):
    X, codes = mixed
    one, other = LPP(2).fit(X, codes), LPP(2).fit(X, codes[::-1])
    np.testing.assert_allclose(np.abs(one.embedding_), np.abs(other.embedding_), atol=1e-12)
    assert not np.allclose(LPP(2, supervised=True).fit(*mixed).embedding_, one.embedding_)


def test_lpp_on_complete_class_graphs_is_lda(mixed):
    """Classes of any sizes: D − W is the scatter within classes, D the total one."""
    model = LPP(3, supervised=True, n_neighbors=None, reg=0).fit(*mixed)
    assert model.beta_ is None
    assert subspace_angles(model.components_.T, lda_directions(*mixed)).max() < 1e-7


# MFA


@pytest.mark.parametrize(("k", "n_pairs"), [(1, 4), (3, 20), (None, None), (100, 10_000)])
def test_mfa_is_the_papers_pencil(mixed, k, n_pairs):
    model = MFA(None, n_neighbors=k, n_pairs=n_pairs, reg=0).fit(*mixed)
    assert_directions(model, *oracle.mfa_scatters(*mixed, k, n_pairs))


@pytest.mark.parametrize("n_subclasses", [2, 3])
def test_subclasses_are_wards_and_make_the_graphs(mixed, n_subclasses):
    X, codes = mixed
    model = MFA(None, n_neighbors=3, n_pairs=15, n_subclasses=n_subclasses, reg=0).fit(X, codes)
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


def test_mfa_with_all_pairs_of_equal_classes_is_lda(make_blobs):
    X, codes = make_blobs((12, 12, 12, 12))
    model = MFA(3, n_neighbors=None, n_pairs=None, reg=0).fit(X, codes)
    assert subspace_angles(model.components_.T, lda_directions(X, codes)).max() < 1e-7


def test_mfa_with_all_pairs_is_lde_with_flat_weights(mixed):
    """exp(−d²/β) is one for a very large β."""
    joined = {"n_neighbors": None, "reg": 0}
    model = MFA(None, n_pairs=None, **joined).fit(*mixed)
    flat = LDE(None, n_neighbors_between=None, beta=1e9, **joined).fit(*mixed)
    np.testing.assert_allclose(model.eigenvalues_, flat.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(model.embedding_, flat.embedding_, atol=1e-5)


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


# KDA


@pytest.mark.parametrize(("sigma", "reg"), [(0.5, 0.3), (1.0, 0.01), (2.0, 1.0)])
def test_kda_is_the_dual_problem(mixed, sigma, reg):
    """The expansion's own eigenproblem, without principal axes of the kernel."""
    X, codes = mixed
    model = KDA(sigma=sigma, reg=reg).fit(X, codes)
    K = oracle.gaussian(X, X, model.sigma_)
    between, within = oracle.kda_problem(K, codes, model.reg_)
    values = eigh(between, within, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-6)
    # f at the samples has the scatter that the constraint says.
    Y, C = model.embedding_, model.map_.coef
    inside = Y - np.array([Y[codes == c].mean(axis=0) for c in codes])
    np.testing.assert_allclose(inside.T @ inside + model.reg_ * C.T @ K @ C, np.eye(3), atol=1e-7)
    np.testing.assert_allclose(
        oracle.between_scatter(Y, codes), np.diag(model.eigenvalues_), atol=1e-6 * values[0]
    )


def test_kda_with_a_linear_kernel_is_lda(mixed):
    model = KDA(kernel="linear", reg=0).fit(*mixed)
    assert subspace_angles(model.map_.affine.dense(), lda_directions(*mixed)).max() < 1e-7


def test_kda_on_few_axes_of_the_kernel_is_lda_after_kernel_pca(mixed):
    from sklearn.decomposition import KernelPCA

    X, codes = mixed
    model = KDA(pca=8, reg=0).fit(X, codes)
    Z = KernelPCA(8, kernel="rbf", gamma=1 / model.sigma_**2).fit_transform(X)
    lda = LinearDiscriminantAnalysis(solver="svd").fit(Z, codes).transform(Z)
    assert subspace_angles(model.embedding_ - model.embedding_.mean(axis=0), lda).max() < 1e-6


# Dimension and ridge by default


@pytest.mark.parametrize("kind", [LPP, NPE, NPPE])
def test_dimension_without_labels_is_the_one_where_neighbours_are_right(make_blobs, kind):
    """Left out one by one in loops, at every dimension that is tried; of equals the smallest."""
    X, codes = make_blobs((9, 11, 8, 10, 9, 8), n_features=30)
    whole = kind(24).fit(X, codes).embedding_
    errors = {}
    for d in (3, 5, 12, 24):
        values, own = oracle.left_out_neighbors(whole[:, :d], codes, 6)
        errors[d] = np.sum(values.argmax(axis=1) != own)
    best = min(errors, key=errors.get)
    chosen = kind().fit(X, codes)
    assert chosen.embedding_.shape[1] == len(chosen.eigenvalues_) == best
    np.testing.assert_allclose(chosen.embedding_, whole[:, :best], atol=1e-9)


@pytest.mark.parametrize(
    ("model", "d", "reg"),
    [
        (LPP(), None, 3.0),
        (NPE(), None, 3.0),
        (LPP(supervised=True), 16, 0.3),
        (MFA(), 16, 0.3),
        (SOLDE(), 3, 0.3),
        (KDA(), 3, 0.03),
    ],
    ids=str,
)
def test_few_samples_get_a_ridge_and_many_coordinates_where_they_help(make_blobs, model, d, reg):
    X, codes = make_blobs((9, 11, 8, 10), n_features=60)
    fitted = model.fit(X, codes)
    again = model.__class__(**model.get_params() | {"reg": reg}).fit(X, codes)
    np.testing.assert_array_equal(fitted.embedding_, again.embedding_)
    assert d is None or fitted.embedding_.shape[1] == d
