"""What the tables say about NSSE, counted, not judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsse.paper.printed import METHODS, PRINTED
from nsse.paper.settings import N_CLASSES, TITLES
from nsse.paper.tables import TableEntry


def findings(found: Sequence[TableEntry]) -> list[str]:
    """Sentences, each a count over the cells that are there."""
    kinds = (_beside_printed, _beside_printed_others, _rank, _dimensions, _price_of_honesty)
    return [sentence for kind in kinds for sentence in kind(found)]


def _of(found: Sequence[TableEntry], protocol: str, method: str = "NSSE") -> list[TableEntry]:
    return [cell for cell in found if cell.protocol == protocol and cell.method == method]


def _beside_printed(found: Sequence[TableEntry]) -> list[str]:
    compared = [cell for cell in _of(found, "paper") if cell.printed is not None]
    if not compared:
        return []
    worse = [cell for cell in compared if not cell.no_worse]
    said = f"; worse: {_places(worse)}" if worse else ""
    return [
        f"NSSE, protocol paper: no worse than the printed value and our standard error in "
        f"{len(compared) - len(worse)} of {len(compared)} cells{said}."
    ]


def _beside_printed_others(found: Sequence[TableEntry]) -> list[str]:
    """Our NSSE beside the other methods as printed, which were tuned by the paper, not by us."""
    sentences = []
    for dataset in dict.fromkeys(cell.dataset for cell in found if cell.dataset in PRINTED):
        own = [cell for cell in _of(found, "paper") if cell.dataset == dataset]
        rows = [PRINTED[dataset][cell.n_train] for cell in own]
        best = [min((e, m) for m, e in row.items() if m != "NSSE") for row in rows]
        what = "our NSSE errs no more than any other method as printed"
        if own:
            sentences.append(f"{TITLES[dataset]}, protocol paper: {what} {_in_cells(own, best)}")
    return sentences


def _in_cells(own: Sequence[TableEntry], best: Sequence[tuple[float, str]]) -> str:
    """In how many cells NSSE errs no more than the best of the others, and where it errs more."""
    pairs = list(zip(own, best, strict=True))
    first = sum(cell.error <= error for cell, (error, _) in pairs)
    behind = ", ".join(
        f"{cell.n_train} per class: {method} {error:.2f} against {cell.error:.2f}"
        for cell, (error, method) in pairs
        if cell.error > error
    )
    return f"in {first} of {len(pairs)} cells" + (f" ({behind})." if behind else ".")


def _rank(found: Sequence[TableEntry]) -> list[str]:
    sentences = []
    for protocol in ("paper", "honest"):
        for dataset in dict.fromkeys(cell.dataset for cell in found):
            own = [cell for cell in _of(found, protocol) if cell.dataset == dataset]
            others = {cell: _best_other(found, cell) for cell in own}
            best = {cell: (other.error, other.method) for cell, other in others.items() if other}
            what = f"protocol {protocol}: NSSE has the smallest error of the paper's methods"
            if best:
                told = _in_cells(list(best), list(best.values()))
                sentences.append(f"{TITLES[dataset]}, {what} {told}")
    return sentences


def _best_other(found: Sequence[TableEntry], own: TableEntry) -> TableEntry | None:
    place = own.protocol, own.dataset, own.n_train
    same = [cell for cell in found if (cell.protocol, cell.dataset, cell.n_train) == place]
    others = [cell for cell in same if cell.method in METHODS and cell.method != "NSSE"]
    return min(others, key=lambda cell: cell.error, default=None)


def _dimensions(found: Sequence[TableEntry]) -> list[str]:
    sentences = []
    for dataset in dict.fromkeys(cell.dataset for cell in found):
        ds = [f"{cell.d} ({cell.n_train})" for cell in _of(found, "paper") if cell.dataset == dataset]
        if ds:
            sentences.append(
                f"{TITLES[dataset]}: NSSE errs least at d = {', '.join(ds)} (training samples per "
                f"class); there are {N_CLASSES[dataset]} classes."
            )
    return sentences


def _price_of_honesty(found: Sequence[TableEntry]) -> list[str]:
    paper = {(c.dataset, c.n_train, c.method): c.error for c in found if c.protocol == "paper"}
    honest = {(c.dataset, c.n_train, c.method): c.error for c in found if c.protocol == "honest"}
    gaps = [honest[key] - error for key, error in paper.items() if key in honest]
    if not gaps:
        return []
    return [
        f"Choosing everything on the training samples costs {np.mean(gaps):.2f} percentage points on "
        f"average over all {len(gaps)} cells and methods, at most {max(gaps):.2f}."
    ]


def _places(found: Sequence[TableEntry]) -> str:
    return ", ".join(
        f"{TITLES[c.dataset]} {c.n_train} ({c.error:.2f} against {c.printed:.2f})" for c in found
    )
