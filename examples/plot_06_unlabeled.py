"""
Unlabeled samples: simulated moons and digits
=============================================

Labels are often expensive, and samples are cheap. With ``unlabeled=GraphPenalty()`` the class
scores change little between neighbors, with or without a label. This helps if neighbors share a
class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from nsse import SmoothEmbedding
from nsse.datasets import load_dataset, per_class_split
from nsse.unlabeled import GraphPenalty

# %%
# Two simulated moons with three labels each, without and with the 194 other samples.

X, y = make_moons(200, noise=0.08, random_state=0)
known, _ = per_class_split(y, 3, 0)
partly = np.full(200, -1)
partly[known] = y[known]

few = SmoothEmbedding(metric=None).fit(X[known], y[known])
many = SmoothEmbedding(metric=None, sigma=0.3, unlabeled=GraphPenalty()).fit(X, partly)
across, up = np.meshgrid(np.linspace(-1.5, 2.5, 200), np.linspace(-1, 1.5, 130))
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
names = "Six labeled samples", "and 194 unlabeled"
for axis, name, model in zip(axes, names, (few, many), strict=True):
    score = model.decision_function(np.c_[across.ravel(), up.ravel()]).reshape(across.shape)
    axis.contourf(across, up, score, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.15)
    axis.scatter(*X.T, s=6, color="0.55")
    for label in (0, 1):
        chosen = known[y[known] == label]
        axis.scatter(*X[chosen].T, s=55, color=f"C{label}", edgecolor="black")
    right = np.mean(model.predict(X) == y)
    axis.set(title=f"{name}: {right:.0%} correct", xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
plt.show()

# %%
# Handwritten digits with three labeled images of each digit and 480 images without a label. The
# last two lines are semi-supervised methods of scikit-learn.

data = load_dataset("digits", unit_norm=True)
named, rest = per_class_split(data.y, 3, 100)
rest = np.random.default_rng(0).permutation(rest)
unnamed, new = rest[:480], rest[480:]
rows = np.r_[named, unnamed]
labels = np.where(np.isin(rows, named), data.y[rows], -1)

calibrated = CalibratedClassifierCV(SVC(C=10), ensemble=False, cv=3)
alone = SmoothEmbedding().fit(data.X[named], data.y[named])
together = SmoothEmbedding(unlabeled=GraphPenalty()).fit(data.X[rows], labels)
models = {
    "30 labeled images": alone,
    "and 480 unlabeled ones": together,
    "label spreading": LabelSpreading(kernel="knn", n_neighbors=5).fit(data.X[rows], labels),
    "self-training SVM": SelfTrainingClassifier(calibrated).fit(data.X[rows], labels),
}
for name, model in models.items():
    print(f"{name}: {1 - model.score(data.X[new], data.y[new]):.1%} of {len(new)} new images wrong")
