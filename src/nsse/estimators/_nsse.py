"""NSSE as a scikit-learn transformer and classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from nsse.estimators._fitting import all_or_nothing
from nsse.estimators._gaussian_map import GaussianMapClassifier
from nsse.estimators._memory import (
    CenterMemory,
    MetricMemory,
    exact_memory,
    expected_condition,
    graph_memory,
)
from nsse.estimators._posing import warn_about
from nsse.estimators._reading import reads_scores
from nsse.estimators._rows import keep_width, require_landmarks, row_source
from nsse.estimators._settings import RELEVANCE, SHRINKAGE, SIGMA, check_settings
from nsse.estimators._unlabeled import learn_rows
from nsse.landmarks import BLOCK_ROWS, read_blocks
from nsse.solvers import Step

# The method as its paper has it, and the weights that we found for it: defaults may move, these stay.
PUBLISHED: dict[str, Any] = {
    "mu1": 1.0,
    "mu2": 0.01,
    "mu3": None,
    "n_neighbors": 5,
    "beta": None,
    "affinity": "gaussian",
    "sigma": None,
    "sigma_range": (0.1, 10.0),
    "length_unit": "median",
    "metric": "euclidean",
    "shrinkage": 1.0,
    "relevance": 0.0,
    "solver": "joint",
    "classifier": "nearest",
    "normalization": "samples",
    "embedding_scale": "orthonormal",
    "n_landmarks": None,
    "invariances": None,
    "class_weight": None,
    "unlabeled": None,
    "mu4": None,
    "spread": None,
}


# Parameters that models of version 0.1 lack.
LATER = (
    "metric",
    "shrinkage",
    "relevance",
    "normalization",
    "embedding_scale",
    "invariances",
    "class_weight",
    "unlabeled",
    "mu4",
    "spread",
)


def _reads_nearest(model: Any) -> bool:
    """Whether labels are those of nearest neighbours, by name or where nothing is said."""
    named = model.classifier is None or isinstance(model.classifier, str)
    return named and not reads_scores(model.classifier, model.mu1)


class NSSE(GaussianMapClassifier):
    """Nonlinear Supervised Smooth Embedding.

    Learns an embedding Y of the labelled samples X together with the Gaussian RBF map f that produces
    it, f(x) = Σ c_i exp(−‖A(x − x_i)‖²/σ²), by minimising (Eq. 11 of [1]_)

        tr(Y'L_w Y) − μ1 tr(Y'L_b Y) + μ2 ‖C‖² + μ3/σ²,   Y = ΨC:

    classes separate *and* f stays smooth, so that it holds on new samples. These are embedded by f in
    closed form and classified there. By default the class means of Y are normalised, A knows the
    classes, σ is given and labels are read by scores; the paper's own method, with Y'Y = I, A = I, σ
    found with Y and the nearest neighbour, is ``NSSE.as_published()``.

    Parameters
    ----------
    n_components : int, default=None
        Dimension d of the embedding, at most the number of training samples. None means
        ``n_classes - 1``.
    mu1 : float, default=1.0
        Weight of the separation between classes.
    mu2 : float, default=None
        Weight of the size of the coefficients, ‖C‖². Positive; None is ``0.1 * mu1`` times the mean
        class size, beside which the separation of classes grows likewise.
    mu3 : float, default=None
        Weight of 1/σ²: larger values ask for a wider, smoother kernel. None means
        ``5 * mu2 * n_components``, which keeps the balance of the two smoothness terms whatever the
        other parameters are.
    n_neighbors : int, default=5
        Nearest samples of the same class joined in the within-class graph (all of them in a class
        that has no more); with `invariances` so many times a sample and its copies. None joins all pairs
        of the same class.
    beta : float, default=None
        Width of the edge weights exp(−‖x_i − x_j‖²/β), in squared units of length. None takes the
        mean squared length of the edges.
    affinity : {"gaussian"}, callable or matrix of shape (n_samples, n_samples), default="gaussian"
        Within-class weights W_w: the Gaussian ones described above; ``affinity(X, y)`` returning a
        matrix, dense or sparse; or the matrix itself. It must be symmetric, not negative, and zero
        between classes.
    sigma : float, default=0.65
        Kernel scale σ in units of length. None finds it within `sigma_range`, by the objective.
    sigma_range : tuple of (float, float), default=(0.1, 10.0)
        Where to look for σ, in units of length.
    length_unit : {"median"} or float, default="median"
        The unit in which `sigma`, `sigma_range`, `beta` and `mu3` are understood: the median distance
        between training samples, so that rescaling X changes nothing, or a length given as a number.
        With 1.0 they are in the units of X, as in the paper.
    metric : {"euclidean", "within"}, default="within"
        What the kernel measures. "within" makes distances short along the directions in which
        neighbours of a class differ, ‖A(x − x_i)‖ with the A of `WithinMetric`, learned from the
        training samples: light, pose or speaker then count less. The unit of length, the neighbours
        and σ are those of the samples in the metric: NSSE is what it would be behind a `WithinMetric`.
    shrinkage : float, default=3.0
        How much the metric "within" holds to the Euclidean one; ``inf`` is the Euclidean one.
    relevance : float, default=0.5
        How much the metric "within" shortens features that tell little of the classes; 0 weighs all
        alike. See `WithinMetric`.
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
    classifier : {"nearest", "scores"} or classifier, default=None
        Fitted on the embedding and used by `predict`. "scores", which None is too, takes the class with
        the largest score: a regression of class indicators, linear in f, in which coordinates that
        separate little count little. "nearest" is the nearest neighbour, as in the paper; of samples
        that are equally near, up to rounding, the first. None is "nearest" where ``mu1=0``.
    normalization : {"samples", "classes"}, default="classes"
        What has unit scatter: the embedded samples, Y'Y = I, as in the paper, or their class means,
        Y'GG'Y = I with G the orthonormal centred class indicators. The second is for smooth maps, where
        the first prefers a constant and large variation to what separates classes; where classes
        collapse both give the same embedding up to the scale of its columns. It needs
        ``n_components < n_classes``.
    embedding_scale : {"orthonormal", "unit"}, default="unit"
        Units of f. "orthonormal" is as solved for: columns of `embedding_`, or their class means, have
        unit length, hence a spread of 1/√N. "unit" gives them unit mean square, Y'Y = N I; with class
        means normalised it is the whole of a coordinate that is 1, what separates, what does not and
        what smoothness costs, so that weak coordinates are short. Scores do not change; classifiers
        that are not blind to scale, such as `LogisticRegression` and neighbours, want "unit".
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
    invariances : callable or None, default=None
        What may be done to a sample without changing its class: `nsse.invariances.Images`, `Signals`,
        `Noise`, or any function of rows that returns a sequence of arrays of their shape, a transformed
        copy of every row in each. `fit` takes the copies as more samples, with the labels of their
        originals: they say something, they are centres, and the metric learns from them what does not
        matter. It is NSSE fitted to the enlarged set, with as many times more neighbours; but copies are
        made inside `fit`, of the samples given to it, so that none of them gets from one side of a split
        to the other.
    class_weight : {"balanced"}, dict or None, default=None
        How many times the samples of a class count: "balanced" makes all classes weigh the same, N/M
        each; a dict has weights by label, 1 where there is none. It multiplies `sample_weight`. Where
        classes are of very different sizes, the separation of all pairs favours the large ones. The
        labels of ``classifier="nearest"`` hardly follow: a sample is as near, however often it counts.
    unlabeled : int, str or None, default=None
        The value that marks samples without a label in ``y``; None, the default, takes every value for
        a label, −1 too. With ``unlabeled=-1`` the convention of scikit-learn's `LabelSpreading` holds.
        Samples without a label say where samples lie: f is to change little between neighbours, of any
        label or none, and they are centres of f. Classes, the metric, units and the classifier are those
        of the labelled ones; a class of which no sample has a label does not exist. A marker that no
        row has changes nothing. See ``docs/unlabeled.md``: it helps where neighbours share a class.
    mu4 : float, default=None
        Weight of that smoothness, μ4 tr(Y'LY) over all samples; L is the Laplacian of the graph that
        joins each to its 3 nearest in the metric, divided by its mean degree. 0 leaves centres at these
        samples and no smoothness; None is ``10 * mu1`` times the mean class size of the labelled ones.
        Without `unlabeled` it means nothing.
    spread : float, default=None
        Another use of samples without a label: these are first given labels along the graph, then f is
        learned from all samples as if the labels were their own. It is the weight of the smoothness of
        class scores on the graph beside a label, 1 is a fair one; `mu4` has no say. For many samples and
        landmarks, which are too few for f to follow the graph by itself. Probabilities are those of a
        model to which the labels given are true. None makes f itself smooth, by `mu4`.
    callback : callable, default=None
        ``callback(step)`` is called after every evaluation of the objective in the search for σ, with
        its terms, σ and seconds; returning True ends the search. Not called where `sigma` is given.
    random_state : int, RandomState instance or None, default=0
        Draws the subsamples on which the joint solver looks for a first σ when there are 800 samples
        or more; the result depends on it within `tol` only. With landmarks it draws these and the
        subsample on which σ is found.
    verbose : int, default=0
        1 logs what was done, in a line; 2 every step.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        f at the training samples.
    coef_ : ndarray of shape (`n_landmarks_`, n_components)
        Coefficients C of f.
    centers_ : ndarray or sparse matrix of shape (`n_landmarks_`, n_features)
        Kernel centres: the training samples, each followed by its copies, or the landmarks; in the
        units of X.
    metric_ : WithinMetric or None
        The metric, fitted; None is the Euclidean one.
    n_landmarks_ : int
        Number of centres; that of the training samples and their copies where NSSE is exact.
    n_copies_ : int
        Number of copies of every training sample.
    sigma_ : float
        Kernel scale, in the units of X.
    length_unit_ : float
        The unit of length, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    labels_ : ndarray of shape (n_samples,)
        Labels of the training samples; `unlabeled` where there is none.
    is_labeled_ : ndarray of shape (n_samples,)
        Which of them had a label.
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training samples: those they have, or those that they are given by the classifier.
    classifier_ : classifier
        Fitted on `embedding_`, and on the embedded copies.
    objective_ : float
        Eq. (11) at the solution; with ``normalization="classes"`` tr(Y'SY) + μ2 ‖C‖² + μ3/σ², where
        S = L_w + μ1 (N I − L_b). Of the embedding as solved for, whatever its units.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of L_w − μ1 L_b + μ2 Ψ⁻² belonging to the coordinates, ascending; with
        ``normalization="classes"`` the ratios (within + smooth) / between of the coordinates, 1/θ.
    trace_ : Trace
        One step per evaluation of the objective: σ (in the units of X), each term, seconds.
    n_iter_ : int
        Number of steps.
    condition_ : Condition
        How well-conditioned the problem was, and how it was solved.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    NSSECV : Chooses the parameters in seconds.
    WithinMetric : The metric alone, for other methods.
    nsse.certificates.certified_radius : How far a sample may move.
    nsse.save : Keeps a fitted model.

    Notes
    -----
    Exact NSSE takes O(N³) time and about 40 N² bytes, or 90 N² where an ill-conditioned problem needs a
    QR factorisation; where the machine, a control group or a limit of the process has less than 40 N²
    left, `fit` says so in a `MemoryError` before it starts. A point embeds to the same numbers in
    every batch, up to rounding (about 1e-12). Results do not depend on the number of threads.

    What ``solver="joint"`` guarantees: the result is the best of all σ evaluated on all samples; every σ
    left out at the lower end is proven worse, but for the rest of one cell; and at the result the slope
    vanishes or points out of `sigma_range`. That no deeper valley exists is not proven: between two σ
    that were tried it is excluded by values and slopes at both, which a valley much narrower than their
    distance can escape. With fewer than 100 samples that distance is at most 14 % of σ wherever the
    minimum may be; with more, σ are not tried beyond one at which the objective is ten times its least
    value; from 800 samples on the valleys are looked for on subsamples.
    ``benchmarks/global_minimum.py`` searches for counterexamples.

    With landmarks, f has m centres, Y'Y = I over all samples still holds, and the samples are read in
    blocks of 4096 rows: arrays in memory, memory maps, sparse matrices, Dask arrays, and other sources
    by `fit_blocks`. Neighbours within a class are looked for inside a block, which is the same whatever
    the chunks in which rows come. A fit works on bytes and float32 in single precision with sums in
    double (`embedding_` is then f to that precision), on everything else in double.

    With copies n_samples above is the number of samples and copies: five times as many take 125 times
    as long in an exact fit, and landmarks are for more than some thousand of them. Copies are made a
    block at a time there.

    A metric makes rows dense: all of them in an exact fit, a block of them with landmarks. There its
    scatter is one more sum over the blocks, of edges inside a block; from sparse rows, and with more
    than 4096 features, it is that of a stratified subsample of 4096 rows.

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

    _answers_dask = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        mu1: float = 1.0,
        mu2: float | None = None,
        mu3: float | None = None,
        n_neighbors: int | None = 5,
        beta: float | None = None,
        affinity: Any = "gaussian",
        sigma: float | None = SIGMA,
        sigma_range: tuple[float, float] = (0.1, 10.0),
        length_unit: str | float = "median",
        metric: str = "within",
        shrinkage: float = SHRINKAGE,
        relevance: float = RELEVANCE,
        solver: str = "joint",
        sigma_init: float | None = None,
        n_sigmas: int = 40,
        tol: float = 1e-8,
        max_iter: int = 50,
        classifier: Any = None,
        normalization: str = "classes",
        embedding_scale: str = "unit",
        n_landmarks: int | str | None = None,
        landmarks: Any = None,
        invariances: Any = None,
        class_weight: Any = None,
        unlabeled: Any = None,
        mu4: float | None = None,
        spread: float | None = None,
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
        self.metric = metric
        self.shrinkage = shrinkage
        self.relevance = relevance
        self.solver = solver
        self.sigma_init = sigma_init
        self.n_sigmas = n_sigmas
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.normalization = normalization
        self.embedding_scale = embedding_scale
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.invariances = invariances
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.mu4 = mu4
        self.spread = spread
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, n_components: int | None = None, **params: Any) -> Self:
        """NSSE as its paper has it, whatever the defaults of this class become.

        Distances between the samples as they are, Y'Y = I over all of them, the label of the nearest
        neighbour. What the paper leaves to the user (weights, neighbours, the unit of length) is as
        in version 0.1 of this library.

        Parameters
        ----------
        n_components : int, default=None
            As in `NSSE`.
        **params
            Other parameters of `NSSE` to set otherwise, by name.

        Returns
        -------
        NSSE
            Unfitted.

        Examples
        --------
        >>> from nsse import NSSE
        >>> NSSE.as_published(mu2=0.1).classifier
        'nearest'
        """
        return cls(n_components, **PUBLISHED | params)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the embedding, its map f and the kernel scale.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples; a Dask array with landmarks only.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every sample counts: a sample of weight w is w equal ones, in the embedding,
            its units and its metric; weights need not be whole. None counts each once. Samples of
            weight 0 are left out, of `embedding_` too.

        Returns
        -------
        self : NSSE
            The fitted estimator. If fit fails, the estimator is as it was before.
        """
        settings = check_settings(self)
        source, y = row_source(self, X, y, settings)
        learned = learn_rows(self, source, y, settings, sample_weight)
        warn_about(learned.verdict, settings, learned.attributes["metric_"])
        learned.kept_by(self)
        return self

    @all_or_nothing
    def fit_blocks(self, blocks: Any, sample_weight: Any = None) -> Self:
        """Learn from samples that come in blocks, from disk for instance; needs landmarks.

        The blocks are read once for the labels, once for the metric if it is not Euclidean, once for the
        landmarks (twice for "kmeans++"), once for a subsample that gives units, once for the fit itself
        and, unless kernel values were kept, once for the embedding. However rows are cut, the model is
        the same: they are regrouped to blocks of 4096. Memory does not grow with the number of samples
        beyond 32 per landmark, but for their labels and embeddings.

        Parameters
        ----------
        blocks : iterable of (X, y), or function returning one
            Samples and labels of every block; the same blocks in the same order whenever it is read. A
            generator is used up after one reading: pass the function that makes it.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times every sample counts, in the order in which they come; all positive.

        Returns
        -------
        self
            The fitted estimator. If a block cannot be read or used, the error of its source is raised,
            and the estimator is as it was before.
        """
        settings = check_settings(self)
        require_landmarks(settings, "blocks of samples")
        source = read_blocks(blocks)
        check_classification_targets(source.y)
        keep_width(self, source)
        learned = learn_rows(self, source, source.y, settings, sample_weight)
        warn_about(learned.verdict, settings, learned.attributes["metric_"])
        learned.kept_by(self)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _reads_nearest(self):
            # Whom the nearest neighbour names does not depend on how many times a sample counts; of
            # classifiers with `class_weight` scikit-learn expects that, unless it expects little.
            tags.classifier_tags.poor_score = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Models of earlier versions lack the parameters that came later: they are as published.
        super().__setstate__({name: PUBLISHED[name] for name in LATER} | state)

    @property
    def labels_(self) -> Any:
        """Labels of the training samples, row by row of `embedding_`; `unlabeled` where none is."""
        if not hasattr(self, "_codes"):  # not fitted, or by version 0.1
            raise AttributeError("labels_ are kept by a fit of version 0.2 or later.")
        if getattr(self, "_is_labeled", None) is None:
            return self.classes_[self._codes]
        marker = np.asarray([self.unlabeled]).astype(self.classes_.dtype)
        return np.where(self._is_labeled, self.classes_[self._codes], marker)

    @property
    def is_labeled_(self) -> Any:
        """Which training samples had a label, row by row of `embedding_`."""
        mask = getattr(self, "_is_labeled", None)
        return np.ones(len(self.embedding_), dtype=bool) if mask is None else mask

    @property
    def transduction_(self) -> Any:
        """Labels of all training samples: their own, or those that they are given."""
        if not hasattr(self, "_codes"):  # not fitted, or by version 0.1
            raise AttributeError("transduction_ is kept by a fit of version 0.2 or later.")
        return self.classes_[self._codes]

    def estimate_memory(self, n_samples: int, n_features: int, n_classes: int = 10) -> int:
        """Bytes that `fit` will need at its peak.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of the training samples, dense ones; their copies are counted.
        n_classes : int, default=10
            Number of classes: that of the components unless `n_components` says it, and of the parts in
            which distances within classes are held.

        Returns
        -------
        int
            Bytes, beside what Python and its libraries take; with landmarks in single precision, and
            beside the samples themselves, which may lie on disk. Within 30 % as a rule; but whether an
            exact fit needs a QR factorisation, and twice the memory, depends on the samples and is
            guessed from `mu1`, `mu2` and `sigma`.
        """
        d = n_classes - 1 if self.n_components is None else self.n_components
        settings = check_settings(self)
        n_samples *= 1 + settings.n_copies(n_features)
        settings = settings.weighted(n_samples, n_classes)
        assert settings.mu2 is not None
        plan = settings.centers
        is_exact = plan is None or plan.is_exact_for(n_samples)
        if is_exact:
            condition = expected_condition(n_samples, settings.mu1, settings.mu2, settings.sigma)
            may_spare = settings.normalization == "samples" and settings.mu1 > 0
            fit = exact_memory(n_samples, n_features, d, condition, may_spare)
        else:
            assert plan is not None
            fit = CenterMemory(
                n_samples,
                n_features,
                d,
                n_classes,
                plan.n_centers(n_samples),
                n_drawn=plan.n_drawn(n_samples),
                searches=settings.sigma is None,
                is_complete=settings.n_neighbors is None,
            ).peak
            if settings.unlabeled is not None:
                fit += graph_memory(n_samples, n_features, plan.n_centers(n_samples))
        if settings.metric == "euclidean":
            return fit
        n_rows = n_samples if is_exact else min(n_samples, BLOCK_ROWS)
        metric = MetricMemory(n_rows, n_features, n_classes)
        return max(metric.learning, fit + metric.beside)
