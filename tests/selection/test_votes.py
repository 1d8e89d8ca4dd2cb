"""Majorities of labels and the radii within which they hold."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsse.certificates.votes import majority_margins, vote_radii, winners
from nsse.extensions import leads


def majority(votes):
    """Counted one by one; the first voter among equals decides."""
    counts = Counter(votes)
    return next(code for code in votes if counts[code] == max(counts.values()))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_winners_are_counted(votes):
    assert winners(np.array([votes]))[0] == majority(votes)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_voters", [1, 2, 4, 7])
def test_margins_of_a_vote(n_voters, n_classes):
    """The winner's is the largest; moving every lead by so much changes none by more."""
    rng = np.random.default_rng(n_voters)
    scores = rng.normal(size=(400, n_voters, n_classes))
    told = np.stack([leads(scores[:, v]) for v in range(n_voters)], axis=1)
    margins = majority_margins(told)
    won = winners(scores.argmax(axis=2))
    np.testing.assert_array_equal(margins.argmax(axis=1), won)
    assert (margins[np.arange(400), won] > 0).all()
    assert (np.sort(margins, axis=1)[:, -2] <= 0).all()
    for size in (1e-3, 0.1, 1.0):
        moved = majority_margins(told + rng.uniform(-size, size, told.shape))
        assert np.abs(moved - margins).max() <= size + 1e-12


def test_margins_of_a_vote_by_hand():
    # Two to one for the first class, by 3, 1 and -2: it holds until the one that is for it by 1 is lost.
    told = np.array([[[3.0, -3.0], [1.0, -1.0], [-2.0, 2.0]]])
    np.testing.assert_array_equal(majority_margins(told), [[1.0, -1.0]])
    # One to one: the first voter decides, until either turns.
    told = np.array([[[-3.0, 3.0], [1.0, -1.0]], [[-0.5, 0.5], [1.0, -1.0]]])
    np.testing.assert_array_equal(majority_margins(told), [[-3.0, 3.0], [-0.5, 0.5]])


@settings(deadline=None)
@given(st.data())
def test_no_change_within_the_radius_changes_the_majority(data):
    """Every way in which the voters that may change within the radius can change is tried."""
    n = data.draw(st.integers(1, 5))
    votes = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    radii = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    certified = vote_radii(np.array([votes]), np.array([radii], dtype=float))[0]
    free = [j for j in range(n) if radii[j] < certified]
    for changed in product(range(3), repeat=len(free)):
        after = list(votes)
        for j, code in zip(free, changed, strict=True):
            after[j] = code
        assert majority(after) == majority(votes)


def test_radii_by_hand():
    # Five of one mind: two may turn. Three to two: none of the three; the two do not matter. A tie.
    votes = np.array([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 2]])
    radii = np.tile([5.0, 4, 3, 2, 1], (4, 1))
    np.testing.assert_array_equal(vote_radii(votes, radii), [3.0, 1.0, 3.0, 1.0])


def test_one_voter_has_its_own_radius():
    np.testing.assert_array_equal(vote_radii(np.array([[2]]), np.array([[0.7]])), [0.7])
