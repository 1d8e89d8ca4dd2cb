"""
A table, and parameters chosen for you
======================================

A DataFrame goes in and a DataFrame comes out; columns of different units are scaled first.
:class:`~nsse.SmoothEmbeddingCV` chooses metric, kernel width, smoothness and decision rule by
cross-validation, in seconds, and lets the best few points vote.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding, SmoothEmbeddingCV

wines = load_wine(as_frame=True)
kinds = wines.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X_train, X_new, y_train, y_new = train_test_split(
    wines.data, kinds, train_size=30, stratify=kinds, random_state=0
)
model = make_pipeline(StandardScaler(), SmoothEmbedding()).set_output(transform="pandas")
model.fit(X_train, y_train)
model.transform(X_new).head(3)

# %%
# Three classes have two coordinates:

nsse.plot.embedding(model, X_new, y_new)

# %%
# Which kinds are predicted as which:

nsse.plot.confusion(model, X_new, y_new)

# %%
# With parameters that are chosen on splits of the thirty training samples:

tuned = make_pipeline(StandardScaler(), SmoothEmbeddingCV(random_state=0)).fit(X_train, y_train)
for name, fitted in (("untuned", model), ("tuned", tuned)):
    print(f"{name}: {fitted.score(X_new, y_new):.1%} of {len(y_new)} wines right")
print(tuned[-1].best_params_)

# %%
# A grid of your own is scikit-learn's: parameters of the metric are parameters of the model.

grid = {"sigma": [0.3, 0.65, 1.0, 2.0, 4.0], "smoothness": [0.01, 0.1, 1.0, 10.0, 100.0]}
search = GridSearchCV(SmoothEmbedding(), grid).fit(model[0].transform(X_train), y_train)
scores = search.cv_results_["mean_test_score"].reshape(5, 5)

figure, axis = plt.subplots(figsize=(5.6, 4), layout="constrained")
axis.imshow(100 * scores, cmap="cividis")
for (row, column), score in np.ndenumerate(scores):
    color = "black" if score > scores.mean() else "white"
    axis.annotate(f"{100 * score:.1f}", (column, row), ha="center", va="center", color=color)
axis.set(xlabel="smoothness", ylabel="sigma, in median distances", title="Right on samples held out, %")
axis.set_xticks(range(5), grid["smoothness"])
axis.set_yticks(range(5), grid["sigma"])
plt.show()
