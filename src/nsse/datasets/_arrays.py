"""NumPy's own files: ``.npz`` with an array ``X`` and labels beside it, or ``.npy`` with one array."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import listed, rule_error, rule_message

SAMPLES, LABELS = "X", "y"
# What NumPy raises on files that are cut, overwritten or not its own; objects it would have to unpickle.
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def read_arrays(
    path: Path, label: str | None = None, *, labeled: bool | None = True
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Samples, and labels where they are asked for (True), left (False) or taken if there (None).

    In an ``.npz`` file `label` is the name of their array, ``y`` if None; beside an ``.npy`` file it is
    the path of another.
    """
    arrays = _arrays(path)
    names = listed(sorted(arrays)) or "nothing"
    if path.suffix.lower() == ".npy":
        X = arrays[""]
        y = None if label is None or labeled is False else _arrays(Path(label))[""]
        beside = "be the .npy file with the labels of"
    else:
        if SAMPLES not in arrays:
            raise _unusable(path, f"arrays {names}, none of them {SAMPLES}")
        X, y = arrays[SAMPLES], None if labeled is False else arrays.get(label or LABELS)
        beside = f"name the array of labels ({LABELS} if not given) in"
    X = _samples(path, X)
    if labeled and y is None:
        has = f"It has {names}." if "" not in arrays else "Pass that file."
        raise rule_error("label", f"{beside} {path}", label, has)
    return X, None if y is None else _labels(path, y, len(X))


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of a file by its name; that of an .npy file has none."""
    if not path.is_file():
        raise FileNotFoundError(rule_message("path", "name a file that exists", str(path), "Check it."))
    try:
        # Opened here, for NumPy leaves a file open whose end is missing.
        with path.open("rb") as stream:
            found = np.load(stream, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return {"": found}
            with found:
                return {name: found[name] for name in found.files}
    except DAMAGE as error:
        raise _unusable(path, _why(error)) from error


def _why(error: Exception) -> str:
    # NumPy takes whatever it does not know for pickled objects, and advises to unpickle them.
    if "pickle" in str(error):
        return "Python objects or no file of NumPy's"
    return (str(error).splitlines() or ["cut short"])[0]


def _samples(path: Path, X: NDArray[Any]) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.size == 0:
        raise _unusable(path, f"samples of shape {X.shape} and type {X.dtype}")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        row, column = wrong[0]
        raise _unusable(path, f"{X[row, column]} in row {row + 1}, column {column + 1}")
    return X


def _labels(path: Path, y: NDArray[Any], n_samples: int) -> NDArray[Any]:
    if y.shape != (n_samples,):
        cure = "Give one label for every row."
        raise rule_error("label", f"hold {n_samples} labels for {path}", f"shape {y.shape}", cure)
    return y


def _unusable(path: Path, why: str) -> ValueError:
    return rule_error(
        "path",
        "name a whole .npy or .npz file of plain arrays, the samples as rows of finite numbers",
        f"{path}, {why}",
        "Write it again with numpy.save or numpy.savez.",
    )
