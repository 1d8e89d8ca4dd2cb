"""f and the classifier in ONNX operations, written once for every interpreter.

The operations are the plain ones of ONNX (MatMul, Exp, ArgMax, …), so that a graph of them runs in any
runtime. An interpreter is told them one after another: NumPy computes them at once (`InNumpy`),
the converter writes them down.

As in `nsse.kernels.distances`, samples are shifted by the mean of the centres before ‖x − z‖² is
expanded, which changes no distance and keeps digits; and they are measured in units of σ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nsse.certificates.decisions import Decision
from nsse.extensions import Contraction, GaussianExpansion
from nsse.kernels import as_dense

Array = NDArray[Any]
Floats = NDArray[np.float64]

FLOAT = 1  # float32 among the types of ONNX


class Interpreter(Protocol):
    """Takes operations one after another; what it passes on between them is its own affair."""

    dtype: Any
    proto_type: Any

    def constant(self, values: Array, *, exact: bool = False) -> Any:
        """A constant: floats in `dtype`, or as they are if ``exact``; all else as it is."""

    def __call__(self, operation: str, *inputs: Any, **attributes: Any) -> Any:
        """The (first) result of an operation of ONNX."""


class InNumpy:
    """Computes the operations of a map at once."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = self.proto_type = np.dtype(dtype)

    def constant(self, values: Array, *, exact: bool = False) -> Array:
        """The values in the floating-point type of this interpreter."""
        return values if exact else _in(self.dtype, values)

    def __call__(self, operation: str, *inputs: Array, **attributes: Any) -> Array:
        """The operation by its NumPy name."""
        return np.asarray(_NUMPY[operation](*inputs, **attributes))


_NUMPY: dict[str, Any] = {
    "Add": np.add,
    "Exp": np.exp,
    "MatMul": np.matmul,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Sub": np.subtract,
    "ReduceSum": lambda values, axes, keepdims: values.sum(axis=tuple(axes), keepdims=bool(keepdims)),
}


@dataclass(frozen=True)
class GaussianGraph:
    """f(x) = Σ c_i exp(−‖x − z_i‖²/σ²), Eq. (6); in a metric ‖A(x − z_i)‖², with centres Az_i."""

    centers: Floats
    coef: Floats
    sigma: float
    metric: Contraction | None = None

    @classmethod
    def of(cls, expansion: GaussianExpansion) -> GaussianGraph:
        """The graph of a prepared map; sparse centres become dense, as ONNX knows no others."""
        points, shift = as_dense(expansion.centers.points), expansion.centers.shift
        centers = points if shift is None else points + shift
        return cls(centers, expansion.coef, expansion.sigma, expansion.metric)

    def write(self, told: Interpreter, X: Any) -> Any:
        """f at the rows of X."""
        return self.write_from(told, self.exponents(told, X), self.sigma)

    def write_from(self, told: Interpreter, exponents: Any, unit: float) -> Any:
        """f from −‖x − z_i‖² in squares of a unit."""
        if unit != self.sigma:
            exponents = told("Mul", exponents, told.constant(np.array((unit / self.sigma) ** 2)))
        return told("MatMul", told("Exp", exponents), told.constant(self.coef))

    def measures_like(self, other: GaussianGraph) -> bool:
        """Whether the other has the same centres and metric: then only σ and C differ."""
        if (self.metric is None) != (other.metric is None):
            return False
        pairs = [(self.centers, other.centers)]
        if self.metric is not None and other.metric is not None:
            pairs += [(self.metric.axes, other.metric.axes), (self.metric.factors, other.metric.factors)]
            pairs += [(_weights(self.metric), _weights(other.metric))]
        return all(a is b or np.array_equal(a, b) for a, b in pairs)

    def exponents(self, told: Interpreter, X: Any) -> Any:
        """−‖x − z_i‖²/σ² for the rows x of X, −‖A(x − z_i)‖²/σ² in a metric."""
        # A shift that the type holds exactly: the same one for samples and centres.
        mean = self.centers.mean(axis=0)
        shift = _in(told.dtype, mean if self.metric is None else self._undone(mean))
        moved = self.centers - (shift if self.metric is None else self._done(shift))
        V = _in(told.dtype, moved / self.sigma).astype(np.float64)
        # One factor per feature: onnxruntime moves a single one into the product, and in float32.
        scales = np.full(len(shift), 1.0 / self.sigma)
        scales = scales if self.metric is None else scales * _weights(self.metric)
        U = told("Mul", told("Sub", X, told.constant(shift)), told.constant(scales))
        if self.metric is not None:
            U = _shortened(told, U, self.metric)
        # −‖u − v‖² = 2u'v − ‖v‖² − ‖u‖², never above zero.
        products = told("MatMul", U, told.constant(2.0 * V.T))
        less_centers = told("Add", products, told.constant(-np.einsum("ij,ij->i", V, V)))
        norms = told("ReduceSum", told("Mul", U, U), axes=[1], keepdims=1)
        return told("Min", told("Sub", less_centers, norms), told.constant(np.array(0.0)))

    @property
    def samples(self) -> Floats:
        """The centres in the units of the samples."""
        return self.centers if self.metric is None else self.metric.inverse(self.centers)

    def _undone(self, point: Floats) -> Floats:
        assert self.metric is not None
        return np.asarray(self.metric.inverse(point[np.newaxis])[0])

    def _done(self, point: Array) -> Floats:
        assert self.metric is not None
        return np.asarray(self.metric(point[np.newaxis])[0])


@dataclass(frozen=True)
class LinearGraph:
    """f(x) = V'(x − m)."""

    mean: Floats
    components: Floats

    def write(self, told: Interpreter, X: Any) -> Any:
        """f at the rows of X."""
        moved = told("Sub", X, told.constant(self.mean))
        return told("MatMul", moved, told.constant(self.components.T))


Graph = GaussianGraph | LinearGraph


def _weights(metric: Contraction) -> Floats:
    """Of the features, 1 each where the metric has none."""
    return np.ones(len(metric.axes)) if metric.weights is None else metric.weights


def _shortened(told: Interpreter, U: Any, metric: Contraction) -> Any:
    """u − V ((1 − a) V'u): Ax where the features of u have their weights already."""
    along = told("MatMul", U, told.constant(metric.axes))
    lost = told("MatMul", along, told.constant(((1.0 - metric.factors) * metric.axes).T))
    return told("Sub", U, lost)


def write_maps(told: Interpreter, X: Any, graphs: Sequence[Graph]) -> list[Any]:
    """The maps at the rows of X; distances to the same centres in the same metric are measured once."""
    measured: list[tuple[GaussianGraph, Any]] = []
    embeddings = []
    for graph in graphs:
        if isinstance(graph, LinearGraph):
            embeddings.append(graph.write(told, X))
            continue
        if not any(graph.measures_like(other) for other, _ in measured):
            measured.append((graph, graph.exponents(told, X)))
        first, exponents = next(pair for pair in measured if graph.measures_like(pair[0]))
        embeddings.append(graph.write_from(told, exponents, first.sigma))
    return embeddings


@dataclass(frozen=True)
class Read:
    """What a decision finds on its way to a label.

    ``values`` are the scores that it compares, or, of several neighbours, how
    many of each class there are; ``code`` is the place of the label, as a column.
    """

    embedding: Any
    values: Any
    code: Any
    n_classes: int
    n_votes: int = 1


def write_read(
    told: Interpreter, embeddings: Sequence[Any], decisions: Sequence[Decision]
) -> tuple[list[Read], Any]:
    """What every model reads off its map, and the label of one, or of a vote, as a column of codes.

    Of several the best one is first.
    """
    read = [_read(told, Y, decision) for Y, decision in zip(embeddings, decisions, strict=True)]
    votes, n_classes = [one.code for one in read], len(decisions[0].classes)
    return read, votes[0] if len(votes) == 1 else _majority(told, votes, n_classes)


def write_label(told: Interpreter, code: Any, classes: Array) -> Any:
    """The labels of a column of codes: the sum takes away its axis of length one."""
    code = told("ReduceSum", code, axes=[1], keepdims=0)
    return told("Gather", told.constant(classes, exact=True), code)


def _read(told: Interpreter, Y: Any, decision: Decision) -> Read:
    """The largest of the affine scores of the rows, or a vote of the k largest."""
    weights, offsets, moved, n_classes = decision.weights, decision.offsets, Y, len(decision.classes)
    if decision.by_distance:
        # 2z'g − ‖z‖² with z = y_i − m, g = f − m: the same order with fewer digits lost.
        points = weights / 2.0
        mean = _in(told.dtype, points.mean(axis=0))
        Z = points - mean
        weights, offsets = 2.0 * Z, -np.einsum("ij,ij->i", Z, Z)
        moved = told("Sub", Y, told.constant(mean))
    scores = told("Add", told("MatMul", moved, told.constant(weights.T)), told.constant(offsets))
    codes = told.constant(decision.codes.astype(np.int64))
    if decision.n_votes == 1:
        code = told("Gather", codes, told("ArgMax", scores, axis=1, keepdims=1))
        return Read(Y, scores, code, n_classes)
    k = told.constant(np.array([decision.n_votes], dtype=np.int64))
    counts = _counts(told, told("Gather", codes, told("TopK", scores, k, axis=1)), n_classes)
    # Of as many votes the first class wins, as in scikit-learn.
    return Read(Y, counts, _largest(told, counts), n_classes, decision.n_votes)


def _majority(told: Interpreter, votes: Sequence[Any], n_classes: int) -> Any:
    """`certificates.votes.winners`: most votes; of as many, what the first voter among them says."""
    ballots = told("Concat", *votes, axis=1)
    supporters = told("GatherElements", _counts(told, ballots, n_classes), ballots, axis=1)
    return told("GatherElements", ballots, _largest(told, supporters), axis=1)


def _counts(told: Interpreter, ballots: Any, n_classes: int) -> Any:
    """How often each code occurs in a row."""
    depth = told.constant(np.array([n_classes], dtype=np.int64))
    marks = told("OneHot", ballots, depth, told.constant(np.array([0, 1], dtype=np.int64)), axis=-1)
    return told("ReduceSum", marks, axes=[1], keepdims=0)


def one_hot(told: Interpreter, code: Any, n_classes: int) -> Any:
    """A row for each code of a column, 1 in its place, as floats."""
    return told("Cast", _counts(told, code, n_classes), to=told.proto_type)


def _largest(told: Interpreter, counts: Any) -> Any:
    """Place of the first of the largest, as a column. Older runtimes compare floats only."""
    return told("ArgMax", told("Cast", counts, to=FLOAT), axis=1, keepdims=1)


def _in(dtype: Any, values: Array) -> Array:
    """Floats in the given type; labels and indices as they are."""
    return values.astype(dtype) if values.dtype.kind == "f" else values
