"""NSSE as a scikit-learn transformer and classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._compat import CallbackSupportMixin, FitTasks, with_callbacks
from nsse.estimators._fitting import all_or_nothing, logged
from nsse.estimators._landmarks import LandmarkClassifier, row_source, tell
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import (
    Posed,
    Verdict,
    encode_labels,
    pose,
    search,
    warn_about,
)
from nsse.estimators._settings import Settings, check_settings
from nsse.extensions import GaussianExpansion
from nsse.landmarks import CenterFit, RowSource
from nsse.solvers import SearchResult, Solution, Step, Trace

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Condition:
    """How the eigenproblem was solved, and how hard it was.

    Attributes
    ----------
    factorization : {"cholesky", "qr"}
        Factorisation of P = K'SK + μ2 I; "qr" is the answer to an ill-conditioned P.
    condition_number : float
        Estimate of cond(P).
    eigensolver : {"block Krylov", "full"}
        How the leading eigenvectors were found.
    precision : {"float64", "float32"}
        Of the kernel during the fit: single with landmarks if X is in single precision or bytes. The
        fitted map is evaluated in double precision.
    jitter : float
        What was added to μ2, only ever with landmarks: in single precision, the rounding of P; more,
        with a warning, where P was not positive definite.
    """

    factorization: str
    condition_number: float
    eigensolver: str
    precision: str = "float64"
    jitter: float = 0.0


class NSSE(CallbackSupportMixin, LandmarkClassifier):
    """Nonlinear Supervised Smooth Embedding.

    Learns an embedding Y of the labelled samples X together with the Gaussian RBF map f that produces
    it, f(x) = Σ c_i exp(−‖x − x_i‖²/σ²), by minimising (Eq. 11 of [1]_)

        tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ²   subject to   Y'Y = I, Y = ΨC

    over Y and the kernel scale σ: classes separate *and* f stays smooth, so that it holds on new
    samples. These are embedded by f in closed form and classified by their nearest neighbour.

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
        Weight of 1/σ²: larger values ask for a wider, smoother kernel. None means
        ``5 * mu2 * n_components``, which keeps the balance of the two smoothness terms whatever the
        other parameters are.
    n_neighbors : int, default=5
        Nearest samples of the same class joined in the within-class graph (all of them in a class
        that has no more). None joins all pairs of the same class.
    beta : float, default=None
        Width of the edge weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the
        mean squared length of the edges.
    affinity : {"gaussian"}, callable or matrix of shape (n_samples, n_samples), default="gaussian"
        Within-class weights W_w: the Gaussian ones described above; ``affinity(X, y)`` returning a
        matrix, dense or sparse; or the matrix itself. It must be symmetric, not negative, and zero
        between classes.
    sigma : float, default=None
        Kernel scale σ in units of length. None finds it within `sigma_range`.
    sigma_range : tuple of (float, float), default=(0.1, 10.0)
        Where to look for σ, in units of length.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma`, `sigma_range`, `beta` and `mu3` are understood: the median distance
        between training samples, so that rescaling X changes nothing, or a length given as a number.
        With 1.0 they are in the units of X, as in the paper.
    solver : {"joint", "alternating"}, default="joint"
        "joint" minimises over σ directly, Y being eliminated, and looks for the global minimum: it
        never ends above a σ that it tried; what else is certain, and what is not, stands in the Notes.
        "alternating" is Algorithm 1 of the paper.
    sigma_init : float, default=None
        Initial σ of the alternating solver, in units of length. None takes the geometric mean of
        `sigma_range`.
    n_sigmas : int, default=40
        Points of the σ grid of the alternating solver.
    tol : float, default=1e-8
        A search ends when the objective (without its constant part) can be improved by no more than
        this, relatively.
    max_iter : int, default=50
        Most iterations of the alternating solver, or evaluations of the joint one after its first
        scan. A search that needs more warns and keeps the best it has seen.
    classifier : classifier, default=None
        Fitted on the embedding and used by `predict`. None is the nearest neighbour, as in the paper;
        of samples that are equally near, up to rounding, the first. With landmarks a vote is better:
        ``KNeighborsClassifier(15)``, which leaves ties to scikit-learn.
    n_landmarks : int, "auto" or None, default=None
        Number m of kernel centres. None makes every training sample one: exact NSSE, cubic in their
        number. With m centres time is O(N m (n + m)) and memory O(m²) plus a block of rows. "auto" is
        exact up to 5000 samples and takes 3000 centres beyond; `n_landmarks_` says which.
    landmarks : {"kmeans", "per-class", "random", "kmeans++"}, array or None, default=None
        Which centres. "kmeans" looks for clusters in every class and takes their means; "per-class"
        draws the same number of samples from every class, as far as they go; "random" draws from all
        samples; "kmeans++" spreads them. Or indices into the training samples (one axis), or the centres
        themselves (two axes). None, where `n_landmarks` is given, is "kmeans", and "per-class" for
        sparse samples.
    callback : callable, default=None
        ``callback(step)`` is called after every evaluation of the objective with its terms, σ and
        seconds; returning True ends the search. With scikit-learn 1.9 or newer ``set_callbacks``
        works as well.
    random_state : int, RandomState instance or None, default=0
        Draws the subsamples on which the joint solver looks for a first σ when there are 800 samples
        or more; the result depends on it within `tol` only. With landmarks it draws these and the
        subsample on which σ is found.
    verbose : int, default=0
        1 logs every step.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples.
    coef_ : ndarray of shape (n_landmarks_, n_components)
        Coefficients C of f.
    centers_ : ndarray or sparse matrix of shape (n_landmarks_, n_features)
        Kernel centres: the training samples, or the landmarks.
    n_landmarks_ : int
        Number of centres; that of the training samples where NSSE is exact.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    classifier_ : classifier
        Fitted on `embedding_`.
    objective_ : float
        Eq. (11) at the solution.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L_w − μ1 L_b + μ2 Ψ⁻² belonging to the coordinates, ascending.
    trace_ : Trace
        One step per evaluation of the objective: σ (in the units of X), each term, seconds.
    n_iter_ : int
        Number of steps.
    condition_ : Condition
        How well-conditioned the problem was, and how it was solved.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Exact NSSE takes O(N³) time and about 40 N² bytes, or 90 N² where an ill-conditioned problem needs a
    QR factorisation. A point embeds to the same bits alone or in any batch; results do not depend on the
    number of threads.

    What ``solver="joint"`` guarantees: the result is the best of all σ evaluated on all samples; every σ
    left out at the lower end is proven worse; and at the result the slope vanishes or points out of
    `sigma_range`. That no deeper valley exists is not proven: between two σ that were tried it is
    excluded by values and slopes at both, which a valley much narrower than their distance can escape.
    With fewer than 100 samples that distance is at most 14 % of σ wherever the minimum may be; from 800
    samples on the valleys are looked for on subsamples. ``benchmarks/global_minimum.py`` searches for
    counterexamples.

    With landmarks, f has m centres, Y'Y = I over all samples still holds, and the samples are read in
    blocks of 4096 rows: arrays in memory, memory maps, sparse matrices, Dask arrays, and other sources
    by `fit_blocks`. Neighbours within a class are looked for inside a block, which is the same whatever
    the chunks in which rows come. A fit works on bytes and float32 in single precision with sums in
    double (`embedding_` is then f to that precision), on everything else in double.

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
    >>> bool(model.score(X_test, y_test) > 0.95)
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
        affinity: Any = "gaussian",
        sigma: float | None = None,
        sigma_range: tuple[float, float] = (0.1, 10.0),
        length_unit: str | float = "median",
        solver: str = "joint",
        sigma_init: float | None = None,
        n_sigmas: int = 40,
        tol: float = 1e-8,
        max_iter: int = 50,
        classifier: Any = None,
        n_landmarks: int | str | None = None,
        landmarks: Any = None,
        callback: Callable[[Step], Any] | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.mu1 = mu1
        self.mu2 = mu2
        self.mu3 = mu3
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.affinity = affinity
        self.sigma = sigma
        self.sigma_range = sigma_range
        self.length_unit = length_unit
        self.solver = solver
        self.sigma_init = sigma_init
        self.n_sigmas = n_sigmas
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any) -> NSSE:
        """Learn the embedding, its map f and the kernel scale.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples; a Dask array with landmarks only.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.

        Returns
        -------
        self : NSSE
            The fitted estimator. If fit fails, the estimator is as it was before.
        """
        settings = check_settings(self)
        source, y = row_source(self, X, y, settings)
        classes, codes = encode_labels(y)
        d = check_n_components(self.n_components, len(codes), len(classes))
        tasks = FitTasks(self, X, y)
        with logged(self.verbose):
            if settings.centers is None or settings.centers.is_exact_for(len(codes)):
                fitted, verdict = self._exact(source.X, y, codes, d, settings, tasks)
            else:
                fitted, verdict = self._with_centers(source, y, codes, d, settings, tasks)
        warn_about(verdict, settings)
        self._keep(fitted, tasks)
        return self

    def _exact(
        self, X: Any, y: Any, codes: Ints, d: int, settings: Settings, tasks: FitTasks
    ) -> tuple[dict[str, Any], Verdict]:
        posed = pose(X, y, codes, d, settings)
        listener = _Listener(self, tasks, posed, X, y)
        outcome = search(posed, settings, self.random_state, listener)
        fitted = self._fitted(posed, outcome.solution, X, y) | _search_record(posed, outcome)
        return fitted, Verdict.of_exact(outcome)

    def _fitted_centers(
        self, fit: CenterFit, centers: Any, source: RowSource, y: NDArray[Any]
    ) -> dict[str, Any]:
        condition = Condition("cholesky", fit.condition, fit.eigensolver, str(fit.precision), fit.added)
        return super()._fitted_centers(fit, centers, source, y) | {"condition_": condition}

    def _fitted(self, posed: Posed, solution: Solution, X: Any, y: Any) -> dict[str, Any]:
        """Attributes of a model that can transform and predict."""
        coef, embedding = posed.signed(solution)
        embedding = embedding.astype(X.dtype)
        sigma = solution.sigma * posed.unit
        centers = X.copy()
        return {
            "embedding_": embedding, "coef_": coef, "centers_": centers, "sigma_": sigma,
            "n_landmarks_": len(coef), "length_unit_": posed.unit, "classes_": np.unique(y),
            "classifier_": self._fitted_classifier(embedding, y),
            "_expansion": GaussianExpansion.at(centers, coef, sigma),
        }  # fmt: skip


def _search_record(posed: Posed, outcome: SearchResult) -> dict[str, Any]:
    """Attributes that tell how the search went."""
    solution = outcome.solution
    return {
        "objective_": solution.excess - posed.problem.shift,
        "eigenvalues_": solution.eigenvalues - posed.problem.objective.mu1 * posed.problem.n_samples,
        "trace_": Trace(tuple(_in_units_of_x(step, posed) for step in outcome.trace.steps)),
        "n_iter_": outcome.n_iter,
        "condition_": Condition(solution.factorization, solution.condition, solution.eigensolver),
    }


def _in_units_of_x(step: Step, posed: Posed) -> Step:
    return replace(step, sigma=step.sigma * posed.unit)


class _Listener:
    """Passes every step on: to the log, to the user's callback, to scikit-learn's callbacks."""

    def __init__(self, model: NSSE, tasks: FitTasks, posed: Posed, X: Any, y: Any) -> None:
        self._model, self._tasks, self._posed = model, tasks, posed
        self._data = (X, y)

    def __call__(self, step: Step, solution: Solution | None) -> bool:
        assert solution is not None
        enough = tell(self._model, step, self._posed.unit)
        asked = self._tasks.step(
            step.stage, lambda: self._model._fitted(self._posed, solution, *self._data)
        )
        return enough or asked
