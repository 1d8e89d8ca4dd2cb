"""Bound differences of functions around samples by their values and slopes.

Let h = a'f be a difference of two functions. m is its value at a sample, g its gradient behind the
metric, and B its norm. In the space of the kernel, m and g determine a part of h whose squared norm is
m² + σ²‖g‖²/(2γ), with γ = −κ′(0). The rest has the norm R, R² = B² − m² − σ²‖g‖²/(2γ).
`Kernel.local_bound` computes a bound of h(v) from these numbers. The vector v − u is A times the move,
so −g'(v − u) is at most ‖A'g‖ r, and ‖v − u‖ is at most ‖A‖ r.

Lengths behind the metric are measured in σ, and A is divided by its norm. All slopes are then of order
one. Without that, the squares of the slopes of very large samples vanish, and a slope of zero allows any
move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nsse._support.types import Floats, Ints
from nsse.affine import dense_array
from nsse.certificates.front import EPS, PRODUCT_ROUNDING, TINY, Front
from nsse.distances import in_row_blocks
from nsse.kernels import Kernel
from nsse.maps import KernelMap, summed_gradients

if TYPE_CHECKING:
    from nsse.certificates.margins import Margins


@dataclass(frozen=True)
class Local:
    """The second bound of differences of functions at samples.

    Attributes
    ----------
    kernel : Kernel
        The kernel of the map.
    front : Front
        The steps in front of the kernel.
    offset, value, gradient, slope, rest : ndarrays with the shape of the leads of `Duels`
        b less rounding, m, ‖g‖ σ, ‖A'g‖ σ/‖A‖, and R.
    """

    kernel: Kernel
    front: Front
    offset: Floats
    value: Floats
    gradient: Floats
    slope: Floats
    rest: Floats

    @classmethod
    def of(cls, margins: Margins, some: Ints, rivals: Ints) -> Local:
        """Return the bound of some samples for ``rivals`` (n_samples, n_classes, n_functions)."""
        f: Any = margins.member.map
        scores = margins.member.scores
        bounds = margins.bounds
        way = margins.front
        own, error = margins.own[some][:, np.newaxis, :], bounds.of_functions(scores)
        W, b = scores.weights, scores.offsets
        A = W[own][:, :, :, np.newaxis] - W[rivals][:, :, np.newaxis]
        offset = b[own][:, :, :, np.newaxis] - b[rivals][:, :, np.newaxis]
        offset = offset - margins.wrong[some][:, :, np.newaxis, np.newaxis]
        A, grams = A.reshape(len(some), -1, A.shape[-1]), margins.grams[some]
        m = (A @ margins.F[some][:, :, np.newaxis])[:, :, 0]
        B2 = np.square(A @ bounds.factor).sum(axis=2)
        squares = np.stack([np.einsum("npd,npd->np", A @ grams[:, side], A) for side in (0, 1)])
        g, slope = np.sqrt(np.maximum(squares, 0.0))
        # The gradients and their squares are rounded, and a'JJ'a may cancel.
        traces = np.sqrt(32 * EPS * A.shape[2] * np.einsum("isdd->si", grams))[:, :, np.newaxis]
        wrong = (f.kernel.sigma * bounds.gradient_error + traces) * np.linalg.norm(A, axis=2)
        known = np.square(np.maximum(np.abs(m) - 2.0 * error, 0.0))
        known += np.square(np.maximum(g - wrong[0], 0.0)) / (2.0 * f.kernel.curvature)
        R = np.sqrt(np.maximum(B2 - known, 0.0) + 64 * EPS * B2 + TINY)
        g, slope = g + wrong[0], slope * (1.0 + PRODUCT_ROUNDING) + wrong[1]
        slope += 2.0 * way.growth / way.norm * g  # the product with A' is rounded, too
        parts = (part.reshape(offset.shape) for part in (m, g, slope, R))
        return cls(f.kernel, way.select(some), offset, *parts)

    def least(self, radius: Floats) -> Floats:
        """Return the bound of all differences within ``radius``, of shape (n_samples, n_classes)."""
        way, sigma = self.front, self.kernel.sigma
        moved = (way.norm * radius / sigma)[:, :, np.newaxis, np.newaxis]
        off = (way.growth * radius.T + 2.0 * way.error).T[:, :, np.newaxis, np.newaxis] / sigma
        line = self.value - self.slope * moved - self.gradient * off
        bound = self.kernel.local_bound(np.square(moved + off), line, self.rest)
        return self.offset + bound - 16 * EPS * np.abs(line)


def slope_grams(f: KernelMap, Z: Any, way: Front) -> Floats:
    """Return JJ' of the Jacobians of f behind the metric and before all steps, (n_samples, 2, d, d).

    The first are multiplied by σ, and the others by σ over the norm of all steps, so all are of order
    one.
    """
    whole: Any = way.whole
    whole = whole.multiplied(1.0 / way.norm)
    d, centers = f.n_components, dense_array(f.centers)
    # Centers in front of all steps would be dense and as wide as the samples.
    pulled = None if whole.tail is not None else whole.pull_back(centers)

    def grams(rows: Any) -> Floats:
        U = f.metric(Z[rows])
        weights, U = f.kernel.sigma * f.slope_weights(U), dense_array(U)
        out = np.empty((len(rows), 2, d, d))
        J = summed_gradients(weights, U, centers)
        out[:, 0] = J @ J.transpose(0, 2, 1)
        J = (
            whole.pull_back(J)
            if pulled is None
            else summed_gradients(weights, whole.pull_back(U), pulled)
        )
        out[:, 1] = J @ J.transpose(0, 2, 1)
        return out.reshape(len(rows), -1)

    width = d * (len(f.coef) + 2 * max(f.metric.n_outputs, whole.n_features))
    found = in_row_blocks(grams, np.arange(Z.shape[0]), width, 2 * d * d)
    return found.reshape(-1, 2, d, d)
