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

from nsse import SmoothEmbedding
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

model = make_pipeline(StandardScaler(), SmoothEmbedding()).fit(X[train], kinds[y[train]])
print(f"{model.score(X[test], kinds[y[test]]):.1%} of {len(test)} new beats right")

# %%
# What a cardiologist would look at: the beats of each kind, new ones that got a wrong label over them,
# and the beats that the model is not sure of: whose sets of labels hold more than one, nine times in
# ten the true one among them.

scaled = model[:-1].transform(X[test])
sets = ConformalClassifier(model[-1], alpha=0.1).fit().predict_set(scaled)
sure, found = sets.sum(axis=1) == 1, model.predict(X[test])
right = np.mean(found[sure] == kinds[y[test]][sure])
print(f"one label for {sure.mean():.0%} of the beats, {right:.1%} of them right")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for kind, axis in enumerate(axes):
    own = y[test] == kind
    axis.plot(1000 * seconds, X[test][own].T, color="0.8", linewidth=0.4)
    wrong = own & (found != kinds[kind])
    axis.plot(1000 * seconds, X[test][wrong].T, color="tab:red", linewidth=0.9)
    axis.plot(1000 * seconds, X[train[y[train] == kind]].mean(axis=0), color="black", linewidth=1.8)
    told = f"{kinds[kind]}: {wrong.sum()} of {own.sum()} wrong, {(own & ~sure).sum()} unsure"
    axis.set(title=told, xlabel="ms from the peak")
axes[0].set_ylabel("mV")
plt.show()
