"""MReg: manifold regularisation (Laplacian regularised least squares), as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from nsse._errors import rule_error
from nsse.estimators._base import gives_probabilities
from nsse.estimators._fitting import all_or_nothing
from nsse.estimators._gaussian_map import GaussianMapClassifier, measured_distances
from nsse.estimators._parameters import (
    check_classifier,
    check_length_unit,
    check_number,
    check_optional,
    check_optional_count,
)
from nsse.estimators._posing import encode_labels
from nsse.graphs.unsupervised import neighbor_laplacian
from nsse.kernels import gaussian
from nsse.solvers.lap_rls import solve_lap_rls


class MReg(GaussianMapClassifier):
    """Manifold regularisation in a reproducing kernel Hilbert space: Laplacian least squares.

    One function f per class is fitted to targets 1 for its samples and 0 for all others, smooth both in
    the space of the Gaussian kernel K and along the neighbour graph of the samples with Laplacian L
    [1]_:

        1/l Σ_labelled (y_i − f(x_i))² + γ_A ‖f‖²_K + γ_I/N² f'Lf  →  min.

    `transform` gives the scores of the classes, f_1(x), …, f_M(x), two of them for two classes as well;
    `predict` the class with the largest score, the method's own rule.

    Parameters
    ----------
    gamma_A : float, default=1e-6
        Weight γ_A of the norm in the space of the kernel. Must be positive.
    gamma_I : float, default=1.0
        Weight γ_I of the smoothness along the graph. With 0 this is kernel ridge regression with the
        ridge γ_A l.
    sigma : float, default=1.0
        Scale σ of the kernel exp(−‖x − x'‖²/σ²), in units of length.
    n_neighbors : int, default=5
        Nearest samples joined in the graph, whatever their labels (all of them where there are no
        more). None joins all pairs.
    beta : float, default=None
        Width of the weights exp(−‖x_i − x_j‖²/β), in squared units of length. None: the edges' mean.
    normalized : bool, default=True
        Whether L is the normalised Laplacian D^(−1/2) (D − W) D^(−1/2), as in the experiments of [1]_,
        or D − W.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma` and `beta` are understood: the median distance between training
        samples, so that rescaling X changes nothing, or a length given as a number.
    unlabeled : int, str or None, default=None
        The value that marks samples without a label in ``y``. None: all samples are labelled and −1 is
        a label like any other. With ``unlabeled=-1`` the convention of scikit-learn's
        `LabelSpreading` and `SelfTrainingClassifier` holds: such samples shape the graph, and f is not
        fitted to them.
    classifier : classifier, default=None
        Fitted on the labelled samples' scores, for `predict`. None takes the largest score.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_classes)
        Scores of the training samples, in the order of `classes_`.
    coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients α of the functions.
    centers_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Kernel centres: the training samples, labelled or not.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_labeled_ : int
        Number l of labelled samples.
    classifier_ : classifier or None
        Fitted on the scores; None where the largest score decides.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    IsoKRR : Regression onto given coordinates.

    Notes
    -----
    O(N³) time and O(N²) memory in the number N of samples; the number n of features enters through
    distances only, so that n > N needs no care. Targets −1 instead of 0, as in [1]_, would add the same
    function to all scores and change no prediction. There is no intercept: far from all samples every
    score vanishes.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework for
       learning from labeled and unlabeled examples", Journal of Machine Learning Research 7,
       2399-2434, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nsse import MReg
    >>> X, y = load_iris(return_X_y=True)
    >>> few = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> bool(MReg(unlabeled=-1).fit(X, few).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        gamma_A: float = 1e-6,
        gamma_I: float = 1.0,
        sigma: float = 1.0,
        n_neighbors: int | None = 5,
        beta: float | None = None,
        normalized: bool = True,
        length_unit: str | float = "median",
        unlabeled: Any = None,
        classifier: Any = None,
    ) -> None:
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.normalized = normalized
        self.length_unit = length_unit
        self.unlabeled = unlabeled
        self.classifier = classifier

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> MReg:
        """Fit one function per class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones; `unlabeled` where there is none.

        Returns
        -------
        self : MReg
            The fitted estimator. If fit fails, the estimator is as it was before.
        """
        unit = self._check_parameters()
        X, y = self._validated(X, y)
        labeled = self._labeled(y)
        self.classes_, codes = encode_labels(y[labeled])
        D2, self.length_unit_ = measured_distances(X, unit)
        L = neighbor_laplacian(D2, self.n_neighbors, self.beta, normalized=self.normalized)
        targets = np.zeros((len(y), len(self.classes_)))
        targets[labeled, codes] = 1.0
        coef = solve_lap_rls(
            gaussian(D2, self.sigma), L, targets, labeled, gamma_A=self.gamma_A, gamma_I=self.gamma_I
        )
        self._keep_map(X, coef, self.sigma * self.length_unit_)
        self.n_labeled_ = len(codes)
        self.classifier_ = self._fitted_classifier(self.embedding_[labeled], y[labeled])
        return self

    def predict(self, X: Any) -> Any:
        """Label of the largest score, or what `classifier` says, for every row of ``X``."""
        return super().predict(X)

    @available_if(lambda self: self.classifier is not None and gives_probabilities(self))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, if a `classifier` gives them: scores are none."""
        return self._probabilities(X)

    def _fitted_classifier(self, embedding: NDArray[Any], y: NDArray[Any]) -> Any:
        return None if self.classifier is None else super()._fitted_classifier(embedding, y)

    def _labeled(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Which samples have a label."""
        if self.unlabeled is None:
            return np.ones(len(y), dtype=bool)
        return np.array([label != self.unlabeled for label in y.tolist()])

    def _check_parameters(self) -> float | None:
        """Judge what can be judged without the data; the unit of length, None for the median."""
        check_number("gamma_A", self.gamma_A, positive=True, cure="Take a small value such as 1e-8.")
        check_number("gamma_I", self.gamma_I, cure="0 switches the graph off.")
        check_number("sigma", self.sigma, positive=True, cure="1.0 is the unit of length.")
        check_optional_count("n_neighbors", self.n_neighbors, cure="None joins all pairs.")
        check_optional("beta", self.beta)
        if not isinstance(self.normalized, bool | np.bool_):
            raise rule_error("normalized", "be True or False", self.normalized, "Choose one of them.")
        check_classifier(self.classifier, default="the largest score")
        return check_length_unit(self.length_unit)
