"""Error on photographs and on features of networks, beside tuned classifiers on the same features.

    python benchmarks/photographs.py [--splits N] [--check]

`photos` are pictures in ``$NSSE_DATA/photos`` through EfficientNet-Lite0 (``$NSSE_DATA/encoders``), 10
of each class to train; the others are features in ``$NSSE_DATA/wide``, as the encoder gives them out
(square roots, norm 1). Ours is untuned. The logistic regression has its C, the SVM its C and width, by
five-fold cross-validation on the training samples. Rows are kept in ``results/photographs.jsonl`` and
computed where they are missing. The choices (norm, resizing) were made on seeds from 100 on; these are
seeds from 0 on.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from nsse import SmoothEmbedding
from nsse.datasets import Encoder, load_inputs, per_class_split

ROWS = Path(__file__).parent / "results" / "photographs.jsonl"
SIZES = {
    "photos": (10,),
    "embedded_trash": (5, 10),
    "embedded_flowers": (5, 10),
    "embedded_banking": (5, 10),
}
METHODS = ("SmoothEmbedding", "logistic regression, tuned", "SVC, tuned")
PIXELS = "SmoothEmbedding on pixels"
MOST_TEST = 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="compute one row of each set again")
    options = parser.parse_args()
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    for name, sizes in SIZES.items():
        for size in sizes:
            _complete(rows, name, size, options.splits)
    print(table(rows))
    if options.check:
        for row in {row["set"]: row for row in rows}.values():
            now = computed(row["set"], row["size"], row["seed"])
            print(row["set"], row["size"], row["seed"], "stored", row["errors"], "now", now)


def _complete(rows: list[dict[str, Any]], name: str, size: int, splits: int) -> None:
    known = {row["seed"] for row in rows if (row["set"], row["size"]) == (name, size)}
    for seed in sorted(set(range(splits)) - known):
        rows.append({"set": name, "size": size, "seed": seed, "errors": computed(name, size, seed)})
        with ROWS.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")


def computed(name: str, size: int, seed: int) -> dict[str, float]:
    """The error of every method on one split."""
    parts, y = samples(name)
    train, test = per_class_split(y, size, seed)
    test = np.random.default_rng(seed).permutation(test)[:MOST_TEST]
    errors = {}
    for method in (*METHODS, *[PIXELS] * ("pixels" in parts)):
        X = parts["pixels" if method == PIXELS else "features"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = _model(method).fit(X[train], y[train])
        errors[method] = float(np.mean(model.predict(X[test]) != y[test]))
    return errors


def samples(name: str) -> tuple[dict[str, Any], Any]:
    """Features of a set, pixels where it has pictures, and labels."""
    home = Path(os.environ["NSSE_DATA"])
    if name != "photos":
        with np.load(home / "wide" / f"{name}.npz") as stored:
            X, y = stored["X"].astype(float), stored["y"]
        shares = np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)
        return {"features": np.sign(X) * np.sqrt(shares)}, y
    encoder = Encoder(home / "encoders" / "efficientnet_lite0.onnx", mean=127, std=128)
    inputs = load_inputs(home / "photos", encoder=encoder)
    pixels = load_inputs(home / "photos", color=True)
    return {"features": inputs.X, "pixels": pixels.X}, inputs.y


def _model(method: str) -> Any:
    folds, powers = StratifiedKFold(5, shuffle=True, random_state=0), 10.0 ** np.arange(-2, 5)
    if method == METHODS[1]:
        return GridSearchCV(LogisticRegression(max_iter=3000), {"C": powers}, cv=folds)
    if method == METHODS[2]:
        return GridSearchCV(SVC(), {"C": powers[1:], "gamma": ["scale", 0.1, 1.0, 10.0]}, cv=folds)
    return SmoothEmbedding()


def table(rows: list[dict[str, Any]]) -> str:
    """Mean errors in per cent and standard errors, and geometric means over the sets of features."""
    methods = [*METHODS, PIXELS]
    lines = [
        f"| set | per class | splits | {' | '.join(methods)} |",
        f"|---|---:|---:|{'---:|' * len(methods)}",
    ]
    means: dict[str, list[float]] = {method: [] for method in METHODS}
    for name, sizes in SIZES.items():
        for size in sizes:
            own = [row["errors"] for row in rows if (row["set"], row["size"]) == (name, size)]
            cells = []
            for method in methods:
                errors = 100 * np.array([one[method] for one in own if method in one])
                cells.append(_cell(errors))
                if name != "photos" and method in means and len(errors):
                    means[method].append(float(errors.mean()))
            lines.append(f"| {name} | {size} | {len(own)} | {' | '.join(cells)} |")
    whole = [
        f"{np.exp(np.mean(np.log(means[method]))):.2f}" if means[method] else "" for method in METHODS
    ]
    return "\n".join([*lines, f"| geometric mean of the embedded sets | | | {' | '.join(whole)} | |"])


def _cell(errors: Any) -> str:
    if not len(errors):
        return ""
    return f"{errors.mean():.1f} ± {errors.std(ddof=1) / np.sqrt(len(errors)):.1f}"


if __name__ == "__main__":
    main()
