"""Fit class scores by one regression in closed form, and use them as an embedding: `SmoothEmbedding`.

    minimize Σ_i w_i ‖s(x_i) − e_{c_i}‖² + λ ‖s − π‖²_H,    f = (s − π) V

`nsse.ridge` solves the regression, and `nsse.metrics` learns the metric. V is a rotation, so distances
in the embedding are distances between class scores. Labels, probabilities and radii use all coordinates,
while `transform` returns the first `n_components`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from nsse._support.arrays import fitted_in_numpy, is_dask
from nsse._support.errors import rule_error
from nsse._support.fitting import LOGGER, all_or_nothing, logged
from nsse._support.parameters import check_choice, check_components, check_kernel_width, check_number
from nsse._support.samples import validate_data
from nsse._support.threads import threads_for
from nsse._support.types import Floats, LabelsLike, SamplesLike, WeightsLike
from nsse.base import FLOATS, EmbeddingClassifier
from nsse.centers import check_centers
from nsse.columns import warn_of_units
from nsse.fit_warnings import warn_of_centers, warn_of_kernel, warn_of_weights
from nsse.kernels import Kernel
from nsse.kernels.names import as_kernel
from nsse.labels import warn_of_marker
from nsse.memory import center_count, fit_memory, require_fit_memory
from nsse.metrics import Euclidean, WithinMetric
from nsse.metrics.names import named_metric, parameters_of_name, with_object
from nsse.model import Fitted, Samples, Settings, learned, left_out
from nsse.positions import LeftOutPositions, Positions
from nsse.rows import Rows
from nsse.sources import Source, read_blocks
from nsse.unlabeled import use_of_unlabeled
from nsse.updatable import Updatable
from nsse.updates import begun


class SmoothEmbedding(Updatable, LeftOutPositions, EmbeddingClassifier):
    """Classify and embed samples by smooth class scores, in closed form.

    A kernel ridge regression fits the class scores s(x) = π + Σ_j k(x, z_j) C_j to the labels, in a
    metric that is learned from the classes. The embedding f(x) is s(x) minus the class priors π, rotated
    so that the first coordinates separate the classes most. New samples are placed by f, and their label
    is the class with the largest score. Regression and multilabel targets are not supported.

    Parameters
    ----------
    n_components : int, default=None
        Number of coordinates that `transform` returns, at most ``n_classes - 1``, which is the default.
        Labels, probabilities and radii do not depend on it.
    kernel : {"gaussian", "exponential", "matern32"} or Kernel, default="gaussian"
        The function of the distance that class scores are sums of. It can be the name of a kernel of
        `nsse.kernels`, an object of such a kernel, or an object of your own subclass of
        `nsse.kernels.Kernel`.
    sigma : float, default=0.65
        Width σ of the kernel, in median distances between samples in the metric.
    smoothness : float, default=0.1
        λ, the weight of the penalty ‖s − π‖². A larger value makes class scores change more slowly.
    standardize : bool, default=False
        Whether every column is divided by its standard deviation before distances are measured. Use it
        if columns have different units. New samples, radii, explanations, augmentations, files and ONNX
        graphs stay in the units of X, so you need no pipeline with a scaler. Constant columns are not
        changed, and sparse samples stay sparse, because nothing is subtracted. Blocks and Dask arrays
        are read twice more. `partial_fit` keeps the standard deviations of its first samples.
    decision : {"scores", "nearest"}, default="scores"
        The rule for labels. "scores" chooses the class with the largest score, and "nearest" chooses the
        class of the nearest training sample in the embedding. The second rule is useful if classes are
        curved and the map is very smooth.
    metric : {"within", "euclidean"}, None or estimator, default="within"
        The distances that the kernel uses. "within" is ``WithinMetric()``, whose distances are short
        along the directions in which neighbors of a class differ. For sparse samples, it means
        "euclidean", because ``WithinMetric`` would make them dense. None also means "euclidean". You can
        pass a metric of `nsse.metrics`, your own subclass of `nsse.metrics.Metric`, or any estimator
        whose ``fit`` sets ``components_``, such as scikit-learn's ``NeighborhoodComponentsAnalysis``.
    centers : "auto", int, None, array or selector, default="auto"
        Centers z_j of the kernel functions. If None, the centers are the training samples, and the time
        is cubic in their number. If a number, so many centers are chosen by k-means, or at random if
        samples are sparse, and the time is linear in the number of samples. "auto" means None for up to
        5000 samples and 3000 for more. You can also pass an array of indices of samples, an array of
        rows, a selector of `nsse.centers`, or your own subclass of `nsse.centers.CenterSelector`.
        Centers that are numerically linearly dependent on the others are dropped.
    augment : callable or None, default=None
        Changes of a sample that do not change its class. Changed samples are used as further training
        samples. Pass `nsse.augment.Images`, `Signals`, `Noise`, your own subclass of
        `nsse.augment.Augmentation`, or any function of rows that returns a sequence of arrays of their
        shape.
    unlabeled : GraphPenalty, LabelPropagation, UnlabeledUse or None, default=None
        How samples without a label are used, which are marked with -1. If None, every value of ``y`` is
        a label. You can write your own subclass of `nsse.unlabeled.UnlabeledUse`.
    class_weight : {"balanced"}, dict or None, default=None
        Factors for the weights of the samples of each class. With "balanced", all classes have the same
        total weight.
    random_state : int, RandomState instance or None, default=0
        Seed for the random choice of centers. It also chooses the samples from which the metric and the
        median distance are computed if there are more than 5000 and 2000 samples. The default is a fixed
        number, so that the same data always give the same model.
    verbose : int, default=0
        If 1, `fit` logs one line with the numbers of rows and centers.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions f(x) of the training samples. If there are more than 5000 samples in single
        precision, they are computed in single precision.
    left_out_embedding_ : ndarray of shape (n_samples, n_components)
        The position of each training sample in a model without this sample, in the coordinates of
        `embedding_`. In `embedding_`, training samples are closer to their classes than new samples,
        because the model has seen their labels. Left-out positions are spread like the positions of new
        samples. The sample is left out of the regression, the metric and the hull. The position of a
        sample without a label is NaN.

        The positions are computed when the attribute is first read, unless the fit has already left all
        samples out (up to 200 samples, and up to 2000 with Euclidean distances). For up to 2000 samples,
        this takes as long as two to three fits. If there are more samples, augmented samples or fewer
        centers, the samples are left out in ten folds, which takes up to ten fits, or by a formula if
        there are ten times as many samples as features. Until the positions are computed, the model
        keeps a reference to the training samples. `nsse.save` computes and stores the positions of up to
        2000 samples. Other files and pickles contain the positions only if they have been computed.
    coef_ : ndarray of shape (n_centers, n_classes - 1)
        Coefficients of the kernel functions, one column for every coordinate.
    centers_ : ndarray or sparse matrix of shape (n_centers, n_features)
        Centers of the kernel functions, in the units of X.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    labels_ : ndarray of shape (n_samples,)
        Labels of the training samples, as they were given.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the training samples. Samples without a label have a predicted one.
    metric_ : estimator
        The fitted metric, with ``components_``. It measures standardized columns if ``standardize`` is
        True.
    sigma_ : float
        Width of the kernel, as a distance in the metric. It has the unit of X, or is measured in
        standard deviations if ``standardize`` is True.
    map_ : KernelMap
        The map f with all of its coordinates.
    scores_ : Scores
        Labels, decision values and probabilities as functions of f.
    leave_one_out_score_ : float
        Share of the training samples whose labels are predicted by models without them. If there are
        many samples, only some of them are left out.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    See Also
    --------
    SmoothEmbeddingCV : Choose the parameters by cross-validation.
    NSSE : The method of the paper.
    WithinMetric : The metric alone.

    Notes
    -----
    If the centers are the N samples, a fit takes O(N³) time and about 24 N² bytes. With m centers and n
    features, it takes O(N m (n + m)) time, and memory for m² values and a block of rows. If less memory
    is available, `fit` raises an error before it starts.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::6], y[::6])
    >>> model.transform(X).shape
    (1797, 9)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _takes_other_namespaces = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Kernel = "gaussian",
        sigma: float = 0.65,
        smoothness: float = 0.1,
        standardize: bool = False,
        decision: str = "scores",
        metric: str | BaseEstimator | None = "within",
        centers: Any = "auto",
        augment: Callable[..., Any] | None = None,
        unlabeled: Any = None,
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.sigma = sigma
        self.smoothness = smoothness
        self.standardize = standardize
        self.decision = decision
        self.metric = metric
        self.centers = centers
        self.augment = augment
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @fitted_in_numpy
    @all_or_nothing
    def fit(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Learn the class scores and the embedding.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of samples that each sample counts as. A sample of weight 0 is left out.

        Returns
        -------
        self
            The fitted estimator. If fit fails, it stays as it was before.
        """
        if is_dask(X):
            self._keep_columns(int(X.shape[1]), None)
        else:
            # Labels may be missing on purpose, so scikit-learn checks X alone.
            # Integers on disk stay there. Blocks of them become floats when they are read.
            on_disk = isinstance(X, np.memmap) and X.dtype.kind in "iu" and self.augment is None
            kinds = None if on_disk else FLOATS
            X = validate_data(self, X, accept_sparse="csr", dtype=kinds, ensure_min_samples=2)
        return self._learn(Source.of(X), y, sample_weight)

    @all_or_nothing
    def fit_blocks(self, blocks: Any, sample_weight: WeightsLike = None) -> Self:
        """Learn from samples that are read in blocks, several times.

        Parameters
        ----------
        blocks : iterable of (X, y), or function returning one
            Samples and labels. They must be the same blocks in the same order whenever they are read. If
            they are data frames, all of them must have the same columns in the same order.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of samples that each sample counts as, in the order of the blocks.

        Returns
        -------
        self
            The fitted estimator. If a block cannot be used, it stays as it was before.
        """
        source, y, names = read_blocks(blocks)
        self._keep_columns(source.n_features, names)
        return self._learn(source, y, sample_weight)

    def _keep_columns(self, n_features: int, names: Any) -> None:
        """Set what scikit-learn's check of samples sets. An earlier fit may have had other names."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _learn(self, source: Source, y: LabelsLike, sample_weight: WeightsLike) -> Self:
        """Check the parameters, fit the model, calibrate it, and assign everything at once."""
        self._check_parameters()
        settings = self._settings()
        given = Rows.of(source, y, sample_weight, self.class_weight, settings.unlabeled.marker)
        check_components(self.n_components, len(given.classes))
        if settings.unlabeled.marker in (None, -1):  # another marker was chosen by the user
            warn_of_marker(*given.labels)
        if sample_weight is not None or self.class_weight is not None:
            warn_of_weights(float(given.weights.sum()), int(np.count_nonzero(given.given >= 0)))
        per_sample = given.augmented(self.augment).per_sample
        with logged(self.verbose), threads_for(len(given) * per_sample):
            model = learned(given, settings, look=self._look_before_fit)
            found = left_out(given, model, settings)
            fitted = Fitted.of(model, found, float(self.sigma), given.is_labeled[found.rows])
            warn_of_kernel(fitted.map_)
            samples = Samples.of(model, source, y, self.n_components)
            positions = Positions.of(given, settings, model, found, samples.embedding_)
            sizes = len(model.rows), len(model.ridge.coef)
            LOGGER.info("SmoothEmbedding: %d rows, %d centers, sigma %.3g", *sizes, fitted.sigma_)
        self.__dict__.update(vars(fitted) | vars(samples) | vars(positions))
        self._updates = None
        self._learned = begun(model, found) if hasattr(self, "partial_fit") else None
        return self

    def _look_before_fit(self, rows: Rows, n_centers: int, some: Rows) -> None:
        """Raise an error for a fit that needs too much memory, and warn if a few columns dominate."""
        require_fit_memory(len(rows), rows.source.n_features, n_centers)
        warn_of_centers(self.centers, len(rows))
        # A metric of the user may measure each column in a unit of its own.
        if isinstance(named_metric(self.metric), WithinMetric | Euclidean):
            warn_of_units(some, getattr(self, "feature_names_in_", None))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including parameters of the metric such as ``metric__shrinkage``.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of kernel, metric and other objects are included. If the metric is a name,
            the parameters of the metric with this name are included.

        Returns
        -------
        dict
            Parameters and their values.
        """
        found = dict(super().get_params(deep=deep))
        nested = parameters_of_name(self.metric) if deep else {}
        return found | {f"metric__{name}": value for name, value in nested.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including parameters of the metric such as ``metric__shrinkage``.

        If the metric is a name, it is first replaced by the object that the name stands for, so that
        ``metric__shrinkage`` works with the default "within".

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        self
            The estimator.
        """
        super().set_params(**with_object(params, self.metric))
        return self

    def _settings(self) -> Settings:
        """Return the checked parameters. A random state is drawn from once for all fits of folds."""
        return Settings(
            kernel=as_kernel(self.kernel),
            sigma=float(self.sigma),
            smoothness=float(self.smoothness),
            standardize=bool(self.standardize),
            decision=self.decision,
            metric=self.metric,
            centers=self.centers,
            augment=self.augment,
            unlabeled=use_of_unlabeled(self.unlabeled),
            seed=check_random_state(self.random_state).randint(2**31 - 1),
        )

    @property
    def coef_(self) -> Floats:
        """Return the coefficients of the kernel functions, one column for every coordinate."""
        return self.map_.coef

    @property
    def centers_(self) -> Any:
        """Return the centers of the kernel functions, in the units of X."""
        return self.map_.metric.inverse(self.map_.centers)

    def estimate_memory(self, n_samples: int, n_features: int) -> int:
        """Estimate the bytes that `fit` needs in addition to the samples.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of dense training samples. Augmented samples count.

        Returns
        -------
        int
            Bytes.
        """
        return fit_memory(n_samples, n_features, center_count(self.centers, n_samples))

    def _check_parameters(self) -> None:
        check_kernel_width("sigma", self.sigma, cure="0.65 is a good start.")
        check_number("smoothness", self.smoothness, positive=True, cure="0.1 is a good start.")
        if not isinstance(self.standardize, bool | np.bool_):
            cure = "True divides every column by its standard deviation."
            raise rule_error("standardize", "be True or False", self.standardize, cure)
        check_choice("decision", self.decision, ("scores", "nearest"))
        named_metric(self.metric)
        check_centers(self.centers)
        if self.augment is not None and (isinstance(self.augment, type) or not callable(self.augment)):
            cure = "Pass for example `nsse.augment.Noise()`."
            rule = "be None, an object of `nsse.augment` or a function of rows"
            raise rule_error("augment", rule, self.augment, cure)
