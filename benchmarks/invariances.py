"""Known invariances: what transformed copies of the training samples do to errors, and what they cost.

    NSSE_DATA=<folder> python benchmarks/invariances.py            # the study, minutes to hours
    NSSE_DATA=<folder> python benchmarks/invariances.py --mnist 60000 6000
    python benchmarks/invariances.py --page                        # docs/invariances.md

Images of 25 × 25 pixels and unit norm, digits as they are; so many training samples of every class, the
others are tested. Fixed sets stand beside what is chosen: by `choose_invariances` on splits of the
training samples for `NSSE()`, by `NSSECV(invariances=...)`, and a support vector machine, tuned on
splits of the samples *before* they are copied, has the copies that `NSSECV` chose. Every realisation is
a row, written as it finishes; a run that is started again goes on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from common import DOCS, RESULTS, append_records, markdown_table, read_records, text_table
from growth import GIB, _peak_bytes
from nsse import NSSE, NSSECV
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.invariances import enlarged, n_copies_of, named_images, names_of, usual_sets
from nsse.kernels import gaussian, median_distance, squared_distances
from nsse.selection import BalancedSplits, choose_invariances

CASES = {"orl": 3, "coil20": 7, "digits": 7, "objects": 7, "yale": 10}
TITLES = {"orl": "ORL", "coil20": "COIL-20", "digits": "digits", "objects": "objects", "yale": "Yale"}
FIXED = ("none", "shift", "rotate+mirror", "shift+rotate", "shift+rotate+mirror")
# Widths in medians of the distances, and penalties, of the support vector machine.
WIDTHS, PENALTIES, INNER = (0.3, 0.5, 0.8, 1.2), (1.0, 10.0, 100.0), 5
COLUMNS = ("case", "per_class", "seed", "method", "copies", "error", "cpu_seconds")
TYPES = (str, int, int, str, str, float, float)
MNIST_COLUMNS = (
    "rows",
    "copies",
    "landmarks",
    "error",
    "seconds",
    "cpu_seconds",
    "fit_gib",
    "estimated_gib",
)
MNIST_TYPES = (int, int, int, float, float, float, float, float)


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure what is missing, print the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--realisations", type=int, default=10)
    parser.add_argument("--rows", type=Path, default=RESULTS / "invariances.csv")
    parser.add_argument("--mnist", nargs=2, type=int, metavar=("N", "M"), help="rows and landmarks")
    parser.add_argument("--mnist-rows", type=Path, default=RESULTS / "invariances_mnist.csv")
    parser.add_argument("--alone", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--page", nargs="?", type=Path, const=DOCS / "invariances.md")
    options = parser.parse_args(arguments)
    if options.alone:
        print(",".join(map(str, mnist_row(*options.alone))))
        return []
    if options.page:
        write_page(options.page, means(read(options.rows)), read_mnist(options.mnist_rows))
        return []
    if options.mnist:
        measure_mnist(*options.mnist, options.mnist_rows)
        return read_mnist(options.mnist_rows)
    measure(options)
    lines = means(read(options.rows))
    print(text_table(list(lines[0]), [list(line.values()) for line in lines]))
    return lines


def measure(options: argparse.Namespace) -> None:
    """The rows that are missing, split after split."""
    done = {(row["case"], row["seed"], row["method"]) for row in read(options.rows)}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for seed, name in product(range(options.realisations), options.cases):
            chosen: dict[str, Any] = {}
            for method in options.methods:
                if (name, seed, method) in done:
                    continue
                row = realised(name, seed, method, chosen)
                append_records(options.rows, [row], COLUMNS)


def realised(name: str, seed: int, method: str, chosen: dict[str, Any]) -> list[Any]:
    """One row; ``chosen`` remembers what was chosen on this split."""
    X, y, shape = loaded(name)
    train, test = per_class_split(y, CASES[name], seed)
    if method.endswith(("chosen", "the same")):
        chosen_set(X[train], y[train], shape, chosen)
    start = time.process_time()
    model, copies = METHODS[method](X[train], y[train], shape, chosen)
    seconds = time.process_time() - start
    if method.endswith("chosen"):
        seconds += chosen["seconds"]
    error = 100.0 * float(np.mean(model.predict(X[test]) != y[test]))
    said = "+".join(names_of(copies)) or "none"
    return [name, CASES[name], seed, method, said, f"{error:.4f}", f"{seconds:.2f}"]


def fixed(names: str) -> Callable[..., tuple[Any, Any]]:
    """`NSSE()` with a set that nobody chose."""

    def fitted(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
        copies = named_images([] if names == "none" else names.split("+"), shape)
        return NSSE(invariances=copies).fit(X, y), copies

    return fitted


def by_choice(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
    """`NSSE()` with the set that its own splits of the training samples chose."""
    best = chosen_set(X, y, shape, chosen)
    return NSSE(invariances=best).fit(X, y), best


def chosen_set(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> Any:
    """Chosen once for all methods of a split: `NSSECV` compares the sets on the same inner splits."""
    if "set" not in chosen:
        start = time.process_time()
        chosen["set"] = choose_invariances(NSSE(), X, y, usual_sets(shape)).best
        chosen["seconds"] = time.process_time() - start
    return chosen["set"]


def tuned(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
    return NSSECV().fit(X, y), None


def tuned_by_choice(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
    best = chosen_set(X, y, shape, chosen)
    return NSSECV(estimator=NSSE(invariances=best)).fit(X, y), best


def machine(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
    return Machine(None).fit(X, y), None


def machine_with_copies(X: Any, y: Any, shape: Any, chosen: dict[str, Any]) -> tuple[Any, Any]:
    best = chosen_set(X, y, shape, chosen)
    return Machine(best).fit(X, y), best


METHODS: dict[str, Callable[..., tuple[Any, Any]]] = {
    **{f"NSSE, {names}": fixed(names) for names in FIXED},
    "NSSE, chosen": by_choice,
    "NSSECV, none": tuned,
    "NSSECV, chosen": tuned_by_choice,
    "SVM, none": machine,
    "SVM, the same": machine_with_copies,
}


class Machine:
    """A support vector machine with a Gaussian kernel, tuned on splits of samples without copies."""

    def __init__(self, copies: Any) -> None:
        self.copies = copies

    def fit(self, X: Any, y: Any) -> Machine:
        """Width and penalty by splits; what is held out is never copied."""
        wrong = dict.fromkeys(product(WIDTHS, PENALTIES), 0)
        for train, valid in BalancedSplits(INNER, 0.2, 0).split(X, y):
            own, labels = self._enlarged(X[train], y[train])
            D2 = squared_distances(np.concatenate([own, X[valid]]))
            n, unit = len(own), median_distance(D2[: len(own), : len(own)])
            for width, penalty in wrong:
                K = gaussian(D2, width * unit)
                machine = SVC(C=penalty, kernel="precomputed").fit(K[:n, :n], labels)
                wrong[width, penalty] += int(np.sum(machine.predict(K[n:, :n]) != y[valid]))
        width, penalty = min(wrong, key=lambda point: wrong[point])
        own, labels = self._enlarged(X, y)
        unit = median_distance(squared_distances(own))
        self.machine = SVC(C=penalty, gamma=1.0 / (width * unit) ** 2).fit(own, labels)
        return self

    def predict(self, X: Any) -> Any:
        """Labels."""
        return self.machine.predict(X)

    def _enlarged(self, X: Any, y: Any) -> tuple[Any, Any]:
        k = 1 + n_copies_of(self.copies, X.shape[1])
        return enlarged(self.copies, X), np.repeat(y, k)


@cache
def loaded(name: str) -> tuple[Any, Any, tuple[int, ...]]:
    data = load_dataset(name) if name == "digits" else load_dataset(name, unit_norm=True)
    return data.X, data.y, data.image_shape


def measure_mnist(n_rows: int, n_landmarks: int, path: Path) -> None:
    """Without copies and with shifts by one pixel, each in a process of its own."""
    done = {(row["rows"], row["copies"], row["landmarks"]) for row in read_mnist(path)}
    for n_copies in (0, 4):
        if (n_rows, n_copies, n_landmarks) not in done:
            command = [sys.executable, __file__, "--alone", *map(str, (n_rows, n_copies, n_landmarks))]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            append_records(path, [told.strip().splitlines()[-1].split(",")], MNIST_COLUMNS)
    lines = read_mnist(path)
    print(text_table(list(lines[0]), [list(line.values()) for line in lines]))


def mnist_row(n_rows: int, n_copies: int, n_landmarks: int) -> list[Any]:
    """The first rows of MNIST as bytes; the error is that of all 10,000 test samples.

    The model is that of ``docs/scale.md``: the paper's method, read by 15 neighbours.
    """
    data = load_dataset("mnist")
    X = (255.0 * data.X / data.X.max()).round().astype(np.uint8)
    y, n_train = data.y, data.n_train
    new, truth = X[n_train:], y[n_train:]
    X, y = X[:n_rows].copy(), y[:n_rows]
    del data
    copies = named_images(["shift"] if n_copies else [], (28, 28))
    reader = KNeighborsClassifier(15)
    model = NSSE.as_published(n_landmarks=n_landmarks, invariances=copies, classifier=reader)
    estimated = model.estimate_memory(*X.shape, 10)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak of the reading
    before = _peak_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    fit_gib = (_peak_bytes() - before) / GIB
    error = 100.0 * (1.0 - model.score(new, truth))
    told = (error, seconds, cpu, fit_gib, estimated / GIB)
    return [n_rows, n_copies, n_landmarks, *(f"{value:.3f}" for value in told)]


def read(path: Path) -> list[dict[str, Any]]:
    return read_records(path, lambda *row: dict(zip(COLUMNS, row, strict=True)), TYPES)


def read_mnist(path: Path) -> list[dict[str, Any]]:
    return read_records(path, lambda *row: dict(zip(MNIST_COLUMNS, row, strict=True)), MNIST_TYPES)


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean error and its standard error of every method, a column for each case."""
    cases = [name for name in CASES if any(row["case"] == name for row in rows)]
    lines = []
    for method in METHODS:
        line: dict[str, Any] = {"method": method}
        for name in cases:
            own = [row for row in rows if row["case"] == name and row["method"] == method]
            line[f"{TITLES[name]}-{CASES[name]}"] = told([row["error"] for row in own])
        line["CPU s"] = _mean([row["cpu_seconds"] for row in rows if row["method"] == method])
        lines.append(line)
    return lines


def told(errors: list[float]) -> str:
    if not errors:
        return ""
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
    return f"{np.mean(errors):.1f} ± {spread:.1f} ({len(errors)})"


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.1f}" if values else ""


def write_page(path: Path, lines: list[dict[str, Any]], mnist: list[dict[str, Any]]) -> None:
    """The tables of the page, between its marks; the words around them stay."""
    text = path.read_text(encoding="utf-8")
    for mark, table in (("errors", lines), ("mnist", mnist)):
        if not table:
            continue
        begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(begin)
        shown = markdown_table(list(table[0]), [list(line.values()) for line in table])
        text = f"{before}{begin}{shown}\n{end}{rest.partition(end)[2]}"
    path.write_text(text, encoding="utf-8")
    print(f"written: {path.name}")


if __name__ == "__main__":
    main()
