"""How well NSSECV chooses: its regret, and tuned NSSE beside untuned NSSE and a tuned RBF SVM.

    python benchmarks/selection_study.py --splits 10 --jobs 2      (needs NSSE_DATA)

Images are divided by their norm. Every split of the data writes its row as it finishes; a run that is
started again goes on. The page ``docs/model_selection.md`` is made of the rows.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from common import DOCS, RESULTS, markdown_table, versions
from nsse import NSSE, NSSECV
from nsse._files import replacing
from nsse._threads import one_blas_thread
from nsse.certificates.votes import winners
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.kernels import squared_distances
from nsse.selection.grid import Split, score_points
from nsse.selection.nssecv import VOTERS as DEFAULT_VOTERS
from nsse.selection.points import GridPoint
from nsse.selection.scoring import accuracy
from nsse.selection.search import Scores
from nsse.selection.splits import BalancedSplits

CASES = (("coil20", 7), ("coil20", 10), ("orl", 3), ("yale", 10))
TITLES = {"coil20": "COIL-20", "orl": "ORL", "yale": "Yale"}
# The regret of a case needs the test error of every grid point; Yale has many samples.
REGRET = (("coil20", 7), ("coil20", 10), ("orl", 3))
TOLERANCES = (0.0, 0.25, 0.5, 1.0)
SVM_GRID = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": [0.1, 0.3, 1.0, 3.0]}
# How many of the best points vote.
VOTERS = (1, 3, 5, 10, 20, 40)
NAMES = {
    "tuned": "tuned NSSE",
    "best": "its best point alone",
    "untuned": "untuned NSSE",
    "svm": "tuned RBF SVM",
}
ROWS = RESULTS / "selection_study.csv"


@dataclass(frozen=True)
class Row:
    """Test errors in per cent on one split.

    ``best`` is that of the best point alone, ``votes`` those of so many voters; ``grid`` holds those of
    all points, in their order.
    """

    dataset: str
    n_per_class: int
    seed: int
    best: float
    untuned: float
    svm: float
    chosen: str
    by_tolerance: str
    grid: str
    votes: str = ""

    @property
    def tuned(self) -> float:
        """NSSECV as it is by default."""
        return self.by_voters()[DEFAULT_VOTERS]

    def by_voters(self) -> dict[int, float]:
        """Number of voters -> error."""
        pairs = (part.split(":") for part in self.votes.split())
        return {int(number): float(error) for number, error in pairs}


def main() -> None:
    """Measure what is missing, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page-only", action="store_true", help="make the page of the rows there are")
    options = parser.parse_args()
    if not options.page_only:
        rows = {(row.dataset, row.n_per_class, row.seed): row for row in read_rows(ROWS)}
        # Cases with a regret first: the others take the longest.
        tasks = [(*case, seed) for seed in range(options.splits) for case in CASES]
        tasks.sort(key=lambda task: task[:2] not in REGRET)
        todo = [task for task in tasks if task not in rows or not rows[task].votes]
        work = (delayed(complete)(task, rows.get(task)) for task in todo)
        for row in Parallel(options.jobs, return_as="generator_unordered", batch_size=1)(work):
            rows[row.dataset, row.n_per_class, row.seed] = row
            write_rows(ROWS, [rows[task] for task in tasks if task in rows])
            print(row.dataset, row.n_per_class, row.seed, row.votes, row.untuned, row.svm, flush=True)
    rows = [row for row in read_rows(ROWS) if row.votes]
    (DOCS / "model_selection.md").write_text(page(rows), encoding="utf-8")
    print("written: model_selection.md")


def complete(task: tuple[str, int, int], row: Row | None) -> Row:
    """A whole row, or the votes that a row lacks."""
    data = load_dataset(task[0], unit_norm=True)
    train, test = per_class_split(data.y, *task[1:])
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # grids have points at the end of the range of sigma
        search = NSSECV(search="full", random_state=task[2], n_voters=max(VOTERS)).fit(
            data.X[train], data.y[train]
        )
        ballots = search._votes(data.X[test])
        right = np.searchsorted(search.classes_, data.y[test])
        errors = {n: 100 * float(np.mean(winners(ballots[:, :n]) != right)) for n in VOTERS}
        votes = " ".join(f"{n}:{error:.4f}" for n, error in errors.items())
        return replace(measure(task, search, data, train, test) if row is None else row, votes=votes)


def measure(task: tuple[str, int, int], search: NSSECV, data: Any, train: Any, test: Any) -> Row:
    """One split: test what NSSECV chose, everything else on the grid, and the others."""
    dataset, n_per_class, seed = task
    X, y = data.X[train], data.y[train]
    chosen = by_tolerance(search)
    untuned = NSSE.as_published().fit(X, y)
    splits = list(BalancedSplits(search.n_repeats, search.validation_fraction, seed).split(X, y))
    svm = GridSearchCV(SVC(), scaled(SVM_GRID, X), cv=splits).fit(X, y)
    errors = by_point(search, data, train, test) if (dataset, n_per_class) in REGRET else []

    def error(model: Any) -> float:
        return round(100 * (1 - float(model.score(data.X[test], data.y[test]))), 4)

    return Row(
        dataset,
        n_per_class,
        seed,
        error(search.best_estimator_),
        error(untuned),
        error(svm),
        " ".join(f"{name}={value}" for name, value in search.best_params_.items()),
        " ".join(f"{t}:{index}" for t, index in zip(TOLERANCES, chosen, strict=True)),
        " ".join(f"{e:.2f}" for e in errors),
    )


def by_tolerance(search: NSSECV) -> list[int]:
    """The point that each tolerance chooses."""
    results = search.cv_results_
    points = tuple(results["params"])
    scores = np.array([results[f"split{i}_test_score"] for i in range(search.n_splits_)]).T
    mu2, d = (np.array([point[name] for point in points]) for name in ("mu2", "n_components"))
    table = Scores(points, scores, results["mean_sigma"], mu2, d)
    return [table.best(t) for t in TOLERANCES]


def scaled(grid: dict[str, list[float]], X: Any) -> dict[str, list[float]]:
    """γ in units of scikit-learn's own choice, 1 / (n_features Var X)."""
    unit = 1.0 / (X.shape[1] * X.var())
    return grid | {"gamma": [unit * factor for factor in grid["gamma"]]}


def by_point(search: NSSECV, data: Any, train: Any, test: Any) -> list[float]:
    """Test error of every grid point, fitted to all training samples, from one sweep."""
    order = np.concatenate([train, test])
    X, y = data.X[order], data.y[order]
    n_train = len(train)
    split = Split(X, y, squared_distances(X), np.arange(n_train), np.arange(n_train, len(y)))
    points = [GridPoint.of(NSSE.as_published(), params) for params in search.cv_results_["params"]]
    scores = score_points(split, points, accuracy)
    return [float(e) for e in 100 * (1 - scores.scores)]


def write_rows(path: Path, rows: list[Row]) -> None:
    """All rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read_rows(path: Path) -> list[Row]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            Row(
                line["dataset"],
                int(line["n_per_class"]),
                int(line["seed"]),
                float(line["best"]),
                float(line["untuned"]),
                float(line["svm"]),
                line["chosen"],
                line["by_tolerance"],
                line["grid"],
                line["votes"],
            )
            for line in csv.DictReader(stream)
        ]


def page(rows: list[Row]) -> str:
    """The page, every number of it from the rows."""
    cases = [[row for row in rows if (row.dataset, row.n_per_class) == case] for case in CASES]
    cases = [case for case in cases if case]
    errors = [
        (
            f"{TITLES[case[0].dataset]}, {case[0].n_per_class} per class",
            *(mean_and_error([getattr(row, name) for row in case]) for name in NAMES),
            len(case),
            verdict(case),
        )
        for case in cases
    ]
    regrets = [regret_line(case) for case in cases if case[0].grid]
    votes = [votes_line(case) for case in cases]
    header = ["", "best point", *(f"tolerance {t}" for t in TOLERANCES), "best of each split"]
    numbers = ", ".join(f"{name} {version}" for name, version in versions().items())
    return PAGE.format(
        errors=markdown_table(["", *NAMES.values(), "splits", "lowest"], errors),
        regrets=markdown_table(header, regrets),
        votes=markdown_table(["", *map(str, VOTERS)], votes),
        svm=f"C in {SVM_GRID['C']}, γ in {SVM_GRID['gamma']} times scikit-learn's `scale`",
        versions=numbers,
    )


def mean_and_error(values: list[float]) -> str:
    """Mean ± standard error."""
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.2f} ± {spread:.2f}"


def verdict(case: list[Row]) -> str:
    """Which of the three has the lowest mean error."""
    return NAMES[min(NAMES, key=lambda name: np.mean([getattr(row, name) for row in case]))]


def votes_line(case: list[Row]) -> tuple[str, ...]:
    """Mean test error for every number of voters."""
    title = f"{TITLES[case[0].dataset]}, {case[0].n_per_class} per class"
    return (title, *(f"{np.mean([row.by_voters()[n] for row in case]):.2f}" for n in VOTERS))


def regret_line(case: list[Row]) -> tuple[str, ...]:
    """Mean test error of the best point, and what each tolerance adds to it."""
    grid = np.array([[float(e) for e in row.grid.split()] for row in case])
    best = float(np.nanmin(grid.mean(axis=0)))
    cells = []
    for place, _ in enumerate(TOLERANCES):
        picks = [int(row.by_tolerance.split()[place].split(":")[1]) for row in case]
        cells.append(
            f"{np.mean([line[pick] for line, pick in zip(grid, picks, strict=True)]) - best:+.2f}"
        )
    title = f"{TITLES[case[0].dataset]}, {case[0].n_per_class} per class"
    return (title, f"{best:.2f}", *cells, f"{np.nanmin(grid, axis=1).mean() - best:+.2f}")


PAGE = """# Choosing the parameters

Made by `python benchmarks/selection_study.py` (images divided by their norm, {versions}).

## Tuned, untuned, and a tuned SVM

The search by fits, `NSSECV(search="full")`, around the published method; the quick search is measured in
[its page](when_to_use.md). Test error in per cent, mean ± standard error over random splits. Both see
the same inner splits; the SVM searches {svm} by `GridSearchCV`.

{errors}

How many vote, and how far behind the best point they may be, was settled on test errors of these splits.

## How many of the best points vote

Test error in per cent for so many voters at most: points within two standard errors of the best one.

{votes}

## Regret of the best point alone

Mean test error of the grid point that is best on the *test* samples, in per cent, and how much higher
the mean error is of the points that `NSSECV` chose, in points. "tolerance t" takes the smoothest of the
points whose mean score is within t standard errors of the best; 0 is the default. "best of each split"
is what an oracle would gain that chose anew for every split.

{regrets}
"""

if __name__ == "__main__":
    main()
