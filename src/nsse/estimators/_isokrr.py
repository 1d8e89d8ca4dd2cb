"""IsoKRR: supervised Isomap with kernel ridge regression, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from nsse._errors import rule_error
from nsse.estimators._direct import DirectClassifier, Ints
from nsse.estimators._gaussian_map import GaussianMapClassifier, measured_distances
from nsse.estimators._parameters import (
    check_n_components,
    check_number,
    check_optional,
    check_optional_count,
)
from nsse.extensions import kernel_ridge
from nsse.graphs.geodesics import class_dissimilarities, geodesic_distances
from nsse.kernels import gaussian
from nsse.solvers import fix_signs
from nsse.solvers.isomap import Scaling, classical_mds


class IsoKRR(DirectClassifier, GaussianMapClassifier):
    """Supervised Isomap, extended to new samples by Gaussian kernel ridge regression.

    Distances d are replaced by class-dependent dissimilarities [2]_,

        √(1 − exp(−d²/β)) within a class,    √(exp(d²/β)) − α between classes,

    their geodesics on a neighbour graph are embedded by classical multidimensional scaling (Isomap),
    and kernel ridge regression learns the map from samples to coordinates [1]_. New samples are mapped
    by it and classified by their nearest neighbour.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d of the embedding, at most the number of positive eigenvalues of the scaling, itself
        less than the number of training samples. None means ``n_classes - 1``, or the number of
        positive eigenvalues where that is less.
    n_neighbors : int, default=None
        Samples at the smallest dissimilarities joined in the graph (all of them where there are no
        more). Two samples are joined if either is a neighbour of the other. None joins all pairs; with
        a thousand samples or more a number is faster.
    beta : float, default=10.0
        β, in squared units of length: the larger, the less distances matter beside the labels. None
        takes the square of the mean distance between samples, about 1 (see Notes).
    overlap : float, default=0.0
        α, from 0 to 1: how much closer than 1, the most within a class, samples of different classes
        may come. [2]_ takes 0.5.
    alpha : float, default=1e-3
        Ridge of the regression. Must be positive; a very small one interpolates.
    sigma : float, default=1.0
        Scale σ of the kernel exp(−‖x − x'‖²/σ²), in units of length.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma` and `beta` are understood: the median distance between training
        samples, so that rescaling X changes nothing, or a length given as a number.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples: what `transform` gives, and what `predict` compares with.
    isomap_embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates found by Isomap, to which f was fitted.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the scaling, descending.
    negative_share_ : float
        Share of the negative eigenvalues in the sum of all magnitudes: how far the geodesics are from
        being distances between points of a Euclidean space. Those eigenvalues are not used.
    n_connected_components_ : int
        Pieces of the neighbour graph. Where there are several, as often when classes lie apart, every
        two of them were joined by the shortest edge between them.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of f.
    centers_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Kernel centres: the training samples.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    classifier_ : classifier
        Fitted on `embedding_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    MReg : Regression with a term of the manifold.

    Notes
    -----
    O(N³) time and O(N²) memory in the number N of samples; the number n of features enters through
    distances only, so that n > N needs no care. [2]_ sets β to the mean distance; the square of it has
    the units of d² and makes the result independent of the scale of X. The defaults of version 0.1 were
    ``n_neighbors=15, alpha=1e-6``; ``docs/methods.md`` compares the errors.

    References
    ----------
    .. [1] C. Orsenigo and C. Vercellis, "Kernel ridge regression for out-of-sample mapping in
       supervised manifold learning", Expert Systems with Applications 39(9), 7757-7762, 2012.
    .. [2] X. Geng, D.-C. Zhan and Z.-H. Zhou, "Supervised nonlinear dimensionality reduction for
       visualization and classification", IEEE Trans. Systems, Man, and Cybernetics B 35(6),
       1098-1107, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import IsoKRR
    >>> X, y = load_iris(return_X_y=True)
    >>> IsoKRR(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | None = None,
        beta: float | None = 10.0,
        overlap: float = 0.0,
        alpha: float = 1e-3,
        sigma: float = 1.0,
        length_unit: str | float = "median",
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.overlap = overlap
        self.alpha = alpha
        self.sigma = sigma
        self.length_unit = length_unit
        self.classifier = classifier

    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Embed by supervised Isomap and fit the map f to the coordinates."""
        d = check_n_components(self.n_components, len(codes), len(self.classes_))
        D2, self.length_unit_ = measured_distances(X, length_unit)
        D = class_dissimilarities(D2, codes, self.beta, self.overlap)
        geodesics = geodesic_distances(D, self.n_neighbors)
        scaling = classical_mds(geodesics.lengths, d)
        d = self._check_existing(d, scaling)
        Y = scaling.coordinates * fix_signs(scaling.coordinates, codes)
        coef = kernel_ridge(gaussian(D2, self.sigma), Y, self.alpha)
        self._keep_map(X, coef, self.sigma * self.length_unit_)
        self.isomap_embedding_ = Y
        self.eigenvalues_ = scaling.eigenvalues[:d]
        self.negative_share_ = scaling.negative_share
        self.n_connected_components_ = geodesics.n_components

    def _check_parameters(self) -> None:
        check_optional_count("n_neighbors", self.n_neighbors, cure="None joins all pairs.")
        check_optional("beta", self.beta)
        if check_number("overlap", self.overlap, cure="0 keeps classes farthest apart.") > 1:
            raise rule_error(
                "overlap",
                "be a number from 0 to 1",
                self.overlap,
                "Above 1 samples of different classes would be at negative distances.",
            )
        check_number("alpha", self.alpha, positive=True, cure="Take 1e-8 to interpolate.")
        check_number("sigma", self.sigma, positive=True, cure="1.0 is the unit of length.")

    def _check_existing(self, d: int, scaling: Scaling) -> int:
        """d, if there are as many positive eigenvalues; with None all there are, up to d."""
        existing = len(scaling.eigenvalues)
        if d > existing and self.n_components is not None:
            raise rule_error(
                "n_components",
                f"not exceed the number of positive eigenvalues, {existing}",
                d,
                "Lower it: along the other directions lengths would not be real.",
            )
        return min(d, existing)
