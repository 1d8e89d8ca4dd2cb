"""
How certain is a label?
=======================

Ten pictures of each digit to learn from. A label comes with a probability, with a set that holds the
true one nine times in ten, with a certified radius by which doubtful samples can be refused, and with
a p-value that is small where the sample is of no known class.
"""

import matplotlib.pyplot as plt
import numpy as np

import nsse
from nsse import SmoothEmbedding
from nsse.certificates import ConformalClassifier, SelectivePredictor
from nsse.datasets import load_dataset, per_class_split

digits = load_dataset("digits")
train, rest = per_class_split(digits.y, 10, 100)
calibration, test = rest[::4], rest[1::4]
X_test, y_test = digits.X[test], digits.y[test]
model = SmoothEmbedding().fit(digits.X[train], digits.y[train])

# %%
# Of the labels that are given with 70 %, about 70 % should be right. Above the line, probabilities are
# too modest.

nsse.plot.reliability(model, X_test, y_test)

# %%
# Sets of labels: one where the sample is clear, more where it is not. No samples are held back for
# them: the training samples are left out one by one, in closed form.

sets = ConformalClassifier(model, alpha=0.1).fit()
members = sets.predict_set(X_test)
covered = members[np.arange(len(y_test)), y_test].mean()
size = members.sum(axis=1)
print(f"{covered:.1%} of the sets hold the true label; {size.mean():.2f} labels on average")

hardest = np.argsort(-size, kind="stable")[:6]
figure, axes = plt.subplots(1, 6, figsize=(9, 1.9), layout="constrained")
for axis, k in zip(axes, hardest, strict=True):
    axis.imshow(X_test[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(" or ".join(map(str, np.flatnonzero(members[k]))), fontsize=9, loc="center")
    axis.axis("off")
plt.show()

# %%
# A radius does not know the right label, but mistakes have small ones.
# :class:`~nsse.certificates.SelectivePredictor` refuses the samples with the smallest.

careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(digits.X[calibration])
refused = (careful.predict(X_test) == -1).mean()
print(f"all samples: {model.score(X_test, y_test):.1%} right")
print(f"{refused:.0%} refused; {careful.score(X_test, y_test):.1%} of the others right")
nsse.plot.risk_coverage(model, X_test, y_test)

# %%
# A model that has never seen an eight or a nine. Far from all classes every score is small.
# ``typicality`` is a p-value, from the scores of training samples that were left out one by one.

seen = np.isin(digits.y, range(8))
few = train[seen[train]]
eight = SmoothEmbedding().fit(digits.X[few], digits.y[few])
known, new = (eight.typicality(X_test[seen[test] == which]) for which in (True, False))
refused = [np.mean(p <= 0.05) for p in (known, new)]
print(f"refused at 5 %: {refused[0]:.0%} of the known digits, {refused[1]:.0%} of the new ones")

figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for values, name in ((known, "0 to 7"), (new, "8 and 9")):
    axis.hist(values, bins=np.linspace(0, 1, 21), density=True, alpha=0.6, label=name)
axis.set(xlabel="p-value", ylabel="density", title="Digits of known and of new classes")
axis.legend()
plt.show()

# sphinx_gallery_thumbnail_number = 3
