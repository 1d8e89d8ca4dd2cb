"""SemiRBF: SUPLAP where all samples are labelled, a literal refinement where some are not."""

import numpy as np
import oracles_methods as oracle
import pytest
from scipy.linalg import eigh

from nsse.methods import SUPLAP, SemiRBF


@pytest.fixture
def partly(make_blobs):
    """Samples, their classes, and the labels of four samples of every class."""
    X, codes = make_blobs((14, 12, 13), n_features=4, spread=1.5)
    order = np.random.default_rng(0).permutation(len(codes))
    X, y = X[order], codes[order]
    few = np.full(len(y), -1)
    for c in range(3):
        few[np.flatnonzero(y == c)[:4]] = c
    return X, y, few


def test_without_unlabelled_samples_it_is_suplap(partly):
    X, y, _ = partly
    ours = SemiRBF(sigma=0.8, ridge=1e-6, mu=0.1, unlabeled=-1).fit(X, y)
    theirs = SUPLAP(sigma=0.8, ridge=1e-6, mu=0.1).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.transduction_, y)


@pytest.mark.parametrize("n_rounds", [1, 4])
def test_the_refinement_is_the_literal_one(partly, n_rounds):
    X, _, few = partly
    model = SemiRBF(2, mu=0.1, ridge=1e-2, n_rounds=n_rounds, unlabeled=-1).fit(X, few)
    own = few >= 0
    order = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
    distances = [oracle.distance2(a, b) for i, a in enumerate(X[own]) for b in X[own][:i]]
    assert model.length_unit_ == pytest.approx(np.sqrt(np.median(distances)))
    Y = eigh(oracle.suplap_matrix(X[own], few[own], None, "adaptive", 0.1), subset_by_index=(0, 1))[1]
    K = oracle.gaussian(X[order], X[order], model.sigma_)
    C, found = oracle.refinement(K, Y, few[own].tolist(), 1e-2, n_rounds)
    C *= np.sign(np.sum(C * model.coef_[order], axis=0))
    np.testing.assert_allclose(model.coef_[order], C, atol=1e-7)
    np.testing.assert_array_equal(model.transduction_[order], found)


def test_labels_are_found_in_any_order_of_the_samples(partly):
    X, y, few = partly
    model = SemiRBF(unlabeled=-1).fit(X, few)
    np.testing.assert_array_equal(model.transduction_[few >= 0], y[few >= 0])
    order = np.random.default_rng(3).permutation(len(y))
    moved = SemiRBF(unlabeled=-1).fit(X[order], few[order])
    np.testing.assert_array_equal(moved.transduction_, model.transduction_[order])
    assert np.mean(model.transduction_ == y) > 0.7  # a third by chance
    assert len(model.scores_.codes) == 12  # labelled samples decide
    assert model.embedding_.shape == (39, 2)
