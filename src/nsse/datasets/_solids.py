"""``objects``: twenty solids built of convex parts, and what a camera by a turning table sees of them.

A part is a convex polytope, given by half-spaces n'x <= b, or an ellipsoid. The z axis is upright.
Every solid is brought to the same reach, as the frames of COIL-20 are cut around their objects, so
that size alone tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nsse._support.types import Floats
from nsse.datasets._images import ImageSet, Size, area_average
from nsse.datasets._places import DataHome

ELEVATION = np.deg2rad(25.0)  # of the camera above the table
# Towards the light, in the axes of the camera: right, up, towards the camera.
LIGHT = np.array([-0.45, 0.6, 0.66]) / np.linalg.norm([-0.45, 0.6, 0.66])
AMBIENT = 0.25
# Solids are painted darker on the side that looks here: without it a cube would show the same picture
# four times in a turn, and a training set would hold its own test samples.
DARK_SIDE = np.array([np.cos(0.6), np.sin(0.6), 0.0])
DARKNESS = 0.4
N_VIEWS = 72  # every 5 degrees, as in COIL-20
N_PIXELS = 64


@dataclass(frozen=True, eq=False)
class Polytope:
    """The points x with ``normals @ x <= offsets``; the normals have length one."""

    normals: Floats
    offsets: Floats
    corners: Floats  # points whose convex hull holds the part, for its reach

    def moved(self, shift: Floats) -> Polytope:
        return Polytope(self.normals, self.offsets + self.normals @ shift, self.corners + shift)

    def scaled(self, factor: float) -> Polytope:
        return Polytope(self.normals, self.offsets * factor, self.corners * factor)

    def hit(self, origins: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Where parallel rays enter (infinity: never) and the outward normal there."""
        slope = self.normals @ direction
        room = self.offsets - origins @ self.normals.T  # what is left before the face is crossed
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = room / slope
        entering, leaving = slope < 0.0, slope > 0.0
        last_in = crossing[:, entering].max(axis=1)
        first_out = crossing[:, leaving].min(axis=1)
        outside = (room[:, slope == 0.0] < 0.0).any(axis=1)
        depth = np.where((last_in < first_out) & ~outside, last_in, np.inf)
        face = crossing[:, entering].argmax(axis=1)
        return depth, self.normals[entering][face]


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The points x with ``|(x - center) / radii| <= 1``."""

    center: Floats
    radii: Floats

    @property
    def corners(self) -> Floats:
        signs = np.vstack([np.eye(3), -np.eye(3)])
        return self.center + signs * self.radii

    def moved(self, shift: Floats) -> Ellipsoid:
        return Ellipsoid(self.center + shift, self.radii)

    def scaled(self, factor: float) -> Ellipsoid:
        return Ellipsoid(self.center * factor, self.radii * factor)

    def hit(self, origins: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Where parallel rays enter (infinity: never) and the outward normal there."""
        start, step = (origins - self.center) / self.radii, direction / self.radii
        # |start + t step|^2 = 1, a quadratic equation in t.
        a, half_b, c = step @ step, start @ step, np.einsum("ij,ij->i", start, start) - 1.0
        discriminant = half_b**2 - a * c
        depth = (
            np.where(discriminant > 0.0, -half_b - np.sqrt(np.maximum(discriminant, 0.0)), np.inf) / a
        )
        reached = np.where(np.isfinite(depth), depth, 0.0)[:, np.newaxis]
        gradient = (start + reached * step) / self.radii
        return depth, gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


Part: TypeAlias = Polytope | Ellipsoid
Solid: TypeAlias = list[Part]


def box(size: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> Polytope:
    """Build a box from its three sides and its centre."""
    half = np.array(size) / 2.0
    signs = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
    normals = np.vstack([np.eye(3), -np.eye(3)])
    return Polytope(normals, np.concatenate([half, half]), signs * half).moved(np.array(at, dtype=float))


def spindle(
    n_sides: int, bottom: float, top: float, height: float, at: tuple[float, float, float] = (0, 0, 0)
) -> Polytope:
    """Build a prism, pyramid or cone on a regular polygon, of these radii below and above."""
    angles = 2.0 * np.pi * np.arange(n_sides) / n_sides
    around = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(n_sides)])
    up = np.array([0.0, 0.0, 1.0])
    # A side face is as far from the axis as the middle of an edge, cos(pi / n) of the radius.
    inner = np.cos(np.pi / n_sides)
    middle = np.column_stack([np.cos(angles + np.pi / n_sides), np.sin(angles + np.pi / n_sides)])
    sides = np.column_stack([middle, np.full(n_sides, (bottom - top) * inner / height)])
    offsets = np.full(n_sides, inner * (bottom + top) / 2.0)
    lengths = np.linalg.norm(sides, axis=1)
    corners = np.vstack([bottom * around - up * height / 2.0, top * around + up * height / 2.0])
    return Polytope(
        np.vstack([sides / lengths[:, np.newaxis], up, -up]),
        np.concatenate([offsets / lengths, [height / 2.0, height / 2.0]]),
        corners,
    ).moved(np.array(at, dtype=float))


def ball(radii: tuple[float, float, float], at: tuple[float, float, float] = (0, 0, 0)) -> Ellipsoid:
    """Build an ellipsoid from its radii and its centre."""
    return Ellipsoid(np.array(at, dtype=float), np.array(radii, dtype=float))


def solids() -> dict[str, Solid]:
    """Twenty solids by name, each centred and brought to reach one unit from its centre."""
    cylinder = 24  # sides of what is to look round
    named: dict[str, Solid] = {
        "cube": [box((1, 1, 1))],
        "slab": [box((1.2, 0.8, 0.4))],
        "tower": [box((0.6, 0.5, 1.2))],
        "brick": [box((1.2, 0.6, 0.6))],
        "triangular prism": [spindle(3, 0.7, 0.7, 1.0)],
        "pentagonal prism": [spindle(5, 0.6, 0.6, 1.0)],
        "hexagonal plate": [spindle(6, 0.7, 0.7, 0.4)],
        "square pyramid": [spindle(4, 0.8, 0.0, 1.0)],
        "triangular pyramid": [spindle(3, 0.8, 0.0, 1.0)],
        "square frustum": [spindle(4, 0.8, 0.4, 0.8)],
        "double pyramid": [
            spindle(4, 0.7, 0.0, 0.7, (0, 0, 0.35)),
            spindle(4, 0.0, 0.7, 0.7, (0, 0, -0.35)),
        ],
        "angle": [box((1.2, 0.5, 0.4)), box((0.4, 0.5, 0.6), (-0.4, 0, 0.5))],
        "steps": [
            box((0.4, 0.7, 0.3), (-0.4, 0, -0.15)),
            box((0.4, 0.7, 0.6)),
            box((0.4, 0.7, 0.9), (0.4, 0, 0.15)),
        ],
        "cross": [box((1.3, 0.4, 0.4)), box((0.4, 1.0, 0.4)), box((0.4, 0.4, 0.9))],
        "table": [
            box((1.2, 0.8, 0.2), (0, 0, 0.5)),
            *(box((0.18, 0.18, 0.8), (x, y, 0)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)),
        ],
        "mug": [
            spindle(cylinder, 0.45, 0.45, 0.9),
            box((0.35, 0.15, 0.14), (0.55, 0, 0.25)),
            box((0.35, 0.15, 0.14), (0.55, 0, -0.25)),
            box((0.14, 0.15, 0.64), (0.72, 0, 0)),
        ],
        "bottle": [
            spindle(cylinder, 0.4, 0.4, 0.9),
            spindle(cylinder, 0.4, 0.12, 0.4, (0, 0, 0.65)),
            spindle(cylinder, 0.12, 0.12, 0.3, (0, 0, 0.9)),
        ],
        "duck": [
            ball((0.7, 0.42, 0.4)),
            ball((0.27, 0.25, 0.27), (0.45, 0, 0.5)),
            ball((0.2, 0.1, 0.07), (0.75, 0, 0.48)),
        ],
        "dumb-bell": [
            box((1.0, 0.2, 0.2)),
            ball((0.3, 0.35, 0.35), (-0.5, 0, 0)),
            ball((0.3, 0.35, 0.35), (0.5, 0, 0)),
        ],
        "hammer": [box((0.2, 0.2, 1.2)), box((0.9, 0.3, 0.3), (0.1, 0, 0.5))],
    }
    return {name: _framed(solid) for name, solid in named.items()}


def _framed(solid: Solid) -> Solid:
    corners = np.vstack([part.corners for part in solid])
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2.0
    reach = float(np.linalg.norm(corners - middle, axis=1).max())
    return [part.moved(-middle).scaled(1.0 / reach) for part in solid]


def picture(solid: Solid, angle: float, n_pixels: int) -> Floats:
    """Photograph a solid turned by `angle` (radians): n_pixels squared, black background.

    Parallel projection, one light that stands still beside the camera, Lambert's law: a face is as
    bright as the cosine of its angle to the light, and never darker than the ambient light.
    """
    right, up, towards = _camera(angle)
    side = (2.0 * np.arange(n_pixels) + 1.0) / n_pixels - 1.0
    origins = (
        side[np.newaxis, :, np.newaxis] * right - side[:, np.newaxis, np.newaxis] * up + 2.0 * towards
    ).reshape(-1, 3)
    nearest, brightness = np.full(len(origins), np.inf), np.zeros(len(origins))
    light = LIGHT @ np.array([right, up, towards])
    for part in solid:
        depth, normal = part.hit(origins, -towards)
        seen = depth < nearest
        nearest[seen] = depth[seen]
        lit = AMBIENT + (1.0 - AMBIENT) * np.maximum(normal[seen] @ light, 0.0)
        brightness[seen] = lit * (1.0 - DARKNESS * (1.0 + normal[seen] @ DARK_SIDE) / 2.0)
    return brightness.reshape(n_pixels, n_pixels)


def _camera(angle: float) -> tuple[Floats, Floats, Floats]:
    """Axes of the camera in the frame of a solid turned by `angle`: right, up, towards the camera."""
    towards = np.array(
        [np.cos(ELEVATION) * np.sin(angle), -np.cos(ELEVATION) * np.cos(angle), np.sin(ELEVATION)]
    )
    right = np.array([np.cos(angle), np.sin(angle), 0.0])
    return right, np.cross(towards, right), towards


def read_objects(_data_home: DataHome, size: Size) -> ImageSet:
    """Render every view of every solid, by solid and then by angle; labels 1 ... 20."""
    named = solids()
    degrees = 360.0 / N_VIEWS * np.arange(N_VIEWS)
    images = [
        picture(solid, np.deg2rad(angle), N_PIXELS) for solid in named.values() for angle in degrees
    ]
    return ImageSet(
        images=np.stack(images if size is None else [area_average(image, size) for image in images]),
        y=np.repeat(np.arange(1, len(named) + 1, dtype=np.int64), N_VIEWS),
        files=[f"objects, {name} at {angle:g} degrees" for name in named for angle in degrees],
        source="twenty solids rendered by nsse.datasets",
        class_names=tuple(named),
    )
