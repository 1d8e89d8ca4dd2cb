"""Convert objects of ours to JSON and arrays and back, for a closed set of types with names.

Plain values are JSON values. Anything else is an object whose first key is its type:

    {"float": "inf"}   {"tuple": […]}   {"pairs": [[key, value], …]}   {"array": name}
    {"objects": name}   {"sparse": [data, indices, indptr], "shape": […]}
    {"items": […], "shape": […]}   {"masked": values, "mask": {"array": name}}
    {"class": name, "parameters": {…}, "state": {…}}
    {"kernel": [module, name], "parameters": {…}, "state": {"sigma": σ, "profile": […]}}

An object of ours is made by its constructor from its parameters, and an estimator gets its fitted
attributes in addition. Nothing else can be made, and no function is stored. The kernel may be a class of
the user. Then it must be defined before the file is read, because reading a file imports no module. Some
values of its profile are in the file, so that another class of the same name is not mistaken for it.
"""

from __future__ import annotations

import json
import math
import re
from copy import copy
from hashlib import sha256
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from nsse._support.errors import rule_error
from nsse.affine import is_sparse
from nsse.io.archive import NotAModelError
from nsse.io.checks import check_fields, check_state
from nsse.kernels import Kernel
from nsse.metrics.base import FixedMetric, Metric, held_components
from nsse.pipelines import Pipeline, in_one_step

_HOMES = {
    "nsse.augment": "Copies Images Noise Signals",
    "nsse.centers": "RandomCenters Given KMeansCenters CentersPerClass",
    "nsse.certificates": "ConformalClassifier SelectivePredictor",
    "nsse.datasets": "TableEncoder",
    "nsse.ensemble": "EnsembleMap",
    "nsse.maps": "Affine KernelMap LinearMap Member",
    "nsse.methods": "KDA LDE LFDA LPP MFA NPE NPPE NYS SPE SUPLAP IsoKRR MReg SemiRBF",
    "nsse.methods.nppe": "PolynomialMap",
    "nsse.methods.nys": "NystromMap",
    "nsse.methods.spe": "SparseCodingMap",
    "nsse.metrics": "Euclidean FixedMetric WithinMetric",
    "nsse.metrics.scatter": "Scatter",
    "nsse.pipelines": "AffineStep Pipeline",
    "nsse.published.nsse": "NSSE Condition Step Trace",
    "nsse.search": "SmoothEmbeddingCV",
    "nsse.scores": "Scores",
    "nsse.smooth": "SmoothEmbedding",
    "nsse.unlabeled": "GraphPenalty LabelPropagation",
    "nsse.updates": "Kept Sums Updates",
}
HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]{0,80}")
# Attributes that are only needed during a fit, on a device or by updates.
ONLY_IN_FITS = ("_scatter", "_learned", "_remote", "_training")
UPDATES = "_updates"
STORED = "biufUmM"  # kinds of arrays that a file holds as they are
# Widths of kernels whose squares are ordinary numbers.
WIDTHS = 1e-153, 1e153
# Values at which the profile of a kernel is compared with the file, and the largest difference.
COMPARED_AT, PROFILE_ERROR = np.array([0.01, 0.1, 1.0, 10.0, 100.0]), 1e-9


class Writer:
    """Turn values into JSON, and collect their arrays in ``arrays``.

    Equal arrays are stored once. The members of an ensemble have the same training rows, and often the
    same metric.
    """

    def __init__(self, updatable: bool = False) -> None:
        self.arrays, self._names = dict[str, Any](), dict[Any, str]()
        self._left_out = ONLY_IN_FITS if updatable else (*ONLY_IN_FITS, UPDATES)

    def __call__(self, value: Any, where: str = "model") -> Any:
        """Return the value as JSON. An error calls it ``where``."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if _is_plain(value):
            return value
        if type(value) in (list, tuple):
            parts = [self(part, where) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, dict):
            return {"pairs": [[self(k, where), self(v, where)] for k, v in value.items()]}
        if isinstance(value, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(value)
            return {"masked": self(value.filled(), where), "mask": self(mask, where)}
        if isinstance(value, np.ndarray) and value.dtype.kind in STORED:
            return {"array": self._stored(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "OT":
            if any(isinstance(part, Kernel | BaseEstimator) for part in value.ravel()):
                parts = [self(part, where) for part in value.ravel()]
                return {"items": parts, "shape": list(value.shape)}
            return {"objects": self._stored(_texts(value, where))}
        if is_sparse(value):
            rows = value.tocsr()
            parts = [self(part, where) for part in (rows.data, rows.indices, rows.indptr)]
            return {"sparse": parts, "shape": list(rows.shape)}
        if isinstance(value, Kernel):
            return self._kernel(value, where)
        return self._object(in_one_step(value) if isinstance(value, Pipeline) else value, where)

    def _stored(self, array: Any) -> str:
        content: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        key = array.dtype.str, array.shape, sha256(content).digest()
        name = self._names.setdefault(key, str(len(self._names)))
        self.arrays.setdefault(name, array)
        return name

    def _kernel(self, kernel: Kernel, where: str) -> dict[str, Any]:
        kind = type(kernel)
        state = {"sigma": self(kernel.sigma), "profile": np.asarray(profile_of(kernel)).tolist()}
        parameters = {key: self(part, key) for key, part in kernel.get_params(deep=False).items()}
        name = list(kind.public_name())
        return {"kernel": name, "parameters": parameters, "state": state}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if hasattr(value, "metric_"):
            value = with_own_metric(value)
        if hasattr(value, "members_"):
            value = with_own_estimator(value)
        kind, name = type(value), type(value).__name__
        if name not in HOME_OF or class_of(name) is not kind:
            raise _refused(f"a {name}", where)
        given = parameter_names(kind)
        parameters = {key: self(getattr(value, key), key) for key in given}
        state = vars(value) if isinstance(value, BaseEstimator) else {}
        kept = {key: None if key in self._left_out else part for key, part in state.items()}
        fitted = {key: self(part, key) for key, part in kept.items() if key not in given}
        return {"class": name, "parameters": parameters, "state": fitted}


def with_own_metric(model: Any) -> Any:
    """Return a model whose metric nsse defines. The components of any other metric are stored."""
    if is_ours(model.metric_):
        return model
    portable = copy(model)
    portable.metric = portable.metric_ = fixed_metric(model.metric_)
    return portable


def with_own_estimator(search: Any) -> Any:
    """Return a search whose estimator has a metric of nsse, or the metric of the heaviest member."""
    metric = getattr(search.estimator, "metric", None)
    if metric is None or isinstance(metric, str) or is_ours(metric):
        return search
    portable = copy(search)
    portable.estimator = copy(search.estimator)
    portable.estimator.metric = fixed_metric(search.best_estimator_.metric_)
    return portable


def is_ours(metric: Any) -> bool:
    """Return whether an object is a metric whose class nsse defines.

    Some of our methods set ``components_`` and can be used as metrics. Files contain their components.
    """
    kind = type(metric)
    is_defined_here = kind.__name__ in HOME_OF and kind.__module__.startswith("nsse.")
    return is_defined_here and isinstance(metric, Metric)


def fixed_metric(metric: Any) -> FixedMetric:
    """Return the components of a fitted metric as a metric that learns nothing."""
    fixed = FixedMetric(held_components(metric.components_))
    fixed.components_ = fixed.components
    fixed.n_features_in_ = fixed.components.shape[1]
    return fixed


def read_value(node: Any, arrays: dict[str, Any]) -> Any:
    """Return the checked value of a piece of JSON."""

    def value(part: Any) -> Any:
        return read_value(part, arrays)

    if isinstance(node, list):
        return [value(part) for part in node]
    if not isinstance(node, dict):
        return node
    (kind, content), *others = node.items()
    makers = {
        "float": lambda: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content],
        "tuple": lambda: tuple(value(content)),
        "pairs": lambda: {value(key): value(part) for key, part in content},
        "array": lambda: arrays[content],
        "objects": lambda: _from_texts(arrays[content]),
        "items": lambda: _items([value(part) for part in content], node["shape"]),
        "masked": lambda: np.ma.MaskedArray(value(content), value(node["mask"])),
        "sparse": lambda: _sparse(value(content), node["shape"]),
        "class": lambda: _made(content, *({k: value(v) for k, v in part.items()} for _, part in others)),
        "kernel": lambda: _made_kernel(
            content, {k: value(v) for k, v in node["parameters"].items()}, node["state"]
        ),
    }
    return makers[kind]()


def _made(name: str, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """Return an object of ours, whose parts are checked before and after."""
    kind = class_of(name)
    given = parameter_names(kind)
    # Attributes must belong to estimators, and must not replace methods or parameters.
    fits = all(ATTRIBUTE.fullmatch(key) and not hasattr(kind, key) and key not in given for key in state)
    if not fits or not set(parameters) <= set(given) or (state and not issubclass(kind, BaseEstimator)):
        raise ValueError(f"other attributes than a {name} has")
    check_fields(name, parameters)
    made = kind(**parameters)
    if isinstance(made, BaseEstimator):
        vars(made).update(state)
        check_state(vars(made))
    return made


def profile_of(kernel: Kernel) -> Any:
    """Return values of the profile by which a kernel is recognized."""
    return kernel.profile(COMPARED_AT.copy(), np)


def _made_kernel(names: list[str], parameters: dict[str, Any], state: dict[str, Any]) -> Kernel:
    """Make a kernel of a class that is defined in this process."""
    module, name = names
    called = f"the kernel {name} of the module {module}"
    same = [kind for (_, other), kind in Kernel.defined.items() if other == name]
    kind = Kernel.defined.get((module, name), same[0] if len(same) == 1 else None)
    if kind is None:
        cure = f"Import {module}, or run the definition of {name}, before you load the file."
        raise NotAModelError(f"with {called}, which is not defined here", cure)
    kernel = kind(**parameters).at(state["sigma"])
    if not WIDTHS[0] < kernel.sigma < WIDTHS[1]:
        raise ValueError("a kernel of a width whose square is no number")
    if not np.allclose(profile_of(kernel), state["profile"], rtol=0.0, atol=PROFILE_ERROR):
        cure = f"Define {name} as it was when the model was saved, or fit the model again."
        raise NotAModelError(f"with {called}, which has another profile here", cure)
    return kernel


def class_of(name: str) -> Any:
    """Return the class with a name in files. No other name is known."""
    return getattr(import_module(HOME_OF[name]), name)


def parameter_names(kind: type) -> list[str]:
    """Return the values from which an object of ours is made."""
    return ["steps"] if kind is Pipeline else list(signature(kind).parameters)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _texts(values: Any, where: str) -> Any:
    """Return labels and names in an array of objects, each as JSON."""
    flat = [v.item() if isinstance(v, np.generic) else v for v in values.astype(object).ravel()]
    flat = [None if repr(value) == "<NA>" else value for value in flat]  # pandas' missing value
    if strange := [type(value).__name__ for value in flat if not _is_plain(value)]:
        raise _refused(f"a {strange[0]}", where)
    return np.array([json.dumps(value) for value in flat], dtype=np.str_).reshape(values.shape)


def _from_texts(texts: Any) -> Any:
    different, places = np.unique(texts, return_inverse=True)
    found = [json.loads(text) for text in different.tolist()]
    if not all(_is_plain(value) for value in found):
        raise ValueError("labels that are neither numbers nor text")
    return np.array(found, dtype=object)[places].reshape(texts.shape)


def _items(values: list[Any], shape: list[int]) -> Any:
    if len(values) != math.prod(shape):
        raise ValueError("another number of objects than their shape declares")
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found.reshape(shape)


def _sparse(parts: list[Any], shape: list[int]) -> Any:
    found: Any = sparse.csr_array((parts[0], parts[1], parts[2]), shape=(shape[0], shape[1]))
    found.check_format(full_check=True)  # compiled code follows the indices
    return found


def _refused(got: str, where: str) -> ValueError:
    rule = f"have numbers, text, arrays or objects of nsse in `{where}` to be saved"
    cure = "If the fitted model does not need it, set it to None. Otherwise use skops or pickle."
    return rule_error("model", rule, got, cure)
