"""
Digits: the class map and supervised UMAP on new samples
========================================================

Supervised UMAP draws clean islands of the samples that it is fitted to. This example asks where
*new* samples are placed. All methods are trained on 20 images of each digit and draw 500 new ones.

UMAP needs ``pip install 'nsse[umap]'``. It compiles its code at the first use.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import nsse
from nsse import SmoothEmbedding

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of UMAP about its dependencies
    from umap import UMAP

X, y = load_digits(return_X_y=True)
X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
X_new, y_new = rest[:500], y_rest[:500]

model = SmoothEmbedding().fit(X_train, y_train)
lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X_train, y_train)
umap = UMAP(random_state=0, n_jobs=1).fit(X_train, y_train)
seen, new = umap.embedding_, umap.transform(X_new)
wrong = KNeighborsClassifier(1).fit(seen, y_train).predict(new) != y_new

# %%
# The first two panels are class maps, which show class probabilities. A part of the advantage comes
# from this drawing, so linear discriminant analysis is drawn in the same way. The right panel shows
# the two coordinates of UMAP, with labels by the nearest training sample. Misclassified samples are
# circled. In a class map they are between the corners. In the right panel, many of them are inside
# an island of another class.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
for axis, one, name in zip(axes, (model, lda), ("SmoothEmbedding", "LDA"), strict=False):
    nsse.plot.class_map(one, X_new, y_new, ax=axis)
    axis.set_title(f"{name}: {1 - one.score(X_new, y_new):.1%} of the new digits wrong")
for digit in range(10):
    axes[2].scatter(*new[y_new == digit].T, s=9, color=f"C{digit}")
    middle = np.median(seen[y_train == digit], axis=0)
    axes[2].annotate(str(digit), middle, xytext=(12, 9), textcoords="offset points", weight="bold")
axes[2].scatter(*new[wrong].T, s=40, facecolor="none", edgecolor="black", lw=0.9)
axes[2].set(title=f"Supervised UMAP: {wrong.mean():.1%} wrong", xticks=[], yticks=[])
axes[2].spines[:].set_visible(False)
plt.show()
