"""Class scores of all rows of a graph, from the labels of a few.

    minimise Σ_labelled ‖ē_i − F_i‖² + κ tr(F'LF) + ε‖F‖²,    so (J + κL + εI) F = JĒ

with Ē the centred class indicators and J the identity on labelled rows (Zhu, Ghahramani & Lafferty
2003; Zhou et al. 2004). F is as free as there are rows: no map with few centres has to follow it. Where
labels are few, F is nearly constant away from them (Nadler, Srebro & Zhou 2009), and a class whose rows
lie close together pulls in those of others. So columns are compared in units of their own: less their
mean over the rows that a label reaches, over their standard deviation (a class mass normalisation, Zhu
et al. 2003). See ``docs/derivation.md``, section 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# ε, which settles what no label does: small beside the 1 of a label.
PRICE = 1e-4
# Where conjugate gradients stop, as a share of the right-hand side, and the steps by which they must.
TOLERANCE, MOST_STEPS = 1e-6, 5000


def spread_scores(L: Any, places: Ints, codes: Ints, n_classes: int, kappa: float) -> Floats:
    """Scores (N × M), −inf in rows that no path joins to a label.

    Parameters
    ----------
    L : sparse matrix of shape (N, N)
        Laplacian of the graph.
    places, codes : ndarrays of int
        Which rows have a label, and their classes.
    n_classes : int
        M; every class has a label.
    kappa : float
        Weight of the smoothness beside a label.
    """
    N = L.shape[0]
    J = np.zeros(N)
    J[places] = 1.0
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    targets = np.zeros((N, n_classes))
    targets[places] = np.eye(n_classes)[codes] - shares
    A = sparse.csr_array(L * kappa + sparse.diags_array(J + PRICE))
    F = conjugate_gradients(A, targets)
    _, part = connected_components(L, directed=False)
    reached = np.isin(part, part[places])
    own = F[reached]
    spread = own.std(axis=0)
    F = (F - own.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    F[~reached] = -np.inf
    return np.asarray(F)


def conjugate_gradients(A: Any, B: Floats) -> Floats:
    """A⁻¹B for a sparse positive definite A, all columns at a time, each with steps of its own.

    SciPy's takes one column: a product of A with all of them costs little more than with one.
    """
    scale = 1.0 / A.diagonal()[:, np.newaxis]
    X, R = np.zeros_like(B), B.copy()
    Z = R * scale
    P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    enough = TOLERANCE**2 * np.einsum("ij,ij->j", B, B)
    for _ in range(MOST_STEPS):
        if np.all(np.einsum("ij,ij->j", R, R) <= enough):
            return X
        AP = A @ P
        step = _over(rz, np.einsum("ij,ij->j", P, AP))
        X += step * P
        R -= step * AP
        np.multiply(R, scale, out=Z)
        before, rz = rz, np.einsum("ij,ij->j", R, Z)
        P *= _over(rz, before)
        P += Z
    told = f"labels did not spread in {MOST_STEPS} steps of conjugate gradients. Lower `spread`."
    raise np.linalg.LinAlgError(told)


def _over(a: Floats, b: Floats) -> Floats:
    """a/b, 0 where a column is solved to the last bit."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
