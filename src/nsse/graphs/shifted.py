"""The shifted graph operator S = L_w + μ1 (N I − L_b) ⪰ 0.

Departs from the paper: its A = L_w − μ1 L_b + μ2 Ψ⁻² is indefinite. Adding the constant μ1 N I moves
every eigenvalue by μ1 N, no eigenvector, and leaves with the closed form of L_b

    S = L_w + μ1 ( diag(n_c) − EE' + 11' ).

Read it: μ1 pulls every class together (a complete graph inside each class) and centres the embedding.
With the samples sorted by class, S is one block per class plus μ1 11': it is applied block by block
and never formed. See ``docs/derivation.md``, section 1.

Few rows may stand for all samples: each of the r_c rows of class c for w_c = n_c/r_c of its n_c samples.
In rows times √w_c, sums of squares over rows are sums over samples, and

    S = L_w + μ1 ( diag(n_c) − E diag(w_c) E' + √w √w' ),

which is the same with w = 1. Whoever uses such a graph gives it rows times √w_c. Rows may also have
weights w_i of their own: the same with EE' of √w_i, and L_w for such rows (`counted_laplacian`).

Where class means are normalised nothing needs to be centred, and 11' has a factor ``centring`` below 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse._errors import rule_error
from nsse._threads import in_parallel
from nsse.graphs.between_class import between_class_scatter, class_contrasts, class_sums, contrast_values
from nsse.graphs.counted import counted_laplacian
from nsse.graphs.within_class import laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Above this share of non-zeros a dense block is multiplied faster than a sparse one.
DENSE_SHARE = 0.1
# Up to this many samples one dense product takes less time than a loop over the classes.
FEW_SAMPLES = 256
# And up to this many one sparse product, where there are fewer columns than rows: so many times fewer
# where the classes' own blocks are held as well.
FEW_ROWS, NARROW = 1000, 8


@dataclass(frozen=True)
class ShiftedGraph:
    """S, held as one within-class Laplacian per class; rows must be sorted by class.

    With few rows they are joined to one block-diagonal matrix, ``whole``. ``sizes`` are those of the
    classes that the rows stand for, None where they stand for themselves.
    """

    codes: Ints
    blocks: tuple[Any, ...]
    mu1: float
    whole: Any = None
    sizes: Floats | None = None
    centring: float = 1.0
    weights: Floats | None = None

    @classmethod
    def from_affinity(
        cls, W: Any, codes: Ints, mu1: float, centring: float = 1.0, weights: Floats | None = None
    ) -> ShiftedGraph:
        """Cut L_w into its class blocks; ``weights`` of rows that W was counted with."""
        if np.any(np.diff(codes) < 0):
            raise rule_error(
                "codes", "be sorted, one class after another", codes, "Sort the samples by class."
            )
        L_w, slices = laplacian(W), class_slices(codes)
        sizes = None
        if weights is not None:
            L_w = counted_laplacian(L_w, weights)
            sizes = np.bincount(codes, weights).astype(np.float64)
        if len(codes) <= FEW_SAMPLES:
            whole = L_w.toarray()
            blocks = tuple(whole[s, s] for s in slices)
            return cls(codes, blocks, float(mu1), whole, sizes, centring, weights)
        blocks = tuple(_dense_if_full(L_w[s, s]) for s in slices)
        return cls(codes, blocks, float(mu1), None, sizes, centring, weights)

    @classmethod
    def from_blocks(
        cls,
        laplacians: Sequence[Any],
        codes: Ints,
        mu1: float,
        sizes: Floats,
        centring: float = 1.0,
        weights: Floats | None = None,
    ) -> ShiftedGraph:
        """From L_c of every class, for rows that stand for classes of these sizes.

        Where rows have ``weights``, L_c is for rows that are times their roots.
        """
        blocks = tuple(_dense_if_full(L_c) for L_c in laplacians)
        whole: Any = None
        if len(codes) <= FEW_SAMPLES:
            whole = np.zeros((len(codes), len(codes)))
            for rows, L_c in zip(class_slices(codes), blocks, strict=True):
                whole[rows, rows] = _dense(L_c)
        elif len(codes) <= FEW_ROWS and all(sparse.issparse(L_c) for L_c in laplacians):
            whole = sparse.csr_array(sparse.block_diag(laplacians))
        if weights is not None:
            weights = weights * (sizes / np.bincount(codes, weights))[codes]
            return cls(codes, blocks, float(mu1), whole, sizes, centring, weights)
        themselves = np.array_equal(sizes, np.bincount(codes))
        return cls(codes, blocks, float(mu1), whole, None if themselves else sizes, centring)

    @cached_property
    def edges(self) -> Any:
        """L_w as one matrix."""
        return sparse.csr_array(sparse.block_diag(self.blocks)) if self.whole is None else self.whole

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @property
    def n_samples(self) -> float:
        """N: how many samples the rows stand for."""
        if self.weights is not None and self.sizes is not None:
            return float(self.sizes.sum())
        return self.n_rows if self.sizes is None else round(float(self.sizes.sum()))

    @cached_property
    def roots(self) -> Floats | None:
        """√w of every row, as a column; None where the rows are the samples."""
        if self.weights is not None:
            return np.sqrt(self.weights)[:, np.newaxis]
        if self.sizes is None:
            return None
        return np.sqrt(self.sizes / np.bincount(self.codes))[self.codes, np.newaxis]

    @property
    def n_classes(self) -> int:
        """M."""
        return len(self.blocks)

    @property
    def indicators(self) -> Floats:
        """E: 1 in the column of the class of a row."""
        return np.asarray(np.eye(self.n_classes)[self.codes])

    @cached_property
    def slices(self) -> list[slice]:
        """Rows of every class."""
        return class_slices(self.codes)

    def apply(self, A: Floats, out: Floats | None = None) -> Floats:
        """S A, class by class: O(nnz(L_w)) + O(N) row operations."""
        out = np.empty_like(A) if out is None else out
        total = self.mu1 * self.centring * self._total(A)  # μ1 1'A

        def fill(part: tuple[slice, Any, Any, Any]) -> None:
            rows, L, n_c, root = part
            # μ1 (n_c I − 11')A_c, the complete graph of the class, and μ1 1(1'A), the centring. Both
            # Laplacians vanish on constants: centred first, nearly constant columns keep their digits.
            centred = self._centred(A, rows)
            if self.mu1 == 0.0:  # edges only
                out[rows] = L @ centred
                return
            np.multiply(centred, self.mu1 * n_c, out=out[rows])
            out[rows] += L @ centred
            out[rows] += root * total

        in_parallel(fill, self._parts_for(A), A.size)
        return out

    def quadratic(self, Y: Floats) -> Floats:
        """Y'SY, every class centred: what is left of a nearly class-constant Y keeps its digits."""
        total = self._total(Y)
        result = self.mu1 * self.centring * np.outer(total, total)
        for rows, L, n_c, _ in self._parts_for(Y):
            centred = self._centred(Y, rows)
            result += centred.T @ (self.mu1 * n_c * centred + L @ centred)
        return result

    def _parts_for(self, A: Floats) -> list[tuple[slice, Any, Any, Any]]:
        """`_parts`; of few rows and far fewer columns all classes together, which takes fewer calls."""
        few = self.whole is None and self.weights is None and self.n_rows <= FEW_ROWS
        return self._joined if few and NARROW * A.shape[1] <= self.n_rows else self._parts

    @cached_property
    def _joined(self) -> list[tuple[slice, Any, Any, Any]]:
        sizes = np.bincount(self.codes).astype(np.float64) if self.sizes is None else self.sizes
        n, root = sizes[self.codes, np.newaxis], 1.0 if self.roots is None else self.roots
        return [(slice(0, self.n_rows), self.edges, n, root)]

    @cached_property
    def _parts(self) -> list[tuple[slice, Any, Any, Any]]:
        """Rows, Laplacian, class sizes and √w of the parts that are worked on at a time."""
        own, roots = np.bincount(self.codes), self.roots
        sizes = own.astype(np.float64) if self.sizes is None else self.sizes
        if self.whole is not None:
            n = sizes[self.codes, np.newaxis]
            return [(slice(0, self.n_rows), self.whole, n, 1.0 if roots is None else roots)]
        if self.weights is not None and roots is not None:
            own_roots = [roots[rows] for rows in self.slices]
            return list(zip(self.slices, self.blocks, sizes.tolist(), own_roots, strict=True))
        per_class = np.ones(len(own)) if self.sizes is None else np.sqrt(sizes / own)
        parts = zip(self.slices, self.blocks, sizes.tolist(), per_class.tolist(), strict=True)
        return list(parts)

    def _total(self, A: Floats) -> Floats:
        """1'A over the samples."""
        roots = self.roots
        return np.asarray(A.sum(axis=0) if roots is None else roots[:, 0] @ A)

    def _centred(self, A: Floats, rows: slice) -> Floats:
        """The rows less the mean of their class, times √w as they are."""
        if self.weights is not None:
            return self._centred_by_weight(A, rows)
        if rows.stop - rows.start < self.n_rows:
            return A[rows] - A[rows].mean(axis=0)
        starts, own = self._runs
        means = np.add.reduceat(A, starts, axis=0)
        means /= own
        spread = means[self.codes]
        return np.subtract(A, spread, out=spread)

    def centred(self, A: Floats) -> Floats:
        """The rows less the means of their classes: what is orthogonal to the class indicators."""
        if self.weights is not None:
            return self._centred_by_weight(A, slice(0, self.n_rows))
        starts, own = self._runs
        return np.asarray(A - (np.add.reduceat(A, starts, axis=0) / own)[self.codes])

    def _centred_by_weight(self, A: Floats, rows: slice) -> Floats:
        assert self.roots is not None
        assert self.sizes is not None
        own, roots, codes = A[rows], self.roots[rows], self.codes[rows]
        first = int(codes[0])
        means = class_sums(roots * own, codes - first) / self.sizes[first : codes[-1] + 1, np.newaxis]
        return own - roots * means[codes - first]

    @cached_property
    def _runs(self) -> tuple[list[int], Ints]:
        """Where each class begins, and how many rows it has, as a column."""
        return [s.start for s in self.slices], np.bincount(self.codes)[:, np.newaxis]

    def within(self, Y: Floats) -> float:
        """tr(Y'L_w Y), the first term of Eq. (11)."""
        parts = self._parts_for(Y)
        return float(sum(np.einsum("ij,ij->", Y[rows], L @ Y[rows]) for rows, L, *_ in parts))

    def between(self, Y: Floats) -> float:
        """tr(Y'L_b Y), the second term of Eq. (11) without its weight."""
        return between_class_scatter(Y, self.codes, self.sizes, self.weights)

    def pull(self, Y: Floats) -> float:
        """tr Y'(diag(n_c) − EE' + 11')Y, the part of S that μ1 weighs, with its centring."""
        total = self._total(Y)
        result = self.centring * float(total @ total)
        for rows, _, n_c, _ in self._parts_for(Y):
            result += float((n_c * self._centred(Y, rows) ** 2).sum())
        return result

    def contrasts(self, A: Floats) -> Floats:
        """G'A with the orthonormal centred class indicators G: what separates the class means."""
        return class_contrasts(A, self.codes, self.sizes, self.weights)

    def from_contrasts(self, T: Floats) -> Floats:
        """G T: constant in every class."""
        sizes = np.bincount(self.codes) if self.sizes is None else self.sizes
        values = (contrast_values(sizes) @ T)[self.codes]
        return values if self.roots is None else values * self.roots

    def root_times(self, K: Floats) -> Floats:
        """F'K with FF' = S, for factorisations that must not square the condition number."""
        out = np.empty((self.n_rows + 1, K.shape[1]))
        sizes = np.bincount(self.codes) if self.sizes is None else self.sizes
        for rows, L_c, n_c in zip(self.slices, self.blocks, sizes, strict=True):
            out[rows] = self._class_root(L_c, n_c, rows).T @ K[rows]
        out[-1] = np.sqrt(self.mu1 * self.centring) * self._total(K)
        return out

    def _class_root(self, L_c: Any, n_c: float, rows: slice) -> Floats:
        dense = _dense(L_c)
        r_c = len(dense)
        root = np.full(r_c, np.sqrt(n_c / r_c)) if self.weights is None else np.sqrt(self.weights[rows])
        block = dense + self.mu1 * (n_c * np.eye(r_c) - np.outer(root, root))
        values, vectors = np.linalg.eigh(block)
        # ⪰ 0 by construction: what is below zero is rounding
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def class_slices(codes: Ints) -> list[slice]:
    """Start and stop of every class that is there, in sorted ``codes``."""
    ends = [*(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _dense(block: Any) -> Floats:
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.float64)


def _dense_if_full(block: Any) -> Any:
    if isinstance(block, np.ndarray):
        return block
    full = block.nnz > DENSE_SHARE * block.shape[0] * block.shape[1]
    return block.toarray() if full else block
