"""The page of the study in Markdown. Every number on it is computed from the rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from nsse._support.errors import rule_error
from reproduction.rows import Row, markdown, write_text
from reproduction.study import drawing
from reproduction.study.methods import OURS, RANKED, REFERENCES
from reproduction.study.results import EXPERIMENT, TIE, Results, frame_of

TUNED, PLAIN = OURS
# Conditions on experiments, in the words of the page.
KINDS = {kind: f"kind == '{kind}'" for kind in ("genes", "series", "embeddings", "images", "tables")}
CLASSES = {"two": "classes == 2", "more than two": "classes > 2"}
PER_FEATURE = {
    "at most 0.1": "train / features <= 0.1",
    "0.1 to 1": "0.1 < train / features <= 1",
    "1 to 10": "1 < train / features <= 10",
    "more than 10": "train / features > 10",
}
PER_CLASS = {str(size): f"size == {size}" for size in (5, 10, 20, 50)}
GROUPS = {
    "tables": "kind == 'tables'",
    "wide data": "kind not in ('images', 'tables')",
    "images": "kind == 'images'",
}
FEW, MANY = "5 to 20 samples per class", "50 samples per class"
SIZES = {FEW: "size <= 20", MANY: "size == 50"}
LINEAR = (
    "linear SVC",
    "shrinkage LDA",
    "PCA + LDA",
    "PLS-DA",
    "shrunken centroids",
    "logistic regression",
)
TREES = ("random forest", "boosting")
MOST_LOST = 10
NOTHING = "*No rows.*"


def publish(rows: Sequence[Row], page: Path, figure: Path) -> None:
    """Write the page of these rows, and the figure that it shows."""
    link = Path(os.path.relpath(figure, page.parent)).as_posix()
    write_text(page, text_of(rows, link))
    drawing.save(drawing.rank_figure(rank_frame(reported(frame_of(rows)))), figure)
    print(f"Page: {page}")


def text_of(rows: Sequence[Row], figure: str) -> str:
    """Return the page in Markdown."""
    frame = frame_of(rows)
    results = reported(frame)
    template = Path(__file__).with_name("study.md").read_text(encoding="utf-8")
    return template.format(
        n_reported=len(results.names),
        n_experiments=len(results.errors),
        n_splits=results.n_splits,
        tie=TIE,
        figure=figure,
        kinds=_groups("kind of data", results, KINDS, _not_reported(frame)),
        classes=_groups("classes", results, CLASSES),
        per_feature=_groups("training samples per feature", results, PER_FEATURE),
        per_class=_groups("training samples per class", results, PER_CLASS),
        ranks="\n\n".join(_rank_tables(results)),
        references=_references(frame),
        gains=_gains(frame),
        losses=_losses(results),
        every=_every_set(results),
    )


def reported(frame: pd.DataFrame) -> Results:
    """Return the results on the reported data sets, or on all data sets if there are none."""
    own = frame[frame["is_reported"]]
    results = _ranked(own if len(own) else frame)
    if not set(OURS) <= set(results.methods) or len(results.methods) < 4:
        cure = f"Use --methods {TUNED} {PLAIN} and at least two others, or none to compute all."
        raise rule_error(
            "--out", "contain rows of our methods and of two others", sorted(set(frame["method"])), cure
        )
    return results


def _ranked(frame: pd.DataFrame) -> Results:
    """Return the results of all methods that have rows for at least half of the experiments."""
    counts = frame.drop_duplicates([*EXPERIMENT, "method"])["method"].value_counts()
    least = frame.groupby(EXPERIMENT).ngroups / 2
    return Results.of(frame, [method for method in RANKED if counts.get(method, 0) >= least])


def rank_frame(results: Results) -> pd.DataFrame:
    """Return the mean ranks of the figure, with few and with many training samples per class."""
    frames: list[pd.DataFrame] = []
    for panel, part in _parts(results, SIZES):
        ranks = part.ranks if not frames else part.ranks[frames[0]["method"]]
        frame = pd.DataFrame({"panel": panel, "method": ranks.index, "rank": ranks.to_numpy()})
        frame["data sets"] = len(part.names)
        frame["critical difference"] = part.critical_difference
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def summary(rows: Sequence[Row]) -> str:
    """Return the mean ranks in one table, for the page of benchmarks."""
    results = reported(frame_of(rows))
    sizes = {"5–20": SIZES[FEW], "50": SIZES[MANY]}
    groups = dict(_parts(results, GROUPS))
    parts = {f"{g}, {s}": part for g, own in groups.items() for s, part in _parts(own, sizes)}
    return markdown(["samples per class", *parts], _rank_lines(parts, results))


def _parts(results: Results, conditions: Mapping[str, str]) -> Iterator[tuple[str, Results]]:
    """Return the experiments that fulfill each condition, without empty groups."""
    for name, condition in conditions.items():
        part = results.where(condition)
        if len(part.errors):
            yield name, part


def _groups(
    name: str, results: Results, conditions: Mapping[str, str], more: Iterable[tuple[str, Results]] = ()
) -> str:
    """Return a table with one line for each group of experiments."""
    lines = []
    for group, part in [*_parts(results, conditions), *more]:
        best = part.lowest(but=OURS)
        line = [group, str(len(part.names)), best, str(part.ratio(TUNED, best))]
        lines.append([*line, part.counts(TUNED, best), str(part.ratio(PLAIN, best))])
    head = [name, "data sets", "best other method", f"relative error of `{TUNED}`", "won, tied, lost"]
    return markdown([*head, f"relative error of `{PLAIN}`"], lines)


def _not_reported(frame: pd.DataFrame) -> Iterator[tuple[str, Results]]:
    """Return the kinds of data without a reported data set."""
    for kind, own in frame.groupby("kind"):
        if not own["is_reported"].any():
            results = _ranked(own)
            if set(OURS) < set(results.methods):
                yield f"{kind}\\*", results


def _rank_tables(results: Results) -> Iterator[str]:
    """Return a table of mean ranks for each group of data sets."""
    for group, own in _parts(results, GROUPS):
        parts = dict(_parts(own, PER_CLASS | {"5 to 20": SIZES[FEW]}))
        yield f"### {group.capitalize()}\n\n{rank_table(own, parts)}"


def rank_table(results: Results, parts: Mapping[str, Results]) -> str:
    """Return mean ranks by groups of experiments, with errors and seconds of all of them."""
    lines = _rank_lines(parts, results)
    errors, seconds = results.by_set.mean(), results.seconds.median()
    more = [[f"{errors[method]:.1f}", f"{seconds[method]:.2g}"] for method in results.ranks.index]
    more += [["", ""]] * (len(lines) - len(more))
    lines = [[*line, *columns] for line, columns in zip(lines, more, strict=True)]
    return markdown(["samples per class", *parts, "mean error %", "seconds"], lines)


def _rank_lines(parts: Mapping[str, Results], results: Results) -> list[list[str]]:
    """Return a line for each method, the best one first, and lines of the tests below."""
    lines = []
    for method in results.ranks.index:
        ranks = [(part.ranks[method], part.ranks.min()) for part in parts.values()]
        shown = [f"**{own:.1f}**" if own == best else f"{own:.1f}" for own, best in ranks]
        lines.append([f"**{method}**" if method in OURS else method, *shown])
    below = {
        "*data sets*": [str(len(part.names)) for part in parts.values()],
        "*critical difference*": [f"{part.critical_difference:.1f}" for part in parts.values()],
        "*Friedman's p*": [_p(part.friedman_p) for part in parts.values()],
    }
    return lines + [[name, *own] for name, own in below.items()]


def _references(frame: pd.DataFrame) -> str:
    """Return our errors compared with methods that run on some data sets only."""
    lines = []
    for method in REFERENCES:
        own = frame[frame["is_reported"] & frame["method"].isin([*OURS, method])]
        if method not in set(own["method"]):
            continue
        for kind, part in _parts(Results.of(own, [*OURS, method]), KINDS):
            errors = part.by_set.mean()
            line = [method, kind, str(len(part.names)), f"{errors[method]:.1f}", f"{errors[TUNED]:.1f}"]
            ratios = str(part.ratio(TUNED, method)), part.counts(TUNED, method)
            lines.append([*line, *ratios, f"{part.seconds[method].median():.2g}"])
    head = ["", "kind of data", "data sets", "error %", f"`{TUNED}` %", "relative error"]
    return markdown([*head, "won, tied, lost", "seconds"], lines) if lines else NOTHING


def _gains(frame: pd.DataFrame) -> str:
    """Return what the search gains over default parameters, on all data sets."""
    lines = []
    for is_reported, name in {True: "reported", False: "used for choices"}.items():
        own = frame[frame["is_reported"] == is_reported]
        if set(OURS) <= set(own["method"]):
            for group, part in _parts(Results.of(own, OURS), GROUPS):
                line = [group, name, str(len(part.names)), str(part.ratio(*OURS))]
                lines.append([*line, part.counts(*OURS), part.worse(*OURS)])
    head = ["", "", "data sets", "error relative to the default", "won, tied, lost"]
    return markdown([*head, "worse by a standard error"], lines)


def _compared(results: Results) -> pd.DataFrame:
    """Return errors, shapes and the best other method of every data set, our largest loss first."""
    frame = results.facts.groupby("dataset")[["features", "classes"]].first()
    others = results.by_set.drop(columns=list(OURS))
    frame["best"], frame["error"] = others.idxmin(axis=1), others.min(axis=1)
    frame[list(OURS)] = results.by_set[list(OURS)]
    frame["lost"] = frame[TUNED] - frame["error"]
    return frame.sort_values("lost", ascending=False, kind="stable")


def _losses(results: Results) -> str:
    """Return what the data sets have in common on which we lose most."""
    lost = _compared(results).head(MOST_LOST)
    two = int((lost["classes"] == 2).sum())
    trees, linear = (int(lost["best"].isin(family).sum()) for family in (TREES, LINEAR))
    few = int((lost["features"] <= 60).sum())
    return (
        f"Of the {len(lost)} data sets on which we lose most, {two} have two classes and {few} have at "
        f"most 60 features. The best other method is linear on {linear} of them and consists of trees "
        f"on {trees}."
    )


def _every_set(results: Results) -> str:
    """Return the errors on every data set, those where we lose most first."""
    lines = []
    for name, own in _compared(results).iterrows():
        errors = [f"{own[column]:.1f}" for column in (*OURS, "error")]
        shape = str(own["features"]), str(own["classes"])
        lines.append([str(name), *shape, *errors, own["best"], f"{own['lost']:+.1f}"])
    head = ["data set", "features", "classes", *(f"`{method}`" for method in OURS), "best other", ""]
    return markdown([*head, "difference"], lines)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
