"""Tests of Lipschitz bounds, Theorem 1 and the generalization report against their definitions."""

import warnings

import numpy as np
import pytest

from nsse import SmoothEmbedding
from nsse.affine import Affine
from nsse.certificates import generalization_report, lipschitz_bounds, theorem_1
from nsse.certificates.generalization import calibration, separation
from nsse.certificates.lipschitz import _negative_half_square
from nsse.kernels import Gaussian
from nsse.maps import KernelMap, LinearMap
from nsse.scores import Scores


@pytest.fixture(scope="module")
def blobs(make_blobs):
    return make_blobs((22, 17, 12, 9))


@pytest.fixture(scope="module")
def model(blobs):
    return SmoothEmbedding().fit(blobs.X, blobs.codes)


@pytest.fixture(scope="module")
def unseen(blobs):
    """Return more samples of the same four clouds, in another order than the training samples."""
    noise = np.random.default_rng(9).standard_normal(blobs.X.shape)
    order = np.random.default_rng(8).permutation(len(blobs.codes))
    return blobs.X[order] + 0.7 * noise, blobs.codes[order]


@pytest.fixture(scope="module")
def squares():
    """Return two tight classes far apart, for which Theorem 1 has a statement."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([8.0 * y, np.zeros(120)]) + rng.uniform(-0.1, 0.1, (120, 2))
    return X, y, SmoothEmbedding(metric=None, sigma=1.0).fit(X, y)


def test_bounds_of_one_kernel_are_known(model):
    """f = c exp(−r²/σ²) is steepest at r = σ/√2, with the slope √(2/e)/σ · |c|."""
    one = SmoothEmbedding().fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
    metric = Affine.diagonal(np.zeros(1), np.array([0.5]))
    one.map_ = KernelMap(metric, np.array([[4.0]]), Gaussian().at(2.0), np.array([[3.0]]))
    found = lipschitz_bounds(one, [[6.0]])
    slope = 0.5 * 3.0 * np.sqrt(2 / np.e) / 2.0
    assert found.empirical == pytest.approx(slope, rel=1e-9)
    assert found.steepest == pytest.approx(2 * (4.0 - 2.0 / np.sqrt(2)), rel=1e-4)
    assert found.proposition_1 == pytest.approx(slope)
    assert found.row_sum == found.best == pytest.approx(slope)
    assert found.rkhs == pytest.approx(0.5 * 3.0 * np.sqrt(2) / 2.0)


@pytest.mark.parametrize("parameters", [{}, {"metric": None}, {"centers": 10}, {"sigma": 3.0}])
def test_truth_lies_between_the_bounds(parameters, blobs):
    fitted = SmoothEmbedding(**parameters).fit(blobs.X, blobs.codes)
    found = lipschitz_bounds(fitted)
    rng = np.random.default_rng(3)
    u = blobs.X[rng.integers(60, size=2000)] + rng.normal(size=(2000, 5))
    v = u + rng.exponential(0.5, size=(2000, 1)) * rng.normal(size=(2000, 5))
    f = fitted.map_
    ratios = np.linalg.norm(f(u) - f(v), axis=1) / np.linalg.norm(u - v, axis=1)
    assert ratios.max() <= found.best
    assert found.empirical <= found.best <= found.proposition_1
    assert found.row_sum <= found.proposition_1
    # Proposition 1 as the paper writes it, in the units of the samples.
    literal = np.sqrt(2 / np.e) / f.kernel.sigma * np.sqrt(len(f.coef)) * np.linalg.norm(f.coef)
    assert found.proposition_1 == pytest.approx(f.metric.norm * literal)
    assert lipschitz_bounds(fitted, max_iter=0).empirical <= found.empirical
    at = np.linalg.norm(f.jacobian(found.steepest[np.newaxis])[0], 2)
    assert at == pytest.approx(found.empirical)
    assert "steepest" not in found.to_dict()


def test_the_climb_follows_the_gradient(model):
    f, h = model.map_, 1e-6
    behind = KernelMap(Affine.identity(5), f.centers, f.kernel, f.coef)
    u, steps = f.centers[3] + 0.1, h * np.eye(5)
    _, slope = _negative_half_square(u, behind)
    values = [_negative_half_square(u + s, behind)[0] for s in (*steps, *-steps)]
    differences = (np.array(values[:5]) - values[5:]) / (2 * h)
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)


def literal_terms(X, Y, y, delta):
    """Return γ, A_δ and the smallest share of each class in an open ball."""
    gamma, A = np.inf, 0.0
    for i in range(len(y)):
        for j in range(i):
            apart = np.linalg.norm(Y[i] - Y[j])
            if y[i] != y[j]:
                gamma = min(gamma, apart)
            elif np.linalg.norm(X[i] - X[j]) <= 2 * delta:
                A = max(A, apart)
    eta = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        inside = [
            sum(np.linalg.norm(X[i] - X[j]) < delta for j in members if j != i) / (len(members) - 1)
            for i in members
        ]
        eta.append(min(inside))
    return gamma, A, np.array(eta)


@pytest.mark.parametrize("delta", [0.01, 0.4, 1.1, 3.0])
def test_terms_of_the_theorem_are_their_definitions(delta, model, blobs):
    found = theorem_1(model, blobs.X, blobs.codes, delta=delta, epsilon=0.001, Q=2.0)
    gamma, A, eta = literal_terms(blobs.X, model.map_(blobs.X), blobs.codes, delta)
    assert found.gamma == pytest.approx(gamma)
    assert found.A_delta == pytest.approx(A, abs=1e-7)
    np.testing.assert_allclose(found.eta_estimate, eta)
    assert found.lipschitz == pytest.approx(lipschitz_bounds(model, max_iter=0).best)
    assert found.left == pytest.approx(found.lipschitz * delta + np.sqrt(3) * 0.001 + A, abs=1e-7)
    assert found.right == found.gamma / 2
    assert found.met == (found.left <= found.right)
    assert found.class_sizes.tolist() == [22, 17, 12, 9]


def test_bound_of_the_theorem_is_its_formula(squares):
    X, y, fitted = squares
    found = theorem_1(fitted, X, y, delta=0.2, epsilon=0.02, Q=15.0)
    assert found.met
    n, eta, L = 60, found.eta_estimate, found.lipschitz
    literal = 1 - np.exp(-2 * (n * eta - 15) ** 2 / n) - 2 * np.exp(-15 * 0.02**2 / (2 * L**2 * 0.2**2))
    np.testing.assert_allclose(found.bound_estimate, literal)
    assert found.worst_bound_estimate == literal.min()
    assert np.all(
        theorem_1(fitted, X, y, delta=0.2, epsilon=0.02).bound_estimate >= found.bound_estimate
    )
    best = theorem_1(fitted, X, y)
    assert best.met
    assert best.left == best.right
    for delta in np.linspace(0.02, best.largest_delta, 20):
        other = theorem_1(fitted, X, y, delta=delta).worst_bound_estimate
        assert np.isnan(other) or other <= best.worst_bound_estimate + 1e-3
    assert 0.9 < best.worst_bound_estimate <= 1
    assert best.to_dict()["bound_estimate"] == best.worst_bound_estimate
    silent = theorem_1(fitted, X, y, delta=0.2, epsilon=0.02, Q=60.0)
    assert np.isnan(silent.bound_estimate).all()


@pytest.mark.parametrize("epsilon", [None, 1e-4])
@pytest.mark.parametrize("which", ["squares", "blobs"])
def test_largest_delta_is_the_last_that_meets_the_condition(epsilon, which, model, blobs, squares):
    X, y, fitted = squares if which == "squares" else (blobs.X, blobs.codes, model)
    largest = theorem_1(fitted, X, y, epsilon=epsilon).largest_delta
    small = epsilon or 1e-12
    assert largest > 0
    assert theorem_1(fitted, X, y, delta=largest * (1 - 1e-6), epsilon=small).met
    assert not theorem_1(fitted, X, y, delta=largest * (1 + 1e-6), epsilon=small).met


def test_the_constant_of_a_linear_map_is_its_norm(blobs):
    linear = SmoothEmbedding().fit(blobs.X, blobs.codes)
    T = np.random.default_rng(0).standard_normal((5, 2))
    linear.map_ = LinearMap(Affine.linear(np.zeros(5), T))
    linear.scores_ = Scores.nearest(linear.classes_, linear.map_(blobs.X), blobs.codes)
    terms = theorem_1(linear, blobs.X, blobs.codes)
    assert terms.lipschitz == pytest.approx(np.linalg.norm(T, 2))
    with pytest.raises(TypeError, match="`model` must have a kernel map"):
        lipschitz_bounds(linear)


def test_bad_arguments_are_named(model, blobs):
    for name in ("delta", "epsilon", "Q"):
        with pytest.raises(ValueError, match=rf"`{name}` must be a positive, finite number\. Got -1"):
            theorem_1(model, blobs.X, blobs.codes, **{name: -1})
    with pytest.raises(ValueError, match=r"`y` must hold two classes or more\. Got \[1\]"):
        theorem_1(model, blobs.X, np.ones(60, dtype=int))
    with pytest.raises(ValueError, match=r"`max_iter` must be a whole number, at least 0\. Got 1.5"):
        lipschitz_bounds(model, max_iter=1.5)


def literal_separation(Y, y, point, label, skip=None):
    """(b − a)/max(a, b) of one point."""
    distances = [
        (np.linalg.norm(point - z), c) for k, (z, c) in enumerate(zip(Y, y, strict=True)) if k != skip
    ]
    a = min((r for r, c in distances if c == label), default=np.inf)
    b = min(r for r, c in distances if c != label)
    return -1.0 if np.isinf(a) else (b - a) / max(a, b)


def test_separation_is_its_definition(blobs, unseen):
    Y, y = blobs.X[:, :2], np.where(np.arange(60) == 7, 11, blobs.codes)  # a class of one sample
    X, labels = unseen
    new = separation(Y, y, X[:, :2], labels, same=False)
    pairs = zip(X[:, :2], labels, strict=True)
    np.testing.assert_allclose(new, [literal_separation(Y, y, *pair) for pair in pairs], atol=1e-7)
    old = separation(Y, y, Y, y, same=True)
    expected = [literal_separation(Y, y, Y[k], y[k], skip=k) for k in range(60)]
    np.testing.assert_allclose(old, expected, atol=1e-7)
    assert old[7] == -1


def test_report_finds_structure(model, blobs, unseen):
    report = generalization_report(model, *unseen, blobs.X, blobs.codes, n_permutations=9)
    assert report.p_value == 0.1
    assert report.test_error == pytest.approx(1 - model.score(*unseen))
    assert report.permuted_test.mean() < report.test_separation.mean() < report.train_separation.mean()
    assert report.to_dict()["gap"] == report.gap > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # warnings of fits to shuffled labels are only counted
        generalization_report(model, *unseen, blobs.X, blobs.codes, n_permutations=1)


def test_calibration_counts_every_sample_once():
    rng = np.random.default_rng(0)
    radius, wrong = rng.random(47), rng.random(47) < 0.3
    bins = calibration(radius, wrong)
    assert bins.count.sum() == 47
    assert (bins.error * bins.count).sum() == pytest.approx(wrong.sum())
    assert np.all(bins.upper[:-1] <= bins.lower[1:])
    pairs = [(r, w) for r in radius[~wrong] for w in radius[wrong]]
    assert bins.ranking == pytest.approx(np.mean([r > w for r, w in pairs]))
    assert np.isnan(calibration(radius, np.zeros(47, dtype=bool)).ranking)
