"""The page of a study, in Markdown: whom to take for which data; then all of the evidence.

Every number and every verdict is made of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from nsse._support.errors import rule_error
from reproduction.rows import Row, markdown, write_text
from reproduction.study import drawing
from reproduction.study.methods import OURS, RANKED, REFERENCES, VARIANTS
from reproduction.study.ranks import Comparison, friedman_p
from reproduction.study.reading import TIE, Case, Reading, read
from reproduction.study.sets import WIDE, half_of, kind_of

ROOT = Path(__file__).resolve().parents[2]
TUNED, PLAIN = OURS
# What is ranked together, since it was measured with the same methods: kinds of data by name of a group.
GROUPS = {"wide data": tuple(WIDE.values()), "pictures and tables": ("pictures", "tables")}
HALVES = {"report": "reported", "choose": "choices"}
# The two that people tune where samples are few.
KNOWN = ("SVC", "logistic regression")
NOTHING = "*Nothing of this was measured.*"


def _kind(kind: str, least: float = 0.0, most: float = float("inf")) -> Callable[[Case], bool]:
    """Cases of sets of one kind, with so many training samples per feature."""
    return lambda case: kind_of(case.name) == kind and least < case.n_train / case.n_features <= most


# As a user would name them; the cuts were set before the study was run.
KINDS: Mapping[str, Callable[[Case], bool]] = {
    **{kind: _kind(kind) for kind in (*WIDE.values(), "pictures")},
    "tables, at most 1 training sample per feature": _kind("tables", most=1),
    "tables, 1 to 10 training samples per feature": _kind("tables", 1, 10),
    "tables, more than 10 training samples per feature": _kind("tables", 10),
}


def publish(rows: Sequence[Row], page: Path, out: Path) -> None:
    """Write the page of some rows, which are in the folder ``out``, and its figures beside it."""
    groups = grouped(rows)
    write_text(page, text_of(rows, groups, out))
    reported = {name: of_half(reading, "report") for name, reading in ranked(rows, groups).items()}
    shown = {name: reading for name, reading in reported.items() if reading.cases} or groups
    drawing.save(drawing.rank_figure(shown), page.parent / "images" / "study_ranks.png")
    print(f"Page: {page}")


def grouped(rows: Sequence[Row]) -> dict[str, Reading]:
    """The rows of every group, of the methods that have one in half of its sets at sizes at least."""
    groups = {}
    for name, kinds in GROUPS.items():
        own = [row for row in rows if kind_of(row.task.dataset) in kinds]
        cells = {(row.task.method, row.task.dataset, row.task.n_train) for row in own}
        counts = Counter(method for method, *_ in cells)
        methods = [m for m in RANKED if 2 * counts[m] >= max(counts.values(), default=1)]
        reading = read(own, methods)
        if reading.cases and set(methods) > set(OURS):
            groups[name] = reading
    if not groups:
        got = sorted({row.task.method for row in rows})
        cure = f"Give --methods {OURS[0]}, {OURS[1]} and two others at least, or none for all."
        raise rule_error("--out", "hold rows of our methods and others", got, cure)
    return groups


def ranked(rows: Sequence[Row], groups: Mapping[str, Reading]) -> dict[str, Reading]:
    """The groups, and all data together by the methods that every group has."""
    common = [m for m in RANKED if all(m in reading.methods for reading in groups.values())]
    return {**groups, "all data": read(rows, common)} if len(groups) > 1 else dict(groups)


def of_half(reading: Reading, half: str) -> Reading:
    """The cases of one half of the sets."""
    return reading.where(lambda case: half_of(case.name) == half)


def text_of(rows: Sequence[Row], groups: Mapping[str, Reading], out: Path) -> str:
    """The page in Markdown."""
    readings = list(groups.values())
    cases = [case for reading in readings for case in reading.cases]
    source = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    lines = dict(_verdicts(rows, readings))
    return (Path(__file__).with_name("study.md").read_text(encoding="utf-8")).format(
        n_sets=sum(len(reading.names) for reading in readings),
        n_cases=len(cases),
        sizes=_listed(sorted({case.size for case in cases})),
        splits="; ".join(f"{name}: {splits_of(reading)}" for name, reading in groups.items()),
        minute=markdown(HEAD, list(lines.values())),
        words=_words({kind: line[2].strip("*") for kind, line in lines.items()}),
        tie=TIE,
        rows=(source / "rows.jsonl").as_posix(),
        references=_reference_table(rows),
        asked=_few_table(rows),
        untuned=_untuned_table(rows),
        scaling=_scaling_table(rows),
        ranks="\n\n".join(_parts(ranked(rows, groups), rank_table)),
        comparisons="\n\n".join(_parts(groups, _comparison_table, ["report"])),
        every=_every_set(readings),
    )


HEAD = (
    *("kind of data", "data sets", "recommended", "best other method"),
    *(f"relative error of `{TUNED}()`", "won, tied, lost", f"relative error of `{PLAIN}()`"),
    "seconds: tuned, untuned, other",
)


def _verdicts(rows: Sequence[Row], groups: Iterable[Reading]) -> Iterable[tuple[str, list[str]]]:
    """A line for every kind of data: of the reported half, or of both where that has no set.

    What runs on some sets only is taken where it wins there.
    """
    others = {method: of_half(read(rows, (*OURS, method)), "report") for method in REFERENCES}
    for (kind, own), reading in product(KINDS.items(), groups):
        part = of_half(reading.where(own), "report")
        mark = "" if part.cases else "\\*"
        part = part if part.cases else reading.where(own)
        if part.cases:
            best = part.lowest(but=OURS)
            one = _beside(part, best)
            here = [(m, there) for m, other in others.items() if (there := other.where(own)).cases]
            ahead = [method for method, there in here if taken(_beside(there, method)) == method]
            ratios = [part.ratio(ours, best) for ours in OURS]
            take = taken(one) if (ratios[0].mean < 1) == (one.wins > one.losses) else "either"
            seconds = ", ".join(f"{part.seconds(method):.2g}" for method in (*OURS, best))
            told = [f"{len(part.names)}{mark}", f"**{' or '.join(ahead) or take}**", best]
            yield kind, [kind, *told, str(ratios[0]), _counts(one), str(ratios[1]), seconds]


def _beside(reading: Reading, other: str) -> Comparison:
    return next(one for one in reading.comparisons(TUNED) if one.other == other)


def taken(one: Comparison) -> str:
    """Whoever wins at least twice as often as it loses."""
    if one.wins and one.wins >= 2 * one.losses:
        return f"`{TUNED}()`"
    return one.other if one.losses and one.losses >= 2 * one.wins else "either"


def _words(takes: Mapping[str, str]) -> str:
    """Losses, ties and wins as three lists."""
    lists: dict[str, list[str]] = {"Loses": [], "Ties": [], "Wins": []}
    for kind, take in takes.items():
        name = "Wins" if TUNED in take else "Ties" if take == "either" else "Loses"
        lists[name].append(f"{kind} (use {take})" if name == "Loses" else kind)
    return "\n".join(f"- **{name}**: {'; '.join(own) or 'none'}." for name, own in lists.items())


def _counts(one: Comparison) -> str:
    return f"{one.wins}, {one.ties}, {one.losses}"


def _reference_table(rows: Sequence[Row]) -> str:
    """Ours beside methods that run on some sets only, where they run."""
    lines = []
    for method in REFERENCES:
        reading = read(rows, (*OURS, method))
        for (kind, own), half in product(KINDS.items(), HALVES):
            part = of_half(reading.where(own), half)
            if part.cases:
                errors = [f"{part.mean_error(m):.1f}" for m in (TUNED, method)]
                ratios = [str(part.ratio(ours, method)) for ours in OURS]
                counts, seconds = _counts(_beside(part, method)), f"{part.seconds(method):.2g}"
                told = [method, kind, HALVES[half], str(len(part.names)), *errors]
                lines.append([*told, ratios[0], counts, ratios[1], seconds])
    head = ["", "data", "half", "sets", f"`{TUNED}()` %", "other %", "ratio", "won, tied, lost"]
    return markdown([*head, f"ratio of `{PLAIN}()`", "other seconds"], lines) if lines else NOTHING


def of_kinds(rows: Sequence[Row], kinds: Container[str], methods: Sequence[str]) -> dict[str, Reading]:
    """What some methods alone have on data of some kinds, by what the half is called."""
    reading = read([row for row in rows if kind_of(row.task.dataset) in kinds], methods)
    return {HALVES[half]: part for half in HALVES if (part := of_half(reading, half)).cases}


def _few_table(rows: Sequence[Row]) -> str:
    """Genes and spectra with five of a class, beside the two that people tune there."""
    lines, pairs = [], list(product(KNOWN, OURS))
    for kinds in (("genes",), ("spectra",), ("genes", "spectra")):
        few = [row for row in rows if row.task.n_train == 5]
        for half, part in of_kinds(few, kinds, (*OURS, *KNOWN)).items():
            ratios = [str(part.ratio(ours, other)) for other, ours in pairs]
            lines.append([_listed(kinds), half, str(len(part.names)), *ratios])
    head = ["5 per class", "half", "sets", *(f"{ours} / {other}" for other, ours in pairs)]
    return markdown(head, lines) if lines else NOTHING


def _untuned_table(rows: Sequence[Row]) -> str:
    """What the search gains beside the estimator without one."""
    lines = []
    for name, kinds in {**GROUPS, "all": sum(GROUPS.values(), ())}.items():
        for half, part in of_kinds(rows, kinds, OURS).items():
            worse = "{} of {}".format(*part.worse(*OURS))
            told = [str(part.ratio(*OURS)), _counts(_beside(part, PLAIN)), worse, splits_of(part)]
            lines.append([name, half, str(len(part.names)), *told])
    head = ["", "half", "sets", "error relative to the default", "won, tied, lost"]
    return markdown([*head, "worse by a standard error", "experiments, splits"], lines)


def _scaling_table(rows: Sequence[Row]) -> str:
    """Ours on columns scaled in other ways, beside standardised ones."""
    lines = []
    for method, told in VARIANTS.items():
        reading = read(rows, (PLAIN, method))
        for kind, own in KINDS.items():
            halves = [of_half(reading.where(own), half) for half in HALVES]
            ratios = [str(part.ratio(method, PLAIN)) if part.cases else "" for part in halves]
            if any(ratios):
                lines.append([told, kind, *ratios])
    return markdown(["columns", "data", *HALVES.values()], lines) if lines else NOTHING


def _parts(
    groups: Mapping[str, Reading], shown: Callable[[Reading], str], halves: Iterable[str] = HALVES
) -> Iterable[str]:
    """A table of every group and half, under the names of its sets."""
    for half, (name, reading) in product(halves, groups.items()):
        part = of_half(reading, half)
        if part.cases:
            title = f"### {name.capitalize()}, {HALVES[half]}"
            yield f"{title}\n\n{len(part.names)} sets: {', '.join(part.names)}.\n\n{shown(part)}"


def rank_table(reading: Reading) -> str:
    """Mean ranks of all methods by size, with Friedman's test and the critical difference."""
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
        told = f"{reading.mean_error(method):.1f}", f"{reading.seconds(method):.2g}"
        lines.append([_name(method), *shown, *told])
    below = {
        "*sets*": [str(len(part.names)) for part in parts.values()],
        "*critical difference*": [f"{part.critical_difference:.2f}" for part in parts.values()],
        "*Friedman's p*": [_p(friedman_p(part.set_errors)) for part in parts.values()],
    }
    lines += [[name, *own, "", ""] for name, own in below.items()]
    return markdown(["samples per class", *parts, "mean error %", "seconds"], lines)


def summary(rows: Sequence[Row], groups: Mapping[str, Reading]) -> str:
    """Return the mean ranks on the reported half of all data, for the page of benchmarks."""
    reading = of_half(list(ranked(rows, groups).values())[-1], "report")
    lines = []
    for method in reading.by_rank:
        rank, error = f"{reading.ranks[method]:.1f}", f"{reading.mean_error(method):.1f}"
        lines.append([_name(method), rank, error, f"{reading.seconds(method):.2g}"])
    table = markdown(["method", "mean rank", "mean error %", "seconds"], lines)
    told = (
        f"{len(reading.names)} data sets. The critical difference is {reading.critical_difference:.1f}."
    )
    return f"{told}\n\n{table}"


def _comparison_table(reading: Reading) -> str:
    beside = [{one.other: one for one in reading.comparisons(own)} for own in OURS]
    lines = []
    for method in reading.by_rank:
        told = []
        for ours, own in zip(OURS, beside, strict=True):
            one = own.get(method)
            ratio = str(reading.ratio(ours, method))
            told += [ratio, _counts(one), _p(one.adjusted)] if one else [""] * 3
        lines.append([_name(method), *told])
    head = [part for own in OURS for part in (f"`{own}()`: ratio", "won, tied, lost", "p")]
    return markdown(["compared with", *head], lines)


def _every_set(readings: Iterable[Reading]) -> str:
    lines = []
    for reading in readings:
        others = [place for place, method in enumerate(reading.methods) if method not in OURS]
        for name, errors in zip(reading.names, reading.set_errors, strict=True):
            best = min(others, key=lambda place: errors[place])
            case = next(case for case in reading.cases if case.name == name)
            lost = errors[0] - errors[best]
            shape = [case.n_features, case.n_classes]
            told = [*map(str, shape), *(f"{errors[place]:.1f}" for place in (0, 1, best))]
            line = [name, HALVES[half_of(name)], *told, reading.methods[best], f"{lost:+.1f}"]
            lines.append((lost, line))
    head = ["set", "half", "features", "classes", *(f"`{m}()`" for m in OURS), "best other", ""]
    return markdown([*head, "lost by"], [line for _, line in sorted(lines, key=lambda pair: -pair[0])])


def splits_of(reading: Reading) -> str:
    """How many sets at sizes have how many splits."""
    counts = [case.n_splits for case in reading.cases]
    return _listed([f"{counts.count(n)} with {n}" for n in sorted(set(counts), reverse=True)])


def _name(method: str) -> str:
    return f"**{method}**" if method in OURS else method


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _listed(words: Sequence[object]) -> str:
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last
