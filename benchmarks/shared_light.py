"""Measure errors if all classes share a nuisance: faces of Extended Yale B under changing light.

    python benchmarks/shared_light.py [--splits 5] [--per-class 10]

There are ten training images of each of 38 persons. All images have unit norm, which helps every
method. `SmoothEmbedding` and LDA have default parameters, and the support vector machine is tuned by
cross-validation. It needs NSSE_DATA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from common import RESULTS, parser_of, study_samples, versions, write_json
from nsse import SmoothEmbedding
from nsse.datasets import per_class_split

GRID = [
    {"kernel": ["linear"], "C": [1, 10, 100, 1000]},
    {"kernel": ["rbf"], "C": [1, 10, 100, 1000], "gamma": [0.1, 0.3, 1, 3, 10, 30]},
]
METHODS: dict[str, Any] = {
    "SmoothEmbedding": SmoothEmbedding,
    "LDA": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "SVC, tuned": lambda: GridSearchCV(SVC(), GRID, cv=3),
}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the mean errors."""
    parser = parser_of(__doc__, RESULTS / "shared_light.json")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=10)
    options = parser.parse_args(argv)
    X, y = study_samples("yale")
    X = normalize(X)
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed in range(options.splits):
        train, test = per_class_split(y, options.per_class, seed)
        for name, make in METHODS.items():
            score = make().fit(X[train], y[train]).score(X[test], y[test])
            errors[name].append(round(100 * (1 - score), 2))
            print(f"split {seed}  {name}: {errors[name][-1]} %", flush=True)
    means = {name: round(float(np.mean(values)), 2) for name, values in errors.items()}
    print("mean  " + "  ".join(f"{name} {mean:.1f} %" for name, mean in means.items()))
    record = {"per class": options.per_class, "errors": errors, "means": means, **versions()}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
