"""Write f, its scores and its certificate as numbers with which a page can compute.

There is one structure for every model. Members have an affine map (the steps of a pipeline, then the
metric), a kernel by name (`profiles`), centers, coefficients, affine functions with classes, and a
weight. A linear map has the kernel "linear" and no centers. A single model is one member of weight 1.
The class scores of an ensemble are the sum of the weighted values of its members, and a rotation takes
them to its coordinates. All numbers are in double precision. The page leaves out the terms of rounding
in the radii, which are far below the digits that it shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse.affine import SAFE, Affine, dense_array, is_sparse
from nsse.certificates import margins
from nsse.certificates.front import Front
from nsse.certificates.map_bounds import bounds_anywhere, is_ordinary
from nsse.certificates.radii import Decision
from nsse.datasets import EncodedPreparation, ImagePreparation, Preparation, TablePreparation
from nsse.maps import KernelMap, LinearMap, Member, plainest
from nsse.report.explorer.blocks import block
from nsse.report.explorer.facts import without_radii
from nsse.report.explorer.models import Findings, why_not_valid
from nsse.report.explorer.pictures import are_levels
from nsse.report.explorer.profiles import has_profile, kernel_entry

# Largest size in bytes of a map that `live="auto"` puts into a page.
LIVE_BYTES = 12_000_000
# The parts of an affine map in a page. Its matrix is dense, as `Affine.joined` returns it.
AFFINE = ("shift", "scale", "offset", "matrix", "down", "up")


@dataclass(frozen=True)
class LiveMap:
    """The entry ``live`` of the page's data, or None and the reason why there is none."""

    entry: dict[str, Any] | None
    reason: str = ""


def live_map(findings: Findings, preparation: Preparation, live: bool | str) -> LiveMap:
    """Put the map into numbers, as far as `live` and the model allow."""
    if live not in (True, False, "auto"):
        raise rule_error("live", 'be True, False or "auto"', live, 'Leave it "auto".')
    if live is False:
        return LiveMap(None, "It was left out on request.")
    reason = _obstacle(findings)
    if isinstance(preparation, EncodedPreparation) and live == "auto":
        reason = f"It takes {preparation}, which a page cannot compute. Use nsse predict for images."
    if reason:
        return _without(reason, live)
    decision = Decision.of(findings.core)
    size = _bytes_of(decision.members)
    if live == "auto" and size > LIVE_BYTES:
        most = f"a page carries up to {LIVE_BYTES / 1e6:.0f} MB unasked"
        return LiveMap(None, f"It takes {size / 1e6:.1f} MB, and {most}; live=True puts it in.")
    entry = _entry(findings, decision, preparation)
    is_usual = all(SAFE[0] < space["norm"] < SAFE[1] for space in entry["spaces"])
    if not is_usual or not all(map(is_ordinary, decision.members)):
        return _without("Its numbers are too small or too large. Rescale the samples.", live)
    return LiveMap(entry)


def _without(reason: str, live: bool | str) -> LiveMap:
    """Return no map and the reason, or raise an error if the user has requested one."""
    if live is True:
        cure = 'Pass live="auto" for a page without the map.'
        raise rule_error("live", f"not be True here. {reason}", live, cure)
    return LiveMap(None, reason)


def _obstacle(findings: Findings) -> str:
    """Return why the page cannot compute the map, or an empty text."""
    members = findings.members
    if not members:
        return f"It needs a kernel or linear map; {findings.name} has another kind."
    if sentence := why_not_valid(members):
        return sentence.replace("They need", "It needs")
    rough = [member.map.kernel for member in members if not has_profile(member.map.kernel)]
    if rough:
        return f"The profile of the kernel {rough[0]!r} is too rough for a table."
    return findings.not_affine.replace("They need", "It needs")


def _bytes_of(members: tuple[Member, ...]) -> int:
    own = [scores.weights.size + f.coef.size for f, scores, _ in members]
    spaces = [_n_values(f) for f in _spaces(members)[0]]
    return 8 * (sum(own) + sum(spaces))


def _n_values(f: KernelMap | LinearMap) -> int:
    """Return how many numbers a page needs for distances, without forming a dense matrix."""
    affine, arrays = f.affine, _arrays(f)
    n_joined = 0
    if affine.tail is not None:
        arrays = [part for part in arrays if part is not affine.matrix and part is not affine.tail]
        n_joined = affine.n_features * affine.n_outputs
    return n_joined + sum(math.prod(part.shape) for part in arrays)


def _spaces(members: tuple[Member, ...]) -> tuple[list[Any], list[int]]:
    """Return the maps with different distances, and the number of the map of every member."""
    maps, places = list[Any](), list[int]()
    for f, *_ in members:
        known = [k for k, other in enumerate(maps) if _measure_alike(f, other)]
        places.append(known[0] if known else len(maps))
        maps += [] if known else [f]
    return maps, places


def _measure_alike(f: KernelMap | LinearMap, other: KernelMap | LinearMap) -> bool:
    first, second = _arrays(f), _arrays(other)
    return len(first) == len(second) and all(map(_is_same, first, second))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (not is_sparse(a) and not is_sparse(b) and np.array_equal(a, b))


def _arrays(f: KernelMap | LinearMap) -> list[Any]:
    """Return a key of everything that determines the distances of a sample to the centers."""
    parts = [getattr(f.affine, name) for name in (*AFFINE, "tail")]
    return [part for part in (*parts, f.centers) if part is not None]


def _entry(findings: Findings, decision: Decision, preparation: Preparation) -> dict[str, Any]:
    members, core = decision.members, findings.core
    maps, places = _spaces(members)
    ranks = plainest(members)  # its metric finds similar training samples
    rotation = getattr(core.map_, "rotation", None)
    return {
        "preparation": _what_the_page_takes(findings, preparation),
        "n_features": findings.n_features,
        "n_classes": len(core.classes_),
        "n_components": findings.train.embedding.shape[1],
        "per_sample": findings.per_sample,
        "certifies": not without_radii(preparation) and _has_slopes(members),
        "alike": next(k for k, member in zip(places, members, strict=True) if member is ranks),
        "rotation": None if rotation is None else block(rotation, "f8"),
        "is_nearest": not core.scores_.has_one_per_class,
        "temperature": core.scores_.temperature,
        "own": margins.OWN,
        "worst": margins.WORST,
        "spaces": [_space_entry(f, findings.front) for f in maps],
        "members": [
            {"space": place, **_member_entry(member)}
            for member, place in zip(members, places, strict=True)
        ],
    }


def _has_slopes(members: tuple[Member, ...]) -> bool:
    """Return whether all functions have a bounded slope.

    Otherwise, rounding changes a radius much more than the page can show, so only Python computes it.
    """
    return all(np.isfinite(member.map.unit_slope) for member in members)


def _what_the_page_takes(findings: Findings, preparation: Preparation) -> dict[str, Any]:
    """Return what the page accepts: images only if features are their levels, and rows or tables."""
    shown = [points.inputs for points in (findings.train, findings.test) if points.inputs is not None]
    if isinstance(preparation, ImagePreparation) and shown and all(map(are_levels, shown)):
        return preparation.to_dict()
    return preparation.to_dict() if isinstance(preparation, TablePreparation) else {"kind": "array"}


def _space_entry(f: KernelMap | LinearMap, front: Affine | None) -> dict[str, Any]:
    """Return the map from a sample to distances, and how much it enlarges moves of the sample."""
    whole = (f.affine if front is None else f.affine.after(front)).joined()
    # The stretch of a linear map is in its scores, so only the steps in front of it remain.
    stretching = front if f.metric is None else whole
    norm = 1.0 if stretching is None else Front(None, stretching, stretching.norm, 0.0, np.zeros(1)).norm
    parts = {name: getattr(whole, name) for name in AFFINE}
    return {
        **{name: None if part is None else block(part, "f8") for name, part in parts.items()},
        "centers": block(dense_array(f.centers), "f8"),
        "norm": norm,
    }


def _member_entry(member: Member) -> dict[str, Any]:
    """Return the kernel, the coefficients and the functions of a member."""
    f, scores, weight = member
    kernel = kernel_entry(f.kernel)
    return {
        "kernel": kernel,
        "sigma": f.length_scale if np.isfinite(f.length_scale) else 1.0,
        "coef": block(f.coef, "f8"),
        "weights": block(scores.weights, "f8"),
        "offsets": block(scores.offsets, "f8"),
        "codes": block(scores.codes, "u2"),
        "weight": float(weight),
        # F'w of every function. Their distances are the norms of differences of functions.
        "images": block(scores.weights @ bounds_anywhere(f).factor, "f8"),
        "has_local_bound": f.has_local_bound and kernel["name"] == "gaussian",
    }
