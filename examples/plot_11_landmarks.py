"""
Many samples: landmarks, and blocks as they come
================================================

Exact NSSE has a centre at every sample and takes cubic time. With landmarks it is one pass over the
samples, a block at a time; memory is bounded by the number of landmarks, however many samples there
are.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from nsse import NSSE

X, y = make_moons(10_000, noise=0.22, random_state=0)
X_new, y_new = make_moons(5_000, noise=0.22, random_state=1)
y = y + 2 * (X[:, 0] > 1.2)  # three classes and a half moon cut in two
y_new = y_new + 2 * (X_new[:, 0] > 1.2)

landmarks, errors, seconds = (10, 20, 50, 100, 200), [], []
for m in landmarks:
    start = process_time()
    model = NSSE(n_landmarks=m, sigma=0.3).fit(X, y)
    seconds.append(process_time() - start)
    errors.append(100 * (1 - model.score(X_new, y_new)))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for axis, values, name in zip(axes, (errors, seconds), ("error, %", "CPU seconds"), strict=True):
    axis.plot(landmarks, values, marker="o", ms=4)
    axis.set(xlabel="landmarks, for 10,000 samples", ylabel=name, ylim=(0, None))
    axis.grid(axis="y")
plt.show()

# %%
# Samples that do not fit into memory come in blocks, from any source that can be read more than
# once. The model is the same, however the rows are cut.


def read_blocks():
    for start in range(0, len(X), 3000):  # here from an array; else from files, one after the other
        yield X[start : start + 3000], y[start : start + 3000]


streamed = NSSE(n_landmarks=200, sigma=0.3).fit_blocks(read_blocks)
difference = np.abs(streamed.transform(X_new) - model.transform(X_new)).max()
print(f"largest difference of an embedding, streamed and not: {difference:.0e}")

# %%
# What a fit will take is known before it starts: bytes beside the samples, for MNIST.

print(f"{NSSE(n_landmarks=3000).estimate_memory(60_000, 784) / 1e9:.2f} GB")
