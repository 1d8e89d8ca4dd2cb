"""
Parameters, chosen for you
==========================

`NSSECV` chooses metric, kernel scale, smoothness and reader by cross-validation, in seconds: one
eigendecomposition serves every weight. The best few points vote.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import NSSE, NSSECV

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
# ``cv_results_`` is that of ``GridSearchCV``: here the best score at each scale of the kernel, for
# each shrinkage of the metric.

points, scores = search.cv_results_["params"], search.cv_results_["mean_test_score"]
best = {}
for point, score in zip(points, scores, strict=True):
    key = point.get("shrinkage", np.inf), point["sigma"]
    best[key] = max(best.get(key, 0), score)
figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for shrinkage in sorted({s for s, _ in best}):
    curve = sorted((sigma, score) for (s, sigma), score in best.items() if s == shrinkage)
    axis.plot(*zip(*curve, strict=True), marker="o", ms=4, label=f"shrinkage {shrinkage:g}")
axis.set(xscale="log", xlabel="σ, in median distances", ylabel="score on samples held out")
axis.legend()
plt.show()
