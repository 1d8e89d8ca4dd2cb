"""SUPLAP against its definition: graphs, minimiser, interpolation, what is not determined."""

from __future__ import annotations

import warnings

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh, subspace_angles

from nsse.exceptions import DegenerateEmbeddingWarning
from nsse.methods import SUPLAP

KINDS = [("adaptive", "adaptive"), (3, 5), (50, "adaptive"), ("adaptive", 2), (None, "adaptive")]


def fitted(data, **parameters):
    chosen = {"n_components": 3, "n_neighbors": "adaptive", "n_neighbors_between": 10, "mu": 0.1}
    return SUPLAP(**chosen | parameters).fit(data.X, data.codes)


@pytest.mark.parametrize("beta", [None, 7.0])
@pytest.mark.parametrize(("within", "between"), KINDS)
def test_embedding_minimises_the_literal_objective(blobs, within, between, beta):
    """Eigenvalues and eigenvectors of L_w − μ L_b, built by loops: Eq. (2)."""
    graphs = {"n_neighbors": within, "n_neighbors_between": between, "beta": beta}
    model = fitted(blobs, **graphs, length_unit=1.0, sigma=2.0)
    values, Y = eigh(oracle.suplap_matrix(*blobs, within, between, 0.1, beta), subset_by_index=(0, 2))
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-11)
    assert model.objective_ == pytest.approx(values.sum(), abs=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(Y * model.embedding_, axis=0)), 1.0, atol=1e-6)


@pytest.mark.parametrize(("sigma", "ridge"), [(0.1, 1e-10), (1.0, 1e-10), (3.0, 1e-10), (1.0, 0.1)])
def test_the_map_passes_through_the_embedding(blobs, sigma, ridge):
    """f(x_i) = y_i − ρ c_i, Eq. (7): the ridge shows where a wide kernel needs large coefficients."""
    model = fitted(blobs, sigma=sigma, ridge=ridge)
    Y = eigh(oracle.suplap_matrix(*blobs, "adaptive", 10, 0.1), subset_by_index=(0, 2))[1]
    Y *= np.sign(np.sum(Y * model.embedding_, axis=0))
    np.testing.assert_allclose(model.transform(blobs.X) + ridge * model.coef_, Y, atol=1e-8)
    K = oracle.gaussian(blobs.X[:5] + 0.2, blobs.X, model.sigma_)
    expected = K @ model.coef_
    np.testing.assert_allclose(
        model.transform(blobs.X[:5] + 0.2), expected, atol=1e-9 * np.abs(model.coef_).max()
    )


def test_unit_of_length_is_the_median_distance(blobs):
    model = fitted(blobs, sigma=0.7, beta=0.5)
    distances = [oracle.distance2(a, b) for i, a in enumerate(blobs.X) for b in blobs.X[:i]]
    assert model.length_unit_ == pytest.approx(np.sqrt(np.median(distances)))
    assert model.sigma_ == pytest.approx(0.7 * model.length_unit_)
    given = fitted(blobs, sigma=model.sigma_, beta=0.5 * model.length_unit_**2, length_unit=1.0)
    np.testing.assert_allclose(given.embedding_, model.embedding_, atol=1e-9)


def test_joining_all_other_classes_is_degenerate_and_collapses_the_classes(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # three dimensions span all there is: determined up to rotation
        Y = fitted(blobs, n_neighbors_between=None).embedding_
    assert subspace_angles(Y, np.eye(4)[blobs.codes]).max() < 1e-6
    with pytest.warns(DegenerateEmbeddingWarning, match="eigenvalues 2 and 3") as record:
        model = fitted(blobs, n_neighbors_between=None, n_components=2)
    assert record[0].filename == __file__
    np.testing.assert_allclose(model.eigenvalues_, [-6.0, -6.0], rtol=1e-12)  # −μN


def test_without_a_ridge_duplicates_are_an_error_that_says_the_cure(blobs):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    with pytest.raises(ValueError, match=r"`ridge` must be large enough .* Got 0\.?0?\. Raise it"):
        SUPLAP(1, ridge=0.0, n_neighbors_between=10).fit(X, codes)
