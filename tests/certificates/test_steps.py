"""Radii through pipelines: the largest ball in the units of the samples, and no label changes in it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from nsse import LDE, LFDA, NSSE, NSSECV, WithinMetric
from nsse.certificates import (
    SelectivePredictor,
    answers,
    certified_radius,
    decision_of,
    lipschitz_bounds,
    risk_coverage,
)
from nsse.certificates import steps as steps_module
from nsse.certificates.steps import Passage, affine_of, spectral_norm, stretch_of

AFFINE = {
    "standard": lambda: [StandardScaler()],
    "mean only": lambda: [StandardScaler(with_std=False)],
    "spread only": lambda: [StandardScaler(with_mean=False)],
    "min and max": lambda: [MinMaxScaler((-1, 2))],
    "max": lambda: [MaxAbsScaler()],
    "robust": lambda: [RobustScaler(unit_variance=True)],
    "robust, centred": lambda: [RobustScaler(with_scaling=False)],
    "whitened": lambda: [StandardScaler(), PCA(6, whiten=True)],
    "in batches": lambda: [IncrementalPCA(5)],
    "singular vectors": lambda: [TruncatedSVD(5, random_state=0)],
    "discriminants": lambda: [StandardScaler(), LinearDiscriminantAnalysis()],
    "eigen-discriminants": lambda: [StandardScaler(), LinearDiscriminantAnalysis(solver="eigen")],
    "components": lambda: [StandardScaler(), NeighborhoodComponentsAnalysis(4, max_iter=5)],
    "random": lambda: [StandardScaler(), GaussianRandomProjection(7, random_state=0)],
    "thin random": lambda: [StandardScaler(), SparseRandomProjection(7, random_state=0)],
    "chosen": lambda: [SelectKBest(k=6), MinMaxScaler()],
    "varied": lambda: [VarianceThreshold(0.1), "passthrough", RobustScaler()],
    "imputed": lambda: [SimpleImputer(), StandardScaler()],
    "metric": lambda: [StandardScaler(), WithinMetric(0.3)],
    "weighted metric": lambda: [StandardScaler(), WithinMetric(0.3, relevance=1.0)],
    "LFDA": lambda: [StandardScaler(), LFDA(5)],
    "LDE": lambda: [StandardScaler(), LDE(5)],
    "many": lambda: [MinMaxScaler(), PCA(9), StandardScaler(), WithinMetric(1.0), PCA(5)],
}
OTHERS = [
    Normalizer(),
    PolynomialFeatures(2),
    MinMaxScaler(clip=True),
    FunctionTransformer(np.sqrt),
    SimpleImputer(missing_values=0.0),
    SimpleImputer(add_indicator=True),
]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, train_size=90, stratify=y, random_state=0)


def matrix_by_differences(steps, x):
    """M of z = xM + b, from the differences that unit changes make: nothing is assumed of the steps."""

    def through(X):
        for step in steps:
            X = X if step == "passthrough" else step.transform(X)
        return np.asarray(X)

    return through(x + np.eye(len(x))) - through(x[np.newaxis])


@pytest.mark.parametrize("name", AFFINE)
def test_the_ball_is_the_largest_in_the_ellipsoid(wine, name):
    X, X_new, y, _ = wine
    model = make_pipeline(*AFFINE[name](), NSSE()).fit(X, y)
    steps, last = [step for _, step in model.steps[:-1]], model[-1]
    M = matrix_by_differences(steps, X_new[0])
    A = last.metric_.transform(np.eye(M.shape[1]))
    Z = model[:-1].transform(X_new)
    in_metric = last.certified_radius(Z, units="metric")
    expected = in_metric / np.linalg.svd(M @ A, compute_uv=False)[0]
    np.testing.assert_allclose(certified_radius(model, X_new), expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(
        certified_radius(model, X_new, units="model"), last.certified_radius(Z)
    )
    np.testing.assert_array_equal(certified_radius(model, X_new, units="metric"), in_metric)


@pytest.mark.parametrize("name", ["standard", "whitened", "metric", "chosen", "many"])
def test_no_attack_in_raw_units_changes_a_label(wine, name):
    """Along the axes of the ellipsoid, downhill, and at random, on the rim of the ball and inside it."""
    X, X_new, y, _ = wine
    model = make_pipeline(*AFFINE[name](), NSSE()).fit(X, y)
    labels, radius = model.predict(X_new), certified_radius(model, X_new)
    assert (radius > 0).mean() > 0.9
    last = model[-1]
    whole = Passage.of([step for _, step in model.steps[:-1] if step != "passthrough"], X_new).whole
    directions = np.linalg.svd(last.metric_.transform(whole.matrix))[0]
    rng = np.random.default_rng(0)
    weights = decision_of(last).weights
    for attempt in range(40):
        if attempt < directions.shape[1]:
            way = np.tile(directions[:, attempt], (len(X_new), 1))
        elif attempt < 30:  # towards a rival by finite differences of a difference of scores
            w = weights[attempt % len(weights)] - weights[(attempt + 1) % len(weights)]
            h = 1e-4 * X.std(axis=0).min()
            base = model.transform(X_new) @ w
            way = np.column_stack(
                [model.transform(X_new + h * unit) @ w - base for unit in np.eye(X.shape[1])]
            )
        else:
            way = rng.standard_normal(X_new.shape)
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        for share in (1.0, -1.0, 0.7):
            moved = X_new + share * (1 - 1e-9) * radius[:, np.newaxis] * way
            np.testing.assert_array_equal(model.predict(moved), labels)


def test_a_change_that_the_scaled_radius_forbids_is_longer_than_the_raw_one(wine):
    """Wine has a feature of spread 0.12 and one of 310: one ball for both is that of the narrow one."""
    X, X_new, y, _ = wine
    model = make_pipeline(StandardScaler(), NSSE()).fit(X, y)
    raw, scaled = certified_radius(model, X_new), certified_radius(model, X_new, units="model")
    assert np.all(raw < scaled)
    spread = model[0].scale_
    for j in (int(spread.argmin()), int(spread.argmax())):  # both are right, in their own units
        change = np.zeros_like(X_new)
        change[:, j] = (1 - 1e-9) * scaled * spread[j]
        np.testing.assert_array_equal(model.predict(X_new + change), model.predict(X_new))


@pytest.mark.parametrize("step", OTHERS, ids=lambda step: type(step).__name__)
def test_other_steps_are_refused_by_name(wine, step):
    X, X_new, y, _ = wine
    model = make_pipeline(step, StandardScaler(), NSSE()).fit(X, y)
    for ask in (
        lambda: certified_radius(model, X_new),
        lambda: SelectivePredictor(model, coverage=0.8).fit(X_new),
        lambda: risk_coverage(model, X_new, model.predict(X_new)),
    ):
        with pytest.raises(ValueError, match=rf"nothing but affine steps.*Got {type(step).__name__}"):
            ask()
    said = answers(model, X_new)
    assert said.radius is None
    assert type(step).__name__ in said.unproved
    behind = model[-1].certified_radius(model[:-1].transform(X_new))
    np.testing.assert_array_equal(said.model_radius, behind)
    np.testing.assert_array_equal(certified_radius(model, X_new, units="model"), behind)


def test_a_subclass_or_a_stranger_is_not_taken_for_what_it_descends_from(wine):
    class Bold(StandardScaler):
        def transform(self, X):
            return super().transform(X) ** 3

    for step in (Bold(), PLSRegression(2)):
        with pytest.raises(ValueError, match="Got "):
            affine_of(step.fit(wine[0], wine[2]))


def test_votes_behind_steps_have_radii_of_their_own(wine):
    X, X_new, y, _ = wine
    search = NSSECV(n_repeats=2, n_voters=3)
    model = make_pipeline(StandardScaler(), search).fit(X, y)
    radius, labels = certified_radius(model, X_new), model.predict(X_new)
    singles = np.column_stack(
        [certified_radius(make_pipeline(model[0], voter), X_new) for voter in model[-1].voters_]
    )
    assert np.all(radius >= singles.min(axis=1))
    assert np.all(radius <= singles.max(axis=1))
    rng = np.random.default_rng(0)
    for _ in range(30):
        way = rng.standard_normal(X_new.shape) / model[0].scale_
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        np.testing.assert_array_equal(model.predict(X_new + radius[:, np.newaxis] * way), labels)
    with pytest.raises(
        ValueError, match=r"`units` must be another than the metric of a vote.*\"model\""
    ):
        certified_radius(model, X_new, units="metric")


@pytest.mark.parametrize("steps", [[StandardScaler()], [StandardScaler(), PCA(6)]], ids=len)
def test_single_precision_and_far_away_columns_are_allowed_for(wine, steps):
    """A column around 10⁶ keeps few digits in float32: what rounding may do is taken off the radius."""
    X, X_new, y, _ = wine
    X, X_new = (A.astype(np.float32) + np.float32(3e5) for A in (X, X_new))
    model = make_pipeline(*steps, NSSE()).fit(X, y)
    radius, labels = certified_radius(model, X_new), model.predict(X_new)
    fine = certified_radius(model, X_new.astype(np.float64))
    assert np.all(radius <= fine)
    assert radius.mean() < 0.99 * fine.mean()
    rng = np.random.default_rng(0)
    for _ in range(30):
        way = rng.standard_normal(X_new.shape)
        way *= radius[:, np.newaxis] / np.linalg.norm(way, axis=1, keepdims=True)
        moved = (X_new + way).astype(np.float32)
        inside = np.linalg.norm(moved.astype(float) - X_new, axis=1) <= radius
        np.testing.assert_array_equal(model.predict(moved)[inside], labels[inside])


def test_frames_sparse_rows_and_missing_values_pass(wine):
    pandas = pytest.importorskip("pandas")
    X, X_new, y, _ = wine
    columns = [f"c{k}" for k in range(X.shape[1])]
    frame, frame_new = (pandas.DataFrame(A, columns=columns) for A in (X, X_new))
    plain = certified_radius(make_pipeline(StandardScaler(), NSSE()).fit(X, y), X_new)
    framed = make_pipeline(StandardScaler(), NSSE()).set_output(transform="pandas").fit(frame, y)
    np.testing.assert_allclose(certified_radius(framed, frame_new), plain, rtol=1e-9)
    thin = make_pipeline(MaxAbsScaler(), NSSE()).fit(sparse.csr_array(X), y)
    dense = make_pipeline(MaxAbsScaler(), NSSE()).fit(X, y)
    np.testing.assert_allclose(
        certified_radius(thin, sparse.csr_array(X_new)), certified_radius(dense, X_new), rtol=1e-6
    )
    holed = X_new.copy()
    holed[:, 2] = np.nan
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), NSSE()).fit(X, y)
    filled = X_new.copy()
    filled[:, 2] = np.median(X[:, 2])
    np.testing.assert_array_equal(certified_radius(model, holed), certified_radius(model, filled))


def test_empty_columns_that_an_imputer_drops_cannot_change_a_label(wine):
    X, X_new, y, _ = wine
    X, X_new = (np.hstack([A, np.full((len(A), 1), np.nan)]) for A in (X, X_new))
    model = make_pipeline(SimpleImputer(), StandardScaler(), NSSE())
    with pytest.warns(UserWarning, match="Skipping features"):
        model.fit(X, y)
    without = make_pipeline(StandardScaler(), NSSE()).fit(X[:, :-1], y)
    with pytest.warns(UserWarning, match="Skipping features"):
        radius = certified_radius(model, X_new)
    np.testing.assert_allclose(radius, certified_radius(without, X_new[:, :-1]), rtol=1e-9)


def test_norms_are_never_too_small_and_bounded_where_matrices_are_large(monkeypatch):
    rng = np.random.default_rng(0)
    for shape in ((7, 12), (12, 7), (9, 9), (1, 5)):
        M = rng.standard_normal(shape)
        exact = np.linalg.svd(M, compute_uv=False)[0]
        assert exact <= spectral_norm(M) <= exact * (1 + 1e-12)
        with monkeypatch.context() as patched:
            patched.setattr(steps_module, "DECOMPOSED", 0)
            assert exact <= spectral_norm(M) <= exact * np.sqrt(min(shape)) * (1 + 1e-12)


def test_a_metric_of_many_features_is_bounded_by_its_norm(wine, monkeypatch):
    X, X_new, y, _ = wine
    model = make_pipeline(StandardScaler(), NSSE()).fit(X, y)
    exact = certified_radius(model, X_new)
    metric, whole = model[-1].expansion_.metric, affine_of(model[0])
    tight = stretch_of(whole, metric)
    monkeypatch.setattr(steps_module, "DECOMPOSED", 4)
    assert tight <= stretch_of(whole, metric) == pytest.approx(metric.norm / model[0].scale_.min())
    assert np.all(certified_radius(model, X_new) <= exact)


def test_a_selective_predictor_takes_pipelines_and_has_a_score(wine):
    X, X_new, y, y_new = wine
    model = make_pipeline(StandardScaler(), NSSE()).fit(X, y)
    careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(X_new)
    radius = certified_radius(model, X_new)
    assert (radius >= careful.radius_).mean() == pytest.approx(0.8, abs=0.02)
    labels = careful.predict(X_new)
    np.testing.assert_array_equal(labels == -1, radius < careful.radius_)
    kept = labels != -1
    assert careful.score(X_new, y_new) == (labels[kept] == y_new[kept]).mean()
    assert SelectivePredictor(model, radius=0.0).fit().score(X_new, y_new) == model.score(X_new, y_new)
    assert np.isnan(SelectivePredictor(model, radius=1e9).fit().score(X_new, y_new))
    again = pickle.loads(pickle.dumps(careful))
    np.testing.assert_array_equal(again.predict(X_new), labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        careful.score(X_new, y_new[:-1])


def test_what_speaks_of_the_map_alone_sends_to_the_last_step(wine):
    model = make_pipeline(StandardScaler(), NSSE()).fit(wine[0], wine[2])
    with pytest.raises(TypeError, match="Pass its last step, and samples as the steps before it give"):
        lipschitz_bounds(model)
