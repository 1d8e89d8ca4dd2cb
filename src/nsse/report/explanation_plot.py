"""Pictures of explanations: a map over pixels, a coloured curve, or bars.

Blue speaks for the class, red for its strongest rival: what every feature adds to the margin
(`nsse.explanations`). All panels of a figure share one scale of colours.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nsse._support.errors import rule_error
from nsse._support.parameters import check_choice
from nsse._support.types import Floats, SamplesLike
from nsse.explanations import Explanation, explain
from nsse.report.certificate_plots import quiet_axes
from nsse.report.page import new_figure, place_axes, strip_axes, write
from nsse.report.palette import INK, MUTED_INK, PAPER, class_colors
from nsse.report.shown import Plot, check_axes

_BLUE, _, _RED = class_colors(3)
KINDS = ("auto", "image", "curve", "bars")
# Samples of a figure, features in bars, and features up to which "auto" draws bars.
MOST_SAMPLES, MOST_BARS, FEW_FEATURES = 12, 12, 40
_SIDE, _WIDE, _TOP, _BOTTOM = 2.3, 3.6, 0.9, 0.55  # inches


def explanation(
    model: Any,
    X: SamplesLike,
    target: Any = None,
    *,
    shape: tuple[int, ...] | None = None,
    kind: str = "auto",
    names: Any = None,
    ax: Any = None,
) -> Plot:
    """Draw which features speak for a prediction, and which for its strongest rival.

    Parameters
    ----------
    model : estimator
        Fitted, with a kernel or linear map: alone, a vote, or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, twelve at most; one where ``ax`` is given.
    target : label or array-like of shape (n_samples,), default=None
        The class to explain; None is the predicted one.
    shape : tuple of int, default=None
        Height and width of samples that are images, and 3 where they have colours.
    kind : {"auto", "image", "curve", "bars"}, default="auto"
        A map over pixels, a curve of all features in their order (spectra, series), or bars of those
        that contribute most. "auto" is an image with ``shape``, bars up to 40 features, else a curve.
    names : sequence of str, default=None
        Names of the features; None takes those of a data frame.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        The frame has ``sample``, ``feature``, ``gradient`` and ``contribution``.

    See Also
    --------
    nsse.explanations.explain : The numbers.

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
    check_choice("kind", kind, KINDS)
    found = explain(model, X, target)
    n_samples, n_features = found.gradient.shape
    most = MOST_SAMPLES if ax is None else 1
    if not 1 <= n_samples <= most:
        cure = "Pass some of them: X[:4]."
        raise rule_error("X", f"hold 1 to {most} samples", f"{n_samples} samples", cure)
    if kind == "auto":
        kind = "image" if shape is not None else "bars" if n_features <= FEW_FEATURES else "curve"
    if kind == "image" and (shape is None or math.prod(shape) != n_features):
        cure = "Give the height and width of the images."
        raise rule_error("shape", f"have {n_features} pixels", shape, cure)
    labels = _names(names, X, n_features, found.space)
    figure, places = _places(kind, n_samples, ax)
    scale = float(np.abs(found.contribution).max()) or 1.0
    for row, axes in enumerate(places):
        contribution = found.contribution[row]
        if kind == "image" and shape is not None:
            _draw_image(axes, _values(X, row, n_features), contribution, shape, scale)
        elif kind == "curve":
            _draw_curve(axes, _values(X, row, n_features), contribution, scale)
        else:
            _draw_bars(axes, contribution, labels)
        title = f"{found.label[row]} over {found.rival[row]}, by {found.margin[row]:.2f}"
        axes.set_title(title, fontsize=10, weight="bold", color=INK, loc="left", parse_math=False)
    if ax is None:
        _say(figure, found)
    return Plot(figure, _frame(found, labels), ax is None)


def _names(names: Any, X: SamplesLike, n_features: int, space: str) -> list[str]:
    """Names of the features: those given, a data frame's, or their places."""
    known = getattr(X, "columns", None) if names is None and space == "X" else names
    if known is None:
        return [f"feature {k}" for k in range(n_features)]
    if len(known) != n_features:
        cure = f"Pass {n_features} names, or None."
        raise rule_error("names", "name every feature", f"{len(known)} names", cure)
    return [str(name) for name in known]


def _values(X: SamplesLike, row: int, n_features: int) -> Floats | None:
    """A sample as it was given, where the features are its own."""
    part = X.iloc[[row]] if hasattr(X, "iloc") else X[row : row + 1]
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64).ravel()
    return values if len(values) == n_features else None


def _places(kind: str, n_samples: int, ax: Any) -> tuple[Any, list[Any]]:
    if ax is not None:
        check_axes(ax)
        return ax.figure, [ax]
    across = min(n_samples, 4 if kind == "image" else 2)
    down = -(-n_samples // across)
    wide = _SIDE if kind == "image" else _WIDE + (1.1 if kind == "bars" else 0.0)
    left = 1.5 if kind == "bars" else 0.35
    pitch = wide + (0.25 if kind == "image" else 0.45 + left * (kind == "bars"))
    width = max(left + across * pitch, 6.8)
    height = _TOP + down * (_SIDE + 0.45) + _BOTTOM
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
    """Contributions over the picture in light grey."""
    from matplotlib.colors import LinearSegmentedColormap

    over = contribution.reshape(shape)
    over = over.sum(axis=2) if over.ndim == 3 else over
    strip_axes(axes)
    if values is not None:
        grey = values.reshape(shape)
        grey = grey.mean(axis=2) if grey.ndim == 3 else grey
        axes.imshow(grey, cmap="gray_r", alpha=0.4, interpolation="nearest")
    strength = np.minimum(np.abs(over) / scale, 1.0) ** 0.6
    colors = LinearSegmentedColormap.from_list("for and against", [_RED, PAPER, _BLUE])
    style = {"cmap": colors, "alpha": 0.9 * strength, "interpolation": "nearest"}
    axes.imshow(over, vmin=-scale, vmax=scale, **style)


def _draw_curve(axes: Any, values: Floats | None, contribution: Floats, scale: float) -> None:
    """The sample as a line, coloured by what every feature adds."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    quiet_axes(axes)
    places = np.arange(len(contribution), dtype=np.float64)
    line = contribution if values is None else values
    points = np.column_stack([places, line])
    axes.plot(places, line, color=MUTED_INK, linewidth=0.8)
    segments = np.stack([points[:-1], points[1:]], axis=1)
    strength = np.minimum(np.abs(contribution[:-1]) / scale, 1.0) ** 0.5
    colors = np.array([to_rgb(_BLUE if value >= 0 else _RED) for value in contribution[:-1]])
    colors = np.column_stack([colors, strength])
    axes.add_collection(LineCollection(list(segments), colors=colors, linewidths=1 + 5 * strength))
    axes.autoscale()


def _draw_bars(axes: Any, contribution: Floats, names: list[str]) -> None:
    """The features that contribute most, the largest on top."""
    quiet_axes(axes)
    most = np.argsort(-np.abs(contribution), kind="stable")[:MOST_BARS][::-1]
    values = contribution[most]
    axes.barh(np.arange(len(most)), values, color=np.where(values >= 0, _BLUE, _RED), height=0.7)
    axes.axvline(0.0, color=MUTED_INK, linewidth=0.8)
    shown = [name if len(name) <= 20 else name[:19] + "…" for name in (names[k] for k in most)]
    axes.set_yticks(np.arange(len(most)), shown, fontsize=8, parse_math=False)


def _say(figure: Any, found: Explanation) -> None:
    height = figure.get_size_inches()[1]
    title = "What speaks for a prediction (blue), and for its strongest rival (red)"
    write(figure, 0.35, height - 0.25, title, fontsize=12, weight="bold", color=INK, va="top")
    note = "What every feature adds to the margin on the way from the mean of the training samples."
    if found.space != "X":
        note += f" Features are the {found.space}."
    write(figure, 0.35, 0.15, note, fontsize=7.8, color=MUTED_INK, va="bottom")


def _frame(found: Explanation, names: list[str]) -> dict[str, list[Any]]:
    n_samples, n_features = found.gradient.shape
    return {
        "sample": np.repeat(np.arange(n_samples), n_features).tolist(),
        "feature": names * n_samples,
        "gradient": found.gradient.ravel().tolist(),
        "contribution": found.contribution.ravel().tolist(),
    }
