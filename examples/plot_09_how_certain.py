"""
Probabilities, prediction sets and rejections for digits
========================================================

The model is trained on ten images of each digit. It returns calibrated probabilities, prediction
sets that contain the true label in about 90 % of the cases, certified radii that can be used to
reject uncertain samples, and a p-value that is small for samples of unknown classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

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
# About 70 % of the labels with a probability of 70 % should be correct. Above the line, the
# probabilities are too low. The log-losses show how good the probabilities are, and lower values
# are better.

baselines = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "calibrated SVM": CalibratedClassifierCV(SVC(C=10), ensemble=False),
}
for name, one in {"SmoothEmbedding": model, **baselines}.items():
    if name in baselines:
        one.fit(digits.X[train], digits.y[train])
    print(f"{name}: log-loss {log_loss(y_test, one.predict_proba(X_test)):.2f}")

nsse.plot.reliability(model, X_test, y_test)

# %%
# Prediction sets contain one label for clear samples and several labels for others. They need no
# calibration set, because the training samples are left out one by one in closed form.

sets = ConformalClassifier(model, alpha=0.1).fit()
members = sets.predict_set(X_test)
covered = members[np.arange(len(y_test)), y_test].mean()
size = members.sum(axis=1)
print(f"{covered:.1%} of the sets contain the true label, with {size.mean():.2f} labels on average")

hardest = np.argsort(-size, kind="stable")[:6]
figure, axes = plt.subplots(1, 6, figsize=(9, 1.9), layout="constrained")
for axis, k in zip(axes, hardest, strict=True):
    axis.imshow(X_test[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(" or ".join(map(str, np.flatnonzero(members[k]))), fontsize=9, loc="center")
    axis.axis("off")
plt.show()

# %%
# Misclassified samples usually have small radii. :class:`~nsse.certificates.SelectivePredictor`
# rejects the samples with the smallest radii.

careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(digits.X[calibration])
refused = (careful.predict(X_test) == -1).mean()
print(f"all samples: {model.score(X_test, y_test):.1%} correct")
print(f"{refused:.0%} are rejected, and {careful.score(X_test, y_test):.1%} of the others are correct")
nsse.plot.risk_coverage(model, X_test, y_test)

# %%
# This model was trained without eights and nines. ``typicality`` compares the scores of a new
# sample with the scores of left-out training samples. It is small for samples of unknown classes.

seen = np.isin(digits.y, range(8))
few = train[seen[train]]
eight = SmoothEmbedding().fit(digits.X[few], digits.y[few])
known, new = (eight.typicality(X_test[seen[test] == which]) for which in (True, False))
refused = [np.mean(p <= 0.05) for p in (known, new)]
print(
    f"typicality of at most 5 %: {refused[0]:.0%} of the known digits, {refused[1]:.0%} of the new ones"
)

figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for values, name in ((known, "0 to 7"), (new, "8 and 9")):
    axis.hist(values, bins=np.linspace(0, 1, 21), density=True, alpha=0.6, label=name)
axis.set(xlabel="p-value", ylabel="density", title="Digits of known and of new classes")
axis.legend()
plt.show()

# sphinx_gallery_thumbnail_number = 3
