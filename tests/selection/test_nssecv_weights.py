"""`NSSECV` with samples that count several times: the same search as of samples that are repeated."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from nsse import NSSE, NSSECV
from nsse.kernels import gaussian, squared_distances
from nsse.solvers.closed_form import ClassTargets, KernelSpectrum

SEARCHES = {
    "plain": {},
    "by classes": {"class_weight": {0: 2.0, 2: 3.0}},
    "scored": {"scoring": "balanced_accuracy"},
    "all neighbours": {"estimator": NSSE(n_neighbors=None, class_weight={1: 2.0})},
}


def counted(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + 1.3 * np.eye(3, 4)[y]
    return X, y, rng.integers(0, 4, n)


def splits_of(n, seed=3, n_splits=3):
    rng = np.random.default_rng(seed)
    return [np.array_split(rng.permutation(n), [3 * n // 4]) for _ in range(n_splits)]


def repeated_splits(splits, w):
    """The same of repeated rows: the copies of a row go where it goes."""
    many = np.repeat(np.arange(len(w)), w)
    return [
        tuple(np.flatnonzero(np.isin(many, part)) for part in (train, valid)) for train, valid in splits
    ]


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES.keys())
def test_whole_weights_are_repeated_rows(options):
    X, y, w = counted()
    splits = splits_of(len(y))
    weighted = NSSECV(**options, cv=splits).fit(X, y, sample_weight=w)
    repeated = NSSECV(**options, cv=repeated_splits(splits, w))
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for name in ("mean_test_score", "split0_test_score"):
        np.testing.assert_allclose(
            weighted.cv_results_[name], repeated.cv_results_[name], atol=1e-12, err_msg=name
        )
    assert weighted.best_index_ == repeated.best_index_
    for name, value in repeated.best_params_.items():
        assert weighted.best_params_[name] == (
            value if isinstance(value, str) or value is None else pytest.approx(value)
        )
    assert len(weighted.voters_) == len(repeated.voters_)
    new = np.random.default_rng(1).normal(size=(200, 4)) + 0.5
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-8)
    # They count: without them another model comes out.
    plain = NSSECV(**options, cv=splits).fit(X, y)
    assert np.abs(plain.predict_proba(new) - weighted.predict_proba(new)).max() > 0.01


def test_weights_of_classes_are_those_of_their_samples():
    """On splits that hold out the same share of every class, so that they balance alike."""
    X, y, _ = counted(n=80)
    y = np.repeat([0, 1], [60, 20])
    few, part = np.arange(80) % 4 == 0, np.arange(80) % 4 == 1
    splits = [(np.flatnonzero(~few), np.flatnonzero(few)), (np.flatnonzero(~part), np.flatnonzero(part))]
    balanced = NSSECV(class_weight="balanced", cv=splits).fit(X, y)
    by_hand = NSSECV(cv=splits).fit(X, y, sample_weight=np.array([80 / 120, 80 / 40])[y])
    for name in ("mean_test_score", "params"):
        np.testing.assert_equal(balanced.cv_results_[name], by_hand.cv_results_[name])
    np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X), atol=1e-12)
    scored = NSSECV(class_weight="balanced", scoring="balanced_accuracy", cv=splits).fit(X, y)
    np.testing.assert_allclose(
        scored.cv_results_["mean_test_score"], balanced.cv_results_["mean_test_score"], atol=1e-12
    )


def test_weights_of_one_change_nothing():
    X, y, _ = counted()
    plain = NSSECV(n_repeats=2).fit(X, y)
    once = NSSECV(n_repeats=2).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_allclose(once.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_samples_of_no_weight_are_left_out():
    X, y, _ = counted()
    w = (np.arange(len(y)) % 5 > 0).astype(float)
    kept = w > 0
    left_out = NSSECV(n_repeats=2).fit(X[kept], y[kept])
    weighted = NSSECV(n_repeats=2).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(weighted.predict_proba(X), left_out.predict_proba(X), atol=1e-8)


def test_the_closed_form_of_weighted_samples():
    """Scores and coordinates, at every ν, beside those of repeated rows."""
    X, y, w = counted()
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    many = np.repeat(np.arange(len(y)), w)
    new, nus = X[:7] + 0.3, (1e-3, 0.1)
    K_new = gaussian(((new[:, np.newaxis] - X) ** 2).sum(axis=2), 1.5)
    for price in (0.0, 2.0, np.inf):
        weighted = KernelSpectrum.of(
            gaussian(squared_distances(X), 1.5), ClassTargets.of(y, 3, w.astype(float)), price
        )
        repeated = KernelSpectrum.of(
            gaussian(squared_distances(X[many]), 1.5), ClassTargets.of(y[many], 3), price
        )
        np.testing.assert_allclose(
            weighted.scores(K_new, nus), repeated.scores(K_new[:, many], nus), atol=1e-8
        )
        own, of_new = weighted.coordinates(K_new, nus)
        own_many, of_new_many = repeated.coordinates(K_new[:, many], nus)
        for found, expected in ((own[:, many], own_many), (of_new, of_new_many)):
            np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-7)


def test_with_copies_and_landmarks_too():
    X, y, w = counted()
    splits, new = splits_of(len(y)), X + 0.1
    for options in (
        {"estimator": NSSE(invariances=shifted)},
        {"estimator": NSSE(landmarks=X[:9])},
        {"invariances": [None, shifted]},
    ):
        weighted = NSSECV(**options, cv=splits).fit(X, y, sample_weight=w)
        repeated = NSSECV(**options, cv=repeated_splits(splits, w))
        repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(
            weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-7, err_msg=str(options)
        )


def shifted(X):
    return [X + 0.05]


def test_balance_helps_a_small_class():
    rng = np.random.default_rng(0)
    y = (np.arange(900) % 20 == 0).astype(int)
    X = rng.normal(size=(900, 5)) + 1.2 * y[:, np.newaxis]
    train, test = np.arange(900) < 300, np.arange(900) >= 300
    plain, balanced = (
        balanced_accuracy_score(
            y[test], NSSECV(class_weight=weight, n_repeats=4).fit(X[train], y[train]).predict(X[test])
        )
        for weight in (None, "balanced")
    )
    assert balanced > plain + 0.1


def test_what_is_refused():
    X, y, w = counted()
    with pytest.raises(ValueError, match="`sample_weight` must have one number for each of the 60"):
        NSSECV().fit(X, y, sample_weight=w[:-1])
    with pytest.raises(ValueError, match='`class_weight` must be None, "balanced" or a dict'):
        NSSECV(class_weight="even").fit(X, y)
    with pytest.raises(ValueError, match="take `sample_weight` in its `fit`"):
        NSSECV(estimator=NSSE(classifier=KNeighborsClassifier(3))).fit(X, y, sample_weight=w)
    search = NSSECV(class_weight="balanced", estimator=NSSE(n_landmarks=9), n_subsample=30)
    assert search.fit(X, y, sample_weight=w + 1).best_estimator_.class_weight == "balanced"
