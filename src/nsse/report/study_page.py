"""The page of a study, in Markdown: when to use it, in a minute; then all of the evidence.

Every number and every verdict is made of the readings: anything with the attributes of
``nsse.evaluation.reading.Reading``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

TUNED = "NSSECV"
UNTUNED = "NSSE"
# The searches that people know best, and ours with and without one.
_KNOWN = {
    UNTUNED: "`NSSE()`",
    TUNED: "`NSSECV()`",
    "shrinkage LDA": "shrinkage LDA",
    "SVC": "a tuned SVC",
    "random forest": "a tuned forest",
}
_NOTHING = "*No set of this half was measured.*"


@dataclass(frozen=True)
class StudyPage:
    """What the page is made of.

    Attributes
    ----------
    everything, report, choose : Reading
        All sets, and the two halves.
    kinds : mapping of str to (Reading, Reading)
        Kinds of data, as a user would name them: the half that is reported, and all sets.
    command : str
        What writes the page.
    rows : str
        Where the rows are.
    images, stem : str
        The folder of the figures, seen from the page, and how their names begin.
    left_out : int
        Sets at sizes that lack a method.
    tie : float
        Errors in per cent that differ by so much are a tie.
    """

    everything: Any
    report: Any
    choose: Any
    kinds: Mapping[str, tuple[Any, Any]]
    command: str
    rows: str
    images: str
    stem: str
    left_out: int
    tie: float

    def text(self) -> str:
        """The page in Markdown."""
        everything = self.everything
        fewest, most = everything.splits
        splits = f"{most} splits" if fewest == most else f"{fewest} to {most} splits"
        template = (files("nsse.report") / "when_to_use.md").read_text(encoding="utf-8")
        return template.format(
            command=self.command,
            n_sets=len(everything.names),
            sizes=_listed([str(size) for size in everything.sizes]),
            n_methods=len(everything.methods),
            minute=self._minute(),
            words=self._words(),
            untuned=self._untuned(),
            tie=self.tie,
            images=self.images,
            stem=self.stem,
            rows=self.rows,
            n_report=len(self.report.names),
            report=", ".join(self.report.names),
            n_choose=len(self.choose.names),
            choose=", ".join(self.choose.names),
            report_ranks=rank_table(self.report),
            choose_ranks=rank_table(self.choose),
            duels=_duel_table(self.report),
            times=_time_table(everything),
            every=_every_set(everything, self.report.names),
            cells=len(everything.cases),
            splits=splits if most > 1 else "one split",
            left_out=f"; {self.left_out} that lack a method are left out" if self.left_out else "",
        )

    def _minute(self) -> str:
        lines = []
        for kind, (report, everything) in self.kinds.items():
            own = [_verdict(reading) for reading in (report, everything) if reading.cases]
            if not own:
                continue
            told = [part for verdict in own for part in verdict.columns()]
            told = told if len(own) == 2 else ["", "", "", *told]
            lines.append([kind, f"**{own[0].take}**", *told])
        head = ["your data", "take", "rank", "beside it", "won, tied, lost"]
        head += ["rank, all sets", "beside it", "won, tied, lost"]
        return table(head, lines)

    def _untuned(self) -> str:
        """What comes without a search, beside two searches that people know."""
        reading = self.report if self.report.cases else self.everything
        told = [
            f"{name} {reading.ranks[method]:.2f} in {reading.seconds(method):.2g} s"
            for method, name in _KNOWN.items()
            if method in reading.methods
        ]
        return f"mean rank and median seconds: {'; '.join(told)}"

    def _words(self) -> str:
        """Wins, ties and losses as three lists."""
        found = {kind: _verdict(report) for kind, (report, _) in self.kinds.items() if report.cases}
        wins = [kind for kind, verdict in found.items() if verdict.take == f"`{TUNED}()`"]
        ties = [kind for kind, verdict in found.items() if verdict.take == "either"]
        losses = {kind: verdict.take for kind, verdict in found.items() if kind not in wins + ties}
        lost = [f"{kind} (take {take})" for kind, take in losses.items()]
        return "\n".join(
            f"- **{name}**: {'; '.join(kinds) if kinds else 'none of these kinds'}."
            for name, kinds in (("Wins", wins), ("Ties", ties), ("Loses", lost))
        )


@dataclass(frozen=True)
class Verdict:
    """`NSSECV()` beside the best of the others on some cases."""

    rank: float
    best: str
    best_rank: float
    wins: int
    ties: int
    losses: int

    @property
    def take(self) -> str:
        """Whoever wins at least twice as often as it loses."""
        if self.wins >= 2 * self.losses and self.wins:
            return f"`{TUNED}()`"
        return self.best if self.losses >= 2 * self.wins and self.losses else "either"

    def columns(self) -> list[str]:
        """For a line of a table."""
        counts = f"{self.wins}, {self.ties}, {self.losses}"
        return [f"{self.rank:.2f}", f"{self.best} {self.best_rank:.2f}", counts]


def _verdict(reading: Any) -> Verdict:
    best = next(method for method in reading.by_rank if not is_ours(method))
    (duel,) = [duel for duel in reading.duels(TUNED) if duel.other == best]
    ranks = reading.ranks
    return Verdict(ranks[TUNED], best, ranks[best], duel.wins, duel.ties, duel.losses)


def is_ours(method: str) -> bool:
    """Whether a method of a study is one of this library."""
    return method.startswith(UNTUNED)


def rank_table(reading: Any) -> str:
    """Mean ranks of all methods by size, with Friedman's test and the critical difference."""
    if not reading.cases:
        return _NOTHING
    sizes = reading.sizes
    parts = {str(size): reading.of_sizes(size) for size in sizes}
    few = [size for size in sizes if size <= 20]
    if len(few) > 1 and few != sizes:
        parts[f"{few[0]} to {few[-1]}"] = reading.of_sizes(*few)
    parts["all"] = reading
    lines = []
    for method in reading.by_rank:
        ranks = [part.ranks for part in parts.values()]
        shown = [
            f"**{own[method]:.2f}**" if own[method] == min(own.values()) else f"{own[method]:.2f}"
            for own in ranks
        ]
        lines.append([_name(method), *shown, f"{reading.mean_error(method):.1f}"])
    lines.append(["*sets*", *(str(len(part.names)) for part in parts.values()), ""])
    differences = [f"{part.critical_difference:.2f}" for part in parts.values()]
    lines.append(["*critical difference*", *differences, ""])
    lines.append(["*Friedman's p*", *(_p(part.friedman_p) for part in parts.values()), ""])
    return table(["samples per class", *parts, "mean error %"], lines)


def _duel_table(reading: Any) -> str:
    if not reading.cases:
        return _NOTHING
    tuned = {duel.other: duel for duel in reading.duels(TUNED)}
    plain = {duel.other: duel for duel in reading.duels(UNTUNED)}
    lines = []
    for method in reading.by_rank:
        cells = [
            part
            for found in (tuned, plain)
            for part in (_told(found[method]) if method in found else ("–", ""))
        ]
        lines.append([_name(method), *cells])
    head = ["beside", "`NSSECV()` won, tied, lost", "p", "`NSSE()` won, tied, lost", "p"]
    return table(head, lines)


def _told(duel: Any) -> tuple[str, str]:
    return f"{duel.wins}, {duel.ties}, {duel.losses}", _p(duel.adjusted)


def _time_table(reading: Any) -> str:
    sizes = reading.sizes
    parts = [reading.of_sizes(size) for size in sizes]
    lines = [
        [_name(method), *(f"{part.seconds(method):.2g}" for part in parts)] for method in reading.by_rank
    ]
    return table(["samples per class", *map(str, sizes)], lines)


def _every_set(reading: Any, reported: Sequence[str]) -> str:
    others = [place for place, method in enumerate(reading.methods) if not is_ours(method)]
    tuned, plain = reading.methods.index(TUNED), reading.methods.index(UNTUNED)
    lines = []
    for name, errors in zip(reading.names, reading.set_errors, strict=True):
        best = min(others, key=lambda place: errors[place])
        case = next(case for case in reading.cases if case.name == name)
        half = "reported" if name in reported else "choices"
        lost = errors[tuned] - errors[best]
        told = [f"{errors[place]:.1f}" for place in (tuned, plain, best)]
        shape = [str(case.n_features), str(case.n_classes)]
        lines.append((lost, [name, half, *shape, *told, reading.methods[best], f"{lost:+.1f}"]))
    head = ["set", "half", "features", "classes", "`NSSECV()`", "`NSSE()`", "best other", "", "lost by"]
    return table(head, [line for _, line in sorted(lines, key=lambda pair: -pair[0])])


def _name(method: str) -> str:
    return f"**{method}**" if is_ours(method) else method


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown: the first column to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
