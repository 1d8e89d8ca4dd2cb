"""Compute fitted models on other devices, with their maps in the array API standard.

    f(x) = κ(‖A x − z‖²/σ²) C

needs only products and the profile κ of the kernel. Every array library can compute these, such as torch
on a GPU, CuPy and JAX. Under scikit-learn's ``array_api_dispatch``, a model accepts and returns such
arrays. Samples stay on the device. Only the few coordinates of each member are copied to NumPy, where
`nsse.ensemble` and `nsse.scores` compute values and labels in float64. Fitting uses NumPy. `nsse.affine`
and `nsse.maps` contain the same formulas, and a test compares them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import validate_data

from nsse._support.arrays import NUMBERS, Home, require_home, to_numpy
from nsse._support.errors import rule_message
from nsse._support.types import SamplesLike
from nsse.affine import is_sparse
from nsse.kernels.base import FARTHEST, Kernel
from nsse.maps import KernelMap, LinearMap, with_maps
from nsse.scores import Scores

__all__ = ["to_device"]

# Kernel values held at a time: 128 MB in double precision.
BLOCK_VALUES = 16_000_000
AFFINE = ("shift", "scale", "offset", "matrix", "down", "up")
METHODS = {
    "predict": "predict",
    "decision": "decision_function",
    "probabilities": "predict_proba",
    "log_probabilities": "predict_log_proba",
    "transform": "transform",
}


def to_device(model: Any, device: Any) -> Any:
    """Return a copy of a fitted model whose arrays are on a device.

    Otherwise, the model moves its centers to the device of the samples in every call.

    Parameters
    ----------
    model : estimator
        A fitted `SmoothEmbedding`, or another method of this library, with a kernel map or a linear map.
    device : str, torch.device, array or None
        A device of torch, such as ``"cuda"``, or any array of CuPy, JAX or array-api-strict, whose
        namespace and device are used. None brings arrays back to NumPy.

    Returns
    -------
    estimator
        The copy. Under ``sklearn.config_context(array_api_dispatch=True)`` it accepts and returns arrays
        on this device.

    See Also
    --------
    nsse.to_onnx : The model as a graph, without Python.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X, y)
    >>> type(nsse.devices.to_device(model, None).embedding_).__name__
    'ndarray'
    """
    # If everything is in NumPy, there is nothing to dispatch, and SciPy need not be prepared for it.
    arrays = [value for value in vars(model).values() if hasattr(value, "__dlpack__")]
    is_here = device is None and all(isinstance(array, np.ndarray) for array in arrays)
    with config_context(array_api_dispatch=not is_here):
        moved = copy(model)
        vars(moved).pop("_remote", None)
        for name, value in vars(moved).items():
            setattr(moved, name, to_numpy(value))
        if device is not None:
            is_named = not hasattr(device, "__dlpack__")
            array = import_module("torch").empty(0, device=device) if is_named else device
            moved._remote = Remote.of(moved, Home.of(array))
    return moved


def asked(model: Any, what: str, X: SamplesLike) -> Any:
    """Return a result for foreign samples: "transform", "predict", "decision", ..."""
    require_home(model, X, METHODS[what])
    home = Home.of(X)
    is_float = home.xp.isdtype(X.dtype, "real floating")
    X = validate_data(model, X, reset=False, dtype=X.dtype if is_float else home.array(0.0).dtype)
    remote: Remote | None = getattr(model, "_remote", None)
    if remote is None or remote.home != home:
        remote = Remote.of(model, home)
    return remote.transform(X) if what == "transform" else remote.decided(what, X)


@dataclass(frozen=True, eq=False)
class RemoteMap:
    """A map whose arrays are on a device. It takes samples there and returns coordinates in NumPy."""

    home: Home
    affine: dict[str, Any]  # the arrays of an `Affine`, by name
    centers: Any = None  # None where the map is linear
    squares: Any = None
    coef: Any = None
    kernel: Kernel | None = None

    @classmethod
    def of(cls, f: KernelMap | LinearMap, home: Home) -> RemoteMap:
        """Move a map."""
        if not isinstance(f, KernelMap | LinearMap):
            cure = "SmoothEmbedding, NSSE and most methods have one."
            raise TypeError(rule_message("model", "have a kernel or linear map", f, cure))
        first = (f.affine if isinstance(f, LinearMap) else f.metric).joined()
        parts = {name: getattr(first, name) for name in AFFINE}
        affine = {name: home.array(part) for name, part in parts.items() if part is not None}
        if isinstance(f, LinearMap):
            return cls(home, affine)
        centers = f.centers.toarray() if is_sparse(f.centers) else f.centers
        centers, squares, coef = (home.array(part) for part in (centers, f.center_squares, f.coef))
        return cls(home, affine, centers, squares, coef, f.kernel)

    def __call__(self, X: SamplesLike) -> Any:
        """Return f at the rows of ``X``, computed in NumPy."""
        return to_numpy(self.coordinates(X)).astype(np.float64, copy=False)

    def coordinates(self, X: SamplesLike) -> Any:
        """Return f at the rows of ``X``, computed on their device in blocks that fit into its memory."""
        size = max(64, BLOCK_VALUES // (1 if self.centers is None else self.centers.shape[0]))
        if X.shape[0] <= size:
            return self._block(X)
        edges = [*range(0, X.shape[0], size), X.shape[0]]
        return self.home.xp.concat([self._block(X[a:b, :]) for a, b in pairwise(edges)], axis=0)

    def _block(self, X: SamplesLike) -> Any:
        xp, affine = self.home.xp, self.affine
        U = (xp.astype(X, affine["shift"].dtype) - affine["shift"]) * affine["scale"]
        if "matrix" in affine:
            U = U @ affine["matrix"]
        elif "down" in affine:
            U = U - (U @ affine["down"]) @ affine["up"]
        U = U + affine["offset"]
        if self.kernel is None:
            return U
        D2 = xp.sum(U * U, axis=1)[:, None] + self.squares - 2.0 * (U @ self.centers.T)
        # Rows may be anywhere. If a square overflows, so does every distance.
        D2 = xp.where(xp.isfinite(D2), D2, xp.asarray(xp.inf, dtype=D2.dtype, device=self.home.device))
        farthest = FARTHEST["float64" if D2.dtype == xp.float64 else "float32"]
        t = xp.clip(xp.clip(D2, min=0.0) / self.kernel.sigma**2, max=farthest)
        return self.kernel.profile(t, Functions(self.home)) @ self.coef


@dataclass(frozen=True, eq=False)
class Functions:
    """The namespace that `Kernel.profile` receives, which also takes numbers instead of arrays."""

    home: Home

    def minimum(self, a: Any, b: Any) -> Any:
        """Return the smaller of two values."""
        return self.home.xp.minimum(*self._arrays(a, b))

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger of two values."""
        return self.home.xp.maximum(*self._arrays(a, b))

    def _arrays(self, a: Any, b: Any) -> tuple[Any, Any]:
        dtype = next(part.dtype for part in (a, b) if hasattr(part, "dtype"))
        first, second = (
            part
            if hasattr(part, "dtype")
            else self.home.xp.asarray(part, dtype=dtype, device=self.home.device)
            for part in (a, b)
        )
        return first, second

    def __getattr__(self, name: str) -> Any:
        return getattr(self.home.xp, name)


@dataclass(frozen=True, eq=False)
class Remote:
    """A model whose maps are on a device. It uses the scores of the model."""

    home: Home
    map: Any
    scores: Scores
    n_components: int

    @classmethod
    def of(cls, model: Any, home: Home) -> Remote:
        """Move the maps of a fitted model."""
        f = with_maps(model.map_, lambda own: RemoteMap.of(own, home))
        return cls(home, f, model.scores_, int(model.embedding_.shape[1]))

    def transform(self, X: SamplesLike) -> Any:
        """Return the coordinates that `transform` returns, in the type of ``X``."""
        found = self.home.array(self.map(X)[:, : self.n_components])
        return self.home.xp.astype(found, X.dtype)

    def decided(self, what: str, X: SamplesLike) -> Any:
        """Return labels, decision values or probabilities. Labels that are text are NumPy arrays."""
        found = getattr(self.scores, what)(self.map(X))
        return self.home.array(found) if found.dtype.kind in NUMBERS else found
