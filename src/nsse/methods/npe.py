"""NPE: neighborhood preserving embedding (He, Cai, Yan & Zhang 2005).

    minimize tr(V'X'R'RXV)  subject to  V'X'XV = I,

This is the best linear approximation of locally linear embedding. R maps every sample to its residual
after a reconstruction from its neighbors.
"""

from __future__ import annotations

from nsse._support.types import Floats, Ints
from nsse.methods._graph_embedding import Forms, LinearMethod, total_scatter
from nsse.methods._method import Lengths
from nsse.methods._reconstruction import residual_matrix, residual_rank, residual_scatter


class NPE(LinearMethod):
    """Neighborhood preserving embedding.

    A linear map V under which every sample stays the same combination of its neighbors [1]_. With
    weights w_ij that minimize ‖x_i − Σ_j w_ij x_j‖² and add up to one for every i, it minimizes

        Σ_i ‖V'x_i − Σ_j w_ij V'x_j‖²   subject to   V'X'XV = I,

    with the centered samples as rows of X. Labels are only used by the nearest-neighbor rule.

    Parameters
    ----------
    n_components : {"auto"}, int or None, default="auto"
        Dimension of the embedding, at most the number of principal axes in use, `n_pca_components_`.
        "auto" tries a few dimensions from half to four times the number of classes, and takes the one
        in which the nearest other training sample predicts the most labels. None takes all of them.
    n_neighbors : int, default=5
        Number of nearest samples that reconstruct a sample (all if there are no more). None uses all.
    pca : int, float or None, default=None
        The principal axes on which the problem is solved. None means all axes along which the samples
        vary, an int means this number of axes, and a float between 0 and 1 means the fewest that contain
        this share of the variance.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to A = X'R'RX, A + ρI. "auto" is 3 if the
        largest possible rank of A is less than three times the number of axes, as for images, and None
        otherwise. None adds nothing, or 1e-3 if A is singular on those axes. With 0, a singular A raises
        an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map. `transform` returns ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training samples.
    eigenvalues_ : ndarray of shape (n_components,)
        The ratio of X'X to X'R'RX of every coordinate, descending. In [1]_, eigenvalues are the inverse
        of these.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added, or 0.0 if none was.
    map_ : LinearMap
        The map of `transform`.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    LPP : A similar method with Gaussian weights.
    NPPE : The same objective for polynomials.

    Notes
    -----
    A fit takes O(N²) memory for the distances. Sparse samples are made dense. Local Gram matrices get a
    ridge of 10⁻³ of their trace, as in locally linear embedding. For n > N, [1]_ projects on the
    principal axes first. With all of them, every embedding of the training samples is possible, and the
    map follows the noise. Departs from [1]_: if there are few samples, a ridge is added to X'R'RX.

    References
    ----------
    .. [1] X. He, D. Cai, S. Yan and H.-J. Zhang, "Neighborhood preserving embedding", IEEE
       International Conference on Computer Vision, 1208-1213, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import NPE
    >>> X, y = load_iris(return_X_y=True)
    >>> NPE(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _is_wide = True

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        n_neighbors: int | None = 5,
        pca: float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints, Z: Floats) -> Forms:
        R = residual_matrix(lengths.D2, self.n_neighbors)
        return Forms(total_scatter(Z), residual_scatter(R, Z), residual_rank(R))

    @property
    def _ignores_labels(self) -> bool:
        return True
