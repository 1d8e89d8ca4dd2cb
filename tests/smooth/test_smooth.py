"""SmoothEmbedding as its users see it: what it gives, what does not change it, what it refuses."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nsse import SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, load, save
from nsse.augment import Noise
from nsse.centers import CenterSelector, CentersPerClass, KMeansCenters, RandomCenters
from nsse.unlabeled import GraphPenalty, LabelPropagation


@pytest.fixture(scope="module")
def split():
    """Training and test digits."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:300]], y[order[:300]], X[order[300:]], y[order[300:]]


@pytest.fixture(scope="module")
def model(split):
    return SmoothEmbedding().fit(*split[:2])


@pytest.mark.slow
@parametrize_with_checks(
    [
        SmoothEmbedding(),
        SmoothEmbedding(metric=None, centers=None),
        SmoothEmbedding(n_components=1, centers=10, metric=WithinMetric(1.0)),
        SmoothEmbedding(standardize=True),
        SmoothEmbedding(unlabeled=GraphPenalty(marker=-99)),
        SmoothEmbedding(unlabeled=LabelPropagation(marker=-99)),
        WithinMetric(),
        WithinMetric(0.1, n_neighbors=None, relevance=0.0),
    ]
)
@pytest.mark.filterwarnings("ignore:Distances are Euclidean:UserWarning")
@pytest.mark.filterwarnings("ignore:The weights have a mean of:UserWarning")
@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.filterwarnings("ignore:There are only .* different training samples:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_embedding_holds_on_new_samples(split, model):
    X, _, X_new, y_new = split
    assert model.score(X_new, y_new) > 0.97
    assert model.embedding_.shape == (300, 9)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
    assert model._leave_one_out.shape == (200, 10)  # so many leave the metric too
    assert abs(model.leave_one_out_score_ - model.score(X_new, y_new)) < 0.03
    np.testing.assert_allclose(model.centers_, X, atol=1e-9)
    assert model.sigma_ == pytest.approx(0.65 * model._length_unit)


def test_only_documented_attributes_are_public(model):
    public = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    documented = "classes_ embedding_ left_out_embedding_ centers_ coef_ sigma_ metric_ labels_ "
    documented += "transduction_ leave_one_out_score_ map_ scores_ n_features_in_"
    assert public == set(documented.split())


def test_labels_do_not_depend_on_the_coordinates_that_are_handed_out(split, model):
    X, y, X_new, _ = split
    plane = SmoothEmbedding(n_components=2).fit(X, y)
    assert plane.transform(X_new).shape == (len(X_new), 2)
    np.testing.assert_allclose(plane.transform(X_new), model.transform(X_new)[:, :2], atol=1e-12)
    np.testing.assert_array_equal(plane.predict(X_new), model.predict(X_new))
    np.testing.assert_allclose(plane.predict_proba(X_new), model.predict_proba(X_new), atol=1e-12)


def test_probabilities_follow_the_scores(split, model):
    X_new, y_new = split[2:]
    P = model.predict_proba(X_new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P.argmax(axis=1), model.decision_function(X_new).argmax(axis=1))
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X_new), atol=1e-9)
    assert -np.mean(np.log(P[np.arange(len(P)), y_new])) < 0.15


def test_the_temperature_has_the_smallest_left_out_loss(model):
    """With one sample more, placed like the others and of any class alike."""

    def loss(temperature):
        P = log_softmax(model._leave_one_out / temperature, axis=1)
        return -P[np.arange(200), model._leave_one_out_labels].sum() - P.mean()

    best = minimize_scalar(loss, bounds=(0.01, 1.0), method="bounded", options={"xatol": 1e-7}).x
    assert model.scores_.temperature == pytest.approx(best, rel=1e-4)


def test_nearest_is_the_nearest_training_sample_in_the_embedding(split):
    X, y, X_new, _ = split
    model = SmoothEmbedding(decision="nearest").fit(X, y)
    F, Y = model.transform(X_new), model.embedding_
    nearest = [np.argmin([np.sum((f - v) ** 2) for v in Y]) for f in F[:200]]
    np.testing.assert_array_equal(model.predict(X_new[:200]), y[nearest])


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e160, 1e300])
def test_units_change_nothing(split, model, scale):
    X, y, X_new, _ = split
    other = SmoothEmbedding().fit(X * scale, y)
    np.testing.assert_allclose(
        other.decision_function(X_new * scale), model.decision_function(X_new), atol=1e-9
    )
    assert other.sigma_ == pytest.approx(model.sigma_ * scale)


FAR_ROW = {
    "exact": {},
    "euclidean": {"metric": None},
    "centers": {"centers": 30},
    "sparse": {"metric": None},
    "float32": {},
    "float32, centers": {"centers": 30, "metric": None},
}


@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.parametrize("far", [1e6, 1e8, 999999999.0, 1e10, 1e15])
@pytest.mark.parametrize("kind", FAR_ROW)
def test_a_far_row_leaves_the_other_samples_their_labels(kind, far):
    X, y = load_iris(return_X_y=True)
    X_far, y_far = np.vstack([X, np.full((1, 4), far)]), np.append(y, 0)
    if kind.startswith("float32"):
        X, X_far = X.astype(np.float32), X_far.astype(np.float32)
    if kind == "sparse":
        X, X_far = sparse.csr_array(X), sparse.csr_array(X_far)
    plain = SmoothEmbedding(**FAR_ROW[kind]).fit(X, y)
    model = SmoothEmbedding(**FAR_ROW[kind]).fit(X_far, y_far)
    assert model.score(X, y) > 0.95
    assert model._length_unit == pytest.approx(plain._length_unit, rel=0.1)


def test_clusters_of_rows_in_single_precision_stay_where_the_rows_are():
    X, y = load_iris(return_X_y=True)
    X_far = np.vstack([X, np.full((1, 4), 1e10)]).astype(np.float32)
    centers = SmoothEmbedding(centers=30, metric=None).fit(X_far, np.append(y, 1)).centers_
    assert len(centers) == 30
    assert np.sum(cdist(centers, X).min(axis=1) > 1.0) == 1  # the far row itself


@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_values_beyond_all_others_are_refused(kind):
    X, y = load_iris(return_X_y=True)
    X[7, 2] = np.finfo(np.float64).max
    X = sparse.csr_array(X) if kind == "sparse" else X
    with pytest.raises(ValueError, match=r"`X` must have no value more than 1e\+50 times as large"):
        SmoothEmbedding().fit(X, y)


def test_order_names_and_rotations_change_nothing(blobs):
    X, y, rng = blobs.X, blobs.codes, np.random.default_rng(0)
    model = SmoothEmbedding(metric=WithinMetric(relevance=0.0)).fit(X, y)
    order, Q = rng.permutation(len(X)), np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X_new, names = X + 0.3 * rng.normal(size=X.shape), np.array(list("abcd"))
    expected = model.decision_function(X_new)
    shuffled = clone(model).fit(X[order], y[order]).decision_function(X_new)
    np.testing.assert_allclose(shuffled, expected, atol=1e-8)
    turned = clone(model).fit(X @ Q, y).decision_function(X_new @ Q)
    np.testing.assert_allclose(turned, expected, atol=1e-8)
    named = clone(model).fit(X, names[y])
    np.testing.assert_allclose(named.decision_function(X_new), expected, atol=1e-10)
    np.testing.assert_array_equal(named.predict(X_new), names[model.predict(X_new)])


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0)])
def test_the_order_of_rows_does_not_choose_between_neighbors_at_the_same_distance(values):
    # With equal feature weights most distances of such rows are equal to several others.
    rng = np.random.default_rng(0)
    y, order = np.arange(80) % 2, rng.permutation(80)
    X = np.where(rng.random((80, 8)) < 0.4 + 0.3 * y[:, np.newaxis], *values)
    model = SmoothEmbedding(metric=WithinMetric(relevance=0.0)).fit(X, y)
    shuffled = clone(model).fit(X[order], y[order])
    expected = model.decision_function(X)
    np.testing.assert_allclose(shuffled.decision_function(X), expected, atol=1e-10)
    np.testing.assert_allclose(shuffled.predict_proba(X), model.predict_proba(X), atol=1e-8)


def test_weights_count_samples(split):
    X, y, X_new, _ = split
    times = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = SmoothEmbedding(class_weight="balanced").fit(X, y, sample_weight=times)
    repeated = SmoothEmbedding(class_weight="balanced").fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    np.testing.assert_allclose(weighted.predict_proba(X_new), repeated.predict_proba(X_new), atol=1e-8)
    halves = SmoothEmbedding().fit(np.r_[X, X], np.r_[y, y], sample_weight=np.full(600, 0.5))
    once = SmoothEmbedding().fit(X, y)
    np.testing.assert_allclose(halves.predict_proba(X_new), once.predict_proba(X_new), atol=1e-8)


def test_weights_that_sum_to_one_are_told_and_do_no_harm(split):
    X, y, X_new, y_new = split
    with pytest.warns(UserWarning, match="mean of 0.00333"):
        model = SmoothEmbedding().fit(X, y, sample_weight=np.full(300, 1 / 300))
    assert model.score(X_new, y_new) > 0.9


@pytest.mark.parametrize(
    ("weights", "mean"),
    [
        ({}, None),
        ({"sample_weight": np.ones(400)}, None),
        ({"sample_weight": np.full(400, 20.0)}, 20),
        ({"class_weight": "balanced"}, None),
        ({"class_weight": {0: 1.0, 1: 2.0}}, None),
    ],
)
def test_equal_samples_are_not_taken_for_weights(weights, mean):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 3)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=400) > 1.5).astype(int)
    model = SmoothEmbedding(class_weight=weights.get("class_weight"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weights.get("sample_weight"))
    told = [str(warning.message).partition(". ")[0] for warning in caught]
    assert told == ([] if mean is None else [f"The weights have a mean of {mean}"])


@pytest.mark.parametrize("weight", [1e-160, 1e160])
def test_weights_beyond_all_samples_are_refused(split, weight):
    with pytest.raises(ValueError, match="sample_weight"):
        SmoothEmbedding().fit(*split[:2], sample_weight=np.full(300, weight))


def test_every_sample_twice_with_two_labels(split):
    X, y, X_new, _ = split
    model = SmoothEmbedding().fit(np.r_[X, X], np.r_[y, (y + 1) % 10])
    assert np.isfinite(model.decision_function(X_new)).all()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_point_to_unlabeled(split, missing):
    X, y, _, _ = split
    labels = pd.Series(y.astype(object))
    labels[:20] = missing
    with pytest.raises(ValueError, match=r"20 missing labels.*unlabeled=GraphPenalty"):
        SmoothEmbedding().fit(X, labels)
    model = SmoothEmbedding(unlabeled=GraphPenalty()).fit(X, labels)
    assert np.mean(model.transduction_[:20] == y[:20]) > 0.8
    np.testing.assert_array_equal(model.transduction_[20:].astype(int), y[20:])


@pytest.mark.parametrize("kind", ["S2", object, "V2"])
def test_labels_of_bytes_are_refused(split, kind):
    X, y = split[0], np.array([b"ab", b"cd"])[split[1] % 2].astype(kind)
    model = SmoothEmbedding()
    fits = [each.fit for each in (model, SmoothEmbeddingCV(), WithinMetric())]
    for learn in (*fits, model.partial_fit, lambda X, y: model.fit_blocks([(X, y)])):
        with pytest.raises(ValueError, match=r"^`y` must hold numbers or text\. Got .*Decode"):
            learn(X, y)


@pytest.mark.parametrize(
    "centers", [50, KMeansCenters(50), CentersPerClass(50), RandomCenters(50), np.arange(0, 300, 6)]
)
def test_centres_of_every_kind(split, centers):
    X, y, X_new, y_new = split
    model = SmoothEmbedding(centers=centers).fit(X, y)
    assert model.coef_.shape == (50, 9)
    assert model.score(X_new, y_new) > 0.9
    again = SmoothEmbedding(centers=centers).fit(X, y)
    np.testing.assert_array_equal(again.transform(X_new), model.transform(X_new))


def test_many_samples_have_fewer_centers(monkeypatch):
    monkeypatch.setattr("nsse.centers.EXACT_UP_TO", 500)
    monkeypatch.setattr("nsse.centers.FEWER", 300)
    X = np.random.default_rng(0).normal(size=(501, 20))
    y = X[:, 0] > 0
    assert len(SmoothEmbedding(metric=None).fit(X, y).coef_) == 300
    assert len(SmoothEmbedding(metric=None).fit(X[:500], y[:500]).coef_) == 500


def test_more_than_five_thousand_samples_have_three_thousand_centers():
    model = SmoothEmbedding()
    assert model.estimate_memory(6000, 2) == model.estimate_memory(60000, 2)
    assert model.estimate_memory(5000, 2) > model.estimate_memory(5001, 2)
    exact, fewer = (SmoothEmbedding(centers=centers) for centers in (None, 3000))
    assert model.estimate_memory(5000, 2) == exact.estimate_memory(5000, 2)
    assert model.estimate_memory(6000, 2) == fewer.estimate_memory(6000, 2)


def test_centres_that_others_make_superfluous_are_left_out():
    X = np.random.default_rng(0).normal(size=(900, 2))
    y = X[:, 0] > 0
    few = SmoothEmbedding(centers=600).fit(X, y)
    assert len(few.coef_) < 400
    exact = SmoothEmbedding(centers=None).fit(X, y)
    assert np.abs(few.decision_function(X) - exact.decision_function(X)).max() < 0.05


def test_nested_parameters_and_pipelines(split):
    X, y, _, _ = split
    search = GridSearchCV(
        SmoothEmbedding(metric=WithinMetric()), {"metric__shrinkage": [0.1, 3.0], "sigma": [0.65]}, cv=3
    ).fit(X, y)
    assert search.best_params_["metric__shrinkage"] in (0.1, 3.0)
    assert cross_val_score(make_pipeline(StandardScaler(), SmoothEmbedding()), X, y, cv=3).mean() > 0.9


def test_single_precision_is_kept(split, model):
    X, y, X_new, _ = split
    single = SmoothEmbedding().fit(X.astype(np.float32), y)
    F = single.transform(X_new.astype(np.float32))
    assert F.dtype == single.embedding_.dtype == np.float32
    np.testing.assert_allclose(F, model.transform(X_new), atol=1e-5)
    many = np.random.default_rng(0).normal(size=(5200, 4)).astype(np.float32)
    for far in (1e8, 1e13, 1e38):  # single precision has no square of the last one
        many[7] = far
        single = SmoothEmbedding(centers=RandomCenters(50), metric=None).fit(many, many[:, 0] > 0)
        np.testing.assert_allclose(single.embedding_, single.transform(many), atol=1e-5)


def test_data_frames_and_names(split):
    X, y, _, _ = split
    frame = pd.DataFrame(X).add_prefix("pixel")
    model = SmoothEmbedding(2).set_output(transform="pandas").fit(frame, y)
    out = model.transform(frame)
    assert list(out.columns) == ["smoothembedding0", "smoothembedding1"]
    assert list(model.feature_names_in_) == list(frame.columns)


def test_sparse_samples_stay_sparse(split):
    X, y, X_new, _ = split
    model = SmoothEmbedding().fit(sparse.csr_array(X), y)
    assert sparse.issparse(model.map_.centers)
    dense = SmoothEmbedding(metric=None).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(X_new)), dense.decision_function(X_new), atol=1e-9
    )


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_components", 10),
        ("n_components", 0),
        ("sigma", 0.0),
        ("sigma", np.inf),
        ("smoothness", 0.0),
        ("decision", "svm"),
        ("centers", "some"),
        ("centers", 0),
        ("centers", np.array([1000])),
        ("centers", np.eye(3)),
        ("augment", 3),
        ("unlabeled", -1),
        ("class_weight", "heavy"),
        ("class_weight", {11: 2.0}),
        ("class_weight", {1: -2.0}),
    ],
)
def test_bad_parameters_are_named_and_nothing_is_left(split, parameter, value):
    model = SmoothEmbedding().set_params(**{parameter: value})
    with pytest.raises(ValueError, match=parameter):
        model.fit(*split[:2])
    assert not hasattr(model, "map_")


def selector(found):
    """A center selector that returns something whatever the rows are."""
    return lambda rows, rng: found


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("sigma", 1e-300),
        ("sigma", 1e200),
        ("smoothness", 1e-300),
        ("centers", 1.5),
        ("centers", True),
        ("centers", {"n": 3}),
        ("centers", KMeansCenters),
        ("centers", np.full((3, 64), np.nan)),
        ("centers", [["a"] * 64]),
        ("centers", selector(np.full((3, 64), np.nan))),
        ("centers", selector(np.full((3, 64), "a"))),
        ("centers", selector("rows")),
        ("centers", selector(np.zeros((3, 63)))),
        ("centers", selector(np.zeros(64))),
        ("centers", selector(np.zeros((0, 64)))),
        ("unlabeled", GraphPenalty),
        ("augment", Noise),
    ],
)
def test_unusable_parameters_are_refused_in_one_line(split, parameter, value):
    X, y = split[0], split[1]
    model = SmoothEmbedding(sigma=1e10).fit(X, y).set_params(**{parameter: value})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"^`{parameter}` must [^\n]*$"):
        model.fit(X, y)
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.parametrize("kind", [KMeansCenters, CentersPerClass, RandomCenters])
@pytest.mark.parametrize("n_centers", [0, -1, 1.5, True, "3", None])
def test_selectors_refuse_what_is_no_number_of_centers(kind, n_centers):
    with pytest.raises(ValueError, match=r"^`n_centers` must be a whole number, at least 1"):
        kind(n_centers)


def test_a_selector_may_return_lists_of_whole_numbers(split):
    rows = split[0][:40].astype(int)
    as_list = SmoothEmbedding(centers=selector(rows.tolist())).fit(*split[:2])
    as_rows = SmoothEmbedding(centers=split[0][:40]).fit(*split[:2])
    np.testing.assert_array_equal(as_list.coef_, as_rows.coef_)


class HeaviestRows(CenterSelector):
    """Rows of the largest weights, which are labeled ones."""

    def __init__(self, n_centers):
        self.n_centers = n_centers

    def __call__(self, rows, rng):
        if self.n_centers >= len(rows):
            return None
        heaviest = np.argsort(-rows.weights * rows.is_labeled, kind="stable")[: self.n_centers]
        return rows.source.take(np.sort(heaviest))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_selector_of_the_user_chooses_centers(split, kind, tmp_path):
    """Sigma is small, so that no center is left out because others make up its function."""
    given, y = (sparse.csr_array(split[0]) if kind == "sparse" else split[0]), split[1]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    selector = HeaviestRows(40)
    model = SmoothEmbedding(centers=selector, sigma=0.3).fit(given, y, weights)
    expected = split[0][np.sort(np.argsort(-weights)[:40])]
    found = model.centers_.toarray() if kind == "sparse" else model.centers_
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert clone(model).centers.n_centers == 40
    exact = SmoothEmbedding(centers=HeaviestRows(len(y)), sigma=0.3).fit(given, y, weights)
    rows = SmoothEmbedding(centers=None, sigma=0.3).fit(given, y, weights)
    np.testing.assert_array_equal(exact.coef_, rows.coef_)
    with pytest.raises(ValueError, match="`centers` to be saved"):
        save(model, tmp_path / "model.nsse")
    save(model.set_params(centers=None), tmp_path / "model.nsse")
    loaded = load(tmp_path / "model.nsse")
    np.testing.assert_array_equal(loaded.predict(split[2]), model.predict(split[2]))


def test_selectors_have_a_base_class():
    assert all(
        issubclass(kind, CenterSelector) for kind in (RandomCenters, KMeansCenters, CentersPerClass)
    )
    with pytest.raises(TypeError, match="abstract"):
        CenterSelector()


@pytest.mark.parametrize("metric", ["model", "euclidean"])
def test_labels_spread_by_their_definition(split, metric):
    truth, is_known = split[1], np.arange(300) < 60
    X, y = split[0] + np.random.default_rng(0).normal(size=(300, 64)), np.where(is_known, truth, -1)
    spread = LabelPropagation(0.5, n_neighbors=6, metric=metric)
    model = SmoothEmbedding(unlabeled=spread, smoothness=1e-6).fit(X, y)  # goes through its labels
    D2 = cdist(*2 * [model.metric_.transform(X) if metric == "model" else X], "sqeuclidean")
    np.fill_diagonal(D2, np.inf)
    near = np.argsort(np.argsort(D2)) < 6
    W = np.where(near | near.T, np.exp(-2 * D2 / D2[near].mean()), 0.0)
    L = (np.diag(W.sum(axis=0)) - W) / W.sum(axis=0).mean()
    T = (np.eye(10)[truth] - np.bincount(truth[:60]) / 60) * is_known[:, np.newaxis]
    F = np.linalg.solve(np.diag(is_known + 1e-4) + 0.5 * L, T)
    labels = ((F - F.mean(axis=0)) / F.std(axis=0)).argmax(axis=1)
    np.testing.assert_array_equal(model.transduction_, np.where(is_known, truth, labels))
    assert len(model.set_params(centers=100).fit(X, y).centers_) == 100  # not only where labels are
    with pytest.raises(ValueError, match="metric"):
        SmoothEmbedding(unlabeled=LabelPropagation(metric="within")).fit(X, y)


def test_a_failed_fit_changes_nothing(split):
    X, y, _, _ = split
    model = SmoothEmbedding().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(X)))
    assert vars(model) == before


def test_a_map_that_no_sample_has_needed_yet_is_kept(make_blobs, tmp_path):
    """With few rows factors of the metric wait for the first new sample: copies and files have them."""
    X, codes = make_blobs((8, 7, 9), n_features=60, seed=5, spread=1.0)
    model, other = SmoothEmbedding().fit(X, codes), SmoothEmbedding().fit(X, codes)
    copied = pickle.loads(pickle.dumps(model))
    save(model, tmp_path / "model.nsse")
    expected = other.decision_function(X)
    for one in (model, copied, load(tmp_path / "model.nsse")):
        np.testing.assert_allclose(one.decision_function(X), expected, atol=1e-12)
    np.testing.assert_allclose(other.transform(X), other.embedding_, atol=1e-12)


@pytest.mark.parametrize("centers", [None, 30, RandomCenters(30)])
def test_integers_in_a_memory_map_are_read_as_the_array_is(centers, tmp_path):
    X, y = load_digits(return_X_y=True)
    np.save(tmp_path / "X.npy", X[:300].astype(np.uint8))
    mapped = SmoothEmbedding(centers=centers).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y[:300])
    plain = SmoothEmbedding(centers=centers).fit(X[:300], y[:300])
    np.testing.assert_allclose(mapped.embedding_, plain.embedding_, atol=1e-10)
    np.testing.assert_allclose(mapped.predict_proba(X[300:]), plain.predict_proba(X[300:]), atol=1e-10)
