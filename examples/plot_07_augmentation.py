"""
Augmentation: rotated digits
============================

A digit that is shifted or turned a little is the same digit. :class:`~nsse.SmoothEmbedding` uses
such images as further training samples. It makes them inside ``fit``, so that no version of a test
image is used for training.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from nsse import SmoothEmbedding
from nsse.augment import Images
from nsse.datasets import load_dataset, per_class_split

data = load_dataset("digits", unit_norm=True)
train, test = per_class_split(data.y, 6, 100)
views = Images(data.image_shape, rotate=6)

# %%
# One training image and its augmented versions:

three = data.X[train][data.y[train] == 3][:1]
pictures = np.vstack([three, *views(three)])
names = "original", *views.names
figure, axes = plt.subplots(1, len(names), figsize=(10, 2.1), layout="constrained")
for axis, picture, name in zip(axes, pictures, names, strict=True):
    axis.imshow(picture.reshape(data.image_shape), cmap="gray")
    axis.set_title(name.replace(", ", ",\n"), fontsize=8, weight="normal", loc="center")
    axis.axis("off")
plt.show()

# %%
# The models are trained on six images of each digit. The SVM and the nearest neighbor are trained
# on the same augmented images.

X, y = data.X[train], data.y[train]
augmented = np.vstack([X, *views(X)]), np.tile(y, 1 + views.n_copies)
models = {
    "SmoothEmbedding": SmoothEmbedding().fit(X, y),
    "SmoothEmbedding, augmented": SmoothEmbedding(augment=views).fit(X, y),
    "SVM": SVC(C=10).fit(X, y),
    "SVM, augmented": SVC(C=10).fit(*augmented),
    "nearest neighbor, augmented": KNeighborsClassifier(1).fit(*augmented),
}
for name, model in models.items():
    print(f"{name}: {1 - model.score(data.X[test], data.y[test]):.1%} of {len(test)} new images wrong")
