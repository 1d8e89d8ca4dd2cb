"""Numbers that cannot be squared, and samples beside which all others vanish: the true reason."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from nsse import LFDA, NSSE, NSSECV, SUPLAP

MODELS = [
    NSSE.as_published(),
    NSSE.as_published(length_unit=1.0),
    NSSE.as_published(n_landmarks=40),
    NSSE.as_published(n_landmarks=40, landmarks="kmeans++"),
    NSSE.as_published(n_landmarks=40, landmarks="random", length_unit=1.0),
    NSSECV(n_repeats=2, n_voters=1),
    SUPLAP(),
    LFDA(),
]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(
    ("factor", "got"),
    [
        (1e-160, "no more than 5.9e-160"),
        (1e-320, "no more than"),
        (1e160, r"up to 7.9e\+160"),
        (1e307, r"up to 7.9e\+307"),
    ],
)
def test_what_cannot_be_squared_is_refused(iris, model, factor, got):
    X, y = iris
    with pytest.raises(ValueError, match=rf"`X` must have values that can be squared.*{got}"):
        model.fit(X * factor, y)


@pytest.mark.parametrize("model", [NSSE.as_published(), NSSE.as_published(n_landmarks=40)], ids=str)
@pytest.mark.parametrize(
    ("factor", "dtype"),
    [(1e-130, np.float64), (1e130, np.float64), (1e-36, np.float32), (1e37, np.float32)],
)
def test_what_can_be_squared_is_fitted(iris, model, factor, dtype):
    X, y = iris
    expected = model.fit(X.astype(dtype), y).predict(X.astype(dtype))
    sigma, unit = model.sigma_, model.length_unit_
    small = (X * factor).astype(dtype)
    np.testing.assert_array_equal(model.fit(small, y).predict(small), expected)
    assert model.sigma_ / factor == pytest.approx(sigma, rel=1e-3)
    assert model.length_unit_ / factor == pytest.approx(unit, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        NSSE.as_published(),
        NSSE.as_published(n_landmarks=40),
        NSSE.as_published(n_landmarks=40, landmarks="per-class"),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e8, 1e30])
def test_a_sample_beside_which_the_others_vanish_is_refused(iris, model, far, dtype):
    X, y = iris[0].astype(dtype), iris[1]
    X[7, 2] = far
    with pytest.raises(ValueError, match=r"no samples so far from the others.*samples lie 4\.2\d apart"):
        model.fit(X, y)


def test_far_samples_that_leave_the_others_their_digits_are_accepted(iris):
    X, y = iris[0].copy(), iris[1]
    plain = NSSE.as_published().fit(X, y)
    X[7, 2] = 1e5
    model = NSSE.as_published().fit(X, y)
    assert model.length_unit_ == pytest.approx(plain.length_unit_, rel=0.05)
    assert np.mean(model.predict(iris[0]) == y) > 0.9


def test_near_duplicates_are_no_reason_to_refuse():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [160, 20, 20], axis=0)
    y = np.repeat([0, 1, 2], [160, 20, 20])
    assert NSSE.as_published().fit(X + 1e-9 * rng.normal(size=X.shape), y).score(X, y) == 1.0


@pytest.mark.parametrize("far", [1e150, 1e308])
def test_a_new_sample_at_the_end_of_the_world_embeds_at_zero(iris, far):
    """exp(−r²/σ²) is zero there, and so is the sum."""
    X, y = iris
    model = NSSE.as_published().fit(X, y)
    new = X[:3].copy()
    new[0] = far
    np.testing.assert_array_equal(model.transform(new)[0], 0.0)
    np.testing.assert_array_equal(model.predict(new)[1:], model.predict(X[1:3]))
