"""
Simulated spirals: many samples, blocks and Dask
================================================

An exact fit takes cubic time in the number of samples. With fewer centers, a fit reads the samples
in blocks, and its time is linear. Memory depends on the number of centers. If there are more than
5,000 samples, this is the default.
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
# The figure shows a fifth of 10,000 samples, and the predicted labels with 10, 50 and 200 centers.

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
    axis.set(title=f"{m} centers: {wrong:.1%} wrong", xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# Samples that do not fit into memory can be read in blocks, from any source that can be read more
# than once. The model does not depend on the size of the blocks.


def read_blocks():
    for start in range(0, len(X), 3000):  # usually from files
        yield X[start : start + 3000], y[start : start + 3000]


streamed = SmoothEmbedding(centers=200, sigma=0.3).fit_blocks(read_blocks)
difference = np.abs(streamed.transform(X_new) - model.transform(X_new)).max()
print(f"largest difference between embeddings with and without blocks: {difference:.0e}")

# %%
# Workers of Dask compute the sums of their own chunks, so samples are never collected in one place.
# Here the workers are threads of this computer. With a cluster, only ``Client("tcp://…")`` is
# added. Predictions are lazy as well.

rows = da.from_array(X, chunks=(4096, -1))
distributed = SmoothEmbedding(centers=200, sigma=0.3).fit(rows, y)
difference = np.abs(distributed.transform(rows[:1000]).compute() - model.transform(X[:1000])).max()
print(f"largest difference between embeddings with and without Dask: {difference:.0e}")
print(distributed.predict(rows))

# %%
# The memory that a fit takes can be computed before it starts, here for MNIST.

print(f"{SmoothEmbedding(centers=3000).estimate_memory(60_000, 784) / 1e9:.2f} GB")
