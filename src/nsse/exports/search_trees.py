"""Search trees stay out of files: they are as large as their samples, and quickly made again.

A tree read from a file would also have to be trusted: it holds indices that scikit-learn follows
without a check.
"""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator

from nsse._compat import search_tree

CONTAINERS = (BaseEstimator, dict, list, tuple)


def without_search_trees(thing: Any) -> Any:
    """The same estimator without the trees anywhere in it; parts that hold none are shared."""
    return _without(thing, {})


def _without(thing: Any, done: dict[int, Any]) -> Any:
    # By identity, so that what two parts share is still shared in the copy.
    if id(thing) not in done:
        done[id(thing)] = _copied(thing, done) if isinstance(thing, CONTAINERS) else thing
    return done[id(thing)]


def _copied(thing: Any, done: dict[int, Any]) -> Any:
    if isinstance(thing, BaseEstimator):
        return _copied_estimator(thing, done)
    old = list(thing.values()) if isinstance(thing, dict) else list(thing)
    new = [_without(part, done) for part in old]
    if all(a is b for a, b in zip(old, new, strict=True)):
        return thing
    if isinstance(thing, dict):
        copied = copy.copy(thing)
        copied.update(zip(thing, new, strict=True))
        return copied
    return type(thing)(new)


def _copied_estimator(estimator: Any, done: dict[int, Any]) -> Any:
    tree = search_tree(estimator)
    state = {
        name: None if tree is not None and value is tree else _without(value, done)
        for name, value in vars(estimator).items()
    }
    if all(state[name] is value for name, value in vars(estimator).items()):
        return estimator
    # Not copy.copy, which would prepare the map of the copy anew.
    copied = object.__new__(type(estimator))
    vars(copied).update(state)
    return copied
