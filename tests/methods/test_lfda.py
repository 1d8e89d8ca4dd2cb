"""LFDA: its affinity and scatters are the paper's, its subspace is optimal, nothing gives a NaN."""

import numpy as np
import oracles_methods as oracle
import pytest
from scipy import linalg
from scipy.linalg import subspace_angles
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nsse.methods import LFDA

METRICS = ("weighted", "orthonormalized", "plain")


def literal_scatters(X, codes, k=7):
    return oracle.lfda_scatters(oracle.local_scaling(X, codes, k), X, codes)


def up_to_sign(Y, Z, atol=1e-7):
    signs = np.sign(np.sum(Y * Z, axis=0))
    np.testing.assert_allclose(Y * signs, Z, atol=atol * np.abs(Z).max())


# The paper's definition


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_directions_are_those_of_the_papers_scatters(make_blobs, k):
    """Classes of one and two samples among them, in any order of the samples."""
    X, codes = make_blobs((12, 1, 2, 15))
    order = np.random.default_rng(0).permutation(len(X))
    X, codes = X[order], codes[order]
    model = LFDA(n_neighbors=k, metric="plain", reg=0).fit(X, codes)
    values, V = linalg.eigh(*literal_scatters(X, codes, k))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8)
    up_to_sign(model.components_.T, V[:, ::-1])


def test_duplicates_look_for_another_place():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((12, 2)), 3, axis=0)
    X, codes = np.r_[X, [[5.0, 5.0], [5.0, 5.0]]], np.r_[np.repeat([0, 1], 18), 2, 2]
    model = LFDA(n_neighbors=2, reg=0).fit(X, codes)
    values = linalg.eigh(*literal_scatters(X, codes, 2), eigvals_only=True)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8)


def test_metrics_are_as_described(blobs):
    _, S_lw = literal_scatters(*blobs)
    plain = LFDA(metric="plain").fit(*blobs).components_
    np.testing.assert_allclose(plain @ S_lw @ plain.T, np.eye(5), atol=1e-9)
    weighted = LFDA().fit(*blobs)
    expected = plain * np.sqrt(weighted.eigenvalues_)[:, np.newaxis]
    np.testing.assert_allclose(weighted.components_, expected, atol=1e-12)
    Q = LFDA(metric="orthonormalized").fit(*blobs).components_
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-12)
    for d in range(1, 5):
        assert subspace_angles(Q[:d].T, plain[:d].T).max() < 1e-7


@pytest.mark.parametrize("metric", METRICS)
def test_one_neighborhood_is_lda(blobs, metric):
    model = LFDA(3, affinity="ones", metric=metric).fit(*blobs)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(*blobs)
    assert subspace_angles(model.components_.T, lda.scalings_[:, :3]).max() < 1e-7


def test_class_of_two_clusters_stays_apart_from_the_one_between():
    """Sugiyama's figure: x separates the middle cluster from its sides; LDA sees equal means there."""
    rng = np.random.default_rng(0)
    centers = np.array([[-4.0, 0], [4, 0], [0, 0]])
    X = np.repeat(centers, 30, axis=0) + rng.standard_normal((90, 2)) * [0.5, 3.0]
    y = np.repeat([0, 0, 1], 30)
    model = LFDA(1).fit(X, y)
    assert abs(model.components_[0, 0]) > 5 * abs(model.components_[0, 1])
    assert model.score(X, y) == 1.0


# Where metric-learn 0.7.0 fails


@pytest.mark.parametrize("metric", METRICS)
def test_plain_classification_has_no_nan(metric):
    for seed in range(5):
        model = LFDA(metric=metric).fit(*make_classification(random_state=seed))
        assert np.all(np.isfinite(model.components_))
        assert np.all(model.eigenvalues_ >= 0)


def test_classes_smaller_than_k_in_any_order(make_blobs):
    X, codes = make_blobs((20, 3, 9))
    one = LFDA().fit(X, codes)
    for names in ([1, 0, 2], [2, 1, 0], [1, 2, 0]):
        up_to_sign(LFDA().fit(X, np.array(names)[codes]).embedding_, one.embedding_)


# Principal axes and ridge


@pytest.mark.parametrize(
    ("pca", "n_axes", "has_ridge"), [(None, 20, True), (0.9, None, False), (5, 5, False)]
)
def test_more_features_than_samples(make_blobs, pca, n_axes, has_ridge):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LFDA(pca=pca, reg=None).fit(X, codes)
    assert model.n_pca_components_ == n_axes if n_axes else model.n_pca_components_ <= 18
    assert model.embedding_.shape == (21, model.n_pca_components_)
    assert (model.reg_ > 0) == has_ridge


def test_few_samples_get_a_ridge_on_all_axes(make_blobs):
    """The same as on the coordinates of scikit-learn's PCA, by the definition."""
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LFDA(metric="plain").fit(X, codes)
    Z = PCA(20).fit_transform(X)
    S_lb, S_lw = literal_scatters(Z, codes)
    assert model.reg_ == pytest.approx(0.3 * np.trace(S_lw) / 20)
    values, V = linalg.eigh(S_lb, S_lw + model.reg_ * np.eye(20))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8, atol=1e-10)
    # The first coordinates: of the last eigenvalues several are equal.
    up_to_sign(model.embedding_[:, :3], (Z @ V[:, ::-1])[:, :3], 1e-8)


@pytest.mark.parametrize(("n_features", "few"), [(6, False), (7, True)])
def test_samples_are_few_below_three_for_every_axis(make_blobs, n_features, few):
    X, codes = make_blobs((8, 7, 6), n_features=n_features)
    assert (LFDA().fit(X, codes).reg_ > 0) == few
    assert LFDA(reg=None).fit(X, codes).reg_ == 0


def test_features_in_very_different_units_need_no_ridge(blobs):
    units = np.array([1.0, 1e-6, 1e4, 1e-3, 1.0])
    model = LFDA(3, affinity="ones").fit(blobs.X * units, blobs.codes)
    assert model.reg_ == 0.0
    up_to_sign(model.embedding_, LFDA(3, affinity="ones").fit(*blobs).embedding_, 1e-5)


def test_constant_and_repeated_features(blobs):
    model = LFDA().fit(np.c_[blobs.X, np.ones(60), blobs.X[:, 0]], blobs.codes)
    assert model.n_pca_components_ == 5
    assert model.reg_ == 0.0
    np.testing.assert_allclose(model.components_[:, 5], 0.0, atol=1e-12)


def test_classes_far_apart_keep_their_digits(make_blobs):
    """S_lw, which sees no class means, from the columns with v'S_lw v = 1."""
    X, codes = make_blobs((15, 15))
    plain = LFDA(metric="plain", reg=1e-12)
    V, V_far = (plain.fit(X + far * codes[:, np.newaxis], codes).components_ for far in (0.0, 1e6))
    S, S_far = np.linalg.inv(V.T @ V), np.linalg.inv(V_far.T @ V_far)
    np.testing.assert_allclose(S_far, S, atol=1e-6 * np.abs(S).max())


def test_singular_scatter_without_ridge_is_an_error(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    with pytest.raises(ValueError, match=r"`reg` must be positive if .* singular.* Got 0"):
        LFDA(pca=None, reg=0).fit(X, codes)


@pytest.mark.parametrize("X", [[[0.0], [1], [2]], [[0.0], [1], [1]], [[0.0], [0.5], [1]]])
def test_no_scatter_within_classes_is_an_error(X):
    y = [0, 1, 1] if X[1] == X[2] else [0, 1, 2]
    with pytest.raises(ValueError, match=r"`X` must vary within at least one class"):
        LFDA().fit(X, y)
