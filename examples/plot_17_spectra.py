"""
Spectra: which bands tell two coffees apart
===========================================

A spectrum is a row of absorbances. How the powder lies in the cup scales and tilts all of it, and what
tells the kinds apart is a few bands. The data are made up that way: ten ground samples of each kind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from nsse import SmoothEmbedding

rng = np.random.default_rng(1)
wavelength = np.linspace(1100, 2500, 350)  # nm, near infrared
kinds = np.array(["arabica", "blend", "robusta"])
y = np.repeat([0, 1, 2], 60)


def band(center, width):
    return np.exp(-0.5 * ((wavelength - center) / width) ** 2)


water, fat, sugar, caffeine, acid = (
    band(1940, 60) + 0.6 * band(1450, 50),
    band(1725, 25) + 0.7 * band(2310, 30),
    band(2100, 70),
    band(2250, 22) + 0.5 * band(1670, 20),
    band(2140, 18),
)
share = y / 2  # of robusta: more caffeine and chlorogenic acid, less fat
content = np.c_[
    1 + 0.15 * rng.normal(size=180),
    0.6 - 0.12 * share + 0.05 * rng.normal(size=180),
    0.5 + 0.08 * rng.normal(size=180),
    0.10 + 0.09 * share + 0.01 * rng.normal(size=180),
    0.12 + 0.07 * share + 0.01 * rng.normal(size=180),
]
X = content @ np.array([water, fat, sugar, caffeine, acid])
slope = rng.normal(scale=0.25, size=(180, 1)) * np.linspace(-1, 1, 350)
X = X * rng.lognormal(0, 0.12, (180, 1)) + slope + 0.3 * rng.random((180, 1))
X += 0.004 * rng.normal(size=X.shape)


# %%
# Spectroscopists give every spectrum mean 0 and variance 1 first (SNV). Then columns are standardised;
# the metric makes short what differs within a kind: moisture, and what is left of the scatter.


def snv(X):
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)


train = np.concatenate([np.flatnonzero(y == kind)[:10] for kind in range(3)])
test = np.setdiff1d(np.arange(180), train)
model = make_pipeline(FunctionTransformer(snv), StandardScaler(), SmoothEmbedding())
model.fit(X[train], kinds[y[train]])
print(f"right: {model.score(X[test], kinds[y[test]]):.1%} of {len(test)} new samples")
print(f"5 folds of the training samples: {cross_val_score(model, X[train], y[train]).mean():.1%}")

# %%
# Which bands the prediction rests on: a little more absorbance in a window, and how far the score of
# robusta over arabica moves. The bands of caffeine and of chlorogenic acid stand out upward.

moved = np.zeros(350)
for place, center in enumerate(wavelength):
    raised = X[test] + 0.02 * band(center, 12)
    scores = [model.decision_function(rows) for rows in (X[test], raised)]
    moved[place] = np.mean((scores[1] - scores[0]) @ [-1, 0, 1])

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8.5, 5.4), sharex=True, layout="constrained", height_ratios=(3, 2)
)
for kind, name in enumerate(kinds):
    rows = snv(X[train[y[train] == kind]])
    (line,) = top.plot(wavelength, rows.mean(axis=0), linewidth=1.4, label=name)
    top.fill_between(wavelength, rows.min(axis=0), rows.max(axis=0), color=line.get_color(), alpha=0.15)
top.set_ylabel("absorbance, SNV")
top.legend(title="mean and range of ten", fontsize=9)
bottom.axhline(0, color="0.7", linewidth=0.8)
bottom.fill_between(wavelength, moved, where=moved > 0, color="C2", alpha=0.7)
bottom.fill_between(wavelength, moved, where=moved < 0, color="C0", alpha=0.7)
bands = {1670: "caffeine", 2140: "acid", 2250: "caffeine"}
for center, name in bands.items():
    height = moved[np.abs(wavelength - center).argmin()]
    place = {"textcoords": "offset points", "ha": "center", "fontsize": 9, "color": "0.3"}
    bottom.annotate(name, (center, height), (0, 5), **place)
bottom.margins(y=0.18)
bottom.set(xlabel="wavelength (nm)", ylabel="robusta over arabica,\nper 0.02 more absorbance")
plt.show()
