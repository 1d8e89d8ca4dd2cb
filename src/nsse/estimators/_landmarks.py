"""NSSE with landmarks: rows from anywhere, a fit by blocks, lazy answers to Dask arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from nsse._compat import FitTasks
from nsse._errors import rule_error
from nsse.estimators._centers import check_supported, choose_centers
from nsse.estimators._fitting import LOGGER
from nsse.estimators._gaussian_map import GaussianMapClassifier
from nsse.estimators._posing import Verdict, center_objective, center_search
from nsse.estimators._settings import Settings
from nsse.extensions import CenterExpansion
from nsse.scaling import (
    ArrayRows,
    CenterFit,
    DaskRows,
    RowSource,
    Sketch,
    fit_centers,
    gathered_labels,
    is_dask,
    lazily,
)
from nsse.solvers import Step, Trace

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Condition:
    """How the eigenproblem was solved, and how hard it was.

    Attributes
    ----------
    factorization : {"cholesky", "qr"}
        Factorisation of P = K'SK + μ2 I; "qr" is the answer to an ill-conditioned P.
    condition_number : float
        Estimate of cond(P).
    eigensolver : {"block Krylov", "full"}
        How the leading eigenvectors were found.
    precision : {"float64", "float32"}
        Of the kernel: single with landmarks if X is in single precision or bytes.
    jitter : float
        What was added to μ2, only ever with landmarks: in single precision, the rounding of P; more,
        with a warning, where P was not positive definite.
    """

    factorization: str
    condition_number: float
    eigensolver: str
    precision: str = "float64"
    jitter: float = 0.0


class LandmarkClassifier(GaussianMapClassifier):
    """A `GaussianMapClassifier` whose centres may be fewer than the samples.

    ``_precision`` is None in a model whose centres are all samples, else that of its kernel.
    """

    mu1: float
    callback: Callable[[Step], Any] | None
    random_state: Any
    _expansion: Any

    def transform(self, X: Any) -> Any:
        """Embed samples by the learned map f.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples, new or old.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            f(x) for every row, in the floating-point type of ``X``; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self._embed, X, self._n_features_out, _floating(X.dtype))
        return super().transform(X)

    def predict(self, X: Any) -> Any:
        """Label of the nearest training sample in the embedding, or what `classifier` says.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict, X, None, self.classes_.dtype)
        return super().predict(X)

    @available_if(lambda self: self.classifier is None or hasattr(self.classifier, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, if `classifier` gives any (the nearest neighbour: 0 or 1).

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; lazily, where X is a Dask array.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self.predict_proba, X, len(self.classes_), np.dtype(np.float64))
        return super().predict_proba(X)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if getattr(self, "_precision", None) is not None:
            self._expansion = CenterExpansion.at(
                self.centers_, self.coef_, self.sigma_, self.length_unit_, self._precision
            )

    def _rows(self, X: Any, y: Any, settings: Settings) -> tuple[Any, NDArray[Any]]:
        """Samples and labels, checked; integers stay integers where rows are converted in blocks."""
        if is_dask(X):
            require_landmarks(settings, "a Dask array")
            source = DaskRows.of(X)
            self._keep_width(source)
            y = column_or_1d(gathered_labels(y), warn=True)
            check_consistent_length(X, y)
            check_classification_targets(y)
            return source, y
        if settings.centers is None:
            X, y = self._validated(X, y)
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", ensure_min_samples=2)
            check_classification_targets(y)
            if settings.centers.is_exact_for(len(y)):
                X = X.astype(_floating(X.dtype), copy=False)
        return ArrayRows(X), y

    def _embed(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        if getattr(self, "_precision", None) is None:
            return super()._embed(X)
        # Blocks of rows are converted one at a time: a memory map of bytes is never made large.
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")
        return self._map(X).astype(_floating(X.dtype), copy=False)

    def _keep_width(self, source: RowSource) -> None:
        self.n_features_in_ = source.shape[1]
        if hasattr(self, "feature_names_in_"):  # of an earlier fit on a data frame
            del self.feature_names_in_

    def _with_centers(
        self, source: RowSource, y: Any, codes: Ints, d: int, settings: Settings, tasks: FitTasks
    ) -> tuple[dict[str, Any], Verdict]:
        check_supported(self)
        assert settings.centers is not None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        centers = choose_centers(settings.centers, source, codes, rng, d)
        fit = fit_centers(
            source, codes, centers.rows, centers.indices, center_objective(settings, d),
            center_search(settings), settings.length_unit, rng, _CenterListener(self, tasks, y),
        )  # fmt: skip
        return self._fitted_centers(fit, centers.rows, source, y), Verdict.of_centers(fit)

    def _fitted_centers(
        self, fit: CenterFit, centers: Any, source: RowSource, y: NDArray[Any]
    ) -> dict[str, Any]:
        """Attributes of a fit: the map, the embedding, and how it went."""
        shift = self.mu1 * len(y)
        steps = (replace(step, sigma=step.sigma * fit.unit) for step in fit.trace.steps)
        embedding = fit.embedding.astype(_floating(source.dtype), copy=False)
        return self._center_model(centers, fit.coef, fit.scale, fit.unit, fit.precision) | {
            "embedding_": embedding,
            "classes_": np.unique(y),
            "classifier_": self._fitted_classifier(embedding, y),
            "objective_": fit.excess - shift * len(fit.eigenvalues),
            "eigenvalues_": fit.eigenvalues - shift,
            "trace_": Trace(tuple(steps)),
            "n_iter_": len(fit.trace),
            "condition_": Condition(
                "cholesky", fit.condition, fit.eigensolver, str(fit.precision), fit.added
            ),
        }

    def _center_model(
        self, centers: Any, coef: NDArray[Any], sigma: float, unit: float, precision: Any
    ) -> dict[str, Any]:
        """Attributes of the map."""
        return {
            "coef_": coef, "centers_": centers, "sigma_": sigma, "length_unit_": unit,
            "n_landmarks_": len(coef), "_precision": np.dtype(precision).name,
            "_expansion": CenterExpansion.at(centers, coef, sigma, unit, precision),
        }  # fmt: skip


def require_landmarks(settings: Settings, what: str) -> None:
    if settings.centers is None:
        raise rule_error(
            "n_landmarks", f"be given for {what}", None,
            'Exact NSSE needs all samples in memory; take a number such as 3000, or "auto".',
        )  # fmt: skip


def _floating(dtype: Any) -> Any:
    """The type of an embedding: that of the samples if it is floating-point, else float64."""
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def tell(model: LandmarkClassifier, step: Step, unit: float) -> bool:
    """Tell the log and the user's callback about a step; True if the latter wants no more."""
    LOGGER.info(
        "%s %d: sigma %.4g units, objective %.6g above its floor (%.2f s)",
        step.stage, step.iteration, step.sigma, step.excess, step.seconds,
    )  # fmt: skip
    callback = model.callback
    answer = None if callback is None else callback(replace(step, sigma=step.sigma * unit))
    return isinstance(answer, bool | np.bool_) and bool(answer)


class _CenterListener:
    """Passes every step on; the model of a step is that of the subsample."""

    def __init__(self, model: LandmarkClassifier, tasks: FitTasks, y: NDArray[Any]) -> None:
        self._model, self._tasks, self._y = model, tasks, y

    def __call__(self, step: Step, unit: float, sketch: Callable[[], Sketch] | None) -> bool:
        enough = tell(self._model, step, unit)
        if sketch is None:  # the last step; the model itself follows
            return enough
        return self._tasks.step(step.stage, lambda: self._of(sketch())) or enough

    def _of(self, sketch: Sketch) -> dict[str, Any]:
        y = self._y[sketch.rows]
        model = self._model._center_model(
            sketch.centers, sketch.coef, sketch.scale, sketch.unit, np.float64
        )
        classifier = self._model._fitted_classifier(sketch.embedding, y)
        return model | {
            "embedding_": sketch.embedding,
            "classes_": np.unique(self._y),
            "classifier_": classifier,
        }
