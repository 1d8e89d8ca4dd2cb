"""
Beside supervised UMAP, out of sample
=====================================

Supervised UMAP draws clean islands of the samples it is fitted to. The question is where *new*
samples go. Both methods see twenty labelled pictures of each digit, map to the plane, and are asked
for 500 that they have not seen; the nearest training sample in the plane gives the label.

UMAP needs ``pip install 'nsse[umap]'``, and compiles its code at first use: most of the seconds of
this page.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from nsse import NSSE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # UMAP's, about its own dependencies
    from umap import UMAP

X, y = load_digits(return_X_y=True)
X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
X_new, y_new = rest[:500], y_rest[:500]

maps = {
    "NSSE": NSSE(n_components=2, classifier="nearest"),
    "supervised UMAP": UMAP(n_components=2, random_state=0, n_jobs=1),
}
planes = {}
for name, model in maps.items():
    model.fit(X_train, y_train)
    planes[name] = model.transform(X_train), np.asarray(model.transform(X_new))

# %%
# Two dimensions are few for ten classes: NSSE asks for nine, and is the more certain for it
# (below). In the plane the new samples of UMAP lie inside its islands, wrong ones as well
# (crosses), with nothing to tell them from the others; those of NSSE lie between the classes.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for axis, (name, (seen, new)) in zip(axes, planes.items(), strict=True):
    told = KNeighborsClassifier(1).fit(seen, y_train).predict(new)
    wrong = told != y_new
    for digit in range(10):
        here = (y_new == digit) & ~wrong
        axis.scatter(*new[here].T, s=9, color=f"C{digit}")
        middle = np.median(seen[y_train == digit], axis=0)
        axis.annotate(str(digit), middle, weight="bold", ha="center", va="center", fontsize=13)
    axis.scatter(*new[wrong].T, s=34, marker="x", color="black", lw=1.2)
    axis.set(title=f"{name}: {wrong.mean():.1%} of new samples wrong", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
plt.show()

# %%
# With all its dimensions:

print(f"NSSE(): {1 - NSSE().fit(X_train, y_train).score(X_new, y_new):.1%} of new samples wrong")

# %%
# A map that is a function gives a sample the same place in any company. UMAP places new samples by
# an optimisation over the batch they come in:

alone = {
    name: np.vstack([model.transform(X_new[[k]]) for k in range(5)]) for name, model in maps.items()
}
for name, (_, new) in planes.items():
    moved = np.linalg.norm(alone[name] - new[:5], axis=1) / new.std()
    print(f"{name}: a sample alone is moved by up to {moved.max():.1g} standard deviations")
