"""ONNX graphs: affine steps → kernel → scores → probabilities, in plain operations of opset 17.

The distances are those of `nsse.kernels`, ‖u‖² + ‖v‖² − 2u'v of rows of order one. A node that is the same
as another is written once: members of a vote with metric and centres in common measure distances once.
"""

from __future__ import annotations

import warnings
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nsse import __version__
from nsse._support.errors import optional, rule_error
from nsse.affine import Affine
from nsse.maps import GaussianMap, LinearMap
from nsse.pipelines import split_pipeline
from nsse.scores import Scores
from nsse.votes import MajorityVote

Array = NDArray[Any]
Floats = NDArray[np.float64]

OPSET, IR = 17, 8  # runtimes of 2022 and later know them
# Largest error of a graph in float32 that passes without a warning, and points at which it is measured.
LARGEST_LOSS, MEASURED = 1e-4, 500
LABELS = {"U": "STRING", "b": "BOOL", "f": "DOUBLE", "i": "INT64", "u": "INT64"}


class PrecisionWarning(UserWarning):
    """A graph in float32 departs visibly from the model that it was made of.

    See Also
    --------
    nsse.to_onnx : Warns so; float64 is the cure.

    Examples
    --------
    >>> import warnings
    >>> from nsse.io import PrecisionWarning
    >>> warnings.simplefilter("ignore", PrecisionWarning)  # where it does not matter
    """


def to_onnx(model: Any, dtype: Any = np.float32, *, predict: bool = True) -> Any:
    """Write a fitted model, or a pipeline of affine steps that ends in one, as an ONNX graph.

    The graph has one input, ``X``. Its outputs are ``embedding`` (what `transform` gives), ``label``
    (`predict`), ``scores`` (a value for every class, the largest that of the label: `decision_function`, for
    two classes their difference) and ``probabilities`` (`predict_proba`).

    A graph cannot refuse a row as Python does. Where a feature is NaN or infinite, it gives coordinates
    that are not finite, and with them a label without meaning.

    Parameters
    ----------
    model : estimator
        Fitted: any estimator of ours with a Gaussian or a linear map, hence not `NYS` and `SPE`; a search
        around one; or a pipeline of affine steps (scalers, PCA) and one of these. Labels are integers,
        strings, booleans or floats.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input, of the arithmetic and of the outputs.
    predict : bool, default=True
        Whether to give labels, scores and probabilities; without, the embedding alone.

    Returns
    -------
    onnx.ModelProto
        The graph; ``SerializeToString()`` gives the bytes of the file.

    Warns
    -----
    PrecisionWarning
        If in float32 labels of training samples, or of points half-way between them, differ from the
        model's, or the embedding by more than 1e-4 of its largest coordinate. ``dtype=np.float64`` is the
        cure.

    Raises
    ------
    ValueError
        If a part of the model cannot be exported; the message names it.
    ImportError
        If onnx is missing.

    See Also
    --------
    save : A file for this library, to the last bit.

    Examples
    --------
    >>> import nsse
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
    >>> graph = nsse.to_onnx(model)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> (label,) = session.run(["label"], {"X": X.astype("float32")})
    >>> bool((label == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise rule_error("dtype", "be float32 or float64", str(dtype), "Leave it out for float32.")
    graph, (affine, last) = _Graph(np.dtype(dtype)), split_pipeline(model)
    X = "X" if affine is None else graph.affine("X", affine)
    Y, width = graph.map(X, last), last.embedding_.shape[1]
    if width < last.map_.n_components:
        Y = graph("Gather", Y, graph.constant(np.arange(width)), axis=1)
    graph.output("embedding", Y, [None, width])
    if predict:
        _write_decision(graph, X, last)
    proto = graph.model(int(model.n_features_in_))
    if graph.dtype == np.float32:
        _warn_if_lossy(proto, model, _probes(affine, last), predict)
    return proto


def _write_decision(graph: _Graph, X: str, model: Any) -> None:
    """Labels, scores and probabilities of one model, or of the members of its vote."""
    classes, M = np.asarray(model.classes_), len(model.classes_)
    kind = "U" if all(isinstance(label, str) for label in classes) else classes.dtype.kind
    if kind not in LABELS:
        cure = "Export the embedding alone: predict=False."
        raise rule_error("y", "have integers, strings, booleans or floats as labels", classes[:3], cure)
    vote = getattr(model, "vote_", None)
    members = [(model.map_, model.scores_)] if vote is None else vote.members
    told = [graph.scores(graph.map(X, model, f), scores) for f, scores in members]
    temperature = model.scores_.temperature if vote is None else vote.temperature
    values = graph.mean(told, M)
    if isinstance(vote, MajorityVote):
        values, likely = _majority(graph, vote, told)
    P = graph.softmax(likely if isinstance(vote, MajorityVote) else values, temperature, M)
    code = graph("ArgMax", values, axis=1, keepdims=0)
    label = graph("Gather", graph.constant(classes, exact=True), code)
    graph.output("label", label, [None], LABELS[kind])
    graph.output("scores", values, [None, M])
    graph.output("probabilities", P, [None, M])


def _majority(graph: _Graph, vote: MajorityVote, told: list[str]) -> tuple[str, str]:
    """Values of the classes, and logarithms of their probabilities, as `MajorityVote` has them."""
    M = len(vote.classes)
    marks = [graph.marked(graph("ArgMax", values, axis=1, keepdims=1), M) for values in told]
    counted = graph(
        "Sum", *(graph.times(mark, w, M) for mark, w in zip(marks, vote.weights, strict=True))
    )
    shares = zip(told, vote.members, strict=True)
    P = graph.mean([graph.softmax(v, scores.temperature, M) for v, (_, scores) in shares], M)
    values = graph("Add", counted, graph.times(P, 0.5 ** (len(told) + 2), M))
    won, likely = (graph("ArgMax", v, axis=1, keepdims=1) for v in (counted, P))
    both = graph("Add", *(graph("GatherElements", P, place, axis=1) for place in (won, likely)))
    shared = graph.times(both, 0.5, M)
    # A factor of 1 + 1e-9 onnxruntime takes for 1, and leaves out.
    above = graph("Add", shared, graph.times(shared, max(1e-9, 8 * float(np.finfo(graph.dtype).eps)), M))
    for place, instead in ((likely, shared), (won, above)):
        is_there = graph("Equal", place, graph.constant(np.arange(M)))
        P = graph("Where", is_there, instead, P)
    least = max(1e-300, float(np.finfo(graph.dtype).tiny))
    return values, graph("Log", graph("Max", P, graph.constant(np.array(least))))


class _Graph:
    """Nodes and constants of a graph in the making; a node is called by the name of its result."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._onnx = optional("onnx", "ONNX graphs need onnx", "onnx")
        self.dtype = dtype
        self._float = "FLOAT" if dtype == np.float32 else "DOUBLE"
        self._nodes: dict[Any, Any] = {}
        self._constants: dict[Any, Any] = {}
        self._outputs: list[Any] = []

    def __call__(self, operation: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
        """The result of an operation; of several the first, the others are numbered from there on."""
        key = (operation, inputs, tuple(sorted(attributes.items())))
        if key not in self._nodes:
            names = [f"{operation.lower()}_{len(self._nodes)}_{i}" for i in range(n_outputs)]
            self._nodes[key] = self._onnx.helper.make_node(operation, inputs, names, **attributes)
        return str(self._nodes[key].output[0])

    def constant(self, values: Array, *, exact: bool = False) -> str:
        """A constant: floats in the type of the graph, or in float64 where ``exact``."""
        types: Any = {"f": np.float64 if exact else self.dtype, "b": np.bool_, "U": object, "O": object}
        array = np.array(values, dtype=types.get(values.dtype.kind, np.int64), order="C")
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, sha256(content).digest())
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = self._onnx.numpy_helper.from_array(array, name)
        return str(self._constants[key].name)

    def affine(self, X: str, affine: Affine) -> str:
        """((x − shift) · scale) T + offset."""
        shift = affine.shift.astype(self.dtype).astype(np.float64)
        # The type does not hold every shift: what is lost of it is taken off in the end.
        offset = 2.0 * affine.offset - affine((2.0 * affine.shift - shift)[np.newaxis])[0]
        U = self("Mul", self("Sub", X, self.constant(shift)), self.constant(affine.scale))
        if affine.matrix is not None:
            U = self("MatMul", U, self.constant(affine.matrix))
        elif affine.down is not None and affine.up is not None:
            along = self("MatMul", U, self.constant(affine.down))
            U = self("Sub", U, self("MatMul", along, self.constant(affine.up)))
        return self("Add", U, self.constant(offset))

    def map(self, X: str, model: Any, member: Any = None) -> str:
        """The map of a model, or of one of its members, at the rows of X."""
        f = getattr(model, "map_", None) if member is None else member
        if isinstance(f, LinearMap):
            return self.affine(X, f.affine)
        if not isinstance(f, GaussianMap):
            rule, cure = "have a Gaussian or a linear map to be exported", "Keep other models in Python."
            raise rule_error("model", rule, type(model).__name__, cure)
        U, V = self.affine(X, f.metric), _dense(f.centers).astype(self.dtype).astype(np.float64)
        # −‖u − v‖² = 2u'v − ‖v‖² − ‖u‖², never above zero.
        product = self("MatMul", U, self.constant(2.0 * V.T))
        less = self("Add", product, self.constant(-np.einsum("ij,ij->i", V, V)))
        norms = self("ReduceSum", self("Mul", U, U), self.constant(np.array([1])), keepdims=1)
        negative = self("Min", self("Sub", less, norms), self.constant(np.array(0.0)))
        exponent = self("Mul", negative, self.constant(np.array(f.kernel.sigma**-2)))
        return self("MatMul", self("Exp", exponent), self.constant(f.coef))

    def scores(self, F: str, scores: Scores) -> str:
        """The largest function of every class."""
        product = self("MatMul", F, self.constant(scores.weights.T))
        v = self("Add", product, self.constant(scores.offsets))
        if scores.has_one_per_class:
            return v
        sizes = np.bincount(scores.codes)
        first = self("Split", v, self.constant(sizes), n_outputs=len(sizes), axis=1)
        parts = [first.removesuffix("0") + str(i) for i in range(len(sizes))]
        return self("Concat", *(self("ReduceMax", p, axes=(1,), keepdims=1) for p in parts), axis=1)

    def times(self, values: str, factor: float, n_columns: int) -> str:
        """Multiplied. A factor for each column: a single one onnxruntime may apply in float32."""
        return self("Mul", values, self.constant(np.full(n_columns, factor)))

    def softmax(self, values: str, temperature: float, n_classes: int) -> str:
        """exp(v/τ) over their sum."""
        return self("Softmax", self.times(values, 1.0 / temperature, n_classes), axis=1)

    def mean(self, told: list[str], n_classes: int) -> str:
        """Mean of the members' values."""
        return told[0] if len(told) == 1 else self.times(self("Sum", *told), 1.0 / len(told), n_classes)

    def marked(self, code: str, n_classes: int) -> str:
        """1 in the place of a code (a column), 0 elsewhere."""
        is_there = self("Equal", code, self.constant(np.arange(n_classes)))
        return self("Cast", is_there, to=getattr(self._onnx.TensorProto, self._float))

    def output(self, name: str, result: str, shape: list[int | None], kind: str = "") -> None:
        """Give a result the name of an output."""
        self._nodes[name] = self._onnx.helper.make_node("Identity", [result], [name])
        self._outputs.append(self._value(name, kind or self._float, shape))

    def model(self, n_features: int) -> Any:
        """The finished graph, checked."""
        helper, X = self._onnx.helper, self._value("X", self._float, [None, n_features])
        nodes, constants = list(self._nodes.values()), list(self._constants.values())
        graph = helper.make_graph(nodes, "nsse", [X], self._outputs, constants)
        versions = {"ir_version": IR, "opset_imports": [helper.make_opsetid("", OPSET)]}
        proto = helper.make_model(graph, producer_name="nsse", producer_version=__version__, **versions)
        self._onnx.checker.check_model(proto)
        return proto

    def _value(self, name: str, kind: str, shape: list[int | None]) -> Any:
        proto_type = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, proto_type, shape)


def _warn_if_lossy(proto: Any, model: Any, X: Floats, predict: bool) -> None:
    """Compute the graph in float32 at some points, and say where it departs from the model."""
    from onnx.reference import ReferenceEvaluator

    X = X.astype(np.float32).astype(np.float64)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # feature names, subnormal numbers
        found: Any = ReferenceEvaluator(proto).run(None, {"X": X.astype(np.float32)})
        exact = np.asarray(model.transform(X), dtype=np.float64)
        wrong = int(np.sum(found[1] != model.predict(X))) if predict else 0
    loss = float(np.abs(found[0] - exact).max() / max(np.abs(exact).max(), np.finfo(np.float64).tiny))
    if wrong or not loss <= LARGEST_LOSS:
        message = (
            f"In float32 {wrong} of {len(X)} labels, of training samples and points between them, differ "
            f"from the model's, and the embedding by up to {loss:.1e} of its largest coordinate. Export it "
            "with dtype=np.float64."
        )
        warnings.warn(message, PrecisionWarning, stacklevel=3)


def _probes(affine: Affine | None, last: Any) -> Floats:
    """Some centres, or points that have the coordinates of training samples, and points between them."""
    f = last.map_
    Y, front = (f.centers, f.metric) if isinstance(f, GaussianMap) else (last.embedding_, f.affine)
    X = _dense(Y[np.unique(np.linspace(0, Y.shape[0] - 1, MEASURED).astype(int))])
    for step in (front, affine):
        if step is not None and step.matrix is None:
            X = step.inverse(X)
        elif step is not None:  # or as near to it as the map allows
            solved = np.linalg.lstsq(step.matrix.T, (X - step.offset).T, rcond=None)[0].T
            X = solved / np.where(step.scale == 0, 1.0, step.scale) + step.shift
    return np.vstack([X, (X[1:] + X[:-1]) / 2.0])


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
