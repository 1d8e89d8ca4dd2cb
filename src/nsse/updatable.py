"""Add samples to fitted estimators and remove samples from them (`nsse.updates`)."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from types import MethodType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nsse._support.arrays import fitted_in_numpy, is_dask
from nsse._support.errors import listed, rule_error, rule_message
from nsse._support.fitting import all_or_nothing
from nsse._support.parameters import check_components
from nsse._support.samples import validate_data
from nsse._support.types import Floats, LabelsLike, SamplesLike, WeightsLike
from nsse.affine import Affine
from nsse.labels import encoded
from nsse.maps import KernelMap
from nsse.metrics.base import as_metric
from nsse.model import Fitted, Samples, Space, read
from nsse.positions import Positions
from nsse.rows import Rows
from nsse.scores import Scores
from nsse.sources import Source
from nsse.updates import Begun, Updates, not_learned


class Updating:
    """Decorate a method that needs sums over samples, so that models without such sums do not have it.

    The error of other models names the parameter that prevents updates. scikit-learn's ``available_if``
    shows that reason only as the cause of another error.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self.method
        require_sums(model)
        return MethodType(self.method, model)


def require_sums(model: Any) -> None:
    """Raise an error that names the parameter of a model with which its samples do not add up."""
    later = "in a model that is updated"
    found = ""
    if model.decision != "scores":
        cure = "The nearest training sample cannot be found without keeping all of them."
        found = rule_message("decision", f'be "scores" {later}', model.decision, cure)
    elif model.unlabeled is not None:
        cure = "Fit once to all samples if some have no label."
        found = rule_message("unlabeled", f"be None {later}", model.unlabeled, cure)
    elif isinstance(model.class_weight, str):
        cure = "Pass the weights of the classes as a dict."
        found = rule_message("class_weight", f"be None or a dict {later}", model.class_weight, cure)
    if found:
        raise AttributeError(found)


class Updatable:
    """The part of an estimator that updates it: `partial_fit`, `forget` and `updatable`.

    ``fit`` sets ``_learned`` to `nsse.updates.begun` and ``_updates`` to None.
    """

    n_components: int | None
    sigma: float
    smoothness: float
    decision: str
    metric_: Any
    map_: KernelMap
    scores_: Scores
    sigma_: float
    _leave_one_out_heights: Floats | None
    _learned: Begun | Updates | None
    _updates: Updates | None

    @abstractmethod
    def fit(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Learn from samples."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter is not usable."""

    @Updating
    @fitted_in_numpy
    @all_or_nothing
    def partial_fit(
        self, X: SamplesLike, y: LabelsLike, classes: Any = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn from more samples, as if all samples had been given in one fit.

        The first call chooses metric, kernel width and centers like `fit`, and later calls keep them.
        Later samples may belong to new classes. The memory does not grow with the number of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples that the model has not learned yet.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like, default=None
            Labels that may occur. Other labels raise an error. None allows new classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of samples that each sample counts as.

        Returns
        -------
        self
            The estimator. Its `embedding_` and `labels_` contain at most 2000 of the samples. If the
            samples cannot be learned, it stays as it was before.
        """
        if not hasattr(self, "map_"):
            if classes is not None and len(unknown := np.setdiff1d(encoded(y)[0], classes)):
                cure = "Name all labels in `classes`, or leave it None."
                raise rule_error("y", "hold labels of `classes` only", unknown.tolist(), cure)
            self.fit(X, y, sample_weight)
            return self._keep_updates(*self._sums(), self.scores_.classes)
        kept, f = self._sums()
        near = chunk(self, X, y, sample_weight, classes)
        more, classes = kept.added(near, f, self.scores_.classes, as_metric(self.metric_))
        return self._keep_updates(more, f, classes)

    @Updating
    @fitted_in_numpy
    @all_or_nothing
    def forget(self, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Forget samples that were learned, as if they had never been given.

        Metric, kernel width and centers stay. A class that loses all of its samples is removed.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples as they were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self
            The estimator. If the samples cannot be forgotten, it stays as it was before.
        """
        check_is_fitted(self)
        kept, f = self._sums()
        near = chunk(self, X, y, sample_weight, known=self.scores_.classes)
        less, classes = kept.without(near, f, self.scores_.classes)
        try:
            return self._keep_updates(less, f, classes)
        except np.linalg.LinAlgError:  # sums of no samples
            raise not_learned("samples of which the model has no sums") from None

    @Updating
    def updatable(self) -> Self:
        """Return a copy that keeps the sums of its samples, for `nsse.save`.

        Returns
        -------
        SmoothEmbedding
            This model if it has been updated, or else an equivalent one that can be updated.
        """
        check_is_fitted(self)
        if self._updates is not None:
            return self
        return copy(self)._keep_updates(*self._sums(), self.scores_.classes)

    def _sums(self) -> tuple[Updates, KernelMap]:
        """Return the sums of the samples that were learned, and the map with their centers."""
        self._check_parameters()
        return Updates.begun(self) if self._updates is None else (self._updates, self.map_)

    def _keep_updates(self, kept: Updates, f: KernelMap, classes: NDArray[Any]) -> Self:
        """Solve the regression by its sums, and set the attributes that `fit` sets."""
        check_components(self.n_components, len(classes))
        ridge = kept.solved(f, float(self.smoothness))
        near = kept.kept.as_rows(classes, kept.per_sample)
        is_projected = self._leave_one_out_heights is not None
        unit = f.kernel.sigma / self.sigma_
        space = Space(as_metric(self.metric_), f.metric, unit, is_projected)
        model = read(near, space, ridge, None, self.decision)
        found = kept.left_out(near, ridge)
        fitted = Fitted.of(model, found, float(self.sigma), slice(None))
        own, d = slice(None, None, kept.per_sample), self.n_components or len(classes) - 1
        behind = replace(fitted.map_, metric=Affine.identity(f.metric.n_outputs))
        labels = classes[near.codes[own]]
        samples = Samples(behind(kept.kept.rows[own])[:, : int(d)], labels, labels)
        self.__dict__.update(vars(fitted) | vars(samples) | vars(Positions()))
        self._updates, self._learned = kept, None
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Sums are large. A copy contains them after `partial_fit`, and not after `fit` alone.
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        if isinstance(state.get("_learned"), Updates):
            state["_learned"] = None
        return state


def chunk(
    model: Any, X: SamplesLike, y: LabelsLike, sample_weight: WeightsLike, known: Any = None
) -> Rows:
    """Return a chunk of samples as rows in the metric of a model.

    If labels are given, all must be ``known``.
    """
    if not is_dask(X):
        X = validate_data(model, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
    labels = encoded(y)[0]
    own = model.scores_.classes
    if (labels.dtype.kind in "US") != (own.dtype.kind in "US"):
        cure = f"The classes of the model are {listed([repr(label) for label in own.tolist()], 5)}."
        raise rule_error("y", "hold labels of the kind that the model has", labels.tolist()[:5], cure)
    if known is not None:
        unknown = sorted(set(labels.tolist()) - set(np.asarray(known).tolist()), key=str)
        if unknown:
            cure = f"Known are {listed([repr(label) for label in np.asarray(known).tolist()])}."
            raise rule_error("y", "hold known classes only", unknown, cure)
    weight = model.class_weight
    if weight is not None:
        weight = {label: weight[label] for label in weight if label in labels.tolist()} or None
    rows = Rows.of(Source.of(X), y, sample_weight, weight, at_least=1)
    return rows.augmented(model.augment).through(model.map_.metric)
