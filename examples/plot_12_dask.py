"""
On a Dask cluster
=================

A Dask array is fitted where its chunks are: workers run the function of a local fit on its blocks
of rows, and the sums meet in a tree. Samples are never gathered. Here the workers are threads of
this machine; ``Client("tcp://…")`` is all that changes.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from nsse import NSSE

X, y = make_blobs(30_000, n_features=20, centers=6, cluster_std=5.0, random_state=0)
rows = da.from_array(X, chunks=(8192, -1))
print(rows)

model = NSSE(n_landmarks=200).fit(rows, y)

# %%
# What is asked for is lazy as well: nothing is computed before it is needed.

labels = model.predict(rows)
print(labels)
print(f"right on {(labels.compute() == y).mean():.1%} of the training samples")

# %%
# The same rows in one piece give the same model.

local = NSSE(n_landmarks=200).fit(X, y)
difference = np.abs(local.transform(X[:1000]) - model.transform(X[:1000])).max()
print(f"largest difference: {difference:.0e}")

embedding = model.transform(rows[:3000]).compute()
figure, axis = plt.subplots(figsize=(5, 4.4), layout="constrained")
for label in range(6):
    axis.scatter(*embedding[y[:3000] == label, :2].T, s=5, alpha=0.6)
axis.set(title="Two of five dimensions", xticks=[], yticks=[])
axis.spines[:].set_visible(False)
plt.show()
