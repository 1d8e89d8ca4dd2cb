"""Rows that are left out leave the metric and the hull too: against literal definitions."""

import numpy as np
import pytest

from nsse import SmoothEmbedding, WithinMetric
from nsse.left_out import Neighbors


def literal_scatter(Z, codes, n_neighbors):
    """Edges of the within-class graph, as a set of pairs."""
    edges = set()
    for i in range(len(Z)):
        own = [j for j in range(len(Z)) if codes[j] == codes[i] and j != i]
        for j in sorted(own, key=lambda j: np.linalg.norm(Z[i] - Z[j]))[:n_neighbors]:
            edges.add((min(i, j), max(i, j)))
    return edges


def scatter_of(edges, Z, total):
    return sum(np.outer(Z[i] - Z[j], Z[i] - Z[j]) for i, j in edges) / total


def projected(z, Z, M):
    """The nearest point of the affine hull of the rows Z in the metric M."""
    D = (Z[1:] - Z[0]).T
    return Z[0] + D @ np.linalg.lstsq(D.T @ M @ D, D.T @ M @ (z - Z[0]), rcond=1e-10)[0]


@pytest.mark.parametrize("n_features", [3, 40])
def test_scores_are_those_of_a_metric_without_the_edges_of_the_row(make_blobs, n_features):
    """π, unit, ρ, feature weights and the kernel between the other rows are kept."""
    X, codes = make_blobs((8, 7, 9), n_features=n_features, seed=5, spread=1.0)
    model = SmoothEmbedding(metric=WithinMetric(1.0, n_neighbors=3), smoothness=0.2).fit(X, codes)
    Z = X * model.metric_.weights_
    edges = literal_scatter(Z, codes, 3)
    total = 2.0 * len(edges)
    S = scatter_of(edges, Z, total)
    rho = 1.0 * np.trace(S) / n_features
    eye, N = np.eye(n_features), len(codes)

    def kernel(M, z, j):
        return np.exp(-(z - Z[j]) @ M @ (z - Z[j]) / model.sigma_**2)

    whole = rho * np.linalg.inv(S + rho * eye)
    K = np.array([[kernel(whole, Z[i], j) for j in range(N)] for i in range(N)])
    shares = np.bincount(codes) / N

    def left_out(i, *more):
        """s − π at row i by the model without it and others."""
        others = np.setdiff1d(np.arange(N), (i, *more))
        kept = [edge for edge in edges if i not in edge]
        without = rho * np.linalg.inv(scatter_of(kept, Z, total) + rho * eye)
        T = np.eye(3)[codes[others]] - shares
        C = np.linalg.solve(K[np.ix_(others, others)] + 0.2 * np.eye(len(others)), T)
        z = projected(Z[i], np.delete(Z, i, axis=0), without)
        return np.array([kernel(without, z, j) for j in others]) @ C

    for i in range(0, N, 5):
        np.testing.assert_allclose(model._leave_one_out[i], left_out(i) + shares, atol=1e-8)
    one = sum(left_out(i)[codes[i]] for i in range(N))
    pairs = [[left_out(i, j) for j in np.flatnonzero(codes == codes[i]) if j != i] for i in range(N)]
    two = sum(np.mean(scores, axis=0)[codes[i]] for i, scores in enumerate(pairs))
    assert 1.001 < model._leave_one_out_gain < 1.999
    assert model._leave_one_out_gain == pytest.approx(2.0 - two / one, abs=1e-8)


def test_with_many_features_left_out_samples_are_like_new_ones():
    """A metric that knows its rows makes their left-out scores far too good."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), 12)
    means = rng.standard_normal((4, 500))
    X, new = (means[codes] + 2.0 * rng.standard_normal((48, 500)) for _ in range(2))
    model = SmoothEmbedding().fit(X, codes)
    own = model._leave_one_out[np.arange(48), codes].mean()
    unseen = model.decision_function(new)[np.arange(48), codes].mean()
    assert abs(own - unseen) < 0.05


def test_of_equal_rows_the_class_with_the_largest_weight_is_the_nearest():
    """The other class has no row of its own elsewhere, so its row stays behind by more than rounding."""
    embedding, weights = np.array([[1.0], [1.0], [5.0]]), np.array([1.0, 2.0, 1.0])
    near = Neighbors(embedding, np.arange(3), np.array([0, 0, 1]), weights, np.arange(3))
    values = near.scores(np.array(["a", "b", "c"])).values(np.array([[1.0], [1.3], [4.0]]))
    assert values.argmax(axis=1).tolist() == [1, 1, 2]
    assert np.isfinite(values).all()
