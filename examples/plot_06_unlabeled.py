"""
Unlabelled samples
==================

Labels are often expensive, and samples are cheap. With ``unlabeled=GraphPenalty()`` the map also has
centers at the rows labeled -1, and it changes little between neighbors, whether they have a label or
not. This helps if neighbors share a class. For many samples, ``LabelPropagation()`` first gives labels
to all of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from nsse import SmoothEmbedding
from nsse.datasets import load_dataset, per_class_split
from nsse.unlabeled import GraphPenalty

# %%
# Two moons, three labels each, with and without the 194 other samples.

X, y = make_moons(200, noise=0.08, random_state=0)
known, _ = per_class_split(y, 3, 0)
partly = np.full(200, -1)
partly[known] = y[known]

few = SmoothEmbedding(metric=None).fit(X[known], y[known])
many = SmoothEmbedding(metric=None, sigma=0.3, unlabeled=GraphPenalty()).fit(X, partly)
across, up = np.meshgrid(np.linspace(-1.5, 2.5, 200), np.linspace(-1, 1.5, 130))
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
names = "Six labelled samples", "and 194 unlabelled"
for axis, name, model in zip(axes, names, (few, many), strict=True):
    score = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    axis.contourf(across, up, score, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.15)
    axis.scatter(*X.T, s=6, color="0.55")
    for label in (0, 1):
        chosen = known[y[known] == label]
        axis.scatter(*X[chosen].T, s=55, color=f"C{label}", edgecolor="black")
    right = np.mean(model.predict(X) == y)
    axis.set(title=f"{name}: {right:.0%} right", xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# Handwritten digits, three labeled images of each, and 480 images without a label:

data = load_dataset("digits", unit_norm=True)
named, rest = per_class_split(data.y, 3, 100)
rest = np.random.default_rng(0).permutation(rest)
unnamed, new = rest[:480], rest[480:]
rows = np.r_[named, unnamed]
labels = np.where(np.isin(rows, named), data.y[rows], -1)

alone = SmoothEmbedding().fit(data.X[named], data.y[named])
together = SmoothEmbedding(unlabeled=GraphPenalty()).fit(data.X[rows], labels)
for name, model in {"30 labeled": alone, "and 480 unlabeled": together}.items():
    print(f"{name}: {1 - model.score(data.X[new], data.y[new]):.1%} of {len(new)} new pictures wrong")
