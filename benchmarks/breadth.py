"""What our defaults were chosen on, and imbalanced tables: mean ranks beside other classifiers.

    NSSE_DATA=<folder> python benchmarks/breadth.py --half choose        # what choices were made on
    NSSE_DATA=<folder> python benchmarks/breadth.py --half report        # imbalanced tables, reported

The sets are cut in two halves by a hash of their names. Everything that could be chosen, the grid, the
splits, the vote, the reader, the point without tuning, was chosen on one half. The other is reported:
balanced tables and pictures by ``nsse bench study`` (``docs/when_to_use.md``), imbalanced tables here.
Tables: ``keel/balanced`` with so many training samples per class, ``keel/imbalanced`` with so many times
the number of classes, in their own proportions; standardised on the training samples, words as 0/1
columns. Images: COIL-20, ORL, Yale divided by their norms, digits as they are. Every case writes its
rows as it finishes; a run that is started again goes on. The report writes ``docs/breadth.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import RESULTS, append_records, markdown_table, read_records, text_table
from nsse import NSSE, NSSECV
from nsse.certificates.votes import winners
from nsse.datasets import keel_tables, load_dataset, load_keel
from nsse.evaluation import per_class_split
from nsse.evaluation.study import half_of
from nsse.kernels import gaussian, median_distance, squared_distances
from nsse.kernels.distances import Shifted
from nsse.selection.quick import HELD_OUT, Trained, n_splits_for, quick_search
from nsse.selection.quick_grid import READERS, VOTERS, QuickGrid, QuickResult
from nsse.selection.rulers import Rulers
from nsse.selection.splits import BalancedSplits
from nsse.solvers.closed_form import ClassTargets, KernelSpectrum

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

IMAGES = ("coil20", "digits", "orl", "yale")
KINDS = ("balanced", "imbalanced", "images")
# The others are reported by `nsse bench study`.
REPORTED = ("imbalanced",)
# Larger cases are left out: boosting takes minutes on them.
MOST_TRAINING, MOST_TEST = 900, 1000
SVM_GRID = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": [0.1, 0.3, 1.0, 3.0]}
NEIGHBORS = {"n_neighbors": [1, 3, 5, 9]}
# The point that is taken without tuning: relevance, shrinkage, σ, ν, reader.
UNTUNED = QuickGrid((0.5,), (3.0,), (0.65,), (0.1,), ("scores",))
NAMES = ("relevance", "shrinkage", "sigma", "mu2", "reader")
TUNER, PLAIN_NSSE, PUBLISHED = "NSSECV()", "NSSE()", "NSSE.as_published()"
# Takes minutes: asked for by name, into rows of its own (`--rows`).
SWEEP = 'NSSECV(search="full")'
# One change of our defaults at a time: all but the metric, and the metric alone.
CHANGES = ('NSSE(metric="euclidean")', 'NSSE.as_published(metric="within", shrinkage=3)')
# The closed form by itself, and what else was tried while choosing.
STUDIED = (
    "vote of 15",
    "best point",
    "untuned point",
    "vote of 5",
    "vote of 9",
    "scores only",
    "nearest only",
    "leave one out",
    "leave one out, Euclidean",
)
TUNED = (TUNER, "SVC tuned", "LDA", "logistic", "forest", "boosting", "k-NN tuned")
PLAIN = (PLAIN_NSSE, PUBLISHED, "SVC(C=10)", "1-NN", "LDA")


@dataclass(frozen=True)
class Row:
    """Test error in per cent, and seconds, of one method on one split."""

    kind: str
    name: str
    per_class: int
    seed: int
    method: str
    error: float
    seconds: float
    n_train: int

    @property
    def case(self) -> tuple[str, str, int, int]:
        """What it was measured on."""
        return self.kind, self.name, self.per_class, self.seed


@dataclass(frozen=True)
class Samples:
    """Training samples, and what is asked of them."""

    X: Floats
    codes: Ints
    X_test: Floats
    truth: Ints


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Measure what is missing, print the ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choose", "report"), default="report")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="all; to report, imbalanced alone")
    parser.add_argument("--sets", nargs="+", help="only these")
    parser.add_argument("--per-class", type=int, nargs="+", default=(10, 20, 50))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="+", help="only these; all but those of the study if none")
    parser.add_argument("--rows", type=Path, default=RESULTS / "breadth.csv")
    parser.add_argument("--tables-only", action="store_true", help="print what the rows say")
    parser.add_argument("--page", type=Path, help="write a page of what the rows say")
    options = parser.parse_args(arguments)
    options.kinds = options.kinds or (KINDS if options.half == "choose" else REPORTED)
    wanted = set(_cases(options))
    if not options.tables_only:
        done: dict[Any, set[str]] = {}
        for row in read_rows(options.rows):
            done.setdefault(row.case, set()).add(row.method)
        wanted_methods = set(options.methods or [*TUNED, *PLAIN, *CHANGES])
        todo = {case: wanted_methods - done.get(case, set()) for case in _cases(options)}
        work = (measured(case, sorted(left)) for case, left in todo.items() if left)
        for rows in work:
            append_rows(options.rows, rows)
            print(*(rows[0].case if rows else ("left out",)), flush=True)
    rows = [row for row in read_rows(options.rows) if row.case in wanted]
    shown = [text for kind in KINDS for text in tables(kind, [row for row in rows if row.kind == kind])]
    print("\n\n".join(shown))
    if options.page is not None:
        options.page.write_text(page_text(rows), encoding="utf-8")
    return rows


def _cases(options: argparse.Namespace) -> list[tuple[str, str, int, int]]:
    names = {kind: _names(kind) for kind in options.kinds}
    return [
        (kind, name, size, seed)
        for seed in range(options.splits)
        for size in options.per_class
        for kind, found in names.items()
        for name in found
        if half_of(name) == options.half and (not options.sets or name in options.sets)
    ]


def _names(kind: str) -> list[str]:
    if kind == "images":
        return list(IMAGES)
    return keel_tables(group=kind)


@cache
def loaded(kind: str, name: str) -> tuple[Floats, Ints]:
    """Samples and classes of a set."""
    if kind == "images":
        data = load_dataset(name, unit_norm=name != "digits")
        return np.asarray(data.X, dtype=np.float64), _codes(data.y)
    return load_keel(name, group=kind)


def _codes(labels: Any) -> Ints:
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def drawn(kind: str, name: str, per_class: int, seed: int) -> Samples | None:
    """Training and test samples of a case; None where the set is too small or too large for it."""
    X, y = loaded(kind, name)
    sizes = np.bincount(y)
    if per_class * len(sizes) > MOST_TRAINING:
        return None
    if kind == "imbalanced":
        train, test = proportional_split(y, per_class * len(sizes), seed)
    elif sizes.min() <= per_class:
        return None
    else:
        train, test = per_class_split(y, per_class, seed)
    test = np.random.default_rng(seed).permutation(test)[:MOST_TEST]
    A, B = X[train], X[test]
    if kind != "images":
        spread = A.std(axis=0)
        center, spread = A.mean(axis=0), np.where(spread > 0, spread, 1.0)
        A, B = (A - center) / spread, (B - center) / spread
    return Samples(A, y[train], B, y[test])


def proportional_split(y: Ints, n_train: int, seed: int) -> tuple[Ints, Ints]:
    """So many training samples in the proportions of the classes, two of each at least; the others."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(y)
    wanted = np.clip(np.round(n_train * sizes / len(y)).astype(int), 2, sizes - 1)
    train = [rng.permutation(np.flatnonzero(y == c))[:n] for c, n in enumerate(wanted)]
    chosen = np.zeros(len(y), dtype=bool)
    chosen[np.concatenate(train)] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def measured(case: tuple[str, str, int, int], wanted: Sequence[str]) -> list[Row]:
    """The rows of a case."""
    samples = drawn(*case)
    if samples is None:
        return []
    n_train = len(samples.codes)
    splits = list(BalancedSplits(n_splits_for(n_train), HELD_OUT, 0).split(samples.X, samples.codes))
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # forests and regressions of few samples have much to say
        methods = {**quick_methods(samples, splits), **rivals(samples, splits)}
        for name in wanted:
            predict = methods[name]
            start = time.perf_counter()
            error = 100.0 * float(np.mean(predict() != samples.truth))
            seconds = time.perf_counter() - start
            rows.append(Row(*case, name, round(error, 3), round(seconds, 3), n_train))
    return rows


def rivals(samples: Samples, splits: Any) -> dict[str, Callable[[], Ints]]:
    """Labels of the test samples by name of a method."""
    gammas = [value / (samples.X.shape[1] * samples.X.var()) for value in SVM_GRID["gamma"]]
    models = {
        TUNER: NSSECV(),
        SWEEP: NSSECV(search="full"),
        PLAIN_NSSE: NSSE(),
        PUBLISHED: NSSE.as_published(),
        CHANGES[0]: NSSE(metric="euclidean"),
        CHANGES[1]: NSSE.as_published(metric="within", shrinkage=3.0),
        "SVC(C=10)": SVC(C=10),
        "SVC tuned": GridSearchCV(SVC(), SVM_GRID | {"gamma": gammas}, cv=splits),
        "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "logistic": LogisticRegression(max_iter=500),
        "forest": RandomForestClassifier(200, random_state=0),
        # With the 20 samples in a leaf that it asks for, 20 samples of a class make no tree.
        "boosting": HistGradientBoostingClassifier(min_samples_leaf=5, random_state=0),
        "1-NN": KNeighborsClassifier(1),
        "k-NN tuned": GridSearchCV(KNeighborsClassifier(), NEIGHBORS, cv=splits),
    }

    def predictor(model: Any) -> Callable[[], Ints]:
        return lambda: model.fit(samples.X, samples.codes).predict(samples.X_test)

    return {name: predictor(model) for name, model in models.items()}


def quick_methods(samples: Samples, splits: Any) -> dict[str, Callable[[], Ints]]:
    """The closed form: by the vote, with the best point, at one point; and what else was tried."""

    @cache
    def result(readers: tuple[str, ...] = READERS) -> QuickResult:
        return quick_search(samples.X, samples.codes, splits, QuickGrid(readers=readers))

    return {
        "vote of 15": lambda: voted(samples, result(), VOTERS),
        "best point": lambda: voted(samples, result(), 1),
        "untuned point": lambda: fixed_labels(samples, UNTUNED),
        "vote of 5": lambda: voted(samples, result(), 5),
        "vote of 9": lambda: voted(samples, result(), 9),
        "scores only": lambda: voted(samples, result(("scores",)), 1),
        "nearest only": lambda: voted(samples, result(("nearest",)), 1),
        "leave one out": lambda: left_out_choice(samples, QuickGrid()),
        "leave one out, Euclidean": lambda: left_out_choice(
            samples, QuickGrid(relevances=(0.0,), shrinkages=(np.inf,))
        ),
    }


def voted(samples: Samples, result: QuickResult, number: int) -> Ints:
    """Labels by the best points of a search, each by the closed form."""
    # With μ1 = 1 and classes of mean size 1, μ2 is ν.
    table = result.table(1.0, 1.0, 1)
    fold = fold_of(samples)
    ballots = []
    for row in result.voters(table, number):
        point = table.points[row]
        grid = QuickGrid(*((point[name],) for name in NAMES))
        ballots.append(next(fold.labels(grid, [(0, 0, 0)]))[1][0, 0])
    return winners(np.column_stack(ballots))


def fixed_labels(samples: Samples, grid: QuickGrid) -> Ints:
    return next(fold_of(samples).labels(grid, [(0, 0, 0)]))[1][0, 0]


def fold_of(samples: Samples) -> Trained:
    X, X_new = samples.X, samples.X_test
    D2, D2_new = squared_distances(X), Shifted.of(X).squared_distances_from(X_new)
    return Trained.on(samples.codes, Rulers(X, samples.codes, X_new, D2, D2_new), 5)


def left_out_choice(samples: Samples, grid: QuickGrid) -> Ints:
    """No splits: leave-one-out errors of the regression, from one decomposition per pair."""
    fold = fold_of(samples)
    best: tuple[Any, ...] = (-1.0,)
    for relevance, shrinkage in product(grid.relevances, grid.shrinkages):
        D2 = fold.rulers.ruler(fold.n_neighbors, relevance).distances(shrinkage)[0]
        unit = median_distance(D2)
        for sigma in grid.sigmas:
            targets = ClassTargets.of(fold.codes, len(fold.classes))
            spectrum = KernelSpectrum.of(gaussian(D2, sigma * unit), targets, np.inf)
            for nu in grid.nus:
                right = np.mean(left_out_labels(spectrum, nu) == fold.codes)
                best = max(best, (right, sigma, nu, shrinkage, relevance))
    _, sigma, nu, shrinkage, relevance = best
    return fixed_labels(samples, QuickGrid((relevance,), (shrinkage,), (sigma,), (nu,), ("scores",)))


def left_out_labels(spectrum: KernelSpectrum, nu: float) -> Ints:
    """(Hy − h y)/(1 − h) for every row of the regression: what the others say of it."""
    V, shares = spectrum.vectors, spectrum.values**2 / (spectrum.values**2 + nu)
    targets = spectrum.targets.centred
    fitted = (V * shares) @ (V.T @ targets)
    leverages = ((V**2) @ shares)[:, np.newaxis]
    left_out = (fitted - leverages * targets) / np.maximum(1.0 - leverages, 1e-15)
    return np.asarray((left_out + spectrum.targets.shares).argmax(axis=1))


HEAD = ("", "error %", "log error", "rank", "seconds")


def lines_of(cell: list[Row]) -> tuple[int, list[list[str]]]:
    """How many sets, and of every method: mean error, mean log error, mean rank, mean seconds."""
    errors = by_set(cell)
    names = [name for name in errors if len(errors[name]) == max(map(len, errors.values()))]
    methods = [m for m in (*TUNED, *PLAIN, *CHANGES) if m in errors[names[0]]]
    methods = list(dict.fromkeys([*methods, *errors[names[0]]]))
    table = np.array([[errors[name][method] for method in methods] for name in names])
    ranks = {**_ranks(table, methods, PLAIN), **_ranks(table, methods, TUNED)}
    lines = []
    for place, method in enumerate(methods):
        seconds = np.mean([row.seconds for row in cell if row.method == method])
        logs = np.log(table[:, place] + 1.0).mean()
        told = [f"{table[:, place].mean():.2f}", f"{logs:.3f}", ranks.get(method, ""), f"{seconds:.2f}"]
        lines.append([method, *told])
    return len(names), lines


def tables(kind: str, rows: list[Row]) -> list[str]:
    """Mean errors, mean ranks among the tuned and the plain methods, mean log errors, seconds."""
    found = []
    for size in sorted({row.per_class for row in rows}):
        n_sets, lines = lines_of([row for row in rows if row.per_class == size])
        found.append(f"{kind}, {size} per class, {n_sets} sets\n{text_table(list(HEAD), lines)}")
    return found


PAGE = """# Imbalanced tables: NSSE beside other classifiers

Written by `benchmarks/breadth.py --half report --page docs/breadth.md` (`make breadth`); do not edit.
Balanced tables and pictures, and when to use what: [when_to_use.md](when_to_use.md).

{n_tables} imbalanced tables of [KEEL](https://sci2s.ugr.es/keel/datasets.php): one half of those at
hand, cut by a hash of their names. Defaults, grid and splits were chosen on the other half. This half
was not unseen: it was looked at while the tuner was built.
Training samples are drawn in the proportions of the classes, and every mistake counts the same.
Tables are standardised. *log error* is the mean of log(1 + error in %): every set counts the same.
*rank* is the mean rank among the seven tuned methods, `NSSECV()` to k-NN, and below them among the five
untuned ones (LDA is in both). Seconds include the search, on one BLAS thread of a shared machine; those
of `NSSE` and `NSSECV` were taken beside other work (``benchmarks/tuning_time.py`` has them alone). The
last two lines of a table say what our defaults are worth one by one, beside `NSSE.as_published()` and
`NSSE()`: class means, scores, a given σ and a weight that follows the class sizes, without the metric;
and the metric alone.

{blocks}

Cells in which `NSSECV()` errs more than `NSSE()` by over one standard error of the difference: {worse}
of {cells}.
"""


def page_text(rows: list[Row]) -> str:
    """The page of the reporting half."""
    blocks = []
    for size in sorted({row.per_class for row in rows}):
        cell = [row for row in rows if row.per_class == size]
        n_sets, lines = lines_of(cell)
        n_splits = len({row.seed for row in cell})
        splits = f"{n_splits} splits" if n_splits > 1 else "one split"
        title = f"## {n_sets} tables, {size} times as many training samples as classes, {splits}"
        blocks.append(f"{title}\n\n{markdown_table(HEAD, lines)}")
    worse, cells = _worse(rows)
    n_tables = len({row.name for row in rows})
    return PAGE.format(n_tables=n_tables, blocks="\n\n".join(blocks), worse=worse, cells=cells)


def _worse(rows: list[Row]) -> tuple[int, int]:
    """Cells in which tuning loses by more than a standard error, and all that have several splits."""
    worse = cells = 0
    for kind, name, size in {(row.kind, row.name, row.per_class) for row in rows}:
        cell = [row for row in rows if (row.kind, row.name, row.per_class) == (kind, name, size)]
        tuned, plain = (
            {row.seed: row.error for row in cell if row.method == method}
            for method in (TUNER, PLAIN_NSSE)
        )
        lost = np.array([tuned[seed] - plain[seed] for seed in tuned if seed in plain])
        if len(lost) > 1:
            cells += 1
            worse += bool(lost.mean() > lost.std(ddof=1) / np.sqrt(len(lost)) + 1e-9)
    return worse, cells


def by_set(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Name of a set -> method -> mean error."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(row.name, {}).setdefault(row.method, []).append(row.error)
    return {name: {m: float(np.mean(e)) for m, e in of.items()} for name, of in found.items()}


def _ranks(table: Floats, methods: list[str], compared: Sequence[str]) -> dict[str, str]:
    compared = [method for method in compared if method in methods]
    places = [methods.index(method) for method in compared]
    means = rankdata(table[:, places], axis=1).mean(axis=0)
    return {name: f"{mean:.2f}" for name, mean in zip(compared, means, strict=True)}


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, if there is one."""
    return read_records(path, Row, (str, str, int, int, str, float, float, int))


def append_rows(path: Path, rows: Sequence[Row]) -> None:
    """The rows of a case, written as it finishes."""
    append_records(path, map(astuple, rows), [field.name for field in fields(Row)])


if __name__ == "__main__":
    main()
