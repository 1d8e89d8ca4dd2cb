"""Laplacian eigenmaps, extended by the Nyström formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nsse.estimators._direct import DirectClassifier, Ints
from nsse.estimators._eigenmaps import check_eigenmap_components, unsupervised_signs, warn_if_degenerate
from nsse.estimators._gaussian_map import measured_distances
from nsse.estimators._nys_choice import SIGMAS, dimensions_tried, held_out_choice
from nsse.estimators._parameters import check_optional, check_optional_count, is_auto
from nsse.extensions import Neighborhoods, NystromExpansion, nystrom_coefficients, nystrom_existing
from nsse.graphs import degrees, squared_radii, within_reach
from nsse.kernels import gaussian
from nsse.solvers import Eigenmap, normalized_eigenmap

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Rounding of squared distances, in squared units of length.
SLACK = 1e-12


class NYS(DirectClassifier):
    """Laplacian eigenmaps with the Nyström extension.

    The coordinates are eigenvectors Y_k of the normalised Gaussian kernel matrix, the constant-sign one
    left out, and extend to all x by the formula that they satisfy at the training samples [1]_,

        y_k(x) = (1/λ_k) Σ_i Y_ik K̃(x, x_i),    K̃(a, b) = K(a, b) / √(E_x K(a, x) · E_x K(b, x)),

    with K(a, b) = exp(−‖a − b‖²/σ²) and means E over the training samples. The embedding does not look
    at labels; the classifier fitted on it does, and so does the choice of `sigma` and `n_components`
    where these are "auto".

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, smaller than the number of training samples. None means
        ``n_classes - 1``. "auto" takes the one of a few, from half the number of classes to all
        coordinates that the kernel has, in which the nearest neighbour makes the fewest mistakes on
        training samples that are held out in turn (see Notes).
    sigma : {"auto"}, float or None, default="auto"
        Kernel scale σ in units of length. None takes the root mean square of the distances between the
        pairs of training samples that the kernel keeps (see `n_neighbors`). "auto" takes 1 or 3, by the
        same mistakes.
    n_neighbors : int, default=None
        Keep the kernel between neighbours only: K(a, b) = 0 unless one of the two is among the
        ``n_neighbors`` nearest training samples of the other (a training sample not counted among its
        own). None keeps all pairs. With a number, "auto" means None for the two parameters above.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma`: the median distance between training samples, or a length in the units of
        X.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The eigenmap: the map at the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        λ_k, descending: eigenvalues of the matrix K̃(x_i, x_j). N, the trivial one, bounds them.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    classifier_ : classifier
        Fitted on `embedding_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    SUPLAP : The embedding that it extends.

    Notes
    -----
    Columns of the eigenmap have unit length. The number of features enters through distances only, so
    that more features than samples need no care. Far from all training samples the map tends to 0. A
    new point at the place of no training sample has one neighbour more than a training sample, since
    it is not its own. A neighbour graph in several pieces may leave the coordinates undetermined; the
    fit then warns (`DegenerateEmbeddingWarning`).

    What is held out is a third of every class, three times. The choice takes several times as long as a
    fit with given parameters; of more than 1000 samples it looks at a part. The defaults of version 0.1
    were None for both parameters; ``docs/methods.md`` compares the errors.

    References
    ----------
    .. [1] Y. Bengio, J.-F. Paiement, P. Vincent, O. Delalleau, N. Le Roux and M. Ouimet, "Out-of-sample
       extensions for LLE, Isomap, MDS, Eigenmaps, and spectral clustering", NIPS 16, 177-184, 2004.
    .. [2] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
       representation", Neural Computation 15(6), 1373-1396, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NYS
    >>> X, y = load_iris(return_X_y=True)
    >>> NYS(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        sigma: float | str | None = "auto",
        n_neighbors: int | None = None,
        length_unit: str | float = "median",
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.length_unit = length_unit
        self.classifier = classifier

    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Compute the eigenmap and prepare its extension."""
        dimensions = self._dimensions(len(codes))
        D2, unit = measured_distances(X, length_unit)
        kept = self._kept_pairs(D2)
        sigmas = self._scales(D2, kept)
        sigma, d = sigmas[0], dimensions[0]
        if len(sigmas) > 1 or len(dimensions) > 1:
            sigma, d = held_out_choice(D2, codes, sigmas, dimensions)
        K = _kernel(D2, sigma, kept)
        solution = normalized_eigenmap(K, d)
        eigenvalues, vectors = self._existing(solution)
        Y = vectors * unsupervised_signs(vectors)
        coef = nystrom_coefficients(Y, eigenvalues, degrees(K) / len(codes))
        if len(eigenvalues) == d:  # else the last ones are rounding, which was left out
            warn_if_degenerate(solution, "Raise `n_neighbors` or `sigma`, or change `n_components`.")
        self._expansion = NystromExpansion.at(X, coef, sigma * unit, self._neighborhoods(D2, unit))
        self.eigenvalues_, self.sigma_, self.length_unit_ = eigenvalues, sigma * unit, unit
        self.embedding_ = self._expansion(X).astype(X.dtype, copy=False)

    def _map(self, X: Any) -> NDArray[Any]:
        return self._expansion(X)

    def _dimensions(self, n_samples: int) -> list[int]:
        """The dimension, or those to choose from."""
        n_classes = len(self.classes_)
        if not is_auto(self.n_components):
            return [check_eigenmap_components(self.n_components, n_samples, n_classes)]
        if self.n_neighbors is None:
            return dimensions_tried(n_samples, n_classes)
        return [check_eigenmap_components(None, n_samples, n_classes)]

    def _scales(self, D2: Floats, kept: Mask | None) -> list[float]:
        """The kernel scale, or those to choose from."""
        if self.sigma is None or (is_auto(self.sigma) and kept is not None):
            return [_root_mean_square(D2, kept)]
        return list(SIGMAS) if is_auto(self.sigma) else [float(self.sigma)]

    def _existing(self, solution: Eigenmap) -> tuple[Floats, Floats]:
        """Eigenvalues of K̃ and their vectors; where d was not asked for, those above rounding only."""
        n_samples = len(solution.vectors)
        eigenvalues = n_samples * (1.0 - solution.eigenvalues)
        d = len(eigenvalues)
        if is_auto(self.n_components):
            d = nystrom_existing(eigenvalues, n_samples)
        return eigenvalues[:d], solution.vectors[:, :d]

    def _kept_pairs(self, D2: Floats) -> Mask | None:
        """Pairs of training samples that are neighbours; None for all."""
        k = self.n_neighbors
        return None if k is None else within_reach(D2, squared_radii(D2, k), k, SLACK)

    def _neighborhoods(self, D2: Floats, unit: float) -> Neighborhoods | None:
        """The same neighbours in the units of X."""
        if self.n_neighbors is None:
            return None
        radii2 = squared_radii(D2, self.n_neighbors) * unit**2
        return Neighborhoods(radii2, self.n_neighbors, SLACK * unit**2)

    def _check_parameters(self) -> None:
        if not is_auto(self.sigma):
            check_optional("sigma", self.sigma)
        check_optional_count("n_neighbors", self.n_neighbors, cure="None keeps the whole kernel.")


def _kernel(D2: Floats, sigma: float, kept: Mask | None) -> Any:
    """K at the training samples: sparse if it is restricted to neighbours."""
    if kept is None:
        return gaussian(D2, sigma)
    # One row of distances for a kernel that takes rows.
    values = gaussian(D2[kept][np.newaxis], sigma)[0]
    return sparse.csr_array((values, np.nonzero(kept)), shape=D2.shape)


def _root_mean_square(D2: Floats, kept: Mask | None) -> float:
    """Of the distances between different samples; 1 where they are duplicates only."""
    total = D2.sum() if kept is None else D2[kept].sum()
    pairs = (D2.size if kept is None else kept.sum()) - len(D2)
    return float(np.sqrt(total / pairs)) or 1.0
