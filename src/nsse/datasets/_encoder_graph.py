"""Merge one graph from the pixels of an image to features.

`onnx.compose` merges three graphs. The first one scales pixels, the second one is the network, and the
third one makes one row of its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nsse._support.errors import Described, listed, optional, rule_error

IMAGE, FEATURES = "image", "features"
FLOAT = 1  # the number of this type in ONNX
TYPES = {FLOAT: "float", 11: "double"}  # of the features, as the model behind the network reads them
SIDE = 224  # of images, for networks without a fixed size

# Graphs in the text format of onnx, from the bytes of images to the input of a network, and from its
# result to features.
_PREPARE = """prepare (uint8[{n}, {height}, {width}, 3] image) => (float[{shape}] prepared) {{
    levels = Cast <to = 1> (image)
    mean = Constant <value_floats = {mean}> ()
    centered = Sub (levels, mean)
    std = Constant <value_floats = {std}> ()
    scaled = Div (centered, std)
    prepared = {order} (scaled)
}}"""
_MAKE_ROWS = """rows (float[{sides}] result) => ({type}[n, m] features) {{
    first = Constant <value_int = 0> ()
    row = {row}
    flat = Flatten <axis = 1> (row)
    {norm}
    features = Cast <to = {kind}> (normed)
}}"""
_UNIT_NORM = "normed = LpNormalization <axis = 1, p = 2>"
_NORMED = {
    "none": "normed = Identity (flat)",
    "l2": f"{_UNIT_NORM} (flat)",
    "hellinger": f"""size = Abs (flat)
    root = Sqrt (size)
    sign = Sign (flat)
    signed = Mul (sign, root)
    {_UNIT_NORM} (signed)""",
}
_TOKENS = 3  # axes of a result with tokens


def feature_graph(path: Path, settings: Mapping[str, Any], kind: int = FLOAT) -> Any:
    """Return a graph from bytes, ``image`` (n, height, width, 3), to ``features`` of an ONNX type."""
    onnx = optional("onnx", "Encoders need onnx", "encode")
    try:
        network = onnx.compose.add_prefix(onnx.shape_inference.infer_shapes(onnx.load(path)), "encoder/")
    except Exception as error:  # onnx, protobuf and the file system have many
        why = " ".join(str(error).split())[:120]
        raise _unusable(path, f"no whole ONNX file ({why})") from error
    network.ir_version = max(8, network.ir_version)
    image = _image_input(path, network.graph)
    output, n_axes = _output(path, network.graph, settings["output"])
    del network.graph.output[:]
    network.graph.output.append(onnx.helper.make_tensor_value_info(output, FLOAT, [None] * n_axes))
    texts = _preparation(_shape(image), settings), _rows(n_axes, settings["norm"], kind)
    header = f'<ir_version: {network.ir_version}, opset_import: ["" : {opset_of(network)}]>'
    first, last = (onnx.parser.parse_model(header + text) for text in texts)
    whole = onnx.compose.merge_models(first, network, io_map=[("prepared", image.name)])
    whole = onnx.compose.merge_models(whole, last, io_map=[(output, "result")])
    # Merging repeats the sets of operators, and the converter of versions reads the first one only.
    versions = {one.domain: one.version for one in whole.opset_import}
    del whole.opset_import[:]
    whole.opset_import.extend(onnx.helper.make_opsetid(*one) for one in versions.items())
    return whole


def _image_input(path: Path, graph: Any) -> Any:
    """Return the input of a network, which must have color images and no other input."""
    weights = {part.name for part in graph.initializer}
    inputs = [one for one in graph.input if one.name not in weights]
    if len(inputs) == 1 and inputs[0].type.tensor_type.elem_type == FLOAT:
        shape = _shape(inputs[0])
        if len(shape) == 4 and {3, None}.intersection(shape[1::2]):
            return inputs[0]
    got = listed([f"{_plain(one)} {_shape(one)}" for one in inputs]) or "none"
    raise _unusable(path, f"no image input, but {got}")


def _preparation(shape: list[int | None], settings: Mapping[str, Any]) -> str:
    """Return the text of the graph from bytes to the input of a network."""
    has_channels_last = shape[3] == 3 and shape[1] != 3
    n, *sides = shape[:3] if has_channels_last else (shape[0], *shape[2:])
    size = settings["size"] or (SIDE, SIDE)
    height, width = (own or given for own, given in zip(sides, size, strict=True))
    many = n or "n"
    return _PREPARE.format(
        n=many,
        height=height,
        width=width,
        shape=f"{many}, {height}, {width}, 3" if has_channels_last else f"{many}, 3, {height}, {width}",
        mean=[255.0 * level for level in settings["mean"]],
        std=[255.0 * level for level in settings["std"]],
        order="Identity" if has_channels_last else "Transpose <perm = [0, 3, 1, 2]>",
    )


def _rows(n_axes: int, norm: str, kind: int) -> str:
    """Return the text of the graph from the output of a network to rows of features."""
    return _MAKE_ROWS.format(
        sides=", ".join("abcdefgh"[:n_axes]),
        type=TYPES[kind],
        row="Gather <axis = 1> (result, first)" if n_axes == _TOKENS else "Identity (result)",
        norm=_NORMED[norm],
        kind=kind,
    )


def _output(path: Path, graph: Any, output: str | None) -> tuple[str, int]:
    """Return the result with this name, the last averaged one or the last output, and its axes."""
    n_axes = {one.name: len(_shape(one)) for one in (*graph.value_info, *graph.input, *graph.output)}
    if output is None:
        pools = [node for node in graph.node if node.op_type in ("GlobalAveragePool", "ReduceMean")]
        averaged = [node.output[0] for node in pools if n_axes.get(node.input[0]) == 4]
        found = [*(one.name for one in graph.output), *averaged][-1]
    else:
        found = f"encoder/{output}"
        if found not in {name for node in graph.node for name in node.output}:
            cure = f"Its outputs are {listed([_plain(one) for one in graph.output])}."
            raise rule_error("output", f"be a result of {path.name}", output, cure)
    return found, n_axes.get(found) or 2


def _shape(value: Any) -> list[int | None]:
    return [side.dim_value or None for side in value.type.tensor_type.shape.dim]


def _plain(value: Any) -> str:
    return str(value.name.removeprefix("encoder/"))


def opset_of(model: Any) -> int:
    """Return the version of the operators of a graph."""
    return int(next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx")))


def _unusable(path: Path, got: str) -> ValueError:
    rule = "name an ONNX graph with one input of images, (n, 3, height, width) or (n, height, width, 3)"
    cure = "The page on photographs shows how to export one."
    return rule_error("encoder", rule, Described(f"{path}, {got}"), cure)
