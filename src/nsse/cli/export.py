"""``nsse export``: write a model as an ONNX graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nsse._support.errors import Described, optional, rule_error
from nsse.cli.files import bytes_of, check_out, replacing, size_of
from nsse.cli.models import Opened, open_model
from nsse.cli.options import Json, KnownEncoder, Model
from nsse.cli.screen import MODEL, running, typed

# Largest difference of probabilities between a graph with its encoder and Python.
LARGEST_LOSS = 1e-4


def export(
    model: Model,
    onnx: Annotated[Path, typer.Option(help="The graph to write, .onnx.")],
    dtype: Annotated[
        Literal["float32", "float64"],
        typer.Option(help="Type of the input and of the outputs. The arithmetic is in float64."),
    ] = "float32",
    encoder: KnownEncoder = None,
    as_json: Json = False,
) -> None:
    """Write a model, with its encoder if it has one, as an ONNX graph, which runs without Python."""
    with running(as_json) as screen:
        check_out(onnx, (".onnx",), read=[model], option="--onnx")
        from nsse.datasets import EncodedPreparation

        opened = open_model(model)
        from nsse.io.onnx import to_onnx

        with screen.busy("Writing the graph"), typed(MODEL):
            graph = to_onnx(opened.whole, dtype=dtype)
            what = _about_inputs(opened, graph)
            if isinstance(opened.preparation, EncodedPreparation):
                graph, what = _with_encoder(opened, graph, encoder)
            # The graph contains no preparation of samples, so it is written to a file next to it.
            preparation = opened.preparation.to_dict()
            preparation.pop("pictures", None)
            graph.metadata_props.add(
                key="preparation", value=json.dumps(preparation, ensure_ascii=False)
            )
            with replacing(onnx) as temporary:
                temporary.write_bytes(graph.SerializeToString())
        names = [output.name for output in graph.graph.output]
        opset = next(entry.version for entry in graph.opset_import if not entry.domain)
        screen.result = {"out": str(onnx), "bytes": bytes_of(onnx), "dtype": dtype, "opset": opset}
        screen.result |= {"inputs": _inputs(graph), "outputs": names, "preparation": preparation}
        screen.say(f"Wrote {onnx}, {size_of(onnx)}: opset {opset}, {dtype}.")
        screen.say(f"Input {what}. Outputs: {', '.join(names)}.")


def _about_inputs(opened: Opened, graph: Any) -> str:
    """Describe the inputs of a graph."""
    names = [one.name for one in graph.graph.input]
    if names == ["X"]:
        return f"X: rows of {opened.whole.n_features_in_} ({opened.preparation})"
    return f"of shape (n, 1) for each column: {', '.join(names)}"


def _inputs(graph: Any) -> dict[str, list[int | None]]:
    sides = {one.name: one.type.tensor_type.shape.dim for one in graph.graph.input}
    return {name: [side.dim_value or None for side in shape] for name, shape in sides.items()}


def _with_encoder(opened: Opened, graph: Any, path: Path | None) -> tuple[Any, str]:
    """Write one graph from pixels to labels, compare it with Python, and describe its input."""
    import numpy as np

    from nsse.datasets._encoder import encoder_of

    runtime = optional("onnxruntime", "Encoders need onnxruntime", "encode")
    encoder = encoder_of(opened.preparation, path)  # type: ignore[arg-type]
    whole = encoder.graph(graph)
    n, height, width, _ = _inputs(whole)["image"]
    shape: Any = (n or 4, height, width, 3)
    images = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    session = runtime.InferenceSession(whole.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(["label", "probabilities"], {"image": images})
    X = encoder.transform(images).astype(np.float64)
    apart = float(np.abs(opened.model.predict_proba(X) - found[1]).max())
    if apart > LARGEST_LOSS or any(opened.model.predict(X) != found[0]):
        got, cure = Described(f"probabilities {apart:.1e} apart"), "Export it with --dtype float64."
        raise rule_error("--onnx", "be a graph that computes what the model does", got, cure)
    resize = encoder.settings["resize"]
    return whole, f"image: n x {height} x {width} x 3, red, green, blue from 0 to 255 (resize: {resize})"
