"""NPDE: neighborhood preserving discriminant embedding, from an abstract.

    maximize tr(V'S_b V)  subject to  V'X'R'RXV = I,     S_b = Σ_c n_c m_c m_c'

Here m_c is the mean of class c minus the mean of all samples, and RX are the residuals if each sample is
reconstructed from its nearest samples *of the same class*. The paper was not available (Pang, Teoh and
Abas, J. Visual Communication and Image Representation 20(8), 532-542, 2009). This implementation follows
the abstract of the authors' conference paper (ICARCV 2008): neighborhoods as in NPE, within classes,
together with Fisher's criterion.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nsse._support.types import Floats, Ints
from nsse.graphs import class_members
from nsse.methods._graph_embedding import (
    Forms,
    LinearMethod,
    between_scatter,
    check_whole,
    graph_checks,
    within_classes,
)
from nsse.methods._method import Lengths
from nsse.methods._reconstruction import residual_matrix, residual_rank, residual_scatter


class NPDE(LinearMethod):
    """Embed samples so that neighbors of a class reconstruct each other and classes are apart.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, at most ``n_classes - 1``, which is the default.
    n_neighbors : int, default=3
        Nearest samples of the same class that reconstruct a sample. None takes all of them.
    pca, reg
        As for `nsse.methods.NPE`.

    Attributes
    ----------
    components_, mean_, embedding_, eigenvalues_
        As for `nsse.methods.NPE`.
    """

    _checks = graph_checks(n_components=check_whole)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | None = 3,
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        R = class_residual_matrix(lengths.D2, codes, self.n_neighbors)
        within = residual_scatter(R, within_classes(Z, codes))
        return Forms(between_scatter(Z, codes), within, residual_rank(R))

    def _most_components(self) -> int:
        return len(self.classes_) - 1


def class_residual_matrix(D2: Floats, codes: Ints, n_neighbors: int | None) -> sparse.csr_array:
    """Return R with neighbors of the same class, and zeros for samples that are alone in theirs."""
    order = np.concatenate(class_members(codes))
    blocks = [
        residual_matrix(D2[np.ix_(own, own)], n_neighbors) if len(own) > 1 else sparse.csr_array((1, 1))
        for own in class_members(codes)
    ]
    place = np.argsort(order)
    return sparse.csr_array(sparse.csr_array(sparse.block_diag(blocks))[place][:, place])
