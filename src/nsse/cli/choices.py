"""What the data decide: which of several ways gives fewer wrong labels, samples left out one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from nsse.datasets import Inputs

SIDES = (25, 16, 40)  # of pictures: the usual one, and others
CLEARLY = 2.0  # standard errors by which numbers of a table are better off as they are
MOST = 200  # pictures, or rows of a table, that are looked at: a choice must not take long


class Choice(NamedTuple):
    """The place of what was chosen, and how much the best gains over the first, with its error."""

    place: int
    gain: float
    gain_error: float


def chosen(rights: list[Any], n_errors: float = 1.0) -> Choice:
    """The first, unless another has more labels right by more than so many standard errors.

    With few samples the best of several is best by chance.
    """
    import numpy as np

    gains = [float(np.mean(right) - np.mean(rights[0])) for right in rights]
    best = int(np.argmax(gains[1:])) + 1
    is_paired = len(rights[best]) == len(rights[0])  # of many samples some are drawn
    each = rights[best].astype(float) - rights[0] if is_paired else rights[best]
    error = float(np.std(each) / np.sqrt(len(each)))
    return Choice(best if gains[best] > n_errors * error else 0, gains[best], error)


def right_when_left_out(model: Any, X: Any, y: Any) -> Any:
    """Whether the label of each sample is right by the model without it."""
    model.fit(X, y)
    labels = model.classes_[model.leave_one_out_.argmax(axis=1)]
    return labels == model.leave_one_out_labels_


def chosen_levels(folder: Path, sides: Sequence[int], color: bool | None) -> tuple[int, bool, str]:
    """One of these sides, and whether pictures keep their color, by some of them; in words."""
    from nsse import SmoothEmbedding
    from nsse.datasets import small_images

    images, y = small_images(folder, MOST)
    if len(set(y)) < 2:  # which is told when they are read
        return sides[0], bool(color), ""
    colors = [color] if color is not None else [True, False] if _has_color(images) else [False]
    ways = [(side, keeps) for keeps in colors for side in sides]
    if len(ways) == 1:
        return *ways[0], ""
    rights = [right_when_left_out(SmoothEmbedding(), X, y) for X in _levels(images, ways)]
    best = ways[chosen(rights).place]
    compared = ["color and grey"] * (len(colors) > 1)
    compared += [f"sides of {', '.join(map(str, sides))}"] * (len(sides) > 1)
    return *best, f"Compared {' and '.join(compared)} on {len(y)} images, left out one by one."


def _has_color(images: Any) -> bool:
    return bool(abs(images - images[..., :1]).max() > 0.05)


def _levels(images: Any, ways: list[tuple[int, bool]]) -> Iterator[Any]:
    import numpy as np

    from nsse.datasets import area_average

    for side, color in ways:
        levels = images if color else images @ np.array([0.299, 0.587, 0.114])
        X = np.array([area_average(one, (side, side)).ravel() for one in levels])
        yield X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def gains_from_scaling(inputs: Inputs) -> bool:
    """Whether columns are to have spread 1: those of a table unless that is worse, others if better."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from nsse import SmoothEmbedding
    from nsse.datasets import TablePreparation

    spreads, is_table = inputs.X.std(axis=0), isinstance(inputs.preparation, TablePreparation)
    if spreads.min() > 0.9 * spreads.max():
        return False
    X, y = (rows[inputs.is_labeled] for rows in (inputs.X, np.asarray(inputs.y)))
    some = np.random.default_rng(0).permutation(len(X))[: 5 * MOST]
    classes, sizes = np.unique(y[some], return_counts=True)
    some = some[np.isin(y[some], classes[sizes > 1])]
    if len(np.unique(y[some])) < 2:
        return is_table
    scaled = StandardScaler().fit_transform(X)
    ways = [scaled, X] if is_table else [X, scaled]
    rights = [right_when_left_out(SmoothEmbedding(), way[some], y[some]) for way in ways]
    return (chosen(rights, CLEARLY).place == 0) == is_table
