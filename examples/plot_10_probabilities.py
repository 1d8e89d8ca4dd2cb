"""
Probabilities, and sets with a guarantee
========================================

``predict_proba`` says how likely each class is; a :class:`~nsse.certificates.ConformalClassifier`
gives as many labels as are needed to hold the true one nine times in ten.
"""

import matplotlib.pyplot as plt
import numpy as np

from nsse import SmoothEmbedding
from nsse.certificates import ConformalClassifier
from nsse.datasets import load_dataset, per_class_split

digits = load_dataset("digits")
train, rest = per_class_split(digits.y, 5, 100)
test = rest[1::4]
X_test, y_test = digits.X[test], digits.y[test]

model = SmoothEmbedding().fit(digits.X[train], digits.y[train])
probability = model.predict_proba(X_test).max(axis=1)
right = model.predict(X_test) == y_test

# %%
# Of the labels that are given with 70 %, about 70 % should be right. Above the line: too modest.

edges = np.array([0, 0.4, 0.55, 0.7, 0.8, 0.9, 0.96, 1])
bins = np.digitize(probability, edges[1:-1])
mean = [probability[bins == k].mean() for k in range(len(edges) - 1)]
true = [right[bins == k].mean() for k in range(len(edges) - 1)]
figure, axis = plt.subplots(figsize=(4.4, 4.2), layout="constrained")
axis.plot([0, 1], [0, 1], color="0.8", lw=1)
axis.scatter(mean, true, s=[2 * np.sum(bins == k) ** 0.7 for k in range(len(mean))])
axis.set(xlabel="probability of the label", ylabel="share that is right", aspect="equal")
axis.set(xlim=(0.2, 1.02), ylim=(0.2, 1.02), title="Reliability, by groups of samples")
plt.show()

# %%
# Sets of labels: one where the sample is clear, more where it is not. No samples are held back for
# them: the training samples are left out one by one, in closed form.

sets = ConformalClassifier(model, alpha=0.1).fit()
members = sets.predict_set(X_test)
held = members[np.arange(len(y_test)), y_test].mean()
print(
    f"the set holds the true label in {held:.1%}, and {members.sum(axis=1).mean():.2f} labels on average"
)

hardest = np.argsort(-members.sum(axis=1), kind="stable")[:6]
figure, axes = plt.subplots(1, 6, figsize=(9, 1.9), layout="constrained")
for axis, k in zip(axes, hardest, strict=True):
    axis.imshow(X_test[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(" or ".join(map(str, np.flatnonzero(members[k]))), fontsize=9, loc="center")
    axis.axis("off")
plt.show()
