"""``nsse info``: show what a model file contains, without loading the model."""

from __future__ import annotations

from typing import Any

from nsse.cli.files import size_of
from nsse.cli.models import NAMES
from nsse.cli.options import Json, Model
from nsse.cli.screen import MODEL, running, typed

SHOWN = 12  # classes, columns or settings in a line
HIDDEN = ("pictures", NAMES)  # entries of the metadata that are too long to show


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
        table.add_row("file", f"{model}, {size_of(model)}, format {header.format}")
        table.add_row("model", " → ".join(header.facts.get("steps") or [header.model]))
        for name, text in _facts(header.facts):
            table.add_row(name, text)
        if header.metadata is not None:
            fields = {name: value for name, value in header.metadata.items() if name not in HIDDEN}
            table.add_row("preparation", _assigned(fields))
        table.add_row(
            "written by", f"nsse {header.nsse}, scikit-learn {header.sklearn}, NumPy {header.numpy}"
        )
        screen.show(table)


def _facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if "n_samples" in facts:
        shape = f"{facts['n_samples']} samples, {facts.get('n_features')} features"
        lines.append(("fitted to", f"{shape} → {facts.get('n_components')} dimensions"))
    if "classes" in facts:
        lines.append(("classes", f"{len(facts['classes'])}: {_first(facts['classes'])}"))
    if "sigma" in facts:
        lines.append(("σ", f"{facts['sigma']:.4g}"))
    if "weights" in facts:
        weights = facts["weights"]
        word = "member" if len(weights) == 1 else "members"
        lines.append(("ensemble", f"{len(weights)} {word}, weights {_first(weights)}"))
    if "parameters" in facts:
        lines.append(("parameters", _assigned(facts["parameters"])))
    return lines


def _assigned(fields: dict[str, Any]) -> str:
    parts = {name: _shown(value) for name, value in fields.items()}
    return ", ".join(_settings(parts))


def _settings(parts: dict[str, str]) -> list[str]:
    """Return the settings that are not empty."""
    return [f"{name}={text}" for name, text in parts.items() if text not in ("None", "", "[]", "()")]


def _shown(value: Any) -> str:
    """Return a value for people, with few digits, short lists, and nested settings in brackets."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return f"({_cut(_settings({name: _shown(part) for name, part in value.items()}))})"
    return f"[{_first(value)}]" if isinstance(value, list) else str(value)


def _first(values: list[Any]) -> str:
    return _cut([_shown(value) for value in values])


def _cut(texts: list[str]) -> str:
    more = f", … ({len(texts) - SHOWN} more)" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more
