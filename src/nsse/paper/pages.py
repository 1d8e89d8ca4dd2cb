"""What a reproduction publishes, as text and numbers: tables beside the printed ones, captions, notes.

`nsse.report.reproduction` turns it into Markdown and HTML.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nsse.paper.printed import METHODS, TABLES
from nsse.paper.settings import TITLES
from nsse.paper.tables import TableEntry

TITLE = "Nonlinear supervised smooth embedding: the paper, reproduced"

PICTURE = "Test errors of every cell: NSSE as printed, NSSE now, with copies, and the best other method"

INTRODUCTION = (
    "Test errors in per cent: ours ± its standard error over the realisations, and in brackets what "
    "the paper prints. The smallest error of the paper's methods is bold in every column. Every number "
    "is made of rows.jsonl by the command nsse reproduce; none is edited.",
    "Protocol paper: as in §5, the weights of NSSE are set by cross-validation, one set for every cell "
    "and dimension, by the mean over inner splits of the training samples of all realisations; its "
    "dimension d and all parameters of the other methods are those with the smallest mean test error "
    "over the realisations. Such errors are optimistic, the more so the larger the grid. Protocol "
    "honest: everything, d included, is chosen on the training samples of each realisation, for every "
    "method.",
    "The second edition adds rows that the paper does not have, by protocol honest alone. NSSE untuned: "
    "NSSE() as it comes, in the metric of its classes. NSSE within: the best point of NSSECV(); NSSE "
    "vote: the points that NSSECV() lets vote, what it predicts. NSSE + copies: the same vote with "
    "transformed copies of the training images, shifted, turned, zoomed or mirrored, or none: which, "
    "inner splits say. SVM within and SVM + copies: a support vector machine with a Gaussian kernel in "
    "the same kind of metric, and with the same copies, tuned on inner splits. shrinkage LDA: LDA with "
    "a shrunk covariance. NSSE + unlabelled, which stands apart: the vote of a search that is given the "
    "test samples too, without their labels. The sentences about these rows, and the choice of the best "
    "other method in the picture, compare two methods on the realisations that both have.",
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


RUN_TIME_COLUMNS = {
    "dataset": "data set",
    "n_samples": "training images",
    "seconds": "ours, s",
    "literal_seconds": "Algorithm 1 as printed, s",
    "ratio": "ratio",
    "printed": "the paper's, s",
    "excess": "our objective above its floor",
    "literal_excess": "that of Algorithm 1",
}
RUN_TIME_REMARK = (
    "One fit with default parameters and one of Algorithm 1 written as it is printed, on the same "
    "samples, weights, graph and range of σ, in the same run; the shortest of several. The paper's "
    "seconds are those of MATLAB on a laptop."
)


@dataclass(frozen=True)
class TableCell:
    """A number, what stands beside it in grey, and whether it is the best of its column."""

    text: str
    aside: str = ""
    strong: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table with a title and a remark; the first column holds names. Folded: opened by a click."""

    title: str
    remark: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    folded: bool = False


@dataclass(frozen=True)
class PageFigure:
    """A picture as SVG, and what it shows."""

    title: str
    caption: str
    svg: bytes


def error_tables(found: Sequence[TableEntry]) -> list[PageTable]:
    """Of every data set and protocol: errors, and what was taken."""
    tables = []
    for dataset in dict.fromkeys(cell.dataset for cell in found):
        for protocol in PROTOCOL_REMARKS:
            cells = [c for c in found if (c.dataset, c.protocol) == (dataset, protocol)]
            tables += [_errors(dataset, protocol, cells), _choices(dataset, protocol, cells)]
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
    return replace(_grid(title, "", cells, shown), folded=True)


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
    return f"{PROTOCOL_REMARKS[protocol]} Realisations: {told}."


def run_time_tables(path: Path) -> list[PageTable]:
    """Table 7, of the file that holds its lines; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [
            line | {"dataset": TITLES[line["dataset"]], "printed": line["printed"] or "–"}
            for line in csv.DictReader(stream)
        ]
    rows = tuple(tuple(TableCell(line[name]) for name in RUN_TIME_COLUMNS) for line in lines)
    return [PageTable("Run times (Table 7)", RUN_TIME_REMARK, tuple(RUN_TIME_COLUMNS.values()), rows)]


def figures_in(folder: Path) -> list[PageFigure]:
    """The pictures of a folder with their captions."""
    found = []
    for kind, (title, caption) in FIGURES.items():
        for path in sorted(folder.glob(f"{kind}-*.svg")):
            dataset = TITLES.get(path.stem.removeprefix(f"{kind}-"), path.stem)
            found.append(PageFigure(f"{title}: {dataset}", caption, path.read_bytes()))
    return found


def notes_of(path: Path) -> list[str]:
    """Paragraphs of a file, each in one line; none where there is no such file."""
    paragraphs = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    return [" ".join(text.split()) for text in paragraphs if text.strip()]
