"""Hostile model files: each loads and works, or is refused in one line.

    python benchmarks/fuzz_files.py [--files N] [--seed S]

writes files of fitted models, changes them in bytes and in structure (`fuzz_mutations.py`), and has
child processes load them and ask them about samples, within bounds of memory and time. Prints how many
loaded and worked, how many were refused, and every one that did neither.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fuzz_mutations
import nsse
from nsse import LFDA, NSSE, NSSECV, NYS, SPE, SUPLAP, WithinMetric

FILES = 3000
# Beyond what the interpreter and its libraries map by themselves.
MEMORY = 1536 * 2**20
SECONDS = 30.0
WORKED, REFUSED, AT_USE, FAILED = "worked", "refused", "refused when asked", "FAILED"
OUTCOMES = (WORKED, REFUSED, AT_USE, FAILED)
MODELS = {
    "default": NSSE(),
    "published": NSSE.as_published(2, sigma=1.0),
    "centres": NSSE(n_landmarks=9),
    "sparse": NSSE.as_published(2, sigma=1.0),
    "sparse centres": NSSE.as_published(2, n_landmarks=9, sigma=1.0),
    "linear": LFDA(2),
    "eigenmaps": SUPLAP(2),
    "nystroem": NYS(2),
    "sparse codes": SPE(2),
    "pipeline": make_pipeline(StandardScaler(), NSSE()),
    "vote": NSSECV(n_voters=3),
    "metric": WithinMetric(),
}


def samples(kind: str) -> tuple[Any, Any]:
    """Training samples in the form that a kind takes."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    return sparse.csr_array(X) if kind.startswith("sparse ") or kind == "sparse" else X, y


def sources(folder: Path) -> list[tuple[str, bytes]]:
    """Valid files of every kind."""
    for kind, model in MODELS.items():
        nsse.save(model.fit(*samples(kind)), folder / f"{kind}.nsse")
    return [(kind, (folder / f"{kind}.nsse").read_bytes()) for kind in MODELS]


def outcome_of(path: Path, kind: str) -> tuple[str, str]:
    """Load a file and ask the model; what came of it."""
    try:
        model = nsse.load(path)
    except ValueError as error:
        told = str(error)
        clear = told.startswith("`path` must") and path.name in told and "\n" not in told
        return (REFUSED, "") if clear else (FAILED, f"unclear: {told!r}")
    except Exception as error:
        return FAILED, f"load: {type(error).__name__}: {error}"
    try:
        for question in ("transform", "predict"):
            if hasattr(model, question):
                np.asarray(getattr(model, question)(samples(kind)[0]))
    except ValueError as error:
        return AT_USE, f"{type(model).__name__}: {error}"
    except Exception as error:
        return FAILED, f"use: {type(error).__name__}: {error}"
    return WORKED, ""


def work(valid: Path, first: int, last: int, seed: int) -> None:
    """The child: one line before and one after every file."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kinds = list(MODELS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.nsse"
        for index in range(first, last):
            kind = kinds[index % len(kinds)]
            content = (valid / f"{kind}.nsse").read_bytes()
            rng = np.random.default_rng([seed, index])
            change, content = fuzz_mutations.mutated(content, rng)
            tell(index, None, f"{kind}: {change}", change)
            path.write_bytes(content)
            outcome, told = outcome_of(path, kind)
            tell(index, outcome, f"{kind}: {told}", change)


def tell(index: int, outcome: str | None, told: str, change: str) -> None:
    print(json.dumps([index, outcome, " ".join(told.split())[:300], change]), flush=True)


def run(n_files: int, seed: int) -> list[list[Any]]:
    """All files, in children; one that dies is followed by another at the next file."""
    told: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        sources(Path(folder))
        while len(told) < n_files:
            told += run_child(Path(folder), len(told), n_files, seed)
    return told


def run_child(valid: Path, first: int, last: int, seed: int) -> list[list[Any]]:
    """What one child told until it was through, died or kept silent."""
    command = [sys.executable, __file__, "--child", str(valid), str(first), str(last)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    told: list[list[Any]] = []
    begun: list[Any] | None = None
    with subprocess.Popen(
        [*command, "--seed", str(seed)], stdout=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout is not None
        while True:
            if not select.select([child.stdout], [], [], SECONDS)[0]:
                child.kill()
                why = f"no answer in {SECONDS:.0f} s"
                break
            line = child.stdout.readline()
            if not line:
                why = f"ended with {child.wait()}"
                break
            one = json.loads(line)
            begun = one if one[1] is None else None
            if begun is None:
                told.append(one)
    if begun is not None:
        told.append([begun[0], FAILED, f"{why}: {begun[2]}", begun[3]])
    elif first + len(told) < last:
        raise SystemExit(f"The child {why} between files.")
    return told


def report(told: list[list[Any]]) -> None:
    counts = collections.Counter(outcome for _, outcome, *_ in told)
    print(f"{len(told)} files: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    for change in sorted({one[3] for one in told}):
        own = collections.Counter(outcome for _, outcome, _, kind in told if kind == change)
        print(f"  {change}: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(own.items())))
    for index, outcome, why, change in told:
        if outcome in (FAILED, AT_USE):
            print(f"{outcome} {index} ({change}): {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        folder, first, last = options.child
        work(Path(folder), int(first), int(last), options.seed)
        return
    told = run(options.files, options.seed)
    report(told)
    raise SystemExit(any(outcome == FAILED for _, outcome, *_ in told))


if __name__ == "__main__":
    main()
