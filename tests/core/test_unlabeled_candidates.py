"""Values of candidates that use unlabeled samples, compared with fits of the models."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances_argmin

from nsse import SmoothEmbedding
from nsse.candidates import Samples, norms_of_scores
from nsse.grid import Grid
from nsse.rows import Rows
from nsse.sources import Source
from nsse.unlabeled import GraphPenalty, UnlabeledUse
from nsse.unlabeled_candidates import UnlabeledSamples

X, Y = load_digits(return_X_y=True)
X, Y = X[:300], np.where(np.arange(300) < 100, Y[:300], -1)


class NearestLabel(UnlabeledUse):
    """Give every unlabeled row the label of the nearest labeled row."""

    is_exact = True

    def labels(self, near):
        Z, known = near.held(), near.is_labeled
        nearest = pairwise_distances_argmin(Z, Z[known])
        return replace(near, codes=np.where(known, near.codes, near.codes[known][nearest]))


class SmallCoefficients(UnlabeledUse):
    """Use unlabeled rows as centers, and penalize the squares of all coefficients."""

    def sums(self, near, of_block):
        total = super().sums(near, of_block)
        return replace(total, products=total.products + np.eye(len(total.products)))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("own", [GraphPenalty(3.0), SmallCoefficients(), NearestLabel()], ids=repr)
def test_a_search_compares_the_models_of_the_training_rows(own, standardize):
    """The values that candidates give to held-out samples are those of a fit without these samples."""
    base = SmoothEmbedding(unlabeled=own, standardize=standardize)
    rows = Rows.of(Source.of(X), Y, marker=-1)
    samples = Samples.of(rows, None, 2000)
    grid = Grid.of(base, {"smoothness": [0.1, 1.0]}, None, X)
    unlabeled = UnlabeledSamples.of(samples, rows, base)
    train, held = samples.splits(None, 0)[0]
    new = samples.rows.source.take(held)
    uses = unlabeled.uses(own)
    for setting in (grid.settings[0], grid.settings[-1]):
        values, norms = unlabeled.values(base, grid, setting, uses, (train, held))
        candidates = [one for use in uses for one in grid.with_use(setting, use)]
        assert len(values) == len(norms) == len(candidates)
        for candidate, found, norm in zip(candidates, values, norms, strict=True):
            model = unlabeled.fitted(candidate.model(base), train)
            expected = model.scores_.values(model.map_(new))
            expected -= expected.mean(axis=1, keepdims=True)
            np.testing.assert_allclose(found, expected, atol=1e-6)
            Q = model.scores_.weights @ model.map_.gram @ model.scores_.weights.T
            assert norm == pytest.approx(norms_of_scores(Q))
