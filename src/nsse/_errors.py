"""The one grammar of our error messages: rule, value received, cure."""

from __future__ import annotations


def rule_error(parameter: str, rule: str, got: object, cure: str) -> ValueError:
    """Build the error ```parameter` must <rule>. Got <value>. <cure>``.

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
    ValueError
        To be raised by the caller, so that the traceback ends where the rule is checked.
    """
    return ValueError(f"`{parameter}` must {rule}. Got {got!r}. {cure}")
