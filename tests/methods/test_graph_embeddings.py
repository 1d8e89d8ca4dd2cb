"""Graph embeddings against literal loops, and what they are in special cases: LPP, MFA, KDA."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nsse.methods import KDA, LDE, LPP, MFA, NPE, NPPE


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
