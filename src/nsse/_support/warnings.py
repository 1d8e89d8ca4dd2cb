"""What a fit warns about. Each message says what happened and what to do."""

from __future__ import annotations


class ConditioningWarning(UserWarning):
    """The problem was so ill-conditioned that the slower, more accurate factorisation was used.

    See Also
    --------
    NSSE : Warns so in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse import ConditioningWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConditioningWarning)  # stop where it would warn
    """


class ScaleAtBoundWarning(UserWarning):
    """The best kernel scale lies at an end of ``sigma_range``: a wider range may have a better one.

    See Also
    --------
    NSSE : Warns so in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse import ScaleAtBoundWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ScaleAtBoundWarning)  # stop where it would warn
    """


class DegenerateEmbeddingWarning(UserWarning):
    """Several embeddings are equally good: which one is found may hang on rounding.

    See Also
    --------
    NSSE : Warns so in ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from nsse import DegenerateEmbeddingWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DegenerateEmbeddingWarning)  # stop where it would warn
    """
