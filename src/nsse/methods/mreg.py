"""MReg: manifold regularization, Laplacian regularized least squares (Belkin, Niyogi & Sindhwani 2006).

For one column of targets y, with l labeled of N samples, f = Σ α_i K(x_i, ·) minimizes (Section 4.2)

    1/l Σ_labeled (y_i − f(x_i))² + γ_A ‖f‖²_K + γ_I/N² f'Lf,

and with J = diag(1 where labeled, 0 elsewhere) its coefficients solve (their Eq. 8)

    (JK + γ_A l I + γ_I l/N² LK) α = Jy.

The matrix is not symmetric. It is (J + cL)K + γ_A l I, the product of two positive semidefinite matrices
moved by γ_A l > 0, so no eigenvalue is below γ_A l, and the solution exists. f(x_i) is linear in y, with
weight h_i of its own label. Without this label it is (f(x_i) − h_i y_i)/(1 − h_i), if the weights of the
other terms are kept. The temperature of the probabilities is computed from these values.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import laplacian

from nsse._support.errors import rule_error
from nsse._support.parameters import check_number
from nsse._support.types import Bools, Floats, Ints, SamplesLike
from nsse.kernels import Gaussian
from nsse.maps import KernelMap
from nsse.methods._method import Lengths, Method, check_flag, checks, neighbor_graph
from nsse.scores import Scores

# Least share of a prediction that does not come from the sample's own label.
LEAST_SHARE = 1e-12


class MReg(Method):
    """Manifold regularization in a reproducing kernel Hilbert space: Laplacian least squares.

    One function f per class is fitted to targets 1 for its samples and 0 for all others. It is smooth in
    the space of the Gaussian kernel K and along the neighbor graph of the samples with Laplacian L [1]_:

        1/l Σ_labeled (y_i − f(x_i))² + γ_A ‖f‖²_K + γ_I/N² f'Lf  →  min.

    `transform` gives the scores of the classes, f_1(x), …, f_M(x), which are two for two classes as
    well. `predict` gives the class with the largest score, which is the rule of the method.

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
        Number of nearest samples that are joined in the graph, whatever their labels (all of them if
        there are no more). None joins all pairs.
    beta : float, default=None
        Width of the weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the mean
        squared length of the edges.
    normalized : bool, default=True
        Whether L is the normalized Laplacian D^(−1/2) (D − W) D^(−1/2), as in the experiments of [1]_,
        or D − W.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma` and `beta`. It is the median distance between training samples, so that the
        scale of X has no influence, or a length that is given as a number.
    unlabeled : int, str or None, default=None
        The value that marks unlabeled samples in ``y``. None means that all samples are labeled and −1
        is a label like any other. With ``unlabeled=-1`` the convention of scikit-learn's
        `LabelSpreading` and `SelfTrainingClassifier` holds: such samples shape the graph, and f is not
        fitted to them.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_classes)
        Scores of the training samples, in the order of `classes_`.
    coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients α of the functions.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
    map_ : KernelMap
        The map of `transform`.
    scores_ : Scores
        The largest coordinate gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_labeled_ : int
        Number l of labeled samples.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    IsoKRR : Regresses onto the coordinates of Isomap.

    Notes
    -----
    A fit takes O(N³) time and O(N²) memory for N samples. The number of features has an influence on
    distances only, so more features than samples need no care. Targets −1 instead of 0, as in [1]_,
    would add the same function to all scores and change no prediction. There is no intercept, so all
    scores are zero far from all samples.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework for
       learning from labeled and unlabeled examples", Journal of Machine Learning Research 7,
       2399-2434, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import MReg
    >>> X, y = load_iris(return_X_y=True)
    >>> few = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> bool(MReg(unlabeled=-1).fit(X, few).score(X, y) > 0.9)
    True
    """

    _checks = checks(
        gamma_A=partial(check_number, positive=True, cure="Take a small value such as 1e-8."),
        gamma_I=partial(check_number, cure="0 switches the graph off."),
        normalized=check_flag,
    )

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
    ) -> None:
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.normalized = normalized
        self.length_unit = length_unit
        self.unlabeled = unlabeled

    def _learn(self, X: SamplesLike, codes: Ints) -> KernelMap:
        lengths, labeled = Lengths.of(X, self.length_unit), codes >= 0
        W, _ = neighbor_graph(lengths.D2, self.n_neighbors, self.beta)
        # A sample without neighbors has a row and a column of zeros.
        L = laplacian(W, normed=self.normalized)
        K = Gaussian().at(self.sigma)(lengths.D2)
        own, n_classes = codes[labeled], len(self.classes_)
        T = np.eye(n_classes)[own]
        coef, values = lap_rls(K, L, T, labeled, self.gamma_A, self.gamma_I)
        scores = Scores.of_classes(self.classes_, np.eye(n_classes), np.zeros(n_classes))
        self.scores_ = scores.calibrated(values, own, np.ones(len(own)))
        self.n_labeled_ = len(own)
        return self._expanded(lengths, coef)

    def _scores(self, embedding: Floats, codes: Ints) -> Scores:
        return self.scores_


def lap_rls(
    K: Floats, L: Any, targets: Floats, labeled: Bools, gamma_A: float, gamma_I: float
) -> tuple[Floats, Floats]:
    """Return coefficients α, and f at the labeled samples, each without its own label.

    ``targets`` has a row for every labeled sample and a column for every function.
    """
    N, n_labeled = len(K), len(targets)
    J = sparse.diags_array(labeled.astype(np.float64))
    A = np.asarray((J + (gamma_I * n_labeled / N**2) * L) @ K)
    A[np.diag_indices(N)] += gamma_A * n_labeled
    try:
        C = np.linalg.solve(A, np.eye(N)[:, labeled])  # α = C y
    except np.linalg.LinAlgError:
        rule = "be large enough for the linear system to be solved in floating point"
        raise rule_error(
            "gamma_A", rule, gamma_A, "Raise it. 1e-10 is sufficient for most data."
        ) from None
    coef, K_own = C @ targets, K[labeled]
    own = np.einsum("ij,ji->i", K_own, C)[:, np.newaxis]  # h
    left_out = (K_own @ coef - own * targets) / np.maximum(1.0 - own, LEAST_SHARE)
    return coef, left_out
