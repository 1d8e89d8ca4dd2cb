"""Tests of certified radii of ensembles: no attack succeeds, and radii follow the formula."""

from dataclasses import replace

import numpy as np
import pytest
from attacks import assert_attacks_fail_inside_and_succeed_outside, changed, lead_gradient
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from given_ensembles import GivenEnsemble, rotation_of
from nsse import SmoothEmbedding, WithinMetric
from nsse.affine import Affine
from nsse.certificates import ConformalClassifier, certified_radius, lipschitz_bounds, margins, theorem_1
from nsse.certificates.front import Front
from nsse.certificates.margins import Margins
from nsse.certificates.radii import Decision
from nsse.ensemble import EnsembleMap
from nsse.kernels import Exponential, Gaussian, Matern32
from nsse.maps import KernelMap, LinearMap, Member
from nsse.scores import Scores


def sum_of(model, parts):
    """Give a fitted model the map and the scores of an ensemble with these members."""
    n = len(model.classes_)
    model.map_ = EnsembleMap(tuple(parts), rotation_of(n))
    model.scores_ = Scores.of_classes(model.classes_, model.map_.rotation, np.zeros(n))
    return model


class Linear(SmoothEmbedding):
    """A model whose map is linear, with nearest samples in it."""

    def fit(self, X, y):
        super().fit(X, y)
        T = 0.2 * np.random.default_rng(1).standard_normal((X.shape[1], 2))
        self.map_ = LinearMap(Affine.linear(X.mean(axis=0), T))
        codes = np.searchsorted(self.classes_, y)
        self.scores_ = Scores.nearest(self.classes_, self.map_(X), codes)
        return self


SCORES = [SmoothEmbedding(sigma=s) for s in (0.4, 0.8, 2.0)]
NEAREST = [SmoothEmbedding(sigma=s, decision="nearest") for s in (0.5, 1.5)]
MODELS = {
    "scores": GivenEnsemble(SCORES, [3.0, 1.0, 0.5]),
    "nearest": GivenEnsemble(NEAREST, [0.7, 2.0]),
    "scores and nearest": GivenEnsemble(SCORES[:2] + NEAREST, [1.0, 2.0, 0.5, 0.5]),
    "metrics": GivenEnsemble(
        [
            SmoothEmbedding(metric=None),
            SmoothEmbedding(metric=WithinMetric(0.01, relevance=0.0), decision="nearest"),
            SmoothEmbedding(metric=WithinMetric(1.0, relevance=1.0)),
        ],
        [1.0, 1.0, 1.0],
    ),
    "kernels": GivenEnsemble(
        [
            SmoothEmbedding(kernel="matern32"),
            SmoothEmbedding(kernel="gaussian", decision="nearest"),
            SmoothEmbedding(kernel="exponential", sigma=3.0),
        ],
        [1.0, 1.0, 0.2],
    ),
    "Matern alone": GivenEnsemble(
        [SmoothEmbedding(kernel="matern32", sigma=s) for s in (0.5, 2.0)], [1.0, 1.0]
    ),
    "linear": GivenEnsemble([Linear(), SmoothEmbedding()], [0.3, 1.0]),
    "linear alone": GivenEnsemble([Linear(), Linear()], [0.3, 1.0]),
    "centers": GivenEnsemble(
        [SmoothEmbedding(centers=15), SmoothEmbedding(centers=9, decision="nearest")], [1.0, 1.0]
    ),
    "nearly interpolating": GivenEnsemble(
        [SmoothEmbedding(smoothness=1e-9, sigma=3.0), SmoothEmbedding(decision="nearest")], [1.0, 1.0]
    ),
    "one": GivenEnsemble([SmoothEmbedding(decision="nearest")], [5.0]),
    "standardized": make_pipeline(StandardScaler(), GivenEnsemble(SCORES[:1] + NEAREST[:1], [1.0, 1.0])),
}


@pytest.fixture(scope="module")
def data(make_blobs):
    return make_blobs((12, 12, 12), n_features=6, spread=1.5)


@pytest.fixture(scope="module")
def new(make_blobs):
    return make_blobs((40, 40, 40), n_features=6, spread=1.5).X[::2]


@pytest.fixture(scope="module")
def fitted(data):
    return {name: model.fit(data.X, data.codes) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_attacks_fail_inside_and_succeed_outside(name, fitted, new):
    assert_attacks_fail_inside_and_succeed_outside(fitted[name], new)


def test_the_gradient_of_the_attack_is_the_limit_of_differences(fitted, new):
    model = fitted["scores and nearest"]
    labels = model.predict(new[:5])
    codes, rows = labels.astype(int), np.arange(5)

    def lead(X):
        S = model.map_.class_scores(X)
        own = S[rows, codes]
        S[rows, codes] = -np.inf
        return S.max(axis=1) - own

    steps = 1e-5 * np.eye(6)
    differences = [(lead(new[:5] + e) - lead(new[:5] - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(
        lead_gradient(model, new[:5], labels), np.transpose(differences), atol=1e-6
    )


def values_and_slopes(f, x):
    """The value of a map, its Jacobian, and for kernels the Jacobian behind the metric."""
    row = x[np.newaxis]
    if isinstance(f, LinearMap):
        return f(row)[0], None, None
    behind = KernelMap(Affine.identity(f.metric.n_outputs), f.centers, f.kernel, f.coef)
    return f(row)[0], f.jacobian(row)[0], behind.jacobian(f.metric(row))[0]


def literal_pair(f, scores, here, i, j, r):
    """Lower bounds of v_i − v_j within r: by the norm, and by value and slope if there is one."""
    value, slope, slope_behind = here
    a, b = scores.weights[i] - scores.weights[j], scores.offsets[i] - scores.offsets[j]
    m = a @ value
    if isinstance(f, LinearMap):
        return m + b - np.linalg.norm(f.affine.dense() @ a) * r
    t = (f.metric.norm * r / f.kernel.sigma) ** 2
    B2, k = a @ f.gram @ a, f.kernel.profile(np.array([t]), np)[0]
    by_norm = m + b - np.sqrt(B2) * np.sqrt(2 - 2 * k)
    if not f.kernel.has_local_bound:
        return by_norm
    g = slope_behind.T @ a
    line = m - np.linalg.norm(slope.T @ a) * r
    R2 = B2 - m**2 - f.kernel.sigma**2 / 2 * g @ g
    local = b + min(k * line, line) - np.sqrt(max(R2, 0) * max(1 - k**2 * (1 + 2 * t), 0))
    return max(by_norm, local)


def literal_margin(members, places, c, rival, r):
    """Σ_k w_k min over the functions of the rival of max over those of c."""
    total = 0.0
    for (f, scores, weight), here in zip(members, places, strict=True):
        own, others = np.flatnonzero(scores.codes == c), np.flatnonzero(scores.codes == rival)
        total += weight * min(max(literal_pair(f, scores, here, i, j, r) for i in own) for j in others)
    return total


def literal_radius(model, x, steps=23):
    """The largest r at which the margins over all rivals are positive, by halving an interval."""
    members = model.map_.members(model.scores_)
    values = sum(member.values(x[np.newaxis])[0] for member in members)
    places = [values_and_slopes(f, x) for f, _, _ in members]
    c, low, high = values.argmax(), 0.0, 4.0
    for _ in range(steps):
        r = (low + high) / 2
        rivals = (rival for rival in range(len(values)) if rival != c)
        is_safe = all(literal_margin(members, places, c, rival, r) > 0 for rival in rivals)
        low, high = (r, high) if is_safe else (low, r)
    return low


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "nearest", "scores and nearest", "kernels", "linear"])
def test_radii_are_those_of_the_formula(name, fitted, new, monkeypatch):
    monkeypatch.setattr(margins, "OWN", 100)
    monkeypatch.setattr("nsse.certificates.front.DECOMPOSED", 0)  # norms of metrics as they are stated
    expected = [literal_radius(fitted[name], x) for x in new[:4]]
    np.testing.assert_allclose(certified_radius(fitted[name], new[:4]), expected, rtol=1e-5)


def radii_by_norms(members, X, n_classes):
    """The formula by norms alone for all pairs at once, with the geometric mean as the middle."""
    S = sum(member.values(X) for member in members)
    labels, found = S.argmax(axis=1), np.zeros(len(X))
    parts = []
    for f, scores, weight in members:
        root = np.linalg.cholesky(f.gram + 1e-13 * np.trace(f.gram) * np.eye(len(f.gram)))
        images = scores.weights @ root
        norms = np.linalg.norm(images[:, np.newaxis] - images, axis=2)
        parts.append((weight, scores.functions(f(X)), norms, scores.codes, f))

    def margin(x, r):
        least, c = np.inf, labels[x]
        for rival in set(range(n_classes)) - {c}:
            total = 0.0
            for weight, v, norms, codes, f in parts:
                own, others = np.flatnonzero(codes == c), np.flatnonzero(codes == rival)
                lead = v[x, own][:, np.newaxis] - v[x, others]
                change = f.change(f.metric.norm * r)
                total += weight * (lead - norms[np.ix_(own, others)] * change).max(axis=0).min()
            least = min(least, total)
        return least

    for x in range(len(X)):
        low, high = 0.0, 1e3
        for _ in range(60):
            middle = (max(low, 1e-9) * high) ** 0.5
            low, high = (middle, high) if margin(x, middle) > 0 else (low, middle)
        found[x] = low
    return found


@pytest.mark.parametrize("kernel", [Matern32(), Gaussian()])
def test_the_second_bound_only_adds_to_the_norms(kernel, data, new, monkeypatch):
    monkeypatch.setattr(margins, "OWN", 100)
    monkeypatch.setattr("nsse.certificates.front.DECOMPOSED", 0)
    members = [
        SmoothEmbedding(kernel=kernel),
        SmoothEmbedding(kernel=kernel, sigma=0.6, decision="nearest"),
        SmoothEmbedding(kernel=kernel, metric=None, sigma=2.0),
    ]
    model = GivenEnsemble(members, [1.0, 0.4, 2.0]).fit(data.X, data.codes)
    by_norms = radii_by_norms(model.map_.parts, new[:30], 3)
    radius = certified_radius(model, new[:30])
    if kernel.has_local_bound:
        assert np.all(radius >= by_norms * (1 - 1e-6))
        assert np.median(radius / by_norms) > 1.3
    else:
        np.testing.assert_allclose(radius, by_norms, rtol=1e-5)


@pytest.mark.parametrize("decision", ["scores", "nearest"])
@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
def test_one_member_is_the_single_model(decision, kernel, data, new):
    model = SmoothEmbedding(decision=decision, kernel=kernel).fit(data.X, data.codes)
    expected = certified_radius(model, new)
    f, scores = model.map_, model.scores_
    for weight in (1.0, 0.01, 1000.0):
        radius = certified_radius(sum_of(model, [Member(f, scores, weight)]), new)
        np.testing.assert_allclose(radius, expected, rtol=1e-8, atol=1e-12)
        assert np.all(radius <= expected * (1 + 1e-12))


def test_a_model_in_several_parts_is_the_single_model(data, new):
    """Thirds of a member add up to the member, also by bisection instead of the closed form."""
    model = SmoothEmbedding(decision="nearest").fit(data.X, data.codes)
    expected, part = certified_radius(model, new), Member(model.map_, model.scores_, 1.0)
    parts = [part._replace(weight=w) for w in (0.2, 0.3, 0.5)]
    np.testing.assert_allclose(certified_radius(sum_of(model, parts), new), expected, rtol=1e-8)


def test_the_order_of_members_and_weights_of_zero_have_no_effect(fitted, data, new):
    model = fitted["scores and nearest"]
    expected, parts = certified_radius(model, new), model.map_.parts
    other = SmoothEmbedding().fit(data.X, data.codes)
    for changed_parts in (parts[::-1], (parts[2], parts[0], parts[3], parts[1])):
        np.testing.assert_allclose(
            certified_radius(sum_of(other, changed_parts), new), expected, rtol=1e-9
        )
    more = (*parts, parts[0]._replace(weight=0.0))
    np.testing.assert_allclose(certified_radius(sum_of(other, more), new), expected, rtol=1e-9)
    larger = [part._replace(weight=1000.0 * part.weight) for part in parts]
    np.testing.assert_allclose(certified_radius(sum_of(other, larger), new), expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["scores", "scores and nearest", "kernels", "linear"])
def test_margins_fall_with_the_distance_and_hold(name, fitted, new):
    """The bound of the sum is below every margin at random points of the ball."""
    model, new, rng = fitted[name], new[::6], np.random.default_rng(0)
    decision = Decision.of(model)
    front = Front.through([], new)
    S = model.map_.class_scores(new)
    codes, before = S.argmax(axis=1), None
    each = [
        Margins.of(part, part.map(new), front, codes, decision.rounding, 0.0)
        for part in decision.members
    ]
    for r in (0.0, 0.02, 0.1, 0.3, 1.0, 5.0):
        bound = sum(one.member.weight * one.least(np.full((len(new), 3), r)) for one in each)
        for rival in range(3):
            some = np.flatnonzero(codes != rival)
            rivals = np.full((len(some), 1), rival)
            duels = [(one.member.weight, one.against(some, rivals)) for one in each]
            near = sum(weight * duel.least(np.full((len(some), 1), r)) for weight, duel in duels)[:, 0]
            assert np.all(near >= bound[some, rival] - 1e-12)
            for row, least in zip(some, near, strict=True):
                step = rng.standard_normal((300, 6))
                step *= r * rng.random((300, 1)) ** (1 / 6) / np.linalg.norm(step, axis=1, keepdims=True)
                moved = model.map_.class_scores(new[row] + step)
                assert np.min(moved[:, codes[row]] - moved[:, rival]) >= least
        bound = np.where(np.arange(3) == codes[:, np.newaxis], 0.0, bound)
        assert before is None or np.all(bound <= before + 1e-12)
        before = bound


def test_fewer_functions_give_smaller_radii(fitted, new, monkeypatch):
    """Functions that are not looked at closely are bounded together."""
    for name in ("nearest", "scores and nearest", "one"):
        expected = certified_radius(fitted[name], new)
        for own, worst in ((1, 256), (4, 3), (1, 1)):
            monkeypatch.setattr(margins, "OWN", own)
            monkeypatch.setattr(margins, "WORST", worst)
            radius = certified_radius(fitted[name], new)
            assert np.all(radius <= expected * (1 + 1e-9))
            assert np.median(radius) > 0.5 * np.median(expected)
            assert not changed(fitted[name], new, radius).any()
        monkeypatch.undo()


def constant(value):
    """Return a member with an offset and a small kernel function, which hardly depends on samples."""
    f = KernelMap(Affine.identity(6), np.zeros((1, 6)), Gaussian().at(1.0), np.array([[0.1]]))
    weights, offsets = np.array([[0.0], [1.0], [0.0]]), np.array([0.0, value, 0.0])
    return Member(f, Scores.of_classes(np.arange(3), weights, offsets), 1.0)


def test_a_label_that_nothing_can_change_has_an_infinite_radius(fitted, data, new):
    model = SmoothEmbedding().fit(data.X, data.codes)
    parts = fitted["scores and nearest"].map_.parts
    always = certified_radius(sum_of(model, [constant(1.0), constant(2.0)]), new)
    np.testing.assert_array_equal(always, np.inf)
    np.testing.assert_array_equal(certified_radius(sum_of(model, [*parts, constant(1e3)]), new), np.inf)
    linear = fitted["linear"].map_.parts[0]
    assert np.isfinite(certified_radius(sum_of(model, [linear, constant(1e3)]), new)).all()
    np.testing.assert_array_equal(certified_radius(sum_of(model, [constant(0.0)] * 2), 1e3 + new), 0.0)


def test_ties_and_opposite_members_have_no_radius(data, new):
    model = SmoothEmbedding().fit(data.X, data.codes)
    f, scores = model.map_, model.scores_
    opposite = replace(scores, weights=-scores.weights, offsets=-scores.offsets)
    for parts in ([Member(f, scores, 1.0), Member(f, opposite, 1.0)], [Member(f, scores, 0.0)]):
        np.testing.assert_array_equal(certified_radius(sum_of(model, parts), new), 0.0)


def test_nothing_in_a_file_has_to_be_trusted(fitted, data, new):
    """Weights below zero turn lower bounds around, and scores need not be those of the members."""
    model = SmoothEmbedding().fit(data.X, data.codes)
    parts = fitted["scores and nearest"].map_.parts
    negative = [parts[0], parts[1]._replace(weight=-0.1)]
    np.testing.assert_array_equal(certified_radius(sum_of(model, negative), new), 0.0)
    expected = certified_radius(sum_of(model, parts), new)
    scores = model.scores_
    model.scores_ = replace(scores, weights=scores.weights[[1, 0, 2]])
    np.testing.assert_array_equal(certified_radius(model, new), 0.0)
    rng = np.random.default_rng(0)
    for size in (1e-9, 1e-3, 0.1):
        model.scores_ = replace(
            scores,
            weights=scores.weights + size * rng.standard_normal(scores.weights.shape),
            offsets=size * rng.standard_normal(3),
        )
        radius = certified_radius(model, new)
        assert np.all(radius <= expected)
        assert not changed(model, new, radius).any()


@pytest.mark.parametrize("power", [-250, -100, 100, 250])
def test_sizes_of_numbers_enlarge_no_radius(power, fitted, data, new):
    """The same functions, with coefficients and weights that are very large or very small."""
    model = SmoothEmbedding().fit(data.X, data.codes)
    parts = fitted["scores and nearest"].map_.parts
    expected = certified_radius(fitted["scores and nearest"], new)

    def scaled(part):
        scores = replace(part.scores, weights=np.ldexp(part.scores.weights, -power))
        return part._replace(map=replace(part.map, coef=np.ldexp(part.map.coef, power)), scores=scores)

    def weighted(part):
        scores = part.scores
        scores = replace(
            scores, weights=np.ldexp(scores.weights, -power), offsets=np.ldexp(scores.offsets, -power)
        )
        return part._replace(scores=scores, weight=float(np.ldexp(part.weight, power)))

    for change in (scaled, weighted):
        for chosen in ([change(part) for part in parts], [change(parts[0]), *parts[1:]]):
            with np.errstate(over="ignore", invalid="ignore"):
                radius = certified_radius(sum_of(model, chosen), new)
            assert np.all(radius <= expected * (1 + 1e-8))
            if abs(power) == 100:
                np.testing.assert_allclose(radius, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["scores", "scores and nearest", "kernels", "standardized", "linear"])
def test_very_large_samples_have_a_radius_of_zero(name, fitted, new):
    model = fitted[name]
    ordinary = certified_radius(model, new[:4])
    for size in (1e100, 1e155, 1e200, 1e300):
        far = new[:4] / np.abs(new[:4]).max() * size
        radius = certified_radius(model, far)
        assert not np.isnan(radius).any()
        if name != "linear":
            np.testing.assert_array_equal(radius, 0.0)
        mixed = np.vstack([far[:1], new[1:4]])  # others of the same block keep theirs
        np.testing.assert_allclose(certified_radius(model, mixed)[1:], ordinary[1:], rtol=1e-9)


@pytest.mark.parametrize("power", [-400, 400])
def test_radii_grow_with_the_samples(power, data, new):
    model = GivenEnsemble(SCORES[:1] + NEAREST[:1], [1.0, 1.0]).fit(data.X, data.codes)
    expected = certified_radius(model, new)
    model.fit(np.ldexp(data.X, power), data.codes)
    radius = np.ldexp(certified_radius(model, np.ldexp(new, power)), -power)
    np.testing.assert_allclose(radius, expected, rtol=1e-5, atol=1e-9)


def test_float32_and_sparse_samples(data, new):
    single, new32 = (
        GivenEnsemble(SCORES[:2] + NEAREST, [1.0] * 4).fit(data.X.astype(np.float32), data.codes),
        new.astype("f4"),
    )
    radius = certified_radius(single, new32)
    assert np.median(radius) > 0.01
    assert not changed(single, new32, radius).any()
    models = [SmoothEmbedding(metric=None), SmoothEmbedding(metric=None, sigma=0.5, decision="nearest")]
    dense = GivenEnsemble(models, [1.0, 1.0]).fit(data.X, data.codes)
    of_sparse = certified_radius(dense, sparse.csr_array(new))
    np.testing.assert_allclose(of_sparse, certified_radius(dense, new), rtol=1e-8)
    on_sparse = GivenEnsemble(models, [1.0, 1.0]).fit(
        sparse.csr_array(data.X), data.codes
    )  # centers without slopes
    radius = certified_radius(on_sparse, sparse.csr_array(new))
    assert np.all(radius <= of_sparse * (1 + 1e-6))
    assert np.all(radius > 0.2 * of_sparse)


class Falling(Gaussian):
    """A kernel that is not valid, and whose bounds would be wrong."""

    def profile(self, t, xp):
        return xp.exp(-t * t)

    def rate(self, t):
        return -2.0 * t * np.exp(-t * t)


def test_members_without_a_proof_are_refused(fitted, data, new):
    model = SmoothEmbedding().fit(data.X, data.codes)
    good, scores = Member(model.map_, model.scores_, 1.0), model.scores_
    nested = Member(fitted["scores"].map_, fitted["scores"].scores_, 1.0)
    with pytest.raises(TypeError, match=r"`model` must have a kernel or linear map .* EnsembleMap"):
        certified_radius(sum_of(model, [good, nested]), new)
    nearest = sum_of(model, [good, good])
    nearest.scores_ = Scores.nearest(model.classes_, nearest.map_(data.X), data.codes)
    with pytest.raises(TypeError, match=r"`model` must have .* not those of its ensemble"):
        certified_radius(nearest, new)
    wrong = Member(replace(good.map, kernel=Falling().at(1.0)), scores, 1.0)
    with pytest.raises(ValueError, match="`model` must have a positive definite kernel"):
        certified_radius(sum_of(model, [good, wrong]), new)


@pytest.mark.parametrize("name", ["scores", "scores and nearest", "linear"])
def test_sets_hold_under_any_move_below_the_radius(name, fitted, data, new):
    """Nearest samples in a member included: their values are maxima of functions."""
    model, rng, radius = fitted[name], np.random.default_rng(0), 0.2
    conformal = ConformalClassifier(model, alpha=0.2).fit(new[::2], model.predict(new[::2]))
    before = conformal.predict_set(new)
    directions = [rng.standard_normal(new.shape) for _ in range(4)]
    directions.append(lead_gradient(model, new, model.predict(new)))
    for step in directions:
        step *= radius / np.linalg.norm(step, axis=1, keepdims=True)
        assert np.all(conformal.predict_set(new + step, radius=radius * (1 + 1e-9)) >= before)
    assert conformal.predict_set(new, radius=radius).sum() < 3 * len(new)


@pytest.mark.parametrize("name", ["scores", "scores and nearest", "linear"])
def test_no_ensemble_is_steeper_than_its_lipschitz_constant(name, fitted, data):
    model, rng = fitted[name], np.random.default_rng(3)
    u = data.X[rng.integers(36, size=1000)] + rng.normal(size=(1000, 6))
    v = u + rng.exponential(0.5, size=(1000, 1)) * rng.normal(size=(1000, 6))
    ratios = np.linalg.norm(model.map_(u) - model.map_(v), axis=1) / np.linalg.norm(u - v, axis=1)
    assert ratios.max() <= theorem_1(model, data.X, data.codes).lipschitz < 30 * ratios.max()
    with pytest.raises(TypeError, match="`model` must have a kernel map"):
        lipschitz_bounds(model)


def test_the_exponential_kernel_has_radii_but_no_lipschitz_constant(data, new):
    models = [SmoothEmbedding(), SmoothEmbedding(kernel=Exponential(), sigma=3.0)]
    model = GivenEnsemble(models, [1.0, 0.1]).fit(data.X, data.codes)
    assert np.median(certified_radius(model, new)) > 0.01
    with pytest.raises(ValueError, match="`model` must have a kernel of finite curvature"):
        theorem_1(model, data.X, data.codes)
