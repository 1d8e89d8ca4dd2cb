"""
What does not change a class
============================

A picture that is turned a little or mirrored shows the same solid. :class:`~nsse.NSSE` takes such
copies as more samples, made inside ``fit``, so that none of them gets from one side of a split to
the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from nsse import NSSE
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.invariances import Images

data = load_dataset("objects", size=(25, 25), unit_norm=True)
train, test = per_class_split(data.y, 6, 100)
views = Images(data.image_shape, shift=None, rotate=6, mirror=True)

# %%
# One sample, and the copies that are made of it:

duck = data.X[train][data.y[train] == 1 + data.class_names.index("duck")][:1]
pictures = np.vstack([duck, *views(duck)])
names = "as it is", *views.names
figure, axes = plt.subplots(1, len(names), figsize=(10, 2.1), layout="constrained")
for axis, picture, name in zip(axes, pictures, names, strict=True):
    axis.imshow(picture.reshape(data.image_shape), cmap="gray")
    axis.set_title(name.replace(", ", ",\n"), fontsize=8, weight="normal", loc="center")
    axis.axis("off")
plt.show()

# %%
# Six pictures of each of twenty solids to learn from:

for name, invariances in {"without copies": None, "with copies": views}.items():
    model = NSSE(invariances=invariances).fit(data.X[train], data.y[train])
    error = 1 - model.score(data.X[test], data.y[test])
    print(f"{name}: {error:.1%} of {len(test)} new pictures wrong, {model.n_copies_} copies of a sample")
