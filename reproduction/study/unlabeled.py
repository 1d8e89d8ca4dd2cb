"""Few labels: errors on the unlabeled samples of a fit, and on new samples.

A given number of samples of every class has a label. A tenth of the others is held out as new samples
(for MNIST, its test part). The rest is in the fit without labels. Methods with parameters are tuned on
the same splits of the labeled samples. Held-out samples stay in these fits without labels. Methods
that are cubic in the number of rows receive all labeled rows of MNIST and some of the others.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.semi_supervised import LabelSpreading

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from nsse.datasets import load_dataset, per_class_split
from nsse.methods import MReg, SemiRBF
from nsse.splits import BalancedSplits
from nsse.unlabeled import GraphPenalty, LabelPropagation
from reproduction.rows import Row, RowFile, Task, markdown, marked, write_text
from reproduction.running import chosen, run_tasks

CASES = {
    ("coil20", 3): "COIL-20-3",
    ("coil20", 7): "COIL-20-7",
    ("orl", 3): "ORL-3",
    ("digits", 10): "digits-10",
    ("mnist", 10): "MNIST-10",
    ("yale", 10): "Yale-10",
}
KINDS = ("of the fit", "of new samples")
N_SPLITS, OF_MNIST = 10, 5
NONE, NEVER_SEEN = -1, 0.1
# Rows of MNIST for cubic methods, and centers of ours.
MOST_ROWS, CENTERS = 2000, 2000


class Drawn:
    """The samples of a task, with the labeled ones first, and the new samples."""

    def __init__(self, task: Task) -> None:
        X, y, n = samples(task.dataset)
        rng = np.random.default_rng(task.seed)
        own, others = per_class_split(y[:n], task.n_train, task.seed)
        self.is_large, away = n < len(y), np.arange(n, len(y))
        if not self.is_large:
            others = rng.permutation(others)
            n_away = round(NEVER_SEEN * len(others))
            away, others = others[:n_away], np.sort(others[n_away:])
        kept = np.concatenate([own, others])
        self.X, self.truth, self.n_own = X[kept], y[kept], len(own)
        self.y = np.where(np.arange(len(kept)) < len(own), self.truth, NONE)
        self.X_new, self.y_new, self.some = X[away], y[away], np.arange(len(kept))
        if self.is_large:
            few = rng.choice(self.some[len(own) :], MOST_ROWS - len(own), replace=False)
            self.some = np.concatenate([self.some[: len(own)], np.sort(few)])


@cache
def samples(name: str) -> tuple[Any, Any, int]:
    """Return samples, labels as whole numbers, and the number of samples that are not test samples."""
    data = load_dataset(name, unit_norm=name not in ("digits", "mnist"))
    y = np.unique(data.y, return_inverse=True)[1]
    X: Any = data.X.astype(np.float32) if name == "mnist" else data.X
    return X, y, data.n_train or len(y)


Fitted = tuple[Any, Any]  # a model, and its labels of the unlabeled samples


def with_unlabelled(search: Callable[[Any], Any], drawn: Drawn) -> Fitted:
    """Fit our model. With centers (MNIST), labels are propagated instead of a graph penalty."""
    centers, use = (CENTERS, LabelPropagation()) if drawn.is_large else (None, GraphPenalty())
    model = search(SmoothEmbedding(unlabeled=use, centers=centers)).fit(drawn.X, drawn.y)
    return model, model.transduction_[drawn.n_own :]


def labelled_alone(search: Callable[[Any], Any], drawn: Drawn) -> Fitted:
    """Fit our model to the labeled samples alone."""
    model = search(SmoothEmbedding()).fit(drawn.X[: drawn.n_own], drawn.y[: drawn.n_own])
    return model, model.predict(drawn.X[drawn.n_own :])


def searched(make: Any, grid: dict[str, list[Any]], drawn: Drawn) -> Fitted:
    """Fit a method whose parameters are chosen on held-out labels."""
    X, y, n, points = drawn.X[drawn.some], drawn.y[drawn.some], drawn.n_own, [*ParameterGrid(grid)]
    right = np.zeros(len(points))
    for _, held in BalancedSplits(8, 0.2, 0).split(y[:n], y[:n]):
        hidden = y.copy()
        hidden[held] = NONE
        for place, point in enumerate(points):
            model = clone(make).set_params(**point).fit(X, hidden)
            right[place] += np.mean(model.predict(X[held]) == y[held])
    model = clone(make).set_params(**points[int(np.argmax(right))])
    # The other methods are cubic in the number of rows.
    model.fit(*((drawn.X, drawn.y) if isinstance(make, LabelSpreading) else (X, y)))
    given = getattr(model, "transduction_", ())
    return model, given[n:] if len(given) == len(drawn.y) else model.predict(drawn.X[n:])


GRIDS: dict[Any, dict[str, list[Any]]] = {
    LabelSpreading(kernel="knn", max_iter=1000): {"n_neighbors": [3, 5, 7], "alpha": [0.2, 0.8, 0.99]},
    MReg(unlabeled=NONE): {"sigma": [0.5, 1.0], "gamma_I": [1.0, 100.0], "n_neighbors": [3, 7]},
    SemiRBF(unlabeled=NONE, n_rounds=5): {"sigma": [0.3, 1.0], "ridge": [1e-3, 1e-1]},
}
METHODS: dict[str, Callable[[Drawn], Fitted]] = {
    "tuned, with unlabelled samples": partial(with_unlabelled, SmoothEmbeddingCV),
    "untuned, with unlabelled samples": partial(with_unlabelled, clone),
    "tuned, labelled alone": partial(labelled_alone, SmoothEmbeddingCV),
    "untuned, labelled alone": partial(labelled_alone, clone),
    **{type(make).__name__: partial(searched, make, grid) for make, grid in GRIDS.items()},
}


def measured(task: Task) -> Row:
    """Draw samples, fit, and count wrong labels of unlabeled and of new samples."""
    drawn = Drawn(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Graphs of few samples have components without a label.
        start = process_time()
        model, given = METHODS[task.method](drawn)
        fitted = process_time()
        new = float(np.mean(model.predict(drawn.X_new) != drawn.y_new))
    wrong = float(np.mean(given != drawn.truth[drawn.n_own :]))
    shown = {name: str(v) for name, v in getattr(model, "best_params_", {}).items()}
    details = {"new": new, "unlabelled": len(given), "test": len(drawn.y_new)}
    return Row(task, wrong, fitted - start, process_time() - fitted, shown, details)


def run(options: Namespace, out: Path, page: Path) -> list[str]:
    """Compute the missing rows, and write the tables of the page."""
    rows, problems = RowFile(out / "unlabeled.jsonl"), []
    if not options.page_only:
        names = chosen("--sets", options.sets, [name for name, _ in CASES])
        tasks = [
            Task(name, method, size, seed, protocol="unlabelled")
            for seed in range(options.splits or N_SPLITS)
            for name, size in CASES
            for method in chosen("--methods", options.methods, METHODS)
            if name in names and (seed < OF_MNIST or name != "mnist")
        ]
        problems = run_tasks(tasks, measured, rows, options.jobs).reasons
    write_text(page, filled(page.read_text(encoding="utf-8"), rows.rows()))
    print(*(f"Labels {kind}:\n{error_table(rows.rows(), kind)}" for kind in KINDS), sep="\n\n")
    return problems


def filled(text: str, rows: Sequence[Row]) -> str:
    """Return a page with the tables between its marks."""
    for kind in KINDS:
        text = marked(text, f"labels {kind}", error_table(rows, kind))
    return text


def error_table(rows: Sequence[Row], kind: str) -> str:
    """Return mean errors in percent by method and case, with standard errors and numbers of splits."""
    found: dict[Any, list[float]] = {}
    for row in rows:
        error = row.error if kind == "of the fit" else row.details["new"]
        found.setdefault((row.task.method, row.task.dataset, row.task.n_train), []).append(100 * error)
    there = dict.fromkeys([*METHODS, *(method for method, *_ in found)])
    # The stored rows have the British spelling.
    shown = {method: method.replace("labelled", "labeled") for method in there}
    lines = [[shown[m], *(_told(found.get((m, *case), [])) for case in CASES)] for m in there]
    return markdown(["method", *CASES.values()], lines)


def _told(errors: Sequence[float]) -> str:
    if not errors:
        return ""
    spread = f" ± {np.std(errors, ddof=1) / len(errors) ** 0.5:.1f}" if errors[1:] else ""
    return f"{np.mean(errors):.1f}{spread} ({len(errors)})"
