"""Asking a model for its map, and refusing those that have none of the kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from nsse._compat import remembered_neighbors
from nsse._support.errors import rule_error, rule_message
from nsse.extensions import GaussianExpansion

Floats = NDArray[np.float64]


def expansion_of(model: Any) -> GaussianExpansion:
    """The Gaussian expansion of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted, with an attribute ``expansion_``: `NSSE`, `SUPLAP`, `MReg`, `IsoKRR`.

    Returns
    -------
    GaussianExpansion
        Centres, coefficients and scale.

    See Also
    --------
    nsse.certificates.lipschitz_bounds : Bounds of the expansion.

    Examples
    --------
    >>> from nsse.certificates import expansion_of
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> expansion_of(model).coef.shape
    (50, 2)
    """
    if not hasattr(type(model), "expansion_"):
        raise _uncertified(model)
    check_is_fitted(model)
    expansion: GaussianExpansion = model.expansion_
    return expansion


def check_certified(model: Any) -> None:
    """See that a model is fitted and has certified radii, those of its map or of a vote of several.

    At the end of a pipeline too; what stands before it is refused elsewhere (`steps.affine_of`).
    """
    last = opened(model)[1]
    if not hasattr(type(last), "certified_radius"):
        raise _uncertified(last)
    check_is_fitted(last)


def _uncertified(model: Any) -> TypeError:
    cure = "NSSE, SUPLAP, MReg and IsoKRR do; nothing is proved here about other maps."
    if hasattr(model, "best_estimator_"):
        cure = "Pass its `best_estimator_`."
    elif isinstance(model, Pipeline):
        cure = "Pass its last step, and samples as the steps before it give them."
    rule = "have a Gaussian expansion as its map to be certified"
    return TypeError(rule_message("model", rule, type(model).__name__, cure))


def check_units(units: Any) -> None:
    """Refuse what is no way to measure a change of a sample."""
    if units not in ("samples", "metric"):
        cure = "A ball in the units of X, or an ellipsoid: a ball in the metric of the model."
        raise rule_error("units", 'be "samples" or "metric"', units, cure)


def checked_samples(model: Any, X: Any) -> Any:
    """Samples as the model accepts them, a dense or CSR matrix of floats."""
    return validate_data(model, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])


def floating(dtype: Any) -> Any:
    """The type of an embedding: that of the samples if it is floating-point, else float64."""
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def map_at(model: Any, X: Any) -> tuple[Floats, Any]:
    """The Gaussian map of a model at samples, in float64, and the type in which `transform` gives it.

    Blocks of rows are converted one at a time: a memory map of bytes is never made large.
    """
    expansion = expansion_of(model)
    X = validate_data(model, X, reset=False, accept_sparse="csr", dtype="numeric")
    return expansion(X), floating(X.dtype)


def training_labels(model: Any) -> NDArray[Any] | None:
    """Labels of the training samples that a model keeps, or its nearest-neighbour classifier does."""
    kept = getattr(model, "labels_", None)
    if kept is not None:
        return np.asarray(kept)
    if not isinstance(model.classifier_, KNeighborsClassifier):
        return None
    codes = remembered_neighbors(model.classifier_)[1]
    return np.asarray(model.classifier_.classes_[codes]) if len(codes) == len(model.embedding_) else None


def centers_of_samples(model: Any) -> Any:
    """The centres that may be the training samples, by their number: copies of these stand after each.

    None where there are more or fewer, or none at all.
    """
    centers, every = getattr(model, "centers_", None), 1 + getattr(model, "n_copies_", 0)
    if centers is None or centers.shape[0] != every * len(model.embedding_):
        return None
    return centers[::every]


def opened(model: Any) -> tuple[list[Any], Any]:
    """The steps of a pipeline before the last, pipelines within it opened, and the last.

    Of anything else no steps, and itself.

    Parameters
    ----------
    model : estimator
        A pipeline or any other.

    Returns
    -------
    list of estimators, estimator
        The steps before the last, and the last.

    See Also
    --------
    nsse.certificates.answers : Opens pipelines by this.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nsse import NSSE
    >>> from nsse.certificates import opened
    >>> opened(make_pipeline(StandardScaler(), NSSE()))
    ([StandardScaler()], NSSE())
    """
    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        model = model.steps[-1][1]
    return before, model
