"""What each optional part is for, as programs that are run where only that part is installed.

Every program has `model`, a fitted SmoothEmbedding, and the samples `X` and `y` before it.
"""

BEFORE = """
from pathlib import Path
import numpy as np
import nsse
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
model = nsse.SmoothEmbedding().fit(X[::3], y[::3])
"""

WITHOUT_PARTS = """
assert model.score(X, y) > 0.9
assert nsse.SmoothEmbeddingCV().fit(X[::3], y[::3]).score(X, y) > 0.9
assert nsse.NSSE().fit(X[::3], y[::3]).score(X, y) > 0.8
assert (nsse.certificates.certified_radius(model, X) >= 0).all()
assert model.predict_proba(X).shape == (150, 3)
assert nsse.datasets.load_dataset("digits").X.shape[0] == 1797
for room in ("augment", "centers", "methods", "report", "splits"):
    getattr(nsse, room)
nsse.save(model, "model.nsse")
assert (nsse.load("model.nsse").predict(X) == model.predict(X)).all()
"""

OF_PART = {
    "plot": """
model.plot(X, y).save("map.png")
assert Path("map.png").stat().st_size > 5000
""",
    "images": """
digits = nsse.datasets.load_dataset("digits")
nsse.datasets.write_images(digits, range(40), Path("pictures"))
assert nsse.datasets.load_image_folder("pictures").X.shape == (40, 625)
""",
    # Who has not the part has no onnx either: what matters is what the encoder says then.
    "encode": """
from importlib.util import find_spec
if find_spec("onnx") is None:
    Path("net.onnx").write_bytes(b"a graph")
else:
    from onnx import TensorProto, helper, save
    shapes = {"x": ["n", 3, 8, 8], "y": ["n", 3, 1, 1]}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in "xy"]
    mean = helper.make_node("GlobalAveragePool", ["x"], ["y"])
    graph = helper.make_graph([mean], "means", ends[:1], ends[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
pictures = np.random.default_rng(0).integers(0, 256, (5, 9, 9, 3)).astype(np.uint8)
assert nsse.datasets.Encoder("net.onnx", norm="l2").transform(pictures).shape == (5, 3)
""",
    "dask": """
import dask.array
blocks = dask.array.from_array(X, chunks=(50, 4))
assert nsse.SmoothEmbedding(centers=20, random_state=0).fit(blocks, y).score(X, y) > 0.9
""",
    "tables": """
Path("table.csv").write_text("a,b,kind\\n" + "".join(f"{i},{i % 3},{'xy'[i % 2]}\\n" for i in range(20)))
assert nsse.datasets.load_inputs("table.csv", label="kind").X.shape == (20, 2)
""",
    "onnx": """
graph = nsse.to_onnx(model).SerializeToString()
import onnxruntime
session = onnxruntime.InferenceSession(graph)
(label,) = session.run(["label"], {"X": X.astype(np.float32)})
assert (label == model.predict(X)).mean() > 0.99
""",
}

CONSUMER = """
import numpy as np
import nsse

model: nsse.SmoothEmbedding = nsse.SmoothEmbedding().fit(np.eye(4), [0, 0, 1, 1])
nsse.save(model, "model.nsse")
"""
# The argument that no annotation of ours lets pass.
MISTAKEN_CONSUMER = "import nsse\n\nnsse.load(3)\n"
