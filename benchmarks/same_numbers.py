"""The golden master: numbers of small fits of everything public, stored once and compared later.

    python benchmarks/same_numbers.py --store      # writes results/same_numbers.npz
    python benchmarks/same_numbers.py --compare    # a line per configuration; fails where one differs

A change of form moves no number: values agree to 1e-9 of the largest of their array, columns of
embeddings up to sign, labels exactly. `configurations.py` says what is fitted.
"""

from __future__ import annotations

import argparse
import fnmatch
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, text_table
from configurations import CONFIGURATIONS, Configuration

STORED = RESULTS / "same_numbers.npz"
TOLERANCE = 1e-9
# What another order of sums moves by more: the temperature of a vote, a problem with condition 1e14.
LOOSE = {"search": 1e-3, "published, weights far apart": 1e-6}
COUNTED = ("labels", "transduction")
UP_TO_SIGN = ("embedding", "training embedding")


def computed(configurations: Mapping[str, Configuration]) -> dict[str, Any]:
    """Every array, by "configuration/quantity"."""
    arrays = {}
    for name, configuration in configurations.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = configuration()
        arrays |= {f"{name}/{quantity}": np.asarray(value) for quantity, value in found.items()}
    return arrays


def same_signs(before: Any, after: Any) -> Any:
    """``after`` with its columns turned to those of ``before``."""
    return after * np.where(np.einsum("ij,ij->j", before, after) < 0, -1.0, 1.0)


def difference(quantity: str, before: Any, after: Any) -> tuple[float, float, int]:
    """Largest absolute difference, the same over the largest value, and how many labels differ."""
    if before.shape != after.shape:
        return np.inf, np.inf, before.size if quantity in COUNTED else 0
    if quantity in COUNTED:
        return 0.0, 0.0, int(np.sum(before != after))
    before, after = before.astype(float), after.astype(float)
    if quantity in UP_TO_SIGN:
        after = same_signs(before, after)
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    apart = np.abs(np.subtract(before, after, where=~same, out=np.zeros_like(before)))
    largest = float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
    scale = float(np.abs(before[np.isfinite(before)]).max(initial=0.0)) or 1.0
    return largest, largest / scale, 0


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per configuration: what differs most, by how much, how many labels, what is missing."""
    rows = []
    for name in dict.fromkeys(key.partition("/")[0] for key in before):
        keys = [key for key in before if key.startswith(f"{name}/")]
        row = {"configuration": name, "arrays": len(keys), "labels": 0, "most": "", "relative": 0.0}
        row |= {"difference": 0.0, "missing": [key for key in keys if key not in after]}
        for key in (key for key in keys if key in after):
            quantity = key.partition("/")[2]
            apart, relative, labels = difference(quantity, before[key], after[key])
            row["labels"] += labels
            row["difference"] = max(row["difference"], apart)
            if relative > row["relative"]:
                row |= {"most": quantity, "relative": relative}
        rows.append(row)
    return rows


def differs(row: Mapping[str, Any], tolerance: float) -> bool:
    """Whether a configuration is not what it was."""
    allowed = max(tolerance, LOOSE.get(row["configuration"], 0.0))
    return bool(row["labels"] or row["missing"] or not row["relative"] <= allowed)


def report(rows: Iterable[Mapping[str, Any]], tolerance: float) -> str:
    """The rows as a table."""
    header = [
        "configuration",
        "arrays",
        "labels that differ",
        "largest difference",
        "relative",
        "in",
        "",
    ]
    lines = [
        [
            row["configuration"],
            row["arrays"],
            row["labels"],
            f"{row['difference']:.1e}",
            f"{row['relative']:.1e}",
            row["most"],
            f"DIFFERS {' '.join(row['missing'])}" if differs(row, tolerance) else "",
        ]
        for row in rows
    ]
    return text_table(header, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Store, or compare; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--store", action="store_true", help="write the numbers")
    what.add_argument("--compare", action="store_true", help="compare with those that were written")
    parser.add_argument("--file", type=Path, default=STORED, help="where they are")
    parser.add_argument("--only", default="*", help="configurations, as a pattern: 'centers*'")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="of the largest value")
    options = parser.parse_args(argv)
    chosen = {name: CONFIGURATIONS[name] for name in fnmatch.filter(CONFIGURATIONS, options.only)}
    start = time.perf_counter()
    arrays = computed(chosen)
    print(f"{len(arrays)} arrays of {len(chosen)} configurations, {time.perf_counter() - start:.0f} s")
    if options.store:
        np.savez_compressed(options.file, **arrays)
        print(f"stored: {options.file.name}, {options.file.stat().st_size / 1000:.0f} kB")
        return 0
    with np.load(options.file) as stored:
        names = [key for key in stored.files if fnmatch.fnmatch(key.partition("/")[0], options.only)]
        before = {key: stored[key] for key in names}
    rows = compared(before, arrays)
    print(report(rows, options.tolerance))
    apart = [row for row in rows if differs(row, options.tolerance)]
    print(f"{len(apart)} of {len(rows)} configurations differ by more than {options.tolerance:g}")
    return int(bool(apart))


if __name__ == "__main__":
    raise SystemExit(main())
