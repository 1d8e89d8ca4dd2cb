"""Scores of samples that lose their label, for every split of the labels at the price of one factor.

Scores are a regression of class indicators on kernel functions with a quadratic penalty
(`solvers.closed_form`). Where samples without a label are centres and f is smooth along their graph,

    minimise Σ_labelled ‖e_i − f(x_i)‖² + c'Qc,   f = Kc,   Q = νI + κ K'LK,

and with H = K_l Q⁻¹ K_l', a kernel between labelled samples, those that keep their label (t) give those
that lose it (v) the scores π + H_vt (H_tt + I)⁻¹ Ē_t. K, L and Q do not know labels: one Cholesky factor
of Q serves every split. A constant at the price α adds 1/α to H.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve
from scipy.linalg.blas import dsyrk, dtrsm

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def label_kernel(K: Floats, smooth: Floats, n_labeled: int, nu: float, kappa: float) -> Floats | None:
    """H, or None where Q is not positive definite in floating point.

    Parameters
    ----------
    K : ndarray of shape (N, N)
        Kernel matrix of all samples, the labelled ones first.
    smooth : ndarray of shape (N, N)
        K'LK; what is above its diagonal is not read.
    n_labeled : int
        l: how many of them have a label.
    nu, kappa : float
        Weights of ‖c‖² and of the smoothness along the graph.
    """
    Q = smooth * kappa
    Q[np.diag_indices(len(Q))] += nu
    R, failed = lapack.dpotrf(Q.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        return None
    half = dtrsm(1.0, R, np.asfortranarray(K[:, :n_labeled]), trans_a=1, overwrite_b=1)
    upper = np.asarray(dsyrk(1.0, half, trans=1))
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T)


def scores_without_labels(
    H: Floats, codes: Ints, train: Ints, valid: Ints, n_classes: int, constant_price: float
) -> Floats:
    """Scores (valid × M) of labelled samples whose labels, and those of no others, are not used."""
    kernel = H if math.isinf(constant_price) else H + 1.0 / constant_price
    shares = np.bincount(codes[train], minlength=n_classes) / len(train)
    targets = np.eye(n_classes)[codes[train]] - shares
    among = kernel[np.ix_(train, train)] + np.eye(len(train))
    weights = solve(among, targets, assume_a="pos", check_finite=False)
    return np.asarray(shares + kernel[np.ix_(valid, train)] @ weights)
