"""Provide NSSE, the method of the paper, as a scikit-learn transformer and classifier."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from nsse._support.errors import Described, rule_error
from nsse._support.fitting import all_or_nothing
from nsse._support.machine import require_memory
from nsse._support.parameters import (
    check_choice,
    check_count,
    check_kernel_width,
    check_number,
    check_range,
)
from nsse._support.types import Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.base import EmbeddingClassifier, signs_of
from nsse.distances import SAME_PLACE, median_distance, squared_distances
from nsse.exceptions import ConditioningWarning, ScaleAtBoundWarning
from nsse.kernels import Gaussian
from nsse.labels import encoded, warn_of_marker
from nsse.maps import KernelMap
from nsse.metrics.learned import centered
from nsse.published.alternating import alternate
from nsse.published.embedding import embed
from nsse.published.objective import Problem, Weights
from nsse.published.scale import Found, minimize
from nsse.published.trace import Recorder, Step, Stopped, Trace
from nsse.scores import Scores, nearest_scores

# The default μ3 = 5 μ2 d keeps the balance of the two smoothness terms.
MU3_PER_MU2 = 5.0
# N × N arrays of a fit at its peak: distances, K, a factor, and temporaries.
MATRICES = 5
# Samples that are used to estimate the typical distance.
FEW = 32
# Lengths with at most this ratio can be squared and compared.
LARGEST_RATIO = 1e100
# Calls between a warning of `fit` and the line of the user that calls it.
FROM_FIT = 4


@dataclass(frozen=True)
class Condition:
    """Describe how the eigenproblem of the solution was solved, and how hard it was.

    Attributes
    ----------
    factorization : {"cholesky", "qr"}
        "cholesky" if P = KSK + μ2 I was factorized, and "qr" if P is so ill-conditioned that its factor
        was computed by a QR factorization.
    condition_number : float
        Estimate of cond(P).
    """

    factorization: str
    condition_number: float


class NSSE(EmbeddingClassifier):
    """Nonlinear Supervised Smooth Embedding, the method of the paper.

    Learns an embedding Y of the labeled samples X together with the Gaussian RBF map f that produces
    it, f(x) = Σ c_i exp(−‖x − x_i‖²/σ²), by minimizing (Eq. 11 of [1]_)

        tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ²,   Y = KC,   Y'Y = I.

    Neighbors of a class stay together, classes separate, *and* f stays smooth, so that it generalizes to
    new samples. These are embedded by f and classified in the embedding. All training samples are
    centers of f.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d of the embedding, at most the number of training samples. None means
        ``n_classes - 1``.
    mu1 : float, default=1.0
        Weight of the separation between classes.
    mu2 : float, default=0.01
        Weight of the size of the coefficients, ‖C‖². Must be positive.
    mu3 : float, default=None
        Weight of 1/σ². Larger values lead to a wider and smoother kernel. None means
        ``5 * mu2 * n_components``.
    n_neighbors : int, default=5
        Number of nearest samples of the same class that are joined in the within-class graph. None
        joins all pairs of the same class.
    beta : float, default=None
        Width of the edge weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the
        mean squared length of the edges.
    sigma : float, default=None
        Kernel scale σ in units of length. None finds it within `sigma_range` by the objective.
    sigma_range : tuple of (float, float), default=(0.1, 10.0)
        The interval that is searched for σ, in units of length.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma`, `sigma_range`, `beta` and `mu3`. "median" is the median distance between
        training samples, so that rescaling X changes nothing. 1.0 is the unit of X, as in the paper.
    solver : {"joint", "alternating"}, default="joint"
        "joint" eliminates Y, minimizes over σ directly and looks for the global minimum. "alternating"
        is Algorithm 1 of the paper, with 40 values of σ for its exhaustive search. It starts at the
        geometric mean of `sigma_range`.
    classifier : {"nearest", "linear"}, default="nearest"
        "nearest" gives the label of the nearest training sample in the embedding, as in Theorem 1 of
        the paper. "linear" is a multinomial logistic regression in the embedding, as in the extension
        of the theorem.
    max_iter : int, default=50
        Largest number of iterations of the alternating solver, or of evaluations of the joint solver
        after its scan. If this is not enough, a warning is raised and the best result is used.
    tol : float, default=1e-8
        The search ends if the objective without its constant part cannot be improved by more than this
        relative amount.
    callback : callable, default=None
        ``callback(step)`` is called after every evaluation of the objective with its terms, σ and
        seconds. If it returns True, the search ends.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, the values of f at the training samples.
    coef_ : ndarray of shape (n_samples, n_components)
        Coefficients C of f.
    centers_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Kernel centers, which are the training samples, in the units of X.
    sigma_ : float
        Kernel scale in the units of X.
    length_unit_ : float
        The unit of length in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    labels_ : ndarray of shape (n_samples,)
        Labels of the training samples.
    objective_ : float
        Eq. (11) at the solution.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L_w − μ1 L_b + μ2 K⁻² that belong to the coordinates, ascending.
    trace_ : Trace
        One step per evaluation of the objective: σ in the units of X, each term, and seconds.
    n_iter_ : int
        Number of evaluations, or of iterations of the alternating solver.
    condition_ : Condition
        How the problem was solved, and its condition number.
    map_, scores_
        The map f, and the decision rule as affine functions of f.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Warns
    -----
    ConvergenceWarning
        If the search for σ did not converge in `max_iter` steps.
    ScaleAtBoundWarning
        If the best σ lies at an end of `sigma_range`.
    ConditioningWarning
        If the problem is so ill-conditioned that it was solved by a QR factorization.

    See Also
    --------
    SmoothEmbedding : The recommended method, the same idea as one regression.
    nsse.certificates.theorem_1 : The bound of the paper, term by term.

    Notes
    -----
    A fit takes O(N³) time and about 40 N² bytes, or 90 N² bytes if an ill-conditioned problem needs a
    QR factorization. If less than 40 N² bytes are available, `fit` raises a `MemoryError` before it
    starts.

    With ``solver="joint"``, the result is the best of all evaluated σ. There, the slope of the objective
    vanishes or points out of `sigma_range`. It is not proven that no deeper valley exists. Between two
    evaluated σ, a deeper valley is excluded by the values and slopes at both, but a valley that is much
    narrower than their distance can be missed.

    References
    ----------
    .. [1] C. Örnek and E. Vural, "Nonlinear supervised dimensionality reduction via smooth regular
       embeddings", Pattern Recognition 87, 55-66, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from nsse import NSSE
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(
    ...     X, y, train_size=200, stratify=y, random_state=0)
    >>> model = NSSE(n_components=9).fit(X_train, y_train)
    >>> model.transform(X_test).shape
    (1597, 9)
    >>> bool(model.score(X_test, y_test) > 0.94)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        mu1: float = 1.0,
        mu2: float = 0.01,
        mu3: float | None = None,
        n_neighbors: int | None = 5,
        beta: float | None = None,
        sigma: float | None = None,
        sigma_range: tuple[float, float] = (0.1, 10.0),
        length_unit: str | float = "median",
        solver: str = "joint",
        classifier: str = "nearest",
        max_iter: int = 50,
        tol: float = 1e-8,
        callback: Callable[[Step], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.mu1 = mu1
        self.mu2 = mu2
        self.mu3 = mu3
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.sigma = sigma
        self.sigma_range = sigma_range
        self.length_unit = length_unit
        self.solver = solver
        self.classifier = classifier
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback

    @all_or_nothing
    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Learn the embedding, its map f and the kernel scale.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self
            The fitted estimator. If fit fails, the estimator is unchanged.
        """
        X, self.labels_ = self._validated(X, y)
        self.classes_, codes = encoded(self.labels_)
        warn_of_marker(self.classes_, codes, FROM_FIT)
        weights = self._weights(len(codes), len(self.classes_))
        cure = "Take fewer samples, or SmoothEmbedding, which needs few centers."
        width = X.nnz // len(codes) if is_sparse(X) else X.shape[1]
        require_memory(self.estimate_memory(len(codes), width, len(self.classes_)), cure)
        metric, D2 = measured(X, self.length_unit)
        recorder = Recorder(Problem(D2, codes, weights), 1.0 / float(metric.scale[0]), self.callback)
        found = self._searched(recorder)
        self._keep(X, metric, recorder, found)
        self.scores_ = decision(self.classifier, self.classes_, self.embedding_, codes)
        self._warn_about(found)
        return self

    def estimate_memory(self, n_samples: int, n_features: int, n_classes: int) -> int:
        """Estimate the peak memory of a fit.

        Parameters
        ----------
        n_samples, n_features, n_classes : int
            Sizes of the training set.

        Returns
        -------
        int
            Bytes, without the samples themselves. An ill-conditioned problem takes about twice as many.
        """
        d = n_classes - 1 if self.n_components is None else self.n_components
        rows = 2 * n_features + 60 * d  # samples in the metric, embeddings of a search
        return int(8 * n_samples * (MATRICES * n_samples + rows))

    def _weights(self, n_samples: int, n_classes: int) -> Weights:
        """Check all parameters, and return the parameters of Eq. (11)."""
        if n_classes < 2:
            got, cure = (
                Described(f"1 class, {self.classes_.tolist()[0]!r}"),
                "Give samples of another one.",
            )
            raise rule_error("y", "have at least two classes", got, cure)
        check_choice("solver", self.solver, ("joint", "alternating"))
        check_choice("classifier", self.classifier, ("nearest", "linear"))
        check_count("max_iter", self.max_iter, cure="50 is plenty.")
        check_number("tol", self.tol, cure="1e-8 is exact for all purposes.")
        check_range("sigma_range", self.sigma_range)
        for name in ("beta", "sigma"):
            if (value := getattr(self, name)) is not None:
                check_kernel_width(name, value, cure="None finds it from the data.")
        if self.callback is not None and not callable(self.callback):
            cure = "It is called as `callback(step)`."
            raise rule_error("callback", "be callable", self.callback, cure)
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, cure="None joins all pairs of a class.")
        mu1 = check_number("mu1", self.mu1, cure="1.0 is a good start.")
        mu2 = check_number("mu2", self.mu2, positive=True, cure="1e-6 is a small weight.")
        d = n_classes - 1 if self.n_components is None else self.n_components
        cure = f"None takes n_classes - 1 = {n_classes - 1}."
        if check_count("n_components", d, cure=cure) > n_samples:
            rule = f"not exceed the number of training samples, {n_samples}"
            raise rule_error("n_components", rule, d, cure)
        mu3 = MU3_PER_MU2 * mu2 * d if self.mu3 is None else self.mu3
        mu3 = check_number("mu3", mu3, cure="None takes 5 * mu2 * n_components.")
        return Weights(mu1, mu2, mu3, int(d), self.n_neighbors, self.beta)

    def _searched(self, recorder: Recorder) -> Found:
        """Return the embedding at the given σ, or at the σ that the solver finds."""
        try:
            if self.sigma is not None:
                found = recorder.record("fixed", embed(recorder.problem, float(self.sigma)))
                return Found(found, converged=True, at_bound=False)
            solve = alternate if self.solver == "alternating" else minimize
            return solve(recorder, self.sigma_range, float(self.tol), int(self.max_iter))
        except Stopped as stop:
            return Found(stop.best, converged=True, at_bound=False)

    def _keep(self, X: SamplesLike, metric: Affine, recorder: Recorder, found: Found) -> None:
        problem, best = recorder.problem, found.embedding
        signs = signs_of(problem.S.class_means(best.Y))
        self.embedding_, self.coef_ = best.Y * signs, best.coef * signs
        self.centers_, self.length_unit_ = X.copy(), recorder.unit
        self.sigma_ = best.sigma * recorder.unit
        self.map_ = KernelMap(metric, metric(X), Gaussian().at(best.sigma), self.coef_)
        self.eigenvalues_ = best.eigenvalues - problem.shift
        self.objective_ = best.excess - problem.shift * len(best.eigenvalues)
        self.trace_, self.n_iter_ = Trace(tuple(recorder.steps)), recorder.steps[-1].iteration + 1
        self.condition_ = Condition(best.factorization, best.condition)

    def _warn_about(self, found: Found) -> None:
        """Warn if the search did not converge, ended at a bound, or was ill-conditioned."""
        best = found.embedding
        if not found.converged:
            text = f"The search for sigma did not converge in max_iter={self.max_iter} steps. The best "
            _warn(text + "sigma so far is used. Raise `max_iter` or `tol`.", ConvergenceWarning)
        if found.at_bound:
            text = f"The best sigma, {best.sigma:.3g} units of length, lies at an end of what can be "
            text += f"solved of sigma_range={self.sigma_range}. Widen it, change `mu3`, or fix `sigma`."
            _warn(text, ScaleAtBoundWarning)
        if best.factorization == "qr":
            text = f"The problem is ill-conditioned (condition number {best.condition:.1e}). It was "
            text += "solved by a QR factorization, which is slower. Raise `mu2`, or lower `sigma` "
            _warn(text + "or the upper end of `sigma_range`.", ConditioningWarning)


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=5)  # up to the line that called `fit`


def measured(X: SamplesLike, length_unit: Any) -> tuple[Affine, Floats]:
    """Return the map to units of length, and squared distances in them."""
    metric = centered(X)
    Z, scale = metric(X), float(metric.scale[0])
    D2 = squared_distances(Z, Z)
    _check_resolved(Z, float(D2.max()))
    unit = median = median_distance(D2)
    if isinstance(length_unit, str):
        check_choice("length_unit", length_unit, ("median",))
    else:
        cure = 'Take "median", or 1.0 for the units of X.'
        unit = scale * check_number("length_unit", length_unit, positive=True, cure=cure)
        if not median / LARGEST_RATIO < unit < median * LARGEST_RATIO:
            rule = "be comparable to the distances between samples"
            got = Described(f"{length_unit!r}, where samples are {median / scale:.3g} apart")
            raise rule_error("length_unit", rule, got, cure)
    D2 /= unit**2
    return metric.in_units_of(unit), D2


def _check_resolved(Z: Any, widest: float) -> None:
    """Raise an error if a few samples are so far out that other distances are less than rounding."""
    some = Z[np.unique(np.linspace(0, Z.shape[0] - 1, FEW).astype(np.intp))]
    squares = pdist(some.toarray() if is_sparse(some) else some, "sqeuclidean")
    typical = float(np.quantile(squares[squares > 0], 0.8)) if squares.any() else math.inf
    if typical <= SAME_PLACE * widest:
        rule = "have no samples so far from the others that these cannot be distinguished"
        got = Described(f"distances up to {math.sqrt(widest / typical):.1e} times the typical one")
        cure = "Remove the far samples, or transform the features, for example by logarithms."
        raise rule_error("X", rule, got, cure)


def decision(classifier: str, classes: NDArray[Any], Y: Floats, codes: Ints) -> Scores:
    """Return the decision rule in the embedding as affine functions of f."""
    if classifier == "linear":
        return linear_scores(classes, Y, codes)
    return nearest_scores(classes, Y, codes)


def linear_scores(classes: NDArray[Any], Y: Floats, codes: Ints) -> Scores:
    """Fit a logistic regression on the embedding, scaled to columns of mean square 1."""
    unit = math.sqrt(len(Y))
    model = LogisticRegression(max_iter=1000).fit(Y * unit, codes)
    weights, offsets = model.coef_ * unit, model.intercept_
    if len(classes) == 2:  # one function, of the second class against the first
        weights, offsets = np.vstack([-weights, weights]) / 2, np.r_[-offsets, offsets] / 2
    return Scores.of_classes(classes, weights, offsets)
