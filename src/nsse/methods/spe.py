"""SPE: Laplacian eigenmaps, extended by sparse coding (Dornaika & Raducanu 2013).

A sample x is coded over the training samples by ℓ1 regression, and embedded where its code is:

    a = argmin ½‖x − Σ a_i u_i‖² + α ‖a‖₁,     y = Σ |a_i| y_i / Σ |a_i|,     u_i = x_i/‖x_i‖.

Atoms have unit length, so ‖x‖ ≤ ‖a‖₁ for every exact code, with equality for multiples of one atom only.
A training sample is therefore coded by itself alone for every α, and gets its own coordinates. α is
relative to the smallest one for which the code vanishes, max_i |u_i'x|. Units have no influence, and the
code is zero only for an x that is orthogonal to all training samples.

Training samples that are multiples of each other are one atom, because their code is not unique, and
each gets an equal share. LARS computes the code to the last digits, so that the order of the samples has
no influence.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from sklearn.preprocessing import normalize

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse._support.threads import one_blas_thread
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import Affine
from nsse.distances import products, squared_distances
from nsse.graphs import degrees
from nsse.methods._eigenmaps import (
    check_eigenmap_components,
    check_no_sample_alone,
    normalized_eigenmap,
    unsupervised_signs,
)
from nsse.methods._method import Lengths, Method, neighbor_graph

# |cos| of the angle between two samples from which on they are multiples of each other.
PARALLEL = 1.0 - 1e-12
# Largest |cos| to a sample of which nothing but rounding is left.
ORTHOGONAL = 1e-14
# Largest relative excess of a code that passes for optimal.
LARGEST_EXCESS = 1e-2


@dataclass(frozen=True)
class SparseCodingMap:
    """Extend an embedding of training samples to all x.

    Attributes
    ----------
    atoms : ndarray or csr_array of shape (n_atoms, n_features)
        Unit vectors, no two parallel.
    gram : ndarray of shape (n_atoms, n_atoms)
        Their products.
    values : ndarray of shape (n_atoms, d)
        Mean coordinates of the samples that every atom stands for.
    alpha : float
        The relative penalty of codes.
    metric, samples, embedding
        The map to units of length, the training samples in them, and their coordinates. They are used
        for an x that is orthogonal to all training samples.
    """

    atoms: Any
    gram: Floats
    values: Floats
    alpha: float
    metric: Affine
    samples: Any
    embedding: Floats

    @property
    def n_components(self) -> int:
        """Dimension d of the embedding."""
        return int(self.values.shape[1])

    def __call__(self, X: SamplesLike) -> Floats:
        """Return the extension at the rows of ``X``, dense or sparse, in float64."""
        out, excess = np.empty((X.shape[0], self.n_components)), np.zeros(X.shape[0])
        cosines = products(unit_rows(X), self.atoms)
        with one_blas_thread():
            for i, row in enumerate(cosines):
                code, excess[i] = lasso_code(row, self.gram, self.alpha)
                total = np.abs(code).sum()
                out[i] = np.abs(code) @ self.values / total if total > 0 else self._nearest(X[[i]])
        self._warn_about(excess)
        return out

    def _nearest(self, x: Any) -> Floats:
        return np.asarray(self.embedding[squared_distances(self.metric(x), self.samples).argmin()])

    def _warn_about(self, excess: Floats) -> None:
        rough = int(np.sum(excess > LARGEST_EXCESS))
        if rough:
            warnings.warn(
                f"The codes of {rough} of {len(excess)} samples miss optimality by up to "
                f"{excess.max():.1e} of their penalty alpha={self.alpha}. Raise `alpha`.",
                ConvergenceWarning,
                stacklevel=2,
            )


class SPE(Method):
    """Laplacian eigenmaps with the sparse-coding extension.

    Embeds the training samples by minimizing tr(Y'LY) subject to Y'DY = I and Y'D1 = 0 for the
    Laplacian L = D − W of a Gaussian neighbor graph [2]_. A new sample is written as a sparse
    combination of the training samples, and embedded where its code is [1]_,

        ``a = argmin ½‖x − Σ a_i u_i‖² + α ‖a‖₁,     y = Σ |a_i| y_i / Σ |a_i|,     u_i = x_i/‖x_i‖.``

    The embedding ignores labels. The nearest-neighbor rule uses them.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, smaller than the number of training samples. None means
        ``n_classes - 1``.
    alpha : float, default=0.95
        Penalty of the code, between 0 and 1, relative to the smallest one for which the code of the
        sample vanishes, ``max |u_i'x|``. Larger values give sparser codes. Close to 1, the code contains
        the most similar training sample only.
    n_neighbors : int, default=None
        Number of nearest samples that are joined in the graph. Two samples are joined if either is a
        neighbor of the other. None joins all pairs.
    beta : float, default=None
        Width of the edge weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the
        mean squared length of the edges.
    length_unit : {"median"} or float, default="median"
        The unit of `beta`. It is the median distance between training samples, or a length in the units
        of X.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The map at the training samples. It is the eigenmap, except for samples that are multiples of
        each other (see Notes).
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L y = λ D y without the trivial 0, ascending.
    length_unit_ : float
        The unit of length, in the units of X.
    map_ : SparseCodingMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    NYS : Another extension of an eigenmap.

    Notes
    -----
    Samples are coded without centering over training samples of unit length, so only the direction of a
    sample from the origin counts, as for images. A training sample is coded by itself alone and keeps
    its coordinates. Training samples that are multiples of each other, such as duplicates, share a code
    equally, and each is mapped to their mean. With a single feature, all samples are multiples of each
    other, and SPE cannot separate them. A sample that is orthogonal to all training samples, such as the
    zero sample, has no code and gets the coordinates of its nearest training sample. More features than
    samples need no care. Every new sample takes a regression.

    A neighbor graph in several pieces may leave the coordinates undetermined. The fit then warns
    (`DegenerateEmbeddingWarning`).

    References
    ----------
    .. [1] F. Dornaika and B. Raducanu, "Out-of-sample embedding for manifold learning applied to face
       recognition", IEEE CVPR Workshops, 862-868, 2013.
    .. [2] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
       representation", Neural Computation 15(6), 1373-1396, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import SPE
    >>> X, y = load_iris(return_X_y=True)
    >>> SPE(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 0.95,
        n_neighbors: int | None = None,
        beta: float | None = None,
        length_unit: str | float = "median",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.length_unit = length_unit

    def _learn(self, X: SamplesLike, codes: Ints) -> SparseCodingMap:
        d = check_eigenmap_components(self.n_components, len(codes), len(self.classes_))
        lengths = Lengths.of(X, self.length_unit)
        W, _ = neighbor_graph(lengths.D2, self.n_neighbors, self.beta)
        check_no_sample_alone(W, self.beta)
        eigenmap = normalized_eigenmap(W, d)
        eigenmap.warn_if_degenerate("Raise `n_neighbors` or `beta`, or change `n_components`.")
        Y = eigenmap.vectors / np.sqrt(degrees(W))[:, np.newaxis]
        Y *= unsupervised_signs(Y)
        self.eigenvalues_, self.length_unit_ = eigenmap.eigenvalues, lengths.unit
        units = unit_rows(X)
        gram = products(units, units)
        first, group = parallel_groups(gram)
        values = np.zeros((len(first), d))
        np.add.at(values, group, Y)
        values /= np.bincount(group)[:, np.newaxis]
        gram = np.ascontiguousarray(gram[np.ix_(first, first)])
        metric, Z = lengths.metric, lengths.Z
        return SparseCodingMap(units[first], gram, values, self.alpha, metric, Z, values[group])

    def _embedding(self, X: SamplesLike) -> Floats:
        # Every training sample is coded by its own atom alone, so there is nothing to solve.
        return np.asarray(self.map_.embedding)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_number("alpha", self.alpha, positive=True, cure="Take 1e-3 for exact codes.") >= 1:
            cure = "From 1 on every code vanishes. Use 0.5."
            raise rule_error("alpha", "be smaller than 1", self.alpha, cure)


def unit_rows(X: SamplesLike) -> Any:
    """Return rows of unit length, in float64."""
    X = X.astype(np.float64)
    largest = abs(X).max(axis=1)
    largest = np.ravel(largest.toarray() if hasattr(largest, "toarray") else largest)
    # First by their largest entries, whose squares may over- or underflow.
    return normalize(sparse.diags_array(1.0 / np.maximum(largest, np.finfo(np.float64).tiny)) @ X)


def lasso_code(cosines: Floats, gram: Floats, alpha: float) -> tuple[Floats, float]:
    """Return argmin ½‖x − U'a‖² + α max|Ux| ‖a‖₁ from Ux and UU', and by how much it misses optimality.

    At the optimum no atom has a product with the residual above α max|Ux|: the relative excess.
    """
    penalty = alpha * float(np.abs(cosines).max())
    if penalty <= alpha * ORTHOGONAL:
        return np.zeros_like(cosines), 0.0
    with warnings.catch_warnings():
        # LARS warns if it leaves out an atom in the span of the active ones, which is harmless, and if
        # it stops early, which is not. The excess distinguishes them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, code = lars_path_gram(
            cosines,
            gram,
            n_samples=1,
            alpha_min=penalty,
            method="lasso",
            max_iter=max(500, 8 * len(gram)),
            return_path=False,
        )
    residual = np.abs(cosines - gram @ code)
    return np.asarray(code), float(residual.max() / penalty - 1.0)


def parallel_groups(gram: Floats) -> tuple[Ints, Ints]:
    """Return the first member of every group of parallel samples, and the group of every sample.

    Zero samples have no direction. Each is a group, with an atom that is never used.
    """
    _, labels = connected_components(np.abs(gram) >= PARALLEL, directed=False)
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first, group
