"""LDE: its graphs and scatters are the paper's, and so are its directions."""

import numpy as np
import oracles_methods as oracle
import pytest
from scipy import linalg

from nsse.methods import LDE


@pytest.mark.parametrize(("k", "k_between"), [(1, 1), (3, 5), (5, 100), (None, None)])
@pytest.mark.parametrize("t", [None, 4.0])
def test_directions_are_those_of_the_papers_scatters(make_blobs, k, k_between, t):
    """Classes of one and two samples among them, in any order of the samples."""
    X, codes = make_blobs((14, 1, 2, 15))
    order = np.random.default_rng(0).permutation(len(X))
    X, codes = X[order], codes[order]
    settings = {"n_neighbors": k, "n_neighbors_between": k_between, "beta": t, "length_unit": 1.0}
    model = LDE(None, **settings, reg=0).fit(X, codes)
    between, within, width = oracle.lde_scatters(X, codes, k, k_between, t)
    assert model.beta_ == pytest.approx(width)
    values, V = linalg.eigh(between, within)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(V[:, ::-1].T), atol=1e-8)


def test_beta_is_in_squared_units_of_length(blobs):
    model = LDE(None, beta=0.3).fit(*blobs)
    assert model.beta_ == pytest.approx(0.3 * model.length_unit_**2)
    between, within, _ = oracle.lde_scatters(*blobs, t=model.beta_)
    np.testing.assert_allclose(model.eigenvalues_, linalg.eigh(between, within)[0][::-1], rtol=1e-8)
    absolute = LDE(None, beta=model.beta_, length_unit=1.0).fit(*blobs)
    np.testing.assert_allclose(absolute.components_, model.components_, atol=1e-9)


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


def test_neighbours_that_are_duplicates_only_are_no_scatter():
    X = np.repeat([[0.0, 0], [1, 2], [3, 1], [2, 2]], 3, axis=0)
    y = np.repeat([0, 0, 1, 1], 3)
    with pytest.raises(ValueError, match=r"`X` must vary within at least one class"):
        LDE(n_neighbors=2).fit(X, y)
    assert np.all(np.isfinite(LDE(n_neighbors=3).fit(X, y).components_))
