"""
Rejecting what is uncertain
===========================

A radius does not know the right label, but mistakes have small ones.
:class:`~nsse.certificates.SelectivePredictor` refuses the least certain share of samples, and is
right more often on the others.
"""

import nsse
from nsse import NSSE
from nsse.certificates import SelectivePredictor
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split

digits = load_dataset("digits")
train, rest = per_class_split(digits.y, 10, 100)
calibration, test = rest[::4], rest[1::4]

model = NSSE().fit(digits.X[train], digits.y[train])
careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(digits.X[calibration])

print(f"all samples: {model.score(digits.X[test], digits.y[test]):.1%} right")
refused = (careful.predict(digits.X[test]) == -1).mean()
print(f"{refused:.0%} refused; {careful.score(digits.X[test], digits.y[test]):.1%} of the others right")

# %%
# The share of mistakes among the samples with the largest radii, by how many are accepted:

nsse.plot.risk_coverage(model, digits.X[test], digits.y[test])

# %%
# And the radii themselves, of right and of wrong labels:

nsse.plot.radii(model, digits.X[test], digits.y[test])
