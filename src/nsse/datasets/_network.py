"""ONNX graphs of image networks: from pixels to features, and with a model behind from pixels to labels.

What is done to pixels before a network sees them, and to its features after it, are nodes of the graph:
Python, a server and a phone compute the same. Only the resizing is done outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nsse._support.errors import listed, optional, rule_error

IMAGE, FEATURES = "image", "features"
SIDE = 224  # of networks that take any size
_GREY = np.array([[0.299], [0.587], [0.114]], dtype=np.float32)  # ITU-R 601
_FLOAT = 1  # TensorProto.FLOAT
_POOLS = ("GlobalAveragePool", "GlobalMaxPool")
_CURE = "docs/encoders.md says how to export one."


def feature_graph(path: Path, settings: Mapping[str, Any], dtype: Any = np.float32) -> Any:
    """A graph with the input ``image`` (n, height, width, 3), bytes, and the output ``features``."""
    onnx = optional("onnx", "Encoders need onnx", "encode")
    try:
        network = onnx.compose.add_prefix(onnx.load(path), "encoder/")
    except Exception as error:  # of protobuf, of onnx, of the file system
        why = " ".join(str(error).split())[:120]
        raise _unusable(path, f"no whole ONNX file ({why})") from error
    graph = network.graph
    given = [one for one in graph.input if one.name not in {part.name for part in graph.initializer}]
    shapes = [_shape(one) for one in given]
    if len(given) != 1 or len(shapes[0]) != 4 or not {shapes[0][1], shapes[0][3]} & {1, 3, None}:
        got = listed([f"{one.name.removeprefix('encoder/')} {_shape(one)}" for one in given]) or "none"
        raise _unusable(path, f"no image input, but {got}")
    result = _chosen(path, graph, settings["output"])
    n, height, width, is_last, n_channels = _input_shape(shapes[0], settings["size"])
    make, nodes = onnx.helper, _Nodes(onnx.helper)
    kind = given[0].type.tensor_type.elem_type
    levels = None if kind == onnx.TensorProto.UINT8 else settings  # bytes go in as they are
    pixels = _pixels(nodes, settings["channels"], n_channels, is_last, levels)
    nodes("Cast", pixels, to=kind, result=given[0].name)
    before = len(nodes.made)
    # Convolutions of ONNX have channels first; a network with channels last turns what it gives out.
    turned = is_last and result in {one.name for one in graph.output}
    features = _features(nodes, result, _rank(onnx, network, result), turned, settings["norm"])
    kind_out = make.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes("Cast", features, to=kind_out, result=FEATURES)
    needed = _needed(graph, result)
    used = {name for node in needed for name in _reads(node)}
    whole = make.make_graph(
        [*nodes.made[:before], *needed, *nodes.made[before:]],
        "encoder",
        [make.make_tensor_value_info(IMAGE, onnx.TensorProto.UINT8, [n or "n", height, width, 3])],
        [make.make_tensor_value_info(FEATURES, kind_out, ["n", "features"])],
        [part for part in graph.initializer if part.name in used] + nodes.constants,
    )
    return make.make_model(
        whole,
        opset_imports=network.opset_import,
        ir_version=max(8, network.ir_version),
        functions=network.functions,
    )


def _pixels(nodes: _Nodes, channels: str, n_channels: int, is_last: bool, levels: Any) -> str:
    """Bytes of pictures as a network takes them; ``levels`` has mean and std, None leaves them out."""
    pixels = nodes("Cast", IMAGE, to=_FLOAT)
    if channels == "BGR":
        pixels = nodes("Gather", pixels, nodes.constant(np.array([2, 1, 0])), axis=3)
    if n_channels == 1:
        pixels = nodes("MatMul", pixels, nodes.constant(_GREY))
    for operation, name in (("Sub", "mean"), ("Div", "std")) if levels is not None else ():
        values = np.array(255.0 * np.array(levels[name]), dtype=np.float32)[:n_channels]
        pixels = nodes(operation, pixels, nodes.constant(values))
    return pixels if is_last else nodes("Transpose", pixels, perm=[0, 3, 1, 2])


def _features(nodes: _Nodes, result: str, rank: int | None, turned: bool, norm: str) -> str:
    """Rows of features of what a network gives out: of tokens the first, of a map the mean."""
    features = nodes("Cast", result, to=_FLOAT)
    if rank == 3:
        features = nodes("Gather", features, nodes.constant(np.array(0)), axis=1)
    elif rank == 4:
        features = nodes("Transpose", features, perm=[0, 3, 1, 2]) if turned else features
        features = nodes("GlobalAveragePool", features)
    features = nodes("Flatten", features, axis=1)
    if norm == "hellinger":
        root = nodes("Sqrt", nodes("Abs", features))
        features = nodes("Mul", nodes("Sign", features), root)
    return features if norm == "none" else nodes("LpNormalization", features, axis=1, p=2)


def merged(encoder: Any, model: Any) -> Any:
    """One graph of two: from pixels through features to what the graph of a model gives."""
    onnx = optional("onnx", "Encoders need onnx", "encode")
    both = [encoder, model]
    opset = max(_opset(graph) for graph in both)
    both = [
        graph if _opset(graph) == opset else onnx.version_converter.convert_version(graph, opset)
        for graph in both
    ]
    for graph in both:
        graph.ir_version = max(encoder.ir_version, model.ir_version)
    whole = onnx.compose.merge_models(*both, io_map=[(FEATURES, model.graph.input[0].name)])
    onnx.checker.check_model(whole)
    return whole


class _Nodes:
    """Nodes in the making; a result has the number of its node."""

    def __init__(self, helper: Any) -> None:
        self._helper, self.made, self.constants = helper, list[Any](), list[Any]()

    def __call__(self, operation: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        result = result or f"prepared/{len(self.made)}"
        self.made.append(self._helper.make_node(operation, inputs, [result], **attributes))
        return result

    def constant(self, values: Any) -> str:
        """A constant of the type that the values have."""
        from onnx.numpy_helper import from_array

        self.constants.append(from_array(values, f"prepared/c{len(self.constants)}"))
        return str(self.constants[-1].name)


def _shape(value: Any) -> list[int | None]:
    return [side.dim_value or None for side in value.type.tensor_type.shape.dim]


def _input_shape(shape: list[Any], size: Any) -> tuple[int | None, int, int, bool, int]:
    """Images at a time, height, width, whether channels are the last axis, and how many there are."""
    is_last = shape[3] in (1, 3) and shape[1] not in (1, 3)
    n, *sides = (shape[0], shape[1], shape[2]) if is_last else (shape[0], shape[2], shape[3])
    height, width = (own or given for own, given in zip(sides, size or (SIDE, SIDE), strict=True))
    return n, height, width, is_last, (shape[3] if is_last else shape[1]) or 3


def _chosen(path: Path, graph: Any, output: str | None) -> str:
    """The result that is named, the last one that is pooled over all places, or the last output."""
    known = [one.name.removeprefix("encoder/") for one in graph.output]
    if output is not None:
        made = {name.removeprefix("encoder/") for node in graph.node for name in node.output}
        if output not in made:
            rule = f"be a result of {path.name}"
            raise rule_error("output", rule, output, f"Its outputs are {listed(known)}.")
        return f"encoder/{output}"
    pooled = [node.output[0] for node in graph.node if _pools(node, graph)]
    return str([*(one.name for one in graph.output), *pooled][-1])


def _pools(node: Any, graph: Any) -> bool:
    """Whether a node takes means over height and width."""
    if node.op_type != "ReduceMean":
        return node.op_type in _POOLS
    axes = [list(one.ints) for one in node.attribute if one.name == "axes"]
    if len(node.input) > 1:  # since opset 18
        from onnx.numpy_helper import to_array

        axes += [to_array(part).tolist() for part in graph.initializer if part.name == node.input[1]]
        made = [
            one for one in graph.node if one.op_type == "Constant" and one.output[0] == node.input[1]
        ]
        axes += [to_array(one.attribute[0].t).tolist() for one in made]
    return axes in ([[2, 3]], [[-2, -1]], [[-1, -2]], [[1, 2]])


def _rank(onnx: Any, network: Any, result: str) -> int | None:
    graph = onnx.shape_inference.infer_shapes(network).graph
    known = {one.name: one for one in (*graph.value_info, *graph.output)}
    if result not in known or not known[result].type.tensor_type.HasField("shape"):
        return None
    return len(_shape(known[result]))


def _needed(graph: Any, result: str) -> list[Any]:
    """The nodes that a result is made by, in their order: the head of a classifier is left out."""
    wanted, needed = {result}, []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            needed.append(node)
            wanted.update(_reads(node))
    return needed[::-1]


def _reads(node: Any) -> Iterator[str]:
    """Names of what a node takes, those in its branches and loops as well."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _reads(inner)


def _opset(model: Any) -> int:
    return int(next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx")))


def _unusable(path: Path, got: str) -> ValueError:
    rule = (
        "name an ONNX graph with one input of pictures, (n, 3, height, width) or (n, height, width, 3)"
    )
    return rule_error("encoder", rule, f"{path}, {got}", _CURE)
