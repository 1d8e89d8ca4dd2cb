"""Handle arrays of Dask and of other namespaces (torch, CuPy, …) under array API dispatch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn import get_config

from nsse._support.errors import rule_error
from nsse._support.types import LabelsLike, SamplesLike

NUMBERS = "fiub"  # kinds of types that other namespaces have, unlike text
Method = TypeVar("Method", bound=Callable[..., Any])


class Home(NamedTuple):
    """The namespace and the device of arrays."""

    xp: Any
    device: Any

    @classmethod
    def of(cls, X: SamplesLike) -> Home:
        """Return the namespace and the device of an array."""
        # The private name of scikit-learn >= 1.6, which brings or finds array-api-compat.
        from sklearn.utils._array_api import get_namespace_and_device

        xp, _, device = get_namespace_and_device(X)
        return cls(xp, device)

    def array(self, values: Any) -> Any:
        """Convert a NumPy array.

        Floats get the largest type of the namespace, and integers keep their type.
        """
        values = np.asarray(values)
        if values.dtype.kind == "f":
            try:
                return self.xp.asarray(values, dtype=self.xp.float64, device=self.device)
            except (TypeError, RuntimeError, AttributeError):  # a device without double precision
                return self.xp.asarray(
                    values.astype(np.float32), dtype=self.xp.float32, device=self.device
                )
        return self.xp.asarray(values, device=self.device)


def is_dask(X: SamplesLike) -> bool:
    """Return whether an object is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_graph__")


def lazily(function: Callable[[Any], Any], X: SamplesLike, n_columns: int | None, dtype: Any) -> Any:
    """Apply a function of rows to a Dask array.

    The result is N × ``n_columns``, or of length N if this is None.
    """
    X = X.rechunk({1: -1})
    if n_columns is None:
        return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    chunks = (X.chunks[0], (n_columns,))
    return X.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def is_foreign(X: SamplesLike) -> bool:
    """Return whether samples are an array of another namespace, which computes on them."""
    is_other = hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray)
    return is_other and bool(get_config().get("array_api_dispatch"))


def to_numpy(X: SamplesLike) -> Any:
    """Convert a foreign array to NumPy, and return all other objects unchanged."""
    if not is_foreign(X):
        return X
    from sklearn.utils._array_api import _convert_to_numpy

    return _convert_to_numpy(X, Home.of(X).xp)


def fitted_in_numpy(fit: Method) -> Method:
    """Decorate ``fit`` so that it accepts foreign arrays, computes in NumPy and returns foreign arrays.

    As scikit-learn has it, array attributes of a fitted estimator live where ``X`` does.
    """

    @functools.wraps(fit)
    def guarded(self: Any, X: SamplesLike, y: LabelsLike, *args: Any, **kwargs: Any) -> Any:
        if not any(is_foreign(value) for value in (X, y, *args, *kwargs.values())):
            return fit(self, X, y, *args, **kwargs)
        others = [to_numpy(other) for other in args]
        named = {name: to_numpy(value) for name, value in kwargs.items()}
        result = fit(self, to_numpy(X), to_numpy(y), *others, **named)
        if is_foreign(X):
            home = Home.of(X)
            for name, value in vars(self).items():
                if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
                    setattr(self, name, home.xp.asarray(value, device=home.device))
        return result

    return guarded  # type: ignore[return-value]


def require_home(model: Any, X: SamplesLike, method: str) -> None:
    """Raise an error if samples are of another namespace than the training samples, and not of NumPy."""
    own = model.embedding_
    if isinstance(own, np.ndarray) or not get_config().get("array_api_dispatch"):
        return
    home, theirs = Home.of(own), Home.of(X)
    if home.xp.__name__ != theirs.xp.__name__ or home.device != theirs.device:
        name = f"{type(model).__name__}.{method}()"
        rule = f"be where the samples of fit were: {name} must use the same namespace and device"
        cure = "Move the samples there, or use `nsse.devices.to_device(model, None)` for NumPy."
        raise rule_error("X", rule, theirs.xp.__name__, cure)
