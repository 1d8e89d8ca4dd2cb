"""Compute the scatter within classes, S_w = Z'LZ with the Laplacian L of a within-class graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.graphs import members_by_size, within_class_graph
from nsse.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Share of the largest degree that makes a Laplacian, which is singular, factorizable.
RIDGE = 1e-11
# Values that are worked on at a time if rows leave a metric.
MOST_VALUES = 250_000
# Columns of a symmetric product that are worked on at a time.
PANEL = 64
# With up to so many features per row, n × n matrices take less work for new samples.
WIDE = 1.4


@dataclass(frozen=True)
class Scatter:
    """Contain S_w by its edges, and ρ, from which distances without a row are computed.

    Attributes
    ----------
    edges : csr_array of shape (n_rows, n_rows)
        ω_ij / (2 Σ ω) of the joined rows.
    floor : float
        ρ, for rows of order one (`centered`).
    """

    edges: sparse.csr_array
    floor: float

    def left_out_distances(self, D2: Floats, rows: Rows, left: Ints) -> Floats:
        """Return squared distances of some rows to all, each in the metric without its own edges.

        ``D2`` are all squared distances in the metric. S_w without the edges of row i is
        S_w − Σ_e c_e (x_i − x_e)(x_i − x_e)'. Let V have the rows √c_e A(x_i − x_e), and let
        q = V A(x_i − x_j). The squared distance of i and j is then ‖A(x_i − x_j)‖² + q'(ρI − VV')⁻¹ q,
        with the same ρ.
        """
        lost = self._lost(rows, left)
        counts = np.diff(self.edges.indptr)[left]
        order = np.argsort(counts)  # those with as many edges together
        size = max(1, MOST_VALUES // (len(D2) * max(1, int(counts.max(initial=0)))))
        out = D2[left]
        for start in range(0, len(left), size):
            part = order[start : start + size]
            y = self._whitened(D2, left[part], counts[part], lost)
            out[part] += np.einsum("rej,rej->rj", y, y)
        return out

    def _lost(self, rows: Rows, left: Ints) -> Floats:
        """Return what every edge loses if one sample of the row that it begins at is left out."""
        lost = self.edges.data.copy()
        for i in left[rows.removed[left] < rows.weights[left]]:
            # The weight of an edge is the mean weight of its ends, and the row stays.
            own = slice(self.edges.indptr[i], self.edges.indptr[i + 1])
            lost[own] *= rows.removed[i] / (rows.weights[i] + rows.weights[self.edges.indices[own]])
        return np.asarray(lost)

    def _whitened(self, D2: Floats, left: Ints, counts: Ints, lost: Floats) -> Floats:
        """Return H⁻¹q of some rows and all others, with HH' = ρI − VV'."""
        steps = np.arange(int(counts.max()))
        # Rows with fewer edges are filled up with edges to themselves, which weigh nothing.
        filled = steps < counts[:, np.newaxis]
        places = (self.edges.indptr[left][:, np.newaxis] + steps)[filled]
        ends, c = np.repeat(left[:, np.newaxis], len(steps), axis=1), np.zeros(filled.shape)
        ends[filled], c[filled] = self.edges.indices[places], np.sqrt(lost[places])
        # (u_e − u_i)'(u_i − u_j) = (‖u_e − u_j‖² − ‖u_i − u_j‖² − ‖u_e − u_i‖²)/2
        own = D2[left[:, np.newaxis], ends]
        among = D2[ends[:, :, np.newaxis], ends[:, np.newaxis]] - own[:, np.newaxis]
        inner = (among - own[:, :, np.newaxis]) * (c[:, :, np.newaxis] * c[:, np.newaxis] / 2.0)
        inner += self.floor * np.eye(ends.shape[1])
        half = np.linalg.inv(np.linalg.cholesky(inner)) * (c[:, np.newaxis] / 2.0)
        # One product for the rows of the ends, and for row i, which is subtracted from each of them.
        half = np.concatenate([half, -half.sum(axis=2, keepdims=True)], axis=2)
        q = half @ D2[np.concatenate([ends, left[:, np.newaxis]], axis=1)]
        q -= half[:, :, :-1] @ own[:, :, np.newaxis]
        return np.asarray(q)


@dataclass(frozen=True)
class ClassRoots:
    """Contain F with FF' = L for a within-class graph, by blocks of classes of one size."""

    blocks: list[tuple[Ints, NDArray[Any]]]

    @classmethod
    def of(cls, W: sparse.csr_array, codes: Ints) -> ClassRoots:
        """Factorize the Laplacian of a graph with the weights W."""
        blocks, groups = [], members_by_size(codes)
        place, first = np.empty((2, len(codes)), dtype=np.intp)
        ends = np.cumsum([0] + [own.size * own.shape[1] for own in groups])
        for own, start in zip(groups, ends, strict=False):  # blocks lie one behind the other
            place[own] = np.arange(own.shape[1])
            first[own] = start + own.shape[1] * np.arange(own.size).reshape(own.shape)
        values = np.zeros(ends[-1])
        values[np.repeat(first, np.diff(W.indptr)) + place[W.indices]] = -W.data
        for own, part in zip(groups, np.split(values, ends[1:-1]), strict=True):
            L = part.reshape(*own.shape, -1)
            sums = -L.sum(axis=2)
            least = RIDGE * np.maximum(sums.max(axis=1, keepdims=True), 1e-300)
            np.einsum("cii->ci", L)[...] = sums + least
            F = np.linalg.cholesky(L)[:, :, :-1].transpose(0, 2, 1)  # the last column is zero
            blocks.append((own, F))
        return cls(blocks)

    def times(self, A: Floats) -> Floats:
        """Return F'A."""
        parts = []
        for members, F in self.blocks:
            own = A[members]
            own -= A[members[:, :1]]  # F'1 = 0: changes nothing but rounding
            parts.append((F @ own).reshape(members.size - len(members), A.shape[1]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def combined(self, B: Floats, n_rows: int) -> Floats:
        """Return FB, of shape (n_rows, B.shape[1])."""
        found, start = np.zeros((n_rows, B.shape[1])), 0
        for members, F in self.blocks:
            stop = start + members.size - len(members)
            part = B[start:stop].reshape(len(members), -1, B.shape[1])
            found[members] = F.transpose(0, 2, 1) @ part
            start = stop
        return found


def scatter_edges(
    Z: Floats,
    codes: Ints,
    weight: Floats,
    n_neighbors: int | None,
    G: Floats | None,
    keys: NDArray[np.uint64] | None = None,
) -> Any:
    """Return the graph ω_ij / (2 Σ ω), for whose Laplacian L S_w = Z'LZ.

    ``G`` is ZZ' if it is known. If neighbors have the same distance, ``keys`` determine which one is
    used.
    """
    W: sparse.csr_array = within_class_graph(Z, codes, n_neighbors, G, keys)
    if np.any(weight != weight[0]):
        W.data = (np.repeat(weight, np.diff(W.indptr)) + weight[W.indices]) / 2.0
    W.data /= max(float(W.data.sum()), 1e-300)
    return W


def scatter_matrix(W: sparse.csr_array, Z: Floats) -> Floats:
    """Return S_w = Z'LZ, of which only the lower half is computed."""
    n, LZ = Z.shape[1], np.asarray(W.sum(axis=1)).reshape(-1, 1) * Z - W @ Z
    S = np.zeros((n, n))
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        np.matmul(Z[:, start:stop].T, LZ[:, :stop], out=S[start:stop, :stop])
    return S


def along_scatter(
    Z: Floats, X: Floats, G: Floats, H: Floats, codes: Ints, weight: Floats, n_neighbors: int | None
) -> tuple[Floats, Floats, Floats, float]:
    """Return eigenvalues of S_w of Z, the rows Z and X along its eigenvectors, and tr(S_w)/n.

    ``G`` is ZZ', and ``H`` is XZ'. For every ρ,
    ‖A(u − u')‖² = ‖u − u'‖² − Σ_k v_k/(v_k + ρ) (u_k − u'_k)².
    """
    N, n = Z.shape
    W = scatter_edges(Z, codes, weight, n_neighbors, G)
    if n <= WIDE * N:
        values, V = np.linalg.eigh(scatter_matrix(W, Z))
        return np.maximum(values, 0.0), Z @ V, X @ V, float(values.sum()) / n
    # S_w = B'B. If BB' = VΛV', its eigenvectors are B'VΛ^(−1/2), and BZ' comes from ZZ' alone.
    F = ClassRoots.of(W, codes)
    P = F.times(G)
    values, V = np.linalg.eigh(F.times(P.T))
    kept = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    V = V[:, kept] / np.sqrt(values[kept])
    return values[kept], P.T @ V, F.times(H.T).T @ V, float(values.sum()) / n
