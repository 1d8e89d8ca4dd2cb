"""Ranks and their tests agree with the printed tables of Demšar (2006) and with counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, rankdata

from reproduction.study.ranks import critical_difference, friedman_p

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
    ranks = rankdata(1.0 - AUC, axis=1).mean(axis=0)
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


def test_equal_methods_have_no_test():
    assert friedman_p(np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])) == 1.0
