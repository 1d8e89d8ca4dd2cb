"""SemiRBF: an RBF interpolator of SUPLAP's embedding, refined by unlabeled samples.

The method follows Vural & Guillemot (2016). The interpolator is fitted to the embedding of the labeled
samples. Its values at the other samples predict their classes. The most certain ones get the position of
their class as a target, and the interpolator is fitted again. Labels and interpolator change together,
until all samples take part.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from nsse._support.parameters import check_count, check_number
from nsse._support.types import Floats, Ints, SamplesLike
from nsse.distances import squared_distances
from nsse.kernels import Gaussian
from nsse.maps import KernelMap
from nsse.methods._method import Lengths, Method, check_n_components, checks, kernel_ridge
from nsse.methods.suplap import check_neighbors, class_graphs, supervised_eigenmap


class SemiRBF(Method):
    """Semi-supervised out-of-sample interpolation of a supervised embedding.

    Following Vural and Guillemot [1]_, which the paper of NSSE cites for unlabeled samples, the labeled
    samples are embedded by supervised Laplacian eigenmaps (`SUPLAP`), a Gaussian RBF interpolator is
    fitted to that embedding, and it is refined in rounds. In each round, its values at the unlabeled
    samples predict their classes. The most certain ones get the position of the nearest labeled sample
    of their class as a target, and the interpolator is fitted again. In the last round all samples take
    part. Without unlabeled samples, the result is `SUPLAP`.

    Departs from [1]_: the smoothness of the interpolator is weighed by a ridge, the same in all
    directions, and its scale is given.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d. None means ``n_classes - 1``.
    mu : float, default=0.001
        Weight of the between-class graph of the embedding.
    n_neighbors : int, "adaptive" or None, default=None
        Nearest samples of the same class joined in the graph of the embedding, as in `SUPLAP`.
    sigma : float, default=1.0
        Scale σ of the kernel, in units of length.
    ridge : float, default=1e-3
        A larger value makes the interpolator smoother.
    n_rounds : int, default=10
        Number of rounds. In round r, a share of r/n_rounds of the unlabeled samples takes part.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma`. It is the median distance between labeled samples, or a length.
    unlabeled : int, str or None, default=None
        The value that marks unlabeled samples in ``y``. None means that all samples are labeled.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The interpolator at all training samples.
    coef_, centers_, sigma_, length_unit_
        Coefficients, centers (all training samples), kernel scale and unit of length.
    map_ : KernelMap
        The map of `transform`.
    scores_ : Scores
        The nearest labeled sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training samples, which are given or predicted by the refinement.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    Each round takes O(N³) time. A fit takes O(N²) memory.

    See Also
    --------
    SUPLAP : The same method for labeled samples only.
    NSSE : Learns map and embedding together.

    References
    ----------
    .. [1] E. Vural and C. Guillemot, "Out-of-sample generalizations for supervised manifold learning
       for classification", IEEE Transactions on Image Processing 25(3), 1410-1424, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import SemiRBF
    >>> X, y = load_iris(return_X_y=True)
    >>> few = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> bool(SemiRBF(unlabeled=-1).fit(X, few).score(X, y) > 0.9)
    True
    """

    _checks = checks(
        mu=partial(check_number, cure="0 switches the separation of classes off."),
        n_neighbors=check_neighbors,
        n_rounds=partial(check_count, cure="10 is a fair number."),
    )

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
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.ridge = ridge
        self.n_rounds = n_rounds
        self.length_unit = length_unit
        self.unlabeled = unlabeled

    def _learn(self, X: SamplesLike, codes: Ints) -> KernelMap:
        own, rest = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        d = check_n_components(self.n_components, len(own), len(self.classes_))
        lengths = Lengths.of(X, self.length_unit, own)
        among = lengths.D2[np.ix_(own, own)]
        W_w, W_b = class_graphs(among, codes[own], self.n_neighbors, "adaptive", None)
        _, Y = supervised_eigenmap(W_w, W_b, codes[own], self.mu, d)
        order = np.concatenate([own, rest])
        K = Gaussian().at(self.sigma)(lengths.D2[np.ix_(order, order)])
        coef, found = refined(K, Y, codes[own], self.ridge, self.n_rounds)
        back = np.argsort(order)
        self.transduction_ = self.classes_[found[back]]
        return self._expanded(lengths, coef[back])


def refined(K: Floats, Y: Floats, codes: Ints, ridge: float, n_rounds: int) -> tuple[Floats, Ints]:
    """Return the coefficients of the interpolator at all samples, and the final classes.

    Parameters
    ----------
    K : ndarray of shape (N, N)
        Kernel matrix of all samples, the labeled ones first.
    Y : ndarray of shape (l, d)
        Embedding of the labeled samples.
    codes : ndarray of shape (l,)
        Their classes.
    ridge : float
        The ridge of the interpolator.
    n_rounds : int
        In round r of R, a share of r/R of the unlabeled samples takes part.
    """
    n_own, n_rest = len(Y), len(K) - len(Y)
    own = np.arange(n_own)
    taken = own
    targets = Y
    predicted = codes[:0]
    for number in range(1, n_rounds + 1 if n_rest else 1):
        coef = kernel_ridge(K[np.ix_(taken, taken)], targets, ridge, "ridge")
        nearest, margins = nearest_and_margins(K[n_own:, taken] @ coef, Y, codes)
        predicted = codes[nearest]
        # The most certain ones, and of equal ones the first. All are predicted again in every round.
        n_taken = round(number * n_rest / n_rounds)
        surest = np.sort(np.argsort(-margins, kind="stable")[:n_taken])
        taken = np.concatenate([own, n_own + surest])
        targets = np.concatenate([Y, Y[nearest[surest]]])
    return kernel_ridge(K, targets, ridge, "ridge"), np.concatenate([codes, predicted])


def nearest_and_margins(F: Floats, Y: Floats, codes: Ints) -> tuple[Ints, Floats]:
    """Return the row of ``Y`` that is nearest to every row of ``F``, and how certain its class is.

    The margin is the difference of the distances to the nearest two classes, over their sum.
    """
    D = np.sqrt(squared_distances(F, Y))
    by_class = np.stack([D[:, codes == c].min(axis=1) for c in range(int(codes.max()) + 1)], axis=1)
    first, second = np.sort(by_class, axis=1)[:, :2].T
    total = first + second
    margins = np.divide(second - first, total, out=np.zeros_like(total), where=total > 0)
    return D.argmin(axis=1), margins
