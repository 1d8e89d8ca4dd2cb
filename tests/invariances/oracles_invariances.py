"""Transformations of a picture, pixel by pixel: what is where, in the plainest words."""

from __future__ import annotations

import math

import numpy as np


def seen_at(picture, line, column):
    """The value at a place between pixels, by the areas of the four; beyond the edge, the edge's."""
    height, width, _ = picture.shape
    line = min(max(line, 0.0), height - 1.0)
    column = min(max(column, 0.0), width - 1.0)
    total = np.zeros(picture.shape[2])
    for i in range(height):
        for j in range(width):
            area = max(0.0, 1.0 - abs(line - i)) * max(0.0, 1.0 - abs(column - j))
            total += area * picture[i, j]
    return total


def copy_of(picture, place):
    """A picture whose pixel (i, j) shows ``place(i, j)`` of another."""
    out = np.empty(picture.shape)
    for i in range(picture.shape[0]):
        for j in range(picture.shape[1]):
            out[i, j] = seen_at(picture, *place(i, j))
    return out


def shifted(picture, down, right):
    return copy_of(picture, lambda i, j: (i - down, j - right))


def mirrored(picture):
    return copy_of(picture, lambda i, j: (i, picture.shape[1] - 1 - j))


def zoomed(picture, ratio):
    """What is at a distance r from the middle comes to the distance ratio · r."""
    y, x = (picture.shape[0] - 1) / 2, (picture.shape[1] - 1) / 2
    return copy_of(picture, lambda i, j: (y + (i - y) / ratio, x + (j - x) / ratio))


def turned(picture, degrees):
    """Counter-clockwise: what is at an angle a to the right of the middle comes to a + degrees."""
    y, x = (picture.shape[0] - 1) / 2, (picture.shape[1] - 1) / 2

    def before(i, j):
        radius, angle = math.hypot(y - i, j - x), math.atan2(y - i, j - x)
        angle -= math.radians(degrees)
        return y - radius * math.sin(angle), x + radius * math.cos(angle)

    return copy_of(picture, before)


def views(picture, shift, rotate, scale):
    """All of them, in the order in which `Images` has them."""
    found = [shifted(picture, d * shift, r * shift) for d, r in ((0, -1), (0, 1), (-1, 0), (1, 0))]
    found += [turned(picture, rotate), turned(picture, -rotate)]
    found += [zoomed(picture, scale), zoomed(picture, 1.0 / scale)]
    return [*found, mirrored(picture), *map(mirrored, found)]
