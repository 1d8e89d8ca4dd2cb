"""The tables and the sentence of ``nsse demo``, made from its numbers, whoever is ahead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.table import Table

    from nsse.evaluation import Summary

SIZES = (7, 20, 60)  # training samples per class

Rows: TypeAlias = tuple[list[str], list[list[Any]]]


def embedding_rows(train: Any, labels: Any, predicted: Any, embedding: Any) -> Rows:
    """One row per sample, in the order of the data set."""
    is_train = set(train.tolist())
    header = ["index", "set", "label", "predicted"]
    header += [f"y{k + 1}" for k in range(embedding.shape[1])]
    samples = zip(labels.tolist(), predicted.tolist(), embedding.tolist(), strict=True)
    return header, [
        [index, "train" if index in is_train else "test", label, guess, *point]
        for index, (label, guess, point) in enumerate(samples)
    ]


def error_rows(summaries: list[Summary]) -> Rows:
    """One row per method and size; the standard error is empty for a single split."""
    header = [
        "method",
        "n_per_class",
        "error_percent",
        "standard_error_percent",
        "splits",
        "fit_seconds",
    ]
    return header, [
        [
            s.method,
            s.n_per_class,
            round(100 * s.mean, 4),
            round(100 * s.standard_error, 4) if s.count > 1 else "",
            s.count,
            round(s.fit_seconds, 4),
        ]
        for s in summaries
    ]


def screen_table(summaries: list[Summary]) -> Table:
    """Methods down, sizes across; the smallest mean of a column in bold."""
    from rich.table import Table

    count = summaries[0].count
    over = f"mean ± standard error over {count} splits" if count > 1 else "one split"
    table = Table(title=f"Test error in percent, {over}", title_justify="left", title_style="bold")
    table.add_column("Training samples per class")
    for size in SIZES:
        table.add_column(str(size), justify="right")
    for method in dict.fromkeys(s.method for s in summaries):
        table.add_row(method, *(_cell(summaries, method, size) for size in SIZES))
    return table


def _cell(summaries: list[Summary], method: str, size: int) -> str:
    same_size = [s for s in summaries if s.n_per_class == size]
    (own,) = (s for s in same_size if s.method == method)
    text = f"{100 * own.mean:.1f}" + (f" ± {100 * own.standard_error:.1f}" if own.count > 1 else "")
    return f"[bold]{text}[/bold]" if own.mean == min(s.mean for s in same_size) else text


def finding(summaries: list[Summary]) -> str:
    """State NSSE's mean errors and the best of the others', whoever is ahead."""
    own, best = [], []
    for size in SIZES:
        same_size = [s for s in summaries if s.n_per_class == size]
        own += [f"{100 * s.mean:.1f}" for s in same_size if s.method == "NSSE"]
        other = min((s for s in same_size if s.method != "NSSE"), key=lambda s: s.mean)
        best.append(f"{100 * other.mean:.1f} ({other.method})")
    return (
        f"untuned NSSE errs on {_in_words(own)} % of unseen digits with {_in_words(SIZES)} training "
        f"samples per class; the best of the others on {_in_words(best)} %."
    )


def _in_words(items: Iterable[object]) -> str:
    *firsts, last = map(str, items)
    return f"{', '.join(firsts)} and {last}"
