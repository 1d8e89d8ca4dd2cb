"""Compare the log-loss of probabilities with that of other classifiers with default parameters.

    NSSE_DATA=<folder> python benchmarks/probabilities.py            # add --tuned for SmoothEmbeddingCV

There are eight data sets and ten splits. Images have unit norm, except for digits. Columns of tables are
standardized by the training samples. ``SVC`` is ``CalibratedClassifierCV(SVC(C=10), ensemble=False)``.
The table is in `docs/research/measurements.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from common import RESULTS, parser_of, study_samples, write_json
from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.datasets import per_class_split

IMAGES = {"digits": 20, "coil20": 20, "orl": 5, "yale": 20}  # training samples per class
TABLES = {"pima": 50, "segment": 20, "sonar": 30, "vowel": 20}
METHODS: dict[str, Any] = {
    "untuned": SmoothEmbedding,
    "SVC": lambda: CalibratedClassifierCV(SVC(C=10), ensemble=False),
    "LDA": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic": lambda: LogisticRegression(max_iter=500),
    "forest": lambda: RandomForestClassifier(200, random_state=0),
}


def losses(name: str, per_class: int, n_splits: int, methods: dict[str, Any]) -> dict[str, Any]:
    """Return the mean log-loss of each method on a data set, and the rank of our models."""
    X, y = study_samples(name)
    found: dict[str, list[float]] = {method: [] for method in methods}
    for seed in range(n_splits):
        train, test = per_class_split(y, per_class, seed)
        Z = X
        if name in TABLES:
            spread = X[train].std(axis=0)
            Z = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        for method, make in methods.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # regressions of few samples do not converge
                P = make().fit(Z[train], y[train]).predict_proba(Z[test])
            found[method].append(float(log_loss(y[test], P, labels=np.unique(y))))
    means = {method: round(float(np.mean(values)), 3) for method, values in found.items()}
    others = [means[m] for m in ("SVC", "LDA", "logistic", "forest")]
    ours = [method for method in ("untuned", "tuned") if method in means]
    places = {f"place, {m}": 1 + sum(value < means[m] for value in others) for m in ours}
    return {"set": name, "per class": per_class, **means, **places}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Print and store the losses."""
    parser = parser_of(__doc__, RESULTS / "probabilities.json")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[*IMAGES, *TABLES])
    parser.add_argument("--tuned", action="store_true", help="SmoothEmbeddingCV as well")
    options = parser.parse_args(argv)
    methods = METHODS | ({"tuned": SmoothEmbeddingCV} if options.tuned else {})
    record = []
    for name, per_class in (IMAGES | TABLES).items():
        if name in options.only:
            record.append(losses(name, per_class, options.splits, methods))
            print("  ".join(f"{key} {value}" for key, value in record[-1].items()), flush=True)
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
