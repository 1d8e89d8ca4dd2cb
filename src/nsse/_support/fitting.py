"""Make every ``fit`` change the estimator completely or not at all, and print only if it is verbose."""

from __future__ import annotations

import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

LOGGER = logging.getLogger("nsse")


class _Locks:
    """One lock for every estimator that is being fitted, by its identity.

    Locks are not kept in estimators, which are cloned and pickled. A lock exists while a thread uses it.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start without locks in a forked process, because the threads that hold them are not copied."""
        self.guard = threading.Lock()
        self.by_identity: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def of(self, estimator: Any) -> Any:
        """Return the lock of an estimator."""
        with self.guard:
            return self.by_identity.setdefault(id(estimator), threading.RLock())


_LOCKS = _Locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.forget)


def all_or_nothing(fit: Method) -> Method:
    """Decorate ``fit`` so that the estimator changes only if the fit ends without an error.

    The fit works on a copy of the attributes. Several threads that fit one estimator do so one after the
    other, and others that read it meanwhile see the state before.
    """

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _LOCKS.of(self):
            draft = object.__new__(type(self))
            vars(draft).update(vars(self))
            result = fit(draft, *args, **kwargs)
            self.__dict__ = vars(draft)
            return self if result is draft else result

    return guarded  # type: ignore[return-value]


@contextmanager
def logged(verbose: int) -> Iterator[None]:
    """Show our log lines during a verbose fit, in the handlers of the application or on stderr."""
    if not verbose:
        yield
        return
    handlers = [] if LOGGER.hasHandlers() else [logging.StreamHandler()]
    level = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    for handler in handlers:
        handler.setFormatter(logging.Formatter("[nsse] %(message)s"))
        LOGGER.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
