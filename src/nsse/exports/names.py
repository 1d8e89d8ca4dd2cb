"""The names of our types in files: they stay when a module moves.

A file names a public class as a user does (``nsse.NSSECV``), and a type that is not public by a name
of the same kind. `WRITTEN` says which class each name stands for now: the methods of `nsse.estimators`
are in it by themselves, and whoever moves another class changes an import here and nothing else.
Names are looked up, never imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from nsse import estimators
from nsse.estimators._learning import Condition
from nsse.extensions import ClassScores, NearestSample, Neighborhoods, NystromExpansion, SparseCoder
from nsse.invariances import Images, Noise, Signals
from nsse.kernels import Shifted
from nsse.selection import NSSECV, BalancedSplits, SequentialSearchCV
from nsse.solvers import Step, Trace

# Every method that `nsse.estimators` offers: what is public there has its name in files.
METHODS: tuple[type, ...] = tuple(
    kind
    for kind in (getattr(estimators, name) for name in estimators.__all__)
    if issubclass(kind, BaseEstimator)
)
WRITTEN: dict[str, type] = {
    **{f"nsse.{kind.__name__}": kind for kind in METHODS},
    "nsse.NSSECV": NSSECV,
    "nsse.SequentialSearchCV": SequentialSearchCV,
    "nsse.BalancedSplits": BalancedSplits,
    "nsse.invariances.Images": Images,
    "nsse.invariances.Noise": Noise,
    "nsse.invariances.Signals": Signals,
    "nsse.ClassScores": ClassScores,
    "nsse.Condition": Condition,
    "nsse.NearestSample": NearestSample,
    "nsse.Neighborhoods": Neighborhoods,
    "nsse.NystromExpansion": NystromExpansion,
    "nsse.Shifted": Shifted,
    "nsse.SparseCoder": SparseCoder,
    "nsse.Step": Step,
    "nsse.Trace": Trace,
}


def type_name(kind: type) -> str:
    """Where a type lives, as skops asks for it."""
    return f"{kind.__module__}.{kind.__qualname__}"


def written_name(name: str) -> str:
    """The name in a file of the type that lives at ``name``; that of a type not ours is the same."""
    return _AS_WRITTEN.get(name, name)


def living_name(name: str) -> str:
    """Where the type lives now that a file calls ``name``; what we do not know stays as it is."""
    kind = WRITTEN.get(name)
    return name if kind is None else type_name(kind)


def rename(tree: Any, new_name: Callable[[str], str]) -> None:
    """Give the types in a tree of skops other names, in place."""
    left = [tree]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left.extend(part)
        elif isinstance(part, dict):
            left.extend(part.values())
            if isinstance(part.get("__module__"), str) and isinstance(part.get("__class__"), str):
                name = new_name(f"{part['__module__']}.{part['__class__']}")
                part["__module__"], _, part["__class__"] = name.rpartition(".")


_AS_WRITTEN = {type_name(kind): name for name, kind in WRITTEN.items()}
