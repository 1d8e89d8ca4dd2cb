"""Many problems with the same centres at one σ, on rows that stand for all samples: model selection.

As `nsse.solvers.sweep` does it for exact NSSE: per σ the kernel and the products K̃'L_wK̃ (one per graph)
and K̃'diag(n_c)K̃ do not depend on the weights, and one solution serves every μ3 and every smaller d.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nsse._threads import one_blas_thread
from nsse.kernels import gaussian
from nsse.landmarks.neighborhoods import Laplacian
from nsse.landmarks.weighted import RowProducts, WeightedRows, solve_rows
from nsse.solvers.gram_pencil import IndefiniteError
from nsse.solvers.pencil import RankError
from nsse.solvers.sweep import Node, Weights

Floats = NDArray[np.float64]


@dataclass
class CenterSweep:
    """Rows on which many weights are tried, and new samples to embed.

    The coordinates of a `Node` are those of the rows times the square root of their weight, so that
    they are orthonormal.

    Attributes
    ----------
    rows : WeightedRows
        Squared distances to the centres, in squared units of length.
    D2_new : ndarray of shape (n_new, m)
        The same of new samples.
    laplacians : sequence of Laplacian
        L_w of the rows, one per neighbour graph.
    n_components : int
        The largest d wanted.
    counts : Counter
        Kernel matrices, Gram matrices and factorisations made so far.
    """

    rows: WeightedRows
    D2_new: Floats
    laplacians: Sequence[Laplacian]
    n_components: int
    counts: Counter[str] = field(default_factory=Counter)

    def solve(self, sigma: float, wanted: Sequence[Weights]) -> list[Node]:
        """Embed with each of the weights at one σ; without coordinates where that cannot be done."""
        with one_blas_thread():
            products = RowProducts.of(self.rows, self.rows.kernel(sigma))
            classes = products.spread("classes", 1.0)
            K_new = gaussian(self.D2_new, sigma)
            graphs = {
                index: products.spread(f"graph {index}", 0.0, self.laplacians[index])
                for index in {weights.graph for weights in wanted}
            }
            self.counts["kernel matrices"] += 1
            self.counts["Gram matrices"] += 2 + len(graphs)
            return [
                self._node(sigma, products, classes, graphs[weights.graph], K_new, weights)
                for weights in wanted
            ]

    def _node(
        self, sigma: float, products: RowProducts, classes: Floats, graph: Floats, K_new: Floats,
        weights: Weights,
    ) -> Node:  # fmt: skip
        L, d = self.laplacians[weights.graph], self.n_components
        while d > 0:
            P = self.rows.buffer("P", classes.shape)
            np.multiply(classes, weights.mu1, out=P)
            P += graph
            self.counts["factorisations"] += 1
            try:
                found, _, slopes = solve_rows(products, L, P, sigma, weights.mu1, weights.mu2, d)
            except RankError as error:
                d = min(error.rank, d - 1)
            except IndefiniteError:
                break
            else:
                Y = (products.K @ found.coef) * np.sqrt(self.rows.weights)
                return Node(sigma, found.eigenvalues, slopes, Y, K_new @ found.coef)
        return Node.unsolved(sigma, len(products.K), len(K_new))
