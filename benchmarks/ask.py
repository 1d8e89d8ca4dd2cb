"""How well the plane separates, and whether relevant features are: the figures of two guide pages.

    python benchmarks/ask.py plane [--umap]      # neighbours in the plane, and in all dimensions
    python benchmarks/ask.py features            # accuracy lost by deleting a tenth of the features
    python benchmarks/ask.py pictures [--umap]   # plane.png and explanation.png of the guide

Digits come with scikit-learn, the others need NSSE_DATA. Five splits, at most 1500 samples to test on.
The power of the plane was chosen on other splits (seeds from 100 on).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from common import RESULTS, versions, write_json  # noqa: E402
from nsse import SmoothEmbedding  # noqa: E402
from nsse.datasets import per_class_split  # noqa: E402
from nsse.planes import plane  # noqa: E402

Floats = NDArray[np.float64]

MOST_TEST, DELETED, DRAWS = 1500, 0.1, 20
# Names as in `reproduction.study.sets`, and training samples per class.
PLANE = {"digits": 30, "orl": 5, "coil20": 15, "yale": 10, "embedded_banking": 10}
FEATURES = {"digits": 30, "genes_leukemia": 10, "spectra_coffee": 10}


def samples(name: str) -> tuple[Floats, NDArray[Any]]:
    """All samples of a set."""
    if name == "digits":
        return load_digits(return_X_y=True)
    from reproduction.study import sets

    there, missing = sets.found(None, [name])
    if name not in there:
        raise FileNotFoundError(" ".join(missing))
    X, y = sets.samples(there[name], name)
    return np.asarray(X, dtype=np.float64), y


def split(y: NDArray[Any], size: int, seed: int) -> tuple[Any, Any]:
    """Training samples of every class, and some of the others."""
    train, test = per_class_split(y, size, seed)
    return train, np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])


def neighbours(X: Floats, y: NDArray[Any], size: int, seed: int, umap: bool) -> dict[str, float]:
    """Share of right labels by all dimensions, and by five neighbours in planes."""
    train, test = split(y, size, seed)
    model = SmoothEmbedding().fit(X[train], y[train])

    def right(F: Floats, G: Floats) -> float:
        return float(KNeighborsClassifier(5).fit(F, y[train]).score(G, y[test]))

    found = {"scores": float(model.score(X[test], y[test]))}
    found["all dimensions"] = right(model.transform(X[train]), model.transform(X[test]))
    found["plane"] = right(plane(model, X[train]), plane(model, X[test]))
    two = slice(0, 2)
    found["first two"] = right(model.transform(X[train])[:, two], model.transform(X[test])[:, two])
    if umap:
        from umap import UMAP

        other = UMAP(random_state=seed).fit(X[train], np.unique(y[train], return_inverse=True)[1])
        found["supervised UMAP"] = right(other.embedding_, other.transform(X[test]))
    return found


def deletions(X: Floats, y: NDArray[Any], size: int, seed: int) -> dict[str, float]:
    """Share of right labels, and what deleting a tenth of the features costs, set to their mean."""
    train, test = split(y, size, seed)
    model = SmoothEmbedding().fit(X[train], y[train])
    right, mean = float(model.score(X[test], y[test])), X[train].mean(axis=0)
    count = max(1, round(DELETED * X.shape[1]))

    def cost(which: Any) -> float:
        without = X[test].copy()
        without[:, which] = mean[which]
        return right - float(model.score(without, y[test]))

    order, rng = np.argsort(-model.feature_relevance_), np.random.default_rng(seed)
    at_random = [cost(rng.permutation(X.shape[1])[:count]) for _ in range(DRAWS)]
    return {
        "right": right,
        "relevant": cost(order[:count]),
        "random": float(np.mean(at_random)),
        "irrelevant": cost(order[-count:]),
    }


def pictures(folder: Path, umap: bool) -> None:
    """Digits in the plane, beside UMAP, and digits explained."""
    from matplotlib import pyplot

    import nsse

    X, y = samples("digits")
    train, new = split(y, PLANE["digits"], 0)
    model = SmoothEmbedding().fit(X[train], y[train])
    wrong = new[model.predict(X[new]) != y[new]][:4]
    shown = np.concatenate([[new[y[new] == digit][0] for digit in (1, 3, 4, 7)], wrong])
    nsse.plot.explanation(model, X[shown], shape=(8, 8)).save(folder / "explanation.png")
    if not umap:
        model.plot(X[new], y[new]).save(folder / "plane.png")
        return
    from sklearn.pipeline import make_pipeline
    from umap import UMAP

    figure, axes = pyplot.subplots(1, 3, figsize=(15, 5.2), layout="constrained")
    nsse.plot.embedding(model, X[new], y[new], ax=axes[0])
    axes[0].set_title("", loc="left")
    axes[0].set(title="SmoothEmbedding().plot()", xlabel="")
    both = make_pipeline(SmoothEmbedding(), UMAP(random_state=0))
    names = "supervised UMAP", "make_pipeline(SmoothEmbedding(), UMAP())"
    for ax, name, other in zip(axes[1:], names, (UMAP(random_state=0), both), strict=True):
        other.fit(X[train], y[train])
        places, old = other.transform(X[new]), other.transform(X[train])
        right = KNeighborsClassifier(5).fit(old, y[train]).predict(places) == y[new]
        for digit, color in enumerate(nsse.report.class_colors(10)):
            own = y[new] == digit
            ax.scatter(*places[own].T, s=9, color=color, alpha=0.62, linewidths=0)
            middle, beside = np.median(old[y[train] == digit], axis=0), (12, 10)
            ax.annotate(str(digit), middle, beside, textcoords="offset points", weight="bold")
        ax.scatter(*places[~right].T, s=40, facecolor="none", edgecolor="black", linewidths=0.9)
        ax.set(title=name, xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.savefig(folder / "plane.png", dpi=110)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", choices=["plane", "features", "pictures"])
    parser.add_argument("--umap", action="store_true", help="supervised UMAP beside it")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    if options.part == "pictures":
        pictures(options.out or ROOT / "docs" / "images", options.umap)
        return {}
    sizes = PLANE if options.part == "plane" else FEATURES
    rows = {}
    for name in options.sets or sizes:
        X, y = samples(name)
        found = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(options.splits):
                if options.part == "plane":
                    found.append(neighbours(X, y, sizes[name], seed, options.umap))
                else:
                    found.append(deletions(X, y, sizes[name], seed))
        rows[name] = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
        print(f"{name:18}", ", ".join(f"{key} {100 * value:.1f}" for key, value in rows[name].items()))
    record = {"part": options.part, "splits": options.splits, "percent": rows, **versions()}
    write_json(options.out or RESULTS / f"ask_{options.part}.json", record)
    return record


if __name__ == "__main__":
    main()
