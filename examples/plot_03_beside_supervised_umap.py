"""
Beside supervised UMAP, out of sample
=====================================

Supervised UMAP draws clean islands of the samples it is fitted to. The question is where *new*
samples go. Both methods see twenty labelled pictures of each digit, and are asked for 500 that they
have not seen.

UMAP needs ``pip install 'nsse[umap]'``, and compiles its code at first use: most of the seconds of
this page.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import nsse
from nsse import SmoothEmbedding

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # UMAP's, about its own dependencies
    from umap import UMAP

X, y = load_digits(return_X_y=True)
X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
X_new, y_new = rest[:500], y_rest[:500]

model = SmoothEmbedding().fit(X_train, y_train)
umap = UMAP(random_state=0, n_jobs=1).fit(X_train, y_train)
seen, new = umap.embedding_, umap.transform(X_new)
wrong = KNeighborsClassifier(1).fit(seen, y_train).predict(new) != y_new

# %%
# The left panel is the class map of SmoothEmbedding, which shows class probabilities. The right panel
# shows the two coordinates of UMAP, with labels by the nearest training sample. Misclassified samples
# are circled. In the class map they are between the corners. In the right panel, many of them are inside
# an island of another class.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
nsse.plot.class_map(model, X_new, y_new, ax=axes[0])
axes[0].set_title(f"SmoothEmbedding: {1 - model.score(X_new, y_new):.1%} of new samples wrong")
for digit in range(10):
    axes[1].scatter(*new[y_new == digit].T, s=9, color=f"C{digit}")
    middle = np.median(seen[y_train == digit], axis=0)
    axes[1].annotate(str(digit), middle, xytext=(12, 9), textcoords="offset points", weight="bold")
axes[1].scatter(*new[wrong].T, s=40, facecolor="none", edgecolor="black", lw=0.9)
axes[1].set(title=f"Supervised UMAP: {wrong.mean():.1%} wrong", xticks=[], yticks=[])
axes[1].spines[:].set_visible(False)
plt.show()
