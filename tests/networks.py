"""A small convolutional network as an ONNX file: real weights, real pixels, made on the spot."""

from __future__ import annotations

import numpy as np

SIDE, FEATURES, CLASSES = 32, 24, 5


def write_network(
    path, *, seed=0, n="n", last=False, opset=17, head=True, outputs=("scores",), axes=None
):
    """Two convolutions, means over all places, a linear head; channels first or last.

    ``axes`` are those of the mean where it is a ReduceMean, "stored" or "made" by a node.
    """
    from onnx import TensorProto, checker, helper, numpy_helper, save

    rng = np.random.default_rng(seed)
    weights = {
        "w1": 0.4 * rng.standard_normal((12, 3, 3, 3)),
        "w2": 0.2 * rng.standard_normal((FEATURES, 12, 3, 3)),
        "head": 0.3 * rng.standard_normal((FEATURES, CLASSES)),
    }
    shapes = {"scores": [n, CLASSES], "map": [n, FEATURES, "h", "w"]}
    shape = [n, SIDE, SIDE, 3] if last else [n, 3, SIDE, SIDE]
    first = [helper.make_node("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2])] if last else []
    pool = [helper.make_node("GlobalAveragePool", ["map"], ["pooled"])]
    places = numpy_helper.from_array(np.array([2, 3]), "axes")
    if axes is not None:
        made = [helper.make_node("Constant", [], ["axes"], value=places)] * (axes == "made")
        pool = [*made, helper.make_node("ReduceMean", ["map", "axes"], ["pooled"])]
    nodes = [
        *first,
        helper.make_node("Conv", ["planes" if last else "x", "w1"], ["a"], strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["map"]),
        *pool,
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        *[helper.make_node("MatMul", ["flat", "head"], ["scores"])] * head,
    ]
    floats = [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in outputs],
        floats + [places] * (axes == "stored"),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    checker.check_model(model)
    save(model, path)
    return path


def write_pictures(folder, n_per_class=6, seed=0):
    """Photographs of three kinds of stripes, in color, of various sizes."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    for k, name in enumerate(("across", "down", "plain")):
        (folder / name).mkdir(parents=True)
        for i in range(n_per_class):
            height, width = rng.integers(40, 60, 2)
            at = np.indices((height, width))[k % 2]
            wave = np.zeros((height, width)) if k == 2 else 60 * np.sin(at + rng.uniform(0, 6))
            pixels = (
                120
                + wave[:, :, None] * np.array([1.0, 0.6, 0.3])
                + rng.normal(0, 12, (height, width, 3))
            )
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / name / f"{i}.jpg")
    return folder
