"""The bound of a map on how far class values can come closer, against moves in all directions."""

import numpy as np
import pytest

from nsse import SmoothEmbedding
from nsse.kernels import Matern32
from nsse.methods import LFDA


@pytest.mark.parametrize(
    "estimator",
    [SmoothEmbedding(), SmoothEmbedding(kernel=Matern32(), metric=None), LFDA()],
    ids=["gaussian", "matern32", "linear"],
)
def test_no_margin_falls_by_more_than_its_bound(make_blobs, estimator):
    """The bound is reached to a share that shows that it is of the right size."""
    data = make_blobs((12, 11, 10), n_features=4, seed=3, spread=1.0)
    model = estimator.fit(data.X, data.codes)
    rng = np.random.default_rng(0)
    weights = model.scores_.weights
    own, rival = (weights[rng.integers(len(weights), size=4000)] for _ in range(2))
    X = data.X[rng.integers(33, size=4000)]
    steps = rng.normal(size=X.shape)
    lengths = rng.uniform(0.0, 3.0, 4000)
    moved = X + steps * (lengths / np.linalg.norm(steps, axis=1))[:, np.newaxis]
    fall = np.einsum("id,id->i", own - rival, model.map_(X) - model.map_(moved))
    bound = model.map_.margin_loss(own, rival, lengths)
    assert np.all(fall <= bound * (1 + 1e-9) + 1e-12)
    assert np.max(fall / np.maximum(bound, 1e-9)) > 0.3
    assert model.map_.margin_loss(own[:1], own[:1], lengths[:1]) == 0.0
