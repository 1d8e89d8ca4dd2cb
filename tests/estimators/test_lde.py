"""LDE: its graphs and scatters are the paper's, its subspace is optimal, nothing gives a NaN."""

import numpy as np
import oracles_lfda_lde as oracle
import pytest
from scipy import linalg, sparse
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA

from nsse import LDE
from nsse.graphs.local_discriminant import discriminant_graphs
from nsse.graphs.scatters import graph_rank, graph_scatter, within_class_scatter
from nsse.kernels import squared_distances


def literal_scatters(X, codes, k=5, k_between=20, t=None):
    W, W_between, _ = oracle.lde_graphs(X, codes, k, k_between, t)
    return oracle.pairwise_scatter(W_between, X), oracle.pairwise_scatter(W, X)


# Graphs and scatters


@pytest.mark.parametrize(("k", "k_between"), [(1, 1), (3, 5), (5, 100), (None, None)])
@pytest.mark.parametrize("t", [None, 4.0])
def test_graphs_are_the_papers(make_blobs, k, k_between, t):
    X, codes = make_blobs((12, 1, 2, 9))
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, codes = X[shuffled], codes[shuffled]
    graphs = discriminant_graphs(squared_distances(X), codes, k, k_between, t)
    W, W_between, width = oracle.lde_graphs(X, codes, k, k_between, t)
    assert graphs.width == pytest.approx(width)
    np.testing.assert_allclose(graphs.within.toarray(), W, atol=1e-12)
    np.testing.assert_allclose(graphs.between.toarray(), W_between, atol=1e-12)


def test_scatters_are_the_papers(make_blobs):
    X, codes = make_blobs((12, 1, 5, 9))
    graphs = discriminant_graphs(squared_distances(X), codes, 3, 4, None)
    between, within = literal_scatters(X, codes, 3, 4)
    np.testing.assert_allclose(graph_scatter(graphs.between, X), between, atol=1e-10)
    np.testing.assert_allclose(within_class_scatter(graphs.within, X, codes), within, atol=1e-10)
    np.testing.assert_allclose(graph_scatter(graphs.within, X), within, atol=1e-10)


def test_duplicates_only_have_weight_one():
    graphs = discriminant_graphs(np.zeros((4, 4)), np.array([0, 0, 1, 1]), 1, 1, None)
    assert set(graphs.within.data) == set(graphs.between.data) == {1.0}


# The solution


@pytest.mark.parametrize(("k", "k_between"), [(5, 20), (2, 3), (None, None)])
def test_subspace_is_optimal(blobs, k, k_between):
    X, codes = blobs
    between, within = literal_scatters(X, codes, k, k_between)
    model = LDE(2, n_neighbors=k, n_neighbors_between=k_between).fit(X, codes)
    V = model.components_.T
    np.testing.assert_allclose(V.T @ within @ V, np.eye(2), atol=1e-9)
    best = oracle.rayleigh_quotient(between, within, V)
    assert best == pytest.approx(model.eigenvalues_.sum(), rel=1e-9)
    assert best == pytest.approx(linalg.eigh(between, within, eigvals_only=True)[-2:].sum(), rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert best >= oracle.rayleigh_quotient(between, within, rng.standard_normal((X.shape[1], 2)))


def test_beta_is_in_squared_units_of_length(blobs):
    X, codes = blobs
    unit = np.sqrt(np.median(squared_distances(X)[np.triu_indices(len(X), 1)]))
    model = LDE(None, beta=0.3).fit(X, codes)
    assert model.length_unit_ == pytest.approx(unit)
    assert model.beta_ == pytest.approx(0.3 * unit**2)
    between, within = literal_scatters(X, codes, t=0.3 * unit**2)
    values = linalg.eigh(between, within, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    absolute = LDE(None, beta=model.beta_, length_unit=1.0).fit(X, codes)
    np.testing.assert_allclose(absolute.components_, model.components_, atol=1e-9)


def test_samples_near_the_border_decide():
    """Far away the classes differ along x, next to each other along z: LDE looks at the neighbours."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, 200)
    y = (np.arange(200) % 2).astype(int)
    X = np.c_[x, rng.standard_normal(200), 0.6 * y + 0.05 * rng.standard_normal(200)]
    first = LDE(1).fit(X, y).components_[0]
    assert abs(first[2]) > 10 * max(abs(first[0]), abs(first[1]))


# What must not matter


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_scale_and_place_of_samples_do_not_matter(blobs, scale):
    X, codes = blobs
    one, other = LDE(beta=0.5).fit(X, codes), LDE(beta=0.5).fit(scale * X + 3 * scale, codes)
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-6)


# Hard cases


def test_plain_classification_has_no_nan():
    for seed in range(5):
        model = LDE().fit(*make_classification(random_state=seed))
        assert np.all(np.isfinite(model.components_))
        assert np.all(model.eigenvalues_ >= 0)


@pytest.mark.parametrize("pca", ["auto", None, 0.9, 5])
def test_more_features_than_samples(make_blobs, pca):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LDE(None, pca=pca, reg=None).fit(X, codes)
    assert np.all(np.isfinite(model.components_))
    assert model.embedding_.shape == (21, model.n_pca_components_)
    assert (model.reg_ > 0) == (pca is None)


def test_class_in_pieces_lowers_the_rank(make_blobs):
    X, codes = make_blobs((8, 8), n_features=60)
    X = X + 100.0 * (np.arange(16)[:, np.newaxis] // 4)  # every class in two pieces
    W = discriminant_graphs(squared_distances(X), codes, 2, 2, None).within
    assert graph_rank(W) <= 16 - 4
    assert LDE(n_neighbors=2, pca="auto").fit(X, codes).n_pca_components_ <= graph_rank(W)


def test_constant_features_and_duplicates(blobs):
    X, codes = blobs
    more = np.c_[X, np.ones(len(X))]
    model = LDE(n_neighbors=3).fit(np.r_[more, more, more], np.r_[codes, codes, codes])
    assert model.n_pca_components_ == 5
    assert np.all(np.isfinite(model.components_))


def test_neighbours_that_are_duplicates_only_are_no_scatter():
    X = np.repeat([[0.0, 0], [1, 2], [3, 1], [2, 2]], 3, axis=0)
    y = np.repeat([0, 0, 1, 1], 3)
    with pytest.raises(ValueError, match=r"`X` must vary within at least one class"):
        LDE(n_neighbors=2).fit(X, y)
    assert np.all(np.isfinite(LDE(n_neighbors=3).fit(X, y).components_))


def test_classes_smaller_than_k_in_any_order(make_blobs):
    X, codes = make_blobs((20, 3, 9))
    one = LDE().fit(X, codes)
    for names in ([1, 0, 2], [2, 1, 0], [1, 2, 0]):
        other = LDE().fit(X, np.array(names)[codes])
        np.testing.assert_allclose(np.abs(other.embedding_), np.abs(one.embedding_), atol=1e-7)


@pytest.mark.parametrize(
    ("sizes", "n_features", "expected"),
    [((20, 20), 5, 3), ((9, 9, 9, 9), 5, 3), ((9,) * 6, 9, 5), ((9,) * 6, 4, 4), ((20, 20), 2, 2)],
)
def test_coordinates_by_default(make_blobs, sizes, n_features, expected):
    """One less than classes, three at least, no more than there are axes; the first of all."""
    data = make_blobs(sizes, n_features=n_features)
    model, whole = LDE().fit(*data), LDE(None).fit(*data)
    assert model.embedding_.shape[1] == expected
    assert whole.embedding_.shape[1] == n_features
    np.testing.assert_allclose(model.embedding_, whole.embedding_[:, :expected], atol=1e-9)


def test_few_samples_get_a_ridge_on_all_axes(make_blobs):
    """The same as on the coordinates of scikit-learn's PCA, by the definition."""
    X, codes = make_blobs((8, 7, 6), n_features=60)
    model = LDE().fit(X, codes)
    Z = PCA(20).fit_transform(X)
    between, within = literal_scatters(Z, codes)
    ridge = 0.3 * np.trace(within) / 20
    assert model.reg_ == pytest.approx(ridge)
    values, V = linalg.eigh(between, within + ridge * np.eye(20))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-8)
    expected = Z @ V[:, ::-1][:, :3]
    signs = np.sign(np.sum(expected * model.embedding_, axis=0))
    np.testing.assert_allclose(model.embedding_, expected * signs, atol=1e-8)


# Errors


def test_singular_scatter_without_ridge_is_an_error(make_blobs):
    X, codes = make_blobs((8, 7, 6), n_features=60)
    with pytest.raises(ValueError, match=r"`reg` must be positive where .* singular.* Got 0"):
        LDE(pca=None, reg=0).fit(X, codes)


# The map


def test_transform_is_the_map(blobs):
    X, codes = blobs
    model = LDE(3).fit(X, codes)
    np.testing.assert_allclose(model.transform(X), (X - model.mean_) @ model.components_.T, atol=1e-12)


def test_sparse_samples_give_the_same_bits(blobs):
    X, codes = blobs
    X = np.where(X > 0, X, 0.0)
    one, other = LDE().fit(X, codes), LDE().fit(sparse.csr_array(X), codes)
    np.testing.assert_array_equal(other.components_, one.components_)
