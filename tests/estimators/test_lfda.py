"""LFDA: its affinity and scatters are the paper's, its subspace is optimal, nothing gives a NaN."""

import numpy as np
import oracles_lfda_lde as oracle
import pytest
from scipy import linalg, sparse
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from nsse import LFDA
from nsse.graphs.local_scaling import local_scaling_affinity, one_neighborhood
from nsse.graphs.scatters import graph_rank, local_fisher_scatters
from nsse.kernels import squared_distances

METRICS = ("weighted", "orthonormalized", "plain")


def up_to_sign(Y, Z, atol=1e-7):
    np.testing.assert_allclose(np.abs(Y), np.abs(Z), atol=atol * np.abs(Z).max())
    signs = np.sign(np.sum(Y * Z, axis=0))
    np.testing.assert_allclose(Y * signs, Z, atol=atol * np.abs(Z).max())


# Affinity and scatters


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_affinity_is_the_papers(make_blobs, k):
    X, codes = make_blobs((12, 1, 2, 9))
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, codes = X[shuffled], codes[shuffled]
    A = local_scaling_affinity(squared_distances(X), codes, k)
    np.testing.assert_allclose(A.toarray(), oracle.local_scaling(X, codes, k), atol=1e-12)


def test_affinity_of_duplicates_looks_for_another_place():
    X = np.array([[0.0, 0], [0, 0], [0, 0], [1, 0], [2, 2], [5, 5], [5, 5]])
    codes = np.array([0, 0, 0, 0, 0, 1, 1])
    A = local_scaling_affinity(squared_distances(X), codes, 2).toarray()
    np.testing.assert_allclose(A, oracle.local_scaling(X, codes, 2), atol=1e-12)
    np.testing.assert_allclose(A[0, :4], [1, 1, 1, np.exp(-1)])  # σ = 1 at both ends
    np.testing.assert_array_equal(A[5:, 5:], 1.0)


def test_small_class_changes_nothing_for_the_others(make_blobs):
    X, codes = make_blobs((10, 10))
    small = np.array([[50.0] * 5, [51.0] * 5])
    alone = local_scaling_affinity(squared_distances(X), codes, 7).toarray()
    for new_codes in (np.r_[0, 0, codes + 1], np.r_[2, 2, codes]):
        A = local_scaling_affinity(squared_distances(np.r_[small, X]), new_codes, 7).toarray()
        np.testing.assert_allclose(A[2:, 2:], alone, atol=1e-10)


@pytest.mark.parametrize("local", [True, False])
def test_scatters_are_the_papers(make_blobs, local):
    X, codes = make_blobs((12, 1, 5, 9))
    A = local_scaling_affinity(squared_distances(X), codes, 3) if local else one_neighborhood(codes)
    found = local_fisher_scatters(A, X, codes)
    for S, expected in zip(found, oracle.lfda_scatters(A.toarray(), X, codes), strict=True):
        np.testing.assert_allclose(S, expected, atol=1e-10)
        np.testing.assert_array_equal(S, S.T)


def test_between_scatter_is_positive_semidefinite(make_blobs):
    X, codes = make_blobs((12, 9, 4), n_features=30)
    S_lb, S_lw = local_fisher_scatters(local_scaling_affinity(squared_distances(X), codes, 2), X, codes)
    assert linalg.eigvalsh(S_lb)[0] > -1e-12 * linalg.eigvalsh(S_lb)[-1]
    assert linalg.eigvalsh(S_lw)[0] > -1e-12 * linalg.eigvalsh(S_lw)[-1]


def test_graph_rank_counts_connected_pieces(make_blobs):
    codes = make_blobs((12, 1, 5, 9)).codes
    assert graph_rank(one_neighborhood(codes)) == len(codes) - 4


# The solution


@pytest.mark.parametrize("metric", METRICS)
def test_subspace_is_optimal(blobs, metric):
    X, codes = blobs
    S_lb, S_lw = oracle.lfda_scatters(oracle.local_scaling(X, codes, 7), X, codes)
    model = LFDA(2, metric=metric).fit(X, codes)
    best = oracle.rayleigh_quotient(S_lb, S_lw, model.components_.T)
    assert best == pytest.approx(model.eigenvalues_.sum(), rel=1e-9)
    assert best == pytest.approx(linalg.eigh(S_lb, S_lw, eigvals_only=True)[-2:].sum(), rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert best >= oracle.rayleigh_quotient(S_lb, S_lw, rng.standard_normal((X.shape[1], 2)))


def test_metrics_are_as_described(blobs):
    X, codes = blobs
    _, S_lw = oracle.lfda_scatters(oracle.local_scaling(X, codes, 7), X, codes)
    plain = LFDA(metric="plain").fit(X, codes).components_
    np.testing.assert_allclose(plain @ S_lw @ plain.T, np.eye(len(plain)), atol=1e-9)
    weighted = LFDA().fit(X, codes)
    np.testing.assert_allclose(
        weighted.components_, plain * np.sqrt(weighted.eigenvalues_)[:, np.newaxis], atol=1e-12
    )
    Q = LFDA(metric="orthonormalized").fit(X, codes).components_
    np.testing.assert_allclose(Q @ Q.T, np.eye(len(Q)), atol=1e-12)
    for d in range(1, len(Q)):
        np.testing.assert_allclose(oracle.cosines_between(Q[:d].T, plain[:d].T), 1.0, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_one_neighborhood_is_lda(blobs, metric):
    X, codes = blobs
    model = LFDA(3, affinity="ones", metric=metric).fit(X, codes)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, codes)
    cosines = oracle.cosines_between(model.components_.T, lda.scalings_[:, :3])
    np.testing.assert_allclose(cosines, 1.0, atol=1e-9)


def test_class_of_two_clusters_stays_apart_from_the_one_between():
    """Sugiyama's figure: x separates the middle cluster from its sides; LDA sees equal means there."""
    rng = np.random.default_rng(0)
    centers = np.array([[-4.0, 0], [4, 0], [0, 0]])
    X = np.repeat(centers, 30, axis=0) + rng.standard_normal((90, 2)) * [0.5, 3.0]
    y = np.repeat([0, 0, 1], 30)
    local = LFDA(1).fit(X, y).components_[0]
    assert abs(local[0]) > 5 * abs(local[1])
    assert LFDA(1).fit(X, y).score(X, y) == 1.0


# What must not matter


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_scale_and_place_of_samples_do_not_matter(blobs, scale):
    X, codes = blobs
    one, other = LFDA().fit(X, codes), LFDA().fit(scale * X + 3 * scale, codes)
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-6)


def test_features_in_very_different_units_need_no_ridge(blobs):
    X, codes = blobs
    units = np.array([1.0, 1e-6, 1e4, 1e-3, 1.0])
    model = LFDA(affinity="ones", n_components=3).fit(X * units, codes)
    assert model.reg_ == 0.0
    up_to_sign(model.embedding_, LFDA(affinity="ones", n_components=3).fit(X, codes).embedding_, 1e-5)


# Where metric-learn 0.7.0 fails


@pytest.mark.parametrize("metric", METRICS)
def test_plain_classification_has_no_nan(metric):
    for seed in range(5):
        X, y = make_classification(random_state=seed)
        model = LFDA(metric=metric).fit(X, y)
        assert np.all(np.isfinite(model.components_))
        assert np.all(model.eigenvalues_ >= 0)


def test_classes_smaller_than_k_in_any_order(make_blobs):
    X, codes = make_blobs((20, 3, 9))
    one = LFDA().fit(X, codes)
    for names in ([0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]):
        up_to_sign(LFDA().fit(X, np.array(names)[codes]).embedding_, one.embedding_)


# Hard cases


@pytest.mark.parametrize("pca", ["auto", None, 0.9, 5])
def test_more_features_than_samples(make_blobs, pca):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LFDA(pca=pca, reg=None).fit(X, codes)
    assert np.all(np.isfinite(model.components_))
    assert model.embedding_.shape == (21, model.n_pca_components_)
    if pca is None:
        assert model.n_pca_components_ == 20
        assert model.reg_ > 0
    else:
        assert model.n_pca_components_ <= 18
        assert model.reg_ == 0
    if pca == 5:
        assert model.n_pca_components_ == 5


def test_axes_asked_for_hold_the_share_of_the_variance(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    s = linalg.svdvals(X - X.mean(axis=0))
    shares = np.cumsum(s**2) / np.sum(s**2)
    for share in (0.6, 0.9):
        n = LFDA(pca=share).fit(X, codes).n_pca_components_
        assert shares[n - 1] >= share > shares[n - 2]


def test_axes_are_left_out_only_where_samples_are_too_few(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=18)
    assert LFDA(pca="auto").fit(X, codes).n_pca_components_ == 18
    X, codes = make_blobs((8, 7, 6), n_features=19)
    assert LFDA(pca="auto").fit(X, codes).n_pca_components_ < 18
    assert LFDA().fit(X, codes).n_pca_components_ == 19


def test_few_samples_get_a_ridge_on_all_axes(make_blobs):
    """The same as on the coordinates of scikit-learn's PCA, by the definition."""
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LFDA(metric="plain").fit(X, codes)
    Z = PCA(20).fit_transform(X)
    S_lb, S_lw = oracle.lfda_scatters(oracle.local_scaling(X, codes, 7), Z, codes)
    ridge = 0.3 * np.trace(S_lw) / 20
    assert model.reg_ == pytest.approx(ridge)
    values, V = linalg.eigh(S_lb, S_lw + ridge * np.eye(20))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8, atol=1e-10)
    # The first coordinates: of the last eigenvalues several are equal.
    up_to_sign(model.embedding_[:, :3], (Z @ V[:, ::-1])[:, :3], 1e-8)


@pytest.mark.parametrize(("n_features", "few"), [(6, False), (7, True)])
def test_samples_are_few_below_three_for_every_axis(make_blobs, n_features, few):
    """21 samples of 3 classes: S_lw can have rank 18."""
    X, codes = make_blobs((8, 7, 6), n_features=n_features)
    assert (LFDA().fit(X, codes).reg_ > 0) == few
    assert LFDA(reg=None).fit(X, codes).reg_ == 0


def test_axes_in_front_are_those_of_a_pipeline(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    # Local affinities would see the distances that are left.
    model = LFDA(3, affinity="ones", pca=0.9).fit(X, codes)
    pipeline = make_pipeline(PCA(0.9, svd_solver="full"), LFDA(3, affinity="ones")).fit(X, codes)
    up_to_sign(model.embedding_, pipeline[-1].embedding_, 1e-8)


def test_ridge_is_the_share_of_the_mean_eigenvalue(blobs):
    X, codes = blobs
    S_lb, S_lw = oracle.lfda_scatters(oracle.local_scaling(X, codes, 7), X, codes)
    model = LFDA(reg=0.1, metric="plain").fit(X, codes)
    assert model.reg_ == pytest.approx(0.1 * np.trace(S_lw) / 5)
    values = linalg.eigh(S_lb, S_lw + model.reg_ * np.eye(5), eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)


def test_constant_and_repeated_features(blobs):
    X, codes = blobs
    more = np.c_[X, np.ones(len(X)), X[:, 0]]
    model = LFDA().fit(more, codes)
    assert model.n_pca_components_ == 5
    assert model.reg_ == 0.0
    np.testing.assert_allclose(model.components_[:, 5], 0.0, atol=1e-12)


def test_duplicates(blobs):
    X, codes = blobs
    model = LFDA(n_neighbors=2).fit(np.r_[X, X, X], np.r_[codes, codes, codes])
    assert np.all(np.isfinite(model.components_))
    assert model.reg_ == 0.0


def test_two_classes_have_more_than_one_component(make_blobs):
    X, codes = make_blobs((20, 20))
    model = LFDA().fit(X, codes)
    assert model.embedding_.shape == (40, 5)
    assert np.all(model.eigenvalues_[1:] > 0)
    one = LFDA(affinity="ones").fit(X, codes)
    np.testing.assert_allclose(one.eigenvalues_[1:], 0.0, atol=1e-12)
    assert np.all(np.isfinite(one.embedding_))


def test_classes_far_apart_keep_their_digits(make_blobs):
    X, codes = make_blobs((15, 15))
    A = local_scaling_affinity(squared_distances(X), codes, 7)
    _, near = local_fisher_scatters(A, X, codes)
    _, far = local_fisher_scatters(A, X + 1e7 * codes[:, np.newaxis], codes)
    np.testing.assert_allclose(far, near, rtol=1e-6)


# Errors


def test_singular_scatter_without_ridge_is_an_error(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    with pytest.raises(ValueError, match=r"`reg` must be positive where .* singular.* Got 0"):
        LFDA(pca=None, reg=0).fit(X, codes)


@pytest.mark.parametrize("X", [[[0.0], [1], [2]], [[0.0], [1], [1]], [[0.0], [0.5], [1]]])
def test_no_scatter_within_classes_is_an_error(X):
    y = [0, 1, 1] if X[1] == X[2] else [0, 1, 2]
    with pytest.raises(ValueError, match=r"`X` must vary within at least one class"):
        LFDA().fit(X, y)


# The map


def test_transform_is_the_map(blobs):
    X, codes = blobs
    model = LFDA(3).fit(X, codes)
    expected = (X - model.mean_) @ model.components_.T
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)


def test_sparse_samples_give_the_same(blobs):
    X, codes = blobs
    X = np.where(X > 0, X, 0.0)
    one, other = LFDA().fit(X, codes), LFDA().fit(sparse.csr_array(X), codes)
    np.testing.assert_array_equal(other.components_, one.components_)
    np.testing.assert_array_equal(other.transform(sparse.csr_array(X)), one.transform(X))
