"""The study behind the default parameters of NSSE: which ones, and where they do not suffice.

One parameter at a time is moved away from its default; every candidate, an RBF support vector machine
and the nearest neighbour classify the same random splits of five data sets. A last table compares the
defaults on digits with both on fresh splits. Writes a CSV and the page ``docs/defaults_study.md``.

    NSSE_DATA=<folder> python benchmarks/defaults_study.py            # or: make study
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import DOCS, RESULTS, text_table
from defaults_page import (
    DEFAULTS,
    NEAREST,
    SVM,
    Case,
    Score,
    Scores,
    final_table,
    losses,
    study_table,
    write_csv,
    write_page,
)
from nsse import NSSE
from nsse.datasets import load_dataset
from nsse.evaluation.splits import per_class_split

CASES = {
    "digits": (7, 20, 60),
    "coil20": (7, 10, 20),
    "orl": (2, 3, 5),
    "yale": (6, 10, 20),
    "synthetic": (10, 40),
}
RATIO = "mu3 / (mu2 d)"
VARIED: dict[str, tuple[Any, ...]] = {
    "mu1": (0.1, 1.0, 10.0),
    "mu2": (1e-3, 1e-2, 1e-1, 1.0),
    RATIO: (1.0, 3.0, 5.0, 10.0, 30.0),
    "n_neighbors": (2, 5, None),
}
SHOWN = ("mu1", "mu2", "mu3", "n_neighbors")
FINAL_SET, FINAL_SEED = "digits", 1000  # splits that no default was chosen on

Outcome = tuple[float, int, bool]


def main(argv: Sequence[str] | None = None) -> dict[str, Scores]:
    options = _parse(argv)
    start = time.perf_counter()
    cases, skipped = _available(options.datasets)
    study = _run(cases, _candidates(), range(options.splits), options.jobs)
    fresh = range(FINAL_SEED, FINAL_SEED + options.final_splits)
    final = _run([c for c in cases if c.dataset == FINAL_SET], {DEFAULTS: {}}, fresh, options.jobs)
    defaults = {name: value for name, value in NSSE.as_published().get_params().items() if name in SHOWN}
    write_csv(options.csv, study)
    write_page(options.markdown, study, final, varied=VARIED, defaults=defaults, skipped=skipped)
    _show(study, final)
    seconds = time.perf_counter() - start
    print(f"written: {options.csv.name}, {options.markdown.name} ({seconds:.0f} s)")
    return {"study": study, "final": final}


def _candidates() -> dict[str, dict[str, Any]]:
    """Name of a candidate -> the parameters in which it differs from ``NSSE()``."""
    defaults = NSSE.as_published().get_params()
    candidates: dict[str, dict[str, Any]] = {DEFAULTS: {}}
    for parameter, values in VARIED.items():
        for value in values:
            # ``mu3=None`` is a rule and no number: its values are all run, the one it stands for too.
            if parameter == RATIO or value != defaults[parameter]:
                candidates[f"{parameter} = {value}"] = {parameter: value}
    return candidates


def _methods(candidates: dict[str, dict[str, Any]], n_classes: int) -> dict[str, Any]:
    """Estimators by name: the candidates, then the rivals."""
    mu2 = NSSE.as_published().get_params()["mu2"]
    methods: dict[str, Any] = {}
    for name, changed in candidates.items():
        parameters = {key: value for key, value in changed.items() if key != RATIO}
        if RATIO in changed:
            parameters["mu3"] = changed[RATIO] * mu2 * (n_classes - 1)
        methods[name] = NSSE.as_published(**parameters)
    return methods | {SVM: SVC(C=10), NEAREST: KNeighborsClassifier(1)}


@cache
def _data(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if name == "synthetic":
        X, y = make_classification(
            3000,
            n_features=40,
            n_informative=12,
            n_redundant=10,
            n_classes=8,
            n_clusters_per_class=2,
            class_sep=1.5,
            random_state=0,
        )
        return X, y
    loaded = load_dataset(name, unit_norm=name != "digits")
    return loaded.X, loaded.y


def _available(datasets: Sequence[str]) -> tuple[list[Case], list[str]]:
    """Cases whose data are there, and the names of the data sets that are not."""
    cases, skipped = [], []
    for name in datasets:
        try:
            _data(name)
        except (FileNotFoundError, ImportError) as reason:
            print(f"{name} skipped: {reason}")
            skipped.append(name)
        else:
            cases += [Case(name, n) for n in CASES[name]]
    return cases, skipped


def _run(
    cases: list[Case], candidates: dict[str, dict[str, Any]], seeds: Sequence[int], n_jobs: int
) -> Scores:
    """Score every method on every split of every case; the largest first, for an even end."""
    tasks = sorted(((c, seed) for c in cases for seed in seeds), key=_n_train, reverse=True)
    done = Parallel(n_jobs=n_jobs)(_task(case, seed, candidates) for case, seed in tasks)
    found = dict(zip(tasks, done, strict=True))
    scores: Scores = {}
    for case in cases:
        for name in found[case, seeds[0]]:
            errors, n_test, warned = zip(*(found[case, seed][name] for seed in seeds), strict=True)
            scores[name, case] = Score(name, case, np.array(errors), n_test[0], sum(warned))
    return scores


def _n_train(task: tuple[Case, int]) -> int:
    case, _ = task
    return case.n_per_class * len(np.unique(_data(case.dataset)[1]))


def _task(case: Case, seed: int, candidates: dict[str, dict[str, Any]]) -> Any:
    X, y = _data(case.dataset)
    train, test = per_class_split(y, case.n_per_class, seed)
    return delayed(_one_split)(X, y, train, test, _methods(candidates, len(np.unique(y))))


def _one_split(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    methods: dict[str, Any],
) -> dict[str, Outcome]:
    """Test error, number of test samples and whether the fit warned, for every method."""
    outcomes = {}
    with threadpool_limits(1):
        for name, model in methods.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X[train], y[train])
            error = 1.0 - float(model.score(X[test], y[test]))
            outcomes[name] = (error, len(test), bool(caught))
    return outcomes


def _show(study: Scores, final: Scores) -> None:
    print(text_table(*study_table(study)))
    print("\nwhere untuned NSSE loses:", *losses(study), sep="\n")
    print(f"\n{FINAL_SET}, fresh splits:")
    print(text_table(*final_table(final)))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5, help="random splits per case (default: 5)")
    parser.add_argument("--final-splits", type=int, default=20, help="of the last table (default: 20)")
    parser.add_argument("--datasets", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--csv", type=Path, default=RESULTS / "defaults_study.csv")
    parser.add_argument("--markdown", type=Path, default=DOCS / "defaults_study.md")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
