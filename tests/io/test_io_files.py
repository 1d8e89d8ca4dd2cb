"""Tests of model files: models are loaded to the bit, and errors name what cannot be saved."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from saved_models import NAMES, PROBLEMS, X, Y, fitted, new_samples
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import nsse
from given_ensembles import ensemble_of
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import ConformalClassifier, SelectivePredictor, certified_radius
from nsse.datasets import TableEncoder
from nsse.io import read_header
from nsse.pipelines import AffineStep, split_pipeline

every_problem = pytest.mark.parametrize("name", PROBLEMS)
NOT_CERTIFIED = {"NPPE", "NYS", "SPE", "metric alone"}
QUESTIONS = ("transform", "predict", "predict_proba", "predict_log_proba", "decision_function")


def again(model, tmp_path, **options):
    nsse.save(model, tmp_path / "model.nsse", **options)
    return nsse.load(tmp_path / "model.nsse")


@every_problem
def test_predictions_are_the_same_to_the_bit(name, tmp_path):
    model, new = fitted(name), new_samples(name)
    loaded = again(model, tmp_path)
    is_alone = not hasattr(model, "steps") and not hasattr(model, "best_estimator_")
    for question in (q for q in QUESTIONS if hasattr(model, q)):
        before, after = getattr(model, question)(new), getattr(loaded, question)(new)
        assert before.dtype == after.dtype
        if is_alone or before.dtype.kind not in "f":
            np.testing.assert_array_equal(after, before)
        else:  # affine steps are one
            np.testing.assert_allclose(after, before, rtol=1e-8, atol=1e-10)


@every_problem
def test_a_loaded_model_has_the_parameters_and_can_be_fitted_again(name, tmp_path):
    model, (_, samples, labels) = fitted(name), PROBLEMS[name]
    loaded = again(model, tmp_path)
    last = loaded[-1] if hasattr(loaded, "steps") else loaded
    original = split_pipeline(model)[1]
    assert type(last) is type(original)
    assert repr(last) == repr(original)
    assert vars(last).keys() == vars(original).keys()
    if last is loaded:
        refitted = clone(loaded).fit(samples, labels)
        np.testing.assert_allclose(refitted.transform(samples), model.transform(samples), atol=1e-8)


@every_problem
def test_a_loaded_model_is_saved_as_the_same_bytes(name, tmp_path):
    loaded = again(fitted(name), tmp_path)
    nsse.save(loaded, tmp_path / "again.nsse")
    first, second = (members(tmp_path / f"{stem}.nsse") for stem in ("model", "again"))
    for header in (first, second):
        header["nsse.json"] = {k: v for k, v in json.loads(header["nsse.json"]).items() if k != "facts"}
    assert first == second


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in NOT_CERTIFIED])
def test_radii_are_those_of_the_model(name, tmp_path):
    model, new = fitted(name), new_samples(name, 30)
    radii = certified_radius(again(model, tmp_path), new)
    np.testing.assert_allclose(radii, certified_radius(model, new), rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(radii) > 10


@pytest.mark.parametrize("n_centers", range(1, 9))
@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_fewer_centers_than_classes(n_centers, decision, tmp_path):
    """The Gram matrix of the nine coordinates is singular then."""
    digits, labels = load_digits(return_X_y=True)
    model = SmoothEmbedding(centers=n_centers, decision=decision).fit(digits[:300], labels[:300])
    loaded, new = again(model, tmp_path), digits[300:340]
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(certified_radius(loaded, new), certified_radius(model, new))


def test_radii_of_a_search(tmp_path):
    grid = {"sigma": [0.5, 1.0], "smoothness": [0.1], "metric__shrinkage": [1.0]}
    model = SmoothEmbeddingCV(grid=grid).fit(X, NAMES)
    radii = certified_radius(again(model, tmp_path), X[::5])
    np.testing.assert_array_equal(radii, certified_radius(model, X[::5]))
    assert np.count_nonzero(radii) > 10


LABELS = {
    "objects": np.where(Y == 0, "a\0", "β" * 30).astype(object),
    "booleans": Y == 2,
    "categories": pd.Series(NAMES, dtype="category"),
    "pandas": pd.array(NAMES, dtype="string"),
    "small": Y.astype(np.uint8),
    "large": Y * 1e15,
    "swapped": Y.astype(">i4"),
    "swapped text": NAMES.astype(">U10"),
    "dates": np.datetime64("2026-02-28") + Y,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_type(labels, tmp_path):
    model = SmoothEmbedding().fit(X, labels)
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.labels_.tolist() == model.labels_.tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_samples_of_weight_zero_may_have_a_class_of_their_own(tmp_path):
    model = SmoothEmbedding().fit(X, Y, sample_weight=(Y < 2).astype(float))
    loaded = again(model, tmp_path)
    assert loaded.classes_.tolist() == [0, 1]
    assert loaded.labels_.tolist() == Y.tolist()


def test_names_of_features_are_kept_and_checked(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for model in (SmoothEmbedding(), make_pipeline(StandardScaler(), SmoothEmbedding())):
        loaded = again(model.fit(frame, Y), tmp_path)
        assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(frame[["b", "a", "c", "d"]])


def test_tables_of_many_columns_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"ENSG{number:011d}" for number in range(20_000)]
    table = pd.DataFrame(rng.normal(size=(12, len(names))), columns=names)
    model = make_pipeline(TableEncoder(), SmoothEmbedding()).fit(table, [0, 1, 2] * 4)
    loaded = again(model, tmp_path)
    np.testing.assert_allclose(loaded.predict_proba(table), model.predict_proba(table), rtol=1e-8)


def test_output_stays_pandas(tmp_path):
    loaded = again(SmoothEmbedding().fit(X, Y).set_output(transform="pandas"), tmp_path)
    assert isinstance(loaded.transform(X), pd.DataFrame)


def test_pipelines_have_their_affine_steps_in_one(tmp_path):
    loaded = again(fitted("reduced"), tmp_path)
    assert [type(step) for _, step in loaded.steps] == [AffineStep, NSSE]
    assert loaded.n_features_in_ == 4
    assert loaded[0].affine_.n_outputs == 2
    refitted = clone(loaded).fit(X, Y)  # the preparation stays
    np.testing.assert_allclose(refitted.transform(X), loaded.transform(X), atol=1e-8)
    selected = make_pipeline(VarianceThreshold(0.5), SmoothEmbedding()).fit(X, Y)
    np.testing.assert_allclose(again(selected, tmp_path).transform(X), selected.transform(X), atol=1e-12)


def several(**options):
    """Return an ensemble of three models with different widths, kernels and decisions."""
    models = [
        SmoothEmbedding(**options),
        SmoothEmbedding(sigma=1.0, decision="nearest", **options),
        SmoothEmbedding(kernel="matern32", metric="euclidean", **options),
    ]
    return ensemble_of([model.fit(X, NAMES) for model in models], (2.0, 5.0, 0.5), X, 0.9)


def test_ensembles_are_stored_with_equal_arrays_once(tmp_path):
    model, new = several(), new_samples("default")
    loaded = again(model, tmp_path)
    for question in QUESTIONS:
        np.testing.assert_array_equal(getattr(loaded, question)(new), getattr(model, question)(new))
    np.testing.assert_array_equal(certified_radius(loaded, new), certified_radius(model, new))
    assert [type(member) for member in loaded.members_] == 3 * [SmoothEmbedding]
    assert loaded.weights_.tolist() == [2.0, 5.0, 0.5]
    maps = [f for f, *_ in loaded.map_.parts]
    assert maps[0].centers is maps[1].centers  # the same rows behind the same metric
    assert maps[2].centers is not maps[0].centers
    for f, member in zip(maps, loaded.members_, strict=True):
        assert f.coef is member.map_.coef
    assert read_header(tmp_path / "model.nsse").facts["weights"] == [2.0, 5.0, 0.5]
    assert not any("gram" in text for text in json.dumps(tree_of(tmp_path / "model.nsse")).split('"'))


def test_results_of_a_search_are_stored_with_kernels_and_augmentations(tmp_path):
    model = fitted("augmented ensemble")
    loaded = again(model, tmp_path)
    assert loaded.cv_results_.keys() == model.cv_results_.keys()
    assert [str(one) for one in loaded.cv_results_["params"]] == [
        str(one) for one in model.cv_results_["params"]
    ]
    for name, values in model.cv_results_.items():
        if name.startswith("param_"):
            np.testing.assert_array_equal(np.ma.getmaskarray(loaded.cv_results_[name]), values.mask)
            assert list(map(str, loaded.cv_results_[name])) == list(map(str, values))
        elif name != "params":
            np.testing.assert_array_equal(loaded.cv_results_[name], values)


def test_a_search_with_a_metric_of_another_library_keeps_its_components(tmp_path):
    metric = NeighborhoodComponentsAnalysis(max_iter=5, random_state=0)
    search = SmoothEmbeddingCV(SmoothEmbedding(metric=metric), grid={"sigma": [0.5, 1.0]}, cv=2)
    model, new = search.fit(X, NAMES), new_samples("default")
    loaded = again(model, tmp_path)
    for question in QUESTIONS:
        np.testing.assert_array_equal(getattr(loaded, question)(new), getattr(model, question)(new))
    assert isinstance(search.estimator.metric, NeighborhoodComponentsAnalysis)
    clone(loaded).fit(X, NAMES)  # in the metric that the search learned


def tree_of(path):
    return json.loads(members(path)["nsse.json"])["tree"]


@pytest.mark.parametrize("name", ["default", "standardised"])
def test_conformal_classifiers_are_kept(name, tmp_path):
    sets = ConformalClassifier(fitted(name)).fit(X[::2], PROBLEMS[name][2][::2])
    new = new_samples(name)
    np.testing.assert_array_equal(again(sets, tmp_path).predict_set(new), sets.predict_set(new))
    folds = ConformalClassifier(fitted(name), cv=3).fit(PROBLEMS[name][1], PROBLEMS[name][2])
    np.testing.assert_array_equal(again(folds, tmp_path).predict_set(new), folds.predict_set(new))


def test_selective_predictors_are_kept(tmp_path):
    chosen = SelectivePredictor(fitted("default"), coverage=0.8).fit(X, Y)
    loaded = again(chosen, tmp_path)
    new = new_samples("default")
    assert loaded.threshold_ == chosen.threshold_
    assert loaded.predict(new).tolist() == chosen.predict(new).tolist()


def test_metadata_and_facts(tmp_path):
    metadata = {"kind": "images", "size": [2, 2], "unit_norm": True, "β": None}
    nsse.save(fitted("standardised"), tmp_path / "model.nsse", metadata=metadata)
    header = read_header(tmp_path / "model.nsse")
    assert (header.format, header.model, header.nsse) == (4, "Pipeline", nsse.__version__)
    assert header.metadata == metadata
    assert header.facts["steps"] == ["StandardScaler", "SmoothEmbedding"]
    assert header.facts["classes"] == ["setosa", "versicolor", "virginica"]
    shape = [header.facts[name] for name in ("n_samples", "n_features", "n_components")]
    assert shape == [150, 4, 2]
    assert header.facts["parameters"]["smoothness"] == 0.1
    for wrong in ({"a": X}, {"a": np.inf}, "text"):
        with pytest.raises(ValueError, match="`metadata` must"):
            nsse.save(fitted("default"), tmp_path / "model.nsse", metadata=wrong)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (SmoothEmbedding(augment=lambda X: [X + 0.1]), "`augment`.*Got 'a function'"),
        (SmoothEmbedding(random_state=np.random.RandomState(0)), "`random_state`"),
        (NSSE(sigma=1.0, callback=print), "`callback`"),
        (make_pipeline(PolynomialFeatures(), SmoothEmbedding()), "PolynomialFeatures.*skops or pickle"),
        (make_pipeline(SmoothEmbedding(), LogisticRegression()), "skops or pickle"),
        (LogisticRegression(max_iter=1000), "LogisticRegression.*skops or joblib"),
    ],
    ids=["function", "generator", "callback", "polynomials", "classifier", "other"],
)
def test_what_a_file_cannot_hold_is_refused(model, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        nsse.save(model.fit(X, Y), tmp_path / "model.nsse")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_of_ours_is_refused(tmp_path):
    class Mine(SmoothEmbedding):
        pass

    Mine.__name__ = "SmoothEmbedding"
    with pytest.raises(ValueError, match="a SmoothEmbedding"):
        nsse.save(Mine().fit(X, Y), tmp_path / "model.nsse")


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.nsse"
    nsse.save(fitted("default"), path)
    path.chmod(0o640)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", fail)
        with pytest.raises(OSError, match="disk full"):
            nsse.save(fitted("nearest"), path)
    assert path.read_bytes() == before
    nsse.save(fitted("nearest"), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.nsse"]


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(IsADirectoryError, match="`path` must"):
        nsse.save(fitted("default"), tmp_path)
    with pytest.raises(FileNotFoundError, match="`path` must"):
        nsse.save(fitted("default"), tmp_path / "none" / "model.nsse")
    with pytest.raises(FileNotFoundError, match="`path` must"):
        nsse.load(tmp_path / "none.nsse")
    with pytest.raises(IsADirectoryError, match="`path` must"):
        nsse.load(tmp_path)
    if os.path.exists("/dev/zero"):
        with pytest.raises(FileNotFoundError, match="device"):
            read_header("/dev/zero")


@pytest.mark.slow
def test_what_deflates_too_far_is_not_deflated(tmp_path):
    model = SmoothEmbedding().fit(X, Y)
    model.centers = np.zeros((4_000_000, 4))
    loaded = again(model, tmp_path)
    assert loaded.centers.shape == (4_000_000, 4)
    assert (tmp_path / "model.nsse").stat().st_size > 1e8


def test_a_header_is_read_without_scikit_learn(tmp_path):
    nsse.save(fitted("default"), tmp_path / "model.nsse")
    program = (
        "import sys; from nsse.io import read_header; "
        f"print(read_header({str(tmp_path / 'model.nsse')!r}).model, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["SmoothEmbedding", "False"]
