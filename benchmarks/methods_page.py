"""docs/research/methods.md: the catalogue, errors of the cited methods tuned and untuned, seconds.

Made of `nsse.methods.catalogue`, the rows of the reproduction (protocol cited), ``results/methods.json``
(`methods.py`) and ``results/methods_untuned.json``, which ``--untuned`` computes: default parameters on
the splits of the rows. ``methods_page.md`` is the text around the tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from common import HERE, RESULTS, error_percent, markdown_table, write_json
from methods import RATIO
from nsse.datasets import load_dataset, per_class_split
from nsse.methods import catalogue
from reproduction.from_abstracts import from_abstracts
from reproduction.paper.candidates import unpacked
from reproduction.paper.grids import CITED, GRIDS
from reproduction.paper.settings import FULL, TITLES
from reproduction.rows import Row, RowFile

ROOT = HERE.parent
SHOWN = tuple(name for name in CITED if name not in from_abstracts())
UNTUNED = RESULTS / "methods_untuned.json"
PLACES = (("coil20", 10), ("orl", 3), ("yale", 10))
SEEDS = range(5)
SETS = ("coil20", "orl", "yale")


def untuned() -> dict[str, Any]:
    """Test errors with default parameters, in per cent, by method and cell."""
    errors: dict[str, dict[str, list[float]]] = {name: {} for name in SHOWN}
    for dataset, n_train in PLACES:
        data = load_dataset(dataset, size=(25, 25), unit_norm=True)
        for seed in SEEDS:
            train, test = per_class_split(data.y, n_train, seed)
            for name in SHOWN:
                model = catalogue()[name].estimator.fit(data.X[train], data.y[train])
                error = error_percent(model, data.X[test], data.y[test])
                errors[name].setdefault(f"{dataset} {n_train}", []).append(error)
    return {"errors": errors}


def catalogue_table() -> str:
    """A line for every method."""
    header = ["method", "functions", "new samples", "labels", "time of a fit", "from"]
    lines = [
        [
            f"**{e.name}**" if e.in_tables else e.name,
            *(e.functions, e.new_samples, e.supervised, e.cost, e.reference),
        ]
        for e in catalogue().values()
    ]
    return markdown_table(header, lines).replace("---:", "---")


def cited_tables(rows: Sequence[Row]) -> str:
    """Errors by protocol honest, a table for every data set."""
    parts = []
    for dataset in SETS:
        own = [row for row in rows if row.task.dataset == dataset]
        sizes = sorted({row.task.n_train for row in own})
        lines = []
        for name in SHOWN:
            cells = [[100 * row.error for row in _cell(own, dataset, n, name)] for n in sizes]
            lines.append([name, *(_told(errors) for errors in cells)])
        header = ["method", *(f"{n} per class" for n in sizes)]
        parts.append(f"### {TITLES[dataset]}\n\n{markdown_table(header, lines)}")
    return "\n\n".join(parts)


def _cell(rows: Iterable[Row], dataset: str, n_train: int, method: str) -> list[Row]:
    place = dataset, n_train, method
    return [row for row in rows if (row.task.dataset, row.task.n_train, row.task.method) == place]


def _told(errors: Sequence[float]) -> str:
    if not errors:
        return "–"
    spread = f" ± {np.std(errors, ddof=1) / np.sqrt(len(errors)):.2f}" if len(errors) > 1 else ""
    fewer = "" if len(errors) == len(SEEDS) else f" ({len(errors)})"
    return f"{np.mean(errors):.2f}{spread}{fewer}"


def compared(rows: Sequence[Row], errors: dict[str, Any]) -> list[list[str]]:
    """Untuned beside tuned on the training samples, and the best point of the grid after the fact."""
    lines = []
    for name in SHOWN:
        line = [name]
        for dataset, n_train in PLACES:
            own = _cell(rows, dataset, n_train, name)
            tried = [unpacked(row.details["candidates"]) for row in own]
            shared = set.intersection(*(set(one) for one in tried))
            n_test = own[0].details["n_test"]
            best = min(float(np.mean([one[c] for one in tried])) for c in shared) / n_test
            tuned = float(np.mean([row.error for row in own]))
            plain = float(np.mean(errors[name][f"{dataset} {n_train}"]))
            line.append(f"{plain:.1f} / {100 * tuned:.1f} / {100 * best:.1f}")
        lines.append(line)
    return lines


def grids() -> str:
    """What was tried of every cited method."""
    told = []
    for name in SHOWN:
        values = "; ".join(
            f"{key} {', '.join('None' if v is None else str(v) for v in own)}"
            for key, own in GRIDS[name]["values"].items()
        )
        told.append(f"{name}: {values}")
    return ". ".join(told) + "."


def seconds() -> str:
    """Obvious code over ours."""
    record = json.loads((RESULTS / "methods.json").read_text(encoding="utf-8"))
    return ", ".join(f"{row['method']} {row[RATIO]:.1f}" for row in record["rows"])


def page() -> str:
    """The page, whole."""
    rows = [
        row
        for row in RowFile(ROOT / "reproduction" / "rows.jsonl").rows()
        if row.task.method in SHOWN and FULL.owns(row.task)
    ]
    errors = json.loads(UNTUNED.read_text(encoding="utf-8"))["errors"]
    header = ["untuned / tuned / best", *(f"{TITLES[d]}, {n} per class" for d, n in PLACES)]
    text = Template((HERE / "methods_page.md").read_text(encoding="utf-8"))
    return text.substitute(
        catalogue=catalogue_table(),
        cited=cited_tables(rows),
        untuned=markdown_table(header, compared(rows, errors)),
        grids=grids(),
        seconds=seconds(),
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--untuned", action="store_true", help="compute these errors anew")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "research" / "methods.md")
    options = parser.parse_args(argv)
    if options.untuned:
        write_json(UNTUNED, untuned())
    options.out.write_text(page(), encoding="utf-8")
    print(f"written: {options.out.name}")


if __name__ == "__main__":
    main()
