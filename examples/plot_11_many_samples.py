"""
Many samples: centres, blocks and Dask
======================================

An exact fit has a centre at every sample and takes cubic time. With fewer centres it is one pass over
the samples, a block at a time; memory is bounded by the number of centres, however many samples there
are. Beyond some thousand samples that is the default.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from nsse import SmoothEmbedding

rng = np.random.default_rng(0)


def spirals(n_samples):
    """Three arms, wound around each other."""
    y, along = rng.integers(0, 3, n_samples), np.sqrt(rng.uniform(0.02, 1, n_samples))
    angle = 2 * np.pi * (1.1 * along + y / 3)
    X = np.c_[along * np.cos(angle), along * np.sin(angle)]
    return X + 0.05 * rng.normal(size=X.shape), y


X, y = spirals(10_000)
X_new, y_new = spirals(5_000)

# %%
# 10,000 samples, a fifth of them drawn, and the regions of the labels by 10, 50 and 200 centres:

across, up = np.meshgrid(*[np.linspace(-1.25, 1.25, 220)] * 2)
plane = np.c_[across.ravel(), up.ravel()]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axis, m in zip(axes, (10, 50, 200), strict=True):
    model = SmoothEmbedding(centers=m, sigma=0.3).fit(X, y)
    labels = model.predict(plane).reshape(across.shape)
    colors = [f"C{label}" for label in range(3)]
    axis.contourf(across, up, labels, levels=np.arange(-0.5, 3), colors=colors, alpha=0.18)
    axis.scatter(*X[::5].T, s=3, c=[f"C{label}" for label in y[::5]])
    wrong = 1 - model.score(X_new, y_new)
    axis.set(title=f"{m} centres: {wrong:.1%} wrong", xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# Samples that do not fit into memory come in blocks, from any source that can be read more than
# once. The model is the same, however the rows are cut.


def read_blocks():
    for start in range(0, len(X), 3000):  # here from an array; else from files, one after the other
        yield X[start : start + 3000], y[start : start + 3000]


streamed = SmoothEmbedding(centers=200, sigma=0.3).fit_blocks(read_blocks)
difference = np.abs(streamed.transform(X_new) - model.transform(X_new)).max()
print(f"largest difference of an embedding, streamed and not: {difference:.0e}")

# %%
# A Dask array is fitted where its chunks are: workers sum over their rows, and the sums meet in a
# tree. Samples are never gathered. Here the workers are threads of this machine;
# ``Client("tcp://…")`` is all that changes. Predictions are lazy as well.

rows = da.from_array(X, chunks=(4096, -1))
distributed = SmoothEmbedding(centers=200, sigma=0.3).fit(rows, y)
difference = np.abs(distributed.transform(rows[:1000]).compute() - model.transform(X[:1000])).max()
print(f"largest difference of an embedding, by Dask and not: {difference:.0e}")
print(distributed.predict(rows))

# %%
# What a fit will take is known before it starts: bytes beside the samples, for MNIST.

print(f"{SmoothEmbedding(centers=3000).estimate_memory(60_000, 784) / 1e9:.2f} GB")
