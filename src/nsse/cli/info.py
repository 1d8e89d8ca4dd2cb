"""``nsse info``: show what a model file contains, without loading the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsse.cli.files import size_of
from nsse.cli.models import NAMES
from nsse.cli.options import Json, Model
from nsse.cli.screen import MODEL, running, typed

if TYPE_CHECKING:
    from nsse.io import Header

SHOWN = 12  # classes, columns or settings in a line
HIDDEN = ("pictures", NAMES)  # entries of the metadata that are too long to show
EMPTY = ("None", "", "[]", "()")


def info(model: Model, as_json: Json = False) -> None:
    """Show what a model file contains: sizes, classes, preparation, parameters, versions."""
    from dataclasses import asdict

    from rich.table import Table

    from nsse.io import read_header

    with running(as_json) as screen:
        with typed(MODEL):
            header = read_header(model)
        screen.result = {"path": str(model), "bytes": model.stat().st_size, **asdict(header)}
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in _rows(model, header):
            table.add_row(name, text)
        screen.show(table)


def _rows(path: Path, header: Header) -> Iterator[tuple[str, str]]:
    facts = header.facts
    yield "file", f"{path}, {size_of(path)}, format {header.format}"
    yield "model", " → ".join(facts.get("steps") or [header.model])
    if "n_samples" in facts:
        shape = f"{facts['n_samples']} samples, {facts.get('n_features')} features"
        yield "fitted to", f"{shape} → {facts.get('n_components')} dimensions"
    if "classes" in facts:
        yield "classes", f"{len(facts['classes'])}: {_cut(map(_shown, facts['classes']))}"
    if "sigma" in facts:
        yield "σ", f"{facts['sigma']:.4g}"
    if "weights" in facts:
        weights = facts["weights"]
        members = "1 member" if len(weights) == 1 else f"{len(weights)} members"
        yield "ensemble", f"{members}, weights {_cut(map(_shown, weights))}"
    if "parameters" in facts:
        yield "parameters", ", ".join(_settings(facts["parameters"]))
    if header.metadata is not None:
        fields = {name: value for name, value in header.metadata.items() if name not in HIDDEN}
        yield "preparation", ", ".join(_settings(fields))
    versions = f"nsse {header.nsse}, scikit-learn {header.sklearn}, NumPy {header.numpy}"
    yield "written by", versions


def _settings(fields: dict[str, Any]) -> list[str]:
    """Return the settings that are not empty."""
    texts = {name: _shown(value) for name, value in fields.items()}
    return [f"{name}={text}" for name, text in texts.items() if text not in EMPTY]


def _shown(value: Any) -> str:
    """Return a value for people, with few digits, short lists, and nested settings in brackets."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return f"({_cut(_settings(value))})"
    return f"[{_cut(map(_shown, value))}]" if isinstance(value, list) else str(value)


def _cut(texts: Iterable[str]) -> str:
    first = list(texts)
    more = f", … ({len(first) - SHOWN} more)" if len(first) > SHOWN else ""
    return ", ".join(first[:SHOWN]) + more
