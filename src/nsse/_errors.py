"""The one grammar of our error messages: rule, value received, cure."""

from __future__ import annotations


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
    return f"`{parameter}` must {rule}. Got {got!r}. {cure}"


def rule_error(parameter: str, rule: str, got: object, cure: str) -> ValueError:
    """Build the error with that message, to be raised where the rule is checked."""
    return ValueError(rule_message(parameter, rule, got, cure))
