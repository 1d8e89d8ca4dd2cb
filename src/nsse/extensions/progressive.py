"""An RBF interpolator of an embedding, refined by samples without a label, a few more in every round.

In the manner of Vural & Guillemot (2016): the interpolator is fitted to the embedding of the labelled
samples; then its values at the others tell their classes, each of those that it is surest of is sent to
where its class lies, and the interpolator is fitted anew. Labels and interpolator change together, until
all samples take part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsse.extensions.rbf import kernel_ridge

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Refined:
    """Coefficients of the interpolator at all samples, and the classes that it came to."""

    coef: Floats
    codes: Ints


def refine(K: Floats, Y: Floats, codes: Ints, ridge: float, n_rounds: int) -> Refined:
    """Refine the interpolator of ``Y``, the embedding of the labelled samples, which come first.

    Parameters
    ----------
    K : ndarray of shape (N, N)
        Kernel matrix of all samples.
    Y : ndarray of shape (l, d)
        Embedding of the first l samples.
    codes : ndarray of shape (l,)
        Their classes.
    ridge : float
        Of the interpolator: how smooth it is.
    n_rounds : int
        In round r of R as many as r/R of the other samples take part.
    """
    n_own, n_other = len(Y), len(K) - len(Y)
    if n_other == 0:
        return Refined(kernel_ridge(K.copy(), Y, ridge, "ridge"), codes)
    taken, targets = np.arange(n_own), Y
    for number in range(1, n_rounds + 1):
        coef = kernel_ridge(K[np.ix_(taken, taken)], targets, ridge, "ridge")
        nearest, told, margins = _sent(K[n_own:, taken] @ coef, Y, codes)
        n_taken = round(number * n_other / n_rounds)
        # The surest ones, the first of equal ones; all of them are asked anew in every round.
        surest = np.sort(np.argsort(-margins, kind="stable")[:n_taken])
        taken = np.concatenate([np.arange(n_own), n_own + surest])
        targets = np.concatenate([Y, Y[nearest[surest]]])
    coef = kernel_ridge(K.copy(), targets, ridge, "ridge")
    return Refined(coef, np.concatenate([codes, told]))


def _sent(F: Floats, Y: Floats, codes: Ints) -> tuple[Ints, Ints, Floats]:
    """Of values of the interpolator the nearest embedded sample, its class, and how sure that is.

    The margin is that between the nearest samples of the nearest two classes, over their sum.
    """
    D = np.sqrt(np.maximum((F**2).sum(1)[:, None] - 2.0 * F @ Y.T + (Y**2).sum(1), 0.0))
    by_class = np.stack([D[:, codes == c].min(axis=1) for c in range(int(codes.max()) + 1)], axis=1)
    first, second = np.sort(by_class, axis=1)[:, :2].T
    nearest = D.argmin(axis=1)
    total = first + second
    margins = np.divide(second - first, total, out=np.zeros_like(total), where=total > 0)
    return nearest, codes[nearest], margins
