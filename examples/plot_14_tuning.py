"""
Parameters, chosen for you
==========================

:class:`~nsse.SmoothEmbeddingCV` chooses metric, kernel width, smoothness and decision rule by
cross-validation, in seconds: one eigendecomposition serves every smoothness. The best few points vote.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import SmoothEmbedding, SmoothEmbeddingCV

X, y = load_wine(return_X_y=True)
order = np.random.default_rng(100).permutation(len(y))
train, test = order[:45], order[45:]

for model in (SmoothEmbedding(), SmoothEmbeddingCV(random_state=0)):
    scaled = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
    print(f"{model}: {scaled.score(X[test], y[test]):.1%} of {len(test)} wines right")
print(model.best_params_)

# %%
# A grid of your own is scikit-learn's: parameters of the metric are parameters of the model.

grid = {"sigma": [0.3, 0.65, 1.0, 2.0, 4.0], "smoothness": [0.01, 0.1, 1.0, 10.0, 100.0]}
search = GridSearchCV(SmoothEmbedding(), grid).fit(scaled[0].transform(X[train]), y[train])
scores = search.cv_results_["mean_test_score"].reshape(5, 5)

figure, axis = plt.subplots(figsize=(5.6, 4), layout="constrained")
picture = axis.imshow(100 * scores, cmap="cividis")
for (row, column), score in np.ndenumerate(scores):
    color = "black" if score > scores.mean() else "white"
    axis.annotate(f"{100 * score:.1f}", (column, row), ha="center", va="center", color=color)
axis.set(xlabel="smoothness", ylabel="sigma, in median distances", title="Right on samples held out, %")
axis.set_xticks(range(5), grid["smoothness"])
axis.set_yticks(range(5), grid["sigma"])
plt.show()
