"""Export models to ONNX: affine steps, kernel, scores and probabilities in operations of opset 17.

The distances are those of `nsse.distances`, ‖u‖² + ‖v‖² − 2u'v of rows of order one. The profile of the
kernel is the same method that NumPy calls. It gets a `Value`, whose operators write nodes. All
arithmetic is in float64, whatever the types of input and outputs are, because distances of near rows and
sums of kernels with coefficients of both signs cancel. In float32, labels would change. Equal nodes
are written once, so members of an ensemble that share a metric compute distances once.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from nsse._support.errors import Described, optional, rule_error, rule_message
from nsse._support.files import replacing
from nsse.affine import Affine, dense_array
from nsse.ensemble import EnsembleMap
from nsse.io.archive import Place
from nsse.kernels.base import FARTHEST, Kernel
from nsse.maps import KernelMap, LinearMap
from nsse.pipelines import Form, Front, check_model, form_of_step, split_pipeline
from nsse.scores import Scores

if TYPE_CHECKING:
    from nsse.datasets import TableEncoder

OPSET, IR = 17, 8  # runtimes of 2022 and later know them
ML, ML_OPSET = "ai.onnx.ml", 3  # the operators for categories


def to_onnx(
    model: Any, path: Place | None = None, *, dtype: Any = np.float32, predict: bool = True
) -> Any:
    """Export a fitted model, or a pipeline of affine steps that ends in one, as an ONNX graph.

    The graph has one input, ``X``. If the pipeline begins with a `nsse.datasets.TableEncoder` whose
    table has categories, the graph has one input of shape (n, 1) for each column instead, under the
    name of the column. Categories are strings, and "" is a missing one. Dates are days since 1970-01-01.
    NaN is a missing number, if the pipeline fills in missing numbers.

    The outputs are ``embedding`` (as `transform` returns it), ``label`` (`predict`), ``scores`` (one
    per class, and the largest one belongs to the label) and ``probabilities`` (`predict_proba`). For two
    classes, `decision_function` is the difference of the scores.

    A graph cannot raise an error for a row as Python does. If a feature is NaN or infinite, the
    coordinates are not finite, and the label has no meaning.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library with a kernel map, a linear map or an ensemble of such maps,
        a search around one, or a pipeline of a `TableEncoder`, affine steps (scalers, imputers, PCA) and
        one of these. `NYS` and `SPE` have other maps. Labels are integers, strings, booleans or floats.
    path : str or path-like, default=None
        The file to write, usually with the ending ``.onnx``. It is complete or does not exist. None
        writes no file.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input and of the outputs. The arithmetic is in float64, so a graph of float32 gives
        the results of Python for rows that were rounded to float32.
    predict : bool, default=True
        Whether the outputs include labels, scores and probabilities, or the embedding alone.

    Returns
    -------
    onnx.ModelProto
        The graph. Its method ``SerializeToString()`` returns the bytes of the file.

    Raises
    ------
    ValueError
        If a part of the model cannot be exported. The message names it.
    ImportError
        If onnx is missing.

    See Also
    --------
    save : Writes a file that this library reads without any rounding.

    Examples
    --------
    >>> import nsse
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
    >>> graph = nsse.to_onnx(model, "iris.onnx")
    >>> session = onnxruntime.InferenceSession("iris.onnx")
    >>> (label,) = session.run(["label"], {"X": X.astype("float32")})
    >>> bool((label == model.predict(X)).all())
    True
    """
    check_model(model)
    _check_place(path)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise rule_error("dtype", "be float32 or float64", str(dtype), "Leave it out for float32.")
    graph, (front, last) = _Graph(np.dtype(dtype)), split_pipeline(model)
    X = graph.front(front, int(model.n_features_in_))
    F = graph.map(X, getattr(last, "map_", None), type(last).__name__)
    width = last.embedding_.shape[1]
    is_whole = width == last.map_.n_components
    shown = F if is_whole else graph("Gather", F, graph.constant(np.arange(width)), axis=1)
    graph.output("embedding", shown, [None, width])
    if predict:
        _write_decision(graph, F, last)
    proto = graph.model()
    if path is not None:
        with replacing(path) as temporary:
            temporary.write_bytes(proto.SerializeToString())
    return proto


def _check_place(path: Any) -> None:
    """Raise an error for a type of numbers in the place of the path, which version 0.3 accepted."""
    if path is not None and not isinstance(path, str | PathLike):
        cure = "Pass the type of the input as `dtype=`."
        raise TypeError(rule_message("path", "be the name of a file, or None", path, cure))


def _write_decision(graph: _Graph, F: str, model: Any) -> None:
    """Write labels, scores and probabilities of samples whose coordinates are ``F``."""
    classes, M = _tensor(np.asarray(model.classes_)), len(model.classes_)
    if classes.dtype == object and not all(isinstance(label, str) for label in classes):
        cure = "Export the embedding alone with predict=False."
        raise rule_error("y", "have integers, strings, booleans or floats as labels", classes[:3], cure)
    values = graph.scores(F, model.scores_)
    y = graph("Gather", graph.constant(classes), graph("ArgMax", values, axis=1, keepdims=0))
    graph.output("label", y, [None], classes.dtype)
    graph.output("scores", values, [None, M])
    graph.output("probabilities", graph.softmax(values, model.scores_.temperature, M), [None, M])


class _Graph:
    """Nodes and constants of a graph. A node has the name of its result."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._onnx = optional("onnx", "ONNX graphs need onnx", "onnx")
        self.dtype, self.double = dtype, self._onnx.TensorProto.DOUBLE
        self._nodes, self._constants = dict[Any, Any](), dict[Any, Any]()
        self._inputs, self._outputs, self._domains = list[Any](), list[Any](), list[Any]()

    def __call__(self, operation: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
        """Return the result of an operation.

        If there are several, it is the first, and the others are numbered.
        """
        key = (operation, inputs, tuple(sorted(attributes.items())))
        if key not in self._nodes:
            names = [f"{operation.lower()}_{len(self._nodes)}_{i}" for i in range(n_outputs)]
            self._nodes[key] = self._onnx.helper.make_node(operation, inputs, names, **attributes)
        return str(self._nodes[key].output[0])

    def constant(self, values: Any) -> str:
        """Return a constant."""
        array = _tensor(values)
        key = (array.dtype.str, array.shape, sha256(array.tobytes()).digest())
        if key not in self._constants:
            self._constants[key] = self._onnx.numpy_helper.from_array(array, f"c_{len(self._constants)}")
        return str(self._constants[key].name)

    def input(self, name: str, shape: list[int | None], dtype: Any = None) -> str:
        """Add an input, and return it in float64 unless it contains text."""
        self._inputs.append(self._value(name, shape, dtype or self.dtype))
        return name if dtype else self("Cast", name, to=self.double)

    def front(self, front: Front, n_features: int) -> str:
        """Write the steps before the model, and return the samples behind them."""
        encoder, form = front.encoder, front.form
        if encoder is not None and encoder.categories_:
            X = self._table(encoder)
        else:
            X = self.input("X", [None, n_features])
            if encoder is not None:
                X = self.form(X, form_of_step(encoder))
        return X if form is None else self.form(X, form)

    def form(self, X: str, form: Form) -> str:
        """Fill in missing entries and apply the affine map."""
        if form.fill is not None:
            X = self("Where", self("IsNaN", X), self.constant(form.fill), X)
        return self.affine(X, form.affine)

    def _table(self, encoder: TableEncoder) -> str:
        """Write the features of the columns of a table, each of which is an input."""
        parts = []
        for name in encoder.columns_:
            if name not in encoder.categories_:
                number = self.input(name, [None, 1])
                median = self.constant(np.array([encoder.medians_[name]]))
                parts.append(self("Where", self("IsNaN", number), median, number))
                continue
            known = encoder.categories_[name]
            text = self.input(name, [None, 1], np.dtype(object))
            # All zeros for other categories, as `handle_unknown="ignore"` has it.
            ones = self("OneHotEncoder", text, domain=ML, cats_strings=tuple(known), zeros=1)
            flat = self("Reshape", ones, self.constant(np.array([-1, len(known)])))
            parts.append(self("Cast", flat, to=self.double))
        self._domains = [self._onnx.helper.make_opsetid(ML, ML_OPSET)]
        return self("Concat", *parts, axis=1)

    def affine(self, X: str, affine: Affine) -> str:
        """Return ((x − shift) · scale) T + offset."""
        affine = affine.joined()
        U = self("Mul", self("Sub", X, self.constant(affine.shift)), self.constant(affine.scale))
        if affine.matrix is not None:
            U = self("MatMul", U, self.constant(affine.matrix))
        elif affine.down is not None and affine.up is not None:
            along = self("MatMul", U, self.constant(affine.down))
            U = self("Sub", U, self("MatMul", along, self.constant(affine.up)))
        return self("Add", U, self.constant(affine.offset))

    def map(self, X: str, f: Any, owner: str) -> str:
        """Write the map of a model, which is named ``owner`` in errors, at the rows of X."""
        if type(f) not in _WRITERS:
            rule, cure = "have a kernel or a linear map to be exported", "Keep other models in Python."
            raise rule_error("model", rule, owner, cure)
        return _WRITERS[type(f)](self, X, f)

    def linear(self, X: str, f: LinearMap) -> str:
        """Write a linear map."""
        return self.affine(X, f.affine)

    def kernels(self, X: str, f: KernelMap) -> str:
        """Write a sum of kernels."""
        U, V = self.affine(X, f.metric), dense_array(f.centers)
        # −‖u − v‖² = 2u'v − ‖v‖² − ‖u‖², never above zero.
        product = self("MatMul", U, self.constant(2.0 * V.T))
        less = self("Add", product, self.constant(-np.einsum("ij,ij->i", V, V)))
        norms = self("ReduceSum", self("Mul", U, U), self.constant(np.array([1])), keepdims=1)
        squares = self("Max", self("Sub", norms, less), self.constant(np.array(0.0)))
        t = self("Mul", squares, self.constant(np.array(f.kernel.sigma**-2)))
        t = self("Min", t, self.constant(np.array(FARTHEST["float64"])))
        try:
            K = f.kernel.profile(Value(self, t, len(V)), Functions(f.kernel))
        except TypeError as error:
            raise _other_functions(f.kernel, str(error)) from error
        return self("MatMul", K.name, self.constant(f.coef))

    def ensemble(self, X: str, f: EnsembleMap) -> str:
        """Write the rotated sum of the values of the members."""
        M = f.n_classes
        each = [
            self.times(self.scores(self.map(X, part, "ensemble"), scores), weight, M)
            for part, scores, weight in f.parts
        ]
        total = each[0] if len(each) == 1 else self("Sum", *each)
        mean = self("ReduceMean", total, axes=(1,), keepdims=1)
        return self("MatMul", self("Sub", total, mean), self.constant(f.rotation))

    def scores(self, F: str, scores: Scores) -> str:
        """Return the largest function of every class."""
        product = self("MatMul", F, self.constant(scores.weights.T))
        v = self("Add", product, self.constant(scores.offsets))
        if scores.has_one_per_class:
            return v
        sizes = np.bincount(scores.codes)
        first = self("Split", v, self.constant(sizes), n_outputs=len(sizes), axis=1)
        parts = [first.removesuffix("0") + str(i) for i in range(len(sizes))]
        return self("Concat", *(self("ReduceMax", p, axes=(1,), keepdims=1) for p in parts), axis=1)

    def times(self, values: str, factor: float, n_columns: int) -> str:
        """Return the product.

        Factors have one entry per column, because onnxruntime may apply one in float32.
        """
        return self("Mul", values, self.constant(np.full(n_columns, factor)))

    def softmax(self, values: str, temperature: float, n_classes: int) -> str:
        """Return exp(v/τ) over their sum."""
        return self("Softmax", self.times(values, 1.0 / temperature, n_classes), axis=1)

    def output(self, name: str, result: str, shape: list[int | None], dtype: Any = None) -> None:
        """Give a result the name of an output, and its type."""
        self._outputs.append(self._value(name, shape, dtype or self.dtype))
        kind = {} if dtype else {"to": self._outputs[-1].type.tensor_type.elem_type}
        make, operation = self._onnx.helper.make_node, "Identity" if dtype else "Cast"
        self._nodes[name] = make(operation, [result], [name], **kind)

    def model(self) -> Any:
        """Return the finished graph, checked."""
        helper = self._onnx.helper
        nodes, constants = self._nodes.values(), self._constants.values()
        graph = helper.make_graph(nodes, "nsse", self._inputs, self._outputs, constants)
        opsets = [helper.make_opsetid("", OPSET), *self._domains]
        proto = helper.make_model(graph, producer_name="nsse", ir_version=IR, opset_imports=opsets)
        self._onnx.checker.check_model(proto)
        return proto

    def _value(self, name: str, shape: list[int | None], dtype: Any) -> Any:
        helper = self._onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


_WRITERS: dict[type, Callable[[_Graph, str, Any], str]] = {
    KernelMap: _Graph.kernels,
    LinearMap: _Graph.linear,
    EnsembleMap: _Graph.ensemble,
}


class Value:
    """A result in a graph that computes like an array, for `Kernel.profile`.

    Numbers become constants with one entry per column, because onnxruntime may apply a single factor in
    float32 (`_Graph.times`).
    """

    __array_ufunc__ = None  # NumPy's numbers leave their operators to this class

    def __init__(self, graph: _Graph, name: str, n_columns: int) -> None:
        self.graph, self.name, self.n_columns = graph, name, n_columns

    def apply(self, operation: str, *others: Any) -> Value:
        """Write a node that takes this value and others."""
        return self._written(operation, self, *others)

    def _written(self, operation: str, *inputs: Any) -> Value:
        names = [self._name_of(part) for part in inputs]
        return Value(self.graph, self.graph(operation, *names), self.n_columns)

    def _name_of(self, part: Any) -> str:
        if isinstance(part, Value):
            return part.name
        return self.graph.constant(np.full(self.n_columns, float(part)))

    def __neg__(self) -> Value:
        return self.apply("Neg")

    def __add__(self, other: Any) -> Value:
        return self.apply("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self.apply("Sub", other)

    def __mul__(self, other: Any) -> Value:
        return self.apply("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self.apply("Div", other)

    def __pow__(self, other: Any) -> Value:
        return self.apply("Pow", other)

    def __radd__(self, other: Any) -> Value:
        return self._written("Add", other, self)

    def __rsub__(self, other: Any) -> Value:
        return self._written("Sub", other, self)

    def __rmul__(self, other: Any) -> Value:
        return self._written("Mul", other, self)

    def __rtruediv__(self, other: Any) -> Value:
        return self._written("Div", other, self)

    def __rpow__(self, other: Any) -> Value:
        return self._written("Pow", other, self)


class Functions:
    """The namespace that `Kernel.profile` is given for a graph."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def exp(self, a: Value) -> Value:
        """Write the exponential."""
        return a.apply("Exp")

    def log(self, a: Value) -> Value:
        """Write the natural logarithm."""
        return a.apply("Log")

    def sqrt(self, a: Value) -> Value:
        """Write the square root."""
        return a.apply("Sqrt")

    def minimum(self, a: Any, b: Any) -> Value:
        """Write the smaller of two values, one of which may be a number."""
        return a.apply("Min", b) if isinstance(a, Value) else b.apply("Min", a)

    def maximum(self, a: Any, b: Any) -> Value:
        """Write the larger of two values, one of which may be a number."""
        return a.apply("Max", b) if isinstance(a, Value) else b.apply("Max", a)

    def __getattr__(self, name: str) -> Any:
        raise _other_functions(self.kernel, f"xp.{name}")


def _other_functions(kernel: Kernel, found: str) -> ValueError:
    """Return the error of a profile that calls functions that graphs do not have."""
    rule = "have a profile of exp, log, sqrt, minimum, maximum and the operators + - * / ** alone"
    cure = "Use these functions of `xp`, and none of NumPy, or keep the model in Python."
    return rule_error("kernel", rule, Described(f"{found} in {type(kernel).__name__}.profile"), cure)


def _tensor(values: Any) -> Any:
    kinds = {"f": np.float64, "b": np.bool_, "U": object, "O": object, "T": object}
    return np.array(values, dtype=kinds.get(values.dtype.kind, np.int64), order="C")
