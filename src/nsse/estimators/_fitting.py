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
def logged_to_stderr(verbose: int) -> Iterator[None]:
    """Show our log lines during a verbose fit, unless the application handles them already."""
    if not verbose or LOGGER.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), LOGGER.level
    handler.setFormatter(logging.Formatter("[nsse] %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
