"""NSSE with landmarks: rows from anywhere, a fit by blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from nsse._compat import FitTasks, with_callbacks
from nsse._errors import rule_error
from nsse.certificates.models import floating
from nsse.estimators._centers import check_supported, choose_centers
from nsse.estimators._fitting import LOGGER, all_or_nothing, logged
from nsse.estimators._gaussian_map import GaussianMapClassifier
from nsse.estimators._lazy import LazyAnswers
from nsse.estimators._memory import CenterMemory, exact_memory
from nsse.estimators._parameters import check_n_components
from nsse.estimators._posing import (
    Verdict,
    center_search,
    encode_labels,
    neighbors_of,
    objective_of,
    warn_about,
)
from nsse.estimators._settings import Settings, check_settings
from nsse.extensions import GaussianExpansion
from nsse.landmarks import (
    ArrayRows,
    CenterFit,
    DaskRows,
    RowSource,
    Sketch,
    fit_centers,
    gathered_labels,
    is_dask,
    read_blocks,
)
from nsse.solvers import Step, Trace

Ints = NDArray[np.intp]


class LandmarkClassifier(LazyAnswers, GaussianMapClassifier):
    """A `GaussianMapClassifier` whose centres may be fewer than the samples."""

    mu1: float
    verbose: int
    n_components: int | None
    callback: Callable[[Step], Any] | None
    random_state: Any

    @all_or_nothing
    @with_callbacks
    def fit_blocks(self, blocks: Any) -> Self:
        """Learn from samples that come in blocks, from disk for instance; needs landmarks.

        The blocks are read once for the labels, once for the landmarks (twice for "kmeans++"), once for
        a subsample that gives σ, once for the fit itself and, unless kernel values were kept, once for
        the embedding. However rows are cut, the model is the same: they are regrouped to blocks of 4096.
        Memory does not grow with the number of samples beyond 32 per landmark, but for their labels and
        embeddings.

        Parameters
        ----------
        blocks : iterable of (X, y), or function returning one
            Samples and labels of every block; the same blocks in the same order whenever it is read. A
            generator is used up after one reading: pass the function that makes it.

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
        classes, codes = encode_labels(source.y)
        d = check_n_components(self.n_components, len(codes), len(classes))
        tasks = FitTasks(self, blocks, None)
        with logged(self.verbose):
            fitted, verdict = self._with_centers(source, source.y, codes, d, settings, tasks)
        warn_about(verdict, settings)
        self._keep(fitted, tasks)
        return self

    def estimate_memory(self, n_samples: int, n_features: int, n_classes: int = 10) -> int:
        """Bytes that `fit` will need at its peak.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of the training samples, dense ones.
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
        plan = settings.centers
        if plan is None or plan.is_exact_for(n_samples):
            return exact_memory(n_samples, n_features, d, settings.mu1, settings.mu2, settings.sigma)
        return CenterMemory(
            n_samples, n_features, d, n_classes, plan.n_centers(n_samples),
            n_drawn=plan.n_drawn(n_samples), searches=settings.sigma is None,
            is_complete=settings.n_neighbors is None,
        ).peak  # fmt: skip

    def _keep(self, fitted: dict[str, Any], tasks: FitTasks) -> None:
        for name, value in fitted.items():
            setattr(self, name, value)
        tasks.end()

    def _with_centers(
        self, source: RowSource, y: Any, codes: Ints, d: int, settings: Settings, tasks: FitTasks
    ) -> tuple[dict[str, Any], Verdict]:
        check_supported(self)
        assert settings.centers is not None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        centers = choose_centers(settings.centers, source, codes, rng, d)
        fit = fit_centers(
            source,
            codes,
            centers,
            objective_of(settings, d),
            neighbors_of(settings),
            center_search(settings),
            settings.length_unit,
            rng,
            _CenterListener(self, tasks, y),
        )
        return self._fitted_centers(fit, centers.rows, source, y), Verdict.of_centers(fit)

    def _fitted_centers(
        self, fit: CenterFit, centers: Any, source: RowSource, y: NDArray[Any]
    ) -> dict[str, Any]:
        """Attributes of a fit: the map, the embedding, and how it went."""
        shift = self.mu1 * len(y)
        steps = (replace(step, sigma=step.sigma * fit.unit) for step in fit.trace.steps)
        embedding = fit.embedding.astype(floating(source.dtype), copy=False)
        return self._center_model(centers, fit.coef, fit.scale, fit.unit) | {
            "embedding_": embedding,
            "classes_": np.unique(y),
            "classifier_": self._fitted_classifier(embedding, y),
            "objective_": fit.excess - shift * len(fit.eigenvalues),
            "eigenvalues_": fit.eigenvalues - shift,
            "trace_": Trace(tuple(steps)),
            "n_iter_": len(fit.trace),
        }

    def _center_model(
        self, centers: Any, coef: NDArray[Any], sigma: float, unit: float
    ) -> dict[str, Any]:
        """Attributes of the map."""
        return {
            "coef_": coef, "centers_": centers, "sigma_": sigma, "length_unit_": unit,
            "n_landmarks_": len(coef), "_expansion": GaussianExpansion.at(centers, coef, sigma),
        }  # fmt: skip


def row_source(model: Any, X: Any, y: Any, settings: Settings) -> tuple[Any, NDArray[Any]]:
    """Samples and labels, checked; integers stay integers where rows are converted in blocks."""
    if is_dask(X):
        require_landmarks(settings, "a Dask array")
        source = DaskRows.of(X)
        keep_width(model, source)
        y = column_or_1d(gathered_labels(y), warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        return source, y
    if settings.centers is None:
        X, y = model._validated(X, y)
    else:
        X, y = validate_data(model, X, y, accept_sparse="csr", dtype="numeric", ensure_min_samples=2)
        check_classification_targets(y)
        if settings.centers.is_exact_for(len(y)):
            X = X.astype(floating(X.dtype), copy=False)
    return ArrayRows(X), y


def keep_width(model: Any, source: RowSource) -> None:
    """What `validate_data` keeps of an array."""
    model.n_features_in_ = source.shape[1]
    if hasattr(model, "feature_names_in_"):  # of an earlier fit on a data frame
        del model.feature_names_in_


def require_landmarks(settings: Settings, what: str) -> None:
    if settings.centers is None:
        raise rule_error(
            "n_landmarks", f"be given for {what}", None,
            'Exact NSSE needs all samples in memory; take a number such as 3000, or "auto".',
        )  # fmt: skip


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
        model = self._model._center_model(sketch.centers, sketch.coef, sketch.scale, sketch.unit)
        classifier = self._model._fitted_classifier(sketch.embedding, y)
        return model | {
            "embedding_": sketch.embedding,
            "classes_": np.unique(self._y),
            "classifier_": classifier,
        }
