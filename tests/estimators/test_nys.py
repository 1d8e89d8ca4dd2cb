"""NYS against its definition: kernel, eigenmap, Nyström formula, neighbours, wording of errors."""

from __future__ import annotations

import numpy as np
import oracles_suplap_nys_spe as oracles
import pytest
from sklearn.manifold import SpectralEmbedding

from nsse import NYS, DegenerateEmbeddingWarning
from nsse.estimators import _nys_choice
from nsse.estimators._nys_choice import dimensions_tried
from nsse.graphs import nearest, squared_radii, symmetric_graph, within_reach
from nsse.kernels import squared_distances
from nsse.solvers import eigenmap, normalized_eigenmap

SIGMA = 3.0


def fitted(data, **parameters):
    return NYS(**{"n_components": 3, "sigma": SIGMA, "length_unit": 1.0, **parameters}).fit(*data)


def up_to_sign(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


@pytest.mark.parametrize("k", [None, 12])
def test_embedding_and_map_equal_the_double_loops(blobs, k):
    model = fitted(blobs, n_neighbors=k)
    values, Y = oracles.eigenmap_of_kernel(
        oracles.normalized_kernel_matrix(blobs.X, blobs.X, SIGMA, k), 3
    )
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    Y = up_to_sign(Y, model.embedding_)
    np.testing.assert_allclose(model.embedding_, Y, atol=1e-9)  # at training samples: the eigenmap
    new = np.random.default_rng(0).standard_normal((5, 5))
    expected = oracles.nystrom(blobs.X, Y, values, new, SIGMA, k)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-9)


def test_embedding_is_the_minimiser(blobs):
    """tr(Y'(N I − K̃)Y) over orthonormal Y beside the trivial vector is least at the eigenmap."""
    K = oracles.normalized_kernel_matrix(blobs.X, blobs.X, SIGMA)
    model = fitted(blobs)
    least = np.trace(model.embedding_.T @ (60 * np.eye(60) - K) @ model.embedding_)
    assert least == pytest.approx(np.sum(60 - model.eigenvalues_), rel=1e-9)
    trivial = np.linalg.eigh(K)[1][:, -1:]
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((60, 3))
        Y = np.linalg.qr(A - trivial @ (trivial.T @ A))[0]
        assert np.trace(Y.T @ (60 * np.eye(60) - K) @ Y) > least


def test_embedding_agrees_with_scikit_learn(blobs):
    K = np.exp(-squared_distances(blobs.X) / SIGMA**2)
    theirs = SpectralEmbedding(3, affinity="precomputed", eigen_solver="lobpcg", random_state=0)
    theirs = theirs.fit_transform(K)
    # Theirs ignores the diagonal of K and divides by the square roots of degrees: the same with it off.
    W = K - np.diag(np.diag(K))
    D = W.sum(axis=1)
    ours = normalized_eigenmap(W, 3).vectors / np.sqrt(D)[:, np.newaxis]
    ours /= np.linalg.norm(ours, axis=0)
    theirs /= np.linalg.norm(theirs, axis=0)
    np.testing.assert_allclose(up_to_sign(theirs, ours), ours, atol=1e-4)


@pytest.mark.parametrize("k", [1, 5, 80])
def test_reach_is_the_symmetric_graph_of_nearest_neighbors(blobs, k):
    D2, everyone = squared_distances(blobs.X), np.arange(60)
    rows, cols = nearest(D2, everyone, everyone, k)
    graph = symmetric_graph(rows, cols, np.ones(len(rows)), 60).toarray() > 0
    reach = within_reach(D2, squared_radii(D2, k), k, 1e-12)
    np.testing.assert_array_equal(reach & ~np.eye(60, dtype=bool), graph)
    assert np.all(np.diag(reach))


@pytest.mark.parametrize("k", [None, 10])
def test_sigma_none_is_the_root_mean_square_of_the_kept_distances(blobs, k):
    model = NYS(3, sigma=None, n_neighbors=k).fit(*blobs)
    kept = oracles.kernel_matrix(blobs.X, blobs.X, 1e9, k) > 0
    np.fill_diagonal(kept, False)
    kept = [oracles.distance2(blobs.X[i], blobs.X[j]) for i, j in np.argwhere(kept)]
    assert model.sigma_ == pytest.approx(np.sqrt(np.mean(kept)), rel=1e-9)


def test_what_is_left_to_the_data_has_the_fewest_mistakes(digits):
    """Every candidate by the definition: a third of every class held out in turn, the nearest name."""
    rows = np.flatnonzero(np.isin(digits.codes, (1, 8, 9)))[::2]
    X, codes = digits.X[rows], np.unique(digits.codes[rows], return_inverse=True)[1]
    N, unit = len(X), np.sqrt(np.median(squared_distances(X)[np.triu_indices(len(X), 1)]))
    density = np.exp(-squared_distances(X) / unit**2).sum(axis=1)
    place = np.array([np.sum((codes == codes[i]) & (density < density[i])) for i in range(N)])
    mistakes = {}
    for d in (2, 6, 12, 24, N - 1):  # 1.5 is rounded to 2, as is n_classes - 1
        for sigma in (1.0, 3.0):
            mistakes[d, sigma] = 0
            for fold in range(3):
                train, held = place % 3 != fold, place % 3 == fold
                n = int(train.sum())
                kernel = oracles.normalized_kernel_matrix(X[train], X[train], sigma * unit)
                values, Y = oracles.eigenmap_of_kernel(kernel, min(max(1, round(d * n / N)), n - 1))
                Z = oracles.nystrom(X[train], Y, values, X[held], sigma * unit)
                near = [np.argmin([oracles.distance2(z, y) for y in Y]) for z in Z]
                mistakes[d, sigma] += int(np.sum(codes[train][near] != codes[held]))
    assert len(set(mistakes.values())) > 3
    d, sigma = min(mistakes, key=lambda tried: (mistakes[tried], tried))
    model = NYS().fit(X, codes)
    assert (model.embedding_.shape[1], model.sigma_) == (d, pytest.approx(sigma * unit))
    only = {tried: count for tried, count in mistakes.items() if tried[1] == 3.0}
    assert NYS(sigma=3.0).fit(X, codes).embedding_.shape[1] == min(only, key=lambda t: (only[t], t))[0]


def test_the_choice_does_not_depend_on_the_order(digits):
    X, codes = digits.X[::2], digits.codes[::2]
    order = np.random.default_rng(0).permutation(len(X))
    one, other = NYS().fit(X, codes), NYS().fit(X[order], codes[order])
    assert other.embedding_.shape == one.embedding_.shape
    assert other.sigma_ == pytest.approx(one.sigma_)


def test_with_neighbors_nothing_is_left_to_the_data(blobs):
    one, other = NYS(n_neighbors=12).fit(*blobs), NYS(None, sigma=None, n_neighbors=12).fit(*blobs)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    assert one.embedding_.shape == (60, 3)


def test_coordinates_that_are_rounding_are_left_out_where_none_was_asked_for(blobs):
    """A wide kernel of 60 samples on a line has few coordinates; all of them is no error."""
    X = blobs.X[:, :1]
    assert NYS().fit(X, blobs.codes).embedding_.shape[1] < 59
    assert dimensions_tried(60, 3) == [2, 6, 12, 24, 59]
    assert dimensions_tried(4, 2) == [1, 3]
    assert dimensions_tried(2, 2) == [1]


def test_many_samples_are_chosen_on_by_a_part(blobs, monkeypatch):
    seen = []

    def watched(K, d):
        seen.append(len(K))
        return normalized_eigenmap(K, d)

    monkeypatch.setattr(_nys_choice, "MOST", 30)
    monkeypatch.setattr(_nys_choice, "normalized_eigenmap", watched)
    assert np.all(np.isfinite(NYS().fit(*blobs).embedding_))
    assert max(seen) <= 21  # two thirds of 30, up to the rounding of four classes


def test_sparse_and_dense_solvers_agree(digits, monkeypatch):
    dense = NYS(5, n_neighbors=10).fit(*digits)
    monkeypatch.setattr(eigenmap, "LARGE", 10)
    lanczos = NYS(5, n_neighbors=10).fit(*digits)
    np.testing.assert_allclose(lanczos.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(lanczos.embedding_, dense.embedding_, atol=1e-8)


def test_labels_do_not_touch_the_embedding(blobs):
    other = np.random.default_rng(0).permutation(blobs.codes)
    model = fitted(blobs)
    np.testing.assert_array_equal(fitted((blobs.X, other)).embedding_, model.embedding_)


def test_far_from_all_samples_the_map_is_zero(blobs):
    for k in (None, 10):
        np.testing.assert_array_equal(fitted(blobs, n_neighbors=k).transform(np.full((2, 5), 1e4)), 0.0)


def test_neighbors_that_are_all_duplicates_are_kept():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(DegenerateEmbeddingWarning):
        model = NYS(1, n_neighbors=2).fit(X, np.repeat([0, 1, 1], 4))
    assert np.all(np.isfinite(model.transform(X + 0.1)))


def test_pieces_of_a_graph_are_reported(make_blobs):
    data = make_blobs((9, 8, 7), spread=50.0)
    with pytest.warns(DegenerateEmbeddingWarning, match=r"eigenvalues 1 and 2 .* Raise `n_neighbors`"):
        NYS(1, n_neighbors=4).fit(*data)
