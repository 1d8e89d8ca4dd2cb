"""
Parameters, chosen for you
==========================

:class:`~nsse.NSSECV` chooses metric, kernel scale, smoothness and reader by cross-validation, in
seconds: one eigendecomposition serves every weight. The best few points vote.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, NSSECV, SequentialSearchCV
from nsse.selection import BalancedSplits

X, y = load_wine(return_X_y=True)
order = np.random.default_rng(100).permutation(len(y))
train, test = order[:45], order[45:]

for name, model in {"NSSE()": NSSE(), "NSSECV()": NSSECV(random_state=0)}.items():
    scaled = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
    print(f"{name}: {scaled.score(X[test], y[test]):.1%} of {len(test)} wines right")

search = scaled[-1]
print({name: value for name, value in search.best_params_.items() if name != "classifier"})
print(f"{len(search.cv_results_['params'])} points tried, {len(search.voters_)} vote")

# %%
# A grid of your own is scikit-learn's ``GridSearchCV``; ``cv_results_`` is laid out alike.
# :class:`~nsse.SequentialSearchCV` tries one parameter at a time, as the paper does.

grid = {"sigma": [0.3, 0.65, 1.0, 2.0, 4.0], "mu2": [0.01, 0.1, 1.0, 10.0, 100.0]}
splits = BalancedSplits(10, 0.2, random_state=0)
every = GridSearchCV(NSSE(), grid, cv=splits)
scaled = make_pipeline(StandardScaler(), every).fit(X[train], y[train])
some = SequentialSearchCV(NSSE(), grid, cv=splits)
one_by_one = make_pipeline(StandardScaler(), some).fit(X[train], y[train])
for search in (scaled[-1], one_by_one[-1]):
    print(f"{len(search.cv_results_['params'])} tried: {search.best_params_}, {search.best_score_:.1%}")
found = scaled[-1].cv_results_
scores = np.full((5, 5), np.nan)
for point, score in zip(found["params"], found["mean_test_score"], strict=True):
    scores[grid["sigma"].index(point["sigma"]), grid["mu2"].index(point["mu2"])] = score

figure, axis = plt.subplots(figsize=(5.6, 4), layout="constrained")
picture = axis.imshow(100 * scores, cmap="cividis")
for (row, column), score in np.ndenumerate(scores):
    color = "black" if score > np.nanmean(scores) else "white"
    axis.annotate(f"{100 * score:.1f}", (column, row), ha="center", va="center", color=color)
axis.set(xlabel="mu2", ylabel="sigma, in median distances", title="Right on samples held out, %")
axis.set_xticks(range(5), grid["mu2"])
axis.set_yticks(range(5), grid["sigma"])
plt.show()
