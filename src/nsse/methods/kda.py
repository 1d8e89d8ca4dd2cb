"""KDA: kernel discriminant analysis (Baudat & Anouar 2000), LDA in the space of a kernel.

In the coordinates of the kernel's principal axes, K centered = UΓU', samples are the rows of UΓ^½:
there it is LDA. A direction v is the function f = Σ_i c_i k(x_i, ·) with c = UΓ^(−½)v, centered, and a
ridge ρ‖v‖² is ρ times its squared norm in the space of the kernel.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from nsse._support.parameters import check_choice
from nsse._support.types import Floats, Ints
from nsse.kernels import Gaussian
from nsse.maps import KernelMap
from nsse.methods._graph_embedding import (
    Forms,
    GraphEmbedding,
    Space,
    between_scatter,
    check_whole,
    graph_checks,
    linear_space,
    n_axes,
    total_scatter,
    within_classes,
)
from nsse.methods._method import Lengths

KERNELS = ("gaussian", "linear")
# Eigenvalues of K below this share of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-12


def kernel_space(lengths: Lengths, sigma: float, keep: Any) -> Space:
    """Return the functions Σ_i c_i k(x_i, ·) along the kernel's principal axes that `pca` keeps."""
    K = Gaussian().at(sigma)(lengths.D2.copy())
    means = K.mean(axis=0)
    K += means.mean() - means - means[:, np.newaxis]
    gamma, U = linalg.eigh(K, overwrite_a=True, check_finite=False)
    gamma, U = gamma[::-1], U[:, ::-1]
    roots = np.sqrt(gamma[gamma > SMALLEST_EIGENVALUE * gamma[0]])
    r = n_axes(roots, keep)
    expansion = U[:, :r] / roots[:r]

    def kernel_map(V: Floats) -> KernelMap:
        coef = expansion @ V
        return lengths.kernel_map(sigma, coef - coef.mean(axis=0))

    return Space(U[:, :r] * roots[:r], kernel_map)


class KDA(GraphEmbedding):
    """Kernel discriminant analysis.

    Linear discriminant analysis in the space of a kernel [1]_: coordinates f = Σ_i c_i k(x_i, ·) with
    the largest scatter between classes for scatter one within classes,

        maximize Σ_k Σ_c n_c (mean of f_k in class c − mean of f_k)²
        subject to Σ_i (f_k(x_i) − mean of f_k in its class)(f_l(x_i) − …) + ρ ⟨f_k, f_l⟩ = δ_kl.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, at most ``n_classes - 1``, which is the default.
    kernel : {"gaussian", "linear"}, default="gaussian"
        k(x, x') = exp(−‖x − x'‖²/σ²), or x'x, which gives the subspace of LDA.
    sigma : float, default=2.0
        Scale σ of the Gaussian kernel, in units of length.
    length_unit : {"median"} or float, default="median"
        The unit of `sigma`. It is the median distance between training samples, so that the scale of X
        has no influence, or a length that is given as a number.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default=0.03
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to the scatter A within classes, A + ρI.
        "auto" is 0.3 if the largest possible rank of A is less than three times the number of axes, as
        for images, and None otherwise. None adds nothing, or 1e-3 if A is singular on those axes. With
        0, a singular A raises an error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of scatter between to scatter within classes of every coordinate, descending.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
    sigma_, length_unit_ : float
        Kernel scale and unit of length, in the units of X.
    map_ : KernelMap or LinearMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    LFDA : A linear map for classes of several clusters.

    Notes
    -----
    A fit takes O(N³) time and O(N²) memory. The number of features has an influence on distances only.
    The Gaussian kernel matrix is regular, so without a ridge each class becomes one point, whatever the
    training samples are. [1]_ therefore leaves out the weakest axes of the kernel (`pca`). Departs from
    [1]_: there is a ridge on all axes, and coordinates have unit scatter within classes, where [1]_ uses
    functions of unit norm. With a Gaussian kernel, the mean of the coordinates is not subtracted,
    because distances do not depend on it.

    References
    ----------
    .. [1] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel approach", Neural
       Computation 12(10), 2385-2404, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import KDA
    >>> X, y = load_iris(return_X_y=True)
    >>> KDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = graph_checks(n_components=check_whole, kernel=partial(check_choice, choices=KERNELS))

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str = "gaussian",
        sigma: float = 2.0,
        length_unit: str | float = "median",
        pca: float | None = None,
        reg: str | float | None = 0.03,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.sigma = sigma
        self.length_unit = length_unit
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        self.length_unit_ = lengths.unit
        self.sigma_ = self.sigma * lengths.unit
        within = total_scatter(within_classes(Z, codes))
        return Forms(between_scatter(Z, codes), within, len(codes) - len(self.classes_))

    def _space(self, lengths: Lengths) -> Space:
        if self.kernel == "linear":
            return linear_space(lengths.metric, lengths.Z, self.pca)
        return kernel_space(lengths, self.sigma, self.pca)

    def _most_components(self) -> int:
        return len(self.classes_) - 1
