"""
Hyperparameters for the wine data
=================================

A data frame with columns of different units goes in, and a data frame with the embedding comes out.
:class:`~nsse.SmoothEmbeddingCV` chooses the hyperparameters by cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import nsse
from nsse import SmoothEmbedding, SmoothEmbeddingCV

wines = load_wine(as_frame=True)
kinds = wines.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X_train, X_new, y_train, y_new = train_test_split(
    wines.data, kinds, train_size=30, stratify=kinds, random_state=0
)
model = SmoothEmbedding(standardize=True).set_output(transform="pandas")
model.fit(X_train, y_train)
model.transform(X_new).head(3)

# %%
# Three classes have two coordinates.

nsse.plot.embedding(model, X_new, y_new)

# %%
# The confusion matrix shows which kinds are confused.

nsse.plot.confusion(model, X_new, y_new)

# %%
# The hyperparameters are chosen on splits of the 30 training samples. Two other classifiers are
# shown for comparison.

tuned = SmoothEmbeddingCV(SmoothEmbedding(standardize=True)).fit(X_train, y_train)
svm = make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.01, 0.1]}))
forest = RandomForestClassifier(random_state=0)
models = {
    "SmoothEmbedding": model,
    "SmoothEmbeddingCV": tuned,
    "tuned SVM": svm.fit(X_train, y_train),
    "random forest": forest.fit(X_train, y_train),
}
for name, fitted in models.items():
    print(f"{name}: {fitted.score(X_new, y_new):.1%} of {len(y_new)} new wines are correct")

# %%
# scikit-learn's grid search shows the accuracy for each setting.

grid = {"sigma": [0.3, 0.65, 1.0, 2.0, 4.0], "smoothness": [0.01, 0.1, 1.0, 10.0, 100.0]}
search = GridSearchCV(SmoothEmbedding(standardize=True), grid).fit(X_train, y_train)
scores = search.cv_results_["mean_test_score"].reshape(5, 5)

figure, axis = plt.subplots(figsize=(5.6, 4), layout="constrained")
axis.imshow(100 * scores, cmap="cividis")
for (row, column), score in np.ndenumerate(scores):
    color = "black" if score > scores.mean() else "white"
    axis.annotate(f"{100 * score:.1f}", (column, row), ha="center", va="center", color=color)
axis.set(xlabel="smoothness", ylabel="sigma, in median distances", title="Held-out accuracy, %")
axis.set_xticks(range(5), grid["smoothness"])
axis.set_yticks(range(5), grid["sigma"])
plt.show()
