"""How every ``fit`` of ours behaves: all or nothing, and talkative only when asked."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

LOGGER = logging.getLogger("nsse")


def all_or_nothing(fit: Method) -> Method:
    """Decorate ``fit`` so that a failed one leaves the estimator exactly as it was."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded  # type: ignore[return-value]


@contextmanager
def logged(verbose: int) -> Iterator[None]:
    """Show our log lines during a verbose fit: where the application sends them, or on stderr."""
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
