"""What a fit warns about. Each message says what happened and what to do."""

from __future__ import annotations


class ConditioningWarning(UserWarning):
    """The problem was so ill-conditioned that the slower, more accurate factorisation was used."""


class ScaleAtBoundWarning(UserWarning):
    """The best kernel scale lies at an end of ``sigma_range``: a wider range may have a better one."""


class DegenerateEmbeddingWarning(UserWarning):
    """Several embeddings are equally good: which one is found may hang on rounding."""
