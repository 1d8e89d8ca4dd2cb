"""Model files: the same bits back, no code run, one clear line for every kind of broken file."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import nsse
from hostile import FORMAT, HEADER
from nsse.certificates import ConformalClassifier, SelectivePredictor
from nsse.exports import read_header

sio = pytest.importorskip("skops.io", reason="model files need skops: pip install 'nsse[files]'")

MODELS = Path(__file__).parents[1] / "fixtures"
KEPT = sorted(MODELS.glob("models-*/*.nsse"))


def every_model():
    return [
        nsse.NSSE.as_published(2, sigma=1.0),
        nsse.NSSE.as_published(classifier=LogisticRegression()),
        nsse.NSSE.as_published(classifier="scores", normalization="classes", embedding_scale="unit"),
        nsse.NSSECV(n_repeats=2, n_voters=2),
        nsse.NSSECV(nsse.NSSE(2), cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=1), n_voters=2),
        nsse.SUPLAP(2, n_neighbors_between=5),
        nsse.LFDA(2),
        nsse.LDE(2),
        nsse.NYS(2),
        nsse.NYS(2, n_neighbors=10),
        nsse.SPE(2),
        nsse.IsoKRR(2),
        nsse.MReg(),
    ]


def saved_and_loaded(model, folder, **keywords):
    path = folder / "model.nsse"
    nsse.save(model, path, **keywords)
    assert [file.name for file in folder.iterdir()] == ["model.nsse"]
    return nsse.load(path, **keywords)


def assert_same_answers(loaded, model, X):
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X), strict=True)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X), strict=True)
    if hasattr(model, "certified_radius"):
        np.testing.assert_array_equal(loaded.certified_radius(X), model.certified_radius(X), strict=True)


@pytest.fixture(scope="module")
def named(blobs):
    return np.array(["ape", "bear", "cat", "dog"])[blobs.codes]


@pytest.mark.slow
@pytest.mark.parametrize("model", every_model(), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix, np.float32])
def test_a_loaded_model_gives_the_same_bits(model, form, blobs, named, tmp_path):
    X = form(blobs.X)
    model.fit(X, named)
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert sorted(vars(loaded)) == sorted(vars(model))
    assert_same_answers(loaded, model, form(blobs.X + 0.1))


def test_pipelines_come_back_whole(blobs, named, tmp_path):
    pipeline = make_pipeline(StandardScaler(), nsse.NSSE.as_published(3), KNeighborsClassifier(3)).fit(
        blobs.X, named
    )
    loaded = saved_and_loaded(pipeline, tmp_path)
    new = blobs.X + 0.1
    np.testing.assert_array_equal(loaded.predict_proba(new), pipeline.predict_proba(new))
    assert_same_answers(loaded[:-1], pipeline[:-1], new)


def test_a_predictor_that_may_reject_comes_back(blobs, tmp_path):
    model = nsse.NSSE.as_published(2).fit(blobs.X, blobs.codes)
    careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(blobs.X)
    loaded = saved_and_loaded(careful, tmp_path)
    np.testing.assert_array_equal(loaded.predict(blobs.X + 0.5), careful.predict(blobs.X + 0.5))


def test_a_predictor_that_selects_from_a_pipeline_comes_back(blobs, tmp_path):
    model = make_pipeline(StandardScaler(), nsse.NSSE(2)).fit(blobs.X, blobs.codes)
    careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(blobs.X)
    loaded = saved_and_loaded(careful, tmp_path)
    np.testing.assert_array_equal(loaded.predict(blobs.X + 0.5), careful.predict(blobs.X + 0.5))


def test_sets_of_labels_come_back(blobs, tmp_path):
    plain, scaled = nsse.NSSE(), make_pipeline(StandardScaler(), nsse.NSSE())
    for model in (plain.fit(blobs.X, blobs.codes), scaled.fit(blobs.X, blobs.codes)):
        sets = ConformalClassifier(model, alpha=0.2).fit(blobs.X + 0.5, blobs.codes)
        loaded = saved_and_loaded(sets, tmp_path)
        np.testing.assert_array_equal(loaded.predict_set(blobs.X), sets.predict_set(blobs.X))
        np.testing.assert_array_equal(loaded.model.predict_proba(blobs.X), model.predict_proba(blobs.X))


def test_what_a_fit_tells_comes_back(blobs, tmp_path):
    pandas = pytest.importorskip("pandas", reason="feature names come from a data frame")
    frame = pandas.DataFrame(blobs.X, columns=list("abcde"))
    model = nsse.NSSE.as_published(2).fit(frame, blobs.codes)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.trace_ == model.trace_
    assert loaded.condition_ == model.condition_
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert (loaded.objective_, loaded.sigma_) == (model.objective_, model.sigma_)


def test_what_two_parts_share_is_still_shared(blobs, tmp_path):
    model = nsse.NSSECV(n_repeats=2, n_voters=2).fit(blobs.X, blobs.codes)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.embedding_ is loaded.best_estimator_.embedding_
    assert loaded.classifier_ is loaded.best_estimator_.classifier_


def test_search_trees_stay_out_of_the_file_and_are_made_again(blobs, tmp_path):
    model = nsse.NSSE.as_published(2).fit(blobs.X, blobs.codes)
    tree = model.classifier_._tree
    assert type(tree).__name__ == "KDTree"
    loaded = saved_and_loaded(model, tmp_path)
    assert model.classifier_._tree is tree  # what was saved is as it was
    assert type(loaded.classifier_._tree).__name__ == "KDTree"
    nearest = [m.classifier_.kneighbors(model.embedding_ + 1e-3, 7) for m in (model, loaded)]
    np.testing.assert_array_equal(nearest[0], nearest[1])
    with zipfile.ZipFile(tmp_path / "model.nsse") as archive:
        assert b"KDTree" not in archive.read("schema.json")


@pytest.mark.slow
def test_a_model_on_2000_images_takes_at_most_7_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 10
    X = rng.standard_normal((10, 784))[y] + rng.standard_normal(
        (2000, 784)
    )  # noise: nothing to compress
    model = nsse.NSSE.as_published(9, sigma=1.0).fit(X.astype(np.float32), y)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.centers_.dtype == np.float32
    assert (tmp_path / "model.nsse").stat().st_size <= 7e6


def test_the_header_says_what_is_in_the_file(blobs, tmp_path):
    nsse.save(nsse.LFDA(2).fit(blobs.X, blobs.codes), tmp_path / "model.nsse")
    header = read_header(tmp_path / "model.nsse")
    assert (header.format, header.model, header.nsse) == (FORMAT, "LFDA", nsse.__version__)


# Hostile and broken files.


def with_header(content, path, **changes):
    """A file as `save` would write it, but of anything."""
    header = {"format": FORMAT, "model": "NSSE", "nsse": "9.9", "sklearn": "9.9", "numpy": "9.9"}
    buffer = BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(HEADER, json.dumps(header | changes))
    path.write_bytes(buffer.getvalue())
    return path


class Hostile(BaseEstimator):
    """Tells when it is made."""

    made = False

    def __setstate__(self, state):
        type(self).made = True
        super().__setstate__(state)


def test_a_file_with_an_untrusted_type_is_refused_and_the_type_named(tmp_path):
    path = with_header(sio.dumps(make_pipeline(StandardScaler(), Hostile())), tmp_path / "bad.nsse")
    with pytest.raises(ValueError, match=r"trusted types only.*bad\.nsse with .*\.Hostile'"):
        nsse.load(path)
    assert not Hostile.made
    nsse.load(path, trusted=[Hostile])
    assert Hostile.made  # the check above could have failed


def test_a_file_that_calls_the_shell_is_refused(tmp_path):
    path = with_header(sio.dumps(FunctionTransformer(os.system)), tmp_path / "bad.nsse")
    with pytest.raises(ValueError, match=rf"{os.system.__module__}\.system"):
        nsse.load(path)


def test_a_search_tree_in_a_file_is_refused(blobs, tmp_path):
    # Its indices are followed without a check.
    neighbors = KNeighborsClassifier(algorithm="kd_tree").fit(blobs.X, blobs.codes)
    path = with_header(sio.dumps(neighbors), tmp_path / "bad.nsse")
    with pytest.raises(ValueError, match=r"_kd_tree\.KDTree"):
        nsse.load(path)


def test_a_file_of_a_newer_format_says_so_before_anything_is_read(tmp_path):
    path = with_header(
        sio.dumps(Hostile()), tmp_path / "new.nsse", format=FORMAT + 1, nsse="7.0.0", licence="BSD"
    )
    message = rf"new\.nsse, format {FORMAT + 1}, written by nsse 7\.0\.0'\. Upgrade nsse"
    with pytest.raises(ValueError, match=message):
        nsse.load(path)


@pytest.fixture(scope="module")
def good(blobs, tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "good.nsse"
    nsse.save(nsse.NSSE.as_published(2, sigma=1.0).fit(blobs.X, blobs.codes), path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_named(good, share, tmp_path):
    path = tmp_path / "short.nsse"
    path.write_bytes(good[: int(share * len(good))])
    with pytest.raises(ValueError, match=r"short\.nsse, cut short or damaged"):
        nsse.load(path)


@pytest.mark.slow
def test_a_damaged_file_is_refused_or_gives_the_model(good, blobs, tmp_path):
    # A byte that matters is noticed; a few of an archive's own do not matter.
    path = tmp_path / "broken.nsse"
    path.write_bytes(good)
    embedding, refused = nsse.load(path).transform(blobs.X), 0
    # The last bytes say where everything is.
    places = [*np.linspace(0, len(good) - 1, 120).astype(int), *range(len(good) - 22, len(good))]
    for place, change in itertools.product(places, (0x55, 0xFF)):
        content = bytearray(good)
        content[place] ^= change
        path.write_bytes(content)
        try:
            np.testing.assert_array_equal(nsse.load(path).transform(blobs.X), embedding)
        except ValueError as error:
            assert "broken.nsse" in str(error)  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
            refused += 1
    assert refused > len(places)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "another kind of file, or an empty one"),
        (pickle.dumps([1, 2, 3]), "another kind of file"),
        (b"a,b\n1,2\n", "another kind of file"),
    ],
)
def test_other_files_are_refused(content, message, tmp_path):
    path = tmp_path / "other.nsse"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"name a model file of nsse\. Got '.*other\.nsse, {message}"):
        nsse.load(path)


def test_archives_without_a_model_are_refused(tmp_path):
    path = tmp_path / "other.nsse"
    path.write_bytes(sio.dumps(StandardScaler()))
    with pytest.raises(ValueError, match=r"other\.nsse, an archive without nsse\.json"):
        nsse.load(path)
    with_header(sio.dumps({"a": 1}), path)
    with pytest.raises(ValueError, match=r"other\.nsse, a dict in it"):
        nsse.load(path)
    with_header(sio.dumps(StandardScaler()), path, format="one")
    with pytest.raises(ValueError, match=r"other\.nsse, cut short or damaged"):
        nsse.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"name a file that exists\. Got '.*nowhere\.nsse'"):
        nsse.load(tmp_path / "nowhere.nsse")


# What cannot be saved, and what is left then.


def tell(step):
    """A callback."""


def test_save_refuses_what_load_would_and_leaves_the_old_file(good, blobs, tmp_path):
    path = tmp_path / "model.nsse"
    path.write_bytes(good)
    model = nsse.NSSE.as_published(2, callback=tell).fit(blobs.X, blobs.codes)
    with pytest.raises(ValueError, match=r"`nsse\.load` trusts.*\.tell'.*callback=None"):
        nsse.save(model, path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("model.nsse", good)]
    loaded = saved_and_loaded(model, tmp_path, trusted=[f"{tell.__module__}.tell"])
    assert loaded.callback is tell


def test_save_refuses_what_skops_cannot_write(blobs, tmp_path):
    model = nsse.NSSE.as_published(2).fit(blobs.X, blobs.codes)
    model.random_state = np.zeros(2, dtype=[("a", object)])
    with pytest.raises(TypeError, match="be made of types that skops can write"):
        nsse.save(model, tmp_path / "model.nsse")
    assert not list(tmp_path.iterdir())


def test_save_refuses_what_is_no_fitted_model(tmp_path):
    with pytest.raises(NotFittedError, match="NSSE instance is not fitted"):
        nsse.save(nsse.NSSE.as_published(), tmp_path / "model.nsse")
    with pytest.raises(TypeError, match="not an estimator"):
        nsse.save([1, 2], tmp_path / "model.nsse")


def test_save_names_a_place_that_does_not_exist(blobs, tmp_path):
    model = nsse.LFDA(2).fit(blobs.X, blobs.codes)
    with pytest.raises(FileNotFoundError, match=r"lie in a folder that exists.*no.*model\.nsse"):
        nsse.save(model, tmp_path / "no" / "model.nsse")
    with pytest.raises(IsADirectoryError, match="a folder"):
        nsse.save(model, tmp_path)


def test_a_classifier_of_the_user_needs_to_be_trusted(blobs, tmp_path):
    model = nsse.NSSE.as_published(2, classifier=First()).fit(blobs.X, blobs.codes)
    with pytest.raises(ValueError, match=r"\.First"):
        nsse.save(model, tmp_path / "model.nsse")
    loaded = saved_and_loaded(model, tmp_path, trusted=[First])
    np.testing.assert_array_equal(loaded.predict(blobs.X), model.predict(blobs.X))


class First(ClassifierMixin, BaseEstimator):
    """Says the first class, always."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_without_skops_the_extra_is_named(good, blobs, tmp_path, monkeypatch):
    model = nsse.NSSE.as_published(2).fit(blobs.X, blobs.codes)
    for name in [name for name in sys.modules if name.partition(".")[0] == "skops"]:
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "model.nsse").write_bytes(good)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[files\]'"):
        nsse.load(tmp_path / "model.nsse")
    with pytest.raises(ImportError, match=r"pip install 'nsse\[files\]'"):
        nsse.save(model, tmp_path / "other.nsse")
    assert not (tmp_path / "other.nsse").exists()


# Files of releases.


def test_this_release_keeps_its_files():
    assert {path.parent.name for path in KEPT} >= {f"models-{nsse.__version__}"}


# scikit-learn rightly says that its own part of the file is of another version of it.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_releases_go_on_loading(path):
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    X, answers = np.array(expected["X"]), expected["models"][path.stem]
    model = nsse.load(path)
    # Another processor may round otherwise.
    np.testing.assert_allclose(model.transform(X), answers["embedding"], rtol=1e-9, atol=1e-11)
    assert model.predict(X).tolist() == answers["labels"]
