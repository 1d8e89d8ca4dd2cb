"""What the second edition says: NSSE as it is now beside the paper's column and the best of the others.

Everything here is of protocol `honest`. Methods have different numbers of realisations; two of them are
compared on those that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from nsse.evaluation import Row
from nsse.paper.printed import METHODS, printed_error
from nsse.paper.settings import (
    ALL_METHODS,
    APART,
    COPIED,
    SVM_COPIED,
    TITLES,
    UNLABELLED,
    UNTUNED,
    VOTE,
    WITH_COPIES,
    WITHIN,
    Profile,
)
from nsse.paper.tables import TableEntry

Place: TypeAlias = tuple[str, int]  # data set, training samples per class
OURS = ("NSSE", UNTUNED, WITHIN, VOTE)
# Rows that know no more than the training samples.
WITHOUT_COPIES = tuple(name for name in ALL_METHODS if name not in (*WITH_COPIES, *APART))
OTHERS = tuple(name for name in WITHOUT_COPIES if name not in OURS)
PICTURE_HEADER = ["dataset", "n_train", "series", "method", "error", "stderr", "repeats"]


@dataclass(frozen=True)
class Duel:
    """Errors of a method and of its best rival, in per cent, over the realisations that both have."""

    place: Place
    error: float
    rival: str
    rivals_error: float
    seeds: tuple[int, ...]

    @property
    def won(self) -> bool:
        """Whether the method errs less."""
        return self.error < self.rivals_error

    def __str__(self) -> str:
        title, n_train = TITLES[self.place[0]], self.place[1]
        return f"{title} {n_train}: {self.rival} {self.rivals_error:.2f} against {self.error:.2f}"


@dataclass(frozen=True)
class HonestErrors:
    """Test errors in per cent by cell, method and realisation."""

    by_place: dict[Place, dict[str, dict[int, float]]]

    @classmethod
    def of(cls, rows: Iterable[Row], profile: Profile) -> HonestErrors:
        """Of the rows of a profile; cells in the order of the paper."""
        found: dict[Place, dict[str, dict[int, float]]] = {}
        for row in rows:
            if profile.owns(row.task):
                methods = found.setdefault((row.task.dataset, row.task.n_train), {})
                methods.setdefault(row.task.method, {})[row.task.seed] = 100.0 * row.error
        order = sorted(found, key=lambda place: (list(TITLES).index(place[0]), place[1]))
        return cls({place: found[place] for place in order})

    def duel(self, place: Place, method: str, rivals: Sequence[str]) -> Duel | None:
        """Against the rival that leaves the smallest lead, or the largest arrear."""
        errors = self.by_place[place]
        duels = [
            Duel(place, *_means(errors[method], errors[rival], rival))
            for rival in rivals
            if rival != method and method in errors and errors.get(rival, {}).keys() & errors[method]
        ]
        return max(duels, key=lambda duel: duel.error - duel.rivals_error, default=None)

    def duels(self, method: str, rivals: Sequence[str]) -> list[Duel]:
        """One for every cell that has both."""
        return [duel for place in self.by_place if (duel := self.duel(place, method, rivals))]


def _means(
    own: dict[int, float], other: dict[int, float], rival: str
) -> tuple[float, str, float, tuple[int, ...]]:
    shared = tuple(sorted(own.keys() & other.keys()))
    means = [float(np.mean([errors[seed] for seed in shared])) for errors in (own, other)]
    return means[0], rival, means[1], shared


def findings(errors: HonestErrors) -> list[str]:
    """Sentences, each a count over the cells that are there, with the losses."""
    papers = [name for name in METHODS if name != "NSSE"]
    asked: list[tuple[str, Sequence[str], str]] = [
        *((ours, papers, "the paper's methods") for ours in (UNTUNED, WITHIN, VOTE)),
        (VOTE, OTHERS, "all other methods without copies"),
        (VOTE, (WITHIN,), "the one best point of the same search"),
        (COPIED, WITHOUT_COPIES, "all rows without copies, those of NSSE among them"),
        (COPIED, (SVM_COPIED,), "the SVM with the same copies"),
        (UNLABELLED, (VOTE,), "the vote that does not see the test samples"),
    ]
    told = [_counted(ours, errors.duels(ours, rivals), whom) for ours, rivals, whom in asked]
    return [sentence for sentence in told if sentence]


def _counted(ours: str, duels: Sequence[Duel], whom: str) -> str:
    if not duels:
        return ""
    lost = [duel for duel in duels if not duel.won]
    behind = f"; not: {', '.join(map(str, lost))}" if lost else ""
    n_won = len(duels) - len(lost)
    return f"{ours}, protocol honest: errs less than {whom} in {n_won} of {len(duels)} cells{behind}."


def opening(errors: HonestErrors, found: Sequence[TableEntry]) -> list[str]:
    """Three sentences: NSSE now, with copies, and the paper's own column."""
    papers = [name for name in METHODS if name != "NSSE"]
    own, every = errors.duels(VOTE, papers), errors.duels(VOTE, OTHERS)
    copied = errors.duels(COPIED, WITHOUT_COPIES)
    printed = [cell for cell in found if _is_papers_column(cell)]
    told = []
    if own:
        told.append(
            f"With everything chosen on the training samples, NSSE in the metric of its classes errs "
            f"less than the paper's other methods in {_wins(own)} cells, and less than every other "
            f"method tried in {_wins(every)}{_but(every)}; {_realisations(every)}."
        )
    if copied:
        told.append(
            f"With transformed copies of the training images it errs less than everything without "
            f"copies in {_wins(copied)}{_but(copied)}; {_realisations(copied)}."
        )
    if printed:
        worse = [cell for cell in printed if not cell.no_worse]
        missed = places([(cell.dataset, cell.n_train) for cell in worse])
        told.append(
            f"The paper's own column, by its protocol, is reached in {len(printed) - len(worse)} of "
            f"{len(printed)} cells" + (f", not on {missed}." if worse else ".")
        )
    return told


def _is_papers_column(cell: TableEntry) -> bool:
    return (cell.protocol, cell.method) == ("paper", "NSSE") and cell.printed is not None


def _wins(duels: Sequence[Duel]) -> str:
    return f"{sum(duel.won for duel in duels)} of {len(duels)}"


def _realisations(duels: Sequence[Duel]) -> str:
    """How many stand behind the counts."""
    counts = sorted({len(duel.seeds) for duel in duels})
    told = f"{counts[0]} to {counts[-1]}" if counts[1:] else f"{counts[0]}"
    return f"{told} realisation{'' if counts == [1] else 's'} of each"


def _but(duels: Sequence[Duel]) -> str:
    lost = [duel.place for duel in duels if not duel.won]
    return f" (not on {places(lost)})" if lost else ""


def places(cells: Sequence[Place]) -> str:
    """Cells by data set, such as "COIL-20 at 7, 10"."""
    sizes: dict[str, list[str]] = {}
    for dataset, n_train in cells:
        sizes.setdefault(dataset, []).append(str(n_train))
    return "; ".join(f"{TITLES[dataset]} at {', '.join(own)}" for dataset, own in sizes.items())


def picture_lines(errors: HonestErrors) -> list[list[Any]]:
    """What the first picture shows: a line for each mark, under `PICTURE_HEADER`.

    The best other method is the one that the vote beats by least, or that beats it by most, on the
    realisations that both have; its mark is of these. Other marks are of all that there are.
    """
    lines: list[list[Any]] = []
    for place, methods in errors.by_place.items():
        printed = printed_error(*place, "NSSE")
        if printed is not None:
            lines.append([*place, "printed", "NSSE", f"{printed:.2f}", "", ""])
        best = errors.duel(place, VOTE, OTHERS)
        if best is not None:
            own = [methods[best.rival][seed] for seed in best.seeds]
            lines.append([*place, "best other", best.rival, *_summary(own)])
        for series, method in (("NSSE", VOTE), (COPIED, COPIED), (SVM_COPIED, SVM_COPIED)):
            if method in methods:
                lines.append([*place, series, method, *_summary(list(methods[method].values()))])
    return lines


def _summary(errors: list[float]) -> tuple[str, str, str]:
    n = len(errors)
    spread = f"{np.std(errors, ddof=1) / np.sqrt(n):.4f}" if n > 1 else ""
    return f"{np.mean(errors):.4f}", spread, str(n)
