"""Explanations: gradients beside finite differences, weights beside scores, features beside deletion."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from given_ensembles import GivenEnsemble, ensemble_of
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric
from nsse.augment import Noise
from nsse.datasets import TableEncoder
from nsse.explanations import explain, feature_relevance
from nsse.methods import LFDA

GRID = {"sigma": [0.5, 1.0], "smoothness": [0.1]}
MODELS = {
    "scores": SmoothEmbedding(),
    "nearest": SmoothEmbedding(decision="nearest"),
    "centers": SmoothEmbedding(centers=20, metric=WithinMetric(shrinkage=0.3)),
    "augmented": SmoothEmbedding(augment=Noise(0.1)),
    "ensemble": GivenEnsemble(
        [SmoothEmbedding(), SmoothEmbedding(kernel="matern32"), SmoothEmbedding(metric="euclidean")],
        (2.0, 1.0, 0.5),
    ),
    "nearest member": GivenEnsemble(
        [SmoothEmbedding(decision="nearest"), SmoothEmbedding(augment=Noise(0.1))], (3.0, 1.0)
    ),
    "search": SmoothEmbeddingCV(grid=GRID, max_members=2),
    "paper": NSSE(),
    "linear": LFDA(),
    "pipeline": make_pipeline(StandardScaler(), PCA(4), SmoothEmbedding()),
}


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((30, 25, 20), n_features=6)


def margin_of(model, x, label, rival):
    """By the public interface, where scores are public: mean class values."""
    core = model[-1] if hasattr(model, "steps") else model
    codes = np.searchsorted(core.classes_, [label, rival])
    rows = model[:-1].transform(x) if hasattr(model, "steps") else x
    values = core.scores_.values(core.map_(rows))
    return values[:, codes[0]] - values[:, codes[1]]


@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_finite_differences(name, data):
    model = MODELS[name].fit(data.X, data.codes)
    new = data.X[::7] + 0.05
    found = explain(model, new)
    assert found.space == "X"
    np.testing.assert_array_equal(found.label, model.predict(new))
    h = 1e-5
    for row, x in enumerate(new):
        pair = found.label[row], found.rival[row]
        steps = np.vstack([x + h * np.eye(6), x - h * np.eye(6)])
        values = margin_of(model, steps, *pair)
        numeric = (values[:6] - values[6:]) / (2 * h)
        np.testing.assert_allclose(found.gradient[row], numeric, atol=1e-6)
        np.testing.assert_allclose(found.margin[row], margin_of(model, x[None], *pair)[0], atol=1e-10)


@pytest.mark.parametrize("name", ["scores", "centers", "ensemble", "search", "pipeline"])
def test_contributions_add_up_to_the_difference_from_the_mean_sample(name, data):
    model = MODELS[name].fit(data.X, data.codes)
    found = explain(model, data.X[::9])
    mean = data.X.mean(axis=0, keepdims=True)
    if name == "centers":
        mean = model.centers_.mean(axis=0, keepdims=True)
    for row in range(len(found)):
        pair = found.label[row], found.rival[row]
        before = margin_of(model, mean, *pair)[0]
        np.testing.assert_allclose(found.margin_at_mean[row], before, atol=1e-9)
        np.testing.assert_allclose(found.contribution[row].sum(), found.margin[row] - before, atol=1e-6)


@pytest.mark.parametrize("name", ["scores", "nearest", "paper", "ensemble", "nearest member"])
def test_weights_of_all_centers_and_the_offset_add_up_to_the_margin(name, data):
    some = np.r_[0:3, 30:33, 55:57]
    model = MODELS[name].fit(data.X[some], data.codes[some])
    found = model.explain(data.X[:9])
    assert found.weights.shape == (9, 8)  # there are only eight centers
    assert np.all(np.diff(np.abs(found.weights), axis=1) <= 0)
    np.testing.assert_allclose(found.offset + found.weights.sum(axis=1), found.margin, atol=1e-10)
    # v_c - v_r = b + a'f: far from all samples f is zero, and the offset alone is left.
    far = model.explain(np.full((1, 6), 1e6), target=found.label[0])
    np.testing.assert_allclose(far.weights, 0.0, atol=1e-12)
    np.testing.assert_allclose(far.offset, far.margin)


def test_the_weight_of_a_sample_is_the_value_of_its_kernel_function(data):
    model = SmoothEmbedding().fit(data.X, data.codes)
    x = data.X[[3]] + 0.1
    found = model.explain(x)
    K = model.map_.kernel_rows(x)[0]
    own, rival = (int(code[0]) for code in (found.label, found.rival))
    a = model.scores_.weights[own] - model.scores_.weights[rival]
    weights = K * (model.coef_ @ a)
    np.testing.assert_allclose(found.weights[0], weights[found.influential[0]])
    np.testing.assert_allclose(found.offset[0] + weights.sum(), found.margin[0])
    # The influential centers are training samples.
    np.testing.assert_allclose(
        model.centers_[found.influential[0]], data.X[found.influential[0]], atol=1e-8
    )


def test_the_weights_of_samples_are_summed_over_members_and_augmented_samples(data):
    plain = SmoothEmbedding(metric="euclidean").fit(data.X, data.codes)
    augmented = SmoothEmbedding(augment=Noise(0.1)).fit(data.X, data.codes)
    model = ensemble_of([plain, augmented], (2.0, 0.5), data.X)
    found = model.explain(data.X[[3]] + 0.1)
    own, rival = (int(code[0]) for code in (found.label, found.rival))
    total = np.zeros(len(data.X))
    for member, weight in zip((plain, augmented), (2.0, 0.5), strict=True):
        a = member.scores_.weights[own] - member.scores_.weights[rival]
        each = weight * member.map_.kernel_rows(data.X[[3]] + 0.1)[0] * (member.coef_ @ a)
        total += each.reshape(len(data.X), -1).sum(axis=1)
    np.testing.assert_allclose(found.weights[0], total[found.influential[0]])
    np.testing.assert_allclose(found.offset[0] + total.sum(), found.margin[0])
    assert np.abs(total).max() == np.abs(found.weights[0, 0])


def test_members_with_other_centers_have_no_influential_samples(data):
    some = [SmoothEmbedding(centers=data.X[k::5]).fit(data.X, data.codes) for k in (0, 1)]
    model = ensemble_of(some, (1.0, 1.0), data.X)
    found = model.explain(data.X[:4])
    assert found.influential.shape == (4, 0)
    np.testing.assert_allclose(found.offset, found.margin)


def test_another_class_may_be_explained_and_what_is_no_class_is_refused(data):
    names = np.array(["a", "b", "c"])[data.codes]
    model = SmoothEmbedding().fit(data.X, names)
    found = model.explain(data.X[:4], target="c")
    assert set(found.label) == {"c"}
    assert np.all(found.margin < 0)
    each = model.explain(data.X[:2], target=["a", "b"])
    np.testing.assert_array_equal(each.label, ["a", "b"])
    with pytest.raises(ValueError, match="`target` must be labels of training samples"):
        model.explain(data.X[:2], target="d")
    with pytest.raises(ValueError, match="`target` must be a label, or one label per sample"):
        model.explain(data.X[:2], target=["a", "b", "c"])


def test_behind_an_encoder_features_are_its_own_and_it_is_said(data):
    model = make_pipeline(
        StandardScaler(), RBFSampler(n_components=9, random_state=0), StandardScaler(), SmoothEmbedding()
    ).fit(data.X, data.codes)
    found = explain(model, data.X[:3])
    assert found.space == "output of RBFSampler"
    assert found.gradient.shape == (3, 9)


def test_units_of_features_do_not_move_contributions_or_relevance(data):
    units = np.array([1.0, 10.0, 100.0, 0.1, 0.01, 1.0])
    one = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X, data.codes)
    two = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.X * units, data.codes)
    first, second = explain(one, data.X), explain(two, data.X * units)
    np.testing.assert_allclose(first.gradient, second.gradient * units, atol=1e-9)
    np.testing.assert_allclose(first.contribution, second.contribution, atol=1e-8)
    relevance = feature_relevance(one)
    np.testing.assert_allclose(relevance, feature_relevance(two), atol=1e-8)
    np.testing.assert_allclose(relevance.sum(), 1.0)


def test_deleting_relevant_features_costs_more_than_deleting_others():
    X, y = load_digits(return_X_y=True)
    train, new = np.arange(0, 1797, 6), np.arange(1, 1797, 3)
    model = SmoothEmbedding().fit(X[train], y[train])
    order = np.argsort(-feature_relevance(model))
    right = model.score(X[new], y[new])

    def cost(features):
        without = X[new].copy()
        without[:, features] = X[train].mean(axis=0)[features]
        return right - model.score(without, y[new])

    rng = np.random.default_rng(0)
    at_random = np.mean([cost(rng.permutation(64)[:6]) for _ in range(20)])
    assert cost(order[:6]) > 3 * at_random
    assert cost(order[-6:]) < at_random


def test_features_behind_categories_have_a_relevance():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "soil": ["clay", "sand"] * 10})
    model = make_pipeline(TableEncoder(), StandardScaler(), SmoothEmbedding())
    model.fit(table, table["soil"] == "clay")
    relevance = feature_relevance(model)
    assert relevance.shape == (3,)
    assert relevance[1:].sum() > 0.8


def test_a_linear_method_has_no_influential_samples_and_no_relevance(data):
    model = LFDA().fit(data.X, data.codes)
    assert model.explain(data.X[:2]).influential.shape == (2, 0)
    with pytest.raises(TypeError, match=r"`model` must have training samples as centers. Got 'LFDA'"):
        feature_relevance(model)


def test_contributions_add_up_for_standardized_columns_and_any_class():
    """The mean of the columns themselves is the reference, whatever the steps in front do."""
    data = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.data[::2], data.target[::2])
    mean = data.data[::2].mean().to_frame().T
    for target in (None, 0, 1, 2):
        found = explain(model, data.data[1:20:2], target)
        total = found.contribution.sum(axis=1)
        np.testing.assert_allclose(total, found.margin - found.margin_at_mean, atol=1e-6)
        for row in range(len(found)):
            before = margin_of(model, mean, found.label[row], found.rival[row])
            np.testing.assert_allclose(total[row], found.margin[row] - before, atol=1e-6)


def test_an_explanation_prints_one_line_per_sample_with_the_names_of_columns():
    data = load_wine(as_frame=True)
    kinds = np.array(["rich", "poor", "plain"])[data.target]
    model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(data.data[::2], kinds[::2])
    found = explain(model, data.data[1::2])
    lines = repr(found).splitlines()
    assert lines[0] == "Explanation of 89 predictions:"
    assert lines[-1] == "  and 79 more. `to_frame()` returns all of them."
    assert len(lines) == 12
    assert max(map(len, lines)) < 150
    largest = int(np.abs(found.contribution[0]).argmax())
    start = f"  0: {found.label[0]} over {found.rival[0]} by {found.margin[0]:.2f}: "
    assert lines[1].startswith(
        f"{start}{data.data.columns[largest]} {found.contribution[0, largest]:+.2f}"
    )
    assert len(repr(explain(model, data.data[:1])).splitlines()) == 2


def test_the_frame_has_one_row_per_sample_and_feature(data):
    model = SmoothEmbedding().fit(data.X, data.codes)
    found = model.explain(data.X[:5])
    frame = found.to_frame()
    assert frame["feature"].tolist() == [f"x{k}" for k in range(6)] * 5
    assert frame["sample"].tolist() == np.repeat(np.arange(5), 6).tolist()
    np.testing.assert_array_equal(frame["contribution"], found.contribution.ravel())
    np.testing.assert_array_equal(frame["gradient"], found.gradient.ravel())
    np.testing.assert_array_equal(frame["label"], np.repeat(found.label, 6))
    np.testing.assert_array_equal(frame["margin"], np.repeat(found.margin, 6))


def test_features_behind_an_encoder_have_the_names_that_it_gives(data):
    encoder = RBFSampler(n_components=3, random_state=0)
    model = make_pipeline(encoder, StandardScaler(), SmoothEmbedding()).fit(data.X, data.codes)
    names = tuple(encoder.get_feature_names_out())
    assert (
        explain(model, data.X[:2]).feature_names
        == names
        == ("rbfsampler0", "rbfsampler1", "rbfsampler2")
    )


def test_a_data_frame_is_explained_as_its_array():
    X, y = load_digits(return_X_y=True, as_frame=True)
    samples = X.to_numpy()
    found = SmoothEmbedding().fit(X[:200], y[:200]).explain(X[200:204])
    expected = SmoothEmbedding().fit(samples[:200], y[:200]).explain(samples[200:204])
    np.testing.assert_array_equal(found.gradient, expected.gradient)
    assert found.feature_names == tuple(X.columns)
