"""Hostile model files: each loads and works, or is refused in one line.

    python benchmarks/fuzz_files.py [--quick] [--files N] [--seed S]

changes the files of models of every kind in bytes and in structure, and has child processes load them
and ask them about samples, within bounds of memory and time. Prints how many loaded and worked, how many
were refused, and every one that did neither.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import fuzz_mutations
import nsse

FILES, QUICK = 3000, 240
# Beyond what the interpreter and its libraries map by themselves.
MEMORY = 1536 * 2**20
SECONDS = 30.0
WORKED, REFUSED, AT_USE, FAILED = "worked", "refused", "refused when asked", "FAILED"


@dataclass
class Tally:
    """Outcomes by kind of change, and the failures one by one."""

    counts: collections.Counter = field(default_factory=collections.Counter)
    changes: collections.Counter = field(default_factory=collections.Counter)
    notable: list = field(default_factory=list)

    def add(self, index: int, outcome: str, told: str, change: str) -> None:
        """Count one file."""
        self.counts[outcome] += 1
        self.changes[change, outcome] += 1
        if outcome in (FAILED, AT_USE):
            self.notable.append((outcome, index, told, change))


def models() -> dict[str, Any]:
    """One model of every kind of map, classifier and step; those called sparse take sparse samples."""
    scaled = nsse.NSSE.as_published(2, sigma=1.0)
    return {
        "search": nsse.NSSE.as_published(2, tol=1e-2),
        "landmarks": nsse.NSSE(n_landmarks=6),
        "vote": nsse.NSSECV(),
        "SUPLAP": nsse.SUPLAP(2, n_neighbors_between=5),
        "LFDA": nsse.LFDA(2),
        "NYS": nsse.NYS(2, n_neighbors=10),
        "SPE": nsse.SPE(2),
        "MReg": nsse.MReg(),
        "neighbours": clone(scaled).set_params(classifier=KNeighborsClassifier(3)),
        "SVC": clone(scaled).set_params(classifier=SVC()),
        "logistic": clone(scaled).set_params(classifier=LogisticRegression()),
        "pipeline": make_pipeline(StandardScaler(), nsse.NSSE()),
        "columns": make_pipeline(
            make_column_transformer((MinMaxScaler(), [0, 1, 2]), (OneHotEncoder(), [3])), scaled
        ),
        "sparse": clone(scaled),
        "sparse SPE": nsse.SPE(2),
        "sparse landmarks": nsse.NSSE(n_landmarks=6),
    }


def samples_for(kind: str) -> tuple[Any, Any]:
    """Samples in the form that a kind takes, and their labels."""
    iris = load_iris()
    X, y = np.round(iris.data, 1)[::5], iris.target_names[iris.target][::5]
    return (sparse.csr_array(X) if kind.startswith("sparse") else X), y


def sources(folder: Path) -> list[tuple[str, bytes]]:
    """Valid files of every kind."""
    found = []
    for kind, model in models().items():
        nsse.save(model.fit(*samples_for(kind)), folder / "valid.nsse")
        found.append((kind, (folder / "valid.nsse").read_bytes()))
    return found


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
                np.asarray(getattr(model, question)(samples_for(kind)[0]))
    except ValueError as error:
        return AT_USE, f"{type(model).__name__}: {error}"
    except Exception as error:
        return FAILED, f"use: {type(error).__name__}: {error}"
    return WORKED, ""


def work(first: int, last: int, seed: int) -> None:
    """The child: one line before and one after every file."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        valid = sources(Path(folder))
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
        for index in range(first, last):
            rng = np.random.default_rng([seed, index])
            kind, content = valid[index % len(valid)]
            change, content = fuzz_mutations.mutated(content, rng)
            tell(index, None, f"{kind}: {change}", change)
            path = Path(folder) / "hostile.nsse"
            path.write_bytes(content)
            outcome, told = outcome_of(path, kind)
            tell(index, outcome, f"{kind}: {told}", change)


def tell(index: int, outcome: str | None, told: str, change: str) -> None:
    print(json.dumps([index, outcome, " ".join(told.split())[:300], change]), flush=True)


def run(n_files: int, seed: int) -> Tally:
    """All files, in children; one that dies is followed by another at the next file."""
    tally, first = Tally(), 0
    while first < n_files:
        first = run_child(first, n_files, seed, tally)
    return tally


def run_child(first: int, last: int, seed: int, tally: Tally) -> int:
    """One child until it is through or dies; where to go on."""
    command = [sys.executable, __file__, "--child", str(first), str(last), "--seed", str(seed)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    begun = [first - 1, None, "before the first file", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        while True:
            if not select.select([child.stdout], [], [], SECONDS)[0]:
                child.kill()
                tally.add(begun[0], FAILED, f"no answer in {SECONDS:.0f} s: {begun[2]}", begun[3])
                return begun[0] + 1
            line = child.stdout.readline()
            if not line:
                break
            told = json.loads(line)
            if told[1] is None:
                begun = told
            else:
                tally.add(*told)
                begun = [told[0], told[1], "", ""]
    if child.returncode == 0:
        return last
    if begun[1] is not None or begun[0] < first:
        raise SystemExit(f"The child ended with {child.returncode} between files.")
    tally.add(begun[0], FAILED, f"ended with {child.returncode}: {begun[2]}", begun[3])
    return begun[0] + 1


def report(tally: Tally, n_files: int) -> None:
    print(
        f"{n_files} files: "
        + ", ".join(f"{tally.counts[o]} {o}" for o in (WORKED, REFUSED, AT_USE, FAILED))
    )
    for change in sorted({change for change, _ in tally.changes}):
        told = ", ".join(f"{n} {o}" for (c, o), n in sorted(tally.changes.items()) if c == change)
        print(f"  {change}: {told}")
    for outcome, index, told, change in tally.notable:
        print(f"{outcome} {index} ({change}): {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} files")
    parser.add_argument("--files", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int, nargs=2, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        work(*asked.child, asked.seed)
        return
    n_files = asked.files or (QUICK if asked.quick else FILES)
    tally = run(n_files, asked.seed)
    report(tally, n_files)
    raise SystemExit(tally.counts[FAILED] > 0)


if __name__ == "__main__":
    main()
