"""Bring the steps in front of a model into the form that certificates, files and exports need.

    x ↦ affine(x, with gaps filled in)

`form_of_step` returns this form of a fitted step. It recognizes a step by its name and by the package
that defines it, because a subclass from elsewhere may compute something else. Other steps raise an
error. A `TableEncoder` may stand before all other steps. It has this form if its table has no
categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.types import Bools, Floats, Ints, LabelsLike, SamplesLike
from nsse.affine import Affine, is_sparse
from nsse.maps import LinearMap

if TYPE_CHECKING:
    from nsse.datasets import TableEncoder

FLOATS = [np.float64, np.float32]


@dataclass(frozen=True, eq=False)
class Form:
    """One or several steps that fill in missing entries and then apply an affine map.

    Attributes
    ----------
    affine : Affine
        The affine map.
    fill : ndarray of shape (n_features,) or None
        The numbers that replace missing entries. NaN leaves them missing. None fills in nothing.
    """

    affine: Affine
    fill: Floats | None = None

    @property
    def fills_in(self) -> bool:
        """Whether missing entries are filled in whose columns the affine map uses."""
        if self.fill is None:
            return False
        if self.affine.matrix is None:
            return not np.isnan(self.fill).all()
        return bool(np.any(self.affine.dense().any(axis=1) & ~np.isnan(self.fill)))

    def after(self, first: Form) -> Form:
        """Return the form of two steps, of which this one is the second."""
        affine = self.affine.after(first.affine)
        if self.fill is None:
            return Form(affine, first.fill)
        own = _before(self.fill, first.affine)
        return Form(
            affine, own if first.fill is None else np.where(np.isnan(first.fill), own, first.fill)
        )


@dataclass(frozen=True, eq=False)
class Front:
    """The steps of a pipeline before its model, as an encoder of tables and the form of the others."""

    encoder: TableEncoder | None = None
    form: Form | None = None


class AffineStep(TransformerMixin, BaseEstimator):
    """Fill in missing entries and apply an affine map, both of which are given.

    Parameters
    ----------
    affine : Affine
        The map.
    fill : ndarray of shape (n_features,), default=None
        The numbers that replace missing entries. NaN leaves them missing, and None allows none.

    Attributes
    ----------
    affine_ : Affine
        The same map. ``fit`` learns nothing.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    nsse.load : Returns pipelines that contain this step.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.affine import Affine
    >>> from nsse.pipelines import AffineStep
    >>> AffineStep(Affine.diagonal(np.zeros(2), np.ones(2) * 3)).fit_transform([[1.0, 2.0]])
    array([[3., 6.]])
    """

    def __init__(self, affine: Affine, fill: Floats | None = None) -> None:
        self.affine = affine
        self.fill = fill

    def fit(self, X: SamplesLike, y: LabelsLike = None) -> Self:
        """Check the samples. Nothing is learned.

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
        self._checked(X, reset=True)
        self.affine_ = self.affine
        return self

    def transform(self, X: SamplesLike) -> Any:
        """Return the images of the samples.

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
        X = self._checked(X, reset=False)
        if self.fill is not None:
            X = np.where(np.isnan(X), self.fill, X).astype(X.dtype, copy=False)
        return self.affine_(X).astype(X.dtype, copy=False)

    def _checked(self, X: SamplesLike, *, reset: bool) -> Any:
        if self.fill is None:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOATS)
        return validate_data(self, X, reset=reset, dtype=FLOATS, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.fill is None
        tags.input_tags.allow_nan = self.fill is not None
        return tags


def check_model(model: Any) -> None:
    """Raise an error if an object is not an estimator, or if it is not fitted."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        got = model if isinstance(model, str | type) else Described(f"a {type(model).__name__}")
        raise TypeError(rule_message("model", "be a fitted estimator", got, "Pass the model first."))
    check_is_fitted(model)


def opened(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, and the last one. Pipelines and searches are opened."""
    before: list[Any] = []
    while True:
        if isinstance(model, Pipeline):
            before += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_") and not hasattr(model, "scores_"):
            model = model.best_estimator_
        else:
            return before, model


def behind(steps: Sequence[Any], X: SamplesLike) -> Any:
    """Return samples after fitted steps."""
    for step in steps:
        X = step.transform(X)
    return X


def split_pipeline(model: Any) -> tuple[Front, Any]:
    """Return the steps of a fitted pipeline in one form, and the model at its end.

    Parameters
    ----------
    model : estimator
        A model of ours, a pipeline that ends in one, or a search around either.

    Returns
    -------
    Front, estimator
        ``Front()`` if there are no steps.
    """
    before, last = opened(model)
    encoder = before.pop(0) if before and is_encoder(before[0]) else None
    return Front(encoder, _chain(before)), last


def is_encoder(step: Any) -> bool:
    """Return whether a step is our `TableEncoder`."""
    return type(step).__name__ == "TableEncoder" and _is_known(step)


def in_one_step(model: Any, *, updatable: bool = False) -> Any:
    """Return a fitted pipeline as its `TableEncoder` if it has one, one `AffineStep`, and its model.

    A search is replaced by its best estimator. If `updatable`, the model gets the sums that it needs to
    learn from more samples.
    """
    front, last = split_pipeline(model)
    if updatable:
        if not hasattr(last, "updatable"):
            rule = "have partial_fit to be saved with updatable=True"
            raise rule_error(
                "model", rule, type(last).__name__, "SmoothEmbedding has it. Leave it False."
            )
        last = last.updatable()
    steps = [] if front.encoder is None else [("tableencoder", front.encoder)]
    if front.form is not None:
        step = AffineStep(front.form.affine, front.form.fill)
        step.affine_, step.n_features_in_ = step.affine, step.affine.n_features
        if front.encoder is None and hasattr(model, "feature_names_in_"):
            step.feature_names_in_ = model.feature_names_in_
        steps.append(("affine", step))
    return Pipeline([*steps, (type(last).__name__.lower(), last)]) if steps else last


def affine_of_step(step: Any, *, with_gaps: bool = False) -> Affine:
    """Return the affine map that a fitted step applies to entries that are not missing.

    Parameters
    ----------
    step : transformer
        Fitted.
    with_gaps : bool, default=False
        Whether the step may fill in missing entries. The affine map alone does not fill them in, so
        callers that apply it themselves need False.

    Returns
    -------
    Affine
        The map that ``step.transform`` computes.
    """
    form = form_of_step(step)
    if form.fills_in and not with_gaps:
        raise _not_affine(step)
    return form.affine


def form_of_step(step: Any) -> Form:
    """Return the form of a fitted step. Steps without one raise an error that names them."""
    found: Form | Affine | None = None
    if _is_known(step):
        if hasattr(step, "get_support"):
            found = _selected(np.asarray(step.get_support(), dtype=bool))
        elif isinstance(getattr(step, "map_", None), LinearMap):
            found = _first_columns(step.map_.affine, step.embedding_.shape[1])
        elif type(step).__name__ in _KNOWN:
            found = _KNOWN[type(step).__name__](step)
    if found is None:
        raise _not_affine(step)
    return found if isinstance(found, Form) else Form(found)


def _is_known(step: Any) -> bool:
    return type(step).__module__.partition(".")[0] in ("sklearn", "nsse")


def _not_affine(step: Any) -> ValueError:
    if is_encoder(step):
        rule = "have numbers and dates only, because categories do not change by small amounts"
        cure = "Drop the columns of categories if you need radii, or use the model without them."
        return rule_error(
            "model", rule, Described(f"a table with categories in {', '.join(step.categories_)}"), cure
        )
    cure = (
        "Scalers without clipping, SimpleImputer, PCA and other projections, selections of features, "
        "and a ColumnTransformer of these are affine. For tables with categories use "
        "nsse.datasets.TableEncoder. With other steps, apply model[-1] to model[:-1].transform(X), and "
        "store the pipeline with skops or pickle."
    )
    return rule_error("model", "have only affine steps before its last one", type(step).__name__, cure)


def _chain(steps: list[Any]) -> Form | None:
    """Return the form of steps that follow each other, None without steps."""
    whole = None
    for step in steps:
        form = form_of_step(step)
        whole = form if whole is None else form.after(whole)
    return whole


def _before(fill: Floats, affine: Affine) -> Floats:
    """Return the numbers before a map that it maps to `fill`, NaN where `fill` is NaN.

    An output that depends on several features has no missing entries in scikit-learn, because steps that
    combine features accept none.
    """
    if affine.matrix is None and affine.down is None:
        return np.asarray((fill - affine.offset) / affine.scale + affine.shift)
    slopes, found = affine.dense(), np.full(affine.n_features, np.nan)
    for output in np.flatnonzero(~np.isnan(fill)):
        features = np.flatnonzero(slopes[:, output])
        if len(features) == 1:
            (feature,) = features
            moved = (fill[output] - affine.offset[output]) / slopes[feature, output]
            found[feature] = moved + affine.shift[feature]
    return found


def _standard(step: Any) -> Affine:
    # The mean is stored even if it is not used.
    return _scaled(step, step.mean_ if step.with_mean else None)


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


def _affine_step(step: AffineStep) -> Form:
    return Form(step.affine_, step.fill)


def _imputer(step: Any) -> Form | None:
    """Replace missing entries by the statistic. Columns without any entry are left out."""
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if step.add_indicator or not is_nan or not all(isinstance(v, Number) for v in step.statistics_):
        return None
    statistics = step.statistics_.astype(np.float64)
    kept = ~np.isnan(statistics) | step.keep_empty_features
    return Form(_selected(kept), np.nan_to_num(statistics))


def _encoder(step: Any) -> Form | None:
    """Pass columns that are features on unchanged if none of them has categories."""
    if step.categories_:
        return None
    kept = np.isin(step._names, step.columns_)
    fill = np.array([step.medians_.get(name, 0.0) for name in step._names])
    return Form(_selected(kept), fill)


def _columns(step: Any) -> Form | None:
    """Return the form of a `ColumnTransformer`, whose parts take some columns each."""
    n = step.n_features_in_
    m = max(outputs.stop for outputs in step.output_indices_.values())
    matrix = np.zeros((n, m))
    shift = np.zeros(n)
    offset = np.zeros(m)
    fill, is_taken = np.full(n, np.nan), np.zeros(n, dtype=bool)
    for name, part, columns in step.transformers_:
        outputs = step.output_indices_[name]
        if part == "drop" or outputs.start == outputs.stop:
            continue
        own = _places(step, columns)
        form = _part(part, len(own))
        if form is None or (step.transformer_weights or {}).get(name, 1.0) != 1.0:
            return None
        filled = np.full(len(own), np.nan) if form.fill is None else form.fill
        again = is_taken[own]
        if not np.array_equal(filled[again], fill[own][again], equal_nan=True):
            return None  # two parts fill in the same column with different numbers
        fill[own] = filled
        shift[own] = np.where(again, shift[own], form.affine.shift)
        is_taken[own] = True
        matrix[own, outputs] = form.affine.dense()
        offset[outputs] = form.affine(shift[own][np.newaxis])[0]
    fill[~is_taken] = 0.0  # missing entries do not matter there
    return Form(Affine.linear(shift, matrix, offset), None if np.isnan(fill).all() else fill)


def _part(part: Any, n_features: int) -> Form | None:
    """Return the form of a transformer, a pipeline of them or "passthrough"."""
    if isinstance(part, Pipeline):
        return _chain([step for _, step in part.steps if step not in (None, "passthrough")])
    return Form(Affine.identity(n_features)) if part == "passthrough" else form_of_step(part)


def _places(step: Any, columns: Any) -> Ints:
    """Return the places of the columns that a part of a `ColumnTransformer` takes."""
    given = [columns] if isinstance(columns, str) else columns
    if not isinstance(given, slice) and len(given) and isinstance(given[0], str):
        places = {name: place for place, name in enumerate(step.feature_names_in_)}
        return np.array([places[name] for name in given], dtype=np.intp)
    return np.asarray(np.arange(step.n_features_in_)[given])


def _scaled(step: Any, shift: Any) -> Affine:
    """Return the map of a scaler that may shift columns and may divide them by `scale_`."""
    shift = np.zeros(step.n_features_in_) if shift is None else shift
    scale = np.ones(step.n_features_in_) if step.scale_ is None else 1.0 / step.scale_
    return Affine.diagonal(np.asarray(shift, dtype=np.float64), np.asarray(scale, dtype=np.float64))


def _selected(kept: Bools) -> Affine:
    n = len(kept)
    return Affine.identity(n) if kept.all() else Affine.linear(np.zeros(n), np.eye(n)[:, kept])


def _first_columns(affine: Affine, count: int) -> Affine:
    """Return the first coordinates of a linear map, as many as `transform` returns."""
    return Affine.linear(affine.shift, affine.dense()[:, :count], affine.offset[:count])


_KNOWN: dict[str, Callable[[Any], Form | Affine | None]] = {
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
    "AffineStep": _affine_step,
    "ColumnTransformer": _columns,
    "SimpleImputer": _imputer,
    "TableEncoder": _encoder,
}
