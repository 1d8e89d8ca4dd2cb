"""SmoothEmbeddingCV: what it compares is what refitting gives, and it decides by a vote."""

import numpy as np
import pytest
from scipy.stats import t
from sklearn import config_context
from sklearn.datasets import load_digits, make_circles
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import Images
from nsse.unlabeled import GraphPenalty, LabelPropagation
from nsse.votes import MajorityVote, MeanVote

SMALL = {"relevance": [1.0], "shrinkage": [3.0, np.inf], "sigma": [0.65, 1.6], "smoothness": [0.1, 1.0]}


@pytest.fixture(scope="module")
def split():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:100]], y[order[:100]], X[order[100:]], y[order[100:]]


@pytest.mark.slow
@parametrize_with_checks(
    [SmoothEmbeddingCV(grid=SMALL), SmoothEmbeddingCV(grid=SMALL, cv=2, n_voters=1)]
)
@pytest.mark.filterwarnings("ignore:The metric is the Euclidean one:UserWarning")
@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "times"), [(100, 10, 1.0), (18, 2, t.ppf(0.995, 17))]
)
def test_scores_are_those_of_refitting(split, n_samples, n_classes, times):
    """Loss and gain of every point are those of models fitted to the parts."""
    X, y, _, _ = split
    X, y = X[y < n_classes][:n_samples], y[y < n_classes][:n_samples]
    cv = StratifiedKFold(3)
    search = SmoothEmbeddingCV(grid=SMALL, cv=cv).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == 8  # of four kernels, the untuned one among them

    def losses(point):
        metric = WithinMetric(**{name: point[name] for name in ("shrinkage", "relevance", "spreads")})
        parts = []
        for train, held in cv.split(X, y):
            model = SmoothEmbedding(metric=metric, sigma=point["sigma"], smoothness=point["smoothness"])
            model.fit(X[train], y[train])
            S = model.scores_.values(model.map_(X[held]))
            shares = np.bincount(y[train], minlength=n_classes) / len(train)
            parts.append((S - shares, np.eye(n_classes)[y[held]] - shares, S.argmax(axis=1) != y[held]))
        Z, T, wrong = (np.concatenate(part) for part in zip(*parts, strict=True))
        a = np.sum(Z * T) / np.sum(Z * Z)
        return np.sum((a * Z - T) ** 2, axis=1) + len(X) / 40 * wrong

    untuned = losses(
        {"shrinkage": 3.0, "relevance": 1.0, "spreads": True, "sigma": 0.65, "smoothness": 0.1}
    )
    for point, score, gain in zip(
        results["params"], results["mean_test_score"], results["gain"], strict=True
    ):
        loss = losses(point)
        assert score == pytest.approx(-loss.mean(), abs=1e-6)
        change = loss - untuned
        bound = change.mean() + times * change.std() / np.sqrt(len(X))
        assert gain == pytest.approx(-bound, abs=2e-6)


@pytest.mark.slow
def test_the_best_few_and_the_untuned_model_decide_together(split):
    X_new, y_new = split[2:]
    X, y = X_new[300:450], y_new[300:450]
    search = SmoothEmbeddingCV(n_voters=3).fit(X, y)
    assert isinstance(search.vote_, MeanVote)
    assert len(search.voters_) == 4
    poor = SmoothEmbeddingCV(SmoothEmbedding(sigma=0.05), n_voters=3).fit(X, y)
    assert all(voter.sigma > 0.05 for voter in poor.voters_)  # the untuned one leaves
    values = np.mean([voter.decision_function(X_new) for voter in search.voters_], axis=0)
    np.testing.assert_allclose(search.decision_function(X_new), values, atol=1e-10)
    np.testing.assert_array_equal(search.predict(X_new), values.argmax(axis=1))
    P = search.predict_proba(X_new)
    np.testing.assert_array_equal(P.argmax(axis=1), search.predict(X_new))
    assert search.score(X_new, y_new) > SmoothEmbedding().fit(X, y).score(X_new, y_new) - 0.02
    assert np.all(search.certified_radius(X_new[:20]) >= 0)


def test_of_few_samples_the_untuned_model_stays_where_no_label_is_won():
    """Here wider kernels have smaller squared errors, and nothing that a user would see."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 5)) + np.repeat([[0.0], [4.0]], 30, axis=0), np.repeat([0, 1], 30)
    search = SmoothEmbeddingCV().fit(X, y)
    assert search.cv_results_["gain"].max() > 0.0
    (only,) = search.voters_
    assert only.get_params()["sigma"] == SmoothEmbedding().sigma
    # A scorer of one's own is taken at its word: labels have no part in it.
    assert SmoothEmbeddingCV(scoring="neg_log_loss").fit(X, y).best_params_["sigma"] != only.sigma


def test_one_voter_is_the_best_model(split):
    X, y, X_new, _ = split
    search = SmoothEmbeddingCV(grid=SMALL, n_voters=1).fit(X, y)
    np.testing.assert_array_equal(search.predict(X_new), search.best_estimator_.predict(X_new))
    np.testing.assert_allclose(search.transform(X_new), search.best_estimator_.transform(X_new))


def test_curved_classes_are_read_by_the_nearest_sample():
    rng = np.random.default_rng(0)
    X, y = make_circles(60, noise=0.08, factor=0.6, random_state=0)
    X = np.c_[X, rng.normal(scale=0.3, size=(60, 6))]
    grid = {"sigma": [4.0, 8.0], "smoothness": [3.0, 10.0]}
    search = SmoothEmbeddingCV(grid=grid).fit(X, y)
    decided = isinstance(search.vote_, MajorityVote)
    assert decided == (search.best_params_["decision"] == "nearest")
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.slow
def test_augmentation_is_chosen_where_it_helps(split):
    X, y, _, _ = split

    def rotten(X):
        return [X[:, ::-1] * 3.0]

    def useless(X):
        return [X + 1e-6]

    search = SmoothEmbeddingCV(grid=SMALL, augment=[None, Images((8, 8), rotate=None), rotten]).fit(X, y)
    assert isinstance(search.best_params_["augment"], Images)
    # One that is clearly worse is not searched with; one that tells nothing is, and loses.
    # (A copy of every sample halves the smoothness: half of it is in the grid.)
    grid = SMALL | {"smoothness": [0.005, 0.01, 0.05, 0.1]}
    for augment in (rotten, useless):
        search = SmoothEmbeddingCV(grid=grid, augment=[None, augment]).fit(X, y)
        assert search.best_params_["augment"] is None
        assert set(search.cv_results_["n_splits"]) == {10}
        assert all(voter.augment is None for voter in search.voters_)


@pytest.mark.slow
def test_parameters_are_compared_again_with_augmented_samples(split, monkeypatch):
    """On half of the splits, by models that learn from copies of their training samples."""
    X, y, X_new, y_new = split
    cv, augment = StratifiedKFold(4), Images((8, 8), rotate=None)
    search = SmoothEmbeddingCV(grid=SMALL, cv=cv, augment=[augment]).fit(X, y)
    assert set(search.cv_results_["n_splits"]) == {2}
    point = search.best_params_
    settings = {name: point[name] for name in ("metric", "sigma", "smoothness")}
    parts = []
    for train, held in list(cv.split(X, y))[:2]:
        model = SmoothEmbedding(augment=augment, **settings).fit(X[train], y[train])
        Z = model.decision_function(X[held]) - np.bincount(y[train]) / len(train)
        T = np.eye(10)[y[held]] - np.bincount(y[train]) / len(train)
        parts.append((Z, T, model.predict(X[held]) != y[held]))
    Z, T, wrong = (np.concatenate(part) for part in zip(*parts, strict=True))
    a = np.sum(Z * T) / np.sum(Z * Z)
    loss = np.sum((a * Z - T) ** 2) / len(Z) + len(X) / 40 * wrong.mean()
    assert search.best_score_ == pytest.approx(-loss, abs=1e-5)
    monkeypatch.setattr("nsse.search.MOST_ROWS", 150)  # two or three of every class, and their copies
    fewer = SmoothEmbeddingCV(grid=SMALL, cv=cv, augment=[augment]).fit(X, y)
    assert fewer.best_score_ < search.best_score_
    assert fewer.score(X_new, y_new) > 0.9
    # With and without augmentation are compared on all samples, not on so few with all without it.
    either = SmoothEmbeddingCV(grid=SMALL, cv=cv, augment=[None, augment]).fit(X, y)
    assert either.best_params_["augment"] == augment
    # As few are taken of rows with many values.
    monkeypatch.undo()
    monkeypatch.setattr("nsse.search.MOST_TRAINING", 150)
    monkeypatch.setattr("nsse.search.MOST_VALUES", 150 * X.shape[1])
    wide = SmoothEmbeddingCV(grid=SMALL, cv=cv, augment=[augment]).fit(X, y)
    assert wide.best_score_ == fewer.best_score_


def test_less_smoothness_than_single_precision_can_tell(split):
    X, y, X_new, y_new = split
    grid = {"relevance": [0.0], "shrinkage": [np.inf], "sigma": [4.0], "smoothness": [1e-7]}
    search = SmoothEmbeddingCV(grid=grid).fit(X, y)
    assert search.score(X_new, y_new) > 0.8


def test_spreads_are_nothing_where_no_feature_is_weighted(split):
    """The Euclidean kernel has one name: it was sought under another, and not found."""
    X, y, _, _ = split
    grid = {"relevance": [0.0], "spreads": [True, False], "shrinkage": [np.inf], "sigma": [1.0, 2.0]}
    search = SmoothEmbeddingCV(SmoothEmbedding(sigma=0.05), grid=grid, n_voters=1).fit(X, y)
    assert search.best_params_["metric"] is None
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    kernels = {tuple(point.values())[:-1] for point in search.cv_results_["params"]}
    assert len(kernels) == 3


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr", "balanced_accuracy"])
def test_scorers_of_scikit_learn(split, scoring):
    X, y, _, _ = split
    search = SmoothEmbeddingCV(grid=SMALL, scoring=scoring, cv=2).fit(X, y)
    assert np.isfinite(search.best_score_)
    assert np.all(np.diff(search.cv_results_["mean_test_score"]) <= 1e-12)


def test_where_nothing_can_be_told_the_untuned_model_stays():
    y = np.repeat([0, 1, 2], 20)
    noise = np.random.default_rng(0).normal(size=(6, 60, 5))
    last = [SmoothEmbeddingCV().fit(X, y).voters_[-1] for X in noise]
    assert sum(voter.get_params() == SmoothEmbedding().get_params() for voter in last) >= 5


def held_out_rows(rows):
    """A scorer that keeps the held-out samples it is given."""

    def score(model, X, y):
        rows.append(X)
        return float(np.mean(model.predict(X) == y))

    return score


@pytest.mark.parametrize("cv", [None, GroupKFold(5)])
def test_groups_stay_together(split, cv):
    X, y, _, _ = split
    groups, parts = np.arange(100) % 8, []
    search = SmoothEmbeddingCV(grid=SMALL, cv=cv, scoring=held_out_rows(parts)).fit(X, y, groups=groups)
    assert np.isfinite(search.best_score_)
    row = {x.tobytes(): i for i, x in enumerate(X)}
    for part in parts:
        own = groups[[row[x.tobytes()] for x in part]]
        assert all(np.sum(own == group) == np.sum(groups == group) for group in np.unique(own))


def test_groups_are_needed_by_a_group_splitter_and_checked(split):
    X, y, _, _ = split
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(5)).fit(X, y)
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL).fit(X, y, groups=[1, 2])


def test_groups_are_routed_as_metadata(split):
    X, y, _, _ = split
    groups = np.arange(100) % 5
    search = make_pipeline(StandardScaler(), SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(3)))
    with config_context(enable_metadata_routing=True):
        told = cross_validate(
            search, X, y, params={"groups": groups}, cv=GroupKFold(5), error_score="raise"
        )
    assert np.all(told["test_score"] > 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("centers", "most"), [(None, 1500), (200, 50)])
def test_unlabeled_samples_are_used_where_they_help(split, monkeypatch, centers, most):
    """Also where a graph of a part of them does not show what that of all does."""
    X, y, X_new, y_new = split
    rows, labels = np.vstack([X, X_new[:300]]), np.r_[y, np.full(300, -1)]
    monkeypatch.setattr("nsse.alternatives.MOST_UNLABELED", most)
    model = SmoothEmbedding(unlabeled=GraphPenalty(), centers=centers)
    search = SmoothEmbeddingCV(model, grid=SMALL).fit(rows, labels)
    assert search.best_params_["unlabeled"].metric == ("model" if centers is None else "euclidean")
    alone = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert np.mean(search.transduction_[100:] == y_new[:300]) >= alone.score(X_new[:300], y_new[:300])


def test_few_centres_do_not_follow_a_graph(split, monkeypatch):
    """Where samples are more than centres, labels spread or are not used; no smooth scores are tried."""
    X, y, X_new, _ = split
    rows, labels = np.vstack([X, X_new[:100]]), np.r_[y, np.full(100, -1)]
    tried = []

    def scores(trial, candidate, split):
        tried.append(candidate)
        return np.eye(10)[trial.table.samples.codes[trial.table.splits[split][1]]]

    monkeypatch.setattr("nsse.alternatives.UnlabeledTrial.scores", scores)
    for centers, expected in (("auto", 4), (None, 4), (60, 1)):
        tried.clear()
        base = SmoothEmbedding(unlabeled=GraphPenalty(), centers=centers)
        SmoothEmbeddingCV(base, grid=SMALL).fit(rows, labels)
        weights = {use.weight for use in tried if isinstance(use, GraphPenalty)}
        assert len(weights) == expected
        assert 0.0 in weights
        assert any(isinstance(use, LabelPropagation) for use in tried)


def test_three_samples():
    search = SmoothEmbeddingCV().fit([[0.0, 1.0], [0.1, 1.0], [3.0, 2.0]], [0, 0, 1])
    assert list(search.predict([[0.0, 1.0], [3.0, 2.0]])) == [0, 1]


def test_two_samples_of_every_class_keep_the_metric():
    """Splits train on one sample of a class, which tells nothing of metrics: all are equal there."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 2)
    X = rng.normal(size=(12, 60))[y] + 0.7 * rng.normal(size=(24, 60))
    search = SmoothEmbeddingCV().fit(X, y)
    assert all(
        voter.metric in ("within", None) or voter.metric.shrinkage == 3 for voter in search.voters_
    )
    assert search.voters_[0].metric is not None


def test_many_samples_are_compared_on_some(split):
    X, y, X_new, y_new = split
    search = SmoothEmbeddingCV(grid=SMALL, max_samples=60).fit(X_new[:500], y_new[:500])
    assert len(search.voters_) == 1
    assert search.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("grid", {"mu2": [1.0]}), ("grid", {"sigma": []}), ("n_voters", 0), ("max_samples", 1)],
)
def test_bad_parameters_are_named(split, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        SmoothEmbeddingCV(**{parameter: value}).fit(*split[:2])


def interrupting(function, call):
    """The function, interrupted once, at a call of it."""
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(args)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return interrupted


@pytest.mark.parametrize("call", [20, 70])
def test_interrupted_while_points_are_compared(split, call):
    X, y, X_new, y_new = split
    scorer = interrupting(lambda model, X, y: float(np.mean(model.predict(X) == y)), call)
    with pytest.warns(UserWarning, match="Interrupted while comparing parameters"):
        search = SmoothEmbeddingCV(grid=SMALL, scoring=scorer).fit(X, y)
    assert search.score(X_new, y_new) > 0.9
    with pytest.raises(KeyboardInterrupt):
        SmoothEmbeddingCV(grid=SMALL, scoring=interrupting(scorer, 1)).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "what"),
    [
        (2, "augmentations"),
        (5, "augmentations"),
        (8, "parameters again"),
        (12, "parameters again"),
        (24, "augmentations"),
        (34, "decision"),
    ],
)
def test_interrupted_while_augmentations_are_compared(split, call, what):
    X, y, X_new, y_new = split
    # Two calls a split: one tells how many rows there will be.
    augment = interrupting(Images((8, 8), rotate=None), call)
    with pytest.warns(UserWarning, match=f"Interrupted while comparing {what}"):
        search = SmoothEmbeddingCV(grid=SMALL, augment=[None, augment]).fit(X, y)
    assert search.score(X_new, y_new) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("call", "n_voters"), [(1, 1), (2, 1), (3, 2)])
def test_interrupted_while_voters_are_fitted(split, monkeypatch, call, n_voters):
    X_new, y_new, X, y = split
    X, y = X[200:350], y[200:350]
    whole = SmoothEmbeddingCV().fit(X, y)
    assert len(whole.voters_) > 2
    monkeypatch.setattr(SmoothEmbedding, "fit", interrupting(SmoothEmbedding.fit, call))
    with pytest.warns(UserWarning, match="Interrupted: fewer models decide"):
        search = SmoothEmbeddingCV().fit(X, y)
    assert len(search.voters_) == n_voters
    assert search.best_params_["sigma"] == whole.best_params_["sigma"]
    assert search.score(X_new, y_new) > 0.9


def test_interrupted_while_uses_of_unlabeled_samples_are_compared(split, monkeypatch):
    X, y, X_new, y_new = split
    rows, labels = np.vstack([X, X_new[:100]]), np.r_[y, np.full(100, -1)]
    monkeypatch.setattr(SmoothEmbedding, "fit", interrupting(SmoothEmbedding.fit, 7))
    with pytest.warns(UserWarning, match="Interrupted while comparing uses of unlabelled"):
        search = SmoothEmbeddingCV(SmoothEmbedding(unlabeled=GraphPenalty()), grid=SMALL).fit(
            rows, labels
        )
    assert search.score(X_new, y_new) > 0.9
