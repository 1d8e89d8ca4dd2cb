"""
Simulated gene expression with a batch effect
=============================================

The simulated data have 3,000 genes and eight training patients per class. Most genes have nothing
to do with the disease, some dozens change together, and two laboratories measured differently. Real
gene expression is different. On real data, logistic regression is at least as good (see the study
in the research part).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from nsse import SmoothEmbedding
from nsse.datasets import per_class_split

rng = np.random.default_rng(0)
n_patients, n_genes, subtypes = 240, 3000, np.array(["basal", "luminal", "normal-like"])
y = rng.integers(0, 3, n_patients)
pathways = 1.8 * np.eye(3)[y] + 0.5 * rng.normal(size=(n_patients, 3))  # one is active in each subtype
member = np.zeros((3, n_genes))
for pathway in range(3):
    member[pathway, rng.choice(n_genes, 40, replace=False)] = rng.normal(1.2, 0.4, 40)
others = rng.normal(size=(n_patients, 12)) @ rng.normal(scale=0.25, size=(12, n_genes))  # age, diet, ...
laboratory = rng.integers(0, 2, n_patients)[:, np.newaxis] * rng.normal(scale=0.4, size=n_genes)
level = rng.normal(6, 2, n_genes)  # logarithms of counts
X = level + pathways @ member + others + laboratory + 0.7 * rng.normal(size=(n_patients, n_genes))

train, test = per_class_split(y, 8, 0)
model = make_pipeline(StandardScaler(), SmoothEmbedding())
models = {
    "SmoothEmbedding": model,
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "SVM": make_pipeline(StandardScaler(), SVC(C=10)),
}
for name, one in models.items():
    right = one.fit(X[train], subtypes[y[train]]).score(X[test], subtypes[y[test]])
    print(f"{name}: {right:.1%} of {len(test)} new patients are correct")

# %%
# The left panel shows the genes with the largest weights in the metric. Most of them belong to the
# simulated pathways. The right panel shows new patients in the embedding.

weights = model[-1].metric_.weights_
first = np.argsort(-weights)[:60]
true = (member[:, first] != 0).any(axis=0).mean()
print(f"{true:.0%} of the 60 genes with the largest weights belong to a pathway")
order = train[np.argsort(y[train], kind="stable")]
leader = np.abs(np.corrcoef(X[train][:, first].T, np.eye(3)[y[train]].T)[:60, 60:]).argmax(axis=1)
Z = StandardScaler().fit_transform(X[order][:, first[np.argsort(leader, kind="stable")]])

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
image = left.imshow(Z.T, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
left.set(xlabel="training patients, by subtype", ylabel="60 genes with the largest weights")
left.set_xticks([3.5, 11.5, 19.5], subtypes)
left.set_yticks([])
for edge in (7.5, 15.5):
    left.axvline(edge, color="black", linewidth=1)
figure.colorbar(image, ax=left, label="expression, standardized", shrink=0.8)
places, found = model.transform(X[test]), model.predict(X[test])
for name in subtypes:
    right.scatter(*places[subtypes[y[test]] == name].T, s=18, alpha=0.8, label=name)
wrong = places[found != subtypes[y[test]]]
right.scatter(*wrong.T, s=70, facecolors="none", edgecolors="black", linewidths=0.8, label="wrong label")
right.set(title="new patients in the embedding", xticks=[], yticks=[])
right.legend(fontsize=9)
plt.show()
