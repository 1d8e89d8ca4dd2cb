"""Objects of ours as JSON and arrays, and back: a closed set of types, looked up by name.

Plain values are themselves in JSON; anything else is an object whose first key says what it is:

    {"float": "inf"}   {"tuple": […]}   {"pairs": [[key, value], …]}   {"array": name}
    {"objects": name}   {"sparse": [data, indices, indptr], "shape": […]}
    {"class": name, "parameters": {…}, "state": {…}}

An object of ours is made by its constructor from its parameters; an estimator gets its fitted attributes
besides. Nothing else can be made, and no function is stored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from nsse._support.errors import rule_error
from nsse.io.checks import check_fields, check_state

_METHODS = "LDE LFDA NYS SPE SUPLAP IsoKRR MReg SemiRBF"
_HOMES = {
    "nsse.affine": "Affine",
    "nsse.augment": "Images Noise Signals",
    "nsse.centers": "AllRows AtRandom Given KMeans PerClass",
    "nsse.kernels": "Gaussian",
    "nsse.maps": "GaussianMap LinearMap",
    "nsse.methods": _METHODS,
    "nsse.methods.nys": "NystromMap",
    "nsse.methods.spe": "SparseCodingMap",
    "nsse.metric": "WithinMetric",
    "nsse.pipelines": "AffineStep",
    "nsse.published": "NSSE",
    "nsse.published.nsse": "Condition",
    "nsse.published.trace": "Step Trace",
    "nsse.scores": "Scores",
    "nsse.search": "SmoothEmbeddingCV",
    "nsse.smooth": "SmoothEmbedding",
    "nsse.unlabeled": "Smooth Spread",
    "nsse.votes": "MajorityVote MeanVote",
    "sklearn.pipeline": "Pipeline",
}
HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
MODELS = {"NSSE", "SmoothEmbedding", "SmoothEmbeddingCV", "WithinMetric", *_METHODS.split()}
ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]{0,80}")
CURE = "Set it to None: a fitted model does not need it. Or keep the model with skops or pickle."


class Writer:
    """Turns values into JSON, and collects their arrays in ``arrays``: equal ones once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names: dict[tuple[Any, ...], str] = {}

    def __call__(self, value: Any, where: str) -> Any:
        """The value as JSON; ``where`` is what it is called in a refusal."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if _is_plain(value):
            return value
        if isinstance(value, list | tuple):
            parts = [self(part, where) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, Mapping):
            return {"pairs": [[self(k, where), self(v, where)] for k, v in value.items()]}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufUS":
            return {"array": self._stored(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "OT":
            return {"objects": self._stored(_texts(value, where))}
        if sparse.issparse(value):
            rows: Any = sparse.csr_array(value)  # type: ignore[call-overload]
            parts = [self(part, where) for part in (rows.data, rows.indices, rows.indptr)]
            return {"sparse": parts, "shape": list(rows.shape)}
        return self._object(value, where)

    def _stored(self, array: NDArray[Any]) -> str:
        """The name of an array; its order in memory counts, as the last bit of a product may."""
        array = np.asarray(array, order="A")
        digest = sha256(array.tobytes("A")).digest()
        key = (array.dtype.str, array.shape, array.flags.fnc, digest)
        name = self._names.setdefault(key, str(len(self._names)))
        self.arrays[name] = array
        return name

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        kind, name = type(value), type(value).__name__
        if name not in HOME_OF or class_of(name) is not kind:
            raise _refused(f"a {name}", where)
        given = parameter_names(kind)
        node: dict[str, Any] = {"class": name}
        node["parameters"] = {key: self(getattr(value, key), key) for key in given}
        if isinstance(value, BaseEstimator):
            state = {key: part for key, part in vars(value).items() if key not in given}
            node["state"] = {key: self(part, key) for key, part in state.items()}
        return node


class Reader:
    """Makes values of JSON and arrays again, each checked."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def __call__(self, node: Any) -> Any:
        """The value of a piece of JSON."""
        if isinstance(node, list):
            return [self(part) for part in node]
        if not isinstance(node, dict):
            return node
        (kind, content), *others = node.items()
        makers = {
            "float": lambda: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content],
            "tuple": lambda: tuple(self(content)),
            "pairs": lambda: {self(key): self(value) for key, value in content},
            "array": lambda: self._arrays[content],
            "objects": lambda: _from_texts(self._arrays[content]),
            "sparse": lambda: _sparse(self(content), node["shape"]),
            "class": lambda: self._object(content, **dict(others)),
        }
        return makers[kind]()

    def _object(self, name: str, parameters: Any, state: Any = None) -> Any:
        kind = class_of(name)
        if not set(parameters) <= set(parameter_names(kind)):
            raise ValueError(f"other parameters than a {name} has")
        found = {key: self(part) for key, part in parameters.items()}
        check_fields(name, found)
        made = kind(**found)
        for key, part in (state or {}).items():
            # No attribute takes the place of a method or a parameter.
            if not ATTRIBUTE.fullmatch(key) or hasattr(kind, key) or key in parameter_names(kind):
                raise ValueError(f"an attribute {key!r:.40} of a {name}")
            vars(made)[key] = self(part)
        if isinstance(made, BaseEstimator):
            check_state(vars(made))
        return made


def class_of(name: str) -> type:
    """The class that has a name in files; no other name is known."""
    found: type = getattr(import_module(HOME_OF[name]), name)
    return found


def parameter_names(kind: type) -> list[str]:
    """What an object of ours is made from."""
    return list(signature(kind).parameters)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _texts(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Labels and names in an array of objects, each as JSON."""
    flat = [v.item() if isinstance(v, np.generic) else v for v in values.astype(object).ravel()]
    flat = [None if repr(value) == "<NA>" else value for value in flat]  # pandas' missing value
    for value in flat:
        if not _is_plain(value):
            raise _refused(f"a {type(value).__name__}", where)
    return np.array([json.dumps(value) for value in flat], dtype=np.str_).reshape(values.shape)


def _from_texts(texts: NDArray[Any]) -> NDArray[Any]:
    different, places = np.unique(texts, return_inverse=True)
    found = np.empty(len(different), dtype=object)
    found[:] = [json.loads(text) for text in different.tolist()]
    if not all(_is_plain(value) for value in found):
        raise ValueError("labels that are neither numbers nor text")
    return np.asarray(found[places].reshape(texts.shape))


def _sparse(parts: list[Any], shape: list[int]) -> Any:
    data, indices, indptr = parts
    found: Any = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    found.check_format(full_check=True)  # compiled code follows the indices
    return found


def _refused(got: str, where: str) -> ValueError:
    rule = f"have numbers, text, arrays or objects of nsse in `{where}` to be saved"
    return rule_error("model", rule, got, CURE)
