"""The live map: f, its classifier and its certificate as numbers that a page can compute with.

The page evaluates f(x) = Σ c_i exp(−‖x − z_i‖²/σ²) in double precision; in a metric A it multiplies x by
A first, and z_i are what A makes of the centres. Centres may be stored in single precision. With z̃ the
stored centre, |φ(‖x − z‖) − φ(‖x − z̃‖)| ≤ L_φ ‖z − z̃‖ and L_φ = √(2/e)/σ, so that f is off by

    ‖f̃(x) − f(x)‖ ≤ L_φ Σ ‖c_i‖ ‖z_i − z̃_i‖      for every x:

proved before the page is written, not measured after. Where that is more than `LARGEST_LOSS` of the
largest coordinate, centres are stored in double precision. What is left joins the rounding that the
certificate allows for, so that the radius in the page is a certified one of the model in Python.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse.certificates import Certificate, Decision, FunctionSpace, decision_of
from nsse.certificates.chances import Chances, Margins, chances_of, margins_of
from nsse.certificates.radii import OWN
from nsse.certificates.steps import Affine, as_floats, growth_of, stretch_of
from nsse.datasets import ImagePreparation, Preparation
from nsse.report.explorer.blocks import block
from nsse.report.explorer.models import Findings
from nsse.report.explorer.pictures import are_levels

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
class Voter:
    """A map, its largest coordinate, and what decides on its values (None: the page cannot tell)."""

    expansion: Any
    largest: float
    decision: Decision | None
    chances: Chances | None
    margins: Margins


@dataclass(frozen=True)
class StoredCenters:
    """Centres, less their shift, in the kind of number that is exact enough, and what that loses."""

    points: Floats
    kind: str
    loss: float

    @classmethod
    def of_all(cls, voters: list[Voter]) -> list[StoredCenters]:
        """Of every map; single precision where the bound allows it for all of them."""
        found = [cls.of(voter.expansion, voter.largest) for voter in voters]
        if all(stored.kind == "f4" for stored in found):
            return found
        return [cls(stored.points, "f8", 0.0) for stored in found]

    @classmethod
    def of(cls, expansion: Any, largest: float) -> StoredCenters:
        """Single precision where the bound allows it for coordinates of this size."""
        points = as_floats(expansion.centers.points)
        stored = points.astype(np.float32).astype(np.float64)
        moved = np.linalg.norm(points - stored, axis=1) @ np.linalg.norm(expansion.coef, axis=1)
        loss = float(np.sqrt(2.0) * np.exp(-0.5) / expansion.sigma * moved)
        single = loss <= LARGEST_LOSS * largest
        return cls(points, "f4", loss) if single else cls(points, "f8", 0.0)


def live_map(findings: Findings, preparation: Preparation, live: bool | str) -> LiveMap:
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
    voters = _voters(findings)
    # At least so much, known before sparse centres are made dense.
    if live == "auto" and _bytes_of(voters, "f4") > LIVE_BYTES:
        return _too_large(_bytes_of(voters, "f4"))
    stored = StoredCenters.of_all(voters)
    size = _bytes_of(voters, stored[0].kind)
    if live == "auto" and size > LIVE_BYTES:
        return _too_large(size)
    known = _what_the_page_takes(findings, preparation)
    return LiveMap({"preparation": known, **_entries(voters, stored, findings)})


def _what_the_page_takes(findings: Findings, preparation: Preparation) -> dict[str, Any]:
    """Pictures only where features are the levels of image files; rows of numbers always."""
    shown = [points.inputs for points in (findings.train, findings.test) if points.inputs is not None]
    is_picture = all(are_levels(inputs) for inputs in shown)
    if isinstance(preparation, ImagePreparation) and is_picture:
        return preparation.to_dict()
    return {"kind": "array"}


def _voters(findings: Findings) -> list[Voter]:
    """The maps that the page needs: all that vote, or the one that it shows where no label is known."""
    proved = findings.radius is not None
    models = findings.voters if proved else [findings.core]
    return [
        Voter(
            model.expansion_,
            float(np.abs(model.embedding_).max()),
            decision_of(model) if proved else None,
            chances_of(model.classifier_, len(models)) if proved else None,
            margins_of(model.classifier_),
        )
        for model in models
    ]


def _obstacle(findings: Findings) -> str:
    if not hasattr(findings.core, "expansion_"):
        return f"{findings.name} has no Gaussian map, the kind that a page can compute."
    if findings.scaling is None:
        return "A step of the pipeline in front of the model does more than scale features."
    return ""


def _bytes_of(voters: list[Voter], kind: str) -> int:
    size = 0
    for voter in voters:
        decision, expansion = voter.decision, voter.expansion
        scores = 0 if decision is None else decision.weights.size + len(decision.weights)
        size += 8 * (expansion.coef.size + scores)
        if voter is voters[0] or not _shares_centers(voter, voters[0]):
            size += int(np.prod(expansion.read.points.shape)) * int(kind[1])
            size += 0 if expansion.metric is None else 8 * expansion.metric.axes.size
    return size


def _shares_centers(voter: Voter, first: Voter) -> bool:
    return voter.expansion.read is first.expansion.read


def _too_large(size: int) -> LiveMap:
    most = f"a page carries up to {LIVE_BYTES / 1e6:.0f} MB unasked"
    return LiveMap(None, f"It takes {size / 1e6:.1f} MB, and {most}; live=True puts it in.")


def _entries(voters: list[Voter], stored: list[StoredCenters], findings: Findings) -> dict[str, Any]:
    """The first map, which is shown, and those that vote with it: what differs from the first."""
    assert findings.scaling is not None  # or there had been an obstacle
    entries = []
    for voter, centers in zip(voters, stored, strict=True):
        own = voter is voters[0] or not _shares_centers(voter, voters[0])
        at = _centers_entry(voter.expansion, centers, findings.scaling) if own else {}
        entries.append(at | _map_entry(voter, centers.loss, findings.scaling))
    return entries[0] | {"voters": entries[1:], "n_classes": len(findings.core.classes_)}


def _centers_entry(expansion: Any, centers: StoredCenters, scaling: Affine) -> dict[str, Any]:
    shift = 0.0 if expansion.read.shift is None else expansion.read.shift
    # What a metric does to each feature by itself is one more scaling.
    weights = None if expansion.metric is None else expansion.metric.weights
    weights = np.ones(1) if weights is None else weights
    return {
        "factor": block(scaling.factor * weights, "f8"),
        "offset": block((scaling.offset - shift) * weights, "f8"),
        "size": block(scaling.size * weights, "f8"),
        "gamma": 0.0 if scaling.is_identity else scaling.gamma(np.float64),
        "centers": block(centers.points, centers.kind),
        "metric": None if expansion.metric is None else _metric_entry(expansion.metric),
    }


def _metric_entry(metric: Any) -> dict[str, Any]:
    # In double precision: what A does to an x far away is far more than what centres lose.
    return {"axes": block(metric.axes, "f8"), "factors": block(metric.factors, "f8")}


def _map_entry(voter: Voter, loss: float, scaling: Affine) -> dict[str, Any]:
    expansion, decision = voter.expansion, voter.decision
    widest = 1.0 if expansion.metric is None else expansion.metric.norm
    growth = 0.0 if scaling.is_identity else growth_of([scaling], [np.float64])
    return {
        "coef": block(expansion.coef, "f8"),
        "sigma": float(expansion.sigma),
        # What a change may grow by until it reaches the kernel: from the row as it is, or once scaled.
        "stretch": widest if scaling.is_identity else stretch_of(scaling, expansion.metric) + growth,
        "widest": widest,
        "decision": None if decision is None else _decision_entry(voter, decision, loss),
    }


def _decision_entry(voter: Voter, decision: Decision, loss: float) -> dict[str, Any]:
    space = FunctionSpace.of(voter.expansion)
    doubtful = replace(space, rounding=space.rounding + loss)
    return {
        "weights": block(decision.weights, "f8"),
        "offsets": block(decision.offsets, "f8"),
        "codes": block(decision.codes, "u2"),
        "n_votes": decision.n_votes,
        "own": OWN,
        "factor": block(space.factor, "f8"),
        "doubt": Certificate(doubtful, decision).doubt(np.float64),
        "margins": asdict(voter.margins),
        "chances": None if voter.chances is None else _chances_entry(voter.chances),
    }


def _chances_entry(chances: Chances) -> dict[str, Any]:
    weights, offsets = chances.weights, chances.offsets
    return {
        "rule": chances.rule,
        "sharpness": chances.sharpness,
        "weights": None if weights is None else block(weights, "f8"),
        "offsets": None if offsets is None else block(offsets, "f8"),
    }
