"""A page laid out in inches: a matplotlib figure that pyplot does not know, and places on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nsse._support.errors import optional
from nsse._support.files import replacing
from nsse.report.palette import INK, PAPER


def require_matplotlib() -> None:
    """Say which extra is missing, if it is; for callers with long work before the first figure.

    See Also
    --------
    nsse.report.save_figure : Writes what matplotlib drew.

    Examples
    --------
    >>> from nsse.report import require_matplotlib
    >>> require_matplotlib()
    """
    optional("matplotlib.figure", "Figures need matplotlib", "plot")


def new_figure(width: float, height: float) -> Any:
    """Empty page; matplotlib is imported at use."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


def place_axes(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes without ticks or frame."""
    across, up = figure.get_size_inches()
    axes = figure.add_axes((left / across, bottom / up, width / across, height / up))
    strip_axes(axes)
    return axes


def strip_axes(axes: Any) -> None:
    """Take ticks and frame away."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def write_title(figure: Any, left: float, text: str) -> None:
    """What a page is about, at its top; in smaller letters where the page is narrow."""
    across, up = figure.get_size_inches()
    style = {"fontsize": 14, "weight": "bold", "color": INK, "va": "top", "parse_math": False}
    title = figure.text(left / across, 1 - 0.3 / up, text, **style)
    room = (across - 1.7 * left) * figure.dpi
    title.set_fontsize(14 * min(1.0, room / title.get_window_extent().width))


def write(figure: Any, left: float, bottom: float, text: str, **style: Any) -> None:
    """Text at a place; names of classes may hold a $, which is not mathematics here."""
    across, up = figure.get_size_inches()
    figure.text(left / across, bottom / up, text, parse_math=False, **style)


def save_figure(figure: Any, path: Path, kind: str) -> None:
    """Write a figure as PNG, SVG or PDF, whole or not at all; the same figure, the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to write.
    path : Path
        Where to; its suffix does not matter.
    kind : {"png", "svg", "pdf"}
        The format.

    See Also
    --------
    nsse.SmoothEmbedding.plot : A figure to write.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nsse.report import save_figure
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(model.plot().figure, Path(folder) / "irises.png", "png")
    """
    from matplotlib import rc_context

    dated = {"svg": "Date", "pdf": "CreationDate"}
    metadata = {dated[kind]: None} if kind in dated else None
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "nsse"}):
        figure.savefig(temporary, format=kind, dpi=200, metadata=metadata)
