"""NYS: Laplacian eigenmaps, extended by the Nyström formula (Bengio et al. 2004).

    y_k(x) = (1/λ_k) Σ_i Y_ik K̃(x, x_i),     K̃(a, b) = K(a, b) / √(E_x K(a, x) · E_x K(b, x)),

with K̃ Y_k = λ_k Y_k on the training samples, where E is the mean over them. This is an expansion in the
Gaussian K whose rows are divided by √E_x K(x, ·). At a training sample, it equals the eigenmap.

No scale and no number of coordinates is good for all data. Objects need fewer coordinates than classes,
and faces under changing light as many as there are. By default, training samples are held out, embedded
by the formula from the others, and predicted by their nearest neighbor, and the choice with the lowest
error is used. Departs from Bengio et al. (2004), who leave both choices to the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.affine import Affine
from nsse.distances import in_row_blocks, squared_distances
from nsse.graphs import degrees
from nsse.kernels import Gaussian
from nsse.methods._eigenmaps import (
    Eigenmap,
    check_eigenmap_components,
    normalized_eigenmap,
    unsupervised_signs,
)
from nsse.methods._method import (
    Lengths,
    Method,
    check_width,
    checks,
    is_auto,
    mean_squared_length,
    others,
    unless,
)

# Eigenvalues of K̃/N below this are rounding, and no number to divide by.
SMALLEST_EIGENVALUE = 1e-10
# Kernel scales that are tried, in units of length.
SIGMAS = (1.0, 3.0)
# Dimensions that are tried, in numbers of classes, together with n_classes − 1 and all coordinates.
MULTIPLES = (0.5, 2, 4, 8)
FOLDS = 3
# If there are more samples, every second, third, … is used. Every eigenmap of the choice is complete.
MOST = 1000


@dataclass(frozen=True)
class NystromMap:
    """Extend an eigenmap to all x.

    Attributes
    ----------
    metric : Affine
        Takes samples to where they are measured.
    centers : ndarray or csr_array of shape (n_samples, n_features)
        Training samples there.
    kernel : Gaussian
        K.
    coef : ndarray of shape (n_samples, d)
        Y_ik / (λ_k √E_x K(x_i, x)).
    """

    metric: Affine
    centers: Any
    kernel: Gaussian
    coef: Floats

    @property
    def n_components(self) -> int:
        """Dimension d of the embedding."""
        return int(self.coef.shape[1])

    def __call__(self, X: SamplesLike) -> Floats:
        """Return the map at the rows of ``X``, dense or sparse, in float64."""
        return in_row_blocks(self._block, X, *self.coef.shape)

    def _block(self, X: SamplesLike) -> Floats:
        return nystrom_values(self.kernel.between(self.metric(X), self.centers), self.coef)


class NYS(Method):
    """Laplacian eigenmaps with the Nyström extension.

    The coordinates are eigenvectors Y_k of the normalized Gaussian kernel matrix, without the leading
    one. They extend to all x by the formula that they satisfy at the training samples [1]_,

        y_k(x) = (1/λ_k) Σ_i Y_ik K̃(x, x_i),    K̃(a, b) = K(a, b) / √(E_x K(a, x) · E_x K(b, x)),

    with K(a, b) = exp(−‖a − b‖²/σ²) and means E over the training samples. The embedding ignores labels.
    The nearest neighbor uses them, and so does the choice of `sigma` and `n_components` if these are
    "auto".

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, smaller than the number of training samples. None means
        ``n_classes - 1``. "auto" tries a few dimensions from half the number of classes to all
        coordinates that the kernel has, and takes the one in which the nearest neighbor makes the fewest
        mistakes on held-out training samples (see Notes).
    sigma : {"auto"}, float or None, default="auto"
        Kernel scale σ in units of length. None takes the root mean square of the distances between the
        training samples. "auto" takes 1 or 3, whichever makes fewer mistakes.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma`. It is the median distance between training samples, or a length in the units
        of X.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The eigenmap, which is the map at the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues λ_k of the matrix K̃(x_i, x_j), descending. They are at most N.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    map_ : NystromMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    SPE : Another extension of an eigenmap.

    Notes
    -----
    Columns of the eigenmap have unit length. The number of features has an influence on distances only,
    so more features than samples need no care. Far from all training samples the map tends to 0. If
    σ is so small that the kernel falls into several pieces, the coordinates may be undetermined. The fit
    then warns (`DegenerateEmbeddingWarning`).

    A third of every class is held out, three times. The choice takes several times as long as a fit with
    given parameters. If there are more than 1000 samples, only a part is used.

    References
    ----------
    .. [1] Y. Bengio, J.-F. Paiement, P. Vincent, O. Delalleau, N. Le Roux and M. Ouimet, "Out-of-sample
       extensions for LLE, Isomap, MDS, Eigenmaps, and spectral clustering", NIPS 16, 177-184, 2004.
    .. [2] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
       representation", Neural Computation 15(6), 1373-1396, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import NYS
    >>> X, y = load_iris(return_X_y=True)
    >>> NYS(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = checks(sigma=unless(check_width, "auto"))

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        sigma: float | str | None = "auto",
        length_unit: str | float = "median",
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.length_unit = length_unit

    def _learn(self, X: SamplesLike, codes: Ints) -> NystromMap:
        dimensions = self._dimensions(len(codes))
        lengths = Lengths.of(X, self.length_unit)
        sigmas = self._sigmas(lengths.D2)
        sigma, d = sigmas[0], dimensions[0]
        if len(sigmas) > 1 or len(dimensions) > 1:
            sigma, d = held_out_choice(lengths.D2, codes, sigmas, dimensions)
        kernel = Gaussian().at(sigma)
        K = kernel(lengths.D2.copy())
        values, Y, eigenmap = nystrom_eigenmap(K, d)
        if is_auto(self.n_components):  # the others are rounding
            n_existing = existing(values, len(K))
            values, Y = values[:n_existing], Y[:, :n_existing]
        coef = nystrom_coefficients(Y * unsupervised_signs(Y), values, K)
        if len(values) == d:
            eigenmap.warn_if_degenerate("Raise `sigma`, or change `n_components`.")
        self.eigenvalues_ = values
        self.length_unit_ = lengths.unit
        self.sigma_ = sigma * lengths.unit
        return NystromMap(lengths.metric, lengths.Z, kernel, coef)

    def _dimensions(self, n_samples: int) -> list[int]:
        """Return the dimension, or the candidates to choose from."""
        n_classes = len(self.classes_)
        if is_auto(self.n_components):
            return dimensions_tried(n_samples, n_classes)
        return [check_eigenmap_components(self.n_components, n_samples, n_classes)]

    def _sigmas(self, D2: Floats) -> list[float]:
        """Return the kernel scale, or the candidates to choose from."""
        if self.sigma is None:
            return [float(np.sqrt(mean_squared_length(D2, others(len(D2)))))]
        return list(SIGMAS) if is_auto(self.sigma) else [float(self.sigma)]


def nystrom_eigenmap(K: Floats, d: int) -> tuple[Floats, Floats, Eigenmap]:
    """Return the descending eigenvalues of K̃, its nontrivial eigenvectors, and the eigenmap."""
    eigenmap = normalized_eigenmap(K, d)
    return len(K) * (1.0 - eigenmap.eigenvalues), eigenmap.vectors, eigenmap


def existing(values: Floats, n_samples: int) -> int:
    """Return how many of the descending eigenvalues of K̃ exceed rounding errors."""
    return int(np.sum(values > SMALLEST_EIGENVALUE * n_samples))


def nystrom_coefficients(Y: Floats, values: Floats, K: Floats) -> Floats:
    """Return Y_ik / (λ_k √E_x K(x_i, x)), with λ of K̃."""
    available = existing(values, len(Y))
    if available < len(values):
        rule = f"not exceed the number of coordinates that the kernel has, {available}"
        cure = "Lower it, or lower `sigma`, because a wide kernel has few."
        raise rule_error("n_components", rule, len(values), cure)
    return np.asarray(Y / (values * np.sqrt(degrees(K) / len(K))[:, np.newaxis]))


def nystrom_values(K: Floats, coef: Floats) -> Floats:
    """Return the extension at new points, from the kernel K between them and the training samples."""
    # Far from all samples K underflows. K/√E K then tends to zero, which is returned.
    means = np.maximum(K.mean(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray((K @ coef) / np.sqrt(means))


def dimensions_tried(n_samples: int, n_classes: int) -> list[int]:
    """Return the dimensions from half the number of classes to N − 1, ascending."""
    wanted = [n_classes - 1, *(round(multiple * n_classes) for multiple in MULTIPLES), n_samples - 1]
    return sorted({min(max(1, d), n_samples - 1) for d in wanted})


def held_out_choice(
    D2: Floats, codes: Ints, sigmas: Sequence[float], dimensions: Sequence[int]
) -> tuple[float, int]:
    """Return σ and d with the lowest error on held-out samples, and the smallest d of equal errors.

    Several dimensions are shares of the coordinates, so proportionally fewer coordinates are used if a
    part of the samples is held out.
    """
    errors = np.zeros((len(dimensions), len(sigmas)))
    for train, held in folds(D2, codes):
        share = len(train) / len(codes) if len(dimensions) > 1 else 1.0
        cuts = [min(max(1, round(share * d)), len(train) - 1) for d in dimensions]
        for column, sigma in enumerate(sigmas):
            K, K_held = (Gaussian().at(sigma)(D2[np.ix_(rows, train)]) for rows in (train, held))
            values, Y, _ = nystrom_eigenmap(K, max(cuts))
            n = existing(values, len(train))
            Z = nystrom_values(K_held, nystrom_coefficients(Y[:, :n], values[:n], K))
            for row, d in enumerate(min(d, n) for d in cuts):
                nearest = squared_distances(Z[:, :d], Y[:, :d]).argmin(axis=1)
                errors[row, column] += np.sum(codes[train][nearest] != codes[held])
    best = int(np.argmin(errors))
    return sigmas[best % len(sigmas)], dimensions[best // len(sigmas)]


def folds(D2: Floats, codes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Return samples to embed and samples to hold out, which are a third of every class in turn.

    By their places from the rim to the middle of the samples, so that their order does not matter.
    """
    order = np.lexsort((Gaussian().at(1.0)(D2.copy()).sum(axis=1), codes))
    order = order[:: -(-len(order) // MOST)]
    first = np.searchsorted(codes[order], codes[order])
    fold = (np.arange(len(order)) - first) % FOLDS
    for number in range(FOLDS):
        train, held = order[fold != number], order[fold == number]
        if len(train) > 1 and len(held):
            yield train, held
