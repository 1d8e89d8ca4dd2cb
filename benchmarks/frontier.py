r"""Compare the error, the log-loss and the certified radius of two versions of the search on many sets.

    export NSSE_DATA=<folder>
    PYTHONPATH=src:. python benchmarks/frontier.py measure --out new.jsonl --label new
    PYTHONPATH=<old>/src:<old> python benchmarks/frontier.py measure --out old.jsonl --label old
    python benchmarks/frontier.py compare old.jsonl new.jsonl
    python benchmarks/frontier.py curve price-0.jsonl price-0.001.jsonl
    python benchmarks/frontier.py keep new.jsonl benchmarks/results/frontier-0.4.jsonl

`measure` fits `SmoothEmbedding()` and `SmoothEmbeddingCV()` to the splits of the study in
``reproduction/study`` and writes one JSON line for each fit. Lines that are in the file already are not
computed again. All sets and sizes come with the first split before any set comes with the second one, so
that a part of the file is balanced. The script runs with the package and the study of another version if
these come first on the path of Python.

`compare` pairs the lines of two files by set, size and split. An experiment is a set at one size. Its
ratio of errors is the ratio of the mean errors over the splits, with half a mistake added to both, as in
the study. The pooled ratio is the geometric mean over the experiments. Standard errors are those of the
mean over the sets, each of which counts as the mean over its sizes.

`curve` prints the same figures for several files, all relative to the first one. `keep` writes the lines
of the search with the figures that a comparison needs. Those of 0.3 and 0.4 are stored:

    python benchmarks/frontier.py compare benchmarks/results/frontier-0.3.jsonl \
        benchmarks/results/frontier-0.4.jsonl
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import nsse
from common import log_errors, mean_and_error, resumed, stored_rows, text_table
from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.certificates import ConformalClassifier
from nsse.datasets import per_class_split
from reproduction.study import sets
from reproduction.study.study import MOST_TEST, SIZES, Study, standardised

SEEDS = tuple(range(10))
MOST_RADII, ECE_BINS, ALPHA = 200, 15, 0.1
MODELS = ("untuned", "search")
KEY = ("set", "size", "seed", "model")
HALVES = ("report", "choose")
# What a comparison needs of a line.
KEPT = (
    *KEY,
    "kind",
    "half",
    "test",
    "split",
    "error",
    "log_loss",
    "ece",
    "radius",
    "coverage",
    "members",
)
DIGITS = 6
# Below the weight of one sample, and above what rounding changes.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Split:
    """Standardized training and test samples of one split of a set."""

    X: Any
    y: Any
    X_new: Any
    y_new: Any
    fingerprint: int

    @classmethod
    def of(cls, family: str, name: str, size: int, seed: int) -> Split:
        """Draw the samples as the study draws them."""
        X, y = sets.samples(family, name)
        train, test = per_class_split(y, size, seed)
        test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])
        own, new = standardised(X[train], X[test])
        return cls(own, y[train], new, y[test], zlib.crc32(X[train].tobytes() + test.tobytes()))


def measured(model: Any, split: Split, seed: int) -> dict[str, Any]:
    """Fit a model, and measure its labels, its probabilities, its radii and its sets of labels."""
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    log_p = np.asarray(model.predict_log_proba(split.X_new))
    codes = np.searchsorted(model.classes_, split.y_new)
    is_wrong = np.asarray(model.predict(split.X_new)) != split.y_new
    some = np.random.default_rng(seed).permutation(len(split.X_new))[:MOST_RADII]
    return {
        "train": len(split.X),
        "test": len(split.X_new),
        "split": split.fingerprint,
        "error": float(is_wrong.mean()),
        "log_loss": float(-log_p[np.arange(len(codes)), codes].mean()),
        "ece": calibration_error(np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == codes),
        **radii(model, split.X_new[some]),
        "coverage": coverage(model, split.X_new, codes),
        "seconds": seconds,
        "members": number_of_members(model),
        "chosen": {name: str(value) for name, value in getattr(model, "best_params_", {}).items()},
    }


def radii(model: Any, X: Any) -> dict[str, float | None]:
    """Return the median of certified radii, the shares of 0 and infinity, and the seconds they took.

    A model whose certificate is refused has none of these figures.
    """
    start = time.process_time()
    try:
        found = np.asarray(model.certified_radius(X))
    except TypeError:
        return dict.fromkeys(("radius", "no_radius", "infinite_radius", "radius_seconds"))
    return {
        "radius": float(np.median(found)),
        "no_radius": float((found == 0.0).mean()),
        "infinite_radius": float(np.isinf(found).mean()),
        "radius_seconds": time.process_time() - start,
    }


def calibration_error(confidence: Any, is_right: Any) -> float:
    """Return the mean distance of confidence and accuracy over bins of equal width."""
    bins = np.minimum((confidence * ECE_BINS).astype(int), ECE_BINS - 1)
    gaps = np.bincount(bins, confidence - is_right, minlength=ECE_BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def coverage(model: Any, X_new: Any, codes: Any) -> float | None:
    """Return the share of 90 % sets with the true label, or None without scores of left-out samples."""
    try:
        labels = ConformalClassifier(model, alpha=ALPHA).fit().predict_set(X_new)
    except (ValueError, TypeError):
        return None
    return float(np.asarray(labels)[np.arange(len(codes)), codes].mean())


def number_of_members(model: Any) -> int:
    """Return how many models decide, in this version and in version 0.3."""
    # Version 0.3 keeps its members in `voters_`, and its model alone has none of them.
    members = getattr(model, "members_", getattr(model, "voters_", ()))
    return max(1, len(members))


def measure(options: argparse.Namespace) -> None:
    """Write the lines that are not in the file yet."""
    parameters = dict(options.parameter)
    makers: dict[str, Callable[[], Any]] = {
        "untuned": SmoothEmbedding,
        "search": lambda: SmoothEmbeddingCV(**parameters),
    }
    where, missing = sets.found(None, options.sets or ())
    for line in missing:
        print(f"Left out: {line}")
    where = {name: family for name, family in where.items() if sets.half_of(name) in options.halves}
    tasks = Study(where, ("SmoothEmbeddingCV",), options.sizes, max(options.seeds) + 1).tasks()
    cells = [
        (task.dataset, task.n_train, task.seed, model)
        for task in tasks
        if task.seed in options.seeds
        for model in options.models
    ]

    def row(name: str, size: int, seed: int, model: str) -> dict[str, Any]:
        split = Split.of(where[name], name, size, seed)
        found = {"kind": sets.kind_of(name), "half": sets.half_of(name)}
        found |= {"label": options.label, "version": nsse.__version__, "parameters": parameters}
        return found | measured(makers[model](), split, seed)

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # searches on few samples warn often
        resumed(options.out, KEY, cells, row)


@dataclass(frozen=True)
class Experiment:
    """The paired lines of a set at one size, those of A and those of B in the same order of splits."""

    name: str
    kind: str
    size: int
    a: Sequence[Mapping[str, Any]]
    b: Sequence[Mapping[str, Any]]

    def values(self, key: str) -> tuple[Any, Any]:
        """Return one figure of all splits, of A and of B."""
        return np.array([row[key] for row in self.a]), np.array([row[key] for row in self.b])

    @cached_property
    def log_ratio(self) -> float:
        """The logarithm of the error of B over that of A, with half a mistake added to both."""
        a, b = (log_errors(errors.mean(), self.a[0]["test"]) for errors in self.values("error"))
        return float(b - a)

    @cached_property
    def loss_difference(self) -> float:
        """The log-loss of B minus that of A."""
        a, b = self.values("log_loss")
        return float((b - a).mean())

    @cached_property
    def log_radius_ratio(self) -> float:
        """The logarithm of the median radius of B over that of A, or NaN without a finite one."""
        a, b = (values.astype(np.float64) for values in self.values("radius"))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.median(b)) - np.log(np.median(a))
        return float(ratio) if np.isfinite(ratio) else np.nan

    def difference(self, key: str) -> tuple[float, float]:
        """Return the mean of B minus A over the splits, and its standard error."""
        a, b = self.values(key)
        return mean_and_error(b - a)

    @property
    def is_worse(self) -> bool:
        """Whether B has a higher error by more than a standard error over the splits."""
        mean, error = self.difference("error")
        return bool(mean > error + ROUNDING)

    @property
    def is_better(self) -> bool:
        """Whether B has a lower error by more than a standard error over the splits."""
        mean, error = self.difference("error")
        return bool(-mean > error + ROUNDING)


def paired(a: Path, b: Path, models: tuple[str, str], half: str) -> list[Experiment]:
    """Return the experiments of a half, with the splits that both files have."""
    tables = []
    for path, model in zip((a, b), models, strict=True):
        own = [row for row in stored_rows(path) if row["model"] == model and row["half"] == half]
        tables.append({(row["set"], row["size"], row["seed"]): row for row in own})
    found: dict[tuple[str, int], list[tuple[Any, Any]]] = defaultdict(list)
    for key in sorted(set(tables[0]) & set(tables[1])):
        rows = tables[0][key], tables[1][key]
        if rows[0]["split"] != rows[1]["split"]:
            raise ValueError(
                f"The files must come from the same splits. Got different samples of {key}."
            )
        found[key[:2]].append(rows)
    return [
        Experiment(name, rows[0][0]["kind"], size, *zip(*rows, strict=True))
        for (name, size), rows in found.items()
    ]


def over_sets(experiments: Iterable[Experiment], figure: str) -> Any:
    """Return one figure per set, the mean over its sizes, without what is not a number."""
    of_set: dict[str, list[float]] = defaultdict(list)
    for experiment in experiments:
        of_set[experiment.name].append(getattr(experiment, figure))
    means = np.array([np.nanmean(values) for values in of_set.values() if not np.isnan(values).all()])
    return means if len(means) else np.array([np.nan])


def over_splits(experiments: Sequence[Experiment]) -> tuple[float, float]:
    """Return the mean difference of errors in percent, and its error from the splits alone."""
    differences = np.array([experiment.difference("error") for experiment in experiments])
    error = np.sqrt(np.square(differences[:, 1]).sum()) / len(differences)
    return 100 * float(differences[:, 0].mean()), 100 * float(error)


HEADER = (
    *("data", "sets", "exp.", "splits", "error ratio", "over sets: log ± s.e.", "error, points ± s.e."),
    *("log-loss: A", "B", "B − A ± s.e.", "ECE: A", "B", "radius ratio", "median", "worse", "better"),
    *("members A", "B", "coverage A", "B"),
)


def figures(name: str, experiments: Sequence[Experiment]) -> list[Any]:
    """Return a line of the table for some experiments."""
    logs = [experiment.log_ratio for experiment in experiments]
    mean, error = mean_and_error(over_sets(experiments, "log_ratio"))
    points, points_error = over_splits(experiments)
    loss, loss_error = mean_and_error(over_sets(experiments, "loss_difference"))
    radius = np.array([experiment.log_radius_ratio for experiment in experiments])
    known = radius[~np.isnan(radius)]
    ratios = (
        [f"{np.exp(known.mean()):.2f}", f"{np.exp(np.median(known)):.2f}"] if len(known) else ["", ""]
    )
    several = [experiment for experiment in experiments if len(experiment.a) > 1]
    numbers = sorted({len(experiment.a) for experiment in experiments})
    return [
        *(name, len({experiment.name for experiment in experiments}), len(experiments)),
        f"{numbers[0]} to {numbers[-1]}" if numbers[1:] else numbers[0],
        *(f"{np.exp(np.mean(logs)):.3f}", f"{mean:+.3f} ± {error:.3f}"),
        f"{points:+.2f} ± {points_error:.2f}",
        *(f"{value:.3f}" for value in means_of(experiments, "log_loss")),
        f"{loss:+.4f} ± {loss_error:.4f}",
        *(f"{value:.3f}" for value in means_of(experiments, "ece")),
        *ratios,
        share(several, "is_worse"),
        share(several, "is_better"),
        *(f"{value:.1f}" for value in means_of(experiments, "members")),
        *(f"{value:.3f}" for value in means_of(experiments, "coverage")),
    ]


def means_of(experiments: Iterable[Experiment], key: str) -> Iterator[float]:
    """Yield the mean of a figure over the experiments, of A and of B; NaN if no line has it."""
    for values in zip(*(experiment.values(key) for experiment in experiments), strict=True):
        known = [np.mean(of) for of in values if all(value is not None for value in of)]
        yield float(np.mean(known)) if known else np.nan


def share(experiments: Sequence[Experiment], question: str) -> str:
    """Return the share of experiments with an answer of yes."""
    if not experiments:
        return ""
    return f"{np.mean([getattr(experiment, question) for experiment in experiments]):.0%}"


def groups(experiments: Sequence[Experiment]) -> Iterator[tuple[str, list[Experiment]]]:
    """Yield all experiments, those of each kind of data, and those of each size."""
    yield "all", list(experiments)
    for kind in sorted({experiment.kind for experiment in experiments}):
        yield kind, [experiment for experiment in experiments if experiment.kind == kind]
    for size in sorted({experiment.size for experiment in experiments}):
        yield f"{size} per class", [experiment for experiment in experiments if experiment.size == size]


def compare(options: argparse.Namespace) -> None:
    """Print the table of two files."""
    experiments = paired(options.a, options.b, (options.model_a, options.model_b), options.half)
    if not experiments:
        raise SystemExit("The two files have no split in common.")
    print(f"B/A, {options.half} half: A {options.a.stem} ({options.model_a}), ", end="")
    print(f"B {options.b.stem} ({options.model_b})")
    print(text_table(HEADER, [figures(*group) for group in groups(experiments)]))
    lost = [e for e in experiments if len(e.a) > 1 and e.difference("error")[0] > 0]
    lost.sort(key=lambda e: -e.difference("error")[0] / max(e.difference("error")[1], 1e-3))
    print("\nExperiments that lost most, in standard errors:")
    for e in lost[: options.lost]:
        mean, error = e.difference("error")
        print(f"  {e.name}, {e.size} per class: {100 * mean:+.2f} ± {100 * error:.2f} points")


def curve(options: argparse.Namespace) -> None:
    """Print one line per file, relative to the first one."""
    first, *_ = options.files
    models = options.model_a, "search"
    lines = []
    for path in options.files:
        experiments = paired(first, path, models, options.half)
        if experiments:
            lines.append(figures(path.stem, experiments))
    print(text_table(HEADER, lines))


def keep(options: argparse.Namespace) -> None:
    """Write the lines of the search on a half, with rounded figures, in the order of their keys."""
    rows = [row for row in stored_rows(options.rows) if row["model"] == "search"]
    rows = [row for row in rows if row["half"] == options.half]
    rows.sort(key=lambda row: [row[key] for key in KEY])
    with options.out.open("w", encoding="utf-8") as out:
        for row in rows:
            kept = {key: row[key] for key in KEPT}
            rounded = {k: round(v, DIGITS) if isinstance(v, float) else v for k, v in kept.items()}
            out.write(json.dumps(rounded) + "\n")


def parameter(text: str) -> tuple[str, Any]:
    """Read a parameter of the search, NAME=JSON."""
    name, _, value = text.partition("=")
    return name, json.loads(value)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("measure", help="fit both models, one line per fit")
    command.set_defaults(run=measure)
    command.add_argument("--out", type=Path, required=True, help="the file of JSON lines")
    command.add_argument("--label", default=nsse.__version__)
    command.add_argument("--halves", nargs="+", choices=HALVES, default=["report"])
    command.add_argument("--sets", nargs="*", help="only these")
    command.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="samples per class")
    command.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    command.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    command.add_argument("--parameter", type=parameter, nargs="*", default=[], metavar="NAME=JSON")
    command = commands.add_parser("compare", help="print the ratios of two files")
    command.set_defaults(run=compare)
    command.add_argument("a", type=Path)
    command.add_argument("b", type=Path)
    command.add_argument("--model-a", choices=MODELS, default="search")
    command.add_argument("--model-b", choices=MODELS, default="search")
    command.add_argument("--half", choices=HALVES, default="report")
    command.add_argument("--lost", type=int, default=10, help="experiments that lost most")
    command = commands.add_parser("curve", help="print several files beside the first one")
    command.set_defaults(run=curve)
    command.add_argument("files", type=Path, nargs="+")
    command.add_argument("--model-a", choices=MODELS, default="search")
    command.add_argument("--half", choices=HALVES, default="report")
    command = commands.add_parser("keep", help="write what a comparison needs")
    command.set_defaults(run=keep)
    command.add_argument("rows", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--half", choices=HALVES, default="report")
    options = parser.parse_args(argv)
    options.run(options)


if __name__ == "__main__":
    main()
