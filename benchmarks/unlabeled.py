"""Samples without a label: how many of their labels are found, by our method and by others.

    NSSE_DATA=<folder> python benchmarks/unlabeled.py             # the study, an hour or more
    NSSE_DATA=<folder> python benchmarks/unlabeled.py --default   # the choice of the default of mu4
    python benchmarks/unlabeled.py --page                         # docs/unlabeled.md

So many samples of every class have a label. A tenth of the others is put away and never seen (of MNIST
its own test part); the rest is there without labels. Errors are told of both: labels given to samples of
the fit, and to new ones. Every method that has parameters gets them on the same splits of the labelled
samples, up to eight, in which those held out stay in without their labels. Of MNIST's 60,000 rows
methods that take the cube of their number, and every search, have all labelled ones and some of the
others. Every realisation is a row, written as it finishes; a run that is started again goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from threadpoolctl import threadpool_limits

from cells import ScaledSVC
from common import DOCS, RESULTS, append_records, markdown_table, read_records, text_table
from growth import GIB, _peak_bytes
from nsse import NSSE, NSSECV, MReg, SemiRBF
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.selection import BalancedSplits
from nsse.selection.quick import HELD_OUT, n_splits_for
from nsse.selection.unlabeled import MOST_SPLITS

CASES = {
    "coil20-3": ("coil20", 3),
    "coil20-7": ("coil20", 7),
    "orl-3": ("orl", 3),
    "digits-10": ("digits", 10),
    "mnist-10": ("mnist", 10),
    "yale-10": ("yale", 10),
}
TITLES = {"coil20": "COIL-20", "orl": "ORL", "digits": "digits", "mnist": "MNIST", "yale": "Yale"}
NEVER_SEEN = 0.1
# Rows of MNIST for methods that are cubic, those of every search, and centres of ours.
MOST_ROWS, LANDMARKS = 2000, 2000
NONE = -1
COLUMNS = ("case", "seed", "method", "given", "new", "cpu_seconds", "peak_gib", "chosen")
TYPES = (str, int, str, float, float, float, float, str)
# What the default of mu4 is chosen on: other splits than those reported, and wine.
DEFAULTS, WEIGHTS = (
    (("wine", 5), ("digits", 10), ("digits", 3), ("orl", 3)),
    (0.0, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0),
)
DEFAULT_SEEDS = (100, 101, 102)


class SoftSVC(ScaledSVC):
    """A support vector machine whose decision values are made shares, which self-training asks for."""

    def predict_proba(self, X: Any) -> Any:
        """exp of the decision values over their sum; for two classes of both signs."""
        values = self.decision_function(X)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure what is missing, print the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--realisations", type=int, default=10)
    parser.add_argument("--rows", type=Path, default=RESULTS / "unlabeled.csv")
    parser.add_argument("--default", action="store_true", help="the choice of the default of mu4")
    parser.add_argument("--page", nargs="?", type=Path, const=DOCS / "unlabeled.md")
    options = parser.parse_args(arguments)
    if options.default:
        return chosen_default()
    if options.page:
        write_page(options.page, read(options.rows))
        return []
    measure(options)
    lines = means(read(options.rows))
    print(text_table(list(lines[0]), [list(line.values()) for line in lines]))
    return lines


def measure(options: argparse.Namespace) -> None:
    """The rows that are missing, split after split."""
    done = {(row["case"], row["seed"], row["method"]) for row in read(options.rows)}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for seed, case, method in product(range(options.realisations), options.cases, options.methods):
            if (case, seed, method) not in done:
                append_records(options.rows, [realised(case, seed, method)], COLUMNS)


class Drawn:
    """Samples of a case, some of them labelled, and those that are never seen."""

    def __init__(self, case: str, seed: int) -> None:
        name, size = CASES[case]
        X, y, n_train = loaded(name)
        rng = np.random.default_rng(seed)
        own, others = per_class_split(y[:n_train], size, seed)
        if n_train < len(y):
            away = np.arange(n_train, len(y))
        else:
            others = rng.permutation(others)
            n_away = round(NEVER_SEEN * len(others))
            away, others = others[:n_away], np.sort(others[n_away:])
        kept = np.concatenate([own, others])
        self.X, self.truth, self.n_own = X[kept], y[kept], len(own)
        self.y = np.where(np.arange(len(kept)) < len(own), self.truth, NONE)
        self.X_new, self.y_new = X[away], y[away]
        self.is_large, self.some = n_train < len(y), np.arange(len(kept))
        if self.is_large:
            few = rng.choice(np.arange(len(own), len(kept)), MOST_ROWS - len(own), replace=False)
            self.some = np.concatenate([np.arange(len(own)), np.sort(few)])

    def splits(self) -> list[tuple[Any, Any]]:
        """Of the labelled samples, as `NSSECV` has them."""
        y = self.y[: self.n_own]
        all_of_them = BalancedSplits(n_splits_for(len(y)), HELD_OUT, 0).split(y, y)
        return list(all_of_them)[:MOST_SPLITS]


def realised(case: str, seed: int, method: str) -> list[Any]:
    """One row: errors of labels that are given to samples of the fit, and to new ones."""
    drawn = Drawn(case, seed)
    forget_peak()
    before, start = _peak_bytes(), time.process_time()
    given, model, chosen = METHODS[method](drawn)
    seconds, peak = time.process_time() - start, (_peak_bytes() - before) / GIB
    truth = drawn.truth[drawn.n_own :]
    told = (
        100.0 * float(np.mean(given != truth)),
        100.0 * float(np.mean(model.predict(drawn.X_new) != drawn.y_new)),
    )
    return [case, seed, method, *(f"{v:.4f}" for v in told), f"{seconds:.2f}", f"{peak:.3f}", chosen]


def forget_peak() -> None:
    """So that the peak is that of the fit and not of the reading."""
    place = Path("/proc/self/clear_refs")
    if place.exists():
        place.write_text("5", encoding="utf-8")


def ours(tuned: bool) -> Callable[[Drawn], tuple[Any, Any, str]]:
    """NSSE with samples without a label, as it is or with everything chosen."""

    def fitted(drawn: Drawn) -> tuple[Any, Any, str]:
        base = NSSE(unlabeled=NONE, n_landmarks=LANDMARKS if drawn.is_large else None)
        model: Any = NSSECV(estimator=base) if tuned else base
        model.fit(drawn.X, drawn.y)
        chosen = model.best_params_ if tuned else {}
        if tuned:
            chosen = chosen | {"mu4": model.best_estimator_.mu4}
        return model.transduction_[drawn.n_own :], model, shown(chosen)

    return fitted


def supervised(tuned: bool) -> Callable[[Drawn], tuple[Any, Any, str]]:
    """NSSE of the labelled samples alone."""

    def fitted(drawn: Drawn) -> tuple[Any, Any, str]:
        n = drawn.n_own
        model = (NSSECV() if tuned else NSSE()).fit(drawn.X[:n], drawn.y[:n])
        return model.predict(drawn.X[n:]), model, shown(model.best_params_ if tuned else {})

    return fitted


def searched(
    make: Any, grid: dict[str, list[Any]], *, is_cubic: bool
) -> Callable[[Drawn], tuple[Any, Any, str]]:
    """A method whose parameters are chosen on labels that are held out, and stay in without them."""

    def fitted(drawn: Drawn) -> tuple[Any, Any, str]:
        some, n = drawn.some, drawn.n_own
        X, y = drawn.X[some], drawn.y[some]
        points = list(ParameterGrid(grid))
        right = np.zeros(len(points))
        for _, valid in drawn.splits():
            hidden = y.copy()
            hidden[valid] = NONE
            for place, point in enumerate(points):
                model = clone(make).set_params(**point).fit(X, hidden)
                right[place] += np.mean(model.predict(X[valid]) == y[valid])
        best = points[int(np.argmax(right))]
        model = clone(make).set_params(**best)
        if is_cubic or not drawn.is_large:
            model.fit(X, y)
        else:
            model.fit(drawn.X, drawn.y)
        given = getattr(model, "transduction_", None)
        if given is None or len(given) != len(drawn.y):
            return model.predict(drawn.X[n:]), model, shown(best)
        return given[n:], model, shown(best)

    return fitted


METHODS: dict[str, Callable[[Drawn], tuple[Any, Any, str]]] = {
    "NSSECV, unlabelled samples": ours(tuned=True),
    "NSSE, unlabelled samples": ours(tuned=False),
    "NSSECV, labelled alone": supervised(tuned=True),
    "NSSE, labelled alone": supervised(tuned=False),
    "LabelSpreading": searched(
        LabelSpreading(kernel="knn", max_iter=1000),
        {"n_neighbors": [3, 5, 7], "alpha": [0.2, 0.8, 0.99]},
        is_cubic=False,
    ),
    "self-training SVM": searched(
        SelfTrainingClassifier(SoftSVC(), criterion="k_best", k_best=400, max_iter=30),
        {"estimator__C": [10.0, 100.0], "estimator__factor": [1.0, 3.0]},
        is_cubic=True,
    ),
    "MReg": searched(
        MReg(unlabeled=NONE),
        {"sigma": [0.5, 1.0], "gamma_I": [1.0, 100.0], "n_neighbors": [3, 7]},
        is_cubic=True,
    ),
    "SemiRBF": searched(
        SemiRBF(unlabeled=NONE, n_rounds=5), {"sigma": [0.3, 1.0], "ridge": [1e-3, 1e-1]}, is_cubic=True
    ),
}


def shown(point: dict[str, Any]) -> str:
    """Parameters in a line, without commas."""
    return " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in point.items())


@cache
def loaded(name: str) -> tuple[Any, Any, int]:
    """Samples, labels as whole numbers, and how many of them are no test samples."""
    if name == "wine":
        X, y = load_wine(return_X_y=True)
        return StandardScaler().fit_transform(X), y, len(y)
    plain = name in ("digits", "mnist")
    data = load_dataset(name) if plain else load_dataset(name, unit_norm=True)
    X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    if name == "mnist":
        return X.astype(np.float32), y, int(data.n_train)
    return X, y, len(y)


def chosen_default() -> list[dict[str, Any]]:
    """Errors at values of μ4/(μ1 n̄), everything else by default."""
    found: dict[tuple[str, int], dict[Any, list[float]]] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for (name, size), seed in product(DEFAULTS, DEFAULT_SEEDS):
            X, y, _ = loaded(name)
            own, others = per_class_split(y, size, seed)
            away = others[::4]
            kept = np.setdiff1d(np.arange(len(y)), away)
            few = np.where(np.isin(kept, own), y[kept], NONE)
            hidden = few == NONE
            for weight in WEIGHTS:
                model = NSSE(unlabeled=NONE, mu4=float(weight * size)).fit(X[kept], few)
                wrong = np.mean(model.transduction_[hidden] != y[kept][hidden])
                told = found.setdefault((name, size), {}).setdefault(weight, [])
                told += [100.0 * wrong, 100.0 * np.mean(model.predict(X[away]) != y[away])]
    lines = [
        {"case": f"{name}-{size}"} | {str(w): f"{np.mean(errors):.2f}" for w, errors in told.items()}
        for (name, size), told in found.items()
    ]
    print(text_table(list(lines[0]), [list(line.values()) for line in lines]))
    return lines


def read(path: Path) -> list[dict[str, Any]]:
    return read_records(path, lambda *row: dict(zip(COLUMNS, row, strict=True)), TYPES)


def means(rows: list[dict[str, Any]], kinds: Sequence[str] = ("given", "new")) -> list[dict[str, Any]]:
    """Mean errors and their standard errors, a line for each method and kind, a column for each case."""
    cases = [case for case in CASES if any(row["case"] == case for row in rows)]
    lines = []
    for kind, method in product(kinds, METHODS):
        line: dict[str, Any] = {"method": method}
        if len(kinds) > 1:
            line["labels"] = {"given": "of the fit", "new": "of new samples"}[kind]
        for case in cases:
            own = [r[kind] for r in rows if r["case"] == case and r["method"] == method]
            name, size = CASES[case]
            line[f"{TITLES[name]}-{size}"] = told(own)
        lines.append(line)
    return lines


def told(errors: list[float]) -> str:
    if not errors:
        return ""
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
    return f"{np.mean(errors):.1f} ± {spread:.1f} ({len(errors)})"


def costs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """CPU seconds of a realisation, choice of parameters included, and the memory of MNIST's."""
    lines = []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        line: dict[str, Any] = {"method": method}
        for case, (name, size) in CASES.items():
            its = [row["cpu_seconds"] for row in own if row["case"] == case]
            line[f"{TITLES[name]}-{size}"] = f"{np.mean(its):.0f}" if its else ""
        peaks = [row["peak_gib"] for row in own if row["case"] == "mnist-10"]
        line["GiB, MNIST"] = f"{max(peaks):.2f}" if peaks else ""
        lines.append(line)
    return lines


def write_page(path: Path, rows: list[dict[str, Any]]) -> None:
    """The tables of the page, between its marks; the words around them stay."""
    text = path.read_text(encoding="utf-8")
    tables = {"given": means(rows, ["given"]), "new": means(rows, ["new"]), "costs": costs(rows)}
    for mark, table in tables.items():
        begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(begin)
        shown_table = markdown_table(list(table[0]), [list(line.values()) for line in table])
        text = f"{before}{begin}{shown_table}\n{end}{rest.partition(end)[2]}"
    path.write_text(text, encoding="utf-8")
    print(f"written: {path.name}")


if __name__ == "__main__":
    main()
