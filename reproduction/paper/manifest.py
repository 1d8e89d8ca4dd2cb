"""What the numbers of a reproduction depend on, and nothing that names the machine or its user."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.paper.settings import ALL_METHODS, Profile
from reproduction.rows import Row


def manifest(profile: Profile, rows: Sequence[Row], version: str) -> dict[str, Any]:
    """Profile, rows, seeds, software, processor and time of the rows of a profile."""
    mine = [row for row in rows if profile.owns(row.task)]
    seeds: dict[str, int] = {}
    for row in mine:
        seeds[row.task.method] = max(row.task.seed, seeds.get(row.task.method, 0))
    return {
        "profile": profile.name,
        "rows": len(mine),
        "seeds": {method: f"0 ... {seeds[method]}" for method in ALL_METHODS if method in seeds},
        "software of the rows": sorted({_pairs(row.versions) for row in mine}),
        "nsse": version,
        "commit": _commit(),
        "processor": f"{os.cpu_count()} × {_processor()}",
        "core hours": round(sum(row.fit_seconds + row.predict_seconds for row in mine) / 3600, 2),
    }


def _pairs(items: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in items.items())


def _commit() -> str:
    """The commit of the source tree; "unknown" for an installed package."""
    here = Path(__file__).resolve().parent
    asked = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12", "--match", "="]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip()


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    found = (
        re.search(r"model name\s*: *(.*)", path.read_text(encoding="utf-8")) if path.exists() else None
    )
    return found[1].strip() if found else platform.machine()
