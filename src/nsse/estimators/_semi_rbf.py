"""SemiRBF: an RBF interpolator of SUPLAP's embedding, refined by samples without a label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nsse.estimators._fitting import all_or_nothing
from nsse.estimators._gaussian_map import GaussianMapClassifier, measured_distances
from nsse.estimators._parameters import (
    check_classifier,
    check_count,
    check_length_unit,
    check_marker,
    check_n_components,
    check_number,
)
from nsse.estimators._posing import encode_labels
from nsse.estimators._suplap import check_neighbors
from nsse.estimators._unlabeled import labeled_rows
from nsse.extensions.progressive import refine
from nsse.graphs.adaptive import class_graphs, signed_laplacian
from nsse.kernels import gaussian, median_distance
from nsse.solvers import fix_signs, smallest_eigenpairs


class SemiRBF(GaussianMapClassifier):
    """Semi-supervised out-of-sample interpolation of a supervised embedding.

    In the manner of Vural and Guillemot [1]_, which the paper of NSSE cites for samples without a label:
    the labelled samples are embedded by supervised Laplacian eigenmaps (`SUPLAP`), a Gaussian RBF
    interpolator is fitted to that embedding, and it is refined in rounds. In each its values at the
    samples without a label tell their classes; those that it is surest of get the place of the nearest
    labelled sample of their class as their target, and it is fitted anew. In the last round all samples
    take part. Without such samples it is `SUPLAP`.

    Departs from [1]_: the smoothness of the interpolator is weighed by a ridge, the same in all
    directions, and its scale is given.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d; None means ``n_classes - 1``.
    mu : float, default=0.001
        Weight of the between-class graph of the embedding.
    n_neighbors : int, "adaptive" or None, default=None
        Nearest samples of the same class joined in the graph of the embedding, as in `SUPLAP`.
    sigma : float, default=1.0
        Scale σ of the kernel, in units of length.
    ridge : float, default=1e-3
        How smooth the interpolator is.
    n_rounds : int, default=10
        In round r of so many r/n_rounds of the samples without a label take part.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma` is understood: the median distance between labelled samples, or a
        length.
    unlabeled : int, str or None, default=None
        The value that marks samples without a label in ``y``; None: all samples are labelled.
    classifier : classifier, default=None
        Fitted on the embedding of the labelled samples. None is the nearest neighbour.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The interpolator at all training samples.
    coef_, centers_, sigma_, length_unit_
        Coefficients, centres (all training samples), kernel scale and unit of length.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training samples: those they have, or those that the refinement came to.
    classifier_ : classifier
        Fitted on `embedding_` of the labelled samples.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    O(N³) time for each round and O(N²) memory.

    See Also
    --------
    SUPLAP : The same without samples that have no label.
    NSSE : Learns map and embedding together, from both kinds of samples.

    References
    ----------
    .. [1] E. Vural and C. Guillemot, "Out-of-sample generalizations for supervised manifold learning
       for classification", IEEE Transactions on Image Processing 25(3), 1410-1424, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SemiRBF
    >>> X, y = load_iris(return_X_y=True)
    >>> few = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> bool(SemiRBF(unlabeled=-1).fit(X, few).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        mu: float = 0.001,
        n_neighbors: int | str | None = None,
        sigma: float = 1.0,
        ridge: float = 1e-3,
        n_rounds: int = 10,
        length_unit: str | float = "median",
        unlabeled: Any = None,
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.ridge = ridge
        self.n_rounds = n_rounds
        self.length_unit = length_unit
        self.unlabeled = unlabeled
        self.classifier = classifier

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Embed the labelled samples and refine their interpolator by the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones; `unlabeled` where there is none.

        Returns
        -------
        self
            The fitted estimator. If fit fails, it is as it was before.
        """
        unit = self._check_parameters()
        X, y = self._validated(X, y)
        labeled = labeled_rows(y, self.unlabeled)
        self.classes_, codes = encode_labels(y[labeled])
        d = check_n_components(self.n_components, len(codes), len(self.classes_))
        order = np.concatenate([np.flatnonzero(labeled), np.flatnonzero(~labeled)])
        n_own = len(codes)
        D2, _ = measured_distances(X[order], 1.0)
        own = D2[:n_own, :n_own]
        self.length_unit_ = median_distance(own) if unit is None else unit
        D2 /= self.length_unit_**2
        W_w, W_b = class_graphs(own, codes, self.n_neighbors, "adaptive", None)
        vectors = smallest_eigenpairs(signed_laplacian(W_w, W_b, self.mu), d).vectors  # Eq. (2)
        Y = vectors * fix_signs(vectors, codes)
        found = refine(gaussian(D2, self.sigma), Y, codes, self.ridge, self.n_rounds)
        coef, told = np.empty_like(found.coef), np.empty_like(found.codes)
        coef[order], told[order] = found.coef, found.codes
        self._keep_map(X, coef, self.sigma * self.length_unit_)
        self._codes = told
        self.classifier_ = self._fitted_classifier(self.embedding_[labeled], y[labeled])
        return self

    @property
    def transduction_(self) -> Any:
        """Labels of all training samples: their own, or those that the refinement came to."""
        return self.classes_[self._codes]

    def _check_parameters(self) -> float | None:
        check_number("mu", self.mu, cure="0 switches the separation of classes off.")
        check_neighbors("n_neighbors", self.n_neighbors)
        check_number("sigma", self.sigma, positive=True, cure="1.0 is the unit of length.")
        check_number("ridge", self.ridge, cure="1e-3 is a fair start.")
        check_count("n_rounds", self.n_rounds, cure="10 is a fair number.")
        check_marker(self.unlabeled)
        check_classifier(self.classifier)
        return check_length_unit(self.length_unit)
