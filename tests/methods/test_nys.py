"""NYS against its definition: kernel, eigenmap, Nyström formula, neighbours, choice."""

from __future__ import annotations

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.spatial.distance import cdist, pdist

from nsse.exceptions import DegenerateEmbeddingWarning
from nsse.methods import NYS, SPE

SIGMA = 3.0


def fitted(data, **parameters):
    return NYS(**{"n_components": 3, "sigma": SIGMA, "length_unit": 1.0, **parameters}).fit(*data)


def up_to_sign(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


@pytest.mark.slow
def test_embedding_and_map_equal_the_double_loops(blobs):
    model = fitted(blobs)
    K = oracle.normalized_kernel_matrix(blobs.X, blobs.X, SIGMA)
    values, Y = oracle.eigenmap_of_kernel(K, 3)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    Y = up_to_sign(Y, model.embedding_)
    np.testing.assert_allclose(model.embedding_, Y, atol=1e-9)  # at training samples: the eigenmap
    new = np.random.default_rng(0).standard_normal((5, 5))
    expected = oracle.nystrom(blobs.X, Y, values, new, SIGMA)
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-9)


def test_sigma_none_is_the_root_mean_square_of_the_distances(blobs):
    model = NYS(3, sigma=None).fit(*blobs)
    assert model.sigma_ == pytest.approx(np.sqrt(np.mean(pdist(blobs.X, "sqeuclidean"))), rel=1e-9)


@pytest.mark.slow
def test_what_is_left_to_the_data_has_the_lowest_error(digits):
    """Every candidate by the definition: a third of every class held out in turn, the nearest label."""
    rows = np.flatnonzero(np.isin(digits.codes, (1, 8, 9)))[::2]
    X, codes = digits.X[rows], np.unique(digits.codes[rows], return_inverse=True)[1]
    N, unit = len(X), np.sqrt(np.median(pdist(X, "sqeuclidean")))
    density = np.exp(-cdist(X, X, "sqeuclidean") / unit**2).sum(axis=1)
    place = np.array([np.sum((codes == codes[i]) & (density < density[i])) for i in range(N)])
    mistakes = {}
    for d in (2, 6, 12, 24, N - 1):  # 1.5 is rounded to 2, as is n_classes - 1
        for sigma in (1.0, 3.0):
            mistakes[d, sigma] = 0
            for fold in range(3):
                train, held = place % 3 != fold, place % 3 == fold
                n = int(train.sum())
                kernel = oracle.normalized_kernel_matrix(X[train], X[train], sigma * unit)
                values, Y = oracle.eigenmap_of_kernel(kernel, min(max(1, round(d * n / N)), n - 1))
                Z = oracle.nystrom(X[train], Y, values, X[held], sigma * unit)
                near = [np.argmin([oracle.distance2(z, y) for y in Y]) for z in Z]
                mistakes[d, sigma] += int(np.sum(codes[train][near] != codes[held]))
    assert len(set(mistakes.values())) > 3
    d, sigma = min(mistakes, key=lambda tried: (mistakes[tried], tried))
    model = NYS().fit(X, codes)
    assert (model.embedding_.shape[1], model.sigma_) == (d, pytest.approx(sigma * unit))
    only = {tried: count for tried, count in mistakes.items() if tried[1] == 3.0}
    assert NYS(sigma=3.0).fit(X, codes).embedding_.shape[1] == min(only, key=lambda t: (only[t], t))[0]


def test_coordinates_that_are_rounding_are_left_out_where_none_was_requested(blobs):
    """A wide kernel of 60 samples on a line has few coordinates; all of them is no error."""
    X = blobs.X[:, :1]
    assert NYS().fit(X, blobs.codes).embedding_.shape[1] < 59
    with pytest.raises(
        ValueError, match=r"not exceed the number of coordinates that the kernel has, \d+. Got 40"
    ):
        NYS(40, sigma=100.0).fit(X, blobs.codes)
    with pytest.raises(ValueError, match=r"`n_components` must be less than the number of samples, 60"):
        NYS(60).fit(X, blobs.codes)


@pytest.mark.parametrize("method", [NYS(3), SPE(3)], ids=str)
def test_labels_do_not_touch_the_embedding(blobs, method):
    one = method.set_params(**{"sigma": 3.0} if isinstance(method, NYS) else {}).fit(*blobs).embedding_
    other = method.fit(blobs.X, np.random.default_rng(0).permutation(blobs.codes)).embedding_
    np.testing.assert_array_equal(other, one)


def test_far_from_all_samples_the_map_is_zero(blobs):
    far = [[1e4] * 5, [1e200] * 5]
    np.testing.assert_array_equal(fitted(blobs).transform(far), 0.0)


@pytest.mark.parametrize("method", [NYS(1, sigma=0.02), SPE(1, n_neighbors=4)], ids=str)
def test_pieces_of_a_graph_are_reported(make_blobs, method):
    data = make_blobs((9, 8, 7), spread=50.0)
    with pytest.warns(DegenerateEmbeddingWarning, match=r"eigenvalues 1 and 2 .* Raise `"):
        method.fit(*data)
