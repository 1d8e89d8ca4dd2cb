"""Explain the label of a sample on its card, by the most important training samples and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsse.affine import is_sparse
from nsse.explanations import Explanation, explain
from nsse.report.explorer.models import Findings

# Training samples on either side and columns that a card lists, and the number of multiplications up to
# which explanations are computed.
NAMED, COLUMNS, MOST_WORK = 4, 3, 4e10
PASSES = 20  # how often an explanation evaluates the centers, approximately


def reasons(findings: Findings, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return an entry for every test sample.

    The list is empty if samples are sparse, if the model does not store its training samples, or if the
    computation takes long. ``names`` are the names of the features, or empty for pixels.
    """
    Z = findings.behind
    if Z is None or is_sparse(Z) or not findings.per_sample:
        return []
    n_centers = sum(len(f.coef) for f, *_ in findings.members)
    if float(Z.shape[0]) * n_centers * Z.shape[1] * PASSES > MOST_WORK:
        return []
    found = explain(findings.core, Z)
    named = names if len(names) == found.gradient.shape[1] else []
    return [_entry(found, row, findings.per_sample, named) for row in range(len(found))]


def _entry(found: Explanation, row: int, per_sample: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the sentence of a sample, its rival, and the rows that support either class."""
    samples, weights = found.influential[row] // per_sample, found.weights[row]
    sides = [list(dict.fromkeys(samples[sign * weights > 0].tolist()))[:NAMED] for sign in (1.0, -1.0)]
    words = f"Score {found.margin[row]:.2f} above {found.rival[row]}"
    contribution = found.contribution[row]
    most = np.argsort(-np.abs(contribution), kind="stable")[: COLUMNS if len(names) else 0]
    parts = [f"{names[k]} {contribution[k]:+.2f}" for k in most]
    return {
        "words": f"{words}: {', '.join(parts)}" if parts else words,
        "rival": str(found.rival[row]),
        "support": sides[0],
        "oppose": sides[1],
    }
