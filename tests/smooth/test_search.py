"""SmoothEmbeddingCV: held-out values are those of refitting, and a stack of candidates predicts."""

from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_validate
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import Images
from nsse.candidates import Fold, HeldOutSamples, Samples, best_temperature, effective_number
from nsse.grid import Grid
from nsse.halving import Comparison
from nsse.kernels import Exponential, Kernel, Matern32
from nsse.metrics import Metric
from nsse.rows import Rows
from nsse.sources import Source
from nsse.stack import PRIOR, Stack, heaviest
from nsse.unlabeled import GraphPenalty, LabelPropagation

SMALL = {
    "metric__relevance": [1.0],
    "metric__shrinkage": [3.0, np.inf],
    "sigma": [0.65, 1.6],
    "smoothness": [0.1, 1.0],
}
# One value for each parameter that a test does not compare: a search with a scorer fits every candidate.
ONE = {"metric__relevance": [1.0], "metric__shrinkage": [3.0], "sigma": [0.65], "smoothness": [0.1]}


@pytest.fixture(scope="module")
def split():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:100]], y[order[:100]], X[order[100:]], y[order[100:]]


@pytest.fixture(scope="module")
def search(split):
    return SmoothEmbeddingCV(grid=SMALL).fit(*split[:2])


def compared(X, y, base=None, grid=SMALL, cv=None):
    """The comparison of a search, and what it found."""
    base = base or SmoothEmbedding()
    rows = Rows.of(Source.of(X), y, None, base.class_weight)
    samples = Samples.of(rows, None, 2000)
    comparison = Comparison(base, Grid.of(base, grid, None, X), samples, samples.splits(cv, 0))
    return comparison, comparison.compared()


class Matern52(Kernel):
    """(1 + r + r²/3) exp(−r) with r = √(5t), written as a user would."""

    curvature = 5.0 / 6.0

    def profile(self, t, xp):
        r = xp.sqrt(5.0 * t)
        return (1.0 + r + r * r / 3.0) * xp.exp(-r)

    def rate(self, t):
        r = np.sqrt(5.0 * t)
        return -5.0 / 6.0 * (1.0 + r) * np.exp(-r)


class Powers(Metric):
    """Columns divided by a power of their standard deviation, with candidates."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y, sample_weight=None):
        self.components_ = np.diag(np.maximum(X.std(axis=0), 1e-6) ** -self.power)
        return self

    def candidates(self):
        return [{"power": 0.0}, {"power": 1.0}]


@pytest.mark.slow
@parametrize_with_checks(
    [SmoothEmbeddingCV(grid=SMALL), SmoothEmbeddingCV(grid=ONE, cv=2, scoring="accuracy")]
)
@pytest.mark.filterwarnings("ignore:Distances are Euclidean:UserWarning")
@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:No candidates were compared:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# What is compared


@pytest.mark.parametrize(
    "base", [SmoothEmbedding(), SmoothEmbedding(standardize=True, class_weight={3: 2.0})]
)
def test_values_are_those_of_refitting(split, base):
    X, y = split[0][:, 2:40], split[1]
    comparison, found = compared(X, y, base, cv=StratifiedKFold(3))
    shown = np.linspace(0, len(found.candidates) - 1, 9).astype(int)
    rows = comparison.samples.rows
    for place in shown:
        parts, norms = [], []
        for train, held in comparison.splits:
            model = found.candidates[place].model(base)
            model.fit(rows.held()[train], rows.classes[rows.codes[train]])
            F = model.map_(rows.held()[held])
            values = model.scores_.values(F)
            parts.append(values - values.mean(axis=1, keepdims=True))
            norms.append(mean_square_of_differences(model))
        np.testing.assert_allclose(found.values[place], np.concatenate(parts), atol=2e-4)
        # They are computed on the first split of the second round.
        assert found.norms[place] == pytest.approx(norms[1] ** 0.5, rel=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", Powers(0.5), "within"])
def test_values_behind_the_hull_are_those_of_refitting(metric):
    """With more features than samples, held-out samples are projected onto the hull."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 8)
    X = rng.normal(size=(3, 60))[y] + 1.5 * rng.normal(size=(24, 60))
    base = SmoothEmbedding(metric=metric)
    comparison, found = compared(X, y, base, {"sigma": [0.7], "smoothness": [0.1]}, StratifiedKFold(2))
    rows = comparison.samples.rows
    for place in range(0, len(found.candidates), 7):
        parts = []
        for train, held in comparison.splits:
            model = found.candidates[place].model(base)
            model.fit(rows.held()[train], rows.classes[rows.codes[train]])
            values = model.scores_.values(model.map_(rows.held()[held]))
            parts.append(values - values.mean(axis=1, keepdims=True))
        np.testing.assert_allclose(found.values[place], np.concatenate(parts), atol=2e-4)


def mean_square_of_differences(model):
    """R² by loops over classes: mean squared norms of differences of their functions."""
    W, Q, codes = model.scores_.weights, model.map_.gram, model.scores_.codes
    pairs = []
    for c in range(len(model.classes_)):
        for r in range(c):
            gaps = W[codes == c][:, np.newaxis] - W[codes == r]
            pairs.append(np.einsum("ijd,de,ije->ij", gaps, Q, gaps).mean())
    return np.mean(pairs)


def test_slopes_are_those_of_their_definition(split):
    X, y = split[:2]
    comparison, found = compared(X, y)
    slopes = comparison.slopes(found)
    for place in (0, 5, len(slopes) - 1):
        model = found.candidates[place].model(comparison.base).fit(X, y)
        D = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
        median = np.median(D[np.triu_indices(len(D), 1)])
        A = model.metric_.dense_components()
        stretch = np.linalg.norm(A, 2)
        expected = np.sqrt(2.0) * stretch * median / model.sigma_
        expected *= found.norms[place] / found.temperatures[place]
        # New rows are projected onto the hull of 100 rows in 64 dimensions, which is everything.
        assert slopes[place] == pytest.approx(expected, rel=1e-4)


def test_temperatures_are_the_best(split):
    found = compared(*split[:2])[1]
    held = found.held
    for place in (0, 7):
        V = found.values[place].astype(float)

        def loss(temperature, V=V):
            logs = logsumexp(V / temperature, axis=1)
            own = V[np.arange(len(V)), held.codes] / temperature
            return np.mean(logs - own) + np.mean(logs) / held.n_effective

        best = minimize(lambda t: loss(np.exp(t[0])), [np.log(found.temperatures[place])]).fun
        assert best <= loss(found.temperatures[place]) <= best + 2e-3
        assert found.losses[place] == pytest.approx(loss(found.temperatures[place]), abs=1e-4)


def test_losses_of_splits_are_mean_log_losses(split):
    found = compared(*split[:2], cv=StratifiedKFold(3))[1]
    ends = found.held.ends
    for place in (0, 7):
        V = found.values[place].astype(float) / found.temperatures[place]
        losses = logsumexp(V, axis=1) - V[np.arange(len(V)), found.held.codes]
        expected = [losses[i:j].mean() for i, j in zip([0, *ends[:-1]], ends, strict=True)]
        np.testing.assert_allclose(found.losses_by_split()[place], expected, rtol=1e-4)


def test_settings_that_are_best_by_scores_and_by_nearest_samples_take_turns():
    own, a, b, c = settings = [object() for _ in range(4)]
    losses = {"scores": (9.0, 1.0, 2.0, 3.0), "nearest": (9.0, 3.0, 2.0, 1.0)}
    joined = SimpleNamespace(
        candidates=[SimpleNamespace(decision=d, setting=s) for d in losses for s in settings],
        losses=[loss for of_decision in losses.values() for loss in of_decision],
    )
    grid = SimpleNamespace(settings=settings, decisions=tuple(losses))
    comparison = SimpleNamespace(joined=lambda found: joined, grid=grid)
    assert Comparison.best_settings(comparison, []) == [own, a, c, b]


def test_values_that_are_all_right_keep_a_temperature():
    values = np.tile(np.array([[1.0, -1.0]], dtype=np.float32), (20, 1))
    held = HeldOutSamples(np.arange(20), np.zeros(20, dtype=int), np.ones(20), [20], 20.0)
    assert 0.1 < best_temperature(values, held)[1] < 1.0


def test_the_stack_is_the_minimum_of_its_objective():
    """By another solver, and by its conditions: no derivative is negative where a weight is zero."""
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=60)
    U = (np.eye(4)[codes] + rng.normal(size=(5, 60, 4))).astype(np.float32)
    U -= U.mean(axis=2, keepdims=True)
    weights, costs = rng.uniform(0.5, 2.0, size=60), np.array([0.0, 0.01, 0.3, 0.001, 0.02])
    start = np.eye(5)[1]
    held = HeldOutSamples(np.arange(60), codes, weights, [60], 40.0)

    def objective(w):
        S = np.tensordot(w, U.astype(float), 1)
        losses = logsumexp(S, axis=1) - S[np.arange(60), codes]
        of_every_class = np.mean([logsumexp(S, axis=1) - S[:, c] for c in range(4)], axis=0)
        losses = losses + of_every_class / 40.0  # one more sample, of every class alike
        return np.average(losses, weights=weights) + w @ costs + PRIOR / 40.0 * np.sum((w - start) ** 2)

    found = Stack(U, held, costs, start).weights()
    other = minimize(objective, start, method="SLSQP", bounds=[(0, None)] * 5, options={"ftol": 1e-12})
    assert objective(found) <= other.fun + 1e-7
    np.testing.assert_allclose(found, other.x, atol=2e-3)


def test_members_without_weight_are_left_out():
    values = np.tile(np.array([1.0, -1.0], dtype=np.float32), (4, 5, 1))
    weights = np.array([0.2, 1e-12, 0.5, 0.0])
    assert heaviest(weights, values, 8).tolist() == [2, 0]
    assert heaviest(weights, values, 1).tolist() == [2]
    assert heaviest(0.0 * weights, values, 8).tolist() == []


# The ensemble


def test_one_map_gives_everything(split, search):
    X, y, X_new, y_new = split
    S = np.sum(
        [
            w * m.scores_.values(m.map_(X_new))
            for m, w in zip(search.members_, search.weights_, strict=True)
        ],
        axis=0,
    )
    S -= S.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(search.decision_function(X_new), S, atol=1e-9)
    np.testing.assert_array_equal(search.predict(X_new), search.classes_[S.argmax(axis=1)])
    P = search.predict_proba(X_new)
    np.testing.assert_allclose(P, softmax(S / search.scores_.temperature, axis=1), atol=1e-9)
    Y = search.transform(X_new)
    assert Y.shape == (len(X_new), 9)
    # The scores follow from all coordinates, by a rotation.
    np.testing.assert_allclose(Y @ search.map_.rotation.T, S, atol=1e-9)
    np.testing.assert_allclose(search.map_.rotation.T @ search.map_.rotation, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(search.transform(X), search.embedding_, atol=1e-9)
    assert search.score(X_new, y_new) > 0.9
    assert log_loss(y_new, P) < log_loss(y_new, SmoothEmbedding().fit(X, y).predict_proba(X_new))


def test_predict_uses_coordinates_that_transform_does_not_return(split, search):
    X, y, X_new, _ = split
    few = SmoothEmbeddingCV(SmoothEmbedding(n_components=2), grid=SMALL).fit(X, y)
    np.testing.assert_array_equal(few.predict(X_new), search.predict(X_new))
    np.testing.assert_allclose(few.transform(X_new), search.transform(X_new)[:, :2], atol=1e-9)
    assert few.set_output(transform="pandas").transform(X_new).shape == (len(X_new), 2)


def test_the_first_coordinates_separate_the_classes_most(split, search):
    means = np.array([search.embedding_[split[1] == c].mean(axis=0) for c in range(10)])
    shares = np.bincount(split[1]) / 100
    spread = shares @ np.square(means - shares @ means)
    assert np.all(np.diff(spread) <= 1e-9 * spread[0])


def test_a_larger_slope_penalty_gives_larger_radii(split):
    X, y, X_new, _ = split
    radii = []
    for penalty in (0.0, 0.01, 0.1):
        model = SmoothEmbeddingCV(grid=SMALL, slope_penalty=penalty).fit(X, y)
        radii.append(np.median(model.certified_radius(X_new[:300])))
    assert radii[0] < radii[1] < radii[2]


def test_members_are_the_heaviest_and_few(split):
    X, y = split[:2]
    model = SmoothEmbeddingCV(max_members=3).fit(X, y)
    assert len(model.members_) == len(model.weights_) <= 3
    assert np.all(model.weights_ > 0)
    sizes = [
        w * m.decision_function(X).std() for m, w in zip(model.members_, model.weights_, strict=True)
    ]
    assert sizes[0] == max(sizes)
    assert model.best_estimator_ is model.members_[0]
    settings = {name: model.best_estimator_.get_params()[name] for name in model.best_params_}
    assert settings == model.best_params_


def test_held_out_scores_are_used_for_training_samples(split):
    X, y, X_new, y_new = split
    model = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert model.left_out_embedding_.shape == (100, 9)
    assert np.isfinite(model.left_out_embedding_).all()
    labels = (model.left_out_embedding_ @ model.map_.rotation.T).argmax(axis=1)
    assert np.mean(labels == y) == pytest.approx(model.leave_one_out_score_)
    assert abs(model.leave_one_out_score_ - model.score(X_new, y_new)) < 0.1


def test_standardized_columns_do_not_count_as_steep():
    """Raw columns of this table have standard deviations from 0.003 to 500."""
    X, y = load_breast_cancer(return_X_y=True)
    model = SmoothEmbeddingCV(SmoothEmbedding(standardize=True), grid=SMALL).fit(X[:114], y[:114])
    scaler = StandardScaler().fit(X[:114])
    other = SmoothEmbeddingCV(grid=SMALL).fit(scaler.transform(X[:114]), y[:114])
    # The standard deviations are those of the training part of each split, not of all samples.
    labels = other.predict(scaler.transform(X[114:]))
    assert np.mean(model.predict(X[114:]) == labels) > 0.96
    assert len(model.members_) > 1


def test_typicality_of_an_ensemble(split):
    X_new, y_new = split[2:]
    known, new = np.isin(y_new, range(8)), y_new >= 8
    model = SmoothEmbeddingCV(grid=SMALL).fit(X_new[known][:300], y_new[known][:300])
    assert np.mean(model.typicality(X_new[known][300:]) <= 0.1) < 0.15
    assert np.mean(model.typicality(X_new[new]) <= 0.1) > 0.6


def test_the_sum_is_better_than_the_untuned_model_on_circles():
    rng = np.random.default_rng(0)
    X, y = make_circles(200, noise=0.08, factor=0.6, random_state=0)
    X = np.c_[X, rng.normal(scale=0.3, size=(200, 6))]
    model = SmoothEmbeddingCV().fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) >= SmoothEmbedding().fit(X[:60], y[:60]).score(X[60:], y[60:])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


# Kernels and metrics of users


@pytest.mark.parametrize("kernel", [Matern52(), "matern32"])
def test_kernels_of_users(split, kernel):
    X, y, X_new, y_new = split
    model = SmoothEmbeddingCV(SmoothEmbedding(kernel=kernel), grid={"metric__relevance": [1.0]}).fit(
        X, y
    )
    assert all(repr(member.kernel) == repr(kernel) for member in model.members_)
    assert model.score(X_new, y_new) > 0.9


def test_several_kernels(split):
    X, y, X_new, y_new = split
    grid = SMALL | {"kernel": ["gaussian", Matern52(), Matern32()]}
    model = SmoothEmbeddingCV(grid=grid).fit(X, y)
    tried = {repr(kernel) for kernel in model.cv_results_["param_kernel"]}
    assert tried == {"'gaussian'", "Matern52()", "Matern32()"}
    assert model.score(X_new, y_new) > 0.9


def test_a_kernel_without_slope_needs_no_slope_penalty(split):
    X, y, X_new, y_new = split
    for options in (
        {"estimator": SmoothEmbedding(kernel="exponential")},
        {"grid": {"kernel": [Exponential()]}},
    ):
        with pytest.raises(ValueError, match="`slope_penalty` must be 0 with the kernel Exponential"):
            SmoothEmbeddingCV(**options).fit(X, y)
        model = SmoothEmbeddingCV(**options, slope_penalty=0).fit(X, y)
        assert model.score(X_new, y_new) > 0.85


@pytest.mark.parametrize(
    "metric", [Powers(), Powers(0.5), NeighborhoodComponentsAnalysis(max_iter=5), "euclidean", None]
)
def test_metrics_of_users(split, metric):
    X, y, X_new, y_new = split
    X, X_new = X[:, 2:30], X_new[:, 2:30]
    model = SmoothEmbeddingCV(SmoothEmbedding(metric=metric), grid={"sigma": [0.5, 1.0]}).fit(X, y)
    kind = type(SmoothEmbedding(metric=metric).fit(X, y).metric_)
    assert all(type(member.metric_) is kind for member in model.members_)
    assert model.score(X_new, y_new) > 0.75


def test_settings_of_a_metric_are_those_that_it_suggests(split):
    X, y = split[0][:, 2:30], split[1]
    model = SmoothEmbeddingCV(SmoothEmbedding(metric=Powers(0.3)), slope_penalty=0.0).fit(X, y)
    assert set(model.cv_results_["param_metric__power"]) <= {0.3, 0.0, 1.0}
    model = SmoothEmbeddingCV(SmoothEmbedding(metric=Powers(0.3)), grid={"metric__power": [0.2]}).fit(
        X, y
    )
    assert set(model.cv_results_["param_metric__power"]) == {0.3, 0.2}


# Samples


@pytest.mark.parametrize("options", [{}, {"scoring": "accuracy", "cv": 3}], ids=str)
def test_three_copies_are_one_sample_of_weight_three(split, options):
    X, y, X_new, _ = split
    X, y = X[y < 3], y[y < 3]
    grid = {**ONE, "sigma": [0.65, 1.6], "smoothness": [0.1, 1.0]}
    search = SmoothEmbeddingCV(grid=grid, **options)
    copies = clone(search).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    weights = clone(search).fit(X, y, np.full(len(y), 3.0))
    np.testing.assert_allclose(copies.predict_proba(X_new), weights.predict_proba(X_new), atol=1e-6)
    assert copies.best_score_ == pytest.approx(weights.best_score_, abs=1e-6)


def test_equal_rows_are_on_one_side_of_every_split(split):
    X, y = split[:2]
    X, y = np.vstack([X, X[:40]]), np.r_[y, (y[:40] + 1) % 10]  # with other labels
    for cv in (None, 3, [(np.arange(70, 140), np.arange(70))]):
        comparison, _ = compared(X, y, cv=cv)
        places = comparison.samples.rows.places
        for train, held in comparison.splits:
            assert not set(places[train]) & set(places[held])


def test_a_class_that_a_fold_lacks(split):
    """Its held-out samples do not count, and no candidate gives it the largest value."""
    X, y = split[:2]
    lone = np.flatnonzero(y == 3)
    others = np.setdiff1d(np.arange(100), lone)
    cv = [(others[20:], np.r_[others[:20], lone]), (np.r_[others[:60], lone], others[60:])]
    found = compared(X, y, cv=cv)[1]
    first = slice(0, found.held.ends[0])
    codes = found.held.codes[first]
    assert np.all(found.held.weights[first][codes == 3] == 0.0)
    assert np.all(found.held.weights[first][codes != 3] == 1.0)
    assert np.all(found.values[:, first].argmax(axis=2) != 3)
    model = SmoothEmbeddingCV(grid=SMALL, cv=cv).fit(X, y)
    assert np.mean(model.predict(X[lone]) == 3) > 0.9


def test_weights_count_in_the_stack(split):
    """Held-out samples of weight zero are not there, and heavy ones matter more."""
    X, y, X_new, _ = split
    weights = np.r_[np.ones(80), np.zeros(20)]
    some = SmoothEmbeddingCV(grid=SMALL).fit(X[:80], y[:80])
    same = SmoothEmbeddingCV(grid=SMALL).fit(X, y, weights)
    np.testing.assert_allclose(same.predict_proba(X_new), some.predict_proba(X_new), atol=1e-8)


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
    search = SmoothEmbeddingCV(grid=ONE, cv=cv, scoring=held_out_rows(parts))
    search.fit(X, y, groups=groups)
    assert np.isfinite(search.best_score_)
    row = {x.tobytes(): i for i, x in enumerate(X)}
    for part in parts:
        own = groups[[row[x.tobytes()] for x in part]]
        assert all(np.sum(own == group) == np.sum(groups == group) for group in np.unique(own))


def test_groups_are_routed_as_metadata(split):
    X, y, _, _ = split
    groups = np.arange(100) % 5
    search = make_pipeline(StandardScaler(), SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(3)))
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            search, X, y, params={"groups": groups}, cv=GroupKFold(5), error_score="raise"
        )
    assert np.all(found["test_score"] > 0.5)


def test_three_samples():
    with pytest.warns(UserWarning, match="No candidates were compared"):
        search = SmoothEmbeddingCV().fit([[0.0, 1.0], [0.1, 1.0], [3.0, 2.0]], [0, 0, 1])
    assert list(search.predict([[0.0, 1.0], [3.0, 2.0]])) == [0, 1]


@pytest.mark.filterwarnings("ignore:Distances are Euclidean:UserWarning")
@pytest.mark.filterwarnings("ignore:No candidates were compared:UserWarning")
def test_one_sample_of_every_class_leaves_the_untuned_model():
    X, y = np.arange(12.0).reshape(4, 3) ** 2, np.arange(4)
    search = SmoothEmbeddingCV().fit(X, y)
    assert len(search.members_) == 1
    assert search.best_params_["sigma"] == SmoothEmbedding().sigma
    assert search.cv_results_["params"] == [search.best_params_]
    assert np.isnan(search.best_score_)
    np.testing.assert_array_equal(search.predict_proba(X), SmoothEmbedding().fit(X, y).predict_proba(X))


@pytest.mark.filterwarnings("ignore:No candidates were compared:UserWarning")
def test_two_samples_of_every_class_leave_the_untuned_model():
    """Splits would train on one sample of a class, which tells nothing of metrics."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 2)
    X = rng.normal(size=(12, 60))[y] + 0.7 * rng.normal(size=(24, 60))
    search = SmoothEmbeddingCV().fit(X, y)
    assert len(search.members_) == 1
    np.testing.assert_array_equal(search.predict_proba(X), SmoothEmbedding().fit(X, y).predict_proba(X))


def test_many_samples_are_compared_on_some(split):
    X, y, X_new, y_new = split
    search = SmoothEmbeddingCV(grid=SMALL, max_samples=60).fit(X_new[:500], y_new[:500])
    assert np.isfinite(search.left_out_embedding_[:, 0]).sum() <= 60
    assert search.score(X, y) > 0.9


def test_less_smoothness_than_single_precision_can_tell(split):
    X, y, X_new, y_new = split
    grid = {
        "metric__relevance": [0.0],
        "metric__shrinkage": [np.inf],
        "sigma": [4.0],
        "smoothness": [1e-7],
    }
    search = SmoothEmbeddingCV(grid=grid).fit(X, y)
    assert search.score(X_new, y_new) > 0.8


# Augmentations and unlabeled samples


@pytest.mark.slow
def test_augmentations_are_candidates(split):
    X, y, X_new, y_new = split

    def rotten(X):
        return [X[:, ::-1] * 3.0]

    images = Images((8, 8), rotate=None)
    search = SmoothEmbeddingCV(grid=SMALL, augment=[None, images, rotten]).fit(X, y)
    assert any(member.augment is not None for member in search.members_)
    alone = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert search.score(X_new, y_new) >= alone.score(X_new, y_new) - 0.005
    only = SmoothEmbeddingCV(grid=SMALL, augment=[images]).fit(X, y)
    assert all(isinstance(member.augment, Images) for member in only.members_)
    assert not any(
        member.augment is rotten
        for member in SmoothEmbeddingCV(grid=SMALL, augment=[None, rotten]).fit(X, y).members_[:1]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("centers", "most"), [(None, 1500), (200, 50)])
def test_uses_of_unlabeled_samples_are_candidates(split, monkeypatch, centers, most):
    X, y, X_new, y_new = split
    rows, labels = np.vstack([X, X_new[:300]]), np.r_[y, np.full(300, -1)]
    monkeypatch.setattr("nsse.unlabeled_candidates.MOST_UNLABELED", most)
    model = SmoothEmbedding(unlabeled=GraphPenalty(), centers=centers)
    search = SmoothEmbeddingCV(model, grid=SMALL).fit(rows, labels)
    tried = [use for use in search.cv_results_["param_unlabeled"] if use is not None]
    assert any(isinstance(use, LabelPropagation) for use in tried)
    assert any(use.has_own_graph for use in tried) == (centers is not None)
    alone = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    own = np.mean(search.transduction_[100:] == y_new[:300])
    assert own >= alone.score(X_new[:300], y_new[:300]) - 0.01
    np.testing.assert_array_equal(search.transduction_[:100], y)


# Scorers


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_a_scorer_gets_fitted_models_and_the_best_one_predicts(split, scoring):
    X, y, X_new, _ = split
    search = SmoothEmbeddingCV(grid=ONE | {"sigma": [0.5, 2.0]}, scoring=scoring, cv=3).fit(X, y)
    results = search.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], scores.std(axis=0))
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == results["mean_test_score"].max()
    assert results["params"][search.best_index_] == search.best_params_
    best = clone(SmoothEmbedding()).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X_new), best.predict(X_new))
    np.testing.assert_allclose(search.transform(X_new), best.transform(X_new))
    own = cross_validate(best, X, y, cv=StratifiedKFold(3), scoring=scoring)["test_score"]
    np.testing.assert_allclose(np.sort(own), np.sort(scores[:, search.best_index_]), atol=1e-9)


def test_score_uses_the_scorer(split):
    X, y, X_new, y_new = split
    loss = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    search = SmoothEmbeddingCV(grid=ONE, scoring=loss, cv=2).fit(X, y)
    assert search.score(X_new, y_new) == pytest.approx(-log_loss(y_new, search.predict_proba(X_new)))


def test_results_follow_the_contract_of_scikit_learn(search):
    results = search.cv_results_
    n = len(results["params"])
    for name in results["params"][0]:
        assert len(results[f"param_{name}"]) == n
    scores = np.array([results[f"split{k}_test_score"] for k in range(search.n_splits_)])
    assert scores.shape == (10, n)
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=0))
    assert results["params"][search.best_index_] == search.best_params_
    assert search.best_score_ == results["mean_test_score"][search.best_index_]


def test_without_refit_there_is_no_model(split):
    X, y, X_new, _ = split
    for scoring in (None, "accuracy"):
        grid = ONE | {"sigma": [1.0]}
        search = SmoothEmbeddingCV(grid=grid, scoring=scoring, cv=2, refit=False).fit(X, y)
        assert search.best_params_["sigma"] in (0.65, 1.0)
        with pytest.raises(NotFittedError, match="refit=False"):
            search.predict(X_new)


def test_processes_give_the_same_model(split, search):
    X, y, X_new, _ = split
    with parallel_config(backend="threading"):
        same = SmoothEmbeddingCV(grid=SMALL, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X_new), search.predict_proba(X_new))


def test_processes_compare_kernel_objects(split):
    """Settings come back from other processes as copies."""
    X, y, X_new, _ = split
    grid = ONE | {"kernel": [Matern32(), Matern52()]}
    alone = SmoothEmbeddingCV(grid=grid).fit(X, y)
    with parallel_config(backend="loky"):
        same = SmoothEmbeddingCV(grid=grid, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X_new), alone.predict_proba(X_new))


@pytest.mark.filterwarnings("ignore:No candidates were compared:UserWarning")
def test_groups_that_are_classes_leave_the_untuned_model(split):
    X, y = split[:2]
    assert len(SmoothEmbeddingCV(grid=SMALL).fit(X, y, groups=y).members_) == 1


def test_a_scorer_and_unlabeled_samples(split):
    X, y, X_new, y_new = split
    rows, labels = np.vstack([X, X_new[:100]]), np.r_[y, np.full(100, -1)]
    base = SmoothEmbedding(unlabeled=GraphPenalty())
    search = SmoothEmbeddingCV(base, grid=ONE, scoring="accuracy", cv=3).fit(rows, labels)
    assert isinstance(search.best_params_["unlabeled"], GraphPenalty)
    assert len(search.transduction_) == len(search.embedding_) == 200
    assert np.mean(search.transduction_[100:] == y_new[:100]) > 0.9


# Errors and interruptions


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("grid", {"mu2": [1.0]}, "name parameters among"),
        ("grid", {"shrinkage": [1.0]}, "It is called 'metric__shrinkage'"),
        ("grid", {"sigma": []}, "list of values"),
        ("grid", {"sigma": 1.0}, "list of values"),
        ("grid", {"sigma": [0.0]}, "positive"),
        ("grid", {"sigma": [1e300]}, "between"),
        ("grid", {"smoothness": [0.0]}, "positive"),
        ("grid", {"smoothness": [np.inf]}, "finite"),
        ("grid", {"metric__shrinkage": [0.0]}, "shrinkage"),
        ("grid", {"decision": ["neares"]}, "be one of"),
        ("grid", {"kernel": ["gauss"]}, "kernel"),
        ("grid", [("sigma", 1.0)], "dict"),
        ("augment", [], "list of augmentations"),
        ("augment", Images((8, 8)), "list of augmentations"),
        ("augment", [None, "shift"], "list of augmentations"),
        ("cv", [], "pairs of indices"),
        ("cv", [(np.arange(100), [])], "usable splits"),
        ("max_samples", 1, "at least 10"),
        ("max_members", 0, "at least 1"),
        ("slope_penalty", -1.0, "not negative"),
        ("refit", "yes", "True or False"),
        ("estimator", SVC(), "SmoothEmbedding"),
        ("scoring", "acuracy", "acuracy"),
        ("scoring", ["accuracy"], "one scorer"),
    ],
)
def test_bad_parameters_are_named_before_work_starts(split, parameter, value, message, monkeypatch):
    monkeypatch.setattr("nsse.halving.Comparison.on_splits", None)
    search = SmoothEmbeddingCV(**{parameter: value})
    with pytest.raises(ValueError, match=message):
        search.fit(*split[:2])
    assert not hasattr(search, "classes_")


def test_groups_are_needed_by_a_group_splitter_and_checked(split):
    X, y, _, _ = split
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL, cv=GroupKFold(5)).fit(X, y)
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL).fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="groups"):
        SmoothEmbeddingCV(grid=SMALL).fit(X, y, groups=[None] * 100)


def interrupting(function, call):
    """The function, interrupted once, at a call of it."""
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(args)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return interrupted


@pytest.mark.parametrize("call", [2, 6])
def test_interrupted_while_candidates_are_compared(split, call, monkeypatch):
    X, y, X_new, y_new = split
    monkeypatch.setattr("nsse.halving.Fold.of", interrupting(Fold.of, call))
    with pytest.warns(UserWarning, match="Interrupted while comparing parameters"):
        search = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert search.score(X_new, y_new) > 0.9


def test_interrupted_before_there_is_a_result(split, monkeypatch):
    monkeypatch.setattr("nsse.halving.Fold.of", interrupting(lambda *args: None, 1))
    search = SmoothEmbeddingCV(grid=SMALL)
    with pytest.warns(UserWarning, match="Interrupted"), pytest.raises(KeyboardInterrupt):
        search.fit(*split[:2])
    assert not hasattr(search, "classes_")


def test_interrupted_while_members_are_fitted(split, monkeypatch):
    X, y, X_new, y_new = split
    monkeypatch.setattr(SmoothEmbedding, "fit", interrupting(SmoothEmbedding.fit, 2))
    with pytest.warns(UserWarning, match="Interrupted while fitting members"):
        search = SmoothEmbeddingCV(grid=SMALL).fit(X, y)
    assert len(search.members_) == len(search.weights_) == 1
    assert search.score(X_new, y_new) > 0.9


def test_a_shrinkage_of_the_user_stays(split):
    """Parameters of the metric that candidates do not name are those of the user's metric."""
    X, y = split[:2]
    base = SmoothEmbedding(metric=WithinMetric(n_neighbors=2))
    model = SmoothEmbeddingCV(base, grid=SMALL).fit(X, y)
    assert all(member.metric_.n_neighbors == 2 for member in model.members_)


def test_copies_of_few_rows_count_as_few_samples():
    """Many copies of a few rows are as little to learn from as these rows."""
    weights = np.array([1.0, 1.0, 1.0, 1.0])
    assert effective_number(weights) == pytest.approx(4.0)
    assert effective_number(30.0 * weights) == pytest.approx(4.0)
    assert effective_number(np.array([97.0, 1.0, 1.0, 1.0])) == pytest.approx(100.0**2 / (97.0**2 + 3.0))
    rng = np.random.default_rng(5)
    corners = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    X = corners[rng.integers(8, size=500)]
    y = (rng.random(500) < np.where(X[:, 0] == 1.0, 0.7, 0.3)).astype(int)
    search = SmoothEmbeddingCV().fit(X[:100], y[:100])
    # It was 1.9 when every copy counted as a sample.
    assert log_loss(y[100:], search.predict_proba(X[100:])) < 1.2
