"""Why a sample has its label, in a line for its card: witnesses, and columns that count most."""

from __future__ import annotations

import numpy as np

from nsse.affine import is_sparse
from nsse.explanations import Explanation, explain
from nsse.report.explorer.models import Findings

# Witnesses and columns that a line names, and multiplications that a page is worth.
NAMED, COLUMNS, MOST_WORK = 5, 3, 4e10
PASSES = 20  # times that an explanation goes over the centres, about


def reasons(findings: Findings, columns: list[str]) -> list[str]:
    """A line for every test sample; none where samples are sparse or no centres, or it takes long."""
    Z, f = findings.behind, findings.core.map_
    if Z is None or is_sparse(Z) or not findings.per_sample or findings.n_members > 1:
        return []
    if float(Z.shape[0]) * f.coef.shape[0] * Z.shape[1] * PASSES > MOST_WORK:
        return []
    found = explain(findings.core, Z)
    named = columns if len(columns) == found.gradient.shape[1] else []
    return [_line(found, row, findings.per_sample, named) for row in range(len(found))]


def _line(found: Explanation, row: int, per_sample: int, columns: list[str]) -> str:
    samples, weights = found.influential[row] // per_sample, found.weights[row]
    parts = [f"{found.label[row]} over {found.rival[row]} by {found.margin[row]:.2f}"]
    for words, sign in (("training rows for it", 1.0), ("against it", -1.0)):
        rows = list(dict.fromkeys(samples[sign * weights > 0].tolist()))[:NAMED]
        if rows:
            parts.append(f"{words}: {', '.join(map(str, rows))}")
    contribution = found.contribution[row]
    most = np.argsort(-np.abs(contribution), kind="stable")[: COLUMNS if columns else 0]
    if len(most):
        parts.append("columns: " + ", ".join(f"{columns[k]} {contribution[k]:+.2f}" for k in most))
    return "; ".join(parts)
