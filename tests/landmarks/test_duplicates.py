"""Equal rows are found wherever they lie, and told apart in an order of their own."""

import numpy as np
import pytest
from scipy import sparse

from nsse.landmarks import distinct_rows, equal_rows


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_groups_are_those_of_equal_rows_and_labels(form):
    rng = np.random.default_rng(0)
    X, codes = rng.integers(-1, 2, (60, 2)).astype(float), rng.integers(0, 2, 60)
    X[X == 0.0] = np.where(rng.random((X == 0).sum()) < 0.5, -0.0, 0.0)
    first, groups = distinct_rows(form(X), codes)
    for i in range(60):
        for j in range(60):
            same = codes[i] == codes[j] and (X[i] == X[j]).all()
            assert (groups[i] == groups[j]) == same
    assert [np.flatnonzero(groups == g)[0] for g in range(len(first))] == first.tolist()


def test_their_order_is_that_of_the_values_in_any_unit():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    first, _ = distinct_rows(X, codes)
    assert first.tolist() == sorted(range(40), key=lambda i: (codes[i], *X[i]))
    order = rng.permutation(40)
    moved, _ = distinct_rows(X[order] * 1e-7, codes[order])
    assert order[moved].tolist() == first.tolist()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("doubled", [False, True])
def test_the_same_groups_in_the_order_of_their_rows(form, doubled):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    if doubled:
        X[20:], codes[20:25] = X[:10], codes[:5]
        X[3, 0], X[23, 0] = 0.0, -0.0
    first, groups = equal_rows(form(X), codes)
    expected_first, expected = distinct_rows(form(X), codes)
    assert first.tolist() == sorted(expected_first)
    assert np.all(np.diff(first) > 0)
    assert [first[g] for g in groups] == [expected_first[g] for g in expected]


def test_rows_of_the_same_values_in_another_order_are_not_equal():
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    first, groups = equal_rows(X, np.zeros(3, dtype=int))
    assert first.tolist() == groups.tolist() == [0, 1, 2]
