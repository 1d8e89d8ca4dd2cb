"""The live map: f, its classifier and its certificate as numbers that a page can compute with.

The page evaluates f(x) = Σ c_i exp(−‖x − z_i‖²/σ²) in double precision. Centres may be stored in single
precision. With z̃ the stored centre, |φ(‖x − z‖) − φ(‖x − z̃‖)| ≤ L_φ ‖z − z̃‖ and L_φ = √(2/e)/σ, so that
f is off by

    ‖f̃(x) − f(x)‖ ≤ L_φ Σ ‖c_i‖ ‖z_i − z̃_i‖      for every x:

proved before the page is written, not measured after. Where that is more than `LARGEST_LOSS` of the
largest coordinate, centres are stored in double precision. What is left joins the rounding that the
certificate allows for, so that the radius in the page is a certified one of the model in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._errors import rule_error
from nsse.certificates import Certificate, Decision, FunctionSpace, decision_of
from nsse.certificates.radii import OWN
from nsse.report.explorer.blocks import block
from nsse.report.explorer.models import Findings
from nsse.report.explorer.pictures import are_grey_levels
from nsse.report.explorer.scaling import Affine, dense

Floats = NDArray[np.float64]

# Bytes of the map that `live="auto"` puts into a page.
LIVE_BYTES = 8_000_000
# Largest error of the stored map, beside the largest coordinate of the embedding.
LARGEST_LOSS = 1e-5


@dataclass(frozen=True)
class LiveMap:
    """The entry ``live`` of the page's data, or None and the reason why there is none."""

    entry: dict[str, Any] | None
    reason: str = ""


@dataclass(frozen=True)
class StoredCenters:
    """Centres, less their shift, in the kind of number that is exact enough, and what that loses."""

    points: Floats
    kind: str
    loss: float

    @classmethod
    def of(cls, expansion: Any, largest: float) -> StoredCenters:
        """Single precision where the bound allows it for coordinates of this size."""
        points = dense(expansion.centers.points)
        stored = points.astype(np.float32).astype(np.float64)
        moved = np.linalg.norm(points - stored, axis=1) @ np.linalg.norm(expansion.coef, axis=1)
        loss = float(np.sqrt(2.0) * np.exp(-0.5) / expansion.sigma * moved)
        single = loss <= LARGEST_LOSS * largest
        return cls(points, "f4", loss) if single else cls(points, "f8", 0.0)


def live_map(findings: Findings, preparation: Mapping[str, Any], live: bool | str) -> LiveMap:
    """Put the map into numbers, as far as `live` and the model allow."""
    if live not in (True, False, "auto"):
        raise rule_error("live", 'be True, False or "auto"', live, 'Leave it "auto".')
    if live is False:
        return LiveMap(None, "It was left out on request.")
    reason = _obstacle(findings)
    if reason:
        if live is True:
            cure = 'Pass live="auto" for a page without the map.'
            raise rule_error("live", f"not be True here. {reason}", live, cure)
        return LiveMap(None, reason)
    expansion, embedding = findings.core.expansion_, findings.train.embedding
    decision = None if findings.radius is None else decision_of(findings.core)
    # At least so much, known before sparse centres are made dense.
    if live == "auto" and _bytes_of(expansion, "f4", decision) > LIVE_BYTES:
        return _too_large(_bytes_of(expansion, "f4", decision))
    centers = StoredCenters.of(expansion, float(np.abs(embedding).max()))
    size = _bytes_of(expansion, centers.kind, decision)
    if live == "auto" and size > LIVE_BYTES:
        return _too_large(size)
    assert findings.scaling is not None  # or there had been an obstacle
    known = _what_the_page_takes(findings, preparation)
    return LiveMap(_entry(expansion, centers, decision, findings.scaling, known))


def _what_the_page_takes(findings: Findings, preparation: Mapping[str, Any]) -> dict[str, Any]:
    """Pictures only where features are the grey levels of image files; rows of numbers always."""
    shown = [points.inputs for points in (findings.train, findings.test) if points.inputs is not None]
    is_grey = all(are_grey_levels(inputs) for inputs in shown)
    if preparation["kind"] == "images" and is_grey:
        return {name: preparation.get(name, False) for name in ("kind", "size", "unit_norm")}
    return {"kind": "array"}


def _obstacle(findings: Findings) -> str:
    if not hasattr(findings.core, "expansion_"):
        return f"{findings.name} has no Gaussian map, the kind that a page can compute."
    if findings.scaling is None:
        return "A step of the pipeline in front of the model does more than scale features."
    return ""


def _bytes_of(expansion: Any, kind: str, decision: Decision | None) -> int:
    scores = 0 if decision is None else decision.weights.size + len(decision.weights)
    n_values = int(np.prod(expansion.centers.points.shape))
    return n_values * int(kind[1]) + 8 * (expansion.coef.size + scores)


def _too_large(size: int) -> LiveMap:
    most = f"a page carries up to {LIVE_BYTES / 1e6:.0f} MB unasked"
    return LiveMap(None, f"It takes {size / 1e6:.1f} MB, and {most}; live=True puts it in.")


def _entry(
    expansion: Any, centers: StoredCenters, decision: Decision | None, scaling: Affine,
    preparation: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    shift = 0.0 if expansion.centers.shift is None else expansion.centers.shift
    moved = scaling.then(np.ones(1), -np.asarray(shift))
    return {
        "preparation": dict(preparation),
        "factor": block(moved.factor, "f8"),
        "offset": block(moved.offset, "f8"),
        "centers": block(centers.points, centers.kind),
        "coef": block(expansion.coef, "f8"),
        "sigma": float(expansion.sigma),
        "decision": None if decision is None else _decision_entry(expansion, decision, centers.loss),
    }


def _decision_entry(expansion: Any, decision: Decision, loss: float) -> dict[str, Any]:
    space = FunctionSpace.of(expansion)
    doubtful = replace(space, rounding=space.rounding + loss)
    return {
        "weights": block(decision.weights, "f8"),
        "offsets": block(decision.offsets, "f8"),
        "codes": block(decision.codes, "u2"),
        "n_votes": decision.n_votes,
        "tie": None if decision.tie is None else asdict(decision.tie),
        "own": OWN,
        "factor": block(space.factor, "f8"),
        "doubt": Certificate(doubtful, decision).doubt(np.float64),
    }
