"""Tests of prediction sets, typicality, rejection of predictions, and the quality of probabilities."""

import numpy as np
import pytest
from attacks import lead_gradient
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss as scikit_learns
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import ConformalClassifier, SelectivePredictor, risk_coverage, typicality
from nsse.certificates.conformal import conformity
from nsse.certificates.reliability import log_loss, reliability_curve
from nsse.certificates.selective import risk_coverage_curve
from nsse.datasets import TableEncoder


def digits(seed, n_train=200):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


@pytest.fixture(scope="module")
def split():
    return digits(0)


@pytest.fixture(scope="module")
def model(split):
    return SmoothEmbedding().fit(split[0], split[1])


class Told(ClassifierMixin, BaseEstimator):
    """A classifier whose probability of the second class is the sample itself."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.hstack([1.0 - X, X])


def test_sets_by_hand():
    """Of four samples one conforms as badly as 0.1: at α = 0.2 that is the least that is in a set."""
    own, new = np.array([[0.5], [0.1], [0.9], [0.3]]), np.array([[0.09], [0.1], [0.3]])
    for alpha, least in ((0.2, 0.1), (0.4, 0.3), (0.19, 0.0)):  # one of five is more than 0.19
        told = Told().fit(own, [0, 1, 0, 1])
        sets = ConformalClassifier(told, alpha=alpha).fit(own, np.ones(4, dtype=int)).predict_set(new)
        np.testing.assert_array_equal(sets[:, 1], new[:, 0] >= least)


def test_cross_validation_plus_is_its_definition():
    """Σ_i 1[s(x_i) > s(x)] < (1 − α)(n + 1), each pair by the model without the fold of x_i."""
    X, y, new, _ = digits(4, 100)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    model = make_pipeline(StandardScaler(with_std=False), SmoothEmbedding()).fit(X, y)
    for conditional in (False, True):
        found = ConformalClassifier(model, alpha=0.2, class_conditional=conditional, cv=folds).fit(X, y)
        above, n = np.zeros((20, 10)), np.zeros(10)
        for train, test in folds.split(X, y):
            without = clone(model).fit(X[train], y[train])
            own, asked = without.decision_function(X[test]), without.decision_function(new[:20])
            for i, code in enumerate(y[test]):
                for c in range(10):
                    if c == code or not conditional:
                        above[:, c] += own[i, code] > asked[:, c]
                        n[c] += 1
        np.testing.assert_array_equal(found.predict_set(new[:20]), above < 0.8 * (n + 1) - 1e-9)
    np.testing.assert_array_equal(found.predict(new), model.predict(new))


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["scores", "nearest"])
@pytest.mark.parametrize("way", ["left out", "folds", "split"])
def test_sets_hold_the_label_as_often_as_they_say(decision, way):
    """Means over draws, by two standard errors of them."""
    held = []
    for seed in range(12):
        X, y, X_new, y_new = digits(seed)
        half = 100 if way == "split" else len(y)
        fitted = SmoothEmbedding(decision=decision).fit(X[:half], y[:half])
        cv, given = (5, (X, y)) if way == "folds" else (None, (X[half:], y[half:]))
        given = () if way == "left out" else given
        sets = ConformalClassifier(fitted, alpha=0.1, cv=cv).fit(*given).predict_set(X_new)
        held.append(sets[np.arange(len(y_new)), y_new].mean())
    error = np.std(held, ddof=1) / np.sqrt(len(held))
    assert 0.9 - 2 * error <= np.mean(held) <= 0.96


def test_class_by_class_every_class_is_covered():
    worst = {False: [], True: []}
    for seed in range(6):
        X, y, X_new, y_new = digits(seed, 400)
        fitted = SmoothEmbedding().fit(X, y)
        for conditional, told in worst.items():
            conformal = ConformalClassifier(fitted, alpha=0.15, class_conditional=conditional).fit()
            holds = conformal.predict_set(X_new)[np.arange(len(y_new)), y_new]
            told.append([holds[y_new == c].mean() for c in range(10)])
    marginal, conditional = (np.mean(worst[kind], axis=0) for kind in (False, True))
    assert conditional.min() > 0.82
    assert conditional.min() > marginal.min()


def test_nothing_conforms_to_samples_far_away(model, split):
    sets = ConformalClassifier(model, alpha=0.05).fit()
    assert not sets.predict_set(np.full((1, 64), 9.0)).any()
    assert typicality(model, np.full((1, 64), 9.0)) == pytest.approx(1 / 201)
    np.testing.assert_array_equal(sets.predict(split[2]), model.predict(split[2]))


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_p_values_of_known_samples_are_uniform(decision):
    refused = {0.05: [], 0.2: [], 0.5: []}
    for seed in range(12):
        X, y, X_new, _ = digits(seed)
        p = SmoothEmbedding(decision=decision).fit(X, y).typicality(X_new)
        for alpha, shares in refused.items():
            shares.append((p <= alpha).mean())
    for alpha, shares in refused.items():
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        assert 0.6 * alpha < np.mean(shares) < alpha + 2 * error


def test_few_samples_of_every_class_refuse_as_many_as_they_say():
    """A model without a sample has one sample less of its class than the whole model."""
    X, y = load_digits(return_X_y=True)
    refused = {0.1: [], 0.2: []}
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(y))
        train = np.concatenate([order[y[order] == c][:4] for c in range(10)])
        p = SmoothEmbedding().fit(X[train], y[train]).typicality(np.delete(X, train, axis=0))
        for alpha, shares in refused.items():
            shares.append((p <= alpha).mean())
    for alpha, shares in refused.items():
        assert abs(np.mean(shares) - alpha) < 2 * np.std(shares, ddof=1) / np.sqrt(len(shares))


def test_samples_of_classes_never_seen_have_small_p_values():
    X, y, X_new, y_new = digits(3, 400)
    known = y < 8
    fitted = make_pipeline(StandardScaler(with_std=False), SmoothEmbedding()).fit(X[known], y[known])
    p = typicality(fitted, X_new)
    assert np.median(p[y_new >= 8]) < 0.05 < 0.3 < np.median(p[y_new < 8])


def test_sets_hold_under_any_move_below_the_radius(split):
    X, y, X_new, _ = split
    fitted = make_pipeline(StandardScaler(with_std=False), SmoothEmbedding()).fit(X, y)
    conformal = ConformalClassifier(fitted, alpha=0.1).fit()
    before, radius = conformal.predict_set(X_new[:150]), 0.1
    rng = np.random.default_rng(0)
    directions = [rng.standard_normal((150, 64)) for _ in range(3)]
    directions.append(lead_gradient(fitted, X_new[:150], fitted.predict(X_new[:150])))
    for step in directions:
        step *= radius / np.linalg.norm(step, axis=1, keepdims=True)
        after = conformal.predict_set(X_new[:150] + step, radius=radius * (1 + 1e-9))
        assert np.all(after >= before)
    assert conformal.predict_set(X_new[:150], radius=radius).sum() > before.sum()
    nearest = SmoothEmbedding(decision="nearest").fit(X, y)
    with pytest.raises(ValueError, match=r"`model` must have class scores where .* moved"):
        ConformalClassifier(nearest).fit().predict_set(X_new[:2], radius=0.1)


def test_values_of_the_nearest_rule_are_squared_distances(split):
    X, y, X_new, _ = split
    fitted = SmoothEmbedding(decision="nearest").fit(X, y)
    F, Y = fitted.transform(X_new[:5]), fitted.embedding_
    expected = [[-min(np.sum((f - v) ** 2) for v in Y[y == c]) for c in range(10)] for f in F]
    np.testing.assert_allclose(conformity(fitted, X_new[:5]), expected, atol=1e-10)


def test_any_classifier_with_probabilities_has_sets(split):
    X, y, X_new, y_new = split
    forest = RandomForestClassifier(30, random_state=0).fit(X[:100], y[:100])
    sets = ConformalClassifier(forest, alpha=0.1).fit(X[100:], y[100:]).predict_set(X_new)
    assert 0.85 < sets[np.arange(len(y_new)), y_new].mean() < 0.98
    curved = make_pipeline(Normalizer(), SmoothEmbedding()).fit(X, y)
    assert ConformalClassifier(curved).fit().predict_set(X_new).any()
    with pytest.raises(ValueError, match="`model` must have scores of training samples left out"):
        ConformalClassifier(forest).fit()


def test_what_is_refused(model, split):
    X, y = split[2][:50], split[3][:50]
    for alpha in (0, 1, -0.1, "a tenth"):
        with pytest.raises(ValueError, match="`alpha` must be"):
            ConformalClassifier(model, alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match="`X` must come together with `y`"):
        ConformalClassifier(model).fit(X)
    with pytest.raises(ValueError, match=r"`X` must come together with `y`.*training samples"):
        ConformalClassifier(model, cv=5).fit()
    with pytest.raises(ValueError, match=r"`y` must hold labels of the model\. Got 3"):
        ConformalClassifier(model, cv=PredefinedSplit(np.where(y == 3, 0, -1))).fit(X, y)
    with pytest.raises(ValueError, match=r"`y` must hold labels of the model\. Got 11"):
        ConformalClassifier(model).fit(X, np.where(y == 3, 11, y))
    with pytest.raises(ValueError, match="`y` must have a label for each of the 50 samples"):
        ConformalClassifier(model).fit(X, y[:7])
    with pytest.raises(ValueError, match="`radius` must be a finite number"):
        ConformalClassifier(model).fit().predict_set(X, radius=-1)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["radius", "probability"])
def test_selected_are_the_most_certain(model, split, by):
    _, _, X_new, y_new = split
    careful = SelectivePredictor(model, by=by, coverage=0.8, rejected=-1).fit(X_new[:500])
    labels, accepted, told = careful.select(X_new)
    radius, P = model.certified_radius(X_new), model.predict_proba(X_new)
    np.testing.assert_allclose(told, radius if by == "radius" else P.max(axis=1))
    assert accepted[:500].mean() == pytest.approx(0.8, abs=0.01)
    np.testing.assert_array_equal(careful.predict(X_new), np.where(accepted, labels, -1))
    assert careful.score(X_new, y_new) > model.score(X_new, y_new)
    given = SelectivePredictor(model, by=by, threshold=careful.threshold_).fit()
    np.testing.assert_array_equal(given.select(X_new).accepted, accepted)
    assert given.predict(X_new).dtype == object
    curve = risk_coverage(model, X_new, y_new, by=by)
    assert curve.accuracy_at(0.7) > 1 - curve.error
    assert curve.area < curve.error


def test_selection_by_probability_needs_no_affine_steps(split):
    X, y, X_new, _ = split
    curved = make_pipeline(Normalizer(), SmoothEmbedding()).fit(X, y)
    careful = SelectivePredictor(curved, by="probability", threshold=0.9).fit()
    assert 0 < careful.select(X_new).accepted.mean() < 1


def test_selection_by_radius_names_the_cure_for_tables_with_categories():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "soil": ["clay", "sand"] * 10})
    model = make_pipeline(TableEncoder(), SmoothEmbedding()).fit(table, table["soil"] == "clay")
    with pytest.raises(ValueError, match=r"categories in soil\. Pass by='probability'"):
        SelectivePredictor(model, coverage=0.8).fit(table)
    assert SelectivePredictor(model, by="probability", coverage=0.8).fit(table).threshold_ > 0.5


def test_selection_names_bad_arguments(model, split):
    for parameters, words in (
        ({}, "`threshold` must be given, or `coverage`, but not both"),
        ({"threshold": 1.0, "coverage": 0.5}, "`threshold` must be given, or `coverage`, but not both"),
        ({"threshold": -1.0}, "`threshold` must be a finite number"),
        ({"coverage": 80}, "`coverage` must be above 0 and at most 1"),
        ({"coverage": 0.5, "rejected": 3}, "`rejected` must differ from all labels"),
        ({"coverage": 0.5, "by": "luck"}, "`by` must be one of"),
    ):
        with pytest.raises(ValueError, match=words):
            SelectivePredictor(model, **parameters).fit(split[2])
    with pytest.raises(ValueError, match="`X` must be given if `coverage` is given"):
        SelectivePredictor(model, coverage=0.5).fit()


def test_curve_is_its_definition():
    told = np.array([0.0, 3.0, 1.0, 3.0, np.inf, 0.0])
    wrong = np.array([True, True, False, False, False, False])
    curve = risk_coverage_curve(told, wrong)
    assert curve.threshold.tolist() == [np.inf, 3.0, 1.0, 0.0]
    np.testing.assert_allclose(curve.coverage, np.array([1, 3, 4, 6]) / 6)
    np.testing.assert_allclose(curve.risk, [0, 1 / 3, 1 / 4, 2 / 6])
    assert curve.accuracy_at(0.51) == pytest.approx(3 / 4)
    assert curve.area == pytest.approx((0 * 1 + 2 / 3 + 1 / 4 + 2 / 3) / 6)
    assert curve.to_dict()["risk"] == curve.risk.tolist()
    with pytest.raises(ValueError, match=r"`coverage` must lie between 0 and 1\. Got 80"):
        curve.accuracy_at(80)


def test_reliability_by_hand_and_the_loss_of_scikit_learn():
    p = np.array([0.3, 0.45, 0.5, 0.95, 1.0])
    right = np.array([False, True, True, True, False])
    curve = reliability_curve(p, right, (0.0, 0.5, 0.9, 1.0))
    assert [part[:3] for part in curve] == [(0.0, 0.5, 2), (0.5, 0.9, 1), (0.9, 1.0, 2)]
    np.testing.assert_allclose([part[3:] for part in curve], [(0.375, 0.5), (0.5, 1.0), (0.975, 0.5)])
    rng = np.random.default_rng(0)
    P, codes = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    assert log_loss(P, codes) == pytest.approx(scikit_learns(codes, P, labels=range(4)))
    assert log_loss(np.array([[0.0, 1.0]]), np.array([0])) == np.inf


def many_features(seed, n_train=120, n_features=600):
    """Four classes that differ in four of many features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n_train + 400)
    X = rng.normal(size=(len(y), n_features))
    X[:, :4] += 3.0 * np.eye(4)[y]
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def updated(X, y):
    return SmoothEmbedding().fit(X[:-1], y[:-1]).partial_fit(X[-1:], y[-1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: SmoothEmbedding().fit(X, y),
        lambda X, y: SmoothEmbedding(centers=30).fit(X, y),
        lambda X, y: SmoothEmbedding(centers=30, decision="nearest").fit(X, y),
        updated,
    ],
    ids=["exact", "centers", "nearest", "updated"],
)
def test_sets_and_typicality_hold_if_there_are_more_features_than_samples(fit):
    """If the metric, centers or hull have seen a sample, its own score is far too good."""
    held, refused = [], []
    for seed in range(6):
        X, y, X_new, y_new = many_features(seed)
        model = fit(X, y)
        sets = ConformalClassifier(model, alpha=0.1).fit().predict_set(X_new)
        held.append(sets[np.arange(len(y_new)), y_new].mean())
        refused.append((model.typicality(X_new) <= 0.05).mean())
    assert abs(np.mean(held) - 0.9) < 3.5 * max(np.std(held, ddof=1), 0.02) / 6**0.5
    assert np.mean(refused) < 0.1


def test_samples_without_entries_are_atypical_even_if_one_coordinate_is_that_of_a_training_sample():
    """The classes 1 and 2 are mirror images, so the second coordinate of all others is 0."""
    words = np.r_[np.repeat([0, 1, 2], [6, 3, 3]), 3, 4, 5]
    labels = np.r_[np.repeat([0, 1, 2], [6, 3, 3]), 0, 0, 0]
    model = SmoothEmbedding().fit(sparse.csr_array(np.eye(6)[words]), labels)
    np.testing.assert_allclose(model.transform(sparse.csr_array((1, 6)))[0, 1], 0.0, atol=1e-12)
    assert model.typicality(sparse.csr_array((1, 6))) == pytest.approx(1 / 16)


@pytest.mark.parametrize("model", [SmoothEmbedding(), SmoothEmbeddingCV()], ids=["single", "search"])
def test_samples_far_from_all_others_are_atypical_if_one_class_is_frequent(model):
    """Far away, the score of a frequent class is its prior, which is large."""
    X, y = make_classification(
        2000, 10, n_informative=5, weights=[0.85], class_sep=1.5, flip_y=0.02, random_state=0
    )
    model.fit(X[:300], y[:300])
    assert (typicality(model, X[:300] + 100.0) < 0.05).mean() > 0.95
    known = (typicality(model, X[300:]) < 0.05).mean()
    assert known < 0.1
