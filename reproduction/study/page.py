"""The page of a study, in Markdown: when to use it, in a minute; then all of the evidence.

Every number and every verdict is made of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.rows import Row, write_text
from reproduction.study import drawing
from reproduction.study.methods import OF_0_2, OURS, SHOWN
from reproduction.study.ranks import Comparison, friedman_p
from reproduction.study.reading import TIE, Case, Reading, read
from reproduction.study.sets import WIDE, half_of, kind_of

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m reproduction study"
# The searches that people know best.
KNOWN = {"shrinkage LDA": "shrinkage LDA", "SVC": "a tuned SVC", "random forest": "a tuned forest"}


def _kind(kind: str, least: float = 0.0, most: float = float("inf")) -> Callable[[Case], bool]:
    """Cases of sets of one kind, with so many training samples per feature."""
    return lambda case: kind_of(case.name) == kind and least < case.n_train / case.n_features <= most


def _size(size: int) -> Callable[[Case], bool]:
    return lambda case: case.size == size


# As a user would name them; the cuts were set before the study was run.
KINDS: Mapping[str, Callable[[Case], bool]] = {
    "pictures": _kind("pictures"),
    "tables, at most 1 training sample per feature": _kind("tables", most=1),
    "tables, 1 to 10 training samples per feature": _kind("tables", 1, 10),
    "tables, more than 10 training samples per feature": _kind("tables", 10),
    **{kind: _kind(kind) for kind in WIDE.values()},
    **{f"all kinds, {size} per class": _size(size) for size in (5, 10, 20, 50)},
}


def publish(rows: Sequence[Row], page: Path, out: Path) -> None:
    """Write the page of some rows, which are in the folder ``out``, and its figures beside it."""
    there = {row.task.method for row in rows}
    # Version 0.2 is measured on fewer sets: once 0.3 has rows, it gets a table of its own.
    gone = OF_0_2.values() if OURS[0] in there else ()
    methods = [method for method in SHOWN if method in there and method not in gone]
    everything, left_out = read(rows, methods)
    if not everything.cases or not set(methods[:2]) <= set(OURS) or there <= set(OURS):
        raise ValueError(
            f"`--out` must hold rows of our methods and others. Got {sorted(there)}. "
            f"Give --methods {OURS[0]}, {OURS[1]} and two others at least, or none for all."
        )
    names = {half: [n for n in everything.names if half_of(n) == half] for half in ("report", "choose")}
    halves = {half: everything.of_sets(own) for half, own in names.items()}
    images = drawing.write_figures(page.parent / "images", everything, halves)
    source = out / "rows.jsonl"
    source = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source
    told = {"rows": source.as_posix(), "versions": versions_table(rows)}
    write_text(page, text_of(everything, halves, left_out, told))
    reading = halves["report"] if halves["report"].cases else everything
    print(f"{len(reading.names)} sets, critical difference {reading.critical_difference:.2f}:")
    for method in reading.by_rank:
        error, seconds = reading.mean_error(method), reading.seconds(method)
        print(f"{method:20s} {reading.ranks[method]:6.2f} {error:6.1f} % {seconds:8.2g} s")
    print(f"Page: {page}, {len(images)} figures")


def text_of(
    everything: Reading, halves: Mapping[str, Reading], left_out: int, told: Mapping[str, str]
) -> str:
    """The page in Markdown; ``told`` are texts that the readings do not have."""
    report, choose = halves["report"], halves["choose"]
    kinds = {kind: (report.where(own), everything.where(own)) for kind, own in KINDS.items()}
    numbers = [case.n_splits for case in everything.cases]
    fewest, most = min(numbers), max(numbers)
    splits = f"{most} splits" if fewest == most else f"{fewest} to {most} splits"
    return (Path(__file__).with_name("when_to_use.md").read_text(encoding="utf-8")).format(
        command=COMMAND,
        ours=call(everything.tuned),
        n_sets=len(everything.names),
        sizes=_listed([str(size) for size in everything.sizes]),
        n_methods=len(everything.methods),
        minute=_minute(kinds),
        words=_words(kinds),
        untuned=_untuned(report if report.cases else everything),
        tie=TIE,
        **told,
        report=f"{len(report.names)} sets: {', '.join(report.names)}",
        choose=f"{len(choose.names)} sets: {', '.join(choose.names)}",
        report_ranks=rank_table(report),
        choose_ranks=rank_table(choose),
        comparisons=_comparison_table(report),
        times=_time_table(everything),
        every=_every_set(everything, report.names),
        cells=len(everything.cases),
        splits=splits if most > 1 else "one split",
        left_out=f"; {left_out} that lack a method are left out" if left_out else "",
    )


Kinds = Mapping[str, tuple[Reading, Reading]]


def _minute(kinds: Kinds) -> str:
    lines = []
    for kind, readings in kinds.items():
        own = [Verdict.of(reading) for reading in readings if reading.cases]
        if own:
            told = [part for verdict in own for part in verdict.columns()]
            lines.append([kind, f"**{own[0].take}**", *[""] * (6 - len(told)), *told])
    head = ["your data", "take", "rank", "beside it", "won, tied, lost"]
    return table([*head, "rank, all sets", "beside it", "won, tied, lost"], lines)


def _untuned(reading: Reading) -> str:
    """What comes without a search, beside two searches that people know."""
    ours = {method: call(method) for method in (reading.plain, reading.tuned)}
    told = [
        f"{name} {reading.ranks[method]:.2f} in {reading.seconds(method):.2g} s"
        for method, name in (ours | KNOWN).items()
        if method in reading.methods
    ]
    return f"mean rank and median seconds: {'; '.join(told)}"


def _words(kinds: Kinds) -> str:
    """Wins, ties and losses as three lists."""
    takes = {kind: Verdict.of(report).take for kind, (report, _) in kinds.items() if report.cases}
    wins = [kind for kind, take in takes.items() if take in map(call, OURS)]
    ties = [kind for kind, take in takes.items() if take == "either"]
    lost = [f"{kind} (take {take})" for kind, take in takes.items() if kind not in wins + ties]
    return "\n".join(
        f"- **{name}**: {'; '.join(own) if own else 'none of these kinds'}."
        for name, own in (("Wins", wins), ("Ties", ties), ("Loses", lost))
    )


@dataclass(frozen=True)
class Verdict:
    """Our search beside the best of the others on some cases."""

    ours: str
    rank: float
    best_rank: float
    comparison: Comparison

    @classmethod
    def of(cls, reading: Reading) -> Verdict:
        """The best other by its mean rank."""
        best = next(method for method in reading.by_rank if method not in OURS)
        beside = {one.other: one for one in reading.comparisons(reading.tuned)}
        return cls(reading.tuned, reading.ranks[reading.tuned], reading.ranks[best], beside[best])

    @property
    def take(self) -> str:
        """Whoever wins at least twice as often as it loses."""
        wins, losses = self.comparison.wins, self.comparison.losses
        if wins and wins >= 2 * losses:
            return call(self.ours)
        return self.comparison.other if losses and losses >= 2 * wins else "either"

    def columns(self) -> list[str]:
        """For a line of a table."""
        other = f"{self.comparison.other} {self.best_rank:.2f}"
        return [f"{self.rank:.2f}", other, _counts(self.comparison)]


def _counts(one: Comparison) -> str:
    return f"{one.wins}, {one.ties}, {one.losses}"


def rank_table(reading: Reading) -> str:
    """Mean ranks of all methods by size, with Friedman's test and the critical difference."""
    if not reading.cases:
        return "*No set of this half was measured.*"
    sizes = reading.sizes
    parts = {str(size): reading.of_sizes(size) for size in sizes}
    few = [size for size in sizes if size <= 20]
    if len(few) > 1 and few != sizes:
        parts[f"{few[0]} to {few[-1]}"] = reading.of_sizes(*few)
    parts["all"] = reading
    lines = []
    for method in reading.by_rank:
        ranks = [(part.ranks[method], min(part.ranks.values())) for part in parts.values()]
        shown = [f"**{own:.2f}**" if own == best else f"{own:.2f}" for own, best in ranks]
        lines.append([_name(method), *shown, f"{reading.mean_error(method):.1f}"])
    lines.append(["*sets*", *(str(len(part.names)) for part in parts.values()), ""])
    differences = [f"{part.critical_difference:.2f}" for part in parts.values()]
    lines.append(["*critical difference*", *differences, ""])
    lines.append(["*Friedman's p*", *(_p(friedman_p(part.set_errors)) for part in parts.values()), ""])
    return table(["samples per class", *parts, "mean error %"], lines)


def _comparison_table(reading: Reading) -> str:
    if not reading.cases:
        return "*No set of this half was measured.*"
    ours = reading.tuned, reading.plain
    beside = [{one.other: one for one in reading.comparisons(own)} for own in ours]
    lines = []
    for method in reading.by_rank:
        told = [
            (_counts(own[method]), _p(own[method].adjusted)) if method in own else ("–", "")
            for own in beside
        ]
        lines.append([_name(method), *told[0], *told[1]])
    head = [part for own in ours for part in (f"{call(own)} won, tied, lost", "p")]
    return table(["beside", *head], lines)


def versions_table(rows: Sequence[Row]) -> str:
    """Ours beside what 0.2 had, on the splits that both have, one half of the sets and the other."""
    lines = []
    for new, old in zip(OURS[:2], OURS[2:4], strict=True):
        both, _ = read(rows, (new, old))
        for half, name_of_half in (("report", "reported"), ("choose", "choices")):
            part = both.of_sets([name for name in both.names if half_of(name) == half])
            if part.cases:
                errors = [f"{part.mean_error(method):.1f}" for method in (new, old)]
                told = [call(new), call(old), name_of_half, str(len(part.names)), *errors]
                lines.append([*told, _counts(part.comparisons(new)[0])])
    head = ["", "beside", "half", "sets", "mean error %", "its error %", "won, tied, lost"]
    return table(head, lines) if lines else "*No set has rows of both versions yet.*"


def _time_table(reading: Reading) -> str:
    parts = [reading.of_sizes(size) for size in reading.sizes]
    lines = [
        [_name(method), *(f"{part.seconds(method):.2g}" for part in parts)] for method in reading.by_rank
    ]
    return table(["samples per class", *map(str, reading.sizes)], lines)


def _every_set(reading: Reading, reported: Sequence[str]) -> str:
    others = [place for place, method in enumerate(reading.methods) if method not in OURS]
    tuned, plain = 0, 1  # columns
    lines = []
    for name, errors in zip(reading.names, reading.set_errors, strict=True):
        best = min(others, key=lambda place: errors[place])
        case = next(case for case in reading.cases if case.name == name)
        half = "reported" if name in reported else "choices"
        lost = errors[tuned] - errors[best]
        told = [f"{errors[place]:.1f}" for place in (tuned, plain, best)]
        shape = [str(case.n_features), str(case.n_classes)]
        lines.append((lost, [name, half, *shape, *told, reading.methods[best], f"{lost:+.1f}"]))
    ours = call(reading.tuned), call(reading.plain)
    head = ["set", "half", "features", "classes", *ours, "best other", ""]
    return table([*head, "lost by"], [line for _, line in sorted(lines, key=lambda pair: -pair[0])])


def call(method: str) -> str:
    """One of ours as a user writes it, with the version if that is an older one."""
    name, _, version = method.partition(" ")
    return f"`{name}()`" + (f" of {version}" if version else "")


def _name(method: str) -> str:
    return f"**{method}**" if method in OURS else method


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown: the first column to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
