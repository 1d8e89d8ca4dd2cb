"""What holds for every method alike: a name in `nsse.__all__` is enough to be tested here."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

import nsse

PUBLIC = [getattr(nsse, name) for name in nsse.__all__]
FITTED = [part for part in PUBLIC if isinstance(part, type) and hasattr(part, "fit")]
# A search of scikit-learn's is what its estimator is (tests/selection/test_sequential.py).
METHODS = [part for part in FITTED if part is not nsse.SequentialSearchCV]
# As they are by default, but for the search: one point, whatever splits are drawn.
SEARCH = nsse.NSSECV(
    nsse.NSSE(sigma=0.7, mu2=0.1, classifier="scores"),
    keep=("metric", "shrinkage", "relevance"),
    n_repeats=1,
)
DEFAULTS = [SEARCH if method is nsse.NSSECV else method() for method in METHODS]
# Other routes through the same code: sparse graphs, another width, other readers.
VARIANTS = [
    nsse.SUPLAP(3, mu=0.1, n_neighbors_between=10),
    nsse.SUPLAP(3, n_neighbors=3, n_neighbors_between=5),
    nsse.NYS(3, n_neighbors=10),
    nsse.NYS(3, sigma=3.0, length_unit=1.0),
    nsse.SPE(3, alpha=0.05, n_neighbors=10),
    nsse.LDE(2, beta=0.5),
    nsse.LFDA(2, n_neighbors=3, metric="plain"),
    nsse.IsoKRR(2, alpha=0.1),
    nsse.MReg(gamma_A=1e-3),
]
MODELS = [*DEFAULTS, *VARIANTS]
# Those that embed and predict; the within-class metric does neither, it goes in front of them.
EMBEDDINGS = [model for model in MODELS if hasattr(model, "predict")]
# Their embedding is the solver's; transform computes it once more, as a sum over the samples.
SOLVED_FIRST = (nsse.NSSE, nsse.NSSECV)
TOLERANCE = 1e-9

every_model = pytest.mark.parametrize("model", MODELS, ids=str)
every_embedding = pytest.mark.parametrize("model", EMBEDDINGS, ids=str)


@pytest.fixture(scope="module")
def new():
    """Samples that no model was fitted on, some of their values zero."""
    X = np.random.default_rng(0).standard_normal((20, 5))
    return np.where(X < -1, 0.0, X)


@pytest.fixture(scope="module")
def known(blobs):
    """Factory: ``known(model)`` is that model fitted on the blobs, once for all tests; read only."""

    @cache
    def fitted_once(name):
        return fitted(next(model for model in MODELS if str(model) == name), *blobs)

    return lambda model: fitted_once(str(model))


def fitted(model, X, y):
    return clone(model).fit(X, y)


def assert_close(Y, Z, tolerance=TOLERANCE):
    np.testing.assert_allclose(Y, Z, rtol=0, atol=tolerance * np.abs(Z).max())


def up_to_signs(Y, Z):
    return Y * np.where(np.sum(Y * Z, axis=0) < 0, -1.0, 1.0)


# What must not matter


@every_model
def test_order_of_samples(known, blobs, new, model):
    order = np.random.default_rng(0).permutation(len(blobs.X))
    one, other = known(model), fitted(model, blobs.X[order], blobs.codes[order])
    assert_close(other.transform(new), one.transform(new))
    if hasattr(one, "embedding_"):
        assert_close(other.embedding_, one.embedding_[order])


@every_embedding
def test_names_of_classes(known, blobs, new, model):
    names = np.array(["a", "b", "c", "d"])
    one, other = known(model), fitted(model, blobs.X, names[blobs.codes])
    np.testing.assert_array_equal(other.embedding_, one.embedding_)
    np.testing.assert_array_equal(other.predict(new), names[one.predict(new)])


@every_embedding
def test_order_of_classes(known, blobs, new, model):
    one, other = known(model), fitted(model, blobs.X, 3 - blobs.codes)
    Y, Z = other.transform(new), one.transform(new)
    if isinstance(model, nsse.MReg):  # a score for every class
        Y = Y[:, ::-1]
    assert_close(up_to_signs(Y, Z), Z)
    np.testing.assert_array_equal(3 - other.predict(new), one.predict(new))


@every_embedding
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_unit_of_the_samples(known, blobs, new, model, unit):
    one, other = known(model), clone(model)
    if getattr(model, "length_unit", "median") != "median":
        other.set_params(length_unit=unit * model.length_unit)
    other.fit(unit * blobs.X, blobs.codes)
    assert_close(other.transform(unit * new), one.transform(new))
    np.testing.assert_array_equal(other.predict(unit * new), one.predict(new))


@every_model
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_batch_in_which_a_sample_comes(blobs, new, model, kind):
    one = fitted(model, kind(blobs.X), blobs.codes)
    whole = one.transform(kind(new))
    labels = one.predict(kind(new)) if hasattr(one, "predict") else None
    for rows in (*([i] for i in range(len(new))), slice(None, None, -1), slice(5, 17)):
        part = one.transform(kind(new[rows]))
        np.testing.assert_allclose(part, whole[rows], rtol=0, atol=1e-12 * np.abs(whole).max())
        if labels is not None:
            np.testing.assert_array_equal(one.predict(kind(new[rows])), labels[rows])


@every_model
def test_sparse_samples(blobs, new, model):
    X = np.where(blobs.X > 0, blobs.X, 0.0)
    one, other = fitted(model, X, blobs.codes), fitted(model, sparse.csr_array(X), blobs.codes)
    assert_close(other.transform(sparse.csr_array(new)), one.transform(new), 1e-7)


@every_model
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_number_of_threads(make_blobs, model):
    data = make_blobs((40, 40, 40), n_features=60)
    with threadpool_limits(2):
        two = fitted(model, *data).transform(data.X)
    with threadpool_limits(1):
        one = fitted(model, *data).transform(data.X)
    np.testing.assert_array_equal(two, one)


# What must stay


@every_model
def test_single_precision(known, blobs, new, model):
    one, other = known(model), fitted(model, blobs.X.astype(np.float32), blobs.codes)
    embedded = other.transform(new.astype(np.float32))
    assert embedded.dtype == np.float32
    assert getattr(other, "embedding_", embedded).dtype == np.float32
    assert_close(embedded, one.transform(new.astype(np.float32)), 1e-5)


@every_embedding
def test_embedding_is_what_transform_gives(known, blobs, model):
    one = known(model)
    embedded = one.transform(blobs.X)
    assert_close(embedded, one.embedding_, 1e-12 if isinstance(model, SOLVED_FIRST) else 0.0)
    np.testing.assert_array_equal(clone(model).fit_transform(*blobs), embedded)


@every_model
def test_pickle_and_clone(known, new, model):
    one = known(model)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.transform(new), one.transform(new))
    if hasattr(one, "predict"):
        np.testing.assert_array_equal(again.predict(new), one.predict(new))
    bare = clone(one)
    assert not [name for name in vars(bare) if name.endswith("_")]
    assert str(bare.get_params()) == str(one.get_params())


@every_model
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(known, blobs, model, library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame(dict(zip("pqrst", blobs.X.T, strict=True)))
    one = fitted(model, X, blobs.codes).set_output(transform=library)
    embedded = one.transform(X)
    assert list(one.feature_names_in_) == list("pqrst")
    assert list(embedded.columns) == list(one.get_feature_names_out())
    assert_close(np.asarray(embedded), known(model).transform(blobs.X))


@every_embedding
def test_names_of_the_coordinates(known, model):
    one = known(model)
    expected = [f"{type(model).__name__.lower()}{i}" for i in range(one.embedding_.shape[1])]
    assert list(one.get_feature_names_out()) == expected


@pytest.mark.slow
@every_model
def test_pipeline_and_search(model):
    X, y = load_iris(return_X_y=True)
    reader = [] if hasattr(model, "predict") else [nsse.LFDA()]
    pipeline = make_pipeline(MinMaxScaler(), clone(model), *reader)
    grid = {"n_repeats": [1, 2]} if model is SEARCH else {"n_neighbors": [20, 30]}
    grid = {f"{pipeline.steps[1][0]}__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X[::2], y[::2])
    assert search.best_score_ > 0.7
    assert search.score(X[1::2], y[1::2]) > 0.7


# Hard cases


@every_model
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_duplicates_share_their_coordinates(blobs, model):
    X, codes = np.repeat(blobs.X, 2, axis=0), np.repeat(blobs.codes, 2)
    one = fitted(model, X, codes)
    Y = getattr(one, "embedding_", one.transform(X))
    assert np.all(np.isfinite(Y))
    assert_close(Y[::2], Y[1::2], 1e-12)
    if hasattr(one, "score"):
        assert one.score(X, codes) > 0.9


@every_model
@pytest.mark.parametrize(("counts", "n_features"), [((6, 5), 40), ((5, 4, 6), 200)])
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_fewer_samples_than_features(make_blobs, model, counts, n_features):
    data = make_blobs(counts, n_features=n_features)
    one = clone(model).set_params(
        **{"n_components": None} if "n_components" in model.get_params() else {}
    )
    one.fit(*data)
    assert np.all(np.isfinite(one.transform(data.X)))
    if hasattr(one, "score"):
        assert one.score(*data) == 1.0


@pytest.mark.parametrize("model", DEFAULTS, ids=str)
@pytest.mark.filterwarnings("ignore::nsse.DegenerateEmbeddingWarning")
def test_two_classes_need_one_coordinate(make_blobs, model):
    data = make_blobs((12, 10))
    n_coordinates = fitted(model, *data).transform(data.X).shape[1]
    if isinstance(model, nsse.MReg):
        assert n_coordinates == 2  # a score for every class
    elif isinstance(model, nsse.LFDA | nsse.WithinMetric):
        assert n_coordinates == 5  # all axes
    elif isinstance(model, nsse.LDE):
        assert n_coordinates == 3  # it goes on beyond n_classes - 1
    else:
        assert n_coordinates == 1


# Errors

WHOLE, POSITIVE = "a whole number, at least 1", "a positive, finite number"


@pytest.mark.parametrize("model", EMBEDDINGS, ids=str)
def test_one_class_is_refused_and_leaves_the_model_as_it_was(known, blobs, model):
    one = copy.copy(known(model))
    before = dict(vars(one))
    with pytest.raises(ValueError, match="at least 2 classes"):
        one.fit(blobs.X[:5], np.zeros(5))
    assert vars(one) == before
