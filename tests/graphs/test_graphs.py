"""Graphs against double loops: W_w, L_w, L_b, and S as an operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracles
from nsse.graphs import (
    ShiftedGraph,
    between_class_laplacian,
    between_class_scatter,
    check_affinity,
    gaussian_affinity,
    laplacian,
    shifted,
)
from nsse.graphs.neighbors import nearest, nearest_of_class
from nsse.kernels import squared_distances

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def labelled(sizes, seed, n_features=3):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(seed).standard_normal((len(codes), n_features))
    return X, codes


def affinity(X, codes, n_neighbors=3, beta=None):
    return gaussian_affinity(squared_distances(X), codes, n_neighbors, beta)


def graph_and_matrix(X, codes, mu1=0.7, n_neighbors=3):
    graph = ShiftedGraph.from_affinity(affinity(X, codes, n_neighbors), codes, mu1)
    return graph, oracles.shifted_matrix(oracles.within_class_weights(X, codes, n_neighbors), codes, mu1)


# W_w and L_w


@pytest.mark.parametrize("beta", [None, 0.5, 40.0])
@pytest.mark.parametrize("n_neighbors", [1, 2, 4, 9, 50, None])
def test_within_class_weights_equal_the_double_loop(blobs, n_neighbors, beta):
    W = affinity(*blobs, n_neighbors, beta).toarray()
    np.testing.assert_allclose(
        W, oracles.within_class_weights(*blobs, n_neighbors, beta), rtol=1e-11, atol=1e-14
    )


@pytest.mark.parametrize("unit", [1.0, 1000.0, 1 / 3, 0.1])
def test_neighbours_are_taken_by_value_and_then_by_index(unit):
    """Whole numbers: their squared distances are exact and often equal, in any unit."""
    whole, N = np.random.default_rng(0).integers(0, 5, (90, 3)), 90
    D2 = oracles.squared_distance_matrix(whole, whole)
    expected = {
        (i, j) for i in range(N) for j in sorted(set(range(N)) - {i}, key=lambda j: (D2[i, j], j))[:4]
    }
    everyone = np.arange(N)
    found = nearest(squared_distances((whole + 100) * unit), everyone, everyone, 4)
    assert set(zip(*found, strict=True)) == expected


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    k=st.integers(1, 9) | st.none(),
    seed=st.integers(0, 99),
    ties=st.booleans(),
)
def test_neighbours_of_classes_together_are_those_of_each(sizes, k, seed, ties):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.integers(0, 3, (len(codes), 2)).astype(float) if ties else rng.normal(size=(len(codes), 3))
    D2 = squared_distances(X)
    own = [np.flatnonzero(codes == code) for code in range(len(sizes))]
    expected = {edge for members in own for edge in zip(*nearest(D2, members, members, k), strict=True)}
    found = list(zip(*nearest_of_class(D2, codes, k), strict=True))
    assert len(found) == len(expected)
    assert set(found) == expected


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES, n_neighbors=st.integers(1, 8), seed=st.integers(0, 99))
def test_weights_are_a_symmetric_within_class_graph_without_loops(sizes, n_neighbors, seed):
    X, codes = labelled(sizes, seed)
    W = affinity(X, codes, n_neighbors).toarray()
    assert np.array_equal(W, W.T)
    assert np.all(W >= 0)
    assert np.all(np.diag(W) == 0)
    assert np.all(W[codes[:, np.newaxis] != codes] == 0)
    degrees = np.minimum(n_neighbors, np.bincount(codes)[codes] - 1)
    assert np.all((W > 0).sum(axis=1) >= degrees)


def test_weights_do_not_depend_on_the_order_of_the_samples(blobs):
    X, codes = blobs
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = affinity(X[order], codes[order], 3).toarray()
    np.testing.assert_allclose(
        shuffled, affinity(X, codes, 3).toarray()[np.ix_(order, order)], rtol=1e-10
    )


def test_more_neighbors_than_a_class_has_joins_the_whole_class():
    X, codes = labelled((3, 8), seed=0)
    W = affinity(X, codes, 5).toarray()
    assert np.all(W[:3, :3][~np.eye(3, dtype=bool)] > 0)


def test_a_class_of_one_sample_has_no_edges():
    X, codes = labelled((1, 5), seed=0)
    W = affinity(X, codes).toarray()
    assert np.all(W[0] == 0)
    assert np.all(W[:, 0] == 0)


def test_only_classes_of_one_sample_give_an_empty_graph():
    X, codes = labelled((1, 1, 1), seed=0)
    assert affinity(X, codes).nnz == 0


def test_a_duplicate_is_a_neighbor_with_weight_one_but_no_sample_is_its_own():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0], [3.0, 1.0]])
    W = affinity(X, np.zeros(4, dtype=int), 1).toarray()
    assert W[0, 1] == 1.0
    assert np.all(np.diag(W) == 0)
    assert W[2, 3] > 0
    assert W[0, 2] == W[1, 3] == 0


def test_duplicates_only_have_weight_one():
    W = affinity(np.ones((3, 2)), np.zeros(3, dtype=int), None).toarray()
    np.testing.assert_array_equal(W, np.ones((3, 3)) - np.eye(3))


def test_distances_are_left_as_they_were(blobs):
    D2 = squared_distances(blobs.X)
    before = D2.copy()
    gaussian_affinity(D2, blobs.codes, 3)
    np.testing.assert_array_equal(D2, before)


def test_within_class_laplacian_equals_the_double_loop(blobs):
    L = laplacian(affinity(*blobs)).toarray()
    expected = oracles.laplacian_matrix(oracles.within_class_weights(*blobs, 3))
    np.testing.assert_allclose(L, expected, rtol=1e-11, atol=1e-13)


def test_laplacian_measures_the_spread_along_edges(blobs):
    Y = np.random.default_rng(0).standard_normal((60, 3))
    W = affinity(*blobs)
    spread = np.trace(Y.T @ (laplacian(W) @ Y))
    assert spread == pytest.approx(oracles.weighted_spread(Y, W.toarray()), rel=1e-12)


# L_b


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_between_class_laplacian_and_scatter_equal_the_double_loops(sizes, seed):
    Y, codes = labelled(sizes, seed)
    W_b = oracles.between_class_weights(codes)
    np.testing.assert_array_equal(between_class_laplacian(codes), oracles.laplacian_matrix(W_b))
    assert between_class_scatter(Y, codes) == pytest.approx(oracles.weighted_spread(Y, W_b), abs=1e-10)


def test_between_class_scatter_needs_no_sorted_labels():
    Y, codes = labelled((4, 2, 5), seed=0)
    order = np.random.default_rng(0).permutation(len(Y))
    expected = between_class_scatter(Y, codes)
    assert between_class_scatter(Y[order], codes[order]) == pytest.approx(expected, rel=1e-12)


# S


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99), mu1=st.sampled_from([0.0, 0.01, 1.0, 300.0]))
def test_shifted_graph_equals_its_definition_and_is_positive_semidefinite(sizes, seed, mu1):
    X, codes = labelled(sizes, seed)
    graph, S = graph_and_matrix(X, codes, mu1)
    scale = max(np.abs(S).max(), 1.0)
    Y = np.random.default_rng(seed).standard_normal((len(X), 2))
    for form in (graph, replace(graph, whole=None)):
        np.testing.assert_allclose(form.apply(np.eye(len(X))), S, atol=1e-13 * scale)
        np.testing.assert_allclose(form.quadratic(Y), Y.T @ S @ Y, atol=1e-11 * scale)
    assert np.linalg.eigvalsh(S).min() >= -1e-12 * scale


def test_few_samples_are_held_as_one_block_and_many_class_by_class(blobs, monkeypatch):
    assert graph_and_matrix(*blobs)[0].whole is not None
    monkeypatch.setattr(shifted, "FEW_SAMPLES", 59)
    assert graph_and_matrix(*blobs)[0].whole is None


@pytest.mark.parametrize("mu1", [0.0, 0.7])
def test_few_columns_are_taken_of_all_classes_together(blobs, monkeypatch, mu1):
    X, codes = blobs
    monkeypatch.setattr(shifted, "FEW_SAMPLES", 0)
    graph, S = graph_and_matrix(X, codes, mu1)
    Y = np.random.default_rng(0).standard_normal((len(codes), 2))
    assert len(graph._parts_for(Y)) == 1 < len(graph._parts_for(np.eye(len(codes))))
    L_w = graph_and_matrix(X, codes, 0.0)[1]
    np.testing.assert_allclose(graph.apply(Y), S @ Y, atol=1e-12 * np.abs(S).max())
    np.testing.assert_allclose(graph.quadratic(Y), Y.T @ S @ Y, rtol=1e-12, atol=1e-12)
    assert graph.within(Y) == pytest.approx(np.trace(Y.T @ L_w @ Y), rel=1e-12)
    assert mu1 * graph.pull(Y) == pytest.approx(np.trace(Y.T @ (S - L_w) @ Y), rel=1e-12, abs=1e-12)


def test_shifted_graph_terms_equal_the_double_loops(blobs):
    Y = np.random.default_rng(0).standard_normal((60, 3))
    graph, S = graph_and_matrix(*blobs, mu1=0.7)
    within = oracles.weighted_spread(Y, oracles.within_class_weights(*blobs, 3))
    between = oracles.weighted_spread(Y, oracles.between_class_weights(blobs.codes))
    assert graph.within(Y) == pytest.approx(within, rel=1e-11)
    assert graph.between(Y) == pytest.approx(between, rel=1e-11)
    total = within - 0.7 * between + 0.7 * 60 * np.sum(Y**2)
    assert np.trace(Y.T @ S @ Y) == pytest.approx(total, rel=1e-11)
    assert np.sum(Y * graph.apply(Y)) == pytest.approx(total, rel=1e-11)


@pytest.mark.parametrize("mu1", [0.05, 100.0])
def test_root_of_the_shifted_graph_squares_to_it(blobs, mu1):
    K = np.random.default_rng(0).standard_normal((60, 20))
    graph, S = graph_and_matrix(*blobs, mu1)
    half = graph.root_times(K)
    expected = K.T @ S @ K
    np.testing.assert_allclose(half.T @ half, expected, atol=1e-12 * np.abs(expected).max())


def test_shifted_graph_does_not_see_what_is_constant_on_classes_and_centred():
    """S E a = 0 wherever 1'E a = 0: the class-collapsed embeddings cost nothing."""
    X, codes = labelled((6, 3, 9), seed=0)
    graph, _ = graph_and_matrix(X, codes, mu1=100.0)
    Y = np.array([[1 / 6, 1 / 6], [-1 / 3, 1 / 3], [0.0, -2 / 9]])[codes]
    for form in (graph, replace(graph, whole=None)):
        assert np.abs(form.apply(Y)).max() <= 1e-12
    assert np.abs(graph.root_times(Y)).max() ** 2 <= 1e-12


def test_sparse_and_dense_class_blocks_agree(blobs, monkeypatch):
    A = np.random.default_rng(0).standard_normal((60, 4))
    monkeypatch.setattr(shifted, "FEW_SAMPLES", 0)  # which are dense anyway
    monkeypatch.setattr(shifted, "NARROW", 60)  # class by class
    results = []
    for share, kind in ((2.0, sparse.csr_array), (-1.0, np.ndarray)):
        monkeypatch.setattr(shifted, "DENSE_SHARE", share)
        graph, _ = graph_and_matrix(*blobs)
        assert all(isinstance(block, kind) for block in graph.blocks)
        graph = replace(graph, whole=None)
        half = graph.root_times(A)
        results.append((graph.apply(A), graph.within(A), half.T @ half))
    for by_sparse, by_dense in zip(*results, strict=True):
        np.testing.assert_allclose(by_sparse, by_dense, rtol=1e-11, atol=1e-12)


def test_apply_keeps_its_argument_and_takes_any_memory_order(blobs):
    graph, S = graph_and_matrix(*blobs)
    A = np.asfortranarray(np.random.default_rng(0).standard_normal((60, 4)))
    before = A.copy()
    np.testing.assert_allclose(graph.apply(A), S @ A, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(A, before)


def test_graph_counts_samples_and_classes(blobs):
    graph, _ = graph_and_matrix(*blobs)
    assert (graph.n_samples, graph.n_classes) == (60, 4)
    assert [rows.stop - rows.start for rows in graph.slices] == [22, 17, 12, 9]


def test_unsorted_codes_are_refused():
    X, codes = labelled((3, 4), seed=0)
    W = affinity(X, codes)
    with pytest.raises(ValueError, match=r"^`codes` must be sorted.* Sort the samples by class\.$"):
        ShiftedGraph.from_affinity(W, codes[::-1], 1.0)


# A W_w made elsewhere


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_an_affinity_of_any_kind_is_accepted(kind):
    X, codes = labelled((3, 4), seed=0)
    W = affinity(X, codes).toarray()
    np.testing.assert_array_equal(check_affinity(kind(W), codes).toarray(), W)


def test_an_empty_affinity_is_accepted():
    assert check_affinity(np.zeros((4, 4)), np.array([0, 0, 1, 1])).nnz == 0


@pytest.mark.parametrize("few_rows", [0, 1000], ids=["by class", "whole"])
@pytest.mark.parametrize("counts", [(6, 4, 5), (160, 90, 70)])
def test_rows_that_stand_for_several_samples_are_those_samples(counts, few_rows, monkeypatch):
    """Every row of class c as w_c samples, each copy of the class with the edges of the class."""
    monkeypatch.setattr(shifted, "FEW_ROWS", few_rows)
    X, codes = labelled(counts, 2)
    copies = np.array([3, 1, 2])
    W = gaussian_affinity(squared_distances(X), codes, 3)
    runs = [np.flatnonzero(codes == c) for c in range(3)]
    blocks = [laplacian(W)[run][:, run] for run in runs]
    sizes = copies * np.bincount(codes).astype(float)
    graph = ShiftedGraph.from_blocks(blocks, codes, 0.7, sizes)
    samples = np.concatenate([np.tile(run, w) for run, w in zip(runs, copies, strict=True)])
    W_all = sparse.block_diag(
        [sparse.kron(np.eye(w), W[run][:, run]) for run, w in zip(runs, copies, strict=True)]
    ).toarray()
    S = oracles.shifted_matrix(W_all, codes[samples], 0.7)
    Y = np.random.default_rng(0).normal(size=(len(codes), 4))
    rows, all_rows = Y * graph.roots, Y[samples]
    expected = all_rows.T @ S @ all_rows
    scale = np.abs(expected).max()
    np.testing.assert_allclose(graph.quadratic(rows), expected, atol=1e-12 * scale)
    np.testing.assert_allclose(rows.T @ graph.apply(rows), expected, atol=1e-12 * scale)
    root = graph.root_times(rows)
    np.testing.assert_allclose(root.T @ root, expected, atol=1e-12 * scale)
    np.testing.assert_allclose(rows.T @ rows, all_rows.T @ all_rows, rtol=1e-12)
    L_b = between_class_laplacian(codes[samples])
    assert graph.between(rows) == pytest.approx(np.trace(all_rows.T @ L_b @ all_rows), rel=1e-12)
    assert graph.n_samples == len(samples)
