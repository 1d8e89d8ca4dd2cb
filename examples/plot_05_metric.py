"""
The learned metric on simulated data and on digits
==================================================

Differences between neighbors of one class are a nuisance. :class:`~nsse.WithinMetric` makes
distances short in these directions. It is the metric of :class:`~nsse.SmoothEmbedding`, and also a
transformer that can be put in front of any method that measures distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline

from nsse import WithinMetric
from nsse.datasets import load_dataset, per_class_split

# %%
# These two simulated classes are stretched by a variation that has nothing to do with them. The
# nearest neighbor by Euclidean distance often belongs to the wrong class, and the nearest neighbor
# in the metric does not.

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
    axis.set(title=f"{name}: {share:.0%} of nearest neighbors share the class", xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# The nearest neighbor of handwritten digits, with ten training images of each digit. A larger
# ``shrinkage`` gives a more Euclidean metric, and infinity gives the Euclidean metric itself.

data = load_dataset("digits", unit_norm=True)
train, test = per_class_split(data.y, 10, 100)
for shrinkage in (np.inf, 10, 3, 1, 0.3):
    model = make_pipeline(WithinMetric(shrinkage), KNeighborsClassifier(1))
    error = 1 - model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])
    print(f"shrinkage {shrinkage:>4}: error of the nearest neighbor {error:.1%}")

# %%
# Two other supervised distances for comparison:

baselines = {
    "LDA": LinearDiscriminantAnalysis(),
    "NCA": NeighborhoodComponentsAnalysis(max_iter=30, random_state=0),
}
for name, baseline in baselines.items():
    model = make_pipeline(baseline, KNeighborsClassifier(1))
    error = 1 - model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])
    print(f"{name}: error of the nearest neighbor {error:.1%}")
