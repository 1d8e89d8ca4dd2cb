"""Pipelines as affine steps in front of a model: what certificates, files and exports know of them.

A step is taken where its affine form is known, by its name and the package that it comes from: a
subclass of somebody else may do something else. Of any other step nothing is known, and it is refused
in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._support.errors import rule_error
from nsse._support.types import Bools, LabelsLike, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.maps import LinearMap

FLOATS = [np.float64, np.float32]


class AffineStep(TransformerMixin, BaseEstimator):
    """An affine map in front of a model, learned before.

    Parameters
    ----------
    affine : Affine
        The map.

    Attributes
    ----------
    affine_ : Affine
        The same: ``fit`` learns nothing.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    nsse.load : A pipeline in a file begins with it.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.affine import Affine
    >>> from nsse.pipelines import AffineStep
    >>> AffineStep(Affine.diagonal(np.zeros(2), np.ones(2) * 3)).fit_transform([[1.0, 2.0]])
    array([[3., 6.]])
    """

    def __init__(self, affine: Affine) -> None:
        self.affine = affine

    def fit(self, X: SamplesLike, y: LabelsLike = None) -> Self:
        """Check samples; nothing is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : ignored
            Labels.

        Returns
        -------
        self
            The transformer.
        """
        validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        self.affine_ = self.affine
        return self

    def transform(self, X: SamplesLike) -> Any:
        """Map samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_outputs)
            In the floating-point type of ``X``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return self.affine_(X).astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def opened(model: Any) -> tuple[list[Any], Any]:
    """The steps before the last, and the last; pipelines and searches are opened."""
    before: list[Any] = []
    while True:
        if isinstance(model, Pipeline):
            before += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_") and not hasattr(model, "scores_"):
            model = model.best_estimator_
        else:
            return before, model


def split_pipeline(model: Any) -> tuple[Affine | None, Any]:
    """The steps of a fitted pipeline as one affine map, None without any, and the model at its end.

    Parameters
    ----------
    model : estimator
        A model of ours, a pipeline that ends in one, or a search around either.

    Returns
    -------
    Affine or None, estimator
        ``model.predict(X)`` is ``last.predict(affine(X))``.
    """
    before, last = opened(model)
    whole = None
    for step in before:
        affine = affine_of_step(step)
        whole = affine if whole is None else affine.after(whole)
    return whole, last


def in_one_step(model: Any, *, updatable: bool = False) -> Any:
    """A fitted pipeline with all steps before its last one in an `AffineStep`; of a search its best.

    ``updatable`` gives the last one the sums that it needs to learn more.
    """
    affine, last = split_pipeline(model)
    if updatable:
        if not hasattr(last, "updatable"):
            rule = "learn from samples that come later to be saved with updatable=True"
            raise rule_error("model", rule, type(last).__name__, "SmoothEmbedding does; leave it False.")
        last = last.updatable()
    if affine is None:
        return last
    step = AffineStep(affine)
    step.affine_, step.n_features_in_ = affine, affine.n_features
    if hasattr(model, "feature_names_in_"):
        step.feature_names_in_ = model.feature_names_in_
    return Pipeline([("affine", step), (type(last).__name__.lower(), last)])


def affine_of_step(step: Any, *, with_gaps: bool = False) -> Affine:
    """The affine form of a fitted step; one that has none is refused by its name.

    Parameters
    ----------
    step : transformer
        Fitted.
    with_gaps : bool, default=False
        Whether imputers are taken as what they do to values that are there. Who applies the affine form
        itself cannot have them: it would let gaps pass.

    Returns
    -------
    Affine
        What ``step.transform`` computes.
    """
    found = None
    if type(step).__module__.partition(".")[0] in ("sklearn", "nsse"):
        known = _KNOWN | ({"SimpleImputer": _imputer} if with_gaps else {})
        if hasattr(step, "get_support"):
            found = _selected(np.asarray(step.get_support(), dtype=bool))
        elif isinstance(getattr(step, "map_", None), LinearMap):
            found = _first_columns(step.map_.affine, step.embedding_.shape[1])
        elif type(step).__name__ in known:
            found = known[type(step).__name__](step)
    if found is None:
        cure = (
            "Scalers without clipping, PCA and other projections, and selections of features are. "
            "With other steps apply the last one alone, model[-1], to model[:-1].transform(X), and keep "
            "the pipeline with skops or pickle."
        )
        rule = "have only affine steps before its last one"
        raise rule_error("model", rule, type(step).__name__, cure)
    return found


def _standard(step: Any) -> Affine:
    return _scaled(step, step.mean_ if step.with_mean else None)  # a mean is kept that is not used


def _robust(step: Any) -> Affine:
    return _scaled(step, step.center_)


def _min_max(step: Any) -> Affine | None:
    if step.clip:
        return None
    scale = np.asarray(step.scale_, dtype=np.float64)
    offset = np.asarray(step.min_, dtype=np.float64)
    return Affine(np.zeros(len(scale)), scale, offset)


def _max_abs(step: Any) -> Affine | None:
    if getattr(step, "clip", False):
        return None
    return _scaled(step, None)


def _pca(step: Any) -> Affine:
    matrix = np.asarray(step.components_, dtype=np.float64).T
    if step.whiten:
        least = np.finfo(step.explained_variance_.dtype).eps
        matrix = matrix / np.maximum(np.sqrt(step.explained_variance_), least)
    return Affine.linear(np.asarray(step.mean_, dtype=np.float64), matrix)


def _projection(step: Any) -> Affine:
    components: Any = step.components_
    components = components.toarray() if is_sparse(components) else components
    matrix = np.asarray(components, dtype=np.float64).T
    return Affine.linear(np.zeros(len(matrix)), matrix)


def _discriminant(step: Any) -> Affine:
    matrix = np.asarray(step.scalings_, dtype=np.float64)[:, : len(step.get_feature_names_out())]
    return Affine.linear(step.xbar_ if step.solver == "svd" else np.zeros(len(matrix)), matrix)


def _function(step: Any) -> Affine | None:
    return Affine.identity(step.n_features_in_) if step.func is None else None


def _imputer(step: Any) -> Affine | None:
    """Values that are there pass as they are; columns without any are left out."""
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if step.add_indicator or not is_nan or step.statistics_.dtype.kind != "f":
        return None
    return _selected(~np.isnan(step.statistics_) | step.keep_empty_features)


def _scaled(step: Any, shift: Any) -> Affine:
    """Of a scaler that divides by `scale_`, if it does, after a shift, if any."""
    shift = np.zeros(step.n_features_in_) if shift is None else shift
    scale = np.ones(step.n_features_in_) if step.scale_ is None else 1.0 / step.scale_
    return Affine.diagonal(np.asarray(shift, dtype=np.float64), np.asarray(scale, dtype=np.float64))


def _selected(kept: Bools) -> Affine:
    n = len(kept)
    return Affine.identity(n) if kept.all() else Affine.linear(np.zeros(n), np.eye(n)[:, kept])


def _first_columns(affine: Affine, count: int) -> Affine:
    """The first coordinates of a linear map, as many as `transform` gives."""
    return Affine.linear(affine.shift, affine.dense()[:, :count], affine.offset[:count])


_KNOWN: dict[str, Callable[[Any], Affine | None]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "PCA": _pca,
    "IncrementalPCA": _pca,
    "TruncatedSVD": _projection,
    "GaussianRandomProjection": _projection,
    "SparseRandomProjection": _projection,
    "NeighborhoodComponentsAnalysis": _projection,
    "LinearDiscriminantAnalysis": _discriminant,
    "FunctionTransformer": _function,
    "WithinMetric": attrgetter("affine_"),
    "AffineStep": attrgetter("affine_"),
}
