"""Many problems on the same samples: nodes, curves over σ, and how much of the work is shared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh, solve
from scipy.spatial.distance import pdist

from nsse.graphs import ShiftedGraph, gaussian_affinity
from nsse.kernels import median_distance, squared_distances
from nsse.solvers import Objective, Problem, scale_curve, solve_joint, solve_pencil
from nsse.solvers import sweep as sweep_module
from nsse.solvers.many import embed_all
from nsse.solvers.scale_curve import NoScaleError, ScaleCurve, ScaleGrid
from nsse.solvers.sweep import Sweep, Wanted
from nsse.solvers.valleys import valleys
from oracles import kernel_matrix, literal_matrix

BOUNDS = (0.1, 10.0)
SPARE = 4


def of_weights(graph, mu1, mu2):
    return Wanted(graph, Objective(mu1, mu2, 0.0, 0))


def wanted(weights, n_components, mu3, sigma=None):
    objective = replace(weights.objective, n_components=n_components, mu3=mu3)
    return Wanted(weights.graph, objective, sigma)


class Setting:
    """Samples to train with and new ones, in units of length, and everything built on them."""

    def __init__(self, X, codes, X_new, neighbors=(5,)):
        unit = median_distance(squared_distances(X))
        self.X, self.X_new, self.codes = X / unit, X_new / unit, codes
        self.D2 = squared_distances(self.X)
        self.D2_new = ((self.X_new[:, np.newaxis] - self.X) ** 2).sum(axis=2)
        self.W = [gaussian_affinity(self.D2, codes, k) for k in neighbors]

    def sweep(self, n_components):
        graphs = [ShiftedGraph.from_affinity(W, self.codes, 0.0) for W in self.W]
        return Sweep(self.D2, self.D2_new, graphs, min(n_components + SPARE, len(self.codes)))

    def problem(self, weights, n_components, mu3=0.0):
        return Problem.build(
            self.D2,
            self.codes,
            lambda *_: self.W[weights.graph],
            replace(weights.objective, mu3=mu3, n_components=n_components),
        )

    def joint(self, candidate):
        problem = self.problem(
            candidate.shared, candidate.objective.n_components, candidate.objective.mu3
        )
        return solve_joint(
            problem, BOUNDS, tol=1e-10, max_iter=60, rng=np.random.default_rng(0)
        ).solution

    def curve(self, weights, n_components):
        """The coarse nodes of one set of weights."""
        curve, sweep = ScaleCurve(ScaleGrid.over(BOUNDS)), self.sweep(n_components)
        for index in curve.grid.coarse:
            curve.nodes[index] = sweep.solve(curve.grid.sigma(index), [weights])[0]
        return curve


@pytest.fixture(scope="module")
def on_digits(digits):
    """Ten digits of a class to train with, two graphs; the others are new."""
    places = [np.flatnonzero(digits.codes == code) for code in range(10)]
    train = np.concatenate([place[:10] for place in places])
    new = np.concatenate([place[10:12] for place in places])
    return Setting(digits.X[train], digits.codes[train], digits.X[new], neighbors=(5, 2))


@pytest.fixture(scope="module")
def on_blobs(make_blobs):
    """Overlapping clouds in the plane: the kernel soon loses rank, and g may have two valleys."""
    data = make_blobs((40, 30, 20, 15), n_features=2)
    return Setting(data.X, data.codes, data.X[::7] + 0.1)


def span_cosine(A, B):
    """Cosine of the largest angle between the spans of two orthonormal sets."""
    return np.linalg.svd(A.T @ B, compute_uv=False).min()


def only(iterator):
    ((place, embedded),) = iterator
    assert place == 0
    return embedded


def embedded_with_counts(setting, candidate):
    sweep = setting.sweep(candidate.objective.n_components)
    return only(embed_all(sweep, BOUNDS, [candidate])), sweep.counts


# ------------------------------------------------------------------------------------------- at one σ


WEIGHTS = [
    of_weights(0, 1.0, 0.01),
    of_weights(0, 0.1, 0.1),
    of_weights(1, 10.0, 0.001),
    of_weights(1, 0.0, 0.01),
]


@pytest.mark.parametrize("sigma", [0.3, 0.8, 2.0])
def test_a_node_is_the_solution_of_the_pencil(on_digits, sigma):
    d = 9
    nodes = on_digits.sweep(d).solve(sigma, WEIGHTS)
    for weights, node in zip(WEIGHTS, nodes, strict=True):
        alone = solve_pencil(on_digits.problem(weights, d), sigma)
        np.testing.assert_allclose(node.eigenvalues[:d], alone.eigenvalues, rtol=1e-7)
        assert span_cosine(node.Y[:, :d], alone.embedding) > 1 - 1e-7
        assert node.slope(d, 0.0) == pytest.approx(alone.slope, rel=1e-5, abs=1e-8)
        assert node.sigma == sigma
        assert node.rank == d + SPARE


@pytest.mark.parametrize("weights", WEIGHTS)
def test_values_and_slopes_are_those_of_the_literal_objective(on_digits, weights):
    d, mu3, sigma, step = 5, 0.7, 0.6, 1e-4

    def literal(s):
        W = on_digits.W[weights.graph].toarray()
        A = literal_matrix(
            on_digits.D2, on_digits.codes, W, weights.objective.mu1, weights.objective.mu2, s
        )
        shift = weights.objective.mu1 * len(A) * d
        return eigh(A, eigvals_only=True)[:d].sum() + shift + mu3 / s**2

    (node,) = on_digits.sweep(9).solve(sigma, [weights])
    assert node.excess(d, mu3) == pytest.approx(literal(sigma), rel=1e-6)
    quotient = (literal(sigma * np.exp(step)) - literal(sigma * np.exp(-step))) / (2 * step)
    assert node.slope(d, mu3) == pytest.approx(quotient, rel=1e-4, abs=1e-5)


def test_new_samples_go_where_the_literal_map_takes_them(on_digits):
    sigma = 0.5
    (node,) = on_digits.sweep(9).solve(sigma, [WEIGHTS[0]])
    C = solve(kernel_matrix(on_digits.X, on_digits.X, sigma), node.Y)
    Z = kernel_matrix(on_digits.X_new, on_digits.X, sigma) @ C
    np.testing.assert_allclose(node.Z, Z, atol=1e-8)


@pytest.mark.parametrize("d", [1, 4, 9, 15])
def test_the_first_columns_serve_every_smaller_dimension(on_digits, d):
    weights = WEIGHTS[0]
    (large,) = on_digits.sweep(20).solve(0.8, [weights])
    alone = solve_pencil(on_digits.problem(weights, d), 0.8)
    np.testing.assert_allclose(large.eigenvalues[:d], alone.eigenvalues, rtol=1e-7)
    assert span_cosine(large.Y[:, :d], alone.embedding) > 1 - 1e-7


def test_weights_do_not_disturb_each_other(on_digits):
    """Buffers are shared by all weights and by all σ."""
    sweep = on_digits.sweep(9)
    sweep.solve(3.0, WEIGHTS)
    together = sweep.solve(0.7, list(reversed(WEIGHTS)))
    for weights, node in zip(reversed(WEIGHTS), together, strict=True):
        (alone,) = on_digits.sweep(9).solve(0.7, [weights])
        np.testing.assert_array_equal(node.eigenvalues, alone.eigenvalues)
        np.testing.assert_array_equal(node.Y, alone.Y)


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_nodes_solved_together_are_those_solved_one_by_one(on_digits, sigma, monkeypatch):
    together = on_digits.sweep(9).solve(sigma, WEIGHTS)
    monkeypatch.setattr(sweep_module, "STACKED_UP_TO", 0)
    alone = on_digits.sweep(9).solve(sigma, WEIGHTS)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-9)
        np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-5, atol=1e-6)
        assert span_cosine(one.Y[:, :9], other.Y[:, :9]) > 1 - 1e-9
        np.testing.assert_allclose(pdist(one.Z), pdist(other.Z), rtol=1e-5, atol=1e-8)


def test_a_layer_that_needs_care_is_solved_on_its_own(make_blobs, monkeypatch):
    """An ill-conditioned P: what holds of the other weights is kept, to the bit."""
    data = make_blobs((12, 10), n_features=2)
    setting = Setting(data.X, data.codes, data.X[:3])
    singles = []
    node_alone = Sweep._node
    monkeypatch.setattr(
        Sweep, "_node", lambda self, *rest: singles.append(rest[-2]) or node_alone(self, *rest)
    )
    hard, easy = of_weights(0, 1.0, 1e-9), of_weights(0, 1.0, 10.0)
    first, second = setting.sweep(6).solve(2.0, [hard, easy])
    assert hard in singles
    assert easy not in singles
    assert first.rank == 6 + SPARE  # by QR
    (same,) = setting.sweep(6).solve(2.0, [easy])
    np.testing.assert_array_equal(second.Y, same.Y)


def test_what_memory_held_before_does_no_harm(make_blobs, monkeypatch):
    """Only one half of a Gram matrix is written: the other one must not overflow."""
    data = make_blobs((200, 150))
    setting = Setting(data.X, data.codes, data.X[:3])
    sweep = setting.sweep(2)
    monkeypatch.setattr(np, "empty_like", lambda A, *args, **kwargs: np.full(np.shape(A), 1e308))
    (node,) = sweep.solve(0.5, [of_weights(0, 1e3, 0.01)])
    monkeypatch.undo()
    alone = solve_pencil(setting.problem(of_weights(0, 1e3, 0.01), 2), 0.5)
    np.testing.assert_allclose(node.eigenvalues[:2], alone.eigenvalues, rtol=1e-7)


def test_a_kernel_that_loses_rank_gives_fewer_coordinates(make_blobs):
    data = make_blobs((12, 10), n_features=1)
    setting = Setting(data.X, data.codes, data.X[:3] + 0.01)
    ranks = []
    for sigma in (0.1, 1.0, 10.0, 100.0):
        (node,) = setting.sweep(18).solve(sigma, [of_weights(0, 1.0, 1e-6)])
        ranks.append(node.rank)
        assert node.Y.shape == (22, node.rank)
        assert node.Z.shape == (3, node.rank)
        assert np.linalg.norm(node.Y.T @ node.Y - np.eye(node.rank)) < 1e-6
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > ranks[-1] >= 1


# ------------------------------------------------------------------------------------- along the curve


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights", [of_weights(0, 1.0, 0.01), of_weights(0, 0.1, 0.1), of_weights(1, 10.0, 0.001)]
)
def test_the_minimum_agrees_with_the_joint_search(on_digits, weights):
    candidates = [wanted(weights, d, mu3) for d in (2, 5, 9, 14) for mu3 in (0.01, 1.0, 100.0)]
    sweep = on_digits.sweep(14)
    found = dict(embed_all(sweep, BOUNDS, candidates))
    assert sorted(found) == list(range(len(candidates)))
    errors = []
    for place, candidate in enumerate(candidates):
        embedded, joint = found[place], on_digits.joint(candidate)
        assert embedded.Y.shape == (100, candidate.objective.n_components)
        assert embedded.sigma == pytest.approx(joint.sigma, rel=3e-3)
        # The embedding at the σ it was found at, by a fit of its own.
        problem = on_digits.problem(weights, candidate.objective.n_components)
        there = solve_pencil(problem, embedded.sigma)
        Z = kernel_matrix(on_digits.X_new, on_digits.X, embedded.sigma) @ there.coef
        expected = pdist(np.vstack([there.embedding, Z]))
        ours = pdist(np.vstack([embedded.Y, embedded.Z]))
        errors.append(np.abs(ours - expected).max() / expected.max())
    # Mostly far better; worst where two coordinates all but cross between two nodes.
    assert max(errors) < 1e-2
    assert np.median(errors) < 1e-3


@pytest.mark.slow
def test_the_deeper_of_two_valleys_is_found(on_blobs):
    for candidate in (wanted(of_weights(0, 1.0, 0.1), 2, 2.0), wanted(of_weights(0, 1.0, 1.0), 3, 0.5)):
        weights, d, mu3 = candidate.shared, candidate.objective.n_components, candidate.objective.mu3
        scanned = on_blobs.curve(weights, d)._scan(d, mu3)
        assert len(valleys(scanned, scale_curve.NEARLY_AS_DEEP)) == 2  # what this test is about
        embedded, _ = embedded_with_counts(on_blobs, candidate)
        problem = on_blobs.problem(weights, d, mu3)
        dense = [solve_pencil(problem, sigma) for sigma in np.geomspace(0.1, 5.0, 120)]
        best = min(dense, key=lambda solution: solution.excess)
        assert embedded.sigma == pytest.approx(best.sigma, rel=0.03)
        assert solve_pencil(problem, embedded.sigma).excess <= best.excess * (1 + 1e-3)


def test_coordinates_that_cross_are_solved_at_their_own_scale(on_blobs):
    """Between two nodes the leading coordinates changed places: nothing to interpolate."""
    candidate = wanted(of_weights(0, 1.0, 0.001), 8, 20.0)
    embedded, counts = embedded_with_counts(on_blobs, candidate)
    assert counts["solved at their own scale"] == 1
    there = solve_pencil(on_blobs.problem(candidate.shared, 8), embedded.sigma)
    assert span_cosine(embedded.Y, there.embedding) > 1 - 1e-6
    Z = kernel_matrix(on_blobs.X_new, on_blobs.X, embedded.sigma) @ there.coef
    np.testing.assert_allclose(pdist(embedded.Z), pdist(Z), rtol=1e-4, atol=1e-6)


def test_any_cell_may_be_solved_instead_of_interpolated(on_digits, monkeypatch):
    candidate = wanted(of_weights(0, 1.0, 0.01), 9, 1.0)
    interpolated, before = embedded_with_counts(on_digits, candidate)
    monkeypatch.setattr(scale_curve, "LEAST_COSINE", 1.1)  # nothing is near enough
    solved, after = embedded_with_counts(on_digits, candidate)
    assert (before["solved at their own scale"], after["solved at their own scale"]) == (0, 1)
    assert solved.sigma == interpolated.sigma
    expected = pdist(np.vstack([solved.Y, solved.Z]))
    ours = pdist(np.vstack([interpolated.Y, interpolated.Z]))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4 * expected.max())


def test_a_bend_finer_than_the_grid_is_left_to_a_fit_of_its_own(on_blobs):
    """λ_d and λ_{d+1} cross: a node of the grid lies below the valley that slopes lead to."""
    candidate = wanted(of_weights(0, 1.0, 0.01), 2, 7.318)
    sweep = on_blobs.sweep(2)
    assert only(embed_all(sweep, BOUNDS, [candidate])) is None


def test_the_scan_ends_where_g_is_far_above_its_least(on_digits):
    """Up as well: a hundred rows or more are not looked at where a fit would not look."""
    candidate = wanted(WEIGHTS[0], 9, 0.1)
    sweep, tried = on_digits.sweep(9), []
    solve_there = sweep.solve
    sweep.solve = lambda sigma, wanted: tried.append(sigma) or solve_there(sigma, wanted)
    embedded = only(embed_all(sweep, BOUNDS, [candidate]))
    assert embedded.sigma == pytest.approx(on_digits.joint(candidate).sigma, rel=1e-3)
    assert max(tried) < BOUNDS[1] / 2


def test_a_curve_that_ends_falling_is_left_to_a_fit_of_its_own(make_blobs):
    """Beyond the last clean node the objective may fall further; a fit of its own bears more noise."""
    data = make_blobs((12, 10), n_features=1)
    setting = Setting(data.X, data.codes, data.X[:3])
    candidate = wanted(of_weights(0, 1.0, 1e-8), 8, 1e12)
    scanned = setting.curve(candidate.shared, 8)._scan(8, candidate.objective.mu3)
    assert scanned[-1].slope < 0  # what this test is about
    assert scanned[-1].index < ScaleGrid.over(BOUNDS).coarse[-1]
    assert only(embed_all(setting.sweep(8), BOUNDS, [candidate])) is None
    assert setting.joint(candidate).sigma > 1.1 * scanned[-1].sigma


def test_more_coordinates_than_any_scale_carries_are_left_too(on_digits):
    curve = on_digits.curve(of_weights(0, 1.0, 0.01), 3)
    with pytest.raises(NoScaleError):
        curve.minimum(3 + SPARE + 1, 1.0)


@pytest.mark.parametrize(("mu3", "end"), [(0.0, 1.0), (1e9, 4.0)])
def test_a_minimum_at_an_end_is_the_node_there(on_digits, mu3, end):
    candidate = wanted(of_weights(0, 1.0, 0.01), 3, mu3)
    embedded = only(embed_all(on_digits.sweep(3), (1.0, 4.0), [candidate]))
    assert embedded.sigma == pytest.approx(end, rel=1e-12)
    there = solve_pencil(on_digits.problem(candidate.shared, 3), end)
    assert span_cosine(embedded.Y, there.embedding) > 1 - 1e-6


def test_the_fine_grid_holds_the_scan_of_the_joint_search(on_digits):
    steps = []
    problem = on_digits.problem(of_weights(0, 1.0, 0.01), 2, 1.0)
    solve_joint(
        problem, BOUNDS, tol=1e-3, max_iter=5, rng=np.random.default_rng(0), on_step=steps.append
    )
    scanned = [step.sigma for step in steps if step.stage == "scan"]
    grid = ScaleGrid.over(BOUNDS)
    coarse = np.array([grid.sigma(i) for i in grid.coarse])
    assert len(scanned) >= 7  # the joint search leaves out where no minimum can be
    assert all(np.isclose(coarse, sigma, rtol=1e-12).any() for sigma in scanned)


# -------------------------------------------------------------------------------------- what is shared


def counts_of(setting, candidates):
    sweep = setting.sweep(max(candidate.objective.n_components for candidate in candidates))
    found = dict(embed_all(sweep, BOUNDS, candidates))
    assert sorted(found) == list(range(len(candidates)))
    assert all(embedded is not None for embedded in found.values())
    return sweep.counts


def test_given_scales_cost_one_kernel_each_and_one_factor_per_weights(on_digits):
    few = [wanted(w, 9, 1.0, sigma) for w in WEIGHTS for sigma in (0.4, 0.8, 1.6)]
    many = [wanted(c, d, mu3, c.sigma) for c in few for d in (2, 5, 9) for mu3 in (0.1, 1.0)]
    for candidates in (few, many):
        counts = counts_of(on_digits, candidates)
        assert counts["kernel matrices"] == 3
        assert counts["factorisations"] == 3 * len(WEIGHTS)
        assert counts["Gram matrices"] == 3 * 3  # two graphs and the classes


def test_a_given_scale_is_the_node_there(on_digits):
    candidate = wanted(WEIGHTS[0], 4, 1.0, 0.9)
    embedded, _ = embedded_with_counts(on_digits, candidate)
    (node,) = on_digits.sweep(4).solve(0.9, [WEIGHTS[0]])
    np.testing.assert_array_equal(embedded.Y, node.Y[:, :4])
    assert embedded.sigma == 0.9


@pytest.mark.slow
def test_kernels_of_the_search_are_bounded_by_the_grid_whatever_the_weights(on_digits):
    """All weights, μ3 and d look at nodes of one grid; each is computed once for all that need it."""
    n_nodes = len(ScaleGrid.over(BOUNDS).log_sigmas)
    candidates = [
        wanted(of_weights(graph, mu1, mu2), d, mu3)
        for graph in (0, 1)
        for mu1 in (0.1, 1.0)
        for mu2 in (0.001, 0.1)
        for d in (3, 9)
        for mu3 in (0.1, 10.0)
    ]
    counts = counts_of(on_digits, candidates)
    own = counts["solved at their own scale"]
    # One more round for nodes that only some weights asked for at first; each node at most once a curve.
    assert counts["factorisations"] <= 8 * n_nodes + own
    assert counts["kernel matrices"] <= 2 * n_nodes + own
    alone = sum(counts_of(on_digits, [candidate])["kernel matrices"] for candidate in candidates)
    assert counts["kernel matrices"] < alone / 5


def test_mu3_and_dimensions_that_lie_in_the_same_cells_cost_nothing(on_digits):
    few = [wanted(WEIGHTS[0], 9, 1.0)]
    more = [wanted(WEIGHTS[0], 9, 1.0 + 1e-3 * i) for i in range(20)]
    assert counts_of(on_digits, more) == counts_of(on_digits, few)


def test_no_sigma_is_tried_below_which_no_minimum_can_be(on_digits):
    """g ≥ μ3/σ²: the scan ends at the node where that exceeds a value of g, and loses nothing."""
    candidates = [wanted(WEIGHTS[0], d, mu3) for d in (3, 9) for mu3 in (30.0, 300.0)]
    sweep = on_digits.sweep(9)
    tried = []
    solve_there = sweep.solve
    sweep.solve = lambda sigma, wanted: tried.append(sigma) or solve_there(sigma, wanted)
    found = dict(embed_all(sweep, BOUNDS, candidates))
    everywhere = {candidate: on_digits.joint(candidate) for candidate in candidates}
    for place, candidate in enumerate(candidates):
        assert found[place].sigma == pytest.approx(everywhere[candidate].sigma, rel=1e-2)
    assert min(tried) > 2 * BOUNDS[0]
