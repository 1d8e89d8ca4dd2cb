"""The graphs of the paper, S and the terms of Eq. (11) against double loops."""

from __future__ import annotations

import numpy as np
import oracles_published as oracles
import pytest
from problems_published import dense_parts, problem_of

from nsse.graphs import ShiftedGraph, gaussian_class_graph, laplacian
from nsse.published.embedding import embed
from nsse.published.trace import Recorder


def squared(X):
    return oracles.squared_distance_matrix(X, X)


@pytest.mark.parametrize("n_neighbors", [1, 3, None])
@pytest.mark.parametrize("beta", [None, 0.7])
def test_within_class_weights_are_those_of_the_loops(make_blobs, n_neighbors, beta):
    X, codes = make_blobs((9, 6, 1))
    order = np.random.default_rng(0).permutation(len(codes))  # nothing needs to be sorted
    X, codes = X[order], codes[order]
    W = gaussian_class_graph(squared(X), codes, n_neighbors, beta)
    expected = oracles.within_class_weights(X, codes, n_neighbors, beta)
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(laplacian(W).toarray(), oracles.laplacian_matrix(expected), atol=1e-12)


def test_edges_between_duplicates_alone_weigh_one():
    D2 = np.zeros((3, 3))
    W = gaussian_class_graph(D2, np.zeros(3, dtype=np.intp), 1, None)
    assert set(W.data) == {1.0}


@pytest.mark.parametrize("mu1", [0.0, 0.3, 20.0])
def test_s_is_the_matrix_of_its_definition(make_blobs, mu1):
    X, codes = make_blobs((8, 5, 2, 1))
    order = np.random.default_rng(1).permutation(len(codes))
    X, codes = X[order], codes[order]
    W = oracles.within_class_weights(X, codes, 3)
    S = oracles.shifted_matrix(W, codes, mu1)
    graph = ShiftedGraph(laplacian(gaussian_class_graph(squared(X), codes, 3, None)), codes, mu1)
    Y = np.random.default_rng(2).standard_normal((16, 3))
    np.testing.assert_allclose(graph(Y), S @ Y, atol=1e-11)
    np.testing.assert_allclose(graph.quadratic(Y), Y.T @ S @ Y, atol=1e-10)
    root = graph.root_times(np.eye(16))
    np.testing.assert_allclose(root.T @ root, S, atol=1e-10)
    assert graph.within(Y) == pytest.approx(oracles.weighted_spread(Y, W), rel=1e-10)
    between = oracles.weighted_spread(Y, oracles.between_class_weights(codes))
    assert graph.between(Y) == pytest.approx(between, rel=1e-10)
    means = [Y[codes == code].mean(axis=0) for code in range(4)]
    np.testing.assert_allclose(graph.class_means(Y), means, atol=1e-12)


@pytest.mark.parametrize("d", [2, 5])
def test_recorded_terms_equal_the_loops_and_sum_to_the_objective(blobs, d):
    problem = problem_of(*blobs, mu1=0.3, n_components=d)
    recorder = Recorder(problem, unit=2.0)
    found = recorder.record("fixed", embed(problem, 0.4))
    step, W = recorder.steps[0], dense_parts(problem)[0]
    terms = oracles.objective_terms(found.Y, found.coef, 0.4, W, blobs.codes, 0.3, 1e-2, 0.1)
    assert step.within == pytest.approx(terms.within, rel=1e-8)
    assert step.between == pytest.approx(terms.between, rel=1e-9)
    assert step.regularity == pytest.approx(terms.regularity, rel=1e-9)
    assert step.scale == pytest.approx(terms.scale, rel=1e-12)
    assert step.objective == pytest.approx(terms.objective, rel=1e-9)
    assert step.excess == pytest.approx(terms.objective + 0.3 * 60 * d, rel=1e-8)
    assert (step.stage, step.sigma, step.iteration) == ("fixed", 0.8, 0)
    assert step.seconds > 0
