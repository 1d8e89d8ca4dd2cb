"""The largest eigenpairs of a small symmetric matrix, by the parts that LAPACK is made of.

Its routine for all eigenvectors spends most of its time on those that nobody asked for, its routine for
some of them on bisection. Here M = QTQ' with T tridiagonal (dsytrd), all eigenvalues of T without
vectors (dsterf), inverse iteration for those wanted (dstein), and Q times them (dormqr).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack

Floats = NDArray[np.float64]

# Between so many rows the parts take less time than LAPACK's own routines, and up to the second its
# routine for all eigenvectors less than that for some.
FEWEST, MOST = 70, 450
# Above this share of its rows the vectors wanted are not few.
LARGEST_SHARE = 0.4
# Values beside the diagonal of T below this share of its largest cut it in two; dstein must know.
SPLIT = 1e-14
BLOCK = 32


def largest_eigenpairs(M: Floats, n_pairs: int) -> tuple[Floats, Floats]:
    """The ``n_pairs`` largest eigenvalues, descending, and their vectors.

    Only the half of M on and below the diagonal is read; M is overwritten.
    """
    n = len(M)
    n_pairs = min(n_pairs, n)
    found = None
    if FEWEST <= n <= MOST and n_pairs <= LARGEST_SHARE * n:
        found = _by_parts(M.copy(order="F"), n_pairs)
    if found is None:
        some = {"driver": "evd"} if n <= MOST else _last(n, n_pairs)
        found = eigh(M, lower=True, overwrite_a=True, check_finite=False, **some)
    values, vectors = found
    return values[: -n_pairs - 1 : -1], vectors[:, : -n_pairs - 1 : -1]


def _last(n: int, n_pairs: int) -> dict[str, tuple[int, int]]:
    return {"subset_by_index": (n - n_pairs, n - 1)}


def _by_parts(M: Floats, n_pairs: int) -> tuple[Floats, Floats] | None:
    """The pairs, ascending; None where T falls apart or a step fails."""
    n = len(M)
    reflected, diagonal, beside, tau, failed = lapack.dsytrd(M, lower=1, lwork=BLOCK * n, overwrite_a=1)
    size = np.abs(diagonal).max()
    if failed or not np.abs(beside).min() > SPLIT * size:
        return None
    values, failed = lapack.dsterf(diagonal, beside)
    if failed:
        return None
    values = values[-n_pairs:]
    whole = np.zeros(n, dtype=np.int32)
    whole[0] = n
    Z, failed = lapack.dstein(diagonal, beside, values, np.ones(n, dtype=np.int32), whole)
    if failed:
        return None
    Z = np.asfortranarray(Z[:, :n_pairs])
    # Q does not touch the first row: its reflectors stand below the first subdiagonal.
    lower = np.asfortranarray(reflected[1:, :-1])
    Z[1:], _, _ = lapack.dormqr("L", "N", lower, tau, np.asfortranarray(Z[1:]), lwork=2 * BLOCK * n)
    return values, Z
