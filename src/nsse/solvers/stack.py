"""Coordinates for many weights on the same samples at one σ: the small steps after the eigenproblems.

What `pencil.of_pairs` does for one problem, Rayleigh–Ritz, slopes and the judgement of the residuals,
is here done for a stack of them: arrays have one layer for each set of weights. With a hundred samples
a call from Python takes longer than the arithmetic of one of them. Every layer is computed as it would
be alone, to the bit. Samples are normalised, Y'Y = I, and stand for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nsse.graphs import ShiftedGraph
from nsse.kernels import gaussian_log_derivative
from nsse.solvers.constraint import HeldKernel
from nsse.solvers.factors import Factor
from nsse.solvers.krylov import Pairs
from nsse.solvers.pencil import LARGEST_ANGLE, RESIDUAL
from nsse.solvers.problem import Problem

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Layers:
    """Solutions of a stack: λ and dλ/d log σ (layers, d), C and Y (layers, N, d), whether they hold.

    Where ``holds`` is False the coordinates are noise or their residuals are large, and the problem has
    to be solved on its own.
    """

    eigenvalues: Floats
    slopes: Floats
    C: Floats
    Y: Floats
    holds: NDArray[np.bool_]


def refined(
    problems: Sequence[Problem],
    edges: Sequence[Any],
    kernel: HeldKernel,
    factors: Sequence[Factor],
    pairs: Sequence[Pairs],
    sigma: float,
    largest_noise: float,
) -> Layers:
    """From the pairs of every problem, at least one more than coordinates, and its L_w.

    `LinAlgError` where a layer is not to be solved at all.
    """
    d = problems[0].objective.n_components
    C, Y = (
        np.stack([A[:, : d + 1] for A in part]) for part in ([p.C for p in pairs], [p.Y for p in pairs])
    )
    size = np.sqrt(np.einsum("kij,kij->kj", Y, Y))
    noise = EPS * kernel.K.sum(axis=0).max() * np.sqrt(np.einsum("kij,kij->kj", C, C))
    holds = np.all(noise[:, :d] < largest_noise * size[:, :d], axis=1)
    size = np.maximum(size, TINY)[:, np.newaxis]
    C /= size
    Y /= size
    mu2 = np.array([p.objective.mu2 for p in problems])[:, np.newaxis, np.newaxis]
    SY, reduced = _applied([cast(ShiftedGraph, p.graph) for p in problems], edges, Y)
    reduced += mu2 * (_transposed(C) @ C)
    following = np.maximum(reduced[:, d, d], TINY)[:, np.newaxis]
    C, Y, SY = C[:, :, :d], Y[:, :, :d], SY[:, :, :d]
    eigenvalues, Q = _solved(reduced[:, :d, :d], _transposed(Y) @ Y)
    C, Y = C @ Q, Y @ Q
    moved = SY @ Q - Y * eigenvalues[:, np.newaxis]
    dK = gaussian_log_derivative(kernel.K, problems[0].D2, sigma)
    slopes = 2.0 * np.einsum("kij,kij->kj", dK @ C, moved)
    residuals = kernel.transposed @ moved + mu2 * C
    for layer, factor in enumerate(factors):
        residuals[layer] = factor.solve_transposed(residuals[layer])
    # As `pencil` judges them, but with the part of a residual that lies in the span: it only adds.
    lengths = np.sqrt(np.einsum("kij,kij->kj", residuals, residuals))
    relative = lengths / np.sqrt(np.maximum(eigenvalues, TINY))
    gaps = np.maximum(1.0 - eigenvalues / following, EPS)
    small = (relative <= RESIDUAL * np.sqrt(d)) | (relative <= LARGEST_ANGLE * gaps)
    return Layers(eigenvalues, slopes, C, Y, holds & small.all(axis=1))


def _applied(graphs: Sequence[ShiftedGraph], edges: Sequence[Any], Y: Floats) -> tuple[Floats, Floats]:
    """S Y and Y'SY of every layer, from rows less the means of their class: these keep their digits."""
    codes, centring = graphs[0].codes, graphs[0].centring
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    means = np.add.reduceat(Y, starts, axis=1) / sizes[:, np.newaxis]
    centred = Y - means[:, codes]
    mu1 = np.array([graph.mu1 for graph in graphs])[:, np.newaxis, np.newaxis]
    SY = mu1 * sizes[codes][:, np.newaxis] * centred
    for layer, L in enumerate(edges):
        SY[layer] += L @ centred[layer]
    total = Y.sum(axis=1)[:, np.newaxis]
    pull = mu1 * centring * total
    reduced = _transposed(centred) @ SY + _transposed(total) * pull
    return SY + pull, reduced


def _solved(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, ascending, and vectors of the pencils A − λB, small and well-conditioned."""
    inverse = np.linalg.inv(np.linalg.cholesky(B))
    M = inverse @ A @ _transposed(inverse)
    values, U = np.linalg.eigh((M + _transposed(M)) / 2)
    return values, _transposed(inverse) @ U


def _transposed(A: Floats) -> Floats:
    return A.transpose(0, 2, 1)
