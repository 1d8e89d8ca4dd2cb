"""What the tables say about NSSE, counted, not judged.

First of the paper's column, then of our estimators, by protocol `honest` alone. Methods have
different numbers of realisations; two of them are compared on those that both have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from reproduction.paper.grids import CITED
from reproduction.paper.printed import METHODS, PRINTED, printed_error
from reproduction.paper.settings import (
    ALL_METHODS,
    N_CLASSES,
    SMOOTH,
    SMOOTH_COPIED,
    SMOOTH_CV,
    SVM_COPIED,
    TITLES,
    UNTUNED,
    VOTE,
    WITH_COPIES,
    WITHIN,
    Profile,
)
from reproduction.paper.tables import TableEntry, grouped, mean_and_error, summary
from reproduction.rows import Row

Place: TypeAlias = tuple[str, int]  # data set, training samples per class
OF_THE_PAPER = METHODS[1:]
# Those that know no more than the training samples, and are not ours.
LEFT_OUT = ("NSSE", SMOOTH, SMOOTH_CV, UNTUNED, WITHIN, VOTE, *WITH_COPIES, *CITED)
OTHERS = tuple(name for name in ALL_METHODS if name not in LEFT_OUT)


def about_the_paper(found: Sequence[TableEntry]) -> list[str]:
    """Sentences about the paper's column, each a count over the cells that are there."""
    printed = "our NSSE has no higher error than any other method as printed"
    smallest = "NSSE has the smallest error of the paper's methods"
    return [
        *_beside_printed(found),
        *_beside_others(found, "paper", printed, _best_printed),
        *_beside_others(found, "paper", smallest, _best_other),
        *_beside_others(found, "honest", smallest, _best_other),
        *_dimensions(found),
        *_price_of_honesty(found),
    ]


def _of(found: Sequence[TableEntry], protocol: str, dataset: str = "") -> list[TableEntry]:
    own = [cell for cell in found if (cell.protocol, cell.method) == (protocol, "NSSE")]
    return [cell for cell in own if not dataset or cell.dataset == dataset]


def _datasets(found: Sequence[TableEntry]) -> list[str]:
    return list(dict.fromkeys(cell.dataset for cell in found))


def _beside_printed(found: Sequence[TableEntry]) -> list[str]:
    compared = [cell for cell in _of(found, "paper") if cell.printed is not None]
    worse = [
        f"{TITLES[c.dataset]} {c.n_train} ({c.error:.2f} against {c.printed:.2f})"
        for c in compared
        if not c.no_worse
    ]
    behind = f"; worse: {', '.join(worse)}" if worse else ""
    what = "NSSE, protocol paper: no worse than the printed value and our standard error"
    n = len(compared)
    return [f"{what} in {n - len(worse)} of {n} cells{behind}."] if compared else []


Best: TypeAlias = Callable[[Sequence[TableEntry], TableEntry], tuple[float, str] | None]


def _beside_others(found: Sequence[TableEntry], protocol: str, what: str, best: Best) -> Iterator[str]:
    """In how many cells of a data set NSSE has no higher error than the best other, and where not."""
    for dataset in _datasets(found):
        pairs = [(cell, best(found, cell)) for cell in _of(found, protocol, dataset)]
        own = [(cell, *other) for cell, other in pairs if other]
        behind = [
            f"{cell.n_train} per class: {method} {error:.2f} against {cell.error:.2f}"
            for cell, error, method in own
            if cell.error > error
        ]
        where = f" ({', '.join(behind)})." if behind else "."
        counts = f"in {len(own) - len(behind)} of {len(own)} cells{where}"
        if own:
            yield f"{TITLES[dataset]}, protocol {protocol}: {what} {counts}"


def _best_printed(found: Sequence[TableEntry], own: TableEntry) -> tuple[float, str] | None:
    """As printed, which the paper tuned, not we."""
    printed = PRINTED.get(own.dataset, {}).get(own.n_train, {})
    return min(((printed[method], method) for method in OF_THE_PAPER if printed), default=None)


def _best_other(found: Sequence[TableEntry], own: TableEntry) -> tuple[float, str] | None:
    place = own.protocol, own.dataset, own.n_train
    same = [cell for cell in found if (cell.protocol, cell.dataset, cell.n_train) == place]
    others = [cell for cell in same if cell.method in OF_THE_PAPER]
    return min(((cell.error, cell.method) for cell in others), key=itemgetter(0), default=None)


def _dimensions(found: Sequence[TableEntry]) -> list[str]:
    sentences = []
    for dataset in _datasets(found):
        ds = ", ".join(f"{cell.d} ({cell.n_train})" for cell in _of(found, "paper", dataset))
        told = f"{TITLES[dataset]}: NSSE has the lowest error at d = {ds} (training samples per class)"
        sentences += [f"{told}; there are {N_CLASSES[dataset]} classes."] if ds else []
    return sentences


def _price_of_honesty(found: Sequence[TableEntry]) -> list[str]:
    honest = {(c.dataset, c.n_train, c.method): c.error for c in found if c.protocol == "honest"}
    paper = [c for c in found if c.protocol == "paper"]
    gaps = [honest[key] - c.error for c in paper if (key := (c.dataset, c.n_train, c.method)) in honest]
    if not gaps:
        return []
    told = f"{np.mean(gaps):.2f} percentage points on average over all {len(gaps)} cells and methods"
    return [f"Choosing everything on the training samples costs {told}, at most {max(gaps):.2f}."]


@dataclass(frozen=True)
class Comparison:
    """Errors of a method and of another one, in per cent, over the realisations that both have."""

    place: Place
    error: float
    other: str
    others_error: float
    seeds: tuple[int, ...]

    @property
    def won(self) -> bool:
        """Whether the method has a lower error."""
        return self.error < self.others_error

    def __str__(self) -> str:
        title, n_train = TITLES[self.place[0]], self.place[1]
        return f"{title} {n_train}: {self.other} {self.others_error:.2f} against {self.error:.2f}"


@dataclass(frozen=True)
class HonestErrors:
    """Test errors in per cent by cell, method and realisation."""

    by_place: dict[Place, dict[str, dict[int, float]]]

    @classmethod
    def of(cls, rows: Iterable[Row], profile: Profile) -> HonestErrors:
        """Of the rows of a profile; cells in the order of the paper."""
        found: dict[Place, dict[str, dict[int, float]]] = {}
        for (dataset, n_train, method), own in grouped(rows, profile).items():
            errors = {row.task.seed: 100.0 * row.error for row in own}
            found.setdefault((dataset, n_train), {})[method] = errors
        return cls(found)

    def compared(self, place: Place, method: str, others: Sequence[str]) -> Comparison | None:
        """With the other method that leaves the smallest lead, or the largest arrear."""
        errors, found = self.by_place[place], []
        own = errors.get(method, {})
        for other in others:
            seeds = tuple(sorted(own.keys() & errors.get(other, {}).keys()))
            if other != method and seeds:
                means = [float(np.mean([part[s] for s in seeds])) for part in (own, errors[other])]
                found.append(Comparison(place, means[0], other, means[1], seeds))
        return max(found, key=lambda one: one.error - one.others_error, default=None)

    def comparisons(self, method: str, others: Sequence[str]) -> list[Comparison]:
        """One for every cell that has both."""
        return [found for place in self.by_place if (found := self.compared(place, method, others))]


def about_now(errors: HonestErrors) -> list[str]:
    """Sentences about what the paper does not have, each a count over cells, with the losses."""
    asked: list[tuple[str, Sequence[str], str]] = [
        *((ours, OF_THE_PAPER, "the paper's methods") for ours in (SMOOTH, SMOOTH_CV)),
        (SMOOTH_CV, OTHERS, "all other methods without copies"),
        (SMOOTH_CV, (VOTE,), "the vote of version 0.2"),
        (SMOOTH_COPIED, ALL_METHODS, "everything, with copies and without, what the paper cites too"),
        (SMOOTH_COPIED, (SVM_COPIED,), "the SVM with copies"),
    ]
    told = []
    for ours, others, whom in asked:
        found = errors.comparisons(ours, others)
        lost = ", ".join(str(one) for one in found if not one.won)
        what = f"{ours}, protocol honest: has a lower error than {whom} in {_wins(found)} cells"
        told += [what + (f"; not: {lost}." if lost else ".")] if found else []
    return told


def opening(errors: HonestErrors, found: Sequence[TableEntry]) -> list[str]:
    """A sentence each: our search, with copies, and the paper's own column."""
    own, every = (errors.comparisons(SMOOTH_CV, others) for others in (OF_THE_PAPER, OTHERS))
    copied = errors.comparisons(SMOOTH_COPIED, ALL_METHODS)
    printed = [cell for cell in _of(found, "paper") if cell.printed is not None]
    told = []
    if own:
        told.append(
            f"With everything chosen on the training samples, {SMOOTH_CV} has a lower error than the "
            f"paper's other methods in {_wins(own)} cells, and than every other method tried in "
            f"{_wins(every)}{_but(every)}; {_realisations(every)}."
        )
    if copied:
        told.append(
            f"With transformed copies of the training images it has a lower error than everything, "
            f"copies or none, in {_wins(copied)}{_but(copied)}; {_realisations(copied)}."
        )
    if printed:
        worse = [(cell.dataset, cell.n_train) for cell in printed if not cell.no_worse]
        told.append(
            f"The paper's own column, by its protocol, is reached in {len(printed) - len(worse)} of "
            f"{len(printed)} cells" + (f", not on {places(worse)}." if worse else ".")
        )
    return told


def _wins(found: Sequence[Comparison]) -> str:
    return f"{sum(one.won for one in found)} of {len(found)}"


def _realisations(found: Sequence[Comparison]) -> str:
    """How many stand behind the counts."""
    counts = sorted({len(one.seeds) for one in found})
    told = f"{counts[0]} to {counts[-1]}" if counts[1:] else f"{counts[0]}"
    return f"{told} realisation{'' if counts == [1] else 's'} of each"


def _but(found: Sequence[Comparison]) -> str:
    lost = [one.place for one in found if not one.won]
    return f" (not on {places(lost)})" if lost else ""


def places(cells: Sequence[Place]) -> str:
    """Cells by data set, such as "COIL-20 at 7, 10"."""
    sizes: dict[str, list[str]] = {}
    for dataset, n_train in cells:
        sizes.setdefault(dataset, []).append(str(n_train))
    return "; ".join(f"{TITLES[dataset]} at {', '.join(own)}" for dataset, own in sizes.items())


def picture_frame(errors: HonestErrors) -> list[dict[str, Any]]:
    """What the first picture shows: a line for each mark.

    The best other method is the one that our search beats by least, or that beats it by most, on the
    realisations that both have; its mark is of these. Other marks are of all that there are.
    """
    frame: list[dict[str, Any]] = []
    for place, methods in errors.by_place.items():
        marks: list[tuple[str, str, dict[str, Any]]] = []
        printed = printed_error(*place, "NSSE")
        if printed is not None:
            marks.append(("printed", "NSSE", {"error": f"{printed:.2f}", "stderr": "", "repeats": ""}))
        best = errors.compared(place, SMOOTH_CV, OTHERS)
        if best is not None:
            own = [methods[best.other][seed] for seed in best.seeds]
            marks.append(("best other", best.other, summary(*mean_and_error(own), len(own))))
        for method in (SMOOTH_CV, VOTE, SMOOTH_COPIED, SVM_COPIED):
            if method in methods:
                own = list(methods[method].values())
                marks.append((method, method, summary(*mean_and_error(own), len(own))))
        where = {"dataset": place[0], "n_train": place[1]}
        frame += [where | {"series": name, "method": who} | columns for name, who, columns in marks]
    return frame
