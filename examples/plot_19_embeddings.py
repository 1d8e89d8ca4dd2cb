"""
Embeddings of a network: intents, and what belongs to none
==========================================================

A pretrained network turns sentences or photographs into vectors of some hundred numbers, and a few
labelled ones are to become a classifier. The vectors are made up here as such networks make them: on a
sphere, crowded around a common direction, classes in groups that are close to each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from nsse import SmoothEmbedding
from nsse.datasets import per_class_split

rng = np.random.default_rng(0)
n_features, topics = 384, ["card", "transfer", "account", "exchange"]
common, style = rng.normal(size=n_features), rng.normal(size=(20, n_features))
names, centers, strange = [], [], []
for topic in topics:
    about = rng.normal(size=n_features)
    for number in range(4):
        names.append(f"{topic} {number + 1}")
        centers.append(common + 0.8 * about + 0.4 * rng.normal(size=n_features))
    strange += [common + 0.8 * about + 0.4 * rng.normal(size=n_features) for _ in range(10)]


def sentences(center, n):
    """Around a center: what is said, how it is said (the same directions for all), and noise."""
    X = center + 0.15 * rng.normal(size=(n, 20)) @ style + 1.2 * rng.normal(size=(n, n_features))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


y = np.repeat(np.arange(16), 60)
X = np.concatenate([sentences(center, 60) for center in centers])
strangers = np.concatenate([sentences(center, 6) for center in strange])  # other intents, same topics
train, test = per_class_split(y, 5, 0)

model = SmoothEmbedding().fit(X[train], y[train])
for name, one in {
    "SmoothEmbedding()": model,
    "logistic regression": LogisticRegression(C=100, max_iter=500).fit(X[train], y[train]),
    "nearest neighbour, cosine": KNeighborsClassifier(1, metric="cosine").fit(X[train], y[train]),
}.items():
    print(f"{name}: {one.score(X[test], y[test]):.1%} of {len(test)} new sentences right")

# %%
# Two things that people draw of embeddings: how alike classes are, here by the scores that the
# sentences of one get for the others, topics as blocks; and how well sentences of no known intent are
# told from the others.

scores = model.decision_function(X[test])
alike = np.array([scores[y[test] == intent].mean(axis=0) for intent in range(16)])
known, new = model.typicality(X[test]), model.typicality(strangers)
area = roc_auc_score(np.r_[np.zeros(len(known)), np.ones(len(new))], -np.r_[known, new])
print(f"sentences of no intent against the others: area under the curve {area:.2f};")
refused = [np.mean(p <= 0.05) for p in (known, new)]
print(f"refused at 5 %: {refused[0]:.0%} of the known, {refused[1]:.0%} of the others")

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
largest = np.sort(alike, axis=1)[:, -2].max()
image = left.imshow(alike, cmap="viridis", vmax=largest)
left.set_xticks(range(16), names, rotation=90, fontsize=8)
left.set_yticks(range(16), names, fontsize=8)
left.set(title="mean scores of new sentences", xlabel="score of", ylabel="sentences of")
figure.colorbar(image, ax=left, shrink=0.8, extend="max")
bins = np.linspace(0, 1, 26)
for values, name in ((known, "known intents"), (new, "no known intent")):
    right.hist(values, bins=bins, density=True, alpha=0.6, label=name)
right.set(title="typicality", xlabel="p-value", ylabel="density")
right.legend()
plt.show()
