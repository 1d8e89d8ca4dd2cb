"""
Many samples: centres, blocks and Dask
======================================

An exact fit has a centre at every sample and takes cubic time. With fewer centres it is one pass over
the samples, a block at a time; memory is bounded by the number of centres, however many samples there
are. Beyond some thousand samples that is the default.
"""

from time import process_time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from nsse import SmoothEmbedding

X, y = make_moons(10_000, noise=0.22, random_state=0)
X_new, y_new = make_moons(5_000, noise=0.22, random_state=1)
y = y + 2 * (X[:, 0] > 1.2)  # three classes and a half moon cut in two
y_new = y_new + 2 * (X_new[:, 0] > 1.2)

centers, errors, seconds = (10, 20, 50, 100, 200), [], []
for m in centers:
    start = process_time()
    model = SmoothEmbedding(centers=m, sigma=0.3).fit(X, y)
    seconds.append(process_time() - start)
    errors.append(100 * (1 - model.score(X_new, y_new)))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for axis, values, name in zip(axes, (errors, seconds), ("error, %", "CPU seconds"), strict=True):
    axis.plot(centers, values, marker="o", ms=4)
    axis.set(xlabel="centres, for 10,000 samples", ylabel=name, ylim=(0, None))
    axis.grid(axis="y")
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
