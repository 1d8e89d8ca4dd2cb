"""IsoKRR: dissimilarities, geodesics, scaling and regression against their definitions."""

from __future__ import annotations

import numpy as np
import oracles_isokrr as oracle
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import Isomap

from nsse import IsoKRR
from nsse.extensions import kernel_ridge
from nsse.graphs.geodesics import class_dissimilarities, geodesic_distances, shortest_links
from nsse.solvers import isomap
from nsse.solvers.isomap import classical_mds, double_centred


def squared(X):
    return cdist(X, X, "sqeuclidean")


# Dissimilarities and geodesics


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_dissimilarities_are_the_definition(blobs, alpha):
    ours = class_dissimilarities(squared(blobs.X), blobs.codes, 7.0, alpha)
    expected = oracle.class_dissimilarity_matrix(blobs.X, blobs.codes, 7.0, alpha)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-7)
    np.testing.assert_array_equal(ours, ours.T)


def test_beta_of_none_is_the_squared_mean_distance(blobs):
    width = oracle.mean_distance(blobs.X) ** 2
    D2 = squared(blobs.X)
    ours, given = (class_dissimilarities(D2, blobs.codes, beta, 0.5) for beta in (None, width))
    np.testing.assert_allclose(ours, given, rtol=1e-10)


@pytest.mark.parametrize(("k", "n_pieces"), [(2, 4), (30, 1), (None, 1)])
def test_geodesics_are_those_of_three_loops(make_blobs, k, n_pieces):
    X, codes = make_blobs((8, 7, 6, 5))
    D = oracle.class_dissimilarity_matrix(X, codes, oracle.mean_distance(X) ** 2, 0.2)
    ours = geodesic_distances(D, k)
    edges = oracle.neighbor_edges(D, len(X) if k is None else k)
    expected = oracle.floyd_warshall(D, oracle.joined(D, edges))
    np.testing.assert_allclose(ours.lengths, expected, rtol=1e-12, atol=1e-300)
    assert ours.n_components == len(oracle.pieces(edges, len(X)))
    assert ours.n_components >= n_pieces
    np.testing.assert_array_equal(ours.lengths, ours.lengths.T)


def test_pieces_are_joined_by_their_shortest_edges():
    # Three pairs on a line: 0 1 _ 10 11 _ _ 30 31, in mixed order.
    x = np.array([[30.0], [0.0], [11.0], [1.0], [31.0], [10.0]])
    D = squareform(pdist(x))
    rows, cols = shortest_links(D, np.array([2, 0, 1, 0, 2, 1]))
    links = {frozenset((x[i, 0], x[j, 0])) for i, j in zip(rows, cols, strict=True)}
    assert links == {frozenset((1.0, 10.0)), frozenset((1.0, 30.0)), frozenset((11.0, 30.0))}


def test_duplicates_are_joined_by_edges_of_length_zero():
    x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0]])
    geodesics = geodesic_distances(squareform(pdist(x)), 2)
    np.testing.assert_allclose(geodesics.lengths, squareform(pdist(x)), atol=1e-300)


# Scaling


def test_scaling_gives_back_euclidean_distances(blobs):
    G = squareform(pdist(blobs.X))
    scaling = classical_mds(G)
    assert scaling.coordinates.shape == blobs.X.shape
    assert scaling.negative_share < 1e-12
    np.testing.assert_allclose(squareform(pdist(scaling.coordinates)), G, atol=1e-10)


def test_inner_products_are_the_definition(blobs):
    G = squareform(pdist(blobs.X)) ** 0.7
    np.testing.assert_allclose(double_centred(G**2), oracle.scaled_inner_products(G), atol=1e-10)


def test_negative_eigenvalues_take_no_coordinates():
    # Three leaves of a star at distance 1 from its centre: no four points of a space are like that.
    G = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
    values = np.linalg.eigvalsh(oracle.scaled_inner_products(G))
    scaling = classical_mds(G)
    assert scaling.negative_share == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    assert scaling.negative_share > 0.01
    assert len(scaling.eigenvalues) == 2


@pytest.mark.parametrize("missed", [False, True])
def test_few_coordinates_of_many_samples_are_the_first_of_all(blobs, monkeypatch, missed):
    """Lanczos, checked by the eigenvalues that LAPACK finds: what it misses is not believed."""
    G = squareform(pdist(blobs.X)) ** 1.5
    all_of_them, original = classical_mds(G), isomap.lanczos

    def forgetful(B, k, which, restarts):
        values, vectors = original(B, k + 1, which, restarts)
        return (values[:-1], vectors[:, :-1]) if missed else (values[1:], vectors[:, 1:])

    monkeypatch.setattr(isomap, "worth_lanczos", lambda n_samples, k: True)
    monkeypatch.setattr(isomap, "lanczos", forgetful)
    few = classical_mds(G, 4)
    np.testing.assert_allclose(
        np.abs(few.coordinates), np.abs(all_of_them.coordinates[:, :4]), atol=1e-9
    )
    np.testing.assert_allclose(few.eigenvalues, all_of_them.eigenvalues, rtol=1e-9)
    assert few.negative_share == pytest.approx(all_of_them.negative_share)
    assert few.negative_share > 1e-3


@pytest.mark.filterwarnings("ignore:The number of connected components")  # k = 8: two, joined alike
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("k", [8, 20])
def test_unsupervised_limit_is_the_isomap_of_scikit_learn(digits, k):
    """With plain distances as dissimilarities our geodesics and scaling are scikit-learn's."""
    X = digits.X[:80]
    isomap = Isomap(n_neighbors=k, n_components=3, metric="precomputed").fit(squareform(pdist(X)))
    scaling = classical_mds(geodesic_distances(squareform(pdist(X)), k).lengths)
    ours, theirs = scaling.coordinates[:, :3], isomap.embedding_
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=1e-6, atol=1e-8)


# Regression and the whole


def test_ridge_is_that_of_scikit_learn(blobs):
    Y = np.random.default_rng(0).standard_normal((len(blobs.X), 3))
    K = np.exp(-squared(blobs.X) / 4.0)
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(kernel_ridge(K, Y, 0.1), theirs.dual_coef_, rtol=1e-8)


def test_fit_is_its_parts(blobs):
    model = IsoKRR(3, n_neighbors=6, beta=None, overlap=0.3, alpha=0.1, sigma=0.8).fit(*blobs)
    D = oracle.class_dissimilarity_matrix(blobs.X, blobs.codes, oracle.mean_distance(blobs.X) ** 2, 0.3)
    edges = oracle.neighbor_edges(D, 6)
    B = oracle.scaled_inner_products(oracle.floyd_warshall(D, oracle.joined(D, edges)))
    values, vectors = np.linalg.eigh(B)
    Y = vectors[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3])
    np.testing.assert_allclose(np.abs(model.isomap_embedding_), np.abs(Y), atol=1e-7)
    assert model.n_connected_components_ == len(oracle.pieces(edges, len(D)))
    assert model.negative_share_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    K = np.exp(-squared(blobs.X) / model.sigma_**2)
    np.testing.assert_allclose(
        (K + 0.1 * np.eye(len(K))) @ model.coef_, model.isomap_embedding_, atol=1e-8
    )
    np.testing.assert_allclose(model.embedding_, K @ model.coef_, atol=1e-8)


def test_tiny_ridge_interpolates(digits):
    model = IsoKRR(alpha=1e-10).fit(*digits)
    Y = model.isomap_embedding_
    np.testing.assert_allclose(model.transform(digits.X), Y, atol=1e-6 * np.abs(Y).max())
    assert model.score(*digits) == 1.0


def test_large_ridge_does_not(digits):
    model = IsoKRR(alpha=10.0).fit(*digits)
    assert np.linalg.norm(model.embedding_) < 0.9 * np.linalg.norm(model.isomap_embedding_)


def test_new_digits_are_classified(digits):
    train = np.arange(len(digits.X)) % 2 == 0
    model = IsoKRR().fit(digits.X[train], digits.codes[train])
    assert model.score(digits.X[~train], digits.codes[~train]) > 0.9


# Errors


def test_too_small_a_ridge_is_said(make_blobs):
    X, codes = make_blobs((4, 4))
    with pytest.raises(ValueError, match=r"`alpha` must be large enough .* Got 1e-300\."):
        IsoKRR(alpha=1e-300).fit(np.vstack([X, X]), np.append(codes, codes))
