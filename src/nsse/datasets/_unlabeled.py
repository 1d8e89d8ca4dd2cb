"""Rows without a label, among others or from elsewhere: marked by a value that no label is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse._support.types import Bools

if TYPE_CHECKING:
    from nsse.datasets._inputs import Inputs


def marker_for(labels: NDArray[Any]) -> Any:
    """What marks rows without a label beside these: -1 or less for whole numbers, no text for text."""
    if labels.dtype.kind in "biu":
        least = int(labels.min(initial=0))
        return -1 if least >= 0 or -1 not in labels else least - 1
    if labels.dtype.kind == "f":
        return float(min(labels.min(initial=0.0), 0.0) - 1.0)
    return ""


def marked(inputs: Inputs, name: str) -> Inputs:
    """Inputs whose rows of one label, as it is written, are taken for rows without any."""
    assert inputs.y is not None
    hidden = inputs.y.astype(str) == name
    return with_marks(inputs, name, inputs.y[~hidden], hidden)


def with_marks(inputs: Inputs, name: str, labels: NDArray[Any], hidden: Bools) -> Inputs:
    """The same with these labels, and the mark in rows that have ``name`` in their place."""
    if hidden.all() or not hidden.any():
        got = f"{name!r}, which {'every row' if hidden.all() else 'no row'} has"
        cure = 'Write it as the labels are written; "" is an empty entry.'
        raise rule_error("unlabeled", "be the entry of some rows in the place of a label", got, cure)

    marker = marker_for(labels)
    y = np.empty(len(hidden), dtype=np.result_type(labels, np.asarray(marker)))
    y[hidden], y[~hidden] = marker, labels
    return replace(inputs, y=y, unlabeled=marker)


def joined(labeled: Inputs, others: Inputs) -> Inputs:
    """Labeled rows, some of which may lack their label, and below them rows that have none.

    Parameters
    ----------
    labeled : Inputs
        With labels.
    others : Inputs
        Of the same kind, as `load_inputs_like` gives them; their labels are not read.

    Returns
    -------
    Inputs
        Of all rows; ``unlabeled`` is what those without a label have in ``y``.

    See Also
    --------
    load_inputs_like : More samples of a kind.

    Examples
    --------
    >>> import numpy as np
    >>> from nsse.datasets import ArrayPreparation, Inputs, joined
    >>> kind = ArrayPreparation(2)
    >>> own = Inputs(np.zeros((2, 2)), np.array([0, 1]), None, kind)
    >>> joined(own, Inputs(np.ones((3, 2)), None, None, kind)).y
    array([ 0,  1, -1, -1, -1])
    """
    assert labeled.y is not None
    marker = marker_for(labeled.y) if labeled.unlabeled is None else labeled.unlabeled
    more = np.full(len(others.X), marker)
    names = None
    if labeled.names is not None and others.names is not None:
        names = [*labeled.names, *others.names]
    return replace(
        labeled,
        X=np.concatenate([labeled.X, others.X]),
        y=np.concatenate([labeled.y, more]),
        names=names,
        unlabeled=marker,
    )
