"""Load changed model files. Each must work or raise one clear error.

    python benchmarks/fuzz_files.py [--files 3000] [--seed 0]

The script changes bytes, header, tree and arrays of valid files. Child processes with limited memory and
time load them and call their methods. It prints how many files worked, how many were refused, and every
failure.
"""

from __future__ import annotations

import argparse
import collections
import json
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import NSSE, SmoothEmbedding, SmoothEmbeddingCV, WithinMetric, methods
from nsse.certificates import ConformalClassifier, SelectivePredictor
from nsse.unlabeled import LabelPropagation

CHUNK, SECONDS, MEMORY = 100, 20, 2**30
VALUES = [None, True, 0, -1, 3, 10**30, 0.5, -2.0, 1e308, 5e-324, "", "within", [], [[1]], {}]
VALUES += [{"float": "inf"}, {"float": "nan"}, {"array": "0"}, {"array": "x"}, {"objects": "1"}]
VALUES += [{"tuple": [1]}, {"pairs": [[[], 1]]}, {"class": "Affine", "parameters": {}}, {"class": "os"}]
QUESTIONS = ["transform", "predict", "predict_proba", "predict_set", "certified_radius", "typicality"]
QUESTIONS += ["explain", "select"]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 1e-308, 7.0, 2.0**31]
TYPES = ["f4", ">f8", "i4", "i8", "u1", "c16", "U8", "?", "f2", "S3", "M8[s]"]


@dataclass
class Tally:
    """Outcomes of files, and the failures one by one."""

    counts: collections.Counter = field(default_factory=collections.Counter)
    failures: list = field(default_factory=list)


@cache
def sources():
    """Valid files of several kinds, with samples for them."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], np.array(["a", "b", "c"], dtype=object)[y[::3]]
    rows = sparse.csr_array(np.where(X < 2, 0, X))
    some = np.where(np.arange(len(y)) % 3 > 0, y, None)
    fits = [
        (SmoothEmbedding(), X, y),
        (SmoothEmbedding(decision="nearest", centers=9), X, y),
        (SmoothEmbedding(unlabeled=LabelPropagation(), metric=None), X, some),
        (SmoothEmbedding(), rows, y),
        (SmoothEmbedding(), np.hstack([X] * 20), y),
        (NSSE(sigma=1.0), X, y),
        (WithinMetric(), X, y),
        (make_pipeline(StandardScaler(), SmoothEmbedding()), X, y),
        (methods.LFDA(), X, y),
        (methods.NYS(n_components=2, sigma=1.0), X, y),
        (methods.SPE(n_components=2), X, y),
        (ConformalClassifier(SmoothEmbedding(centers=9).fit(X, y), cv=2), X, y),
        (SelectivePredictor(SmoothEmbedding().fit(X, y), coverage=0.8), X, y),
        (SmoothEmbeddingCV(grid={"sigma": [0.5, 1.0], "smoothness": [0.1]}, cv=2), X, y),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, samples, labels in fits:
            nsse.save(model.fit(samples, labels), Path(folder) / "model.nsse")
            found.append(((Path(folder) / "model.nsse").read_bytes(), samples))
    return found


def mutated(content, rng):
    """A file with one to three changes of one kind."""
    if rng.random() < 0.2:
        return other_bytes(bytearray(content), rng)
    with ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change = pick(rng, [other_tree, other_tree, other_array, other_array, other_members])
    for _ in range(rng.integers(1, 4)):
        change(members, rng)
    buffer = BytesIO()
    with ZipFile(buffer, "w", pick(rng, [ZIP_DEFLATED, ZIP_STORED])) as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def other_bytes(data, rng):
    """Bytes cut, moved or exchanged; often in the directory at the end."""
    place, way = int(rng.integers(len(data))), rng.integers(4)
    if way == 0:
        return bytes(data[:place])
    if way == 1:
        del data[place : place + int(rng.integers(1, 64))]
    else:
        end = len(data) - 1 - int(rng.integers(min(len(data), 1500)))
        for place in (
            rng.integers(len(data), size=4) if way == 2 else range(end, min(end + 4, len(data)))
        ):
            data[place] = rng.integers(256)
    return bytes(data)


def other_tree(members, rng):
    """The header with a value exchanged, taken out, or moved somewhere else."""
    if not members.get("nsse.json", b"").startswith(b"{"):
        return
    header = json.loads(members["nsse.json"])
    places = list(places_in(header))
    parent, key = pick(rng, places)
    other, other_key = pick(rng, places)
    way = rng.integers(4)
    if way == 0 and isinstance(parent, dict):
        del parent[key]
    elif way == 1:
        parent[key] = json.loads(json.dumps(other[other_key]))
    else:
        parent[key] = pick(rng, VALUES)
    members["nsse.json"] = json.dumps(header).encode()


def places_in(node):
    """Every place of a value in nested objects and lists."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield node, key
        if isinstance(value, dict | list):
            yield from places_in(value)


def other_array(members, rng):
    """An array with another value, type or shape; half of the time the header agrees."""
    name = pick(rng, [name for name in members if name.endswith(".npy")] or [None])
    if name is None or not members[name].startswith(b"\x93NUMPY"):
        return
    array = np.load(BytesIO(members[name]))
    way = rng.integers(3)
    try:
        if way == 0 and array.dtype.kind in "fi" and array.size:
            array.flat[rng.integers(array.size)] = pick(rng, NUMBERS)
        elif way == 1:
            array = array.astype(pick(rng, TYPES))
        else:
            cuts = [array[:-1], array[:0], array[np.newaxis], array.T, np.concatenate([array, array])]
            array = pick(rng, [*cuts, array.ravel(), array[..., :-1], array[::-1]])
    except (ValueError, TypeError, OverflowError, IndexError, RuntimeError):
        return
    buffer = BytesIO()
    np.save(buffer, array)
    members[name] = buffer.getvalue()
    if rng.random() < 0.7 and members.get("nsse.json", b"").startswith(b"{"):
        header = json.loads(members["nsse.json"])
        header["arrays"][name[:-4]] = {"dtype": array.dtype.str, "shape": list(array.shape)}
        members["nsse.json"] = json.dumps(header).encode()


def other_members(members, rng):
    """A member taken out, doubled under another name, exchanged or cut."""
    name, other = pick(rng, list(members)), pick(rng, list(members))
    way = rng.integers(4)
    if way == 0 and len(members) > 1:
        del members[name]
    elif way == 1:
        members[pick(rng, ["extra.npy", "../outside", "/tmp/absolute", "a" * 300])] = members[name]
    elif way == 2:
        members[name], members[other] = members[other], members[name]
    else:
        members[name] = members[name][: int(rng.integers(len(members[name]) + 1))]


def pick(rng, things):
    """One of them."""
    return things[int(rng.integers(len(things)))]


def outcome_of(path, X):
    """Load a file and ask the model; what came of it, and of a failure what."""
    try:
        model = nsse.load(path)
    except ValueError as error:
        said = str(error)
        clear = said.startswith("`path` must") and path.name in said and "\n" not in said
        return ("refused", "") if clear else ("failed", f"unclear: {error!r}")
    except Exception as error:
        return "failed", f"load: {error!r}"
    refusals = 0
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        try:
            found = getattr(model, question)(X)
        except Exception as error:
            if not isinstance(error, ValueError) and not str(error).startswith("`"):
                return "failed", f"{question}: {error!r}"
            refusals += 1
        else:
            if question == "certified_radius" and np.isnan(found).any():
                return "failed", "a radius that is NaN"
    return ("refused when asked" if refusals else "worked"), ""


def run(indices, seed, folder):
    """Files by number, each determined by number and seed."""
    tally, path = Tally(), Path(folder) / "hostile.nsse"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for index in indices:
            rng = np.random.default_rng([seed, index])
            content, X = sources()[index % len(sources())]
            path.write_bytes(mutated(content, rng))
            signal.alarm(SECONDS)  # which ends the process
            outcome, told = outcome_of(path, X)
            signal.alarm(0)
            tally.counts[outcome] += 1
            if outcome == "failed":
                tally.failures.append((index, told))
    return tally


def child(first, last, seed):
    """One chunk, within bounds of memory; the tally as JSON."""
    sources()
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        tally = run(range(first, last), seed, folder)
    print(json.dumps([tally.counts, tally.failures]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunk", type=int, nargs=2)
    options = parser.parse_args()
    if options.chunk:
        return child(*options.chunk, options.seed)
    total = Tally()
    for first in range(0, options.files, CHUNK):
        last = min(first + CHUNK, options.files)
        words = f"--seed {options.seed} --chunk {first} {last}".split()
        done = subprocess.run(
            [sys.executable, __file__, *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            total.failures.append((first, f"process ended by {done.returncode}: {done.stderr[-300:]}"))
            continue
        counts, failures = json.loads(done.stdout)
        total.counts.update(counts)
        total.failures += failures
    print(dict(total.counts))
    print(*total.failures, sep="\n")
    return int(bool(total.failures))


if __name__ == "__main__":
    sys.exit(main())
