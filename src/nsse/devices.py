"""A fitted model on other devices: its formulas in the array API standard.

    s(x) = W exp(−‖A x − z‖²/σ²) C + b

needs products, exponentials and largest values only, which every array library has: torch on a GPU,
CuPy, JAX. Under scikit-learn's ``array_api_dispatch`` a model takes such arrays and gives them, and no
sample goes through NumPy. Fitting stays in NumPy. The formulas are those of `nsse.affine`, `maps`,
`scores` and `votes`; a test holds them together.
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
from nsse.affine import is_sparse
from nsse.maps import GaussianMap, LinearMap
from nsse.votes import MeanVote, Member, Vote, vote_of

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
    """A copy of a fitted model whose arrays stay on a device.

    Without it a model moves its centres to the device of the samples in every call.

    Parameters
    ----------
    model : estimator
        Fitted, `SmoothEmbedding` or another method of this library, with a Gaussian or linear map.
    device : str, torch.device, array or None
        A device of torch, such as ``"cuda"``; or any array, whose namespace and device are taken: of
        CuPy, JAX, array-api-strict. None brings arrays back to NumPy.

    Returns
    -------
    estimator
        The copy. Under ``sklearn.config_context(array_api_dispatch=True)`` it takes and gives arrays
        that live there.

    See Also
    --------
    nsse.to_onnx : The model as a graph, without Python.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X, y)
    >>> type(nsse.to_device(model, None).embedding_).__name__
    'ndarray'
    """
    # Where all is NumPy there is nothing to dispatch, and SciPy need not be prepared for it.
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


def asked(model: Any, what: str, X: Any) -> Any:
    """What a fitted model says of foreign samples: "transform", "predict", "decision", ..."""
    require_home(model, X, METHODS[what])
    home = Home.of(X)
    is_float = home.xp.isdtype(X.dtype, "real floating")
    X = validate_data(model, X, reset=False, dtype=X.dtype if is_float else home.array(0.0).dtype)
    remote: Remote | None = getattr(model, "_remote", None)
    if remote is None or remote.home != home:
        remote = Remote.of(model, home)
    return getattr(remote, what)(X)


@dataclass(frozen=True, eq=False)
class RemoteMember:
    """A map and the scores that read it, on a device."""

    home: Home
    affine: dict[str, Any]  # the arrays of an `Affine`, by name
    centers: Any  # None where the map is linear
    squares: Any
    sigma: float
    coef: Any
    weights: Any
    offsets: Any
    starts: list[int]  # where the functions of every class begin, and where all end
    temperature: float

    @classmethod
    def of(cls, member: Member, home: Home) -> RemoteMember:
        """Move a member."""
        if not isinstance(member.map, GaussianMap | LinearMap):
            cure = "SmoothEmbedding, NSSE and most methods have one."
            raise TypeError(rule_message("model", "have a Gaussian or linear map", member.map, cure))
        f: Any = member.map
        is_linear, scores = isinstance(member.map, LinearMap), member.scores
        first = f.affine if is_linear else f.metric
        parts = {name: getattr(first, name) for name in AFFINE}
        affine = {name: home.array(part) for name, part in parts.items() if part is not None}
        starts = np.searchsorted(scores.codes, np.arange(len(scores.classes) + 1)).tolist()
        arrays = () if is_linear else (_dense(f.centers), f.center_squares)
        centers, squares = (home.array(part) for part in arrays) if arrays else (None, None)
        return cls(
            home,
            affine,
            centers,
            squares,
            1.0 if is_linear else float(f.kernel.sigma),
            None if is_linear else home.array(f.coef),
            home.array(scores.weights),
            home.array(scores.offsets),
            starts,
            float(scores.temperature),
        )

    def coordinates(self, X: Any) -> Any:
        """f at the rows of ``X``, as many at a time as there is room for."""
        size = max(64, BLOCK_VALUES // (1 if self.centers is None else self.centers.shape[0]))
        if X.shape[0] <= size:
            return self._block(X)
        edges = [*range(0, X.shape[0], size), X.shape[0]]
        return self.home.xp.concat([self._block(X[a:b, :]) for a, b in pairwise(edges)], axis=0)

    def _block(self, X: Any) -> Any:
        xp, affine = self.home.xp, self.affine
        U = (xp.astype(X, self.weights.dtype) - affine["shift"]) * affine["scale"]
        if "matrix" in affine:
            U = U @ affine["matrix"]
        elif "down" in affine:
            U = U - (U @ affine["down"]) @ affine["up"]
        U = U + affine["offset"]
        if self.centers is None:
            return U
        D2 = xp.sum(U * U, axis=1)[:, None] + self.squares - 2.0 * (U @ self.centers.T)
        # Rows may lie anywhere: where a square overflows, so does every distance.
        D2 = xp.where(xp.isfinite(D2), D2, xp.asarray(xp.inf, dtype=D2.dtype, device=self.home.device))
        return xp.exp(xp.clip(D2, min=0.0) / -(self.sigma**2)) @ self.coef

    def values(self, X: Any) -> Any:
        """The largest function of every class."""
        xp = self.home.xp
        v = self.coordinates(X) @ self.weights.T + self.offsets
        if len(self.starts) == v.shape[1] + 1:
            return v
        own = [xp.max(v[:, a:b], axis=1) for a, b in pairwise(self.starts)]
        return xp.stack(own, axis=1)


@dataclass(frozen=True, eq=False)
class Remote:
    """A model on a device: its members, and how they decide."""

    home: Home
    members: list[RemoteMember]
    drawn: RemoteMember  # the member whose map is handed out
    classes: Any  # NumPy's where they are words
    vote: Vote | None
    temperature: float
    n_components: int

    @classmethod
    def of(cls, model: Any, home: Home) -> Remote:
        """Move a fitted model."""
        vote = getattr(model, "vote_", None)
        members = [RemoteMember.of(member, home) for member in vote_of(model).members]
        own = Member(model.map_, model.scores_)
        drawn = members[0] if vote is None else RemoteMember.of(own, home)
        classes = to_numpy(model.classes_)
        classes = home.array(classes) if classes.dtype.kind in NUMBERS else classes
        temperature = (model.scores_ if vote is None else vote).temperature
        n_components = int(model.embedding_.shape[1])
        return cls(home, members, drawn, classes, vote, float(temperature), n_components)

    def transform(self, X: Any) -> Any:
        """The coordinates that the model hands out, in the type of ``X``."""
        return self.home.xp.astype(self.drawn.coordinates(X)[:, : self.n_components], X.dtype)

    def predict(self, X: Any) -> Any:
        """Labels; words are NumPy's."""
        codes = self.home.xp.argmax(self._values(self._of_members(X)), axis=1)
        if isinstance(self.classes, np.ndarray):
            return self.classes[to_numpy(codes)]
        return self.home.xp.take(self.classes, codes)

    def decision(self, X: Any) -> Any:
        """Values of the classes; of two the second's less the first's."""
        values = self._values(self._of_members(X))
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def probabilities(self, X: Any) -> Any:
        """Probabilities of the classes."""
        return self.home.xp.exp(self.log_probabilities(X))

    def log_probabilities(self, X: Any) -> Any:
        """Logarithms of `probabilities`, as `nsse.votes` has them."""
        xp, each = self.home.xp, self._of_members(X)
        if self.vote is None or isinstance(self.vote, MeanVote):
            return self._log_softmax(self._values(each), self.temperature)
        P, won = self._mean_probability(each), self._one_hot(self._votes(each))
        above = xp.sum(P * won, axis=1, keepdims=True) <= P
        n_above = xp.sum(xp.astype(above, P.dtype), axis=1, keepdims=True)
        shared = xp.sum(xp.where(above, P, 0.0 * P), axis=1, keepdims=True) / n_above
        P = xp.where(above, shared + 0.0 * P, P) + 1e-9 * shared * won
        return self._log_softmax(xp.log(xp.clip(P, min=1e-300)), self.temperature)

    def _of_members(self, X: Any) -> list[Any]:
        return [member.values(X) for member in self.members]

    def _values(self, each: list[Any]) -> Any:
        if self.vote is None:
            return each[0]
        if isinstance(self.vote, MeanVote):
            return sum(each[1:], each[0]) / len(each)
        return self._votes(each) + 0.5 ** (len(each) + 2) * self._mean_probability(each)

    def _votes(self, each: list[Any]) -> Any:
        """Weight of the members that are for every class."""
        weights = [1.0 + 0.5 ** (place + 2) for place in range(len(each))]
        votes = [w * self._one_hot(values) for w, values in zip(weights, each, strict=True)]
        return sum(votes[1:], votes[0])

    def _one_hot(self, values: Any) -> Any:
        """One at the largest value of every row, zero elsewhere."""
        xp = self.home.xp
        codes = xp.arange(values.shape[1], device=self.home.device)
        return xp.astype(xp.argmax(values, axis=1)[:, None] == codes, values.dtype)

    def _mean_probability(self, each: list[Any]) -> Any:
        pairs = zip(each, self.members, strict=True)
        shares = [self.home.xp.exp(self._log_softmax(v, member.temperature)) for v, member in pairs]
        return sum(shares[1:], shares[0]) / len(shares)

    def _log_softmax(self, values: Any, temperature: float) -> Any:
        xp = self.home.xp
        v = (values - xp.max(values, axis=1, keepdims=True)) / temperature
        return v - xp.log(xp.sum(xp.exp(v), axis=1, keepdims=True))


def _dense(centers: Any) -> Any:
    return centers.toarray() if is_sparse(centers) else centers
