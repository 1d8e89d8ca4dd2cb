"""The live map: f, its scores and its certificate as numbers that a page can compute with.

One formula for every model: an affine map (the steps of a pipeline, then the metric), kernels at
centres (`profiles`), coefficients, affine functions with classes. A linear map ends after the first of
these. A vote has several such members. All in double precision, so that page and Python agree up to
rounding, and what rounding can do is in the numbers that the page gets (`nsse.certificates.rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse.affine import SAFE, Affine, is_sparse
from nsse.certificates.radii import OWN, WORST
from nsse.certificates.rounding import EPS, Front, MapBounds, absolute_norm, is_ordinary, relative_error
from nsse.datasets import EncodedPreparation, ImagePreparation, Preparation, TablePreparation
from nsse.maps import KernelMap, LinearMap, Member
from nsse.report.explorer.blocks import block
from nsse.report.explorer.facts import without_radii
from nsse.report.explorer.models import Findings, why_not_valid
from nsse.report.explorer.pictures import are_levels
from nsse.report.explorer.profiles import has_profile, kernel_entry
from nsse.scores import Scores
from nsse.votes import MeanVote, Vote, vote_of

# Bytes of the map that `live="auto"` puts into a page.
LIVE_BYTES = 12_000_000
# The parts of an affine map that a page gets: its matrix is dense, as `Affine.joined` returns it.
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
    vote = vote_of(findings.core)
    reason = _obstacle(findings, vote)
    if isinstance(preparation, EncodedPreparation) and live == "auto":
        reason = f"It takes {preparation}, which a page cannot compute. Use nsse predict for images."
    if reason:
        return _without(reason, live)
    size = _bytes_of(vote)
    if live == "auto" and size > LIVE_BYTES:
        most = f"a page carries up to {LIVE_BYTES / 1e6:.0f} MB unasked"
        return LiveMap(None, f"It takes {size / 1e6:.1f} MB, and {most}; live=True puts it in.")
    entry = _entry(findings, vote, preparation)
    is_usual = all(SAFE[0] < space["norm"] < SAFE[1] for space in entry["spaces"])
    members = [Member(f, scores) for f, scores in vote.members]  # type: ignore[arg-type]
    if not is_usual or not all(map(is_ordinary, members)):
        return _without("Its numbers are too small or too large. Rescale the samples.", live)
    return LiveMap(entry)


def _without(reason: str, live: bool | str) -> LiveMap:
    """No map, for a reason; an error if the user has requested one."""
    if live is True:
        cure = 'Pass live="auto" for a page without the map.'
        raise rule_error("live", f"not be True here. {reason}", live, cure)
    return LiveMap(None, reason)


def _obstacle(findings: Findings, vote: Vote) -> str:
    if not all(isinstance(member.map, KernelMap | LinearMap) for member in vote.members):
        return f"It needs a kernel or linear map; {findings.name} has another kind."
    if sentence := why_not_valid(vote.members):
        return sentence.replace("They need", "It needs")
    kernels = [member.map.kernel for member in vote.members if isinstance(member.map, KernelMap)]
    if missing := [kernel for kernel in kernels if not has_profile(kernel)]:
        return f"The profile of the kernel {missing[0]!r} is too rough for a table."
    if findings.not_affine:
        return findings.not_affine.replace("They need", "It needs")
    if _drawn(findings, vote) is None:
        return "The map that is drawn is none of those that vote."
    return ""


def _drawn(findings: Findings, vote: Vote) -> int | None:
    """Which member the drawn map is."""
    own = findings.core.map_
    for place, (f, _) in enumerate(vote.members):
        if f is own or (isinstance(f, KernelMap) and np.array_equal(f.coef, own.coef)):
            return place
    return None


def _bytes_of(vote: Vote) -> int:
    own = [scores.weights.size + getattr(f, "coef", scores.weights).size for f, scores in vote.members]
    spaces = [_n_values(f) for f in _spaces(vote)[0]]
    return 8 * (sum(own) + sum(spaces))


def _n_values(f: Any) -> int:
    """Numbers that a page gets to measure distances; no dense matrix is formed to count them."""
    affine, arrays = _affine_of(f), _arrays(f)
    n_joined = 0
    if affine.tail is not None:
        arrays = [part for part in arrays if part is not affine.matrix and part is not affine.tail]
        n_joined = affine.n_features * affine.n_outputs
    return n_joined + sum(math.prod(part.shape) for part in arrays)


def _spaces(vote: Vote) -> tuple[list[Any], list[int]]:
    """Maps that measure samples differently, and which of them every member measures like."""
    maps, places = list[Any](), list[int]()
    for f, _ in vote.members:
        known = [k for k, other in enumerate(maps) if _measure_alike(f, other)]
        places.append(known[0] if known else len(maps))
        maps += [] if known else [f]
    return maps, places


def _measure_alike(f: Any, other: Any) -> bool:
    first, second = _arrays(f), _arrays(other)
    return len(first) == len(second) and all(map(_is_same, first, second))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (not is_sparse(a) and not is_sparse(b) and np.array_equal(a, b))


def _arrays(f: Any) -> list[Any]:
    """What decides the distances of a sample to the centres."""
    affine = _affine_of(f)
    parts = [getattr(affine, name) for name in (*AFFINE, "tail")]
    return [part for part in (*parts, getattr(f, "centers", None)) if part is not None]


def _affine_of(f: Any) -> Affine:
    """The metric of a kernel map; all of a linear one."""
    return f.metric if isinstance(f, KernelMap) else f.affine


def _entry(findings: Findings, vote: Vote, preparation: Preparation) -> dict[str, Any]:
    maps, places = _spaces(vote)
    pairs = zip(vote.members, places, strict=True)
    return {
        "preparation": _what_the_page_takes(findings, preparation),
        "n_features": findings.n_features,
        "n_classes": len(findings.core.classes_),
        "n_components": findings.train.embedding.shape[1],
        "per_sample": findings.per_sample,
        "certifies": not without_radii(preparation),
        "drawn": _drawn(findings, vote),
        "is_mean": isinstance(vote, MeanVote),
        "temperature": vote.temperature,
        "own": OWN,
        "worst": WORST,
        "spaces": [_space_entry(f, findings.front) for f in maps],
        "members": [{"space": k, **_member_entry(*member, findings.behind)} for member, k in pairs],
    }


def _what_the_page_takes(findings: Findings, preparation: Preparation) -> dict[str, Any]:
    """Pictures only where features are the levels of image files; rows of numbers or a table always."""
    shown = [points.inputs for points in (findings.train, findings.test) if points.inputs is not None]
    if isinstance(preparation, ImagePreparation) and shown and all(map(are_levels, shown)):
        return preparation.to_dict()
    return preparation.to_dict() if isinstance(preparation, TablePreparation) else {"kind": "array"}


def _space_entry(f: Any, front: Affine | None) -> dict[str, Any]:
    """From a sample to distances, and by how much moves of the sample grow on the way."""
    is_linear = isinstance(f, LinearMap)
    last = _affine_of(f)
    whole = (last if front is None else last.after(front)).joined()
    # A linear map's own stretch is in its scores; what is left are the steps in front.
    way = front if is_linear else whole
    norm = 1.0 if way is None else Front(None, way, way.norm, 0.0, np.zeros(1)).norm
    gamma, size = (0.0, 0.0) if is_linear else (relative_error(whole, EPS), absolute_norm(whole))
    parts = {name: getattr(whole, name) for name in AFFINE}
    centers: Any = None if is_linear else f.centers
    centers = centers.toarray() if is_sparse(centers) else centers
    return {
        **{name: None if part is None else block(part, "f8") for name, part in parts.items()},
        "centers": None if centers is None else block(centers, "f8"),
        "norm": norm,
        "growth": gamma * size * float(np.abs(whole.scale).max()),
        "gamma": gamma,
        "size": size,
    }


def _member_entry(f: Any, scores: Scores, Z: Any) -> dict[str, Any]:
    is_linear, F = isinstance(f, LinearMap), np.zeros((1, f.n_components))
    if is_linear:  # rounding of a linear map depends on the samples: those shown are looked at
        Z = np.zeros((1, f.affine.n_features)) if Z is None else Z
        F = f(Z)
    bounds = MapBounds.of(f, Z, F)
    rounding = 4.0 * float(np.max(bounds.of_functions(scores)))
    kernel: dict[str, Any] = {} if is_linear else kernel_entry(f.kernel)
    if kernel:  # values of a table are wrong by a little more
        widest = float(np.linalg.norm(scores.weights, axis=1).max())
        more = kernel["accuracy"] - f.kernel.accuracy
        rounding += 8.0 * widest * more * float(np.linalg.norm(f.coef, axis=1).sum())
    has_slopes = kernel.get("name") == "gaussian" and not is_sparse(f.centers)
    return {
        "kernel": kernel or None,
        "sigma": float(f.kernel.sigma) if kernel else None,
        "coef": block(f.coef, "f8") if kernel else None,
        "weights": block(scores.weights, "f8"),
        "offsets": block(scores.offsets, "f8"),
        "codes": block(scores.codes, "u2"),
        "temperature": float(scores.temperature),
        # F'w of every function: their distances are the norms of differences of functions.
        "images": block(scores.weights @ bounds.factor, "f8"),
        "rounding": rounding,
        "gradient_error": bounds.gradient_error if has_slopes else None,
    }
