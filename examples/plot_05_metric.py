"""
A metric that knows the classes
===============================

:class:`~nsse.WithinMetric` makes distances short in the directions in which neighbours of one class
differ. It is the metric inside :class:`~nsse.SmoothEmbedding`, and a transformer of its own, to be put
before anything that measures distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from nsse import WithinMetric
from nsse.datasets import load_dataset, per_class_split

# %%
# Two classes side by side, stretched by something that has nothing to do with them. By Euclidean
# distances the nearest neighbour is often of the wrong class; in the metric it is not.

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 40)
nuisance, difference = 8 * rng.normal(size=80), y + 0.18 * rng.normal(size=80)
X = np.c_[nuisance, difference] @ np.array([[1, 0.5], [-0.5, 1]])
metric = WithinMetric(shrinkage=0.01, n_neighbors=None).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axis, Z, name in zip(axes, (X, metric.transform(X)), ("Before", "After"), strict=True):
    nearest = KNeighborsClassifier(2).fit(Z, y).kneighbors(Z, return_distance=False)[:, 1]
    share = np.mean(y[nearest] == y)
    for label in (0, 1):
        axis.scatter(*Z[y == label].T, s=14)
    axis.set(title=f"{name}: {share:.0%} of nearest neighbours share the class", xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# The same with handwritten digits, ten images of each to learn from. The larger ``shrinkage``, the
# closer the metric is to the Euclidean one, which infinity gives.

data = load_dataset("digits", unit_norm=True)
train, test = per_class_split(data.y, 10, 100)
for shrinkage in (np.inf, 10, 3, 1, 0.3):
    model = make_pipeline(WithinMetric(shrinkage), KNeighborsClassifier(1))
    error = 1 - model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])
    print(f"shrinkage {shrinkage:>4}: error of the nearest neighbour {error:.1%}")
