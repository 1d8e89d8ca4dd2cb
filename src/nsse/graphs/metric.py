"""A metric that knows the classes: short along the directions in which neighbours of a class differ.

    S_w = Σ over edges (i, j) of (x_i − x_j)(x_i − x_j)' / (2 · edges) = X'LX / (2 · edges),
    ρ = shrinkage · tr(S_w)/n,      A = (ρ (S_w + ρI)⁻¹)^½,

each edge of the within-class graph once, L the Laplacian of its 0/1 weights. Relevant component analysis
(Bar-Hillel et al. 2003), shrunk, on the method's own graph. With S_w = V diag(s) V', V of shape (n, r),

    A = I − V diag(1 − a) V',      a_k = √(ρ/(s_k + ρ)) in (0, 1]:

a contraction, the identity where no edge leads. One decomposition serves every shrinkage. It is taken on
the shorter side: of S_w (n × n), or, with more features than the graph has rank, of L^½ X X' L^½. Either
way the axes are those of a matrix that differs from S_w by rounding, c ε s_1, which moves A by no more
than c ε s_1/(2ρ), c ε n/(2 shrinkage) at worst. See ``docs/derivation.md``, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from nsse._errors import rule_error
from nsse._threads import one_blas_thread
from nsse.graphs.counted import CountedEdges
from nsse.graphs.neighbors import nearest, symmetric_graph
from nsse.graphs.scatters import class_blocks, graph_pieces, graph_rank
from nsse.graphs.within_class import laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)
# Bytes of the largest matrix of axes, n · r · 8; to find it takes two such matrices.
LARGEST_AXES = 2 * 1024**3
# With up to so many features per dimension of the graph, S_w itself is decomposed faster.
WIDE = 1.4


@dataclass(frozen=True)
class ClassRows:
    """Samples without the places of their classes, which no edge sees, and without their magnitude.

    Attributes
    ----------
    points : ndarray or csr_array of shape (N, n)
        Differences to the first sample of the class, over ``unit``: duplicates are zero to the bit,
        sparse rows stay sparse, and squares neither overflow nor underflow.
    codes : ndarray of shape (N,)
        Classes.
    unit : float
        A power of two, in the units of the samples.
    """

    points: Any
    codes: Ints
    unit: float

    @classmethod
    def of(cls, X: Any, codes: Ints) -> ClassRows:
        """Prepare samples, dense or sparse."""
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        X = (sparse.csr_array if sparse.issparse(X) else np.asarray)(X, dtype=np.float64)
        differences = X - X[first[place.ravel()]]
        largest = float(abs(differences).max())
        unit = math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0 else 1.0
        return cls(differences / unit, codes, unit)

    def members(self) -> list[Ints]:
        """Samples of every class."""
        return [np.flatnonzero(self.codes == code) for code in np.unique(self.codes)]


@dataclass(frozen=True)
class WithinScatter:
    """The axes of S_w and the standard deviations along them: A for every shrinkage.

    Attributes
    ----------
    axes : ndarray of shape (n, r)
        V: orthonormal columns, by falling deviation. Directions in which no edge leads are left out.
    deviations : ndarray of shape (r,)
        √s_k, in the units of the samples: s_k itself may be too large or too small for a number.
    """

    axes: Floats
    deviations: Floats

    @property
    def n_features(self) -> int:
        """n."""
        return len(self.axes)

    def factors(self, shrinkage: float) -> Floats:
        """a_k = √(ρ/(s_k + ρ)) = (1 + s_k/ρ)^(−½): ascending, 1 for an infinite shrinkage."""
        relative = self.deviations / np.max(self.deviations, initial=0.0)
        # s_k/ρ = n s_k/(shrinkage Σ s): no unit is left in it.
        ratios = relative * math.sqrt(self.n_features) / np.linalg.norm(relative)
        return np.asarray(1.0 / np.hypot(1.0, ratios / math.sqrt(shrinkage)))

    def matrix(self, shrinkage: float) -> Floats:
        """A, n × n; for few features and for looking at it."""
        reduced = self.axes * (1.0 - self.factors(shrinkage))
        return np.eye(self.n_features) - reduced @ self.axes.T


@dataclass(frozen=True)
class ScatterSum:
    """Σ over edges of (x_i − x_j)(x_i − x_j)', n × n, as blocks of rows add it up.

    For edges inside blocks and up to a few thousand features. With more, take the metric of a subsample
    of the rows: `within_scatter` never forms n × n where the rows are fewer.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        The sum, over ``unit`` squared.
    n_edges : float
        Edges in it.
    unit : float
        In the units of the samples.
    """

    matrix: Floats
    n_edges: float
    unit: float

    @classmethod
    @one_blas_thread()
    def of(cls, rows: ClassRows, W: Any, n_edges: float | None = None) -> ScatterSum:
        """X'LX of a block of rows and the 0/1 graph on them.

        Where samples count several times, W says how many edges there are, and ``n_edges`` all of them.
        """
        Z = rows.points
        _check_room(Z.shape[1], Z.shape[1])
        S: Any = Z.T @ (laplacian(W) @ Z)
        S = S if isinstance(S, np.ndarray) else S.toarray()
        return cls((S + S.T) / 2, W.nnz // 2 if n_edges is None else n_edges, rows.unit)

    @classmethod
    @one_blas_thread()
    def complete(cls, rows: ClassRows, counts: Floats | None = None) -> ScatterSum:
        """The same where all rows of a class are joined: no edge is listed."""
        _check_room(rows.points.shape[1], rows.points.shape[1])
        half, n_edges = _complete_half(rows, counts)
        return cls(half.T @ half, n_edges, rows.unit)

    def __add__(self, other: ScatterSum) -> ScatterSum:
        # A block without scatter has no unit to speak of.
        parts = [part for part in (self, other) if part.matrix.any()] or [self]
        unit = max(part.unit for part in parts)
        S = np.sum([part.matrix * (part.unit / unit) ** 2 for part in parts], axis=0)
        return ScatterSum(S, self.n_edges + other.n_edges, unit)

    @one_blas_thread()
    def decomposed(self) -> WithinScatter:
        """Axes and deviations of S_w."""
        squares, V = _falling(np.linalg.eigh(self.matrix))
        kept = squares > len(V) * EPS * squares[0]
        return _deviating(V[:, kept], squares[kept], self.n_edges, self.unit)


def class_neighbor_graph(
    rows: ClassRows, n_neighbors: int | None, distances: Callable[[Any], Floats]
) -> sparse.csr_array:
    """The method's own within-class graph with weights 1, from the distances inside each class.

    ``distances`` gives the squared distances of all rows handed to it. Nothing larger than the largest
    class squared is formed.
    """
    found = []
    for members in rows.members():
        everyone = np.arange(len(members))
        here, there = nearest(distances(rows.points[members]), everyone, everyone, n_neighbors)
        found.append((members[here], members[there]))
    starts, ends = (np.concatenate(part) for part in zip(*found, strict=True))
    return symmetric_graph(starts, ends, np.ones(len(starts)), len(rows.codes))


def counted_neighbor_graph(
    rows: ClassRows, n_neighbors: int | None, distances: Callable[[Any], Floats], counts: Floats
) -> tuple[sparse.csr_array, float]:
    """The same of rows that count several times: edges between their copies, and how many in all."""
    ends, values, n_edges = [], [], 0.0
    for members in rows.members():
        edges = CountedEdges.of(distances(rows.points[members]), counts[members], n_neighbors)
        a, b = np.nonzero(edges.pairs)
        ends.append((members[a], members[b]))
        values.append(edges.pairs[a, b])
        n_edges += edges.n_edges
    places = tuple(np.concatenate(part) for part in zip(*ends, strict=True))
    N = len(rows.codes)
    return sparse.csr_array((np.concatenate(values), places), shape=(N, N)), n_edges


def within_scatter(rows: ClassRows, W: Any, n_edges: float | None = None) -> WithinScatter:
    """S_w of a 0/1 graph that joins samples of the same class, decomposed on its shorter side.

    Memory: the axes, n · r · 8 bytes with r < N, and as much again while they are found. Nothing of
    size n × n is formed if n exceeds the rank of the graph clearly, and sparse rows stay sparse.
    ``n_edges`` as for `ScatterSum.of`.
    """
    n, rank = rows.points.shape[1], graph_rank(W)
    if n <= WIDE * rank:
        return ScatterSum.of(rows, W, n_edges).decomposed()
    _check_room(n, rank)
    return _from_few_rows(rows, W, rank, W.nnz // 2 if n_edges is None else n_edges)


def complete_scatter(rows: ClassRows, counts: Floats | None = None) -> WithinScatter:
    """The same of the graph that joins all samples of a class: each class by itself, from its mean."""
    N, n = rows.points.shape
    if n <= WIDE * (N - len(np.unique(rows.codes))):
        return ScatterSum.complete(rows, counts).decomposed()
    _check_room(n, N)
    with one_blas_thread():
        half, n_edges = _complete_half(rows, counts)
        V, squares = _principal(half.T)
        return _deviating(_orthonormal(V), squares, n_edges, rows.unit)


def _complete_half(rows: ClassRows, counts: Floats | None) -> tuple[Floats, float]:
    """L^½ X, N × n, with L = n_c I − 11' in every class; and the number of edges."""
    half, n_edges = np.empty(rows.points.shape), 0.0
    for members in rows.members():
        own: Any = rows.points[members]
        own = own if isinstance(own, np.ndarray) else own.toarray()
        size = float(len(members))
        if counts is None:
            half[members] = math.sqrt(size) * (own - own.mean(axis=0))
        else:
            w = counts[members]
            size = float(w.sum())
            half[members] = np.sqrt(size * w)[:, np.newaxis] * (own - w @ own / size)
        n_edges += size * max(size - 1.0, 0.0) / 2.0
    return half, n_edges


@one_blas_thread()
def _from_few_rows(rows: ClassRows, W: Any, rank: int, n_edges: float) -> WithinScatter:
    """S_w = BB'/(2 · edges) through the r × r matrix B'B."""
    V, squares = _principal(_half_scatter(rows, W, rank))
    return _deviating(_orthonormal(V), squares, n_edges, rows.unit)


def _half_scatter(rows: ClassRows, W: Any, rank: int) -> Floats:
    """B = X'L^½ on the range of L, n × r, class by class: BB' = X'LX."""
    B, filled = np.empty((rows.points.shape[1], rank)), 0
    pieces_of = graph_pieces(W)
    for members, W_c in class_blocks(W, np.unique(rows.codes, return_inverse=True)[1]):
        values, Q = np.linalg.eigh(np.diag(W_c.sum(axis=1)) - W_c)
        pieces = len(np.unique(pieces_of[members]))  # as many eigenvalues are zero, and come first
        part = slice(filled, filled := filled + len(members) - pieces)
        B[:, part] = rows.points[members].T @ (Q[:, pieces:] * np.sqrt(values[pieces:]))
    return B


def _principal(B: Floats) -> tuple[Floats, Floats]:
    """Eigenvectors of BB' and their eigenvalues, falling and without those that are rounding."""
    squares, U = _falling(np.linalg.eigh(B.T @ B))
    kept = squares > max(B.shape) * EPS * np.max(squares, initial=0.0)
    return B @ (U[:, kept] / np.sqrt(squares[kept])), squares[kept]


def _orthonormal(V: Floats) -> Floats:
    """Columns that are orthonormal but for rounding, the last ones most, made so to all digits.

    Cholesky's factor of V'V ≈ I: stable here, and several times faster than Householder's QR. V is
    used up.
    """
    if V.shape[1] == 0:
        return V
    factor = linalg.cholesky(V.T @ V, lower=True)
    return np.asarray(linalg.solve_triangular(factor, V.T, lower=True, overwrite_b=True)).T


def _falling(pairs: tuple[Any, Any]) -> tuple[Floats, Floats]:
    values, vectors = pairs
    return values[::-1], vectors[:, ::-1]


def _deviating(V: Floats, squares: Floats, n_edges: float, unit: float) -> WithinScatter:
    n_edges = n_edges if n_edges > 0 else 1.0
    return WithinScatter(np.ascontiguousarray(V), np.sqrt(squares / (2 * n_edges)) * unit)


def _check_room(n_features: int, n_axes: int) -> None:
    size = 8 * n_features * n_axes
    if size > LARGEST_AXES:
        most = f"{LARGEST_AXES / 1024**3:.0f} GiB"
        got = f"{n_features} × {n_axes} × 8 bytes = {size / 1024**3:.1f} GiB"
        cure = "Take the metric from fewer samples, or reduce the features first (TruncatedSVD)."
        raise rule_error("X", f"have axes (features × rank) of at most {most}", got, cure)
