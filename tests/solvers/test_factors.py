"""A triangular factor by blocks: that of LAPACK, and one that can be interrupted."""

from __future__ import annotations

import numpy as np
import pytest

from nsse.solvers import factors
from nsse.solvers.factors import cholesky
from nsse.solvers.gram_pencil import _factor


@pytest.fixture
def by_blocks(monkeypatch):
    monkeypatch.setattr(factors, "WHOLE_UP_TO", 10)
    monkeypatch.setattr(factors, "BLOCK", 64)


@pytest.mark.parametrize("m", [40, 64, 65, 150, 256])
def test_a_factor_by_blocks_is_the_factor(m, by_blocks):
    rng = np.random.default_rng(m)
    A = rng.standard_normal((m, m))
    P = A @ A.T + 0.1 * np.eye(m)
    given = P.copy()
    given[np.triu_indices(m, 1)] = np.nan  # what lies above the diagonal is never read
    factor = cholesky(given)
    lower = np.tril_indices(m)
    np.testing.assert_allclose(factor.R.T[lower], np.linalg.cholesky(P)[lower], rtol=1e-8, atol=1e-10)
    assert factor.R.flags.f_contiguous
    assert 0.3 < factor.condition * np.linalg.eigvalsh(P)[0] / np.trace(P) < 3 * m
    C = rng.standard_normal((m, 3))
    np.testing.assert_allclose(factor.solve(factor.solve_transposed(P @ C)), C, rtol=1e-6)


@pytest.mark.parametrize("place", [3, 100, 149])
def test_an_indefinite_matrix_has_none(place, by_blocks):
    P = np.diag(np.arange(1.0, 151.0))
    P[place, place] = -1.0
    assert cholesky(P) is None


@pytest.mark.parametrize("definite", [True, False])
def test_what_lies_above_the_diagonal_stays(definite, by_blocks):
    """A matrix that rounding makes indefinite is taken from there again, with more on its diagonal."""
    A = np.random.default_rng(0).standard_normal((200, 200))
    P = A @ A.T + (1.0 if definite else -50.0) * np.eye(200)
    above = np.triu(P, 1)
    assert (cholesky(P) is not None) == definite
    np.testing.assert_array_equal(np.triu(P, 1), above)


def test_jitter_makes_a_factor_of_a_matrix_that_is_hardly_indefinite(by_blocks):
    A = np.random.default_rng(0).standard_normal((200, 150))
    P = A @ A.T
    P[np.diag_indices(200)] -= 1e-6
    expected = P.copy()
    factor, jitter = _factor(P, 1e-7)
    assert jitter > 0
    expected[np.diag_indices(200)] += jitter
    R = np.triu(factor.R)
    np.testing.assert_allclose(R.T @ R, expected, atol=1e-12 * np.trace(expected))


def test_it_is_interrupted_between_blocks(by_blocks, monkeypatch):
    """One call of LAPACK does not hear of Ctrl-C before its end: four seconds for 5,000 samples."""
    calls = []

    def interrupted(work, tasks, n_values):
        calls.append(n_values)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(factors, "in_parallel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cholesky(2.0 * np.eye(640))
    assert len(calls) == 3
