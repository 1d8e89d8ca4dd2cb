"""``nsse export``: a model as an ONNX graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from nsse.cli.files import bytes_of, check_out, replacing, size_of
from nsse.cli.options import Json, Model
from nsse.cli.screen import running
from nsse.cli.words import MODEL, typed


def export(
    model: Model,
    onnx: Annotated[Path, typer.Option(help="The graph to write, .onnx.")],
    dtype: Annotated[
        Literal["float32", "float64"],
        typer.Option(help="Type of the input and of the outputs; the arithmetic is in float64."),
    ] = "float32",
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX graph, which runs without Python."""
    with running(as_json) as screen:
        check_out(onnx, (".onnx",), read=[model], option="--onnx")
        from nsse.cli.models import open_model

        opened = open_model(model)
        from nsse.io import to_onnx

        with screen.busy("Writing the graph"), typed(MODEL):
            graph = to_onnx(opened.model, dtype)
            # What is done to samples before the graph sees them is no part of it, but is told.
            told = json.dumps(opened.preparation.to_dict(), ensure_ascii=False)
            graph.metadata_props.add(key="preparation", value=told)
            with replacing(onnx) as temporary:
                temporary.write_bytes(graph.SerializeToString())
        names = [output.name for output in graph.graph.output]
        opset = next(entry.version for entry in graph.opset_import if not entry.domain)
        screen.result = {
            "out": str(onnx),
            "bytes": bytes_of(onnx),
            "dtype": dtype,
            "opset": opset,
            "inputs": {"X": [None, int(opened.model.n_features_in_)]},
            "outputs": names,
            "preparation": opened.preparation.to_dict(),
        }
        screen.say(f"Wrote {onnx}, {size_of(onnx)}: opset {opset}, {dtype}.")
        rows = f"rows of {opened.model.n_features_in_} ({opened.preparation})"
        screen.say(f"Input X: {rows}. Outputs: {', '.join(names)}.")
