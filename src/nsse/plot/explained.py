"""Explanations as images, curves or bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nsse._support.errors import Described, rule_error
from nsse._support.parameters import check_choice
from nsse._support.types import Floats, SamplesLike
from nsse.explanations import explain
from nsse.figures import (
    Plot,
    check_axes,
    name_axes,
    new_figure,
    place_axes,
    quiet_axes,
    strip_axes,
    write,
    write_title,
)
from nsse.palette import BLUE, MUTED_INK, PAPER, RED

_KINDS = ("auto", "image", "curve", "bars")
# Samples of a figure, and features in bars.
_MOST_SAMPLES = 12
_MOST_BARS = 12
# Number of features up to which "auto" draws bars.
_FEW_FEATURES = 40
# Inches: the side of an image, the width of a curve, and the margins of the figure.
_SIDE = 2.3
_WIDE = 3.6
_TOP = 0.9
_BOTTOM = 0.55


def explanation(
    model: Any,
    X: SamplesLike,
    target: Any = None,
    *,
    shape: tuple[int, ...] | None = None,
    kind: str = "auto",
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Plot:
    """Draw the contributions of the features to predictions.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel map or a linear map, alone, in a search or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        At most twelve samples, or one if ``ax`` is given.
    target : label or array-like of shape (n_samples,), default=None
        The class to explain. None explains the predicted class.
    shape : tuple of int, default=None
        Height and width of samples that are images, and 3 as a third number for color images.
    kind : {"auto", "image", "curve", "bars"}, default="auto"
        A map over pixels, a curve of all features in their order (for spectra and series), or bars of
        the features that contribute most. "auto" is an image if ``shape`` is given, else bars for at
        most 40 features, else a curve.
    names : sequence of str, default=None
        Names of the features. None uses the names of a data frame or of the fitted model.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a figure.

    Returns
    -------
    Plot
        Blue supports the class and red supports its rival. `Explanation.to_frame` returns the same
        frame.

    See Also
    --------
    nsse.explanations.explain : Computes the numbers.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = nsse.SmoothEmbedding().fit(X[::6], y[::6])
    >>> drawn = nsse.plot.explanation(model, X[1:4], shape=(8, 8))
    >>> len(drawn.frame)
    192
    """
    check_choice("kind", kind, _KINDS)
    found = explain(model, X, target)
    n_samples, n_features = found.gradient.shape
    most = _MOST_SAMPLES if ax is None else 1
    if not 1 <= n_samples <= most:
        cure = "Pass some of them: X[:4]."
        raise rule_error("X", f"contain 1 to {most} samples", Described(f"{n_samples} samples"), cure)
    if kind == "auto":
        kind = "image" if shape is not None else "bars" if n_features <= _FEW_FEATURES else "curve"
    if kind == "image" and (shape is None or math.prod(shape) != n_features):
        raise rule_error("shape", f"have {n_features} pixels", shape, "Pass the height and the width.")
    if names is not None and len(names) != n_features:
        cure = f"Pass {n_features} names, or None."
        raise rule_error("names", "name every feature", Described(f"{len(names)} names"), cure)
    if names is not None:
        found = found.with_names(names)
    figure, places = _explanation_axes(kind, n_samples, ax)
    scale = float(np.abs(found.contribution).max()) or 1.0
    for row, axes in enumerate(places):
        contribution = found.contribution[row]
        if kind == "image" and shape is not None:
            _draw_image(axes, _values(X, row, n_features), contribution, shape, scale)
        elif kind == "curve":
            _draw_features(axes, _values(X, row, n_features), contribution, scale)
        else:
            _draw_bars(axes, contribution, found.feature_names)
        name_axes(axes, f"{found.label[row]} over {found.rival[row]}, by {found.margin[row]:.2f}")
    if ax is None:
        write_title(figure, 0.35, "Features that support the class (blue) or its rival (red)", 12.0)
        words = "The contributions add up to the difference from the margin of the mean training sample."
        if found.space != "X":
            words += f" The features are the {found.space}."
        write(figure, 0.35, 0.15, words, fontsize=7.8, color=MUTED_INK, va="bottom")
    return Plot(figure, found.to_frame(), ax is None)


def _values(X: SamplesLike, row: int, n_features: int) -> Floats | None:
    """Return a sample as it was given, or None if the features are the output of a step."""
    part = X.iloc[[row]] if hasattr(X, "iloc") else X[row : row + 1]
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part).ravel()
    return values.astype(np.float64) if len(values) == n_features else None


def _explanation_axes(kind: str, n_samples: int, ax: Any) -> tuple[Any, list[Any]]:
    """Return the figure and axes for each sample."""
    if ax is not None:
        check_axes(ax)
        return ax.figure, [ax]
    across = min(n_samples, 4 if kind == "image" else 2)
    down = -(-n_samples // across)
    wide = _SIDE if kind == "image" else _WIDE + (1.1 if kind == "bars" else 0.0)
    left = 1.7 if kind == "bars" else 0.35
    pitch = wide + (0.25 if kind == "image" else 0.45 + left * (kind == "bars"))
    width, height = max(left + across * pitch, 6.8), _TOP + down * (_SIDE + 0.45) + _BOTTOM
    figure = new_figure(width, height)
    spots = [divmod(k, across) for k in range(n_samples)]
    return figure, [
        place_axes(
            figure, left + column * pitch, height - _TOP - (row + 1) * (_SIDE + 0.45) + 0.3, wide, _SIDE
        )
        for row, column in spots
    ]


def _draw_image(
    axes: Any, values: Floats | None, contribution: Floats, shape: tuple[int, ...], scale: float
) -> None:
    """Draw the contributions over the image in light gray."""
    from matplotlib.colors import LinearSegmentedColormap

    over = contribution.reshape(shape)
    over = over.sum(axis=2) if over.ndim == 3 else over
    strip_axes(axes)
    if values is not None:
        gray = values.reshape(shape)
        gray = gray.mean(axis=2) if gray.ndim == 3 else gray
        axes.imshow(gray, cmap="gray_r", alpha=0.4, interpolation="nearest")
    strength = np.minimum(np.abs(over) / scale, 1.0) ** 0.6
    colors = LinearSegmentedColormap.from_list("support", [RED, PAPER, BLUE])
    style = {"cmap": colors, "alpha": 0.9 * strength, "interpolation": "nearest"}
    axes.imshow(over, vmin=-scale, vmax=scale, **style)


def _draw_features(axes: Any, values: Floats | None, contribution: Floats, scale: float) -> None:
    """Draw the sample as a line, with the contribution of each feature as color and width."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    quiet_axes(axes)
    places = np.arange(len(contribution), dtype=np.float64)
    line = contribution if values is None else values
    points = np.column_stack([places, line])
    axes.plot(places, line, color=MUTED_INK, linewidth=0.8)
    segments = np.stack([points[:-1], points[1:]], axis=1)
    strength = np.minimum(np.abs(contribution[:-1]) / scale, 1.0) ** 0.5
    colors = np.array([to_rgb(BLUE if value >= 0 else RED) for value in contribution[:-1]])
    colors = np.column_stack([colors, strength])
    axes.add_collection(LineCollection(list(segments), colors=colors, linewidths=1 + 5 * strength))
    axes.autoscale()


def _draw_bars(axes: Any, contribution: Floats, names: Sequence[str]) -> None:
    """Draw the features that contribute most, with the largest on top."""
    quiet_axes(axes)
    most = np.argsort(-np.abs(contribution), kind="stable")[:_MOST_BARS][::-1]
    values = contribution[most]
    axes.barh(np.arange(len(most)), values, color=np.where(values >= 0, BLUE, RED), height=0.7)
    axes.axvline(0.0, color=MUTED_INK, linewidth=0.8)
    shown = [name if len(name) <= 22 else name[:21] + "…" for name in (names[k] for k in most)]
    axes.set_yticks(np.arange(len(most)), shown, fontsize=8, parse_math=False)
