"""
Simulated moons: certified radii
================================

Each prediction has a certified radius. **No** change of the sample that is shorter than the radius
changes its label. This is proved and not estimated. In the plane, the radii are circles.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from sklearn.datasets import make_moons

from nsse import SmoothEmbedding

X, y = make_moons(60, noise=0.12, random_state=0)
X_new, _ = make_moons(36, noise=0.12, random_state=1)
model = SmoothEmbedding(metric=None).fit(X, y)
radius = model.certified_radius(X_new)

# %%
# Every circle stays on its side of the boundary. Most circles do not touch it, because a certified
# radius is a lower bound.

across, up = np.meshgrid(np.linspace(-1.8, 2.8, 300), np.linspace(-1.3, 1.8, 200))
score = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)

figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
axis.contourf(across, up, score, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.13)
axis.contour(across, up, score, levels=[0], colors="0.3", linewidths=1)
for point, r, label in zip(X_new, radius, model.predict(X_new), strict=True):
    axis.add_patch(Circle(point, r, facecolor="none", edgecolor=f"C{label}", lw=1.1))
    axis.scatter(*point, s=9, color=f"C{label}")
axis.scatter(*X.T, s=5, color="0.6", zorder=0)
axis.set(xticks=[], yticks=[], aspect="equal", title="No change inside a circle changes the label")
axis.spines[:].set_visible(False)
plt.show()

# %%
# None of ten thousand random changes inside the circles changes a label.

rng = np.random.default_rng(0)
direction = rng.normal(size=(10_000, 2))
direction /= np.linalg.norm(direction, axis=1, keepdims=True)
which = rng.integers(len(X_new), size=10_000)
moved = X_new[which] + 0.999 * radius[which, None] * direction
changed = np.sum(model.predict(moved) != model.predict(X_new)[which])
print(f"{changed} of 10,000 labels changed; median radius {np.median(radius):.3f}")
