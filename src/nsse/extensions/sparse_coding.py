"""The sparse-coding extension of an embedding (Dornaika & Raducanu 2013).

A sample x is coded over the training samples by ℓ1 regression, and embedded where its code is:

    a = argmin ½‖x − Σ a_i u_i‖² + α ‖a‖₁,     y = Σ |a_i| y_i / Σ |a_i|,     u_i = x_i/‖x_i‖.

Atoms of unit length: ‖x‖ ≤ ‖a‖₁ for every exact code, with equality for a multiple of one atom only.
A training sample is thus coded by itself alone, whatever α is, and gets its own coordinates. α is
taken relative to the smallest one that makes the code vanish, max_i |u_i'x|: no unit matters, and the
code is zero only for an x orthogonal to all training samples.

Training samples that are multiples of each other are one atom: their code is not unique, and each gets
an equal share. LARS gives the code to the last digits, so that no order of the samples matters.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from sklearn.preprocessing import normalize

from nsse._threads import one_blas_thread
from nsse.kernels import Shifted, as_dense

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# |cos| of the angle between two samples from which on they are multiples of each other.
PARALLEL = 1.0 - 1e-12
# Largest |cos| to a sample of which nothing but rounding is left.
ORTHOGONAL = 1e-14
# LARS starts with so many of the atoms most similar to the sample; others join where they are needed.
WORKING = 128
# Relative excess from which on an atom that was left out is needed.
NEEDED = 1e-10
# Largest relative excess of a code that passes for optimal.
LARGEST_EXCESS = 1e-2


@dataclass(frozen=True)
class SparseCoder:
    """The extension of the embedding ``Y`` of training samples, ready to be evaluated.

    ``atoms`` are unit vectors, no two parallel; ``values`` the mean coordinates of the samples that each
    stands for, ``group`` the atom of every sample.
    """

    atoms: Any
    gram: Floats
    values: Floats
    group: Ints
    samples: Shifted
    Y: Floats
    alpha: float

    @classmethod
    def at(cls, samples: Any, Y: Floats, alpha: float) -> SparseCoder:
        """Prepare the extension of ``Y`` for codes with the relative penalty ``alpha``."""
        units = normalize(samples.astype(np.float64))
        with one_blas_thread():
            gram = as_dense(units @ units.T)
        first, group = _parallel_groups(gram)
        values = np.zeros((len(first), Y.shape[1]))
        np.add.at(values, group, Y)
        values /= np.bincount(group)[:, np.newaxis]
        if len(first) < len(group):
            gram = np.ascontiguousarray(gram[np.ix_(first, first)])
        return cls(units[first], gram, values, group, Shifted.of(samples), Y, alpha)

    def at_samples(self) -> Floats:
        """The extension at the training samples, each coded by its own atom alone: nothing to solve."""
        return np.asarray(self.values[self.group])

    def __call__(self, X: Any) -> Floats:
        """The extension at the rows of ``X``, dense or sparse, in float64."""
        shares = self.codes(X)
        out = np.empty((X.shape[0], self.Y.shape[1]))
        for i, share in enumerate(shares):
            out[i] = share @ self.values if share.any() else self._nearest(X[[i]])
        return out

    def codes(self, X: Any) -> Floats:
        """|a| over the atoms for the rows of ``X``, each row of sum one (or zero: no code)."""
        shares, excess = np.zeros((X.shape[0], len(self.gram))), np.zeros(X.shape[0])
        with one_blas_thread():
            for i in range(X.shape[0]):
                unit = as_dense(normalize(X[[i]].astype(np.float64))).ravel()
                products = np.asarray(self.atoms @ unit).ravel()
                code, excess[i] = lasso_code(products, self.gram, self.alpha)
                shares[i] = np.abs(code) / max(np.abs(code).sum(), np.finfo(np.float64).tiny)
        _warn_about(excess, self.alpha)
        return shares

    def _nearest(self, x: Any) -> Floats:
        # Orthogonal to all training samples: no code. The nearest sample speaks for it.
        return np.asarray(self.Y[np.argmin(self.samples.squared_distances_from(x))])


def lasso_code(products: Floats, gram: Floats, alpha: float) -> tuple[Floats, float]:
    """argmin ½‖x − U'a‖² + α max|Ux| ‖a‖₁ from Ux and UU', and by how much it misses optimality.

    At the optimum no atom has a product with the residual above α max|Ux|: the relative excess.
    """
    penalty = alpha * float(np.abs(products).max())
    if penalty <= alpha * ORTHOGONAL:
        return np.zeros_like(products), 0.0
    atoms = _most_similar(products, WORKING)
    while True:
        part = _lars(products[atoms], gram[np.ix_(atoms, atoms)], penalty)
        active = np.flatnonzero(part)
        residual = np.abs(products - part[active] @ gram[atoms[active]])
        # An atom that is left out and within the penalty would get the coefficient zero.
        residual_of_others = residual.copy()
        residual_of_others[atoms] = 0.0
        needed = int(np.sum(residual_of_others > penalty * (1.0 + NEEDED)))
        if needed == 0:
            break
        atoms = np.union1d(atoms, _most_similar(residual_of_others, min(needed, WORKING)))
    code = np.zeros_like(products)
    code[atoms] = part
    return code, float(residual.max() / penalty - 1.0)


def _most_similar(products: Floats, k: int) -> Ints:
    """Indices of the k largest magnitudes, ascending."""
    k = min(k, len(products))
    return np.sort(np.argpartition(-np.abs(products), k - 1)[:k])


def _lars(products: Floats, gram: Floats, penalty: float) -> Floats:
    with warnings.catch_warnings():
        # LARS warns when it leaves out an atom that the active ones span already, which does no harm,
        # and when it stops early, which does: the excess tells them apart.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, code = lars_path_gram(
            products,
            gram,
            n_samples=1,
            alpha_min=penalty,
            method="lasso",
            max_iter=max(500, 8 * len(gram)),
            return_path=False,
        )
    return np.asarray(code)


def _warn_about(excess: Floats, alpha: float) -> None:
    rough = int(np.sum(excess > LARGEST_EXCESS))
    if rough:
        warnings.warn(
            f"The codes of {rough} of {len(excess)} samples miss optimality by up to {excess.max():.1e} "
            f"of their penalty alpha={alpha}. Raise `alpha`.",
            ConvergenceWarning,
            stacklevel=2,
        )


def _parallel_groups(gram: Floats) -> tuple[Ints, Ints]:
    """First member of every group of parallel samples, and the group of every sample.

    Zero samples have no direction: each is a group, and an atom that is never used.
    """
    rows, cols = np.nonzero(np.abs(gram) >= PARALLEL)
    pairs = sparse.csr_array((np.ones(len(rows)), (rows, cols)), shape=gram.shape)
    _, labels = connected_components(pairs, directed=False)
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first, group
