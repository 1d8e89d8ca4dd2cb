"""Measure how well class maps separate classes, and whether relevant features matter.

    python benchmarks/ask.py maps        # nearest neighbors in class maps and in all dimensions
    python benchmarks/ask.py features    # accuracy lost by deleting a tenth of the features
    python benchmarks/ask.py pictures    # class_map.png and explanation.png of the guides

The digits come with scikit-learn. The other sets need NSSE_DATA. There are five splits with at most
1500 test samples. The power of the class map was chosen on other splits.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from common import RESULTS, ROOT, study_samples, versions, write_json
from nsse import SmoothEmbedding
from nsse.class_maps import ClassMap, class_map_of, confusions, training_probabilities
from nsse.datasets import per_class_split
from nsse.explanations import feature_relevance
from nsse.figures import new_figure, place_axes
from nsse.plot import class_map, explanation

Floats = NDArray[np.float64]

MOST_TEST = 1500
DELETED = 0.1  # share of the features
DRAWS = 20
# Names as in `reproduction.study.sets`, and training samples per class.
MAPS = {"digits": 30, "orl": 5, "coil20": 15, "yale": 10, "embedded_banking": 10}
OTHERS: dict[str, Any] = {
    "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
}
FEATURES = {"digits": 30, "genes_leukemia": 10, "spectra_coffee": 10}


def samples(name: str) -> tuple[Floats, NDArray[Any]]:
    """Return all samples of a data set."""
    return load_digits(return_X_y=True) if name == "digits" else study_samples(name)


def split(y: NDArray[Any], size: int, seed: int) -> tuple[Any, Any]:
    """Return training samples of every class, and some of the others."""
    train, test = per_class_split(y, size, seed)
    return train, np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])


def neighbors(X: Floats, y: NDArray[Any], size: int, seed: int) -> dict[str, float]:
    """Accuracy of the models, and of five nearest neighbors in their embedding and class maps."""
    train, test = split(y, size, seed)
    model = SmoothEmbedding().fit(X[train], y[train])

    def right(F: Floats, G: Floats) -> float:
        return float(KNeighborsClassifier(5).fit(F, y[train]).score(G, y[test]))

    F, G = model.transform(X[train]), model.transform(X[test])
    found = {"scores": float(model.score(X[test], y[test])), "all dimensions": right(F, G)}
    placed = class_map_of(model)
    left_out, _ = training_probabilities(model)
    found["class map"] = right(placed(left_out), placed(model.predict_proba(X[test])))
    found["first two"] = right(F[:, :2], G[:, :2])
    for name, other in OTHERS.items():
        fitted = clone(other).fit(X[train], y[train])
        P = fitted.predict_proba(X[train])
        codes = np.unique(y[train], return_inverse=True)[1]
        placed = ClassMap.of_confusions(confusions(P, codes))
        found[f"class map, {name}"] = right(placed(P), placed(fitted.predict_proba(X[test])))
    return found


def deletions(X: Floats, y: NDArray[Any], size: int, seed: int) -> dict[str, float]:
    """Return the accuracy, and what is lost if a tenth of the features is set to their mean."""
    train, test = split(y, size, seed)
    model = SmoothEmbedding().fit(X[train], y[train])
    right, mean = float(model.score(X[test], y[test])), X[train].mean(axis=0)
    count = max(1, round(DELETED * X.shape[1]))

    def cost(which: Any) -> float:
        without = X[test].copy()
        without[:, which] = mean[which]
        return right - float(model.score(without, y[test]))

    order, rng = np.argsort(-feature_relevance(model)), np.random.default_rng(seed)
    at_random = [cost(rng.permutation(X.shape[1])[:count]) for _ in range(DRAWS)]
    return {
        "right": right,
        "relevant": cost(order[:count]),
        "random": float(np.mean(at_random)),
        "irrelevant": cost(order[-count:]),
    }


def pictures(folder: Path) -> None:
    """Draw the class maps of three classifiers, and explanations of digits."""
    X, y = samples("digits")
    train, new = split(y, MAPS["digits"], 0)
    model = SmoothEmbedding().fit(X[train], y[train])
    wrong = new[model.predict(X[new]) != y[new]][:4]
    shown = np.concatenate([[new[y[new] == digit][0] for digit in (1, 3, 4, 7)], wrong])
    explanation(model, X[shown], shape=(8, 8)).save(folder / "explanation.png")
    figure = new_figure(15.0, 5.9)
    models = [clone(other).fit(X[train], y[train]) for other in OTHERS.values()]
    for k, each in enumerate([*models, model]):
        class_map(each, X[new], y[new], ax=place_axes(figure, 0.25 + 4.95 * k, 0.95, 4.6, 4.4))
    figure.savefig(folder / "class_map.png", dpi=100)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the measurements of a part, or draw the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "\n").splitlines()[0])
    parser.add_argument("part", choices=["maps", "features", "pictures"])
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, help="file of results, or folder of pictures")
    options = parser.parse_args(argv)
    if options.part == "pictures":
        pictures(options.out or ROOT / "docs" / "images")
        return {}
    sizes = MAPS if options.part == "maps" else FEATURES
    rows = {}
    for name in options.sets or sizes:
        X, y = samples(name)
        found = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(options.splits):
                measure = neighbors if options.part == "maps" else deletions
                found.append(measure(X, y, sizes[name], seed))
        rows[name] = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
        print(f"{name:18}", ", ".join(f"{key} {100 * value:.1f}" for key, value in rows[name].items()))
    record = {"part": options.part, "splits": options.splits, "percent": rows, **versions()}
    write_json(options.out or RESULTS / f"ask_{options.part}.json", record)
    return record


if __name__ == "__main__":
    main()
