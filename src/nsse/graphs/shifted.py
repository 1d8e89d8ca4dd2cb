"""The shifted graph operator S = L_w + μ1 (N I − L_b) ⪰ 0.

Departs from the paper: its A = L_w − μ1 L_b + μ2 Ψ⁻² is indefinite. Adding the constant μ1 N I moves
every eigenvalue by μ1 N, no eigenvector, and leaves with the closed form of L_b

    S = L_w + μ1 ( diag(n_c) − EE' + 11' ).

Read it: μ1 pulls every class together (a complete graph inside each class) and centres the embedding.
With the samples sorted by class, S is one block per class plus μ1 11': it is applied block by block
and never formed. See ``docs/derivation.md``, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse._threads import in_parallel
from nsse.graphs.between_class import between_class_scatter
from nsse.graphs.within_class import laplacian

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# Above this share of non-zeros a dense block is multiplied faster than a sparse one.
DENSE_SHARE = 0.1


@dataclass(frozen=True)
class ShiftedGraph:
    """S, held as one within-class Laplacian per class; samples must be sorted by class."""

    codes: Ints
    blocks: tuple[Any, ...]
    mu1: float

    @classmethod
    def from_affinity(cls, W: Any, codes: Ints, mu1: float) -> ShiftedGraph:
        """Cut L_w into its class blocks."""
        if np.any(np.diff(codes) < 0):
            raise rule_error(
                "codes", "be sorted, one class after another", codes, "Sort the samples by class."
            )
        L_w = laplacian(W)
        blocks = tuple(_dense_if_full(L_w[s, s]) for s in class_slices(codes))
        return cls(codes, blocks, float(mu1))

    @property
    def n_samples(self) -> int:
        """N."""
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """M."""
        return len(self.blocks)

    @property
    def slices(self) -> list[slice]:
        """Rows of every class."""
        return class_slices(self.codes)

    def apply(self, A: Floats, out: Floats | None = None) -> Floats:
        """S A, class by class: O(nnz(L_w)) + O(N) row operations."""
        out = np.empty_like(A) if out is None else out
        total = self.mu1 * A.sum(axis=0)  # μ1 1'A

        def fill(part: tuple[slice, Any]) -> None:
            rows, L_c = part
            # μ1 (n_c I − 11')A_c, the complete graph of the class, and μ1 1(1'A), the centring. Both
            # Laplacians vanish on constants: centred first, nearly constant columns keep their digits.
            centred = A[rows] - A[rows].mean(axis=0)
            np.multiply(centred, self.mu1 * len(centred), out=out[rows])
            out[rows] += L_c @ centred
            out[rows] += total

        in_parallel(fill, zip(self.slices, self.blocks, strict=True), A.size)
        return out

    def quadratic(self, Y: Floats) -> Floats:
        """Y'SY, every class centred: what is left of a nearly class-constant Y keeps its digits."""
        total = Y.sum(axis=0)
        result = self.mu1 * np.outer(total, total)
        for rows, L_c in zip(self.slices, self.blocks, strict=True):
            centred = Y[rows] - Y[rows].mean(axis=0)
            result += self.mu1 * len(centred) * (centred.T @ centred) + centred.T @ (L_c @ centred)
        return result

    def within(self, Y: Floats) -> float:
        """tr(Y'L_w Y), the first term of Eq. (11)."""
        parts = zip(self.slices, self.blocks, strict=True)
        return float(sum(np.einsum("ij,ij->", Y[rows], L_c @ Y[rows]) for rows, L_c in parts))

    def between(self, Y: Floats) -> float:
        """tr(Y'L_b Y), the second term of Eq. (11) without its weight."""
        return between_class_scatter(Y, self.codes)

    def root_times(self, K: Floats) -> Floats:
        """F'K with FF' = S, for factorisations that must not square the condition number."""
        out = np.empty((self.n_samples + 1, K.shape[1]))
        for rows, L_c in zip(self.slices, self.blocks, strict=True):
            out[rows] = self._class_root(L_c).T @ K[rows]
        out[-1] = np.sqrt(self.mu1) * K.sum(axis=0)
        return out

    def _class_root(self, L_c: Any) -> Floats:
        dense = np.array(L_c.toarray() if hasattr(L_c, "toarray") else L_c)
        n_c = len(dense)
        block = dense + self.mu1 * (n_c * np.eye(n_c) - np.ones((n_c, n_c)))
        values, vectors = np.linalg.eigh(block)
        # ⪰ 0 by construction: what is below zero is rounding
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def class_slices(codes: Ints) -> list[slice]:
    """Start and stop of every class in sorted ``codes``."""
    ends = np.cumsum(np.bincount(codes))
    return [slice(int(start), int(end)) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _dense_if_full(block: Any) -> Any:
    full = block.nnz > DENSE_SHARE * block.shape[0] * block.shape[1]
    return block.toarray() if full else block
