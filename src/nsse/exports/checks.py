"""What was read, judged before it is used: shapes, finite numbers, indices, and a question to each map.

Types and arrays are sound by then (`archive`, `tree`); here the parts must fit each other. What is wrong
is said as a ValueError; `load` puts the name of the file around it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from nsse.certificates import opened
from nsse.estimators import NSSE, NYS, SPE, ConformalClassifier, MReg, SelectivePredictor, WithinMetric
from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._gaussian_map import GaussianMapClassifier
from nsse.estimators._learning import Condition
from nsse.estimators._linear import LinearEmbeddingClassifier
from nsse.exports.foreign import FOREIGN, NEIGHBORS, check_generator, check_plain
from nsse.extensions import ClassScores, NearestSample, Neighborhoods, NystromExpansion, SparseCoder
from nsse.invariances import Invariance
from nsse.kernels import Shifted, as_dense
from nsse.selection import NSSECV, BalancedSplits
from nsse.solvers import Step, Trace

# Most by which the products of unit vectors may differ from those that were stored.
ROUNDING = 1e-6
# More copies of a sample than anyone makes.
MOST_COPIES = 10_000
# Points of its embedding about which a classifier is asked.
ASKED = 256


def check_model(model: Any) -> None:
    """Refuse a model of which a part cannot be what `fit` left; make search trees again."""
    parts = list(parts_of(model))
    is_ours = isinstance(model, EmbeddingClassifier | SelectivePredictor | ConformalClassifier)
    _require(not is_ours or _is_fitted(model), "nothing fitted")
    for part in parts:
        if isinstance(part, np.random.RandomState | np.random.Generator):
            check_generator(part)
        elif not isinstance(part, CONTAINERS):
            check_plain(part)
        if isinstance(part, Pipeline):
            _check_pipeline(part)
    for kind, check in (FOREIGN | OURS).items():
        for part in parts:
            if isinstance(part, kind) and _is_fitted(part):
                check(part)
    for part in parts:
        if isinstance(part, EmbeddingClassifier) and _is_fitted(part):
            _ask(part)


def _check_pipeline(pipeline: Pipeline) -> None:
    """Pairs of a name and a step, from the first to the last."""
    steps = pipeline.steps
    pairs = isinstance(steps, list) and all(isinstance(s, tuple | list) and len(s) == 2 for s in steps)
    _require(pairs and len(steps) > 0, "a pipeline of something else than steps")
    for name, step in steps:
        fits = step in (None, "passthrough") or isinstance(step, BaseEstimator)
        _require(isinstance(name, str) and fits, "a pipeline with a step that is none")


def parts_of(model: Any) -> Iterator[Any]:
    """Everything that is in a model, each once: estimators, our records, containers, generators."""
    left, seen = [model], set()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        inside = _inside(part)
        if inside is not None:
            yield part
            left.extend(inside)


def _inside(part: Any) -> list[Any] | None:
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, list | tuple | set):
        return list(part)
    if isinstance(part, np.ndarray):
        return list(part.flat) if part.dtype == object else None
    if isinstance(part, np.random.RandomState | np.random.Generator):
        return []
    if isinstance(part, BaseEstimator) or (is_dataclass(part) and not isinstance(part, type)):
        return list(vars(part).values())
    return None


def _is_fitted(part: Any) -> bool:
    # Records and invariances are whole as they were made.
    return (
        isinstance(part, Invariance)
        or is_dataclass(part)
        or any(
            name.endswith("_") or name == "_fit_X" for name in vars(part) if not name.startswith("__")
        )
    )


def _check_gaussian(model: Any) -> None:
    """f(x) = Σ c_i exp(−‖x − z_i‖²/σ²), or ‖A(x − z_i)‖²."""
    _check_matrix("centers_", model.centers_)
    metric = getattr(model, "metric_", None)
    fits = isinstance(metric, WithinMetric) and metric.n_features_in_ == model.centers_.shape[1]
    _require(metric is None or fits, "a metric of other features")
    _check_matrix("coef_", model.coef_, rows=model.centers_.shape[0], dense=True)
    _check_positive("sigma_", model.sigma_)
    _check_embedding(model, model.centers_.shape[1], model.coef_.shape[1])
    n_copies = getattr(model, "n_copies_", 0)
    _require(n_copies == 0 or _is_count(n_copies, MOST_COPIES), "a number of copies that is none")
    codes, N = getattr(model, "_codes", None), len(model.embedding_)
    _require(codes is None or _are_codes(codes, N, len(model.classes_)), "labels of other classes")
    mask = getattr(model, "_is_labeled", None)
    is_mask = isinstance(mask, np.ndarray) and mask.shape == (N,) and mask.dtype == bool
    _require(mask is None or (is_mask and codes is not None), "a mask of other samples")


def _are_codes(codes: Any, n_samples: int, n_classes: int) -> bool:
    fits = isinstance(codes, np.ndarray) and codes.shape == (n_samples,) and codes.dtype.kind == "i"
    return bool(fits and codes.min() >= 0 and codes.max() < n_classes)


def _check_linear(model: Any) -> None:
    """f(x) = V'(x − m)."""
    _check_matrix("components_", model.components_, dense=True)
    d, n_features = model.components_.shape
    _check_vector("mean_", model.mean_, n_features)
    _check_embedding(model, n_features, d)


def _check_nys(model: Any) -> None:
    _require(isinstance(model._expansion, NystromExpansion), "no expansion in an NYS")
    _check_embedding(model, model._expansion.centers.points.shape[1], model._expansion.coef.shape[1])


def _check_spe(model: Any) -> None:
    _require(isinstance(model._coder, SparseCoder), "no coder in an SPE")
    _check_embedding(model, model._coder.atoms.shape[1], model._coder.Y.shape[1])


def _check_metric(model: WithinMetric) -> None:
    """A = (I − V diag(1 − a) V') W; there may be no axes at all."""
    axes = model.axes_
    fits = isinstance(axes, np.ndarray) and axes.ndim == 2 and axes.shape[0] == model.n_features_in_
    _require(fits, "axes of other features")
    _check_finite("axes_", axes)
    for name in ("deviations_", "factors_"):
        _check_vector(name, getattr(model, name), axes.shape[1])
    _check_vector("weights_", model.weights_, axes.shape[0])
    for what, values in (("factors", model.factors_), ("weights", model.weights_)):
        _require(bool(((values > 0) & (values <= 1)).all()), f"{what} outside 0 and 1")
    # V'V = I, seen by one vector that no damage knows: nothing of size r × r, and certificates need it.
    w = np.asarray(np.random.default_rng().normal(size=axes.shape[1]))
    _require(_close(axes.T @ (axes @ w), w), "axes that are not orthonormal")
    _check_names(model, axes.shape[0])


def _check_search(model: NSSECV) -> None:
    voters, best = model.voters_, model.best_estimator_
    _require(isinstance(voters, list) and len(voters) > 0, "no voters in a search")
    for voter in (best, *voters):
        _require(isinstance(voter, NSSE) and _is_fitted(voter), "a voter that is no fitted NSSE")
        _require(np.array_equal(voter.classes_, model.classes_), "voters of other classes")
        _require(voter.n_features_in_ == model.n_features_in_, "voters of other features")
    _check_embedding(model, best.centers_.shape[1], best.coef_.shape[1])


def _check_selective(model: SelectivePredictor) -> None:
    inner = opened(model.model)[1]
    _require(isinstance(inner, EmbeddingClassifier) and _is_fitted(inner), "no model to select from")
    _require(_is_number(model.radius_) and not np.isnan(model.radius_), "a radius that is no number")


def _check_conformal(model: ConformalClassifier) -> None:
    inner, levels = opened(model.model)[1], model.thresholds_
    _require(isinstance(inner, EmbeddingClassifier) and _is_fitted(inner), "no model to make sets of")
    fits = isinstance(levels, np.ndarray) and levels.shape == (len(inner.classes_),)
    _require(fits and levels.dtype.kind == "f", "thresholds that are not one for each class")
    _require(not np.isnan(levels).any(), "thresholds that are no numbers")
    _require(np.array_equal(model.classes_, inner.classes_), "sets of other classes")


def _check_shifted(points: Shifted) -> None:
    _check_matrix("points", points.points)
    _require((points.shift is None) == sparse.issparse(points.points), "points without their shift")
    if points.shift is not None:
        _check_vector("shift", points.shift, points.points.shape[1])
    _check_vector("norms", points.norms, points.points.shape[0])


def _check_nystrom(expansion: NystromExpansion) -> None:
    _require(isinstance(expansion.centers, Shifted), "an expansion without centres")
    n_centers = expansion.centers.points.shape[0]
    _check_matrix("coef", expansion.coef, rows=n_centers, dense=True)
    _check_positive("sigma", expansion.sigma)
    near = expansion.neighborhoods
    _require(near is None or isinstance(near, Neighborhoods), "neighbourhoods of another type")
    if near is not None:
        _check_vector("radii2", near.radii2, n_centers)
        _require(_is_count(near.n_neighbors, n_centers), "more neighbours than centres")


def _check_neighborhoods(near: Neighborhoods) -> None:
    _require(_is_number(near.slack) and np.isfinite(near.slack), "a slack that is no number")


def _check_coder(coder: SparseCoder) -> None:
    _check_matrix("atoms", coder.atoms)
    n_atoms = coder.atoms.shape[0]
    _check_matrix("gram", coder.gram, rows=n_atoms, columns=n_atoms, dense=True)
    _check_matrix("values", coder.values, rows=n_atoms, dense=True)
    _require(isinstance(coder.samples, Shifted), "a coder without samples")
    n_samples, n_features = coder.samples.points.shape
    _require(n_features == coder.atoms.shape[1], "atoms of other features than the samples")
    _check_matrix("Y", coder.Y, rows=n_samples, columns=coder.values.shape[1], dense=True)
    group = coder.group
    _require(isinstance(group, np.ndarray) and group.dtype.kind == "i", "groups that are no integers")
    _require(group.shape == (n_samples,), "a number of groups that is not that of the samples")
    _require(group.min() >= 0 and group.max() < n_atoms, "groups without an atom")
    _require(_is_number(coder.alpha) and 0 < coder.alpha < 1, "alpha outside 0 and 1")
    # LARS walks along the products: they are those of the atoms.
    _require(_close(as_dense(coder.atoms @ coder.atoms.T), coder.gram), "products of other atoms")


def _check_scores(classifier: ClassScores) -> None:
    classes = classifier.classes_
    _require(isinstance(classes, np.ndarray) and classes.ndim == 1, "scores without classes")
    _require(_is_count(classifier.n_features_in_, np.iinfo(int).max), "scores of no coordinates")
    d = int(classifier.n_features_in_)
    _check_matrix("coef_", classifier.coef_, rows=len(classes), columns=d, dense=True)
    _check_vector("intercept_", classifier.intercept_, len(classes))
    tau = getattr(classifier, "temperature", None)
    _require(tau is None or (_is_number(tau) and 0 < tau < np.inf), "a temperature that is none")


def _check_invariance(invariance: Invariance) -> None:
    """Its parameters are right, or `names` says which is not; none asks for more than anyone makes."""
    _require(_is_count(getattr(invariance, "copies", 1), MOST_COPIES), "a number of copies that is none")
    _require(len(invariance.names) <= MOST_COPIES, "more copies than anyone makes")


def _check_nothing(_: Any) -> None:
    """Records for the reader; no computation stands on them."""


def _check_embedding(model: Any, n_features: int, d: int) -> None:
    """What all our models share: their embedding, their classes and their classifier."""
    _check_matrix("embedding_", model.embedding_, columns=d, dense=True)
    _require(_is_count(model.n_features_in_, n_features), "a number of features that is none")
    _require(model.n_features_in_ == n_features, "a number of features that is not that of the map")
    classes = model.classes_
    _require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "no classes")
    _require(np.array_equal(np.unique(classes), classes), "classes that do not ascend")
    _check_names(model, n_features)
    classifier = model.classifier_
    if classifier is None:
        # The largest score speaks.
        _require(isinstance(model, MReg) and d == len(classes), "no classifier")
        return
    _require(isinstance(classifier, BaseEstimator) and _is_fitted(classifier), "no fitted classifier")
    _require(getattr(classifier, "n_features_in_", d) == d, "a classifier of other dimensions")
    if hasattr(classifier, "classes_"):
        _require(np.isin(classifier.classes_, classes).all(), "a classifier of other classes")


def _check_names(model: Any, n_features: int) -> None:
    names = getattr(model, "feature_names_in_", None)
    fits = names is None or (isinstance(names, np.ndarray) and names.shape == (n_features,))
    _require(fits, "names of other features")


def _ask(model: Any) -> None:
    """One question to the map and the classifier: a misfit shows here, not at the user's first use."""
    samples = _two_samples(model.n_features_in_, sparse.issparse(getattr(model, "centers_", None)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        Y = model._map(samples)
        fits = Y.shape == (2, model.embedding_.shape[1]) and bool(np.isfinite(Y).all())
        _require(fits, "a map that gives no numbers")
        if _is_known(model.classifier_) and not isinstance(model.classifier_, tuple(NEIGHBORS)):
            points = _some_of(model.embedding_)
            labels = np.asarray(model.classifier_.predict(points))
            _require(labels.shape == (len(points),), "a classifier that gives no labels")
            _require(bool(np.isin(labels, model.classes_).all()), "labels of no class")


def _some_of(embedding: NDArray[Any]) -> NDArray[Any]:
    """Points of all classes; one twice, so that their number is not that of anything else by design."""
    places = np.unique(np.linspace(0, len(embedding) - 1, ASKED).astype(int))
    return np.vstack([embedding[places], embedding[:1]])


def _is_known(classifier: Any) -> bool:
    # One of the user's own may want to be asked otherwise.
    return type(classifier).__module__.partition(".")[0] in ("sklearn", "nsse")


def _two_samples(n_features: int, is_sparse: bool) -> Any:
    if is_sparse:
        return sparse.csr_array(([1.0], ([1], [0])), shape=(2, n_features))
    return np.repeat([[0.0], [1.0]], n_features, axis=1)


def _check_matrix(
    name: str, value: Any, *, rows: int | None = None, columns: int | None = None, dense: bool = False
) -> None:
    known = isinstance(value, np.ndarray) or (sparse.issparse(value) and not dense)
    _require(known and not isinstance(value, np.ma.MaskedArray), f"{name} that is no matrix")
    _require(value.ndim == 2 and min(value.shape) > 0, f"{name} without rows and columns")
    _require(rows in (None, value.shape[0]), f"{name} of {value.shape[0]} rows, not {rows}")
    _require(columns in (None, value.shape[1]), f"{name} of {value.shape[1]} columns, not {columns}")
    _check_finite(name, value if isinstance(value, np.ndarray) else value.data)


def _check_vector(name: str, value: Any, length: int) -> None:
    fits = isinstance(value, np.ndarray) and value.shape == (length,)
    _require(fits, f"{name} that is no vector of length {length}")
    _check_finite(name, value)


def _check_finite(name: str, values: NDArray[Any]) -> None:
    _require(values.dtype.kind in "biuf", f"{name} of type {values.dtype}")
    _require(bool(np.isfinite(values).all()), f"{name} with values that are not finite")


def _check_positive(name: str, value: Any) -> None:
    _require(_is_number(value) and np.isfinite(value) and value > 0, f"{name} that is not positive")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) <= most


def _close(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.allclose(a, b, rtol=0.0, atol=ROUNDING))


def _require(fits: Any, otherwise: str) -> None:
    if not fits:
        raise ValueError(otherwise)


CONTAINERS = (dict, list, tuple, set, np.ndarray)
# Inner parts first: a model relies on what its expansion was found to be. A method is checked by
# the kind of its map; a map of a new kind has an entry of its own.
OURS: dict[type, Callable[[Any], None]] = {
    Shifted: _check_shifted,
    Neighborhoods: _check_neighborhoods,
    NystromExpansion: _check_nystrom,
    SparseCoder: _check_coder,
    GaussianMapClassifier: _check_gaussian,
    LinearEmbeddingClassifier: _check_linear,
    NYS: _check_nys,
    SPE: _check_spe,
    WithinMetric: _check_metric,
    NSSECV: _check_search,
    SelectivePredictor: _check_selective,
    ConformalClassifier: _check_conformal,
    ClassScores: _check_scores,
    Invariance: _check_invariance,
    NearestSample: _check_nothing,  # looked at as the KNeighborsClassifier that it is
    BalancedSplits: _check_nothing,
    Condition: _check_nothing,
    Step: _check_nothing,
    Trace: _check_nothing,
}
