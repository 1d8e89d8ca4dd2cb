"""A triangular factor of P = K'SK + μ2 I, and what to do when P is ill-conditioned.

The policy, in order:

1. Cholesky of P. Cheap, and P ⪰ μ2 I makes it safe in all ordinary cases.
2. If it breaks down, or its condition number exceeds `LARGEST_CONDITION`, a QR factorisation of the
   stacked factors [F'K; √μ2 I] with FF' = S. The same R in exact arithmetic, about three times the
   work, but P is never formed, so its condition number is never squared.
3. The same if the coordinates found with the Cholesky factor do not solve the problem, as their
   residuals tell (``pencil``): the condition number alone does not say how well those wanted are found.

Which one was used is recorded; the estimator warns about the second and says the remedy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr
from scipy.linalg.blas import dtrmm, dtrsm

from nsse._threads import in_parallel
from nsse.graphs import RowGraph
from nsse.solvers.constraint import HeldKernel

Floats = NDArray[np.float64]
Buffers = tuple[Floats, Floats]  # for SK and P

# Up to so many rows LAPACK factors P in one call; beyond, blocks of so many.
WHOLE_UP_TO, BLOCK = 2048, 512
# Above this the small eigenvalues keep fewer than about four digits in the Cholesky route.
LARGEST_CONDITION = 1e13


@dataclass(frozen=True)
class Factor:
    """Upper triangular R with R'R = P; ``condition`` estimates cond(P).

    Of K instead of P where ``method`` is "kernel" (``sample_space``).
    """

    R: Floats
    method: str
    condition: float

    def times(self, A: Floats) -> Floats:
        """R A."""
        return dtrmm(1.0, self.R, np.asfortranarray(A), overwrite_b=0)

    def solve(self, A: Floats) -> Floats:
        """R⁻¹ A."""
        return dtrsm(1.0, self.R, np.asfortranarray(A), overwrite_b=0)

    def solve_transposed(self, A: Floats) -> Floats:
        """R⁻ᵀ A."""
        return dtrsm(1.0, self.R, np.asfortranarray(A), trans_a=1, overwrite_b=0)


def factorize(kernel: HeldKernel, graph: RowGraph, mu2: float, arrays: Buffers | None = None) -> Factor:
    """Factor P by the policy above; ``arrays`` are written over by SK and P."""
    m = kernel.n_centers
    SK, P = arrays or (np.empty_like(kernel.K), np.empty((m, m)))
    graph.apply(kernel.K, out=SK)
    # On and below the diagonal: what lies above is its mirror image, never read.
    kernel.products(SK, P)
    P[np.diag_indices(m)] += mu2
    factor = cholesky(P)
    if factor is None or factor.condition > LARGEST_CONDITION:
        return stacked_qr(kernel.K, graph, mu2)
    return factor


def cholesky(P: Floats) -> Factor | None:
    """From the half of P on and below the diagonal, which is overwritten; None if it is indefinite."""
    # The trace bounds the norm of P, and is near it: one direction dominates.
    norm = float(np.trace(P))
    if len(P) > WHOLE_UP_TO:
        R, failed = P.T, not _lower_factor(P)
    else:
        # The transpose of a C-ordered lower half is the F-ordered upper half that LAPACK takes as is.
        R, failed = lapack.dpotrf(P.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        return None
    reciprocal, _ = lapack.dpocon(R, norm, uplo="U")
    return Factor(R, "cholesky", 1.0 / max(reciprocal, np.finfo(float).tiny))


def _lower_factor(P: Floats) -> bool:
    """L with LL' = P in place of the lower half of P, by blocks; False if P is indefinite.

    One call of LAPACK would hold Ctrl-C for seconds, and run on one thread. The blocks are the same
    whatever the number of threads, and so are the bits. What lies above the diagonal stays as it is:
    who finds P indefinite begins again from there.
    """
    m = len(P)
    for start in range(0, m, BLOCK):
        here, after = slice(start, min(start + BLOCK, m)), start + BLOCK
        R, failed = lapack.dpotrf(np.asfortranarray(P[here, here].T), lower=0, clean=0, overwrite_a=1)
        if failed:
            return False
        P[here, here] = R.T
        rows = [slice(first, min(first + BLOCK, m)) for first in range(after, m, BLOCK)]

        def below(part: slice, here: slice = here, R: Floats = R) -> None:
            # L_ik = P_ik L_kk⁻ᵀ.
            P[part, here] = dtrsm(1.0, R, np.asfortranarray(P[part, here].T), trans_a=1, overwrite_b=1).T

        def update(part: slice, here: slice = here, after: int = after) -> None:
            # P_ij − L_ik L_jk', for all blocks j up to the diagonal.
            P[part, after : part.start] -= P[part, here] @ P[after : part.start, here].T
            P[part, part] -= np.tril(P[part, here] @ P[part, here].T)

        for work in (below, update):
            in_parallel(work, rows[::-1], max(m - after, 0) ** 2)  # the longest first
    return True


def stacked_qr(K: Floats, graph: RowGraph, mu2: float) -> Factor:
    """R of [F'K; √μ2 I]: step 2 of the policy."""
    m = K.shape[1]
    stacked = np.vstack([graph.root_times(K), np.sqrt(mu2) * np.eye(m)])
    (R,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
    R = np.asfortranarray(R[:m])
    reciprocal, _ = lapack.dpocon(R, float((R**2).sum()), uplo="U")
    return Factor(R, "qr", 1.0 / max(reciprocal, np.finfo(float).tiny))
