"""
Digits: new samples in supervised UMAP and in two class maps
============================================================

Supervised UMAP draws clean islands of the samples that it is fitted to. This example shows where
*new* samples are placed. All methods are trained on 30 images of each digit and draw 1,497 new ones.

UMAP needs ``pip install 'nsse[umap]'``. It compiles its code at the first use.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
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
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

umap = UMAP(random_state=0, n_jobs=1).fit(X_train, y_train)
lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X_train, y_train)
model = SmoothEmbedding().fit(X_train, y_train)

# %%
# UMAP gives two coordinates, and the label of a new digit is that of most of the five nearest training
# digits. The other two methods have probabilities, which a class map shows. Each class is a corner of a
# polygon, and a digit between two corners could be either class.


def class_map(classifier):
    """Return the places of the training samples and of the new samples in the class map."""
    plot = nsse.plot.class_map(classifier, np.vstack([X_train, X_new]), ax=Figure().subplots())
    return np.split(plot.frame[["x", "y"]].to_numpy(), [len(X_train)])


maps = {
    "Supervised UMAP": (umap.embedding_, umap.transform(X_new)),
    "LDA, class map": class_map(lda),
    "SmoothEmbedding, class map": class_map(model),
}
in_picture = {
    name: KNeighborsClassifier(5).fit(seen, y_train).predict(new) for name, (seen, new) in maps.items()
}
predicted = [in_picture["Supervised UMAP"], lda.predict(X_new), model.predict(X_new)]

# %%
# All panels show the same 1,497 new digits and are drawn by the same rule. Each digit has the color of
# its class, and misclassified digits are circled. In a class map most of them are between the corners.
# In the plane of UMAP, many are inside an island of another class.

figure, axes = plt.subplots(1, 3, figsize=(14, 5), layout="constrained")
at_name = {"weight": "bold", "ha": "center", "va": "center", "textcoords": "offset points"}
for axis, (name, (seen, new)), labels in zip(axes, maps.items(), predicted, strict=True):
    wrong = labels != y_new
    center = np.median(seen, axis=0)
    for digit in range(10):
        axis.scatter(*new[y_new == digit].T, s=12, color=f"C{digit}", alpha=0.6, lw=0)
        own = seen[y_train == digit] - center
        outward = np.median(own, axis=0)
        outward /= np.linalg.norm(outward)
        end = center + outward * np.quantile(own @ outward, 0.9)
        axis.annotate(str(digit), end, xytext=18 * outward, **at_name)
    axis.scatter(*new[wrong].T, s=50, facecolor="none", edgecolor="black", lw=0.9)
    axis.set_title(f"{name}: {100 * wrong.mean():.1f} % wrong", loc="left")
    axis.set(xticks=[], yticks=[])
    axis.margins(0.1)
    axis.spines[:].set_visible(False)
plt.show()

# %%
# A part of the difference comes from the drawing, because a polygon has room for ten classes. The
# panel of LDA shows how large this part is. The class maps can also be judged like the plane of UMAP,
# by the five nearest training digits *in the picture*.

for name, labels in in_picture.items():
    print(f"{name}: {np.mean(labels != y_new):.1%} wrong by five neighbors in the picture")
