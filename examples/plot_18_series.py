"""
Series: heartbeats from a few labelled ones
===========================================

Every beat of an electrocardiogram as a row of numbers, cut out around its peak. The model does not know
that columns are times; what it makes of them is smooth in time all the same. The beats are made up: a
normal one, one from the wrong place of the heart, and one after lack of oxygen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nsse import SmoothEmbeddingCV
from nsse.certificates import ConformalClassifier
from nsse.datasets import per_class_split

rng = np.random.default_rng(0)
seconds = np.linspace(-0.35, 0.45, 200)  # seconds around the peak
kinds = np.array(["normal", "ventricular", "ischaemic"])
# Waves P, Q, R, S, T of each kind: when, how wide (seconds), how high (millivolts).
waves = np.array(
    [
        [
            [-0.17, 0.025, 0.15],
            [-0.03, 0.010, -0.12],
            [0, 0.012, 1.1],
            [0.03, 0.011, -0.25],
            [0.24, 0.045, 0.30],
        ],
        [
            [-0.17, 0.025, 0.03],
            [-0.05, 0.025, -0.15],
            [0, 0.035, 0.95],
            [0.09, 0.035, -0.45],
            [0.26, 0.055, -0.15],
        ],
        [
            [-0.17, 0.025, 0.14],
            [-0.03, 0.010, -0.16],
            [0, 0.012, 1.0],
            [0.05, 0.030, -0.22],
            [0.23, 0.050, -0.02],
        ],
    ]
)


def beats(kind, n):
    """Some beats of a kind: rate, heights and widths differ, the baseline wanders, muscles hum."""
    at, width, height = np.moveaxis(waves[kind], -1, 0)[:, np.newaxis]
    at = at * rng.lognormal(0, 0.08, (n, 1)) + 0.006 * rng.normal(size=(n, 5))
    width, height = width * rng.lognormal(0, 0.15, (n, 5)), height * rng.lognormal(0, 0.3, (n, 5))
    shape = np.exp(-0.5 * ((seconds - at[..., np.newaxis]) / width[..., np.newaxis]) ** 2)
    wander = rng.normal(scale=0.12, size=(n, 1)) + rng.normal(scale=0.3, size=(n, 1)) * seconds
    return (height[..., np.newaxis] * shape).sum(axis=1) + wander + 0.05 * rng.normal(size=(n, 200))


y = np.repeat([0, 1, 2], 200)
X = np.concatenate([beats(kind, 200) for kind in range(3)])
train, test = per_class_split(y, 10, 0)

model = make_pipeline(StandardScaler(), SmoothEmbeddingCV(random_state=0))
model.fit(X[train], kinds[y[train]])
print(f"{model.score(X[test], kinds[y[test]]):.1%} of {len(test)} new beats right")

# %%
# What a cardiologist would look at: the mean of the ten beats of each kind, in black, over the new ones,
# and in red those that got a wrong label.

found = model.predict(X[test])
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for kind, axis in enumerate(axes):
    own = y[test] == kind
    wrong = own & (found != kinds[kind])
    axis.plot(1000 * seconds, X[test][own].T, color="0.85", linewidth=0.4)
    axis.plot(1000 * seconds, X[test][wrong].T, color="C2", linewidth=0.8)
    axis.plot(1000 * seconds, X[train[y[train] == kind]].mean(axis=0), color="black", linewidth=1.8)
    axis.set(title=f"{kinds[kind]}: {wrong.sum()} of {own.sum()} wrong", xlabel="ms from the peak")
axes[0].set_ylabel("mV")
plt.show()

# %%
# Sets of labels that hold the true one nine times in ten, from folds of the thirty labelled beats: one
# label where the model is sure.

sets = ConformalClassifier(model, alpha=0.1, cv=5).fit(X[train], kinds[y[train]]).predict_set(X[test])
sure = sets.sum(axis=1) == 1
right = np.mean(found[sure] == kinds[y[test]][sure])
print(f"one label for {sure.mean():.0%} of the beats, {right:.1%} of them right")
