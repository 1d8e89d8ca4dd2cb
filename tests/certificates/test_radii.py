"""Tests of certified radii: no attack succeeds within them, and they follow the formula."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from attacks import assert_attacks_fail_inside_and_succeed_outside, changed
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, methods
from nsse.affine import Affine
from nsse.certificates import certified_radius
from nsse.certificates.front import Front
from nsse.certificates.map_bounds import reach, widest_weight
from nsse.kernels import Exponential, Gaussian, Matern32
from nsse.maps import KernelMap, LinearMap
from nsse.scores import Scores
from nsse.unlabeled import GraphPenalty, LabelPropagation


def mirrored(X):
    return [X + 0.3, X * 0.9]


class Linear(SmoothEmbedding):
    """A model whose map is linear, as LFDA's is."""

    def fit(self, X, y):
        super().fit(X, y)
        T = np.random.default_rng(1).standard_normal((X.shape[1], 2))
        self.map_ = LinearMap(Affine.linear(X.mean(axis=0), T))
        codes = np.searchsorted(self.classes_, y)
        self.scores_ = Scores.nearest(self.classes_, self.map_(X), codes)
        return self


MODELS = {
    "default": SmoothEmbedding(),
    "nearest": SmoothEmbedding(decision="nearest"),
    "two coordinates": SmoothEmbedding(n_components=1),
    "no metric": SmoothEmbedding(metric=None),
    "metric, short": SmoothEmbedding(metric=WithinMetric(0.01, relevance=0.0)),
    "centres": SmoothEmbedding(centers=15),
    "centres, nearest": SmoothEmbedding(centers=15, decision="nearest"),
    "nearly interpolating": SmoothEmbedding(smoothness=1e-9, sigma=3.0),
    "augmented": SmoothEmbedding(augment=mirrored),
    "smooth unlabelled": SmoothEmbedding(unlabeled=GraphPenalty(marker=2)),
    "spread unlabelled": SmoothEmbedding(unlabeled=LabelPropagation(marker=2)),
    "linear": Linear(),
    "standardised": make_pipeline(StandardScaler(), SmoothEmbedding()),
    "in [0, 1]": make_pipeline(MinMaxScaler(), SmoothEmbedding(decision="nearest")),
    "whitened": make_pipeline(StandardScaler(), PCA(3, whiten=True), SmoothEmbedding()),
    "metric before": make_pipeline(WithinMetric(), SmoothEmbedding(metric=None)),
    "searched": GridSearchCV(SmoothEmbedding(), {"sigma": [0.5, 1.0]}, cv=2),
}


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((12, 12, 12), n_features=6, spread=1.5)


@pytest.fixture(scope="module")
def new(make_blobs):
    return make_blobs((40, 40, 40), n_features=6, spread=1.5).X[::2]


@pytest.mark.parametrize("name", MODELS)
def test_attacks_fail_inside_and_succeed_outside(name, data, new):
    assert_attacks_fail_inside_and_succeed_outside(MODELS[name].fit(data.X, data.codes), new)


def test_float32_and_sparse_samples_keep_their_labels(data, new):
    single = SmoothEmbedding().fit(data.X.astype(np.float32), data.codes)
    radius = certified_radius(single, new.astype(np.float32))
    assert np.median(radius) > 0.01
    assert not changed(single, new.astype(np.float32), radius).any()
    dense = SmoothEmbedding(metric=None).fit(data.X, data.codes)
    of_sparse = certified_radius(dense, sparse.csr_array(new))
    np.testing.assert_allclose(of_sparse, certified_radius(dense, new), rtol=1e-8)
    scaled = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(
        data.X.astype(np.float32), data.codes
    )
    assert not changed(
        scaled, new.astype(np.float32), certified_radius(scaled, new.astype(np.float32))
    ).any()


def test_on_a_line_the_whole_interval_keeps_its_label():
    """With one feature, a fine grid finds every change of the label, and the radius is close to it."""
    X = np.sort(np.random.default_rng(1).uniform(0, 6, 24))[:, np.newaxis]
    y = (X[:, 0] > 2).astype(int) + (X[:, 0] > 4)
    model = SmoothEmbedding(sigma=0.5).fit(X, y)
    grid = np.linspace(-1, 7, 40_001)[:, np.newaxis]
    labels = model.predict(grid)
    radius = model.certified_radius(X)
    changes = grid[:-1][labels[1:] != labels[:-1], 0]
    truth = np.abs(X - changes).min(axis=1)
    assert np.all(radius <= truth + 2e-4)
    assert np.median(radius / truth) > 0.3


def literal_gram(f):
    total = np.zeros((f.coef.shape[1],) * 2)
    for z, c in zip(f.centers, f.coef, strict=True):
        for other, e in zip(f.centers, f.coef, strict=True):
            total += np.outer(c, e) * np.exp(-np.sum((z - other) ** 2) / f.kernel.sigma**2)
    return total


def literal_lead(f, scores, x, i, j, r):
    """Two lower bounds of v_i − v_j within r of x: by the norm alone, and by value, slope and norm."""
    Q, F, J = f.gram, f(x[np.newaxis])[0], f.jacobian(x[np.newaxis])[0]
    a, b = scores.weights[i] - scores.weights[j], scores.offsets[i] - scores.offsets[j]
    sigma, norm = f.kernel.sigma, f.metric.norm
    B2, m, slope = a @ Q @ a, a @ F, J.T @ a
    behind = KernelMap(Affine.identity(6), f.centers, f.kernel, f.coef)
    g = behind.jacobian(f.metric(x[np.newaxis]))[0].T @ a
    t = (norm * r / sigma) ** 2
    k = np.exp(-t)
    q = m - np.linalg.norm(slope) * r
    R2 = B2 - m**2 - sigma**2 / 2 * g @ g
    local = b + min(k * q, q) - np.sqrt(R2) * np.sqrt(max(1 - k**2 * (1 + 2 * t), 0.0))
    return m + b - np.sqrt(B2) * np.sqrt(2 - 2 * k), local


def literal_radius(f, scores, x):
    """Every rival against the own function with the best lead over its norm, r by halving intervals."""
    Q, v = f.gram, scores.functions(f(x[np.newaxis]))[0]
    own = np.flatnonzero(scores.codes == scores.codes[v.argmax()])
    radii = []
    for j in np.flatnonzero(scores.codes != scores.codes[v.argmax()]):
        norms = [np.sqrt((a := scores.weights[i] - scores.weights[j]) @ Q @ a) for i in own]
        i = own[np.argmax((v[own] - v[j]) / norms)]
        ends = []
        for kind in (0, 1):
            low, high = 0.0, 20.0 * f.kernel.sigma
            for _ in range(25):
                r = (low + high) / 2
                is_ahead = literal_lead(f, scores, x, i, j, r)[kind] > 0
                low, high = (r, high) if is_ahead else (low, r)
            ends.append(low)
        radii.append(max(ends))
    return min(radii)


def test_values_and_slopes_bound_every_move(data, new):
    """The lower bound holds at random points of the ball, for every pair of functions."""
    model = SmoothEmbedding(sigma=0.5).fit(data.X, data.codes)
    f, scores, rng = model.map_, model.scores_, np.random.default_rng(0)
    for x in new[:6]:
        for r in (0.1, 0.5, 2.0):
            step = rng.standard_normal((200, 6))
            step *= r * rng.random((200, 1)) ** (1 / 6) / np.linalg.norm(step, axis=1, keepdims=True)
            v = scores.functions(f(x + step))
            for i, j in ((0, 1), (1, 2), (2, 0)):
                assert (v[:, i] - v[:, j]).min() >= max(literal_lead(f, scores, x, i, j, r)) - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["scores", "nearest"])
def test_radii_are_those_of_the_formula(data, new, decision, monkeypatch):
    monkeypatch.setattr("nsse.certificates.margins.OWN", 100)
    monkeypatch.setattr(
        "nsse.certificates.front.DECOMPOSED", 0
    )  # the norm of the metric as it is stated
    model = SmoothEmbedding(decision=decision).fit(data.X, data.codes)
    np.testing.assert_allclose(model.map_.gram, literal_gram(model.map_), atol=1e-10)
    expected = [literal_radius(model.map_, model.scores_, x) for x in new[:3]]
    np.testing.assert_allclose(model.certified_radius(new[:3]), expected, rtol=1e-4)


def test_reach_is_the_inverse_of_the_bound():
    kernel, r = Gaussian().at(0.7), np.linspace(0, 2, 50)
    np.testing.assert_allclose(kernel.reach(np.sqrt(2 - 2 * np.exp(-((r / 0.7) ** 2)))), r, atol=1e-7)
    assert kernel.reach(np.array([1.5])) == np.inf


@pytest.mark.parametrize("name", ["default", "no metric", "linear"])
def test_jacobian_is_the_limit_of_differences(name, data, new):
    f, h = MODELS[name].fit(data.X, data.codes).map_, 1e-5
    steps = h * np.eye(6)
    differences = np.stack([(f(new[:5] + e) - f(new[:5] - e)) / (2 * h) for e in steps], axis=2)
    np.testing.assert_allclose(f.jacobian(new[:5]), differences, atol=1e-6)


def test_a_label_that_nothing_can_change_has_an_infinite_radius():
    f = KernelMap(Affine.identity(1), np.zeros((1, 1)), Gaussian().at(1.0), np.array([[0.1]]))
    scores = Scores.of_classes(np.array([0, 1]), np.array([[0.0], [1.0]]), np.array([0.0, 1.0]))
    model = SmoothEmbedding().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    model.map_, model.scores_ = f, scores
    assert certified_radius(model, [[5.0]]) == np.inf
    model.scores_ = Scores.of_classes(np.array([0, 1]), np.zeros((2, 1)), np.zeros(2))
    assert certified_radius(model, [[5.0]]) == 0.0  # a tie


def test_ill_conditioned_maps_keep_their_labels(data, new):
    """If coefficients cancel, radii are small but still hold."""
    rng = np.random.default_rng(0)
    coef = 1e8 * rng.standard_normal((12, 1))
    f = KernelMap(
        Affine.identity(6), data.X[:1] + 1e-6 * rng.standard_normal((12, 6)), Gaussian().at(5.0), coef
    )
    model = SmoothEmbedding().fit(data.X, data.codes % 2)
    values = f(new)[:, 0]
    offsets = np.array([0.0, -np.median(values)])
    model.map_, model.scores_ = f, Scores.of_classes(np.array([0, 1]), np.array([[0.0], [1.0]]), offsets)
    radius = certified_radius(model, new)
    assert not changed(model, new, radius).any()


def test_gaps_are_no_part_of_a_sample_that_could_change(data, new):
    model = make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=4), SmoothEmbedding())
    model.fit(data.X, data.codes)
    gappy = new.copy()
    gappy[::3, 2] = np.nan
    radius, labels = certified_radius(model, gappy), model.predict(gappy)
    assert (radius > 0).mean() > 0.5
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.standard_normal(new.shape)
        step *= radius[:, np.newaxis] / np.linalg.norm(step, axis=1, keepdims=True)
        np.testing.assert_array_equal(model.predict(gappy + step), labels)


def test_others_are_refused_by_name(data):
    with pytest.raises(
        TypeError, match=r"`model` must have a kernel or linear map .*KNeighborsClassifier"
    ):
        certified_radius(KNeighborsClassifier().fit(data.X, data.codes), data.X)
    pipeline = make_pipeline(Normalizer(), SmoothEmbedding()).fit(data.X, data.codes)
    with pytest.raises(
        ValueError, match=r"`model` must have only affine steps .*Normalizer.*model\[-1\]"
    ):
        certified_radius(pipeline, data.X)


SIZES = {
    "default": SmoothEmbedding(),
    "nearest": SmoothEmbedding(decision="nearest"),
    "centers": SmoothEmbedding(centers=15),
    "scaled": make_pipeline(StandardScaler(), SmoothEmbedding()),
    "search": SmoothEmbeddingCV(
        grid={"sigma": [0.5, 1.0], "smoothness": [0.1], "metric__shrinkage": [1.0]}
    ),
    "published": NSSE(sigma=1.0),
    "KDA": methods.KDA(),
}


@pytest.mark.parametrize("name", [*SIZES, "linear", "LFDA"])
def test_very_large_samples_have_a_radius(name, data, new):
    """Squares of 1e155 overflow. Far from all centers radii are zero, except for linear maps."""
    model = {**SIZES, "linear": Linear(), "LFDA": methods.LFDA()}[name]
    model.fit(data.X, data.codes)
    ordinary = certified_radius(model, new[:4])
    for size in (1e100, 1e155, 1e200, 1e300):
        far = new[:4] / np.abs(new[:4]).max() * size
        radius = certified_radius(model, far)
        if name in ("linear", "LFDA"):
            assert np.all((radius >= 0) & np.isfinite(radius))
            step = np.random.default_rng(0).standard_normal((300, 6))
            step *= (1 - 1e-9) / np.linalg.norm(step, axis=1, keepdims=True)
            for x, r in zip(far, radius, strict=True):
                assert np.all(model.predict(x + r * step) == model.predict(x[np.newaxis]))
        else:
            np.testing.assert_array_equal(radius, 0.0)
        mixed = np.vstack([far[:1], new[1:4]])  # others of the same block keep theirs
        np.testing.assert_allclose(certified_radius(model, mixed)[1:], ordinary[1:], rtol=1e-9)


GROWTH = [(name, power) for name in SIZES for power in (-900, -400, 400, 900)]
# The squares of a scaler overflow.
GROWTH = [(name, power) for name, power in GROWTH if name != "scaled" or abs(power) < 900]


@pytest.mark.parametrize(("name", "power"), GROWTH)
def test_radii_grow_with_the_samples(name, power, data, new):
    """Radii are proportional to the size of samples, also if squares of slopes vanish."""
    model = SIZES[name].fit(data.X, data.codes)
    expected = certified_radius(model, new)
    model.fit(np.ldexp(data.X, power), data.codes)
    radius = np.ldexp(certified_radius(model, np.ldexp(new, power)), -power)
    np.testing.assert_allclose(radius, expected, rtol=1e-5, atol=1e-9)


def test_subnormal_samples(data, new):
    """No power of two makes them of order one, but a model can be fitted and certified."""
    model = SmoothEmbedding().fit(data.X, data.codes)
    expected = certified_radius(model, new)
    model.fit(data.X * 1e-310, data.codes)
    radius = certified_radius(model, new * 1e-310)
    np.testing.assert_allclose(radius / 1e-310, expected, rtol=1e-5)
    for refusing in (NSSE(), methods.KDA()):
        with pytest.raises(ValueError, match=r"`X` must have a median distance .* Rescale X\."):
            refusing.fit(data.X * 1e-310, data.codes)


def same_functions(model, power):
    """Models that label samples alike, with some of their numbers multiplied by a power of two."""
    f, scores = model.map_, model.scores_

    def by(values, sign=1):
        return np.ldexp(values, sign * power)

    def with_parts(scores=scores, **parts):
        other = copy(model)
        other.map_, other.scores_ = replace(f, **parts), scores
        return other

    both = {"weights": by(scores.weights), "offsets": by(scores.offsets)}
    yield "scores", with_parts(replace(scores, **both))
    if isinstance(f, LinearMap):
        A, smaller = f.affine, replace(scores, weights=by(scores.weights, -1))
        rescaled = replace(A, scale=by(A.scale, -1), matrix=by(A.matrix))
        larger = replace(A, matrix=by(A.matrix), offset=by(A.offset))
        yield "factors", with_parts(affine=rescaled)
        yield "map", with_parts(smaller, affine=larger)
        return
    yield "map", with_parts(replace(scores, weights=by(scores.weights, -1)), coef=by(f.coef))
    larger = {"centers": by(f.centers), "kernel": Gaussian().at(float(by(f.kernel.sigma)))}
    if abs(power) <= 500:  # files with other widths are refused
        yield "space", with_parts(metric=f.metric.multiplied(float(by(1.0))), **larger)
    A = f.metric
    yield "factors", with_parts(metric=replace(A, scale=by(A.scale, -1), matrix=by(A.matrix)))
    tailed = replace(A, matrix=by(A.matrix), tail=by(np.eye(A.n_outputs), -1))
    yield "tail", with_parts(metric=tailed)


@pytest.mark.parametrize("power", [-1000, -500, -250, -100, 100, 250, 500, 1000])
@pytest.mark.parametrize("model", [SmoothEmbedding(), Linear()], ids=["kernel", "linear"])
def test_sizes_of_numbers_enlarge_no_radius(model, power, data, new):
    """A file may hold the same function with numbers whose squares overflow or vanish."""
    model.fit(data.X, data.codes)
    expected = certified_radius(model, new)
    for kind, other in same_functions(model, power):
        with np.errstate(over="ignore", invalid="ignore"):
            radius = certified_radius(other, new)
        assert np.all(radius <= expected * (1 + 1e-9)), kind
        if abs(power) == 100:
            np.testing.assert_allclose(radius, expected, rtol=1e-6, err_msg=kind)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern32(), Exponential()], ids=str)
def test_rounding_makes_no_reach_larger(kernel):
    f = KernelMap(Affine.identity(2), np.zeros((1, 2)), kernel.at(0.7), np.ones((1, 1)))
    r = np.array([1e-3, 0.1, 0.5])
    exact = np.sqrt(2.0 - 2.0 * f.kernel.profile(np.square(r / 0.7), np))
    assert np.all(reach(f, exact) < r * (1.0 + 1e-12))
    np.testing.assert_allclose(reach(f, exact), r, rtol=1e-6)
    assert np.all(reach(LinearMap(Affine.identity(2)), r) < r)


def test_a_front_moves_samples_within_a_radius_by_less_than_its_reach():
    front = replace(Front.through([], np.zeros((3, 2))), growth=0.1, error=np.full(3, 1e-3))
    radius = front.radius(np.array([1e-3, 0.5, 2.0]))
    np.testing.assert_allclose(radius, [0.0, 0.498 / 1.1, 1.998 / 1.1])
    assert np.all(front.moved(radius)[1:] <= [0.5, 2.0])


def test_rounding_of_earlier_steps_grows_behind_later_steps():
    scale = Affine.diagonal(np.zeros(2), np.array([3.0, 2.0]))
    front = replace(Front.through([], np.zeros((1, 2))), growth=1e-3)
    behind = front.behind(scale, 1e-8, np.zeros((1, 2)))
    assert behind.growth >= 3.0 * 1e-3 + 3.0 * 1e-8
    assert behind.growth == pytest.approx(3e-3, rel=1e-3)


def test_the_widest_weight_is_the_largest():
    scores = Scores(np.array(["a", "b"]), np.array([[3.0, 4.0], [1.0, 0.0]]), np.zeros(2), np.arange(2))
    assert widest_weight(scores) == 5.0
