"""Steps of pipelines as affine maps: what they compute, how much they stretch, and which are refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
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

from nsse import SmoothEmbedding, WithinMetric
from nsse.pipelines import affine_of_step, form_of_step, in_one_step, opened, split_pipeline

STEPS = {
    "standard": [StandardScaler()],
    "mean only": [StandardScaler(with_std=False)],
    "spread only": [StandardScaler(with_mean=False)],
    "min and max": [MinMaxScaler((-1, 2))],
    "max": [MaxAbsScaler()],
    "robust": [RobustScaler(unit_variance=True)],
    "robust, centred": [RobustScaler(with_scaling=False)],
    "whitened": [StandardScaler(), PCA(6, whiten=True)],
    "in batches": [IncrementalPCA(5)],
    "singular vectors": [TruncatedSVD(5, random_state=0)],
    "discriminants": [StandardScaler(), LinearDiscriminantAnalysis()],
    "eigen-discriminants": [StandardScaler(), LinearDiscriminantAnalysis(solver="eigen")],
    "components": [StandardScaler(), NeighborhoodComponentsAnalysis(4, max_iter=5)],
    "random": [StandardScaler(), GaussianRandomProjection(7, random_state=0)],
    "thin random": [StandardScaler(), SparseRandomProjection(7, random_state=0)],
    "chosen": [SelectKBest(k=6), MinMaxScaler()],
    "varied": [VarianceThreshold(0.1), "passthrough", RobustScaler()],
    "nothing": [FunctionTransformer()],
    "metric": [StandardScaler(), WithinMetric(0.3)],
    "many": [MinMaxScaler(), PCA(9), StandardScaler(), WithinMetric(1.0), PCA(5)],
}
OTHERS = [
    Normalizer(),
    PolynomialFeatures(2),
    MinMaxScaler(clip=True),
    FunctionTransformer(np.sqrt),
    SimpleImputer(add_indicator=True),
]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.mark.filterwarnings("ignore:Distances depend almost only on:UserWarning")
@pytest.mark.parametrize("name", STEPS)
def test_the_affine_map_is_the_steps(name, wine):
    X, y = wine
    model = make_pipeline(*STEPS[name], SmoothEmbedding()).fit(X, y)
    front, last = split_pipeline(model)
    affine = front.form.affine
    assert last is model[-1]
    Z = model[:-1].transform(X)
    np.testing.assert_allclose(affine(X), Z, atol=1e-9 * np.abs(Z).max())
    np.testing.assert_array_equal(last.predict(affine(X)), model.predict(X))
    assert np.linalg.norm(affine.dense(), 2) <= affine.norm * (1 + 1e-9)
    apart = np.linalg.norm(Z[1:] - Z[:-1], axis=1)
    assert np.all(apart <= affine.norm * np.linalg.norm(X[1:] - X[:-1], axis=1) * (1 + 1e-9))


@pytest.mark.parametrize("step", OTHERS, ids=repr)
def test_other_steps_are_refused_by_name(step, wine):
    model = make_pipeline(step, StandardScaler(), SmoothEmbedding(metric=None)).fit(*wine)
    words = rf"`model` must have only affine steps .*{type(step).__name__}"
    with pytest.raises(ValueError, match=words):
        split_pipeline(model)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_imputers_are_taken_where_gaps_are_filled_elsewhere(wine):
    X = wine[0].copy()
    X[:, 3] = np.nan  # left out
    imputer = SimpleImputer().fit(X)
    affine = affine_of_step(imputer, with_gaps=True)
    np.testing.assert_array_equal(affine(np.nan_to_num(X)), imputer.transform(X))
    with pytest.raises(ValueError, match="SimpleImputer"):
        affine_of_step(imputer)
    for other in (SimpleImputer(missing_values=0.0), SimpleImputer(add_indicator=True)):
        with pytest.raises(ValueError, match="SimpleImputer"):
            affine_of_step(other.fit(wine[0]), with_gaps=True)


TWO = ColumnTransformer(
    [
        ("scaled", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0, 5, 6]),
        ("filled", SimpleImputer(strategy="constant", fill_value=7.0), slice(7, 9)),
        ("again", MinMaxScaler(), [1, 2]),
        ("twice", StandardScaler(), [2]),
        ("away", "drop", [3]),
    ],
    remainder="passthrough",
)
GAPS = {
    "imputed, scaled": [SimpleImputer(), StandardScaler()],
    "scaled, imputed": [StandardScaler(), SimpleImputer(strategy="median")],
    "chosen, scaled, imputed": [VarianceThreshold(), MinMaxScaler(), SimpleImputer(), PCA(5)],
    "imputed twice": [SimpleImputer(), StandardScaler(), SimpleImputer(strategy="median")],
    "columns": [TWO, StandardScaler()],
    "columns, then gaps": [
        ColumnTransformer([("a", StandardScaler(), [3, 0]), ("b", "passthrough", [1])]),
        SimpleImputer(),
    ],
}


def with_gaps(X):
    """Missing entries in columns 0, 5, 6, 7 and 8."""
    X, rng = X.copy(), np.random.default_rng(0)
    for column in (0, 5, 6, 7, 8):
        X[rng.random(len(X)) < 0.2, column] = np.nan
    return X


@pytest.mark.parametrize("name", GAPS)
def test_the_form_of_steps_with_gaps_is_the_steps(name, wine):
    X = with_gaps(wine[0])
    model = make_pipeline(*GAPS[name], SmoothEmbedding()).fit(X, wine[1])
    form = split_pipeline(model)[0].form
    filled = np.where(np.isnan(X), form.fill, X)
    np.testing.assert_allclose(form.affine(filled), model[:-1].transform(X), atol=1e-9)
    np.testing.assert_allclose(in_one_step(model)[0].transform(X), model[:-1].transform(X), atol=1e-9)


def test_columns_are_found_by_name(wine):
    frame = load_wine(as_frame=True).data
    columns = ColumnTransformer(
        [("two", StandardScaler(), ["hue", "ash"]), ("one", "passthrough", ["alcohol"])]
    )
    affine = form_of_step(columns.fit(frame)).affine
    np.testing.assert_allclose(affine(frame.to_numpy()), columns.transform(frame), atol=1e-9)


@pytest.mark.parametrize(
    "parts",
    [
        [("a", Normalizer(), [0, 1])],
        [("a", SimpleImputer(), [0]), ("b", SimpleImputer(strategy="median"), [0])],
        [("a", SimpleImputer(), [0]), ("b", "passthrough", [0])],
    ],
)
def test_columns_without_one_form_are_refused(parts, wine):
    columns = ColumnTransformer(parts).fit(wine[0])
    with pytest.raises(ValueError, match=r"`model` must have only affine steps"):
        form_of_step(columns)


def test_a_stranger_is_not_taken_for_what_it_descends_from(wine):
    class Odd(StandardScaler):
        def transform(self, X):
            return super().transform(X) ** 2

    with pytest.raises(ValueError, match="`model` must have only affine steps"):
        affine_of_step(Odd().fit(wine[0]))


def test_searches_and_pipelines_are_opened(wine):
    inner = make_pipeline(StandardScaler(), SmoothEmbedding())
    search = GridSearchCV(inner, {"smoothembedding__sigma": [0.5, 1.0]}, cv=2).fit(*wine)
    before, last = opened(make_pipeline(PCA(5), "passthrough", SmoothEmbedding()))
    assert [type(step).__name__ for step in before] == ["PCA"]
    front, last = split_pipeline(search)
    affine = front.form.affine
    np.testing.assert_array_equal(last.predict(affine(wine[0])), search.predict(wine[0]))
    assert split_pipeline(SmoothEmbedding())[0].form is None


def test_scalings_of_many_features_stay_diagonal():
    X = sparse.random(20, 5000, density=0.01, random_state=0, format="csr")
    model = make_pipeline(MaxAbsScaler(), StandardScaler(with_mean=False), SmoothEmbedding())
    affine = split_pipeline(model.fit(X, np.arange(20) % 2))[0].form.affine
    assert affine.matrix is None
    assert affine.keeps_sparse
