"""The compared methods as they come: untuned beside tuned, and what their defaults were chosen on.

    NSSE_DATA=<folder> python benchmarks/fair_defaults.py --part report    # untuned beside tuned
    NSSE_DATA=<folder> python benchmarks/fair_defaults.py --part choose    # what was compared

The defaults have the smallest mean log error, or one within two per cent of it that keeps the method as
it is defined, on the sets of the second part: other training sizes and other splits than those that are
reported, digits, and standardised tables of ``keel/balanced``. The first part compares them, on the
splits of ``methods_table.py``, with the errors there at the best point of its grid, chosen after the
fact. Every case writes its rows as it finishes; a run that is started again goes on, and one with other
defaults needs other ``--rows``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from breadth import Samples, drawn
from common import RESULTS, append_records, read_records, text_table
from methods_fits import data
from methods_page import read_rows as read_tuned
from nsse.estimators.catalogue import DEFAULTS_0_1, catalogue
from nsse.evaluation import per_class_split

Params = dict[str, Any]

METHODS = ("SUPLAP", "LFDA", "LDE", "NYS", "SPE", "IsoKRR", "MReg")
REPORTED = (("images", "coil20", 10), ("images", "orl", 3), ("images", "yale", 10))
CHOSEN_ON = (
    *(("images", name, size) for name, size in (("coil20", 7), ("coil20", 15), ("orl", 2), ("orl", 5))),
    *(("images", name, size) for name, size in (("yale", 6), ("yale", 15), ("digits", 10))),
    *(("balanced", name, 15) for name in ("vehicle", "vowel", "segment", "wine", "ionosphere")),
    *(("balanced", name, 15) for name in ("satimage", "wdbc", "sonar")),
    ("balanced", "movement_libras", 8),
)
# Splits that are reported begin at 0.
FIRST_SEED = {"report": 0, "choose": 100}
NOW, BEFORE = "default", "default of 0.1"
OTHERS: dict[str, list[Params]] = {
    "SUPLAP": [
        {"mu": 0.01},
        {"mu": 0.0001},
        {"n_neighbors": "adaptive"},
        {"n_neighbors_between": None},
        {"ridge": 1e-3},
        {"sigma": 2.0},
    ],
    "LFDA": [
        *({"reg": reg} for reg in (0.01, 0.03, 0.1, 0.3, 1.0)),
        {"reg": 0.3, "metric": "plain"},
        {"reg": 0.3, "pca": 0.99},
        {"reg": 0.3, "pca": "auto"},
    ],
    "LDE": [
        *({"reg": reg} for reg in (0.1, 0.3, 1.0)),
        {"n_components": None},
        {"n_neighbors_between": None},
        {"pca": 0.99},
    ],
    "NYS": [
        {"sigma": 1.0},
        {"sigma": 3.0},
        {"n_components": None, "sigma": 1.0},
        {"n_components": None, "sigma": 3.0},
        {"n_components": None, "sigma": 6.0},
    ],
    "SPE": [{"alpha": 0.8}, {"alpha": 0.9}],
    "IsoKRR": [{"alpha": 1e-6}, {"n_neighbors": 15}, {"beta": 3.0}, {"sigma": 2.0}],
    "MReg": [{"gamma_A": 1e-8}, {"gamma_A": 1e-5}, {"gamma_A": 1e-4}, {"gamma_I": 0.0}, {"sigma": 2.0}],
}
# An error of no sample has no logarithm.
LEAST = 0.2
ALLOWED = 1.5


@dataclass(frozen=True)
class Row:
    """Test error in per cent of one setting on one split."""

    kind: str
    name: str
    per_class: int
    seed: int
    method: str
    setting: str
    error: float

    @property
    def case(self) -> tuple[str, str, int, int, str]:
        """What is computed, and written, at once."""
        return self.kind, self.name, self.per_class, self.seed, self.method

    @property
    def cell(self) -> tuple[str, str, int]:
        """The set and its size."""
        return self.kind, self.name, self.per_class


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Measure what is missing, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(FIRST_SEED), default="report")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--sets", nargs="+", help="only these")
    parser.add_argument("--splits", type=int, help="5 for the report, 3 for the choice, if not given")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, default=RESULTS / "fair_defaults.csv")
    parser.add_argument("--tuned", type=Path, default=RESULTS / "methods_table.csv")
    options = parser.parse_args(arguments)
    cases = _cases(options)
    done = {row.case for row in read_rows(options.rows)}
    work = (delayed(measured)(case) for case in cases if case not in done)
    for rows in Parallel(options.jobs, return_as="generator_unordered", batch_size=1)(work):
        append_rows(options.rows, rows)
    rows = [row for row in read_rows(options.rows) if row.case in set(cases)]
    if options.part == "report":
        print(report_table(rows, options.tuned))
    else:
        for method in options.methods:
            print(choice_table([row for row in rows if row.method == method], method), end="\n\n")
    return rows


def _cases(options: argparse.Namespace) -> list[tuple[str, str, int, int, str]]:
    report = options.part == "report"
    first, splits = FIRST_SEED[options.part], options.splits or (5 if report else 3)
    return [
        (*cell, seed, method)
        for cell in (REPORTED if report else CHOSEN_ON)
        if not options.sets or cell[1] in options.sets
        for seed in range(first, first + splits)
        for method in options.methods
    ]


def settings(method: str, report: bool) -> dict[str, Params]:
    """What is fitted of a method, by name: in the report the defaults, now and before."""
    named: dict[str, Params] = {NOW: {}}
    if method in DEFAULTS_0_1:
        named[BEFORE] = DEFAULTS_0_1[method]
    if report:
        return named
    return named | {_text(parameters): parameters for parameters in OTHERS[method]}


def _text(parameters: Params) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def measured(case: tuple[str, str, int, int, str]) -> list[Row]:
    """The rows of a case."""
    *cell, _, method = case
    samples = _samples(*case[:4])
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # degenerate embeddings
        for name, parameters in settings(method, tuple(cell) in REPORTED).items():
            model = clone(catalogue()[method]).set_params(**parameters).fit(samples.X, samples.codes)
            error = 100.0 * float(np.mean(model.predict(samples.X_test) != samples.truth))
            rows.append(Row(*case, name, round(error, 3)))
    return rows


def _samples(kind: str, name: str, per_class: int, seed: int) -> Samples:
    if (kind, name, per_class) in REPORTED:  # as in `methods_table.py`, all test samples
        X, y = data(name)
        train, test = per_class_split(y, per_class, seed)
        return Samples(X[train], y[train], X[test], y[test])
    samples = drawn(kind, name, per_class, seed)
    if samples is None:
        raise ValueError(f"{name} is too small for {per_class} training samples per class")
    return samples


def report_table(rows: Sequence[Row], tuned_rows: Path) -> str:
    """Untuned errors, now and before, beside the tuned one of the same splits."""
    errors = _means(rows)
    best = {(row.dataset, row.n_per_class, row.method): row.error for row in read_tuned(tuned_rows)}
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        for cell in dict.fromkeys(row.cell for row in rows):
            now, tuned = errors[method, NOW, cell], best[(*cell[1:], method)]
            before = errors.get((method, BEFORE, cell), now)
            verdict = "" if now <= ALLOWED * tuned else f"above {ALLOWED}"
            numbers = [f"{value:.1f}" for value in (before, now, tuned)]
            lines.append([f"{method} {cell[1]}-{cell[2]}", *numbers, f"{now / tuned:.2f}", verdict])
    return text_table(["error in %", "0.1", "now", "tuned", "now / tuned", ""], lines)


def choice_table(rows: Sequence[Row], method: str) -> str:
    """Geometric means of the errors over all sets, images and tables, best first; then every set."""
    errors, cells = _means(rows), list(dict.fromkeys(row.cell for row in rows))
    lines = []
    for name in dict.fromkeys(row.setting for row in rows):
        values = np.array([errors[method, name, cell] for cell in cells])
        means = [_geometric(values, cells, kinds) for kinds in (("images", "balanced"), ("images",))]
        lines.append([name, *(f"{mean:.2f}" for mean in means), *(f"{value:.1f}" for value in values)])
    lines.sort(key=lambda line: float(line[1]))
    return text_table([method, "mean", "images", *(f"{cell[1]}-{cell[2]}" for cell in cells)], lines)


def _geometric(values: Any, cells: Sequence[tuple[str, str, int]], kinds: Sequence[str]) -> float:
    among = values[[cell[0] in kinds for cell in cells]]
    return float(np.exp(np.mean(np.log(np.maximum(among, LEAST))))) if len(among) else float("nan")


def _means(rows: Sequence[Row]) -> dict[tuple[str, str, tuple[str, str, int]], float]:
    found: dict[Any, list[float]] = {}
    for row in rows:
        found.setdefault((row.method, row.setting, row.cell), []).append(row.error)
    return {key: float(np.mean(errors)) for key, errors in found.items()}


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, if there is one."""
    return read_records(path, Row, (str, str, int, int, str, str, float))


def append_rows(path: Path, rows: Sequence[Row]) -> None:
    """The rows of a case, written as it finishes."""
    append_records(path, map(astuple, rows), [field.name for field in fields(Row)])


if __name__ == "__main__":
    main()
