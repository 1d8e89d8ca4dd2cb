"""SMFA: marginal Fisher analysis of subclasses, from an abstract.

Every class is divided into clusters. The intrinsic graph W joins the nearest samples of the same
cluster, and the penalty graph W' joins the nearest pairs of a cluster and samples of other classes.
Clusters of one class are neither drawn together nor pushed apart. The paper was not available
(Maronidis, Tefas and Pitas, Pattern Recognition 48(12), 4024-4035, 2015). Clusters are found by Ward's
rule, which needs no random start.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from nsse._support.parameters import check_count
from nsse._support.types import Floats, Ints
from nsse.graphs import class_members
from nsse.methods import MFA
from nsse.methods._graph_embedding import Forms, graph_checks
from nsse.methods._method import Lengths, check_edges, unless
from nsse.methods.mfa import marginal_forms


class SubclassMFA(MFA):
    """Separate the subclasses of classes at their margins.

    Parameters
    ----------
    n_subclasses : int, default=2
        Clusters of every class, at most half of its samples, so that every cluster can have two. With 1
        this is `nsse.methods.MFA`.
    n_components, n_neighbors, n_pairs, pca, reg
        As for `nsse.methods.MFA`, with clusters in the place of classes.

    Attributes
    ----------
    subclasses_ : ndarray of shape (n_samples,)
        The cluster of every training sample, counted over all classes.
    components_, mean_, embedding_, eigenvalues_
        As for `nsse.methods.MFA`.
    """

    _checks = graph_checks(
        n_pairs=unless(check_edges), n_subclasses=partial(check_count, cure="1 is one per class.")
    )

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        n_neighbors: int | None = 5,
        n_pairs: int | None = 200,
        n_subclasses: int = 2,
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        super().__init__(n_components, n_neighbors=n_neighbors, n_pairs=n_pairs, pca=pca, reg=reg)
        self.n_subclasses = n_subclasses

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        self.subclasses_ = subclasses(lengths.D2, codes, self.n_subclasses)
        groups = self.subclasses_
        return marginal_forms(lengths.D2, Z, codes, groups, self.n_neighbors, self.n_pairs)


def subclasses(D2: Floats, codes: Ints, n_subclasses: int) -> Ints:
    """Return the cluster of every sample, counted over all classes."""
    found = np.empty(len(codes), dtype=np.intp)
    n_found = 0
    for own in class_members(codes):
        n_own = max(1, min(n_subclasses, len(own) // 2))
        found[own] = n_found
        if n_own > 1:
            tree = linkage(squareform(np.sqrt(D2[np.ix_(own, own)]), checks=False), method="ward")
            found[own] += fcluster(tree, n_own, criterion="maxclust") - 1
        n_found += n_own
    return found
