"""The page of a reproduction in Markdown: tables with the printed numbers next to ours, and remarks."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.paper.findings import HonestErrors
from reproduction.paper.printed import METHODS, TABLES
from reproduction.paper.settings import ALL_METHODS, SMOOTH_COPIED, SMOOTH_CV, SVM_COPIED, TITLES
from reproduction.paper.tables import TableEntry
from reproduction.rows import markdown

TEXTS: dict[str, Any] = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
PROTOCOLS: dict[str, str] = TEXTS["protocols"]


@dataclass(frozen=True)
class TableCell:
    """A number, a second text after it, and whether it is the best of its column."""

    text: str
    aside: str = ""
    strong: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table with a title and a remark. The first column contains names."""

    title: str
    remark: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]


def error_tables(found: Sequence[TableEntry]) -> list[PageTable]:
    """Of every data set and protocol: errors, and what was taken."""
    tables = []
    for dataset in dict.fromkeys(cell.dataset for cell in found):
        for protocol in PROTOCOLS:
            cells = [c for c in found if (c.dataset, c.protocol) == (dataset, protocol)]
            tables += [made(dataset, protocol, cells) for made in (_errors, _choices) if cells]
    return tables


def _errors(dataset: str, protocol: str, cells: Sequence[TableEntry]) -> PageTable:
    best = {
        size: min((c.error for c in cells if c.n_train == size and c.method in METHODS), default=None)
        for size in _sizes(cells)
    }

    def shown(cell: TableEntry) -> TableCell:
        spread = "" if cell.stderr is None else f" ± {cell.stderr:.2f}"
        aside = "" if cell.printed is None else f"({cell.printed:.2f})"
        strong = cell.method in METHODS and cell.error == best[cell.n_train]
        return TableCell(f"{cell.error:.2f}{spread}", aside, strong)

    return _grid(f"{_title(dataset)}, protocol {protocol}", _remark(protocol, cells), cells, shown)


def _choices(dataset: str, protocol: str, cells: Sequence[TableEntry]) -> PageTable:
    def shown(cell: TableEntry) -> TableCell:
        d = f"d = {cell.d}" if cell.d else ""
        return TableCell("; ".join(filter(None, [cell.scaling, d, cell.parameters])))

    title = f"{_title(dataset)}, protocol {protocol}: what was taken"
    return _grid(title, "", cells, shown)


def _grid(
    title: str, remark: str, cells: Sequence[TableEntry], shown: Callable[[TableEntry], TableCell]
) -> PageTable:
    sizes = _sizes(cells)
    by_place = {(cell.method, cell.n_train): cell for cell in cells}
    methods = dict.fromkeys(cell.method for cell in cells)

    def cell_at(method: str, size: int) -> TableCell:
        cell = by_place.get((method, size))
        return TableCell("–") if cell is None else shown(cell)

    rows = [(TableCell(method), *(cell_at(method, size) for size in sizes)) for method in methods]
    return PageTable(title, remark, ("method", *(f"{size} per class" for size in sizes)), tuple(rows))


def copies_table(errors: HonestErrors, found: Sequence[TableEntry]) -> PageTable:
    """What copies do in every cell, beside whatever is best there on the same realisations."""
    shown = {(c.dataset, c.n_train, c.method): c for c in found if c.protocol == "honest"}
    rows = []
    for one in errors.comparisons(SMOOTH_COPIED, ALL_METHODS):
        own = [shown.get((*one.place, m)) for m in (SMOOTH_CV, SMOOTH_COPIED, SVM_COPIED)]
        told = [f"{c.error:.2f} ± {c.stderr or 0:.2f} ({c.repeats})" if c else "–" for c in own]
        beside = f"{one.other} {one.others_error:.2f}, ours {one.error:.2f} ({len(one.seeds)})"
        copies = own[1].parameters.removeprefix("most often copies=").split(",")[0] if own[1] else ""
        line = [f"{TITLES[one.place[0]]}-{one.place[1]}", *told, copies, beside]
        rows.append(tuple(TableCell(text) for text in line))
    return PageTable("", "", tuple(TEXTS["copies_columns"]), tuple(rows))


def _sizes(cells: Sequence[TableEntry]) -> list[int]:
    return sorted({cell.n_train for cell in cells})


def _title(dataset: str) -> str:
    number = f" (Table {list(TABLES).index(dataset) + 1})" if dataset in TABLES else ""
    return TITLES[dataset] + number


def _remark(protocol: str, cells: Sequence[TableEntry]) -> str:
    counts: dict[int, list[str]] = {}
    for cell in cells:
        if cell.method not in counts.setdefault(cell.repeats, []):
            counts[cell.repeats].append(cell.method)
    told = "; ".join(
        f"{n} for {', '.join(methods)}" for n, methods in sorted(counts.items(), reverse=True)
    )
    return f"{PROTOCOLS[protocol]} Realisations: {told}."


def run_time_tables(path: Path) -> list[PageTable]:
    """Table 7, of the file that holds its lines; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [
            line | {"dataset": TITLES[line["dataset"]], "printed": line["printed"] or "–"}
            for line in csv.DictReader(stream)
        ]
    columns = TEXTS["run_time_columns"]
    rows = tuple(tuple(TableCell(line[name]) for name in columns) for line in lines)
    remark = TEXTS["run_time_remark"]
    return [PageTable("Run times (Table 7)", remark, tuple(columns.values()), rows)]


def paragraphs(path: Path) -> list[str]:
    """Paragraphs of a file, each in one line; none where there is no such file."""
    found = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    return [" ".join(text.split()) for text in found if text.strip()]


# What the protocols are.
INTRODUCTION = paragraphs(Path(__file__).with_name("introduction.md"))


def markdown_page(introduction: Sequence[str], tables: Sequence[PageTable]) -> str:
    """Tables in Markdown; best numbers in bold, what stands beside in brackets."""
    parts = [f"# {TEXTS['title']}", *introduction]
    for table in tables:
        parts += [f"## {table.title}", table.remark, markdown_table(table)]
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown_table(table: PageTable) -> str:
    """The table alone."""
    return markdown(table.header, [[_markdown_cell(cell) for cell in row] for row in table.rows])


def _markdown_cell(cell: TableCell) -> str:
    text = f"**{cell.text}**" if cell.strong else cell.text
    return f"{text} {cell.aside}".strip().replace("|", "\\|")
