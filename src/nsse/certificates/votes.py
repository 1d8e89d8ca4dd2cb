"""Labels by majority, and how far a sample can move before the majority may change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# What the winner has more than a rival that is as large or larger, relatively.
CASTING = 1e-9
# Values in flight where the margins of a vote are computed: 4 MB.
BLOCK_VALUES = 500_000


def winners(votes: Ints) -> Ints:
    """The code that most voters give, for every row; of equal ones that of the first voter among them.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_voters)
        Codes of labels; voters in the order of their rank.
    """
    first = np.argmax(_supporters(votes), axis=1)  # the first of the largest
    return np.asarray(votes[np.arange(len(votes)), first])


def agreeing(shares: Floats, won: Ints) -> Floats:
    """Shares of the classes, of which the winner of a vote has the first largest, raised if need be.

    Parameters
    ----------
    shares : ndarray of shape (n_samples, n_classes)
        Rows that add up to 1.
    won : ndarray of shape (n_samples,)
        Codes of the winners.
    """
    off = np.flatnonzero(shares.argmax(axis=1) != won)
    raised = shares.astype(np.float64)
    raised[off, won[off]] = raised[off].max(axis=1) * (1.0 + CASTING)
    raised[off] /= raised[off].sum(axis=1, keepdims=True)
    return raised


def vote_chances(told: Sequence[Floats | None], votes: Ints, n_classes: int) -> Floats:
    """The mean of the probabilities of voters, the winner's not below the others'.

    Parameters
    ----------
    told : sequence of ndarrays of shape (n_samples, n_classes), or None
        Of every voter; None of one that knows its label alone. Of V voters, such a one is sure of it to
        V/(V + 1), and for the rest of nothing: all of them together may err.
    votes : ndarray of shape (n_samples, n_voters)
        Codes of labels; voters in the order of their rank.
    n_classes : int
        Number of codes.
    """
    sure = len(told) / (len(told) + 1.0)
    known = [
        sure * np.eye(n_classes)[codes] + (1.0 - sure) / n_classes if P is None else P
        for P, codes in zip(told, votes.T, strict=True)
    ]
    return agreeing(np.mean(known, axis=0), winners(votes))


def majority_margins(leads: Floats) -> Floats:
    """By how much each class wins the vote, in leads; below 0, by how much it loses it.

    Voter v, of weight w_v, is for class c while c leads by l_vc > 0. If all leads of c are less by t,
    and those of the others more, c has S_c(t) = Σ_v w_v [l_vc > t] and e has S_e(−t). The margin is

        m_c = sup {t: S_c(t) > S_e(−t) for all e ≠ c}:

    continuous in the leads, for none of them matters more than it changes. Weights 1 + 2^−(v + 2) let
    the first voter decide where as many are for either, as in `winners`.

    Parameters
    ----------
    leads : ndarray of shape (n_samples, n_voters, n_classes)
        l: by how much each class leads the best of the others, by every voter in the order of rank.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Not negative for the winner, not positive for the others.
    """
    n, n_voters, n_classes = leads.shape
    weights = 1.0 + 0.5 ** np.arange(2, n_voters + 2)
    out = np.empty((n, n_classes))
    rows = max(1, BLOCK_VALUES // (n_voters * n_classes))
    for start in range(0, n, rows):
        block = leads[start : start + rows]
        flat = block.reshape(len(block), -1)
        steps = np.sort(np.concatenate([flat, -flat], axis=1), axis=1)
        for c in range(n_classes):
            out[start : start + rows, c] = _largest_loss(block, steps, weights, c)
    return out


def _largest_loss(leads: Floats, steps: Floats, weights: Floats, c: int) -> Floats:
    """m_c, where S_c or one of its rivals changes: bisection among all ±l, in order of size."""
    others, here = np.delete(leads, c, axis=2), np.arange(len(leads))
    # At the least of all, every voter is for c and none for another.
    low = np.zeros(len(leads), dtype=np.intp)
    high = np.full(len(leads), steps.shape[1], dtype=np.intp)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        t = steps[here, middle][:, np.newaxis]
        # Of all t up to here: S_c just before it, S_e(−t) just after.
        own = (leads[:, :, c] >= t) @ weights
        rivals = np.einsum("ijk,j->ik", others > -t[:, np.newaxis], weights).max(axis=1)
        wins = own > rivals
        low, high = np.where(wins, middle, low), np.where(wins, high, middle)
    return np.asarray(steps[here, low])


def vote_radii(votes: Ints, radii: Floats) -> Floats:
    """Radius within which the majority cannot change, from the radii of the single voters.

    Within r only voters with radii up to r can change, and at worst all of these turn to one rival. The
    majority is safe while the winner's other voters outnumber the rival's together with them. No voter
    changes below the smallest radius, hence never less than that.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_voters)
        Codes of labels.
    radii : ndarray of shape (n_samples, n_voters)
        Within its own radius a voter keeps to its label.
    """
    won = winners(votes)[:, np.newaxis]
    order = np.argsort(radii, axis=1)
    votes, radii = np.take_along_axis(votes, order, axis=1), np.take_along_axis(radii, order, axis=1)
    certified = radii[:, 0].copy()
    safe = np.ones(len(votes), dtype=bool)
    for turned in range(1, votes.shape[1]):
        kept = votes[:, turned:]
        rivals = _supporters(kept)
        rivals[kept == won] = 0
        safe &= (kept == won).sum(axis=1) > rivals.max(axis=1) + turned
        certified[safe] = radii[safe, turned]
    return certified


def _supporters(votes: Ints) -> Ints:
    """For every vote, how many voters of the same row give the same."""
    return np.asarray((votes[:, :, np.newaxis] == votes[:, np.newaxis, :]).sum(axis=2))
