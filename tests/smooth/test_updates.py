"""Samples that come later, and are forgotten: the same model as if they had been there, or never."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import NSSE, SmoothEmbedding
from nsse.augment import Noise
from nsse.unlabeled import GraphPenalty

X, Y = load_digits(return_X_y=True)
NEW = X[1500:]


def in_chunks(model, X, y, n_chunks, sample_weight=None, **arguments):
    for part in np.array_split(np.arange(len(y)), n_chunks):
        weight = None if sample_weight is None else sample_weight[part]
        model.partial_fit(X[part], y[part], sample_weight=weight, **arguments)
    return model


def one_fit(first, X, y, sample_weight=None):
    """One fit to all samples with the centres and the width of a model without a metric."""
    centers = first.centers_
    probe = SmoothEmbedding(metric=None, centers=centers).fit(X, y, sample_weight)
    sigma = first.sigma_ / probe._length_unit
    return SmoothEmbedding(metric=None, centers=centers, sigma=sigma).fit(X, y, sample_weight)


def literal(model, X, y, weights):
    """Class scores at new samples by the regression as its docstring has it, in plain NumPy."""
    f = model.map_
    Z, U, V = f.centers, f.metric(X), f.metric(NEW)

    def kernel(A, B):
        return np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=2) / f.kernel.sigma**2)

    K, K_ZZ, classes = kernel(U, Z), kernel(Z, Z), np.unique(y)
    E = (y[:, np.newaxis] == classes).astype(float)
    shares = weights @ E / weights.sum()
    left = K.T @ (weights[:, np.newaxis] * K) + model.smoothness * K_ZZ
    C = np.linalg.solve(left, K.T @ (weights[:, np.newaxis] * (E - shares)))
    return shares + kernel(V, Z) @ C


@pytest.mark.parametrize("weighted", [False, True])
def test_twenty_chunks_are_one_fit(weighted):
    weights = np.random.default_rng(0).integers(1, 4, 1500).astype(float) if weighted else None
    model = SmoothEmbedding(metric=None, centers=60)
    in_chunks(model, X[:1500], Y[:1500], 20, weights)
    whole = one_fit(model, X[:1500], Y[:1500], weights)
    for method in ("decision_function", "transform"):
        np.testing.assert_allclose(getattr(model, method)(NEW), getattr(whole, method)(NEW), atol=1e-8)
    np.testing.assert_array_equal(model.predict(NEW), whole.predict(NEW))
    # The first chunk chose the centers, so that its samples are no longer left out.
    np.testing.assert_allclose(model._leave_one_out, whole._leave_one_out[75:], atol=1e-8)


def test_in_the_metric_of_the_first_chunk_the_literal_regression_agrees():
    model = in_chunks(SmoothEmbedding(centers=40), X[:600], Y[:600], 12)
    scores = literal(model, X[:600], Y[:600], np.ones(600))
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-8)


def test_an_exact_model_goes_on_where_fit_left_off():
    model = SmoothEmbedding().fit(X[:300], Y[:300])
    before = model.decision_function(NEW)
    model.partial_fit(X[300:700], Y[300:700])
    scores = literal(model, X[:700], Y[:700], np.ones(700))
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-7)
    model.forget(X[300:700], Y[300:700])
    np.testing.assert_allclose(model.decision_function(NEW), before, atol=1e-6)
    assert model.embedding_.shape == (300, 9)


def test_a_forgotten_chunk_was_never_there():
    model = in_chunks(SmoothEmbedding(centers=60), X[:900], Y[:900], 9)
    never = in_chunks(SmoothEmbedding(centers=60), X[:600], Y[:600], 6)
    model.forget(X[600:900], Y[600:900])
    for method in ("decision_function", "predict_proba", "transform"):
        np.testing.assert_allclose(getattr(model, method)(NEW), getattr(never, method)(NEW), atol=1e-6)
    np.testing.assert_allclose(model._leave_one_out, never._leave_one_out, atol=1e-6)
    np.testing.assert_array_equal(model.labels_, never.labels_)


def test_a_new_class_comes_in_the_middle_and_goes_again():
    few = Y[:900] < 9
    model = SmoothEmbedding(centers=60).partial_fit(X[:300][few[:300]], Y[:300][few[:300]])
    assert 9 not in model.classes_
    model.partial_fit(X[300:600], Y[300:600])
    np.testing.assert_array_equal(model.classes_, np.arange(10))
    model.partial_fit(X[600:900], Y[600:900])
    learned = np.r_[np.flatnonzero(few[:300]), 300:900]
    scores = literal(model, X[learned], Y[learned], np.ones(len(learned)))
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-8)
    assert model.score(NEW, Y[1500:]) > 0.85
    nines = np.flatnonzero(Y[:900] == 9)
    model.forget(X[nines[nines >= 300]], Y[nines[nines >= 300]])
    np.testing.assert_array_equal(model.classes_, np.arange(9))
    others = learned[Y[learned] < 9]
    scores = literal(model, X[others], Y[others], np.ones(len(others)))
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-6)


def test_a_chunk_of_one_class_words_sparse_rows_and_copies_are_learned():
    names = np.array([f"digit {k}" for k in Y])
    model = SmoothEmbedding(centers=30).partial_fit(X[:200], names[:200])
    ones = np.flatnonzero(Y[200:400] == 1) + 200
    model.partial_fit(X[ones], names[ones]).partial_fit(X[400:420], np.full(20, "something else"))
    assert "something else" in model.classes_
    thin = SmoothEmbedding(centers=30)
    in_chunks(thin, sparse.csr_array(X[:400]), Y[:400], 4)
    thick = in_chunks(SmoothEmbedding(metric=None, centers=thin.centers_.toarray()), X[:400], Y[:400], 4)
    assert np.mean(thin.predict(NEW) == thick.predict(NEW)) > 0.95
    copies = SmoothEmbedding(centers=30, augment=Noise(0.5))
    in_chunks(copies, X[:300], Y[:300], 3)
    assert copies.embedding_.shape == (300, 9)
    assert copies.score(NEW, Y[1500:]) > 0.8


def test_memory_does_not_grow_and_kept_samples_come_from_everywhere():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(3, 5)) * 3
    model, peaks = SmoothEmbedding(centers=20), []
    for k in range(12):
        codes = rng.integers(0, 3, 1000)
        rows = means[codes] + rng.normal(size=(1000, 5))
        tracemalloc.start()
        model.partial_fit(rows, codes + (10 if k == 11 else 0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(model.embedding_) <= 2000
    assert max(peaks[6:]) < 1.5 * max(peaks[2:6])
    assert len(model.embedding_) > 900
    assert set(model.labels_) == {0, 1, 2, 10, 11, 12}


WRONG = [
    ({"X": X[:5, :3], "y": Y[:5]}, "3 features"),
    ({"X": X[:5], "y": Y[:4]}, "`y` must have one label for each of the 5 samples"),
    ({"X": X[:5], "y": ["a"] * 5}, "labels of the kind that the model has"),
    ({"X": X[:5], "y": [1, 2, 3, 4, 77], "classes": range(10)}, "`y` must hold known classes only"),
    ({"X": np.full((2, 64), np.nan), "y": [1, 2]}, "NaN"),
    ({"X": X[:5], "y": Y[:5], "sample_weight": [1, 2]}, "`sample_weight` must have one number"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_what_cannot_be_learned_is_said_and_leaves_the_model_as_it_was(given, words):
    model = SmoothEmbedding(centers=30).partial_fit(X[:300], Y[:300])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(**given)
    assert vars(model) == before


@pytest.mark.parametrize("smoothness", [-1.0, 0.0])
def test_parameters_are_checked_before_an_update(smoothness):
    model = SmoothEmbedding().fit(X[:100], Y[:100]).set_params(smoothness=smoothness)
    before = dict(vars(model))
    for change in (model.partial_fit, model.forget):
        with pytest.raises(ValueError, match=r"^`smoothness` must be a positive, finite number"):
            change(X[:5], Y[:5])
    assert vars(model) == before


def test_what_cannot_be_forgotten_is_said_and_leaves_the_model_as_it_was():
    model = SmoothEmbedding(centers=30).partial_fit(X[:300], Y[:300])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="`X` must hold samples that were learned"):
        model.forget(X[300:900], Y[300:900])
    with pytest.raises(ValueError, match="`X` must leave at least two classes"):
        model.forget(X[:300], Y[:300])
    with pytest.raises(ValueError, match="`y` must hold known classes only"):
        model.forget(X[:2], [3, 77])
    assert vars(model) == before
    with pytest.raises(ValueError, match="not fitted"):
        SmoothEmbedding().forget(X[:2], [3, 7])
    irises, kinds = load_iris(return_X_y=True)
    exact = SmoothEmbedding().fit(irises, kinds)
    with pytest.raises(ValueError, match="a sample that was not learned"):
        exact.forget(irises[:2] + 1, kinds[:2])


@pytest.mark.parametrize(
    "parameters",
    [{"decision": "nearest"}, {"unlabeled": GraphPenalty()}, {"class_weight": "balanced"}],
    ids=str,
)
def test_parameters_with_which_samples_do_not_add_up_are_refused(parameters):
    model = SmoothEmbedding(**parameters)
    assert not hasattr(model, "partial_fit")
    (name,) = parameters
    with pytest.raises(AttributeError, match=f"^`{name}` must be .* in a model that is updated"):
        model.partial_fit(X[:300], Y[:300])


def test_fit_goes_on_and_starts_over():
    model = SmoothEmbedding(centers=30).fit(X[:300], Y[:300])
    began = SmoothEmbedding(centers=30).partial_fit(X[:300], Y[:300])
    np.testing.assert_allclose(model.decision_function(NEW), began.decision_function(NEW), atol=1e-8)
    for each in (model, began):
        each.partial_fit(X[300:900], Y[300:900])
    np.testing.assert_allclose(model.decision_function(NEW), began.decision_function(NEW), atol=1e-8)
    assert began.fit(X[:200], Y[:200])._updates is None


def test_a_copy_of_a_fit_leaves_large_sums_behind_and_says_so():
    fitted = SmoothEmbedding(centers=30).fit(X[:300], Y[:300])
    copied = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="`model` must keep the sums of its samples"):
        copied.partial_fit(X[300:], Y[300:])
    begun = pickle.loads(pickle.dumps(fitted.partial_fit(X[300:600], Y[300:600])))
    begun.partial_fit(X[600:900], Y[600:900])
    scores = literal(begun, X[:900], Y[:900], np.ones(900))
    np.testing.assert_allclose(begun.decision_function(NEW), scores, atol=1e-8)


@pytest.mark.parametrize("centers", [30, None])
def test_a_file_keeps_the_sums_if_asked(centers, tmp_path):
    model = make_pipeline(StandardScaler(), SmoothEmbedding(centers=centers)).fit(X[:300], Y[:300])
    nsse.save(model, tmp_path / "small.nsse")
    nsse.save(model, tmp_path / "large.nsse", updatable=True)
    assert (tmp_path / "small.nsse").stat().st_size < (tmp_path / "large.nsse").stat().st_size
    small, large = (nsse.load(tmp_path / f"{size}.nsse") for size in ("small", "large"))
    np.testing.assert_allclose(large.decision_function(NEW), model.decision_function(NEW), atol=1e-8)
    more = model[0].transform(X[300:600])
    with pytest.raises(ValueError, match="Save it with `updatable=True`"):
        small[-1].partial_fit(more, Y[300:600])
    for each in (model, large):
        each[-1].partial_fit(more, Y[300:600])
    np.testing.assert_allclose(large.decision_function(NEW), model.decision_function(NEW), atol=1e-8)
    nsse.save(large, tmp_path / "later.nsse", updatable=True)
    np.testing.assert_array_equal(
        nsse.load(tmp_path / "later.nsse").decision_function(NEW), large.decision_function(NEW)
    )
    with pytest.raises(ValueError, match="`model` must have partial_fit"):
        nsse.save(NSSE().fit(X[:60], Y[:60]), tmp_path / "paper.nsse", updatable=True)


def test_what_hangs_on_a_model_works_after_an_update():
    model = in_chunks(SmoothEmbedding(centers=40), X[:600], Y[:600], 3)
    assert model.certified_radius(NEW[:5]).min() > 0
    assert 0 <= model.typicality(NEW[:5]).min() <= 1
    assert model.explain(NEW[:2]).gradient.shape == (2, 64)
    pytest.importorskip("matplotlib")
    assert nsse.plot.class_map(model, NEW, Y[1500:]).frame.shape[0] == 897
