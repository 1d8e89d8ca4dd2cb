"""The page of imbalanced tables: mean errors, ranks and seconds of every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reproduction.rows import Row, renamed, write_text
from reproduction.study.methods import (
    IMBALANCED_NAMES,
    IMBALANCED_PLAIN,
    IMBALANCED_SHOWN,
    IMBALANCED_TUNED,
)
from reproduction.study.page import table
from reproduction.study.ranks import mean_ranks

# A search and the estimator without one: the first that are there.
OURS = (("SmoothEmbeddingCV()", "SmoothEmbedding()"), ("NSSECV() 0.2", "NSSE() 0.2"))


def publish(rows: Sequence[Row], page: Path) -> None:
    """Write the page of some rows."""
    rows, blocks = renamed(rows, IMBALANCED_NAMES), []
    there = {row.task.method for row in rows}
    ours = next((pair for pair in OURS if set(pair) <= there), OURS[0])
    for size in sorted({row.task.n_train for row in rows}):
        own = [row for row in rows if row.task.n_train == size]
        n_splits = len({row.task.seed for row in own})
        splits = f"{n_splits} splits" if n_splits > 1 else "one split"
        n_sets, lines = _lines(own)
        title = f"## {n_sets} tables, {size} times as many training samples as classes, {splits}"
        blocks.append(f"{title}\n\n{table(['', 'error %', 'log error', 'rank', 'seconds'], lines)}")
    worse, cells = _worse(rows, ours)
    n_tables = len({row.task.dataset for row in rows})
    template = Path(__file__).with_name("imbalanced.md").read_text(encoding="utf-8")
    text = template.format(
        n_tables=n_tables,
        blocks="\n\n".join(blocks),
        worse=worse,
        cells=cells,
        tuned=ours[0],
        plain=ours[1],
    )
    write_text(page, text)
    print(f"Page: {page}")


def _errors(rows: Sequence[Row]) -> dict[str, dict[str, dict[int, float]]]:
    """Test errors in per cent by data set, method and split."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        methods = found.setdefault(row.task.dataset, {})
        methods.setdefault(row.task.method, {})[row.task.seed] = 100 * row.error
    return found


def _lines(rows: Sequence[Row]) -> tuple[int, list[list[str]]]:
    """How many sets, and of every method: mean error, mean log error, mean rank, mean seconds."""
    errors = list(_errors(rows).values())
    whole = [own for own in errors if len(own) == max(map(len, errors))]
    methods = [method for method in IMBALANCED_SHOWN if method in whole[0]]
    columns = np.array([[np.mean(list(own[m].values())) for m in methods] for own in whole])
    ranks: dict[str, str] = {}
    for group in (IMBALANCED_PLAIN, IMBALANCED_TUNED):  # what is in both is ranked among the tuned
        among = [method for method in group if method in methods]
        means = mean_ranks(columns[:, [methods.index(method) for method in among]])
        ranks |= {method: f"{mean:.2f}" for method, mean in zip(among, means, strict=True)}
    lines = []
    for method, column in zip(methods, columns.T, strict=True):
        seconds = [row.fit_seconds + row.predict_seconds for row in rows if row.task.method == method]
        told = [f"{column.mean():.2f}", f"{np.log(column + 1.0).mean():.3f}", ranks.get(method, "")]
        lines.append([method, *told, f"{np.mean(seconds):.2f}"])
    return len(whole), lines


def _worse(rows: Sequence[Row], ours: tuple[str, str]) -> tuple[int, int]:
    """Cells in which tuning loses by more than a standard error, and all that have several splits."""
    worse = cells = 0
    for size in {row.task.n_train for row in rows}:
        for own in _errors([row for row in rows if row.task.n_train == size]).values():
            tuned, plain = (own.get(name, {}) for name in ours)
            lost = np.array([tuned[seed] - plain[seed] for seed in tuned if seed in plain])
            if len(lost) > 1:
                cells += 1
                worse += bool(lost.mean() > lost.std(ddof=1) / np.sqrt(len(lost)) + 1e-9)
    return worse, cells
