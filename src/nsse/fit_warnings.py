"""Warn of inputs of a fit that are probably mistakes. Each warning names the cure."""

from __future__ import annotations

import warnings
from typing import Any

from nsse._support.errors import Described, rule_error
from nsse.centers import requested_centers
from nsse.maps import KernelMap

# Mean weights outside of this range are probably not meant as numbers of samples.
USUAL_WEIGHTS = (0.1, 10.0)
# Weights with a smaller sum contain less than a part of one sample. With a larger mean, rounding errors
# are as large as λ.
LEAST_TOTAL, LARGEST_MEAN = 0.1, 1e8
# Calls between a warning and the line of the user that calls `SmoothEmbedding.fit`, for functions that
# `_learn` and `_look_before_fit` call.
FROM_LEARN, FROM_LOOK = 6, 8


def warn_of_weights(total: float, n_samples: int) -> None:
    """Warn if weights are probably not numbers of samples, and raise an error if rounding ruins them.

    The mean is the mean over samples. A row that stands for many equal samples has a larger weight.
    """
    mean = total / n_samples
    if total < LEAST_TOTAL or mean > LARGEST_MEAN:
        rule = f"sum to {LEAST_TOTAL} at least and have a mean of {LARGEST_MEAN:.0e} at most"
        cure = "Divide the weights by their mean: 2 counts a sample twice."
        raise rule_error(
            "sample_weight", rule, Described(f"a sum of {total:.3g}, a mean of {mean:.3g}"), cure
        )
    if not USUAL_WEIGHTS[0] <= mean <= USUAL_WEIGHTS[1]:
        warnings.warn(
            f"The weights have a mean of {mean:.3g}. A weight of 2 counts a sample twice, so that the "
            "sum of the weights decides how smooth the scores are. Divide them by their mean if that is "
            "not meant.",
            UserWarning,
            stacklevel=FROM_LEARN,
        )


def warn_of_kernel(f: KernelMap) -> None:
    """Warn if certificates will refuse the model because its kernel is not valid."""
    if f.flaw is not None:
        warnings.warn(
            f"Certificates will raise an error, because the kernel {type(f.kernel).__name__} is not "
            f"valid: {f.flaw}. Correct it (see nsse.kernels.Kernel).",
            UserWarning,
            stacklevel=FROM_LEARN,
        )


def warn_of_centers(centers: Any, n_rows: int) -> None:
    """Warn if a `centers` parameter is larger than the number of rows."""
    wanted = requested_centers(centers)
    if wanted is not None and wanted > n_rows:
        warnings.warn(
            f"There are only {n_rows} different training samples for {wanted} centers. All of them are "
            "centers, as with centers=None.",
            UserWarning,
            stacklevel=FROM_LOOK,
        )
