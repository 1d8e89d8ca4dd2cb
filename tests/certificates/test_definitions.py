"""Tests of small parts of certificates against their definitions, with 50 digits if rounding matters."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from nsse import SmoothEmbedding
from nsse.certificates.conformal import lowered
from nsse.certificates.map_bounds import change, reach
from nsse.certificates.radii import rounding_of_sum
from nsse.ensemble import zero_sum_basis
from nsse.scores import Scores


def wide(n_samples=24, n_features=60):
    """Two classes with more features than samples."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n_samples // 2)
    return rng.normal(size=(n_samples, n_features)) + 2.0 * y[:, np.newaxis], y


@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_a_distance_from_the_hull_lowers_values_by_the_kernel_at_half_of_it(decision):
    X, y = wide()
    model = SmoothEmbedding(decision=decision).fit(X, y)
    heights = np.array([0.0, 0.5, 3.0, 40.0])
    values = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.6, 0.4]])
    factors = np.exp(-heights / (2.0 * model.map_.kernel.sigma) ** 2)[:, np.newaxis]
    if decision == "scores":
        priors = np.array([0.5, 0.5])
        expected = priors + factors * (values - priors)
    else:
        expected = values + np.log(factors)
    np.testing.assert_allclose(lowered(model, values, heights), expected, rtol=1e-12)


def exact_change(distance, sigma):
    """√(2 − 2 exp(−d²/σ²)) for numbers that are taken as they are stored."""
    t = (Decimal(float(distance)) / Decimal(float(sigma))) ** 2
    return (2 - 2 * (-t).exp()).sqrt()


def test_no_function_changes_more_than_the_bound_that_is_computed():
    f = SmoothEmbedding().fit(*wide()).map_
    distances = f.kernel.sigma * np.geomspace(1e-6, 5.0, 200)
    bounds = change(f, distances)
    with localcontext() as context:
        context.prec = 50
        exact = [exact_change(one, f.kernel.sigma) for one in distances]
        assert all(Decimal(float(bound)) >= one for bound, one in zip(bounds, exact, strict=True))
        # The inverse is rounded to the other side.
        changes = np.linspace(1e-6, 1.4, 200)
        back = [exact_change(one, f.kernel.sigma) for one in reach(f, changes)]
        assert all(one <= Decimal(float(given)) for one, given in zip(back, changes, strict=True))
    np.testing.assert_allclose(bounds, [float(one) for one in exact], rtol=1e-13)


@pytest.mark.parametrize("n", [2, 10, 60])
def test_the_error_of_a_weighted_sum_is_at_least_that_of_textbooks(n):
    """W V'S is computed with an error of γ |W||V'||S| (Higham 2002, Section 3.5), of both products."""
    axes, _ = np.linalg.qr(np.random.default_rng(n).normal(size=(n - 1, n - 1)))
    V = zero_sum_basis(n) @ axes
    scores = Scores.of_classes(np.arange(n), V, np.zeros(n))
    unit = np.finfo(float).eps / 2
    gamma = (2 * n - 1) * unit / (1 - (2 * n - 1) * unit)
    of_one_class = gamma * np.linalg.norm(np.abs(V) @ np.abs(V.T), axis=1).max() * np.sqrt(n)
    assert rounding_of_sum(V, scores, n_members=1) >= 2 * of_one_class
    # It is not a large overestimate, because radii shrink by it.
    assert rounding_of_sum(V, scores, n_members=1) < 1e-9
