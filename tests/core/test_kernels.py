"""Distances, kernel, median and graphs against SciPy, scikit-learn and plain loops."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from nsse.affine import Affine
from nsse.distances import median_distance, squared_distances
from nsse.graphs import laplacian, neighbor_graph, within_class_graph
from nsse.kernels import Exponential, Gaussian, Kernel, Matern32
from nsse.kernels.base import EPS
from nsse.maps import KernelMap, LinearMap, summed_gradients


def test_distances_are_those_of_scipy(blobs):
    A, B = blobs.X[:20], blobs.X[20:]
    np.testing.assert_allclose(squared_distances(A, B), cdist(A, B, "sqeuclidean"), atol=1e-12)
    one = sparse.csr_array(A)
    np.testing.assert_allclose(squared_distances(one, one), cdist(A, A, "sqeuclidean"), atol=1e-12)


def test_rows_beyond_all_numbers_are_infinitely_far(blobs):
    D2 = squared_distances(np.full((1, 5), 1e200), blobs.X)
    assert np.all(np.isinf(D2))
    assert np.all(Gaussian().at(1.0)(D2) == 0.0)


@pytest.mark.parametrize("n_rows", [2, 7, 60, 700])  # from many pairs on only the middle is looked at
def test_the_median_is_that_of_all_pairs(n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    assert median_distance(squared_distances(X, X)) == pytest.approx(np.median(pdist(X) ** 2) ** 0.5)


def test_pairs_in_one_place_do_not_count():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [3.0]])
    assert median_distance(squared_distances(X, X)) == 2.0


@pytest.mark.parametrize("far", [1e6, 1e8, 999999999.0, 1e15])
def test_a_far_row_does_not_change_which_other_pairs_count(far):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[1] = X[0]
    X[2] = far
    pairs = pdist(X)
    expected = np.median(pairs[pairs > 0] ** 2) ** 0.5
    assert median_distance(squared_distances(X, X)) == pytest.approx(expected)


def test_far_rows_that_rounding_makes_equal_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:15, 0] = 1e9
    with pytest.raises(ValueError, match=r"rounding makes them equal\. Got .* marks gaps"):
        median_distance(squared_distances(X, X))


def test_the_kernel_and_its_slope():
    r, h = np.linspace(0.01, 4, 200), 1e-5
    kernel = Gaussian().at(1.3)
    values = kernel(r[:, np.newaxis] ** 2)
    np.testing.assert_allclose(values[:, 0], np.exp(-(r**2) / 1.69))
    slopes = np.abs(np.gradient(values[:, 0], r))
    assert slopes.max() <= kernel.slope < slopes.max() * 1.001
    wider, narrower = Gaussian().at(1.3 * np.exp(h)), Gaussian().at(1.3 * np.exp(-h))
    expected = (wider(r[:, np.newaxis] ** 2) - narrower(r[:, np.newaxis] ** 2)) / (2 * h)
    derivative = kernel.log_derivative(values, r[:, np.newaxis] ** 2)
    np.testing.assert_allclose(derivative, expected, atol=1e-8)


class Mixture(Kernel):
    """Half of a narrow and half of a wide Gaussian, without closed forms."""

    curvature = 5.05

    def profile(self, t, xp):
        return 0.5 * xp.exp(-10.0 * t) + 0.5 * xp.exp(-0.1 * t)

    def rate(self, t):
        return -5.0 * np.exp(-10.0 * t) - 0.05 * np.exp(-0.1 * t)


class OneProfile(Kernel):
    """A kernel of given functions."""

    def __init__(self, of=None, derivative=None, start=1.0, accuracy=64 * EPS):
        self.of = of
        self.derivative = derivative
        self.start = start
        self.accuracy = accuracy

    @property
    def curvature(self):
        return self.start

    def profile(self, t, xp):
        return self.of(t)

    def rate(self, t):
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.derivative(t)


KERNELS = [Gaussian(), Exponential(), Matern32(), Mixture()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_are_those_of_the_profile_however_rows_come(kernel):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(700, 4)), rng.normal(size=(30, 4))
    V[:, 2] = 0.0
    kernel = kernel.at(1.7)
    expected = kernel.profile(cdist(U, V, "sqeuclidean") / 1.7**2, np)
    squares = np.square(V).sum(axis=1)
    used = [0, 1, 3]
    for found in (
        kernel(cdist(U, V, "sqeuclidean")),
        kernel.between(U, V),
        kernel.between(U, V, squares),
        kernel.between(sparse.csr_array(U), sparse.csr_array(V)),
        kernel.from_products(U[:, used], V[:, used], np.square(U).sum(axis=1), squares),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    single = kernel.between(U, V.astype(np.float32), squares)
    np.testing.assert_allclose(single, expected, rtol=0, atol=1e-5)
    same = kernel.between(U, U)
    np.testing.assert_array_equal(same.diagonal(), 1.0)
    assert np.all(kernel.between(np.full((1, 4), 1e200), V, squares) == 0.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_slopes_bound_the_slope_that_is_found(kernel):
    kernel, r = kernel.at(1.3), np.linspace(1e-3, 8.0, 4001)
    values = kernel(r[:, np.newaxis] ** 2)[:, 0]
    steepest = np.abs(np.diff(values) / np.diff(r)).max()
    assert steepest <= kernel.slope * (1 + 1e-6)
    change = np.sqrt(2.0 - 2.0 * kernel.profile(r**2 / 1.3**2, np))
    if np.isfinite(kernel.curvature):
        assert (change / r).max() <= kernel.unit_slope * (1 + 1e-6)
        np.testing.assert_allclose((change / r)[0], kernel.unit_slope, rtol=0.1)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_reach_inverts_change_and_is_never_larger(kernel):
    kernel = kernel.at(0.7)
    r = np.array([0.0, 1e-6, 1e-3, 0.1, 0.5, 2.0])
    change = kernel.change(r)
    exact = np.sqrt(2.0 - 2.0 * kernel.profile(np.square(r / 0.7), np))
    np.testing.assert_allclose(change, exact, atol=2e-7)
    np.testing.assert_allclose(kernel.reach(change), r, rtol=1e-6)
    assert np.all(np.diff(kernel.reach(np.linspace(0.0, 1.41, 200))) > 0)
    assert np.isinf(kernel.reach(np.array([np.sqrt(2.0), 3.0]))).all()
    if np.isfinite(kernel.curvature):
        # Near zero, 1 − κ has few digits, and both functions allow for `accuracy`.
        assert np.all(kernel.reach(change) <= r * (1 + 1e-9))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient_weights_are_derivatives(kernel):
    rng, h = np.random.default_rng(1), 1e-6
    kernel, U, V = kernel.at(1.4), rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    weights = kernel.gradient_weights(U, V)
    for axis, step in enumerate(h * np.eye(3)):
        slopes = (kernel.between(U + step, V) - kernel.between(U - step, V)) / (2 * h)
        expected = weights * (U[:, np.newaxis, axis] - V[:, axis])
        np.testing.assert_allclose(slopes, expected, atol=1e-8)
    t, h = np.array([0.01, 0.3, 2.0]), 1e-5
    bend = (kernel.rate(t + h * t) - kernel.rate(t - h * t)) / (2 * h * t)
    np.testing.assert_allclose(kernel.bend(t), bend, rtol=1e-5)


def test_the_gradient_of_a_kink_is_zero():
    Z = np.array([[1.0, 2.0], [1e6, 1e6 + 3.0], [3.0, 3.0]])
    weights = Exponential().at(2.0).gradient_weights(Z + 0.0, Z)
    np.testing.assert_array_equal(weights.diagonal(), 0.0)
    assert np.all(weights[~np.eye(3, dtype=bool)] <= 0.0)
    assert weights[0, 2] < 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_rounding_bounds_what_a_change_of_t_does(kernel):
    rng = np.random.default_rng(0)
    t = 10.0 ** rng.uniform(-14, 3, 5000)
    for relative, absolute in ((1e-12, 1e-13), (1e-6, 0.0), (0.0, 1e-9)):
        moved = np.maximum(t * (1.0 + relative * rng.uniform(-1, 1, 5000)), 0.0)
        moved = np.maximum(moved + absolute * rng.uniform(-1, 1, 5000), 0.0)
        change = np.abs(kernel.profile(moved, np) - kernel.profile(t, np)).max()
        bound = kernel.rounding(relative, absolute)
        assert change <= bound * (1.0 + 2.0 * relative) + 2 * EPS
        assert bound <= kernel.fall(np.array([absolute]))[0] + relative + kernel.accuracy


def cauchy(t):
    return 1.0 / (1.0 + t)


@pytest.mark.parametrize("kernel", [*KERNELS, OneProfile(cauchy, lambda t: -(cauchy(t) ** 2))])
def test_valid_kernels_have_no_flaw(kernel):
    assert kernel.flaw() is None
    assert type(kernel).__mro__[1] is Kernel
    checked = type(f"Checked{type(kernel).__name__}", (type(kernel),), {})  # no class that is proved
    assert checked(**kernel.get_params()).flaw() is None
    Z = np.random.default_rng(0).normal(size=(50, 3))
    assert kernel.at(0.8).flaw_among(Z) is None


def power(p):
    return {
        "of": lambda t: np.exp(-(t**p)),
        "derivative": lambda t: -p * t ** (p - 1.0) * np.exp(-(t**p)),
        "start": np.inf if p < 1.0 else 1.0 if p == 1.0 else 1e-9,
    }


def wendland(t):
    return np.maximum(1.0 - np.sqrt(t), 0.0) ** 4 * (4.0 * np.sqrt(t) + 1.0)


def gaussian(t):
    return np.exp(-t)


FLAWS = {
    "exp(-t^2)": (power(2.0), "not completely monotone"),
    "exp(-t^1.3)": (power(1.3), "not completely monotone"),
    "exp(-t^1.01)": (power(1.01), "not completely monotone"),
    "max(1 - t, 0)": (
        {
            "of": lambda t: np.maximum(1.0 - t, 0.0),
            "derivative": lambda t: (np.sign(t - 1.0) - 1.0) / 2.0,
        },
        "not completely monotone",
    ),
    "positive definite in three dimensions": (
        {
            "of": wendland,
            "derivative": lambda t: -10.0 * np.maximum(1.0 - np.sqrt(t), 0.0) ** 3,
            "start": 10.0,
        },
        "not completely monotone",
    ),
    "a difference of Gaussians": (
        {
            "of": lambda t: 1.001 * np.exp(-t) - 0.001 * np.exp(-3.0 * t),
            "derivative": lambda t: -1.001 * np.exp(-t) + 0.003 * np.exp(-3.0 * t),
            "start": 0.998,
        },
        "not completely monotone",
    ),
    "a wave": (
        {
            "of": lambda t: np.exp(-t) * (1.0 - 0.5 * t),
            "derivative": lambda t: np.exp(-t) * (0.5 * t - 1.5),
            "start": 1.5,
        },
        "not completely monotone",
    ),
    "2 at zero": (
        {"of": lambda t: 2.0 * gaussian(t), "derivative": lambda t: -2.0 * gaussian(t), "start": 2.0},
        "is 2 at 0 and not 1",
    ),
    "another rate": ({"of": gaussian, "derivative": lambda t: -1.001 * gaussian(t)}, "its rate is"),
    "another curvature": (
        {"of": gaussian, "derivative": lambda t: -gaussian(t), "start": 0.5},
        "its curvature is 0.5, but its profile falls by 1 t",
    ),
    "a curvature that is infinite": (
        power(0.5) | {"start": 1e4},
        "its curvature is 10000, but its profile",
    ),
    "lost digits": (
        {
            "of": lambda t: (1.0 + t / 1e4) ** -1e4,
            "derivative": lambda t: -((1.0 + t / 1e4) ** -10001.0),
        },
        "its profile is wrong by about",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_flaws_are_found(name):
    given, told = FLAWS[name]
    assert told in OneProfile(**given).flaw()


def test_lost_digits_may_be_stated():
    given, _ = FLAWS["lost digits"]
    kernel = OneProfile(**given, accuracy=1e-11)
    assert kernel.flaw() is None
    assert kernel.rounding(0.0, 0.0) == 1e-11
    assert np.all(
        kernel.reach(np.array([1e-3, 0.1])) <= OneProfile(**given).reach(np.array([1e-3, 0.1]))
    )


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("__call__", "its values are not those of its profile"),
        ("fall", "its `fall` is less than 1 minus its profile"),
        ("reach", "its `reach` is larger than the inverse of `change`"),
    ],
)
def test_closed_forms_that_do_not_fit_the_profile_are_found(method, told):
    def wrong(self, values):
        found = getattr(Matern32, method)(self, values)
        return found * 1.001 if method == "reach" else found * 0.999

    kind = type("Wrong", (Matern32,), {method: wrong})
    assert kind().flaw() == told
    del Kernel.defined[kind.__module__, kind.__qualname__]


class Narrow(Matern32):
    """A profile of its own: the slope of the base class is not its slope."""

    curvature = 6.0

    def profile(self, t, xp):
        return super().profile(4.0 * t, xp)

    def rate(self, t):
        return 4.0 * super().rate(4.0 * t)


class NarrowGaussian(Gaussian):
    curvature = 2.0

    def profile(self, t, xp):
        return xp.exp(-2.0 * t)

    def rate(self, t):
        return -2.0 * np.exp(-2.0 * t)


def test_a_replaced_profile_leaves_the_closed_forms_of_the_base_class_behind():
    t = np.array([0.0, 0.1, 2.0])
    for kernel, base in ((Narrow(), Matern32()), (NarrowGaussian(), Gaussian())):
        assert kernel.flaw() is None
        np.testing.assert_allclose(kernel(t.copy()), kernel.profile(t, np))
        np.testing.assert_allclose(kernel.reach(kernel.change(t)), t, rtol=1e-6)
        steepest = 2.0 * np.sqrt(t) * np.abs(kernel.rate(t))
        assert kernel.slope >= steepest.max() > 0.5 * base.slope
        assert not kernel.has_local_bound
    assert type("Renamed", (Gaussian,), {})().has_local_bound  # the profile is the same


def test_closed_forms_of_a_class_without_a_profile_are_inherited():
    class Shared(Kernel):
        def fall(self, t):
            return super().fall(t)

    class Own(Shared):
        curvature = 1.0

        def profile(self, t, xp):
            return xp.exp(-t)

        def rate(self, t):
            return -np.exp(-t)

    assert Own.fall is Shared.fall


@pytest.mark.parametrize(
    ("base", "stated", "told"),
    [
        (Narrow, {"slope": Matern32.slope}, r"its `slope` is 0.637\d*, but its profile has 1.274"),
        (Narrow, {"unit_slope": 3.0}, "its `unit_slope` is 3, but its profile has 3.4641"),
        (Matern32, {"relative_slope": 0.2}, "its `relative_slope` is 0.2, but its profile has 0.2706"),
        (Matern32, {"change": lambda self, r: r}, "its `change` is less than that of its profile"),
        (
            NarrowGaussian,
            {"has_local_bound": True, "local_bound": Gaussian.local_bound},
            "its `local_bound` is larger than a function that it bounds",
        ),
    ],
)
def test_stated_bounds_that_do_not_hold_are_found(base, stated, told):
    kind = type("Stated", (base,), stated)
    assert re.match(told, kind().flaw())
    del Kernel.defined[kind.__module__, kind.__qualname__]


def test_a_width_makes_a_copy():
    kernel = OneProfile(start=3.0)
    copied = kernel.at(2.0).set_params(start=4.0)
    assert (kernel.sigma, kernel.start, copied.sigma, copied.start) == (1.0, 3.0, 2.0, 4.0)
    assert clone(Gaussian()) is not None


def test_sums_of_gradients_are_those_of_loops():
    rng = np.random.default_rng(0)
    weights, U, Z = rng.normal(size=(5, 2, 7)), rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    ways = U[:, np.newaxis] - Z
    expected = np.einsum("idk,ikn->idn", weights, ways)
    np.testing.assert_allclose(summed_gradients(weights, U, Z), expected, atol=1e-13)
    found = summed_gradients(weights[:, 0], U, sparse.csr_array(Z))
    np.testing.assert_allclose(found, expected[:, 0], atol=1e-13)


def test_graphs_join_the_nearest(blobs):
    W = within_class_graph(blobs.X, blobs.codes, 4).toarray()
    for c in range(4):
        own = blobs.codes == c
        nearest = kneighbors_graph(blobs.X[own], 4).toarray()
        np.testing.assert_array_equal(W[np.ix_(own, own)], np.maximum(nearest, nearest.T))
        assert not W[np.ix_(own, ~own)].any()
    joined = neighbor_graph(blobs.X, 3).toarray() > 0
    nearest = kneighbors_graph(blobs.X, 3).toarray() > 0
    np.testing.assert_array_equal(joined, nearest | nearest.T)


def test_the_laplacian_is_the_sum_over_edges(blobs):
    W = neighbor_graph(blobs.X, 3)
    v = np.random.default_rng(0).normal(size=len(blobs.codes))
    dense = W.toarray()
    expected = 0.5 * np.sum(dense * (v[:, np.newaxis] - v) ** 2)
    assert v @ (laplacian(W) @ v) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [*KERNELS, "linear"], ids=str)
def test_jacobians_are_finite_differences(kind):
    rng = np.random.default_rng(0)
    affine = Affine.linear(rng.normal(size=4), rng.normal(size=(4, 3)))
    if kind == "linear":
        f = LinearMap(affine)
    else:
        f = KernelMap(affine, rng.normal(size=(6, 3)), kind.at(2.0), rng.normal(size=(6, 2)))
    X, h = rng.normal(size=(3, 4)), 1e-6
    J = f.jacobian(X)
    for j in range(4):
        step = h * np.eye(4)[j]
        np.testing.assert_allclose(J[:, :, j], (f(X + step) - f(X - step)) / (2 * h), atol=1e-7)
    directions = rng.normal(size=(3, f.n_components))
    expected = np.einsum("id,idn->in", directions, J)
    np.testing.assert_allclose(f.gradients(X, directions), expected, atol=1e-12)
