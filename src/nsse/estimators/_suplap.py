"""Supervised Laplacian eigenmaps, extended by Gaussian RBF interpolation."""

from __future__ import annotations

from typing import Any

from nsse.estimators._direct import DirectClassifier, Ints
from nsse.estimators._eigenmaps import warn_if_degenerate
from nsse.estimators._gaussian_map import GaussianMapClassifier, measured_distances
from nsse.estimators._parameters import (
    check_choice,
    check_count,
    check_n_components,
    check_number,
    check_optional,
)
from nsse.extensions import interpolate
from nsse.graphs.adaptive import class_graphs, signed_laplacian
from nsse.solvers import fix_signs, smallest_eigenpairs


class SUPLAP(DirectClassifier, GaussianMapClassifier):
    """Supervised Laplacian eigenmaps with an RBF interpolator.

    Embeds the training samples by minimising (Eq. 2 of [2]_)

        tr(Y'L_w Y) − μ tr(Y'L_b Y)   subject to   Y'Y = I,

    with Laplacians of a within-class and a between-class neighbour graph: Y are the eigenvectors of
    L_w − μ L_b to its smallest eigenvalues. Only then is it extended to new samples, by the Gaussian
    interpolator f(x) = Σ c_i exp(−‖x − x_i‖²/σ²) with f(x_i) = y_i. NSSE learns both together.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, at most the number of training samples. None means
        ``n_classes - 1``.
    mu : float, default=0.001
        Weight of the separation between classes.
    n_neighbors : {"adaptive"}, int or None, default=None
        Samples of the same class joined with weight exp(−‖x_i − x_j‖²/β): all of them (None), those more
        similar to x_i than all samples are on average ("adaptive", [1]_), or a number of nearest ones
        (all where there are fewer).
    n_neighbors_between : {"adaptive"}, int or None, default="adaptive"
        Samples of other classes joined with weight 1, in the same way. None joins all pairs of
        different classes; see Notes.
    beta : float, default=None
        Width of similarities and weights, in squared units of length. None takes the mean squared
        distance between training samples.
    sigma : float, default=1.0
        Kernel scale σ of the interpolator, in units of length.
    ridge : float, default=1e-10
        Added to the diagonal of the kernel matrix, so that duplicated samples can be interpolated:
        f(x_i) = y_i − ridge·c_i, which matters for wide kernels with their large coefficients only.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma` and `beta`: the median distance between training samples, or a length in
        the units of X.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of f.
    centers_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Centres of f: the training samples.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L_w − μ L_b belonging to the coordinates, ascending.
    objective_ : float
        The objective above at its minimum, the sum of `eigenvalues_`.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    classifier_ : classifier
        Fitted on `embedding_`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    NSSE : Embedding and map learnt together.

    Notes
    -----
    [1]_ trades the two terms off in another form (largest eigenvectors under Y'D_w Y = I); this is the
    form of Eq. (2) of [2]_. The number of features enters through distances only, so that more features
    than samples need no care.

    The defaults of version 0.1 were ``mu=0.01, n_neighbors="adaptive"``, which leave a class in pieces
    where its samples are few; ``docs/methods.md`` compares the errors.

    If every pair of different classes is joined, all centred vectors that are constant on the classes
    have the same eigenvalue −μN: the problem is degenerate. Up to ``n_classes - 1`` dimensions the
    embedding then puts each class on one point whatever the samples are, the coordinates are an
    arbitrary basis, and below ``n_classes - 1`` an arbitrary part of one. The same holds, at the
    eigenvalue 0, for classes without any edge to another. A fit whose coordinates are not determined
    warns (`DegenerateEmbeddingWarning`).

    References
    ----------
    .. [1] B. Raducanu and F. Dornaika, "A supervised non-linear dimensionality reduction approach for
       manifold learning", Pattern Recognition 45(6), 2432-2444, 2012.
    .. [2] C. Örnek and E. Vural, "Nonlinear supervised dimensionality reduction via smooth regular
       embeddings", Pattern Recognition 87, 55-66, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SUPLAP
    >>> X, y = load_iris(return_X_y=True)
    >>> SUPLAP(n_components=2, n_neighbors_between=10).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        mu: float = 0.001,
        n_neighbors: int | str | None = None,
        n_neighbors_between: int | str | None = "adaptive",
        beta: float | None = None,
        sigma: float = 1.0,
        ridge: float = 1e-10,
        length_unit: str | float = "median",
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.n_neighbors_between = n_neighbors_between
        self.beta = beta
        self.sigma = sigma
        self.ridge = ridge
        self.length_unit = length_unit
        self.classifier = classifier

    def _learn(self, X: Any, codes: Ints, length_unit: float | None) -> None:
        """Embed the samples and interpolate the embedding."""
        d = check_n_components(self.n_components, len(codes), len(self.classes_))
        D2, self.length_unit_ = measured_distances(X, length_unit)
        W_w, W_b = class_graphs(D2, codes, self.n_neighbors, self.n_neighbors_between, self.beta)
        solution = smallest_eigenpairs(signed_laplacian(W_w, W_b, self.mu), d)  # Eq. (2)
        warn_if_degenerate(solution, "Change `n_neighbors_between` or `mu`, or another `n_components`.")
        Y = solution.vectors * fix_signs(solution.vectors, codes)
        self._keep_map(X, interpolate(D2, Y, self.sigma, self.ridge), self.sigma * self.length_unit_)
        self.eigenvalues_ = solution.eigenvalues
        self.objective_ = float(solution.eigenvalues.sum())

    def _check_parameters(self) -> None:
        check_number("mu", self.mu, cure="0 switches the separation of classes off.")
        check_neighbors("n_neighbors", self.n_neighbors)
        check_neighbors("n_neighbors_between", self.n_neighbors_between)
        check_optional("beta", self.beta)
        check_number("sigma", self.sigma, positive=True, cure="1.0 is the unit of length.")
        check_number("ridge", self.ridge, cure="1e-10 is small enough to interpolate.")


def check_neighbors(name: str, value: Any) -> None:
    """A number of neighbours, "adaptive", or None."""
    if isinstance(value, str):
        check_choice(name, value, ("adaptive",))
    elif value is not None:
        check_count(name, value, cure='"adaptive" chooses from the data, None takes all.')
