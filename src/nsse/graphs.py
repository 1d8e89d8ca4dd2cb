"""Build graphs of nearest neighbors, within classes and among all rows, and their Laplacians.

Rows are joined if either is among the k nearest of the other, so that every graph is symmetric.
Distances are never stored for all pairs. They are stored for one class, or for one block of rows.

The paper's method (`nsse.published`) has distances of all pairs, weights the edges within classes by
exp(−‖x_i − x_j‖²/β), and needs one operator of both its graphs, S.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._support.threads import in_parallel
from nsse._support.types import Floats, Ints, Matrix
from nsse.distances import distances_from, squared_distances, squared_norms

BLOCK_ROWS = 512  # that look for neighbors at a time
MOST_PAIRS = 250_000  # of classes that are worked on together
# Last bits of a squared distance that rounding may change: distances that agree up to 2e-10 are equal.
TIED_BITS = 20


def class_members(codes: Ints) -> list[Ints]:
    """Return the places of the rows of every nonempty class. Rows with the code −1 are left out."""
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []


def members_by_size(codes: Ints) -> list[Ints]:
    """Return places of the rows of classes, (n_classes, size) each.

    Classes of equal size are together.
    """
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes[codes >= 0])
    starts, groups = np.cumsum(sizes) - sizes + len(codes) - sizes.sum(), []
    for size in np.unique(sizes[sizes > 0]):
        own = order[starts[sizes == size][:, np.newaxis] + np.arange(size)]
        step = max(1, MOST_PAIRS // size**2)
        groups += [own[first : first + step] for first in range(0, len(own), step)]
    return groups


def within_class_graph(
    Z: Floats,
    codes: Ints,
    n_neighbors: int | None,
    G: Floats | None = None,
    keys: NDArray[np.uint64] | None = None,
) -> sparse.csr_array:
    """Join rows to the ``n_neighbors`` nearest rows of their class, or to all of them if it is None.

    ``G`` are the inner products of the rows, if they are known. If several rows have the same distance,
    those with the smallest ``keys`` are joined, so that the order of the rows has no influence. Without
    ``keys`` positions and rounding decide.
    """

    def distances(own: Ints) -> Floats:
        if G is not None:
            return distances_from(G[own[:, :, np.newaxis], own[:, np.newaxis]], overwrite=True)
        A = Z[own]
        return distances_from(A @ A.transpose(0, 2, 1), overwrite=True)

    return symmetric_graph(*_class_edges(distances, codes, n_neighbors, keys), len(codes))


def gaussian_class_graph(
    D2: Floats, codes: Ints, n_neighbors: int | None, beta: float | None
) -> sparse.csr_array:
    """Return W_w of the paper, exp(−‖x_i − x_j‖²/β) for the edges of `within_class_graph`.

    ``D2`` are the squared distances of all rows. If β is None, it is the mean squared length of the
    edges.
    """
    here, there = _class_edges(
        lambda own: D2[own[:, :, np.newaxis], own[:, np.newaxis]], codes, n_neighbors
    )
    if beta is None:
        beta = float(D2[here, there].mean()) if len(here) else 0.0
    W = symmetric_graph(here, there, len(codes))
    lengths = D2[np.repeat(np.arange(len(codes)), np.diff(W.indptr)), W.indices]
    W.data = np.exp(-lengths / beta) if beta > 0 else np.ones(W.nnz)  # duplicates: exp(−0/β) = 1
    return W


def without_ties(D2: Floats, keys: NDArray[np.uint64]) -> Ints:
    """Return integers that increase with squared distances, and with keys where distances are equal.

    The bits of positive numbers order them. The last of these bits become the rank of the key.
    """
    ranks = keys.argsort(axis=1, kind="stable").argsort(axis=1)[:, np.newaxis]
    bits = D2.view(np.int64) + (1 << (TIED_BITS - 1))
    return (bits >> TIED_BITS << TIED_BITS) + ranks


def _class_edges(
    distances: Callable[[Ints], Floats],
    codes: Ints,
    k: int | None,
    keys: NDArray[np.uint64] | None = None,
) -> tuple[Ints, Ints]:
    """Return edges from every row to the k nearest of its class. ``distances`` returns new arrays."""
    starts, ends = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for own in members_by_size(codes):
        n_classes, size = own.shape
        n_ends = size - 1 if k is None else min(k, size - 1)
        if n_ends > 0:
            D2 = distances(own)
            D2[:, np.arange(size), np.arange(size)] = np.inf
            lengths = D2 if keys is None else without_ties(D2, keys[own])
            chosen = np.argpartition(lengths, n_ends - 1, axis=2)[:, :, :n_ends]
            starts.append(np.repeat(own, n_ends))
            ends.append(own[np.arange(n_classes)[:, np.newaxis, np.newaxis], chosen].ravel())
    return np.concatenate(starts), np.concatenate(ends)


def neighbor_graph(Z: Matrix, n_neighbors: int) -> sparse.csr_array:
    """Join rows to their ``n_neighbors`` nearest among all, with weights exp(−2 d²/mean d²)."""
    N = Z.shape[0]
    squares = squared_norms(Z)
    k = min(n_neighbors, Z.shape[0] - 1)
    ends, d2 = np.empty((N, k), dtype=np.intp), np.empty((N, k))

    def search(start: int) -> None:
        D2 = squared_distances(Z[start : start + BLOCK_ROWS], Z, squares)
        own = np.arange(len(D2))
        D2[own, own + start] = np.inf
        for place in range(k):  # a few passes take less time than a partition of every row
            there = D2.argmin(axis=1)
            ends[own + start, place], d2[own + start, place] = there, D2[own, there]
            D2[own, there] = np.inf

    in_parallel(search, range(0, N, BLOCK_ROWS), N * N)
    mean = float(d2.mean()) if d2.size else 0.0
    weights = np.exp(-2.0 * d2.ravel() / (mean if mean > 0 else 1.0))
    W = sparse.csr_array((weights, (np.repeat(np.arange(N), k), ends.ravel())), shape=(N, N))
    return sparse.csr_array(W.maximum(W.T))


def symmetric_graph(rows: Ints, columns: Ints, n_rows: int) -> sparse.csr_array:
    """Return W_ij = 1 if there is an edge i → j or j → i, and 0 elsewhere."""
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    W = sparse.csr_array((np.ones(2 * len(rows)), both), shape=(n_rows, n_rows))
    W.data[:] = 1.0
    return W


def laplacian(W: sparse.csr_array) -> sparse.csr_array:
    """Return L = D − W, where D is the diagonal matrix of degrees."""
    return sparse.csr_array(sparse.diags_array(degrees(W)) - W)


def degrees(W: Matrix) -> Floats:
    """Return D_ii = Σ_j W_ij."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


@dataclass(frozen=True)
class ShiftedGraph:
    """The matrix S = L_w + μ1 (N I − L_b) ⪰ 0 as an operator, because it would be dense.

    Departs from the paper, whose L_w − μ1 L_b is indefinite. The constant μ1 N I moves every eigenvalue
    by μ1 N and no eigenvector. With class sizes n_c and class indicators E, L_b = diag(N − n_c) − 11' +
    EE', so

        S = L_w + μ1 (diag(n_c) − EE' + 11'):

    μ1 joins all samples of a class to each other, and centers the embedding. Both Laplacians vanish on
    vectors that are constant in every class, so rows are centered by class first, which keeps the digits
    of nearly constant columns.

    Attributes
    ----------
    L : csr_array of shape (N, N)
        L_w.
    codes : ndarray of shape (N,)
        The class of every row.
    mu1 : float
        μ1.
    """

    L: sparse.csr_array
    codes: Ints
    mu1: float

    @cached_property
    def sizes(self) -> Floats:
        """n_c of every class."""
        return np.bincount(self.codes).astype(np.float64)

    @cached_property
    def indicators(self) -> sparse.csr_array:
        """E, of shape (N, M)."""
        N = len(self.codes)
        return sparse.csr_array((np.ones(N), self.codes, np.arange(N + 1)), shape=(N, len(self.sizes)))

    @cached_property
    def _sums(self) -> sparse.csr_array:
        return sparse.csr_array(self.indicators.T)

    def class_means(self, A: Floats) -> Floats:
        """Return the means of the rows of every class, of shape (M, columns)."""
        return np.asarray(self._sums @ A) / self.sizes[:, np.newaxis]

    def centered(self, A: Floats) -> Floats:
        """Subtract the mean of its class from each row."""
        return np.asarray(A - self.class_means(A)[self.codes])

    @cached_property
    def _joins(self) -> sparse.csr_array:
        """L_w + μ1 diag(n_c), which is S for rows that are centered by class, apart from their sum."""
        return sparse.csr_array(self.L + sparse.diags_array(self.mu1 * self.sizes[self.codes]))

    def __call__(self, A: Floats) -> Floats:
        """Return S A."""
        out: Floats = self._joins @ self.centered(A)
        out += self.mu1 * A.sum(axis=0)
        return out

    def quadratic(self, Y: Floats) -> Floats:
        """Return Y'SY."""
        centered, total = self.centered(Y), Y.sum(axis=0)
        found = centered.T @ (self._joins @ centered) + self.mu1 * np.outer(total, total)
        return np.asarray((found + found.T) / 2)

    def within(self, Y: Floats) -> float:
        """Return tr(Y'L_w Y), the first term of Eq. (11)."""
        return float(np.einsum("ij,ij->", Y, self.L @ Y))

    def between(self, Y: Floats) -> float:
        """Return tr(Y'L_b Y), the second term of Eq. (11) without its weight."""
        sums, total = self._sums @ Y, Y.sum(axis=0)
        own = (len(Y) - self.sizes[self.codes]) @ np.einsum("ij,ij->i", Y, Y)
        return float(own - total @ total + np.einsum("ij,ij->", sums, sums))

    def root_times(self, K: Floats) -> Floats:
        """Return F'K with FF' = S, for factorizations that must not square the condition number."""
        out = np.empty((len(K) + 1, K.shape[1]))
        for members in class_members(self.codes):
            n = len(members)
            block = self.L[members][:, members].toarray() + self.mu1 * (n * np.eye(n) - 1.0)
            values, vectors = np.linalg.eigh(block)
            # ⪰ 0 by construction, so that negative values are rounding errors
            out[members] = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ K[members]
        out[-1] = np.sqrt(self.mu1) * K.sum(axis=0)
        return out
