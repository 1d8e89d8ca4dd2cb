"""
Refusing what is uncertain, or new
==================================

A radius does not know the right label, but mistakes have small ones.
:class:`~nsse.certificates.SelectivePredictor` refuses the least certain share of samples, and is
right more often on the others. And a sample may be of no known class at all.
"""

import matplotlib.pyplot as plt
import numpy as np

import nsse
from nsse import SmoothEmbedding
from nsse.certificates import SelectivePredictor
from nsse.datasets import load_dataset, per_class_split

digits = load_dataset("digits")
train, rest = per_class_split(digits.y, 10, 100)
calibration, test = rest[::4], rest[1::4]

model = SmoothEmbedding().fit(digits.X[train], digits.y[train])
careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(digits.X[calibration])

print(f"all samples: {model.score(digits.X[test], digits.y[test]):.1%} right")
refused = (careful.predict(digits.X[test]) == -1).mean()
print(f"{refused:.0%} refused; {careful.score(digits.X[test], digits.y[test]):.1%} of the others right")

# %%
# The share of mistakes among the samples with the largest radii, by how many are accepted:

nsse.plot.risk_coverage(model, digits.X[test], digits.y[test])

# %%
# A model that has never seen an eight or a nine. Far from all classes every score is small:
# ``novelty`` is a p-value, from the scores of training samples that were left out one by one.

seen = np.isin(digits.y, range(8))
few = train[seen[train]]
eight = SmoothEmbedding().fit(digits.X[few], digits.y[few])
known, new = (eight.novelty(digits.X[test][seen[test] == which]) for which in (True, False))
refused = [np.mean(p <= 0.05) for p in (known, new)]
print(f"refused at 5 %: {refused[0]:.0%} of the known digits, {refused[1]:.0%} of the new ones")

figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for values, name in ((known, "0 to 7"), (new, "8 and 9")):
    axis.hist(values, bins=np.linspace(0, 1, 21), density=True, alpha=0.6, label=name)
axis.set(xlabel="p-value", ylabel="density", title="Digits of known and of new classes")
axis.legend()
plt.show()
