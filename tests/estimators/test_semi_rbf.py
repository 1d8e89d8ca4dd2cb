"""SemiRBF: SUPLAP without samples that have no label, a literal refinement with them."""

import numpy as np
import pytest

from conftest import blobs_of
from nsse import SUPLAP, SemiRBF
from nsse.extensions.progressive import refine
from nsse.kernels import gaussian, squared_distances


def partly(seed=0):
    blobs = blobs_of((14, 12, 13), 4, seed, 1.5)
    order = np.random.default_rng(seed).permutation(len(blobs.codes))
    X, y = blobs.X[order], blobs.codes[order]
    few = np.full(len(y), -1)
    for c in range(3):
        few[np.flatnonzero(y == c)[:4]] = c
    return X, y, few


def test_without_such_samples_it_is_suplap():
    X, y, _ = partly()
    ours = SemiRBF(sigma=0.8, ridge=1e-6, mu=0.1, unlabeled=-1).fit(X, y)
    theirs = SUPLAP(sigma=0.8, ridge=1e-6, mu=0.1).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def literal_refinement(K, Y, codes, ridge, n_rounds):
    """Sample by sample, in lists."""
    n, N = len(Y), len(K)
    members, targets = list(range(n)), [row for row in Y]
    for r in range(1, n_rounds + 1):
        A = np.array([[K[i, j] for j in members] for i in members]) + ridge * np.eye(len(members))
        C = np.linalg.inv(A) @ np.array(targets)
        told = []
        for u in range(n, N):
            f = sum(K[u, j] * c for j, c in zip(members, C, strict=True))
            distances = [np.linalg.norm(f - y) for y in Y]
            of_classes = [[d for d, k in zip(distances, codes, strict=True) if k == c] for c in range(3)]
            per_class = sorted(min(own) for own in of_classes)
            nearest = int(np.argmin(distances))
            told.append(((per_class[1] - per_class[0]) / (per_class[1] + per_class[0]), u, nearest))
        surest = sorted(told, key=lambda one: (-one[0], one[1]))[: round(r * (N - n) / n_rounds)]
        chosen = sorted(surest, key=lambda one: one[1])
        members = list(range(n)) + [u for _, u, _ in chosen]
        targets = [row for row in Y] + [Y[nearest] for _, _, nearest in chosen]
    C = np.linalg.inv(K + ridge * np.eye(N)) @ np.array(targets)
    return C, [*codes, *(codes[nearest] for _, _, nearest in chosen)]


@pytest.mark.parametrize("n_rounds", [1, 4])
def test_the_refinement_is_the_literal_one(n_rounds):
    X, _, few = partly(2)
    order = np.concatenate([np.flatnonzero(few >= 0), np.flatnonzero(few < 0)])
    codes = few[few >= 0]
    Y = np.random.default_rng(0).standard_normal((len(codes), 2)) + np.eye(3)[codes][:, :2] * 4
    K = gaussian(squared_distances(X[order]), 2.0)
    found = refine(K, Y, codes, 1e-2, n_rounds)
    C, told = literal_refinement(K, Y, codes.tolist(), 1e-2, n_rounds)
    np.testing.assert_allclose(found.coef, C, atol=1e-8)
    np.testing.assert_array_equal(found.codes, told)


def test_labels_are_given_in_any_order_of_the_samples():
    X, y, few = partly()
    model = SemiRBF(unlabeled=-1).fit(X, few)
    np.testing.assert_array_equal(model.transduction_[few >= 0], y[few >= 0])
    order = np.random.default_rng(3).permutation(len(y))
    moved = SemiRBF(unlabeled=-1).fit(X[order], few[order])
    np.testing.assert_array_equal(moved.transduction_, model.transduction_[order])
    assert np.mean(model.transduction_ == y) > 0.7  # a third by chance
