"""
Few samples per class
=====================

How the error falls with the number of training samples, on the same splits for all methods and with
nothing tuned: twenty rendered solids, 625 grey levels each. Linear discriminant analysis has fewer
samples than features nearly everywhere here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from nsse import SmoothEmbedding
from nsse.datasets import load_dataset, per_class_split

data = load_dataset("objects", size=(25, 25), unit_norm=True)
methods = {
    "SmoothEmbedding()": SmoothEmbedding(),
    "SVC(C=10)": SVC(C=10),
    "LDA with shrinkage": LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "1-NN": KNeighborsClassifier(1),
}
sizes, splits = (3, 5, 8, 12, 20), range(3)
errors = np.zeros((len(methods), len(sizes), len(splits)))
for (i, size), split in ((pair, split) for pair in enumerate(sizes) for split in splits):
    train, test = per_class_split(data.y, size, split)
    for k, model in enumerate(methods.values()):
        model.fit(data.X[train], data.y[train])
        errors[k, i, split] = 100 * (1 - model.score(data.X[test], data.y[test]))

# %%
# Means over three random splits. What the embedding has beside the label is the map. Where you know
# what may be done to a picture, :ref:`augmentation <sphx_glr_gallery_plot_07_augmentation.py>` does
# more than any choice of a method.

figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, means in zip(methods, errors.mean(axis=2), strict=True):
    axis.plot(sizes, means, marker="o", ms=4, lw=2.6 if "Smooth" in name else 1.5, label=name)
axis.set(xlabel="training samples per class", ylabel="error, %", ylim=(0, None))
axis.legend()
axis.set_xticks(sizes)
axis.grid(axis="y")
plt.show()
