"""Our models in skl2onnx: a parser, a shape and a converter for each, and `to_onnx` around them."""

from __future__ import annotations

import warnings
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from nsse._support.errors import rule_error, rule_message
from nsse.certificates import Decision, decision_of, opened
from nsse.estimators._base import EmbeddingClassifier
from nsse.estimators._gaussian_map import GaussianMapClassifier
from nsse.estimators._linear import LinearEmbeddingClassifier
from nsse.exports.chances import rules_of, write_chances
from nsse.exports.names import WRITTEN
from nsse.exports.operations import (
    GaussianGraph,
    Graph,
    LinearGraph,
    write_label,
    write_maps,
    write_read,
)
from nsse.exports.precision import warn_if_lossy
from nsse.selection import NSSECV

# All that embeds and predicts, and those of them whose map is a graph of plain operations.
OURS = tuple(kind for kind in WRITTEN.values() if issubclass(kind, EmbeddingClassifier))
EXPORTED = (GaussianMapClassifier, LinearEmbeddingClassifier, NSSECV)
# Plain operations that have been the same since: runtimes of 2022 and later know them.
OPSET = {"": 17, "ai.onnx.ml": 3}


def to_onnx(
    model: Any, dtype: Any = np.float32, *, predict: bool = True, target_opset: Any = None
) -> Any:
    """Write a fitted model, or a pipeline with one of ours in it, as an ONNX graph.

    The graph has one input, ``X``. For a model of ours, and a pipeline that ends in one, its outputs
    are ``embedding`` (what `transform` gives), ``label`` (what `predict` gives, of an `NSSECV` the vote
    of all its `voters_`) and, where the model has them, ``probabilities`` (what `predict_proba` gives,
    the largest the label's); a pipeline that ends in a classifier of scikit-learn has ``label`` and
    ``probabilities``.

    A graph cannot refuse a row as Python does. Where a feature is NaN or infinite, a model of ours gives
    coordinates that are not finite, and with them a label without meaning.

    Parameters
    ----------
    model : estimator
        Fitted: `NSSE`, `NSSECV`, `SUPLAP`, `MReg`, `IsoKRR`, `LFDA`, `LDE`, or a scikit-learn pipeline
        of steps that skl2onnx converts and any of these. Labels are integers, strings, booleans or
        floats.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input, of the arithmetic and of the embedding.
    predict : bool, default=True
        Whether a model of ours at the end also gives labels, and probabilities if it has any. Labels
        are exported for the classifiers k nearest neighbours, class scores, nearest centroid and
        scikit-learn's linear ones; probabilities for those of them that give some, but for
        ``SGDClassifier(loss="modified_huber")``, whose graph has the label alone.
    target_opset : int or dict, default=None
        Versions of the operator sets, as in skl2onnx; None is opset 17, which older runtimes know too.

    Returns
    -------
    onnx.ModelProto
        The graph; ``SerializeToString()`` gives the bytes of the file.

    Warns
    -----
    PrecisionWarning
        If the map, measured at its centres and between them, loses more than 1e-4 of its largest
        coordinate in float32; where labels are voted on, the map of any voter. ``dtype=np.float64`` is
        the cure.

    Raises
    ------
    TypeError
        If a part of the model cannot be exported; the message names it.
    ValueError
        If the classifier of a model of ours cannot be exported; the message says what to do.

    See Also
    --------
    save : A file for this library, to the last bit.
    nsse.exports.register_converters : The same through skl2onnx's own function.

    Examples
    --------
    >>> import nsse
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> graph = nsse.to_onnx(model)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> (label,) = session.run(["label"], {"X": X.astype("float32")})
    >>> bool((label == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    chosen = np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise rule_error("dtype", "be float32 or float64", str(chosen), "Leave it out for float32.")
    while hasattr(model, "best_estimator_") and not isinstance(model, NSSECV):
        model = model.best_estimator_  # a search of scikit-learn's does what the best one does
    register_converters()
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator
    from skl2onnx.convert import to_onnx as convert

    kind = FloatTensorType if chosen == np.float32 else DoubleTensorType
    try:
        return convert(
            model,
            initial_types=[("X", kind([None, model.n_features_in_]))],
            target_opset=OPSET if target_opset is None else target_opset,
            options=_options(model, predict),
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        raise TypeError(_no_converter(type(model).__name__, str(error).splitlines()[0])) from error


def register_converters() -> None:
    """Teach skl2onnx our models, so that its own ``to_onnx`` converts pipelines with them.

    There a model of ours gives its embedding; the options ``{"label": True, "probabilities": True}`` add
    the others.

    See Also
    --------
    nsse.to_onnx : Ours, which registers by itself.

    Examples
    --------
    >>> from nsse.exports import register_converters
    >>> register_converters()
    """
    update = _skl2onnx().update_registered_converter
    either = [False, True]
    options = {"label": either, "probabilities": either, "zipmap": [*either, "columns"]}
    for kind in OURS:
        update(kind, f"Nsse{kind.__name__}", _shapes, _convert, parser=_parse, options=options)


def graph_of(model: Any) -> Graph:
    """The map of a fitted model in operations."""
    if isinstance(model, NSSECV):
        return graph_of(model.best_estimator_)
    if isinstance(model, GaussianMapClassifier):
        return GaussianGraph.of(model.expansion_)
    if isinstance(model, LinearEmbeddingClassifier):
        return LinearGraph(model.mean_, model.components_)
    reason = "its map searches neighbours or solves a problem for every sample"
    raise TypeError(_no_converter(type(model).__name__, reason))


def _decision(model: Any) -> Decision:
    try:
        decision = decision_of(model)
    except ValueError as error:
        raise rule_error(
            "classifier",
            "be nearest neighbours (Euclidean, with equal votes), the nearest centroid or a linear "
            "classifier to be exported",
            model.classifier_,
            "Export the embedding alone (predict=False), or fit the classifier after the model in a "
            "pipeline: skl2onnx converts many.",
        ) from error
    _checked_labels(decision.classes)
    return decision


def _checked_labels(classes: NDArray[Any]) -> None:
    strings = classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes)
    if classes.dtype.kind not in "iufbU" and not strings:
        raise rule_error(
            "y",
            "have integers, strings, booleans or floats as labels to be exported",
            classes.tolist()[:3],
            "Export the embedding alone: predict=False.",
        )


def _options(model: Any, predict: bool) -> dict[int, dict[str, Any]]:
    """Labels of a model of ours at the end; probabilities of others as a matrix, not as a dict."""
    _, last = opened(model)
    if isinstance(last, EmbeddingClassifier):
        return {id(last): {"label": predict, "probabilities": predict and _has_chances(last)}}
    sklearns_own = isinstance(last, BaseEstimator) and is_classifier(last)
    return {id(last): {"zipmap": False}} if sklearns_own else {}


def _voters(model: Any) -> list[Any]:
    """Those whose labels count, the one whose embedding it is first."""
    return list(getattr(model, "voters_", [model]))


def _has_chances(model: Any) -> bool:
    """Whether a model gives probabilities, and a graph can."""
    if not hasattr(model, "predict_proba"):
        return False
    return rules_of([voter.classifier_ for voter in _voters(model)]) is not None


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare what a model of ours gives: its embedding, for steps that follow, and labels if asked."""
    from skl2onnx.common.data_types import guess_tensor_type

    floats = guess_tensor_type(inputs[0].type)
    if len(inputs) > 1:  # one input per column
        joined = scope.declare_local_operator("SklearnConcat")
        joined.inputs = inputs
        joined.outputs.append(scope.declare_local_variable("columns", floats))
        inputs = joined.outputs
    operator = scope.declare_local_operator(f"Nsse{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("embedding", floats))
    options = scope.get_options(model, {})
    if options.get("label"):
        operator.outputs.append(scope.declare_local_variable("label", _label_type(model)))
    if options.get("probabilities"):
        if not _has_chances(model):
            cure = "Leave the option out, or choose a classifier that has probabilities."
            rule = "give probabilities that a graph can express"
            raise rule_error("classifier", rule, model.classifier_, cure)
        operator.outputs.append(
            scope.declare_local_variable("probabilities", guess_tensor_type(inputs[0].type))
        )
    return list(operator.outputs)


def _shapes(operator: Any) -> None:
    model, n_rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    widths = {"embedding": [model.embedding_.shape[1]], "probabilities": [len(model.classes_)]}
    for output in operator.outputs:
        output.type.shape = [n_rows, *widths.get(output.raw_name, [])]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    wanted = {output.raw_name: output.full_name for output in operator.outputs}
    told = _InGraph(scope, container, operator.outputs[0].type)
    reads = len(wanted) > 1
    asked = _voters(model) if reads else [model]
    decisions = [_decision(voter) for voter in asked] if reads else []
    graphs = [graph_of(voter) for voter in asked]
    if told.dtype == np.float32:
        warn_if_lossy(graphs, type(model).__name__)
    X = told("Cast", operator.inputs[0].full_name, to=told.proto_type)
    embeddings = write_maps(told, X, graphs)
    told.name_output(embeddings[0], wanted["embedding"])
    if not reads:
        return
    read, code = write_read(told, embeddings, decisions)
    if "label" in wanted:
        told.name_output(write_label(told, code, decisions[0].classes), wanted["label"])
    if "probabilities" in wanted:
        rules = rules_of([voter.classifier_ for voter in asked])
        assert rules is not None  # `_parse` has seen to it
        told.name_output(write_chances(told, read, rules, code), wanted["probabilities"])


class _InGraph:
    """Writes operations down as nodes of an ONNX graph; passes names on between them."""

    def __init__(self, scope: Any, container: Any, floats: Any) -> None:
        from skl2onnx.common.data_types import guess_numpy_type, guess_proto_type

        self._scope, self._container = scope, container
        self._written: dict[tuple[Any, ...], str] = {}
        self.dtype, self.proto_type = np.dtype(guess_numpy_type(floats)), guess_proto_type(floats)

    def constant(self, values: NDArray[Any], *, exact: bool = False) -> str:
        """An initializer: floats in the type of the graph or in float64, integers as int64.

        The same values are written once: voters have axes and codes in common.
        """
        if values.dtype.kind in "OU":
            return self._strings(values)
        from onnx.numpy_helper import from_array

        floats = np.float64 if exact else self.dtype
        kind = np.dtype({"f": floats, "b": np.bool_}.get(values.dtype.kind, np.int64))
        array = np.ascontiguousarray(values, dtype=kind).reshape(values.shape)
        key = (kind.str, array.shape, sha256(array.tobytes()).digest())
        if key not in self._written:
            tensor, name = from_array(array), self._scope.get_unique_variable_name("constant")
            self._container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
            self._written[key] = name
        return self._written[key]

    def _strings(self, values: NDArray[Any]) -> str:
        from onnx import TensorProto

        name: str = self._scope.get_unique_variable_name("constant")
        strings = [str(value).encode() for value in values.ravel()]
        self._container.add_initializer(name, TensorProto.STRING, list(values.shape), strings)
        return name

    def __call__(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """One more node; the name of its first result, or of the indices of TopK."""
        outputs = [self._scope.get_unique_variable_name(operation.lower())]
        if operation == "TopK":
            outputs.append(self._scope.get_unique_variable_name("indices"))
        if operation == "ReduceSum":  # axes are an input since opset 13
            inputs = (*inputs, self.constant(np.array(attributes.pop("axes"), dtype=np.int64)))
        self._container.add_node(
            operation,
            list(inputs),
            outputs,
            op_domain="",
            name=self._scope.get_unique_operator_name(operation),
            **attributes,
        )
        return outputs[-1]

    def name_output(self, result: str, name: str) -> None:
        """Give a result the name of an output."""
        self._container.add_node(
            "Identity", result, name, op_domain="", name=self._scope.get_unique_operator_name("Output")
        )


def _label_type(model: Any) -> Any:
    """The type of the labels as skl2onnx calls it."""
    from skl2onnx.common.data_types import (
        BooleanTensorType,
        DoubleTensorType,
        Int64TensorType,
        StringTensorType,
    )

    kinds = {"O": StringTensorType, "U": StringTensorType, "b": BooleanTensorType, "f": DoubleTensorType}
    return kinds.get(np.asarray(model.classes_).dtype.kind, Int64TensorType)()


def _no_converter(name: str, reason: str) -> str:
    known = ", ".join(kind.__name__ for kind in OURS if issubclass(kind, EXPORTED))
    rule, cure = "be made of parts that ONNX can express", f"{known} and what skl2onnx converts are."
    return rule_message("model", rule, f"{name} ({reason})", cure)


def _skl2onnx() -> Any:
    try:
        with warnings.catch_warnings():
            # It imports names of scikit-learn that are on their way out.
            warnings.simplefilter("ignore", FutureWarning)
            import skl2onnx
    except ImportError as error:
        raise ImportError("ONNX graphs need skl2onnx. Install it: pip install 'nsse[onnx]'") from error
    return skl2onnx
