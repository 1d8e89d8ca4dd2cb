"""Warnings of fits. Each message states what happened and what to do."""

from __future__ import annotations

__all__ = ["ConditioningWarning", "DegenerateEmbeddingWarning", "ScaleAtBoundWarning"]


class ConditioningWarning(UserWarning):
    """Warn that an ill-conditioned problem was solved by the slower and more accurate factorization.

    See Also
    --------
    nsse.NSSE : Raises this warning in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse.exceptions import ConditioningWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConditioningWarning)  # turn the warning into an error
    """


class ScaleAtBoundWarning(UserWarning):
    """Warn that the best kernel scale lies at an end of ``sigma_range``, so a wider range may help.

    See Also
    --------
    nsse.NSSE : Raises this warning in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse.exceptions import ScaleAtBoundWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ScaleAtBoundWarning)  # turn the warning into an error
    """


class DegenerateEmbeddingWarning(UserWarning):
    """Warn that several embeddings are equally good, so that rounding may decide between them.

    See Also
    --------
    nsse.methods.SUPLAP : Raises this warning in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse.exceptions import DegenerateEmbeddingWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DegenerateEmbeddingWarning)  # turn the warning into an error
    """
