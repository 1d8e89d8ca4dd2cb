"""
Simulated arcs: what the map does
=================================

No straight line separates these three arcs. :class:`~nsse.SmoothEmbedding` learns two smooth
functions of the plane, in which the arcs become three separate groups. New points are mapped by the
same functions.
"""

import matplotlib.pyplot as plt
import numpy as np

from nsse import SmoothEmbedding

rng = np.random.default_rng(0)


def arcs(n_per_class):
    angle = np.concatenate([turn + 2.6 * rng.random(n_per_class) for turn in (0.0, 2.1, 4.2)])
    radius = 1 + 0.28 * np.repeat(np.arange(3), n_per_class) + 0.42 * (angle % 2.1) / 2.1
    points = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return points + 0.05 * rng.normal(size=points.shape), np.repeat(np.arange(3), n_per_class)


X, y = arcs(25)
X_new, y_new = arcs(100)
model = SmoothEmbedding(sigma=0.4).fit(X, y)
print(f"accuracy on 300 new points: {model.score(X_new, y_new):.1%}")

# %%
# The panels show the samples, the two coordinates as functions of the plane, and the embedding of
# the new points, with the training samples in front.

side = np.linspace(-2.2, 2.2, 120)
plane = np.stack(np.meshgrid(side, side), axis=-1)
heights = model.transform(plane.reshape(-1, 2)).reshape(120, 120, 2)

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for label in range(3):
    axes[0].scatter(*X[y == label].T, s=16, label=f"class {label}")
    axes[3].scatter(*model.transform(X_new[y_new == label]).T, s=8, alpha=0.35, color=f"C{label}")
    axes[3].scatter(*model.embedding_[y == label].T, s=22, color=f"C{label}", edgecolor="white", lw=0.5)
for k in range(2):
    axes[1 + k].contourf(side, side, heights[..., k], levels=15, cmap="cividis")
    axes[1 + k].scatter(*X.T, s=4, color="white")
titles = "Samples", "First coordinate", "Second coordinate", "The embedding"
for axis, title in zip(axes, titles, strict=True):
    axis.set(title=title, xticks=[], yticks=[], box_aspect=1)
    axis.spines[:].set_visible(False)
plt.show()
