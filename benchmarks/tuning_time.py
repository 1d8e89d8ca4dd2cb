"""Compare the time of the search with that of a tuned SVM that chooses on the same splits.

    NSSE_DATA=<folder> OPENBLAS_NUM_THREADS=1 python benchmarks/tuning_time.py

`GridSearchCV(SVC())` has 16 candidates of C and γ. Both methods choose on the same ten splits, which
hold out a quarter of the samples, and then fit to all samples. Seconds are processor times on one BLAS
thread, the least of several runs. The data are the images of Yale if NSSE_DATA contains them, the
digits, two tables that scikit-learn makes, and a table with 20,000 columns. The search alone is also
timed on many classes with five samples each, and on three samples.

The last columns belong to 1000 predictions: seconds of the search, the number of its members, and its
seconds divided by those of the untuned model and by the number of members.

Nothing else should run on the computer meanwhile.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit, train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, least_seconds, machine_facts, parser_of, show, wide_samples, write_json
from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.datasets import load_dataset

SIZES = (100, 250, 400, 900)
MANY, FEATURES, CLASSES = 4000, 20_000, 500
N_SPLITS, HELD_OUT, N_WIDE, N_PREDICTED = 10, 4, 100, 1000
TABLE = "table of 20 columns"


def tuned_svm(splits: Any, X: np.ndarray) -> Any:
    gammas = np.array([0.1, 0.3, 1.0, 3.0]) / (X.shape[1] * X.var())
    return GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": gammas}, cv=splits)


def sets(n_samples: int) -> dict[str, tuple[Any, Any]]:
    """Return data sets by name, of which the made-up tables have this number of samples."""
    found = {
        "digits": load_digits(return_X_y=True),
        TABLE: _table(20, 5, n_samples),
        "table of 60 columns": _table(60, 2, n_samples),
    }
    try:
        faces = load_dataset("yale", unit_norm=True)
    except FileNotFoundError:
        return found
    return {"yale": (faces.X, faces.y), **found}


def _table(n_features: int, n_classes: int, n_samples: int) -> tuple[Any, Any]:
    return make_classification(
        n_samples, n_features, n_informative=n_features // 2, n_classes=n_classes, random_state=0
    )


def many_classes(n_classes: int) -> tuple[Any, Any]:
    """Return five samples of each of many classes, around centers in 50 columns."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 5)
    return rng.normal(size=(n_classes, 50))[y] + 0.5 * rng.normal(size=(len(y), 50)), y


def few_samples() -> tuple[Any, Any]:
    """Return three samples of two classes."""
    return np.random.default_rng(0).normal(size=(3, 5)), np.array([0, 0, 1])


def compared(name: str, X: Any, y: Any, size: int, repeats: int) -> dict[str, Any]:
    """Time both methods on the same splits of a number of samples."""
    if size < len(y):
        X, _, y, _ = train_test_split(X, y, train_size=size, stratify=y, random_state=0)
    held_out = max(size // HELD_OUT, len(np.unique(y)))
    splits = list(StratifiedShuffleSplit(N_SPLITS, test_size=held_out, random_state=0).split(X, y))
    (svm,), _ = least_seconds([lambda: tuned_svm(splits, X).fit(X, y)], repeats)
    row = alone(name, X, y, repeats, splits)
    return row | {"svm": round(svm, 2), "ratio": round(row["search"] / svm, 2)}


def alone(name: str, X: Any, y: Any, repeats: int, cv: Any = None) -> dict[str, Any]:
    """Time the search and its predictions."""
    search = SmoothEmbeddingCV() if cv is None else SmoothEmbeddingCV(cv=cv)
    (seconds,), _ = least_seconds([lambda: search.fit(X, y)], repeats)
    new = np.resize(X, (N_PREDICTED, X.shape[1]))
    single = SmoothEmbedding().fit(X, y)
    predictions = [lambda m=model: m.predict(new) for model in (search, single)]
    (of_search, of_single), _ = least_seconds(predictions, repeats + 1)
    members = len(search.members_)
    return {
        "data": name,
        "n_samples": len(y),
        "n_features": X.shape[1],
        "search": round(seconds, 3),
        "svm": None,
        "ratio": None,
        "predict": round(of_search, 3),
        "members": members,
        "per_member": round(of_search / of_single / members, 2),
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the times."""
    parser = parser_of(__doc__, RESULTS / "tuning_time.json")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--many", type=int, default=MANY, help="samples of the largest table")
    parser.add_argument("--features", type=int, default=FEATURES, help="columns of the wide table")
    parser.add_argument("--classes", type=int, default=CLASSES, help="classes of five samples each")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args(argv)
    facts = machine_facts()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        rows = [
            compared(name, *samples, size, options.repeats)
            for name, samples in sets(2000).items()
            for size in options.sizes
        ]
        if options.many:
            rows.append(compared(TABLE, *sets(options.many + 500)[TABLE], options.many, 1))
        rows.append(compared("wide table", *wide_samples(options.features), N_WIDE, options.repeats))
        rows.append(alone("many classes", *many_classes(options.classes), options.repeats))
        rows.append(alone("three samples", *few_samples(), options.repeats + 1))
    show(rows)
    record = {"rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
