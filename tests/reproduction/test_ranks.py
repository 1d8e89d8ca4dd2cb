"""Ranks and their tests, beside the printed tables of Demšar (2006) and beside counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, wilcoxon

from reproduction.study.ranks import (
    alike,
    comparisons,
    critical_difference,
    friedman_p,
    holm,
    mean_ranks,
)

# Demšar 2006, Table 5(a): critical values of the two-tailed Nemenyi test for 2 to 10 classifiers.
Q_05 = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
# Demšar 2006, Table 6: areas under the curve of four variants of C4.5 on fourteen sets.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_critical_values_are_the_printed_ones():
    for k, q in enumerate(Q_05, start=2):
        # With N = k (k + 1)/6 sets the critical difference is q itself.
        assert critical_difference(k, k * (k + 1) / 6) == pytest.approx(q, abs=1e-3)


def test_the_example_of_the_paper():
    ranks = mean_ranks(1.0 - AUC)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=6e-4)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=5e-3)
    # Printed: 9.28. With ties the test divides by what ties take away.
    n, k = AUC.shape
    squared = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert squared == pytest.approx(9.28, abs=5e-3)
    ties = sum(
        count**3 - count for line in AUC for count in np.unique(line, return_counts=True)[1].tolist()
    )
    corrected = squared / (1 - ties / (n * k * (k**2 - 1)))
    assert friedman_p(1.0 - AUC) == pytest.approx(chi2.sf(corrected, k - 1))


def test_ties_share_their_rank_and_holes_are_refused():
    np.testing.assert_array_equal(mean_ranks([[1.0, 1.0, 3.0], [2.0, 1.0, 3.0]]), [1.75, 1.25, 3.0])
    with pytest.raises(ValueError, match="nan"):
        mean_ranks(np.array([[1.0, np.nan]]))


def test_stretches_that_no_difference_parts():
    assert alike([1.0, 2.0, 2.5, 4.0], 1.6) == [(1.0, 2.5), (2.5, 4.0)]
    assert alike([1.0, 2.0, 2.4, 4.1], 1.6) == [(1.0, 2.4)]
    assert alike([1.0, 5.0], 1.0) == []


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def test_wins_ties_and_losses_are_counted_and_tested():
    rng = np.random.default_rng(0)
    sets = rng.uniform(10, 20, size=(12, 3))
    sets[:, 1] = sets[:, 0] + rng.uniform(1, 2, 12)
    cases = np.array([[10.0, 12.0, 10.5], [10.0, 9.0, 8.5], [10.0, 11.5, 11.0]])
    first, second = comparisons(sets, ["a", "b", "c"], "a", cases, tie=1.0)
    assert (first.other, first.wins, first.ties, first.losses) == ("b", 2, 1, 0)
    assert (second.other, second.wins, second.ties, second.losses) == ("c", 0, 2, 1)
    assert first.p == pytest.approx(wilcoxon(sets[:, 0] - sets[:, 1]).pvalue)
    assert [first.adjusted, second.adjusted] == holm([first.p, second.p])


def test_equal_methods_have_no_test():
    assert friedman_p(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])) == 1.0
    errors = np.array([[1.0, 1.0], [2.0, 2.0]])
    (one,) = comparisons(errors, ["a", "b"], "b", errors, tie=0.0)
    assert (one.wins, one.ties, one.losses, one.p) == (0, 2, 0, 1.0)
