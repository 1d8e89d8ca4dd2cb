"""Compare `SmoothEmbedding` with tuned classifiers on photographs and on features of networks.

    NSSE_DATA=<folder> python benchmarks/photographs.py [--splits N]

`photos` contains images of ``$NSSE_DATA/photos`` with features of EfficientNet-Lite0
(``$NSSE_DATA/encoders``) and 10 training images per class. The other data sets are features in
``$NSSE_DATA/wide`` in the form of the encoder, which are square roots of norm 1. Our model is untuned.
C of the logistic regression, and C and the width of the SVM, are chosen by cross-validation with five
folds. The norm and the size of images were chosen on splits from 100 on. The table shows splits from 0
on.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from common import RESULTS, Row, markdown_table, mean_and_error, parser_of, resumed, wide_arrays
from nsse import SmoothEmbedding
from nsse.datasets import Encoder, load_inputs, per_class_split

ROWS = RESULTS / "photographs.jsonl"
SIZES = {
    "photos": (10,),
    "embedded_trash": (5, 10),
    "embedded_flowers": (5, 10),
    "embedded_banking": (5, 10),
}
METHODS = ("SmoothEmbedding", "logistic regression, tuned", "SVC, tuned")
PIXELS = "SmoothEmbedding on pixels"
MOST_TEST = 1500


def measured(name: str, size: int, seed: int) -> Row:
    """Return the error of every method on one split."""
    parts, y = samples(name)
    train, test = per_class_split(y, size, seed)
    test = np.random.default_rng(seed).permutation(test)[:MOST_TEST]
    errors = {}
    for method in (*METHODS, *[PIXELS] * ("pixels" in parts)):
        X = parts["pixels" if method == PIXELS else "features"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = model_of(method).fit(X[train], y[train])
        errors[method] = float(np.mean(model.predict(X[test]) != y[test]))
    return {"errors": errors}


def samples(name: str) -> tuple[dict[str, Any], Any]:
    """Return the features of a data set, its pixels if it contains images, and its labels."""
    if name != "photos":
        X, y = wide_arrays(name)
        shares = np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)
        return {"features": np.sign(X) * np.sqrt(shares)}, y
    home = Path(os.environ["NSSE_DATA"])
    encoder = Encoder(home / "encoders" / "efficientnet_lite0.onnx", mean=127, std=128)
    inputs = load_inputs(home / "photos", encoder=encoder)
    pixels = load_inputs(home / "photos", color=True)
    return {"features": inputs.X, "pixels": pixels.X}, inputs.y


def model_of(method: str) -> Any:
    folds, powers = StratifiedKFold(5, shuffle=True, random_state=0), 10.0 ** np.arange(-2, 5)
    if method == METHODS[1]:
        return GridSearchCV(LogisticRegression(max_iter=3000), {"C": powers}, cv=folds)
    if method == METHODS[2]:
        return GridSearchCV(SVC(), {"C": powers[1:], "gamma": ["scale", 0.1, 1.0, 10.0]}, cv=folds)
    return SmoothEmbedding()


def table(rows: Sequence[Row]) -> str:
    """Return mean errors in percent, and their geometric means over the data sets of features."""
    lines = []
    means: dict[str, list[float]] = {method: [] for method in METHODS}
    for name, size in ((name, size) for name, sizes in SIZES.items() for size in sizes):
        own = [row["errors"] for row in rows if (row["set"], row["size"]) == (name, size)]
        line = [name, size, len(own)]
        for method in (*METHODS, PIXELS):
            errors = [100 * split[method] for split in own if method in split]
            line.append("{:.1f} ± {:.1f}".format(*mean_and_error(errors)) if errors else "")
            if name != "photos" and method in means:
                means[method].append(float(np.mean(errors)))
        lines.append(line)
    geometric = [f"{np.exp(np.mean(np.log(values))):.2f}" for values in means.values()]
    lines.append(["geometric mean of the embedded sets", "", "", *geometric, ""])
    return markdown_table(["set", "per class", "splits", *METHODS, PIXELS], lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the missing rows and print the table."""
    parser = parser_of(__doc__, ROWS)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args(argv)
    splits = range(options.splits)
    cells = [(name, size, seed) for name, sizes in SIZES.items() for size in sizes for seed in splits]
    print(table(resumed(options.out, ("set", "size", "seed"), cells, measured)))


if __name__ == "__main__":
    main()
