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
from nsse import NSSE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # UMAP's, about its own dependencies
    from umap import UMAP

X, y = load_digits(return_X_y=True)
X_train, rest, y_train, y_rest = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
X_new, y_new = rest[:500], y_rest[:500]

model = NSSE().fit(X_train, y_train)
umap = UMAP(random_state=0, n_jobs=1).fit(X_train, y_train)
seen, new = umap.embedding_, umap.transform(X_new)
wrong = KNeighborsClassifier(1).fit(seen, y_train).predict(new) != y_new

# %%
# On the left the nine dimensions of NSSE in one linear view; on the right the plane of UMAP, labels
# by the nearest training sample. Wrong ones are ringed. Those of NSSE lie between the corners; of
# those of UMAP many lie inside an island of another class, with nothing to tell them from the
# others.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
nsse.plot.embedding(model, X_new, y_new, ax=axes[0])
axes[0].set_title(f"NSSE: {1 - model.score(X_new, y_new):.1%} of new samples wrong")
for digit in range(10):
    axes[1].scatter(*new[y_new == digit].T, s=9, color=f"C{digit}")
    middle = np.median(seen[y_train == digit], axis=0)
    axes[1].annotate(str(digit), middle, xytext=(12, 9), textcoords="offset points", weight="bold")
axes[1].scatter(*new[wrong].T, s=40, facecolor="none", edgecolor="black", lw=0.9)
axes[1].set(title=f"Supervised UMAP: {wrong.mean():.1%} wrong", xticks=[], yticks=[])
axes[1].spines[:].set_visible(False)
plt.show()

# %%
# Two dimensions are few for ten classes, and UMAP is the better of the two there: it may bend as it
# likes. A map for pictures is what it is made for; NSSE asks for as many dimensions as it needs.

plane = NSSE(n_components=2, classifier="nearest").fit(X_train, y_train)
print(f"NSSE in two dimensions: {1 - plane.score(X_new, y_new):.1%} wrong")

# %%
# A map that is a function gives a sample the same place in any company. UMAP places new samples by
# an optimisation over the batch that they come in:

for name, fitted, batch in (("NSSE", model, model.transform(X_new)), ("UMAP", umap, new)):
    alone = np.vstack([fitted.transform(X_new[[k]]) for k in range(5)])
    moved = np.linalg.norm(alone - batch[:5], axis=1).max() / batch.std()
    print(f"{name}: asked alone, a sample moves by up to {moved:.1g} standard deviations")
