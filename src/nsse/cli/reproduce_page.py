"""What ``nsse reproduce`` publishes of its rows: tables in Markdown, the page, the manifest."""

from __future__ import annotations

import csv
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsse.evaluation import Row
    from nsse.paper.settings import Profile
    from nsse.paper.tables import Cell
    from nsse.report.reproduction import PageFigure, PageTable

TITLE = "Nonlinear supervised smooth embedding: the paper, reproduced"

INTRODUCTION = (
    "Test errors in per cent: ours ± its standard error over the realisations, and in brackets what "
    "the paper prints. The smallest error of the paper's methods is bold in every column. Every number "
    "is made of rows.jsonl by the command nsse reproduce; none is edited.",
    "Protocol paper: as in §5, the weights of NSSE are set by cross-validation on the training samples, "
    "its dimension d and all parameters of the other methods are those with the smallest mean test "
    "error over the realisations. Such errors are optimistic, the more so the larger the grid. Protocol "
    "honest: everything, d included, is chosen on the training samples of each realisation, for every "
    "method.",
    "The paper does not say whether images were divided by their norm. Where both ways were tried "
    "(COIL-20, ORL) the scaling is one more parameter of every method, chosen like the others.",
)
PROTOCOL_REMARKS = {
    "paper": "Protocol paper: parameters and d at their best mean test error, weights of NSSE by "
    "cross-validation.",
    "honest": "Protocol honest: everything chosen on the training samples of each realisation.",
}
FIGURES = {
    "convergence": (
        "Convergence of Algorithm 1",
        "From a kernel scale σ that is too high and one that is too low: objective above its floor, "
        "test error and σ after every step.",
    ),
    "dimension": (
        "Error against the dimension",
        "Mean test error at every d that was tried; parameters at their best for that d, the weights of "
        "NSSE by cross-validation.",
    ),
    "embedding": (
        "Embeddings in the plane",
        "Ten classes in two dimensions. Parameters by cross-validation on the training samples.",
    ),
}


def manifest(profile: Profile, rows: Sequence[Row]) -> dict[str, Any]:
    """What the numbers depend on, and nothing that names the machine or its user."""
    from nsse import __version__
    from nsse.paper.settings import ALL_METHODS

    mine = [row for row in rows if profile.owns(row.task)]
    versions = sorted({_listed(row.versions.items()) for row in mine})
    seeds = {
        method: 1 + max(row.task.seed for row in mine if row.task.method == method)
        for method in ALL_METHODS
        if any(row.task.method == method for row in mine)
    }
    return {
        "profile": profile.name,
        "rows": len(mine),
        "seeds": {method: f"0 ... {n - 1}" for method, n in seeds.items()},
        "software of the rows": versions,
        "nsse": __version__,
        "commit": _commit(),
        "processor": f"{os.cpu_count()} × {_processor()}",
        "core hours": round(sum(row.fit_seconds + row.predict_seconds for row in mine) / 3600, 2),
    }


def markdown(found: Sequence[Cell]) -> str:
    """All tables as Markdown."""
    from nsse.paper.verdict import findings
    from nsse.report.reproduction import markdown_page

    told = "\n".join(f"- {sentence}" for sentence in findings(found))
    return markdown_page(TITLE, [*INTRODUCTION, told], _tables(found))


def page(found: Sequence[Cell], out: Path, facts: dict[str, Any]) -> str:
    """The HTML page, with the run times, figures and notes that the folder holds."""
    from nsse.paper.verdict import findings
    from nsse.report.reproduction import html_page

    notes = out / "notes.md"
    paragraphs = notes.read_text(encoding="utf-8").split("\n\n") if notes.exists() else []
    remarks = [" ".join(text.split()) for text in paragraphs if text.strip()]
    listed = [(name, _told(value)) for name, value in facts.items()]
    return html_page(
        TITLE, INTRODUCTION, findings(found), remarks,
        [*_tables(found), *_run_times(out / "runtime.csv")], _figures(out / "figures"), listed,
    )  # fmt: skip


def _tables(found: Sequence[Cell]) -> list[PageTable]:
    tables = []
    for dataset in dict.fromkeys(cell.dataset for cell in found):
        for protocol in PROTOCOL_REMARKS:
            cells = [c for c in found if (c.dataset, c.protocol) == (dataset, protocol)]
            tables += [_errors(dataset, protocol, cells), _choices(dataset, protocol, cells)]
    return tables


def _errors(dataset: str, protocol: str, cells: Sequence[Cell]) -> PageTable:
    from nsse.paper.printed import METHODS
    from nsse.report.reproduction import TableCell

    best = {
        size: min((c.error for c in cells if c.n_train == size and c.method in METHODS), default=None)
        for size in _sizes(cells)
    }

    def shown(cell: Cell) -> TableCell:
        spread = "" if cell.stderr is None else f" ± {cell.stderr:.2f}"
        aside = "" if cell.printed is None else f"({cell.printed:.2f})"
        strong = cell.method in METHODS and cell.error == best[cell.n_train]
        return TableCell(f"{cell.error:.2f}{spread}", aside, strong)

    return _grid(f"{_title(dataset)}, protocol {protocol}", _remark(protocol, cells), cells, shown)


def _choices(dataset: str, protocol: str, cells: Sequence[Cell]) -> PageTable:
    from nsse.report.reproduction import TableCell

    def shown(cell: Cell) -> TableCell:
        d = f"d = {cell.d}" if cell.d else ""
        return TableCell("; ".join(filter(None, [cell.scaling, d, cell.parameters])))

    title = f"{_title(dataset)}, protocol {protocol}: what was taken"
    return replace(_grid(title, "", cells, shown), folded=True)


def _grid(title: str, remark: str, cells: Sequence[Cell], shown: Any) -> PageTable:
    from nsse.report.reproduction import PageTable, TableCell

    sizes = _sizes(cells)
    by_place = {(cell.method, cell.n_train): cell for cell in cells}
    methods = dict.fromkeys(cell.method for cell in cells)

    def cell_at(method: str, size: int) -> TableCell:
        cell = by_place.get((method, size))
        return TableCell("–") if cell is None else shown(cell)

    rows = [(TableCell(method), *(cell_at(method, size) for size in sizes)) for method in methods]
    return PageTable(title, remark, ("method", *(f"{size} per class" for size in sizes)), tuple(rows))


def _sizes(cells: Sequence[Cell]) -> list[int]:
    return sorted({cell.n_train for cell in cells})


def _title(dataset: str) -> str:
    from nsse.paper.printed import TABLES
    from nsse.paper.settings import TITLES

    number = f" (Table {list(TABLES).index(dataset) + 1})" if dataset in TABLES else ""
    return TITLES[dataset] + number


def _remark(protocol: str, cells: Sequence[Cell]) -> str:
    counts: dict[int, list[str]] = {}
    for cell in cells:
        if cell.method not in counts.setdefault(cell.repeats, []):
            counts[cell.repeats].append(cell.method)
    told = "; ".join(
        f"{n} for {', '.join(methods)}" for n, methods in sorted(counts.items(), reverse=True)
    )
    return f"{PROTOCOL_REMARKS[protocol]} Realisations: {told}."


def _run_times(path: Path) -> list[PageTable]:
    from nsse.paper.settings import TITLES
    from nsse.report.reproduction import PageTable, TableCell

    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    rows = tuple(
        tuple(TableCell(text) for text in (
            TITLES[line["dataset"]], line["n_samples"], line["seconds"], line["literal_seconds"],
            line["ratio"], line["printed"] or "–", line["excess"], line["literal_excess"],
        ))
        for line in lines
    )  # fmt: skip
    header = (
        "data set", "training images", "ours, s", "Algorithm 1 as printed, s", "ratio", "the paper's, s",
        "our objective above its floor", "that of Algorithm 1",
    )  # fmt: skip
    remark = (
        "One fit with default parameters and one of Algorithm 1 written as it is printed, on the same "
        "samples, weights, graph and range of σ, in the same run; the shortest of several. The paper's "
        "seconds are those of MATLAB on a laptop."
    )
    return [PageTable("Run times (Table 7)", remark, header, rows)]


def _figures(folder: Path) -> list[PageFigure]:
    from nsse.paper.settings import TITLES
    from nsse.report.reproduction import PageFigure

    found = []
    for kind, (title, caption) in FIGURES.items():
        for path in sorted(folder.glob(f"{kind}-*.svg")):
            dataset = TITLES.get(path.stem.removeprefix(f"{kind}-"), path.stem)
            found.append(PageFigure(f"{title}: {dataset}", caption, path.read_bytes()))
    return found


def _commit() -> str:
    """The commit of the source tree; "unknown" for an installed package."""
    here = Path(__file__).resolve().parent
    asked = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12", "--match", "="]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return told.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return _listed(value.items())
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _listed(items: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in items)
