"""One evaluation of f gives what `transform`, `predict` and `certified_radius` give, to the bit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from nsse import LDE, LFDA, NSSE, NSSECV, NYS, SPE, SUPLAP, IsoKRR, MReg
from nsse.certificates import answers, certified_radius, opened

GAUSSIAN = [
    NSSE.as_published(),
    NSSE.as_published(n_landmarks=12),
    NSSE.as_published(classifier=KNeighborsClassifier(3)),
    SUPLAP(),
    MReg(),
    IsoKRR(),
    NSSECV(n_repeats=2, n_voters=3),
]


@pytest.fixture(scope="module")
def new_points():
    return 5.0 * np.random.default_rng(5).standard_normal((40, 5))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, sparse.csr_array])
@pytest.mark.parametrize("model", GAUSSIAN, ids=lambda model: repr(model)[:24])
def test_answers_are_those_of_the_methods(model, kind, blobs, new_points):
    model.fit(blobs.X, blobs.codes)
    X = kind(new_points) if kind is sparse.csr_array else new_points.astype(kind)
    said = answers(model, X)
    np.testing.assert_array_equal(said.embedding, model.transform(X))
    assert said.embedding.dtype == model.transform(X).dtype
    np.testing.assert_array_equal(said.label, model.predict(X))
    np.testing.assert_array_equal(said.radius, model.certified_radius(X))
    assert said.unproved == ""
    nearest = NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(model.embedding_)
    np.testing.assert_array_equal(said.distance, nearest.kneighbors(said.embedding)[0][:, 0])


@pytest.mark.parametrize("model", [LDE(), LFDA(), NYS(), SPE(), NSSE.as_published(classifier=SVC())])
def test_models_without_certificates_say_so(model, blobs, new_points):
    model.fit(blobs.X, blobs.codes)
    said = answers(model, new_points)
    np.testing.assert_array_equal(said.embedding, model.transform(new_points))
    np.testing.assert_array_equal(said.label, model.predict(new_points))
    assert said.radius is None
    assert said.unproved


@pytest.mark.parametrize("model", [NSSE.as_published(), GAUSSIAN[-1]])
def test_every_map_is_evaluated_once(model, blobs, new_points, monkeypatch):
    model.fit(blobs.X, blobs.codes)
    kind = type(getattr(model, "voters_", [model])[0].expansion_)
    calls, evaluate = [], kind.__call__

    def counted(self, X):
        calls.append(X.shape)
        return evaluate(self, X)

    monkeypatch.setattr(kind, "__call__", counted)
    answers(model, new_points)
    assert len(calls) == len(getattr(model, "voters_", [model]))


def test_pipelines_are_opened(blobs, new_points):
    scaler, inner = StandardScaler(), make_pipeline(StandardScaler(), NSSE.as_published())
    model = make_pipeline(scaler, inner).fit(blobs.X, blobs.codes)
    before, last = opened(model)
    assert before == [scaler, inner[0]]
    assert last is inner[-1]
    X = inner[0].transform(scaler.transform(new_points))
    said = answers(model, new_points)
    np.testing.assert_array_equal(said.label, model.predict(new_points))
    np.testing.assert_array_equal(said.model_radius, last.certified_radius(X))
    np.testing.assert_array_equal(said.radius, certified_radius(model, new_points))


def test_radii_may_be_left_out_and_bounds_are_checked(blobs, new_points):
    model = NSSE.as_published().fit(blobs.X, blobs.codes)
    assert answers(model, new_points, bound=None).radius is None
    rkhs = answers(model, new_points, bound="rkhs").radius
    np.testing.assert_array_equal(rkhs, model.certified_radius(new_points, bound="rkhs"))
    with pytest.raises(ValueError, match=r"`bound` must be one of 'directional'.*Got 'l1'"):
        answers(model, new_points, bound="l1")
    with pytest.raises(ValueError, match=r"`bound` must be one of 'directional'.*Got None"):
        model.certified_radius(new_points, bound=None)
    with pytest.raises(NotFittedError):
        answers(NSSE.as_published(), new_points)
