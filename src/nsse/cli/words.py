"""Messages in the words of the one who typed: options and arguments for the parameters of Python.

Our messages put names of parameters between grave accents. Where a command calls a function, it says by
what the user knows its parameters: ``with typed(DATA): load_inputs(...)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Words = Mapping[str, str]


def _options(*names: str) -> dict[str, str]:
    return {name: f"--{name.replace('_', '-')}" for name in names}


DATA: Words = {
    **_options("label", "ignore", "size", "unit_norm", "skip_broken", "id", "impute", "category"),
    **_options("feature", "encoder", "augment"),
    "path": "DATA",
    "unit_norm=False": "--raw",
    'impute="median"': "--impute median",
    "unlabeled": "--unlabeled-label",
}
MODEL: Words = {"path": "MODEL", "model": "MODEL", "metadata": "MODEL", **_options("dtype", "encoder")}
FIT: Words = {
    **_options("n_components", "sigma", "smoothness", "decision", "metric", "shrinkage", "centers"),
    "X": "DATA",
    "y": "--label",
    "augment": "--augment",
    "unlabeled": "--unlabeled-label",
    "shape": "--size",
}
PAGE: Words = {"path": "--out", "model": "MODEL", "samples.y": "DATA"}
KNOWN: Words = {
    "name": "NAME",
    "data_home": "NSSE_DATA",
    "download=True": "--download",
    "n_per_class": "--train",
}

_WORDS: ContextVar[Words] = ContextVar("words", default={})  # noqa: B039 (never changed in place)
_NAMED = re.compile("`([^`]+)`")


@contextmanager
def typed(words: Words) -> Iterator[None]:
    """Within the block, errors and warnings name what was typed."""
    before = _WORDS.set(words)
    try:
        yield
    except Exception as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (in_words(error.args[0]),)
        raise
    finally:
        _WORDS.reset(before)


def in_words(message: str) -> str:
    """The message with the names that are known here put in other words."""
    words = _WORDS.get()
    return _NAMED.sub(lambda found: f"`{words.get(found[1], found[1])}`", message)
