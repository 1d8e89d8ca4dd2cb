"""Figures of a fitted model, each with the frame it is drawn from; and all of them on one page.

Each returns a `Plot`, which shows itself in a notebook, by ``plt.show()`` in a script, and by its
``show``; ``save`` writes it, and ``.frame`` is what it is drawn from, a data frame. Public under the
name `nsse.plot`.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from nsse._support.errors import rule_error, rule_message
from nsse._support.types import LabelsLike, SamplesLike
from nsse.certificates.selective import RiskCoverage, risk_coverage_curve
from nsse.report.certificate_plots import (
    auto_ticks,
    chart_axes,
    draw_curve,
    label_axes,
    quiet_axes,
    risk_coverage_figure,
)
from nsse.report.embedding_plot import add_key, draw_view, embedding_figure, how_made, title_of
from nsse.report.explorer.facts import about_labels, finding, made_of, notes
from nsse.report.explorer.models import BIN, Findings, Samples, find
from nsse.report.page import new_figure, place_axes, strip_axes, write, write_title
from nsse.report.palette import INK, MUTED_INK, PAPER, class_colors
from nsse.report.polygon import PolygonView, spread_heights
from nsse.report.shown import Plot, check_axes

Columns = dict[str, list[Any]]

_BLUE, _, _RED = class_colors(3)
_BINS = 30


def embedding(model: Any, X: SamplesLike = None, y: LabelsLike = None, *, ax: Any = None) -> Plot:
    """Draw the embedding: training samples, and others over them.

    Parameters
    ----------
    model : estimator
        Fitted, a method of this library, alone or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples to lay over the training samples.
    y : array-like of shape (n_samples,), default=None
        Their labels; None colours them by what is predicted.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        The frame has one row per sample: ``set`` ("train" or "test"), ``label`` (None where it is not
        known), ``predicted``, the place in the figure ``x``, ``y``, the coordinates ``y1`` ... ``yd``.

    See Also
    --------
    nsse.plot.radii : Certified radii.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.embedding(model, X[1::3], y[1::3])
    >>> drawn.save("embedding.png")
    >>> len(drawn.frame) > 0
    True
    """
    findings = find(model, Samples(X, y))
    view = _view(findings)
    frame: Columns = {"set": ["train"] * len(findings.train) + ["test"] * len(findings.test)}
    names = np.array([*findings.classes, None], dtype=object)  # -1 takes the last one
    parts = (findings.train, findings.test)
    frame["label"] = [name for part in parts for name in names[part.codes]]
    frame["predicted"] = [name for part in parts for name in names[part.predicted]]
    places, Y = np.vstack([view.train, view.test]), np.vstack([part.embedding for part in parts])
    frame |= {"x": places[:, 0].tolist(), "y": places[:, 1].tolist()}
    frame |= {f"y{k + 1}": Y[:, k].tolist() for k in range(Y.shape[1])}
    caption = " ".join(about_labels(findings))
    if ax is None:
        return Plot(embedding_figure(view, kind="test", caption=caption), frame)
    check_axes(ax)
    strip_axes(ax)
    draw_view(ax, view, size=0.7)
    add_key(ax, view, "test")
    _name(ax, title_of(view, "test"))
    ax.set_xlabel(textwrap.fill(f"{how_made(view)} {caption}", 80), fontsize=7.8, color=MUTED_INK)
    return Plot(ax.figure, frame, is_alone=False)


def polygon_view(model: Any, X: SamplesLike = None, y: LabelsLike = None) -> PolygonView:
    """Samples in the plane that separates the classes: what `embedding` draws.

    Parameters
    ----------
    model : estimator
        Fitted, a method of this library, alone or at the end of a pipeline.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples beside the training samples.
    y : array-like of shape (n_samples,), default=None
        Their labels.

    Returns
    -------
    PolygonView
        Positions and labels.

    See Also
    --------
    nsse.plot.embedding : The same and the drawing in one call.
    nsse.report.embedding_figure : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> from nsse.report import polygon_view
    >>> X, y = load_iris(return_X_y=True)
    >>> polygon_view(SmoothEmbedding().fit(X[::3], y[::3]), X, y).n_components
    2
    """
    return _view(find(model, Samples(X, y)))


def trace(model: Any, *, ax: Any = None) -> Plot:
    """Draw the objective by the kernel scale, as the fit evaluated it.

    Parameters
    ----------
    model : estimator
        Fitted `NSSE`, alone or at the end of a pipeline.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        One dot for every step, the smallest in red. The frame is ``trace_.to_dict()``: σ, the terms of
        the objective and seconds of every step.

    See Also
    --------
    nsse.plot.embedding : Samples in the embedding.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.trace(model)
    >>> drawn.save("trace.png")
    >>> len(drawn.frame) > 0
    True
    """
    findings = find(model, Samples(None))
    if not findings.trace:
        cure = "NSSE does."
        raise TypeError(rule_message("model", "search for its kernel scale", findings.name, cure))
    frame: Columns = dict(findings.trace)
    axes = _chart(ax, "How the map was found")
    _draw_trace(axes, frame)
    return Plot(axes.figure, frame, ax is None)


def confusion(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw the confusion matrix: how often samples of each class get each label.

    Parameters
    ----------
    model : estimator
        Fitted, a method of this library, alone or at the end of a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples, best unseen by the model, and their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        True labels down, predicted ones across. The frame has ``label``, ``predicted`` and ``count`` of
        every pair that occurs.

    See Also
    --------
    nsse.plot.embedding : Samples in the embedding.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.confusion(model, X[1::3], y[1::3])
    >>> drawn.save("confusion.png")
    >>> len(drawn.frame) > 0
    True
    """
    findings = _labelled(model, X, y)
    counts = _counts(findings)
    title = finding(findings).removesuffix(".")
    if ax is None:
        side = max(3.2, min(12.0, 1.2 + 0.42 * len(counts)))
        longest = max(len(name) for name in findings.classes)
        margin = 0.75 + min(3.0, 0.075 * longest)  # inches
        figure = _sheet(margin + side + 0.55, margin + side + 0.8, title)
        axes = place_axes(figure, margin, margin, side, side)
    else:
        check_axes(ax)
        axes = ax
        strip_axes(axes)
        _name(axes, title)
    _draw_confusion(axes, counts, findings.classes)
    rows, columns = np.nonzero(counts)
    names = np.array(findings.classes, dtype=object)
    frame = {"label": names[rows].tolist(), "predicted": names[columns].tolist()}
    return Plot(axes.figure, frame | {"count": counts[rows, columns].tolist()}, ax is None)


def radii(model: Any, X: SamplesLike, y: LabelsLike = None, *, ax: Any = None) -> Plot:
    """Draw the certified radii of predictions.

    Parameters
    ----------
    model : estimator
        Fitted, with certificates: a kernel or linear map, behind affine steps where there are any.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, best unseen by the model.
    y : array-like of shape (n_samples,), default=None
        Their labels; with them mistakes are shown apart.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        A histogram; infinite radii are counted in a note. The frame has ``radius``, in the units of X,
        ``predicted`` and, with labels, ``wrong`` of every sample.

    See Also
    --------
    nsse.plot.risk_coverage : Mistakes among accepted predictions.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.radii(model, X[1::3], y[1::3])
    >>> drawn.save("radii.png")
    >>> len(drawn.frame) > 0
    True
    """
    findings = _certified(model, X, y)
    axes = _chart(ax, "Certified radii")
    _draw_radii(axes, findings)
    names = np.array(findings.classes, dtype=object)
    predicted = names[findings.test.predicted].tolist()
    frame: Columns = {"radius": findings.radius.tolist(), "predicted": predicted}
    if findings.has_labels:
        frame["wrong"] = findings.wrong.tolist()
    return Plot(axes.figure, frame, ax is None)


def risk_coverage(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw the share of mistakes among the predictions with the largest certified radii.

    Parameters
    ----------
    model : estimator
        Fitted, with certificates.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples unseen by the model, and their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        The curve. The frame has ``threshold``, ``coverage`` and ``risk``.

    See Also
    --------
    nsse.plot.radii : Certified radii.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.risk_coverage(model, X[1::3], y[1::3])
    >>> drawn.save("risk_coverage.png")
    >>> len(drawn.frame) > 0
    True
    """
    findings = _certified(model, X, y)
    if not findings.has_labels:
        raise rule_error("y", "be given to count mistakes", None, "Pass the labels of the samples.")
    curve = _curve(findings)
    frame = dict(curve.to_dict())
    if ax is None:
        return Plot(risk_coverage_figure({findings.decider: curve}), frame)
    draw_curve(_chart(ax, findings.decider), curve, 0.8)
    return Plot(ax.figure, frame, is_alone=False)


def reliability(model: Any, X: SamplesLike, y: LabelsLike, *, ax: Any = None) -> Plot:
    """Draw how often labels of some probability are right.

    Parameters
    ----------
    model : estimator
        Fitted, a method of this library, alone or at the end of a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples unseen by the model, and their labels.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Plot
        The curve. The frame has ``low``, ``high``, ``n``, ``mean`` and ``right`` of labels with a
        probability between two edges.

    See Also
    --------
    nsse.plot.risk_coverage : Mistakes among accepted predictions.

    Examples
    --------
    >>> import nsse
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> drawn = nsse.plot.reliability(model, X[1::3], y[1::3])
    >>> int(sum(drawn.frame["n"]))
    50
    """
    findings = _labelled(model, X, y)
    curve = findings.calibration.curve
    if not curve:
        cure = "Pass labelled samples that are no training samples."
        raise rule_error("X", "hold samples that the model has not seen", "none of them", cure)
    axes = _chart(ax, f"Reliability of probabilities, log-loss {findings.calibration.log_loss:.3f}")
    _draw_reliability(axes, findings)
    frame = {name: list(values) for name, values in zip(BIN, zip(*curve, strict=True), strict=True)}
    return Plot(axes.figure, frame, ax is None)


def report_figure(findings: Findings, title: str) -> Any:
    """All figures on one page: what the interactive report shows, in a form that prints."""
    figure = _sheet(14.0, 11.6, title or f"{findings.name} report")
    write(figure, 0.55, 10.95, finding(findings), fontsize=12, color=INK, va="top")
    write(figure, 0.55, 10.64, made_of(findings), fontsize=9.5, color=MUTED_INK, va="top")
    view, main = _view(findings), place_axes(figure, 0.55, 3.6, 6.5, 6.5)
    draw_view(main, view, size=0.9)
    add_key(main, view, "test")
    if findings.has_labels:
        write(figure, 8.3, 9.75, "Confusion matrix", fontsize=10.5, weight="bold")
        _draw_confusion(place_axes(figure, 8.9, 4.9, 4.6, 4.6), _counts(findings), findings.classes)
    for place, (name, draw) in enumerate(_lower_charts(findings)):
        draw(chart_axes(figure, 0.9 + 3.35 * place, 0.95, 2.6, 1.75, name))
    write(figure, 0.55, 0.15, " ".join(notes(findings)), fontsize=7.8, color=MUTED_INK, va="bottom")
    return figure


def _lower_charts(findings: Findings) -> list[tuple[str, Any]]:
    charts, steps = list[tuple[str, Any]](), findings.trace
    if steps:
        charts.append(("Objective by kernel scale σ", lambda axes: _draw_trace(axes, steps)))
    if findings.radius is not None:
        charts.append(("Certified radii", lambda axes: _draw_radii(axes, findings)))
        if findings.has_labels:
            curve = _curve(findings)
            charts.append(("Mistakes among accepted", lambda axes: draw_curve(axes, curve, 0.8)))
    if findings.calibration.curve:
        charts.append(("Probabilities", lambda axes: _draw_reliability(axes, findings)))
    return charts


def _sheet(width: float, height: float, title: str) -> Any:
    figure = new_figure(width, height)
    write_title(figure, 0.55, title)
    return figure


def _chart(ax: Any, title: str) -> Any:
    """Axes for a chart: on a page of their own, or those given."""
    if ax is None:
        return chart_axes(_sheet(7.0, 4.4, title), 0.9, 0.85, 5.4, 2.6, "")
    check_axes(ax)
    strip_axes(ax)
    quiet_axes(ax)
    _name(ax, title)
    return ax


def _name(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, weight="bold", color=INK, parse_math=False)


def _labelled(model: Any, X: SamplesLike, y: LabelsLike) -> Findings:
    if X is None or y is None:
        raise rule_error("y", "be given to count mistakes", None, "Pass samples and their labels.")
    return find(model, Samples(X, y))


def _certified(model: Any, X: SamplesLike, y: LabelsLike) -> Findings:
    findings = find(model, Samples(X, y))
    if findings.radius is None:
        rule, cure = "have certified radii", findings.unproved
        raise TypeError(rule_message("model", rule, findings.name, cure))
    return findings


def _view(findings: Findings) -> PolygonView:
    known = len(findings.core.classes_)
    strangers = sorted({findings.classes[code] for code in findings.test.codes if code >= known})
    if strangers:
        rule = "hold labels that the model knows, for the figure has a corner for each of these"
        raise rule_error("y", rule, strangers, "Leave these samples out.")
    train, test = findings.train, findings.test
    name, codes, predicted = findings.name, test.predicted, None
    if findings.has_labels:
        name, codes, predicted = findings.decider, test.codes, test.predicted
    plane, places = findings.plane, findings.places()
    if known == 2:
        places[:, 1], _ = spread_heights(places[:, 0], np.concatenate([train.codes, codes]))
    return PolygonView(
        name,
        train.embedding.shape[1],
        np.array(findings.classes, dtype=object)[:known],
        plane.corners,
        plane.sharpness,
        places[: len(train)],
        train.codes,
        places[len(train) :],
        codes,
        predicted,
    )


def _counts(findings: Findings) -> Any:
    counts = np.zeros((len(findings.classes),) * 2, dtype=int)
    np.add.at(counts, (findings.test.codes, findings.test.predicted), 1)
    return counts


def _curve(findings: Findings) -> RiskCoverage:
    return risk_coverage_curve(findings.radius, findings.wrong)


def _draw_trace(axes: Any, frame: Columns) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    order = np.argsort(frame["sigma"], kind="stable")
    sigma, values = np.array(frame["sigma"])[order], np.array(frame["excess"])[order]
    best = int(np.argmin(values))
    axes.plot(sigma, values, "o-", color=_BLUE, markersize=3.5, linewidth=1.4, gid="excess")
    axes.plot(sigma[best], values[best], "o", color=_RED, markersize=6, markeredgecolor=PAPER)
    auto_ticks(axes)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if values.min() > 0:
        axes.set_yscale("log")
    label_axes(axes, "kernel scale σ (red: the smallest objective)", "objective, above its floor")


def _draw_reliability(axes: Any, findings: Findings) -> None:
    mean, right = 100.0 * np.array([each[3:] for each in findings.calibration.curve]).T
    low = 10.0 * np.floor(min(mean.min(), right.min()) / 10.0)
    axes.plot([low, 100.0], [low, 100.0], "--", color=MUTED_INK, linewidth=0.8)
    axes.plot(mean, right, "o-", color=_BLUE, markersize=3.5, linewidth=1.4, gid="reliability")
    auto_ticks(axes)
    label_axes(axes, "mean probability of the label (%)", "labels that are right (%)")


def _draw_radii(axes: Any, findings: Findings) -> None:
    finite = np.isfinite(findings.radius)
    wrong = findings.wrong
    values = [findings.radius[finite & wrong], findings.radius[finite & ~wrong]]
    axes.hist(values, bins=_BINS, stacked=True, color=[_RED, _BLUE])
    auto_ticks(axes)
    unit = "certified radius" + (" (red: label wrong)" if findings.has_labels else "")
    infinite = int((~finite).sum())
    label_axes(axes, unit + (f"; {infinite} infinite" if infinite else ""), "samples")


def _draw_confusion(axes: Any, counts: Any, classes: tuple[str, ...]) -> None:
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(counts / totals, cmap="Blues", vmin=0, vmax=1.6)
    cell = 72 * axes.figure.get_size_inches()[0] * axes.get_position().width / len(classes)
    size = max(4.0, min(9.0, 0.55 * cell))  # both in points
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for row, column in zip(*np.nonzero(counts), strict=True):
        color, weight = (INK, "normal") if row == column else (_RED, "bold")
        axes.text(column, row, str(counts[row, column]), color=color, weight=weight, **middle)
    axes.set_xticks(range(len(classes)), classes, rotation=90, fontsize=size, parse_math=False)
    axes.set_yticks(range(len(classes)), classes, fontsize=size, parse_math=False)
    axes.tick_params(length=0, colors=MUTED_INK)
    label_axes(axes, "predicted label", "true label")
