"""The page of the paper's tables in Markdown: our errors and the printed ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.paper.printed import METHODS, TABLES
from reproduction.paper.settings import ALL_METHODS, AUGMENTED, SMOOTH_CV, TITLES
from reproduction.rows import markdown

PLACE = ["dataset", "n_train"]
OTHERS = METHODS[1:]
PROTOCOLS = {
    "paper": "",
    "honest": "",
    "cited": "The paper cites these methods and does not measure them. Everything is chosen on the "
    "training samples, and images are divided by their norm. NPDE, ESLLE, SMFA and SOLDE were "
    "implemented from abstracts alone (`reproduction/from_abstracts`).",
}
RUN_TIMES = {
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
    "One fit with default parameters and one of Algorithm 1 as it is printed, on the same samples, "
    "weights, graph and range of σ. The time is the shortest of several fits. The paper used MATLAB on "
    "a laptop."
)


def page_text(table: pd.DataFrame, errors: pd.DataFrame, run_times: Path, figure: str) -> str:
    """Return the page of a table (`table_frame`) and its errors by split (`honest_errors`)."""
    template = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    parts = [*_error_tables(table), *_run_times(run_times)]
    return template.format(
        figure=figure, summary=summary(table, errors), counts=_counts(table), tables="\n\n".join(parts)
    )


def summary(table: pd.DataFrame, errors: pd.DataFrame) -> str:
    """Return a line for each experiment: NSSE, the other methods of the paper, and our search."""
    by_protocol = {
        name: own.set_index([*PLACE, "method"]).sort_index() for name, own in table.groupby("protocol")
    }
    printed = table[table["method"] == "NSSE"].groupby(PLACE)["printed"].first()
    lines = []
    for place, own in errors.groupby(PLACE, sort=False):
        line = [_experiment(*place), "–" if pd.isna(printed.get(place)) else f"{printed[place]:.2f}"]
        for protocol in ("paper", "honest"):
            found = by_protocol[protocol]["error"].loc[place] if protocol in by_protocol else {}
            line += [_error(found, "NSSE"), _best(found)]
        lines.append([*line, _error(own.mean(), SMOOTH_CV), lowest_other(own, SMOOTH_CV, [AUGMENTED])])
    head = ["", "NSSE, printed", "NSSE", "best other method of the paper", "NSSE, honest"]
    head += ["best other method of the paper, honest", SMOOTH_CV]
    return markdown([*head, "best of all others, on the same splits"], lines)


def _counts(table: pd.DataFrame) -> str:
    """Return how often NSSE agrees with the printed values, and is the best method of the paper."""
    own = table[(table["protocol"] == "paper") & table["method"].isin(METHODS)]
    errors = own.pivot(index=PLACE, columns="method", values="error")
    nsse = own[own["method"] == "NSSE"].dropna(subset="printed")
    if "NSSE" not in errors or len(errors.columns) < 2:
        return ""
    agrees = int((nsse["error"] <= nsse["printed"] + nsse["stderr"].fillna(0.0)).sum())
    best = int((errors["NSSE"] <= errors.drop(columns="NSSE").min(axis=1)).sum())
    return (
        f"By the protocol of the paper, the error of NSSE is at most the printed one plus our standard "
        f"error in {agrees} of {len(nsse)} experiments, and NSSE has the lowest error of the methods of "
        f"the paper in {best} of {len(errors)}."
    )


def figure_frame(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the errors of the first figure, by the protocol honest if they are ours."""
    own = table[table["protocol"] == "honest"]
    paper = own[own["method"].isin(OTHERS)].groupby(PLACE, sort=False)["error"].min().reset_index()
    printed = own[own["method"] == "NSSE"].dropna(subset="printed")
    parts = [
        printed.assign(method="NSSE, printed", error=printed["printed"]),
        own[own["method"].isin(["NSSE", SMOOTH_CV, AUGMENTED])],
        paper.assign(method="best other method of the paper"),
    ]
    lines = pd.concat(parts)[[*PLACE, "method", "error"]]
    return [{str(k): v for k, v in line.items()} for line in lines.to_dict("records")]


def augmented_table(table: pd.DataFrame, errors: pd.DataFrame) -> str:
    """Return a table of the search with and without augmented samples, for the measurements."""
    honest = table[table["protocol"] == "honest"].set_index([*PLACE, "method"])
    lines = []
    for place, own in errors.groupby(PLACE, sort=False):
        if AUGMENTED not in own or own[AUGMENTED].isna().all():
            continue
        shared = own.dropna(subset=[AUGMENTED, SMOOTH_CV])
        chosen = honest.loc[(*place, AUGMENTED), "parameters"]
        copies = str(chosen).removeprefix("most often augment=").split(",")[0]
        means = [_spread(shared[method]) for method in (SMOOTH_CV, AUGMENTED)]
        lines.append(
            [_experiment(*place), str(len(shared)), *means, copies, lowest_other(own, AUGMENTED)]
        )
    head = ["", "splits", SMOOTH_CV, "with augmented samples", "most often chosen"]
    return markdown([*head, "best of all others, on the same splits"], lines)


def lowest_other(own: pd.DataFrame, method: str, but: list[str] | None = None) -> str:
    """Return the other method with the smallest margin to ours, on the splits that both have."""
    if method not in own:
        return "–"
    margins = {}
    for other in own.columns.difference([method, *(but or [])]):
        shared = own[[method, other]].dropna()
        if len(shared):
            margins[other] = float((shared[method] - shared[other]).mean()), shared
    if not margins:
        return "–"
    best = max(margins, key=lambda name: margins[name][0])
    means = margins[best][1].mean()
    return f"{best} {means[best]:.2f}, ours {means[method]:.2f} ({len(margins[best][1])})"


def _error_tables(table: pd.DataFrame) -> Iterator[str]:
    """Return a table for each data set and protocol, with the number of splits of each method."""
    for dataset in dict.fromkeys(table["dataset"]):
        for protocol, explained in PROTOCOLS.items():
            own = table[(table["dataset"] == dataset) & (table["protocol"] == protocol)]
            if len(own):
                yield f"## {_title(dataset)}, protocol {protocol}"
                yield from filter(None, [explained])
                yield _error_table(own)


def _error_table(own: pd.DataFrame) -> str:
    best = own[own["method"].isin(METHODS)].groupby("n_train")["error"].min()
    sizes, lines = sorted(own["n_train"].unique()), []
    for method in [name for name in ALL_METHODS if name in set(own["method"])]:
        found = own[own["method"] == method].set_index("n_train")
        shown = []
        for size in sizes:
            if size not in found.index:
                shown.append("–")
                continue
            entry = found.loc[size]
            spread = "" if pd.isna(entry["stderr"]) else f" ± {entry['stderr']:.2f}"
            text = f"{entry['error']:.2f}{spread}"
            is_best = method in METHODS and entry["error"] == best[size]
            printed = "" if pd.isna(entry["printed"]) else f" ({entry['printed']:.2f})"
            shown.append((f"**{text}**" if is_best else text) + printed)
        counts = sorted(set(found["repeats"]))
        lines.append([method, *shown, "–".join(str(n) for n in counts)])
    return markdown(["method", *(f"{size} per class" for size in sizes), "splits"], lines)


def _run_times(path: Path) -> Iterator[str]:
    """Return the run times of Table 7, if they were measured."""
    if path.exists():
        frame = pd.read_csv(path, dtype=str).fillna("–")
        frame["dataset"] = frame["dataset"].map(TITLES)
        yield "## Run times (Table 7)"
        yield RUN_TIME_REMARK
        yield markdown(list(RUN_TIMES.values()), frame[list(RUN_TIMES)].to_numpy().tolist())


def _experiment(dataset: str, n_train: int) -> str:
    return f"{TITLES[dataset]}, {n_train}"


def _error(errors: pd.Series, method: str) -> str:
    return f"{errors[method]:.2f}" if method in errors and not pd.isna(errors[method]) else "–"


def _best(errors: pd.Series) -> str:
    known = {name: errors[name] for name in OTHERS if name in errors}
    best = min(known, key=lambda name: known[name], default="")
    return f"{best} {known[best]:.2f}" if best else "–"


def _spread(errors: pd.Series) -> str:
    spread = f" ± {errors.sem():.2f}" if len(errors) > 1 else ""
    return f"{errors.mean():.2f}{spread}"


def _title(dataset: str) -> str:
    number = f" (Table {list(TABLES).index(dataset) + 1})" if dataset in TABLES else ""
    return TITLES[dataset] + number
