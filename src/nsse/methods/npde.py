"""NPDE: neighbourhood preserving discriminant embedding (Pang, Teoh & Abas 2009).

    maximise tr(V'S_b V)  subject to  V'X'R'RXV = I,     S_b = Σ_c n_c m_c m_c',

m_c the class means from the mean of all, R the residuals of reconstructing samples from neighbours *of
their class*. The text of the original was not at hand. Our reading, of the abstract of its authors'
conference paper (2008) and of the paper that cites it: neighbourhoods as in NPE, but of the same class
only, and classes apart by Fisher's criterion.
"""

from __future__ import annotations

from nsse._support.types import Ints
from nsse.methods._graph_embedding import (
    Forms,
    LinearMethod,
    between_form,
    check_whole,
    graph_checks,
    inside_classes,
)
from nsse.methods._method import Lengths
from nsse.methods._reconstruction import class_residual_matrix, residual_form, residual_rank


class NPDE(LinearMethod):
    """Neighbourhood preserving discriminant embedding.

    A linear map V under which samples stay the same combinations of their neighbours of the same
    class, and classes are apart [1]_: with weights w_ij that minimise ‖x_i − Σ_j w_ij x_j‖² over
    neighbours of the same class and add up to one for every i, it maximises

        tr(V'S_b V)   subject to   Σ_i (V'x_i − Σ_j w_ij V'x_j)(V'x_i − Σ_j w_ij V'x_j)' = I,

    S_b being the scatter between classes of LDA.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the embedding, at most ``n_classes - 1``, which None takes.
    n_neighbors : int, default=3
        Nearest samples of the same class that reconstruct a sample (all where there are no more). None
        takes all.
    pca : {"auto"}, int, float or None, default=None
        The principal axes on which the problem is solved. None: all along which the samples vary. An
        int: so many. A float between 0 and 1: the fewest that hold this share of the variance. "auto":
        all, but where these are more than A = X'R'RX can have rank, the fewest that hold 95 % of the
        variance, and no more than that rank.
    reg : {"auto"}, float or None, default="auto"
        A ridge ρ = reg · tr(A)/`n_pca_components_` is added to A = X'R'RX, A + ρI. "auto" is 0.3 where
        samples are few, that is where A can have a rank less than three times the number of axes, as
        for images; else None. None adds none, or 1e-3 if A is singular on those axes. With 0 a
        singular A is an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: transform gives ``(X − mean_) @ components_.T``.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    embedding_ : ndarray of shape (n_samples, n_components)
        The training samples, embedded.
    eigenvalues_ : ndarray of shape (n_components,)
        S_b over X'R'RX of every coordinate, descending.
    n_pca_components_ : int
        Number of principal axes in use.
    reg_ : float
        The ridge ρ that was added; 0.0 if none.
    map_ : LinearMap
        What `transform` does.
    scores_ : Scores
        The nearest training sample of the embedding gives the label.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    NPE : Its unsupervised relative.
    LFDA : Fisher's criterion by local scatters.

    Notes
    -----
    O(N²) memory for the distances. Sparse samples are accepted and made dense. The text of [1]_ was
    not at hand: this is our reading of the abstract of its authors' conference paper (ICARCV 2008), to
    which Fisher's criterion is added for the discriminant. For n > N its authors project on principal
    axes first; ours is `pca`, and the ridge.

    References
    ----------
    .. [1] Y. H. Pang, A. T. B. Jin and F. S. Abas, "Neighbourhood preserving discriminant embedding in
       face recognition", Journal of Visual Communication and Image Representation 20(8), 532-542,
       2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse.methods import NPDE
    >>> X, y = load_iris(return_X_y=True)
    >>> NPDE().fit(X, y).transform(X).shape
    (150, 2)
    """

    _checks = graph_checks(n_components=check_whole)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int | None = 3,
        pca: str | int | float | None = None,
        reg: str | float | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.pca = pca
        self.reg = reg

    def _forms(self, lengths: Lengths, codes: Ints) -> Forms:
        R = class_residual_matrix(lengths.D2, codes, self.n_neighbors)
        return Forms(between_form(codes), inside_classes(residual_form(R), codes), residual_rank(R))

    def _most_components(self) -> int:
        return len(self.classes_) - 1
