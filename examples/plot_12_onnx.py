"""
ONNX in three lines
===================

The map and its labels, in plain ONNX operators: the graph runs wherever ONNX does, without Python
and without this library.
"""

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
model = make_pipeline(StandardScaler(), nsse.SmoothEmbedding()).fit(X_train, y_train)

# %%
# The three lines:

graph = nsse.to_onnx(model).SerializeToString()
session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
embedding, label = session.run(["embedding", "label"], {"X": X_new.astype(np.float32)})

# %%
# The same numbers, in single precision:

print(f"{len(graph) / 1e3:.0f} kB; labels agree on {np.mean(label == model.predict(X_new)):.2%}")
difference = np.abs(embedding - model.transform(X_new))
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.hist(np.log10(difference.ravel() + 1e-12), bins=40)
axis.set(xlabel="log10 of the difference of a coordinate, ONNX and Python", ylabel="coordinates")
plt.show()
