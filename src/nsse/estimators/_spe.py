"""Laplacian eigenmaps, extended by sparse coding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.estimators._direct import DirectClassifier, Ints
from nsse.estimators._eigenmaps import (
    check_eigenmap_components,
    check_no_sample_alone,
    unsupervised_signs,
    warn_if_degenerate,
)
from nsse.estimators._gaussian_map import measured_distances
from nsse.estimators._parameters import check_number, check_optional, check_optional_count
from nsse.extensions import SparseCoder
from nsse.graphs import degrees
from nsse.graphs.unsupervised import neighbor_affinity
from nsse.solvers import normalized_eigenmap


class SPE(DirectClassifier):
    """Laplacian eigenmaps with the sparse-coding extension.

    Embeds the training samples by minimising tr(Y'LY) subject to Y'DY = I and Y'D1 = 0 for the
    Laplacian L = D − W of a Gaussian neighbour graph [2]_. A new sample is written as a sparse
    combination of the training samples, and embedded where its code is [1]_,

        ``a = argmin ½‖x − Σ a_i u_i‖² + α ‖a‖₁,     y = Σ |a_i| y_i / Σ |a_i|,     u_i = x_i/‖x_i‖.``

    The embedding does not look at labels; the classifier fitted on it does.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, smaller than the number of training samples. None means
        ``n_classes - 1``.
    alpha : float, default=0.95
        Penalty of the code, between 0 and 1: relative to the smallest one at which the code of the
        sample vanishes, ``max |u_i'x|``. Larger values give sparser codes; at 1 the most similar sample
        would be left alone. The default of version 0.1 was 0.5; ``docs/methods.md`` compares
        the errors.
    n_neighbors : int, default=None
        Nearest samples joined in the graph (from either side). None joins all pairs.
    beta : float, default=None
        Width of the edge weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the
        mean squared length of the edges.
    length_unit : {"median"} or float, default="median"
        The unit of `beta`: the median distance between training samples, or a length in the units of
        X.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The map at the training samples: the eigenmap, but for samples that are multiples of each other
        (see Notes).
    eigenvalues_ : ndarray of shape (n_components,)
        Of the pencil L y = λ D y, ascending; the trivial 0 is left out.
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
    NYS : The other extension of an embedding.

    Notes
    -----
    Samples are coded as they are, without centring, over training samples of unit length: what
    counts is the direction of a sample from the origin, as for images. A training sample is coded by
    itself alone and keeps its coordinates. Training samples that are multiples of each other,
    duplicates above all, share a code equally: each is mapped to their mean. With a single feature
    all samples are such multiples, and SPE tells nothing apart. A sample orthogonal to all training
    samples (the zero sample, for one) has no code and gets the coordinates of its nearest training
    sample. More features than samples need no care. Every new sample is a regression of its own:
    expect about a millisecond for each hundred training samples.

    A neighbour graph in several pieces may leave the coordinates undetermined; the fit then warns
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
    >>> from nsse import SPE
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
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.length_unit = length_unit
        self.classifier = classifier

    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Compute the eigenmap and prepare its extension."""
        d = check_eigenmap_components(self.n_components, len(codes), len(self.classes_))
        D2, self.length_unit_ = measured_distances(X, length_unit)
        W = neighbor_affinity(D2, self.n_neighbors, self.beta)
        check_no_sample_alone(W, self.beta)
        solution = normalized_eigenmap(W, d)
        warn_if_degenerate(solution, "Raise `n_neighbors` or `beta`, or change `n_components`.")
        Y = solution.vectors / np.sqrt(degrees(W))[:, np.newaxis]
        self._coder = SparseCoder.at(X, Y * unsupervised_signs(Y), self.alpha)
        self.eigenvalues_ = solution.eigenvalues
        self.embedding_ = self._coder.at_samples().astype(X.dtype, copy=False)

    def _map(self, X: Any) -> NDArray[Any]:
        return self._coder(X)

    def _check_parameters(self) -> None:
        if check_number("alpha", self.alpha, positive=True, cure="Take 1e-3 for exact codes.") >= 1:
            raise rule_error(
                "alpha", "be smaller than 1", self.alpha, "From 1 on every code vanishes; take 0.5."
            )
        check_optional_count("n_neighbors", self.n_neighbors, cure="None joins all pairs.")
        check_optional("beta", self.beta)
