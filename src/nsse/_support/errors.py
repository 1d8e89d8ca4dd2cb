"""Build error messages from a rule, the value that was received, and a cure."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


class Described(str):
    """A description of what was received, which messages show without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        # Terminals obey control characters, so they are escaped as in the repr of a string.
        signs = (sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in self)
        return "".join(signs)


def rule_message(parameter: str, rule: str, got: object, cure: str) -> str:
    """Write ```parameter` must <rule>. Got <value>. <cure>``.

    Parameters
    ----------
    parameter : str
        Name of the offending argument as the caller wrote it.
    rule : str
        What the argument must do, as the end of the sentence "`parameter` must ...".
    got : object
        The value received, shown with ``repr``.
    cure : str
        A sentence that tells the caller what to do about it.

    Returns
    -------
    str
        The message.
    """
    shown = " ".join(line.strip() for line in repr(got).splitlines())  # arrays have several lines
    return f"`{parameter}` must {rule}. Got {shown}. {cure}"


def rule_error(parameter: str, rule: str, got: object, cure: str) -> ValueError:
    """Build the error with that message, to be raised where the rule is checked."""
    return ValueError(rule_message(parameter, rule, got, cure))


def listed(names: Sequence[str], most: int = 20) -> str:
    """Join names with commas for a message.

    After `most` of them, only the number of the others is given.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def row_number(place: int) -> str:
    """Name a row in a message, as people count the rows of a table."""
    return f"row {place + 1} (counted from 1)"


def abridged(text: str, most: int = 200) -> str:
    """Return a text for a message, with its middle left out if it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def optional(module: str, needed: str, part: str) -> Any:
    """Import an optional package, or raise an error that names the extra that installs it."""
    try:
        import_module(module.partition(".")[0])  # its parts may outlive it in memory
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{needed}. Install it: pip install 'nsse[{part}]'") from error
