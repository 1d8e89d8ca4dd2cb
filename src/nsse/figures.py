"""Lay out figures in inches, and define `Plot`, which shows and saves a figure.

Figures are made without pyplot, so that none is shown or kept in memory before the user calls ``show``.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from nsse._support.errors import optional, rule_error
from nsse._support.files import replacing
from nsse._support.frames import Frame, as_frame
from nsse.palette import FAINT, INK, MUTED_INK, PAPER

# Points of a figure per inch on the screen, and the number of pixels for each of them.
SCREEN, SHARP = 72, 2
FORMATS = (".png", ".svg", ".pdf")


class Plot(tuple[Any, Frame]):
    """A figure and the frame that it is drawn from.

    A notebook shows the figure. In a script, call `show` or `save`. With pyplot, ``plt.show()`` also
    shows it. ``figure, frame = model.plot(X, y)`` returns both parts.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    frame : pandas.DataFrame or dict of lists
        The numbers that are drawn, as columns by name. It is a dict if pandas is not installed.

    See Also
    --------
    nsse.SmoothEmbedding.plot : Returns a plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> model.plot(X, y).save("map.png")
    """

    is_alone: bool

    def __new__(cls, figure: Any, columns: Any, is_alone: bool = True) -> Plot:
        """Join both parts. If the axes belong to a figure of the user, that figure shows them."""
        plot = super().__new__(
            cls, (figure, as_frame(columns) if isinstance(columns, dict) else columns)
        )
        plot.is_alone = is_alone
        pyplot = sys.modules.get("matplotlib.pyplot")
        # The inline backend of a notebook would show the figure a second time.
        if is_alone and pyplot is not None and "inline" not in pyplot.get_backend():
            _register(figure, pyplot)
        return plot

    @property
    def figure(self) -> Any:
        """The figure."""
        return self[0]

    @property
    def frame(self) -> Frame:
        """The frame that it is drawn from."""
        return self[1]

    def show(self) -> None:
        """Show the figure in a window, or as the backend of pyplot shows figures."""
        require_matplotlib()
        from matplotlib import pyplot

        _register(self.figure, pyplot)
        pyplot.show()

    def save(self, path: str | Path) -> None:
        """Write the figure to a file.

        Parameters
        ----------
        path : str or Path
            The file. Its suffix determines the format: ``.png``, ``.svg`` or ``.pdf``.
        """
        kind = Path(path).suffix.lower()
        if kind not in FORMATS:
            rule, cure = f"end in {', '.join(FORMATS)}", "Name it figure.png."
            raise rule_error("path", rule, str(path), cure)
        save_figure(self.figure, Path(path), kind[1:])

    def __getnewargs__(self) -> tuple[Any, Frame, bool]:
        return self[0], self[1], self.is_alone

    def __repr__(self) -> str:
        names = list(self.frame)
        n_rows = len(self.frame[names[0]]) if names else 0
        columns = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        return f"Plot with .show(), .save(path), .figure and .frame ({n_rows} rows of {columns})"

    def _repr_png_(self) -> tuple[bytes, dict[str, float]] | None:
        if not self.is_alone:
            return None
        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=SHARP * SCREEN)
        width, height = self.figure.get_size_inches() * SCREEN
        return file.getvalue(), {"width": float(width), "height": float(height)}


def _register(figure: Any, pyplot: Any) -> None:
    """Add a figure once to the figures that pyplot shows."""
    if figure.canvas.manager is None:
        pyplot.figure(FigureClass=lambda **_: figure)


def require_matplotlib() -> None:
    """Raise an error that names the missing extra if matplotlib is not installed."""
    optional("matplotlib.figure", "Figures need matplotlib", "plot")


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


def place_axes(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Return axes without ticks and frame at a place in inches."""
    across, up = figure.get_size_inches()
    axes = figure.add_axes((left / across, bottom / up, width / across, height / up))
    strip_axes(axes)
    return axes


def chart_axes(ax: Any, title: str, width: float = 7.0, height: float = 4.4) -> Any:
    """Return the axes of the user for a chart, or the axes of a new figure with this title."""
    if ax is not None:
        check_axes(ax)
        strip_axes(ax)
        quiet_axes(ax)
        name_axes(ax, title)
        return ax
    figure = new_figure(width, height)
    write_title(figure, 0.55, title)
    axes = place_axes(figure, 0.9, 0.85, width - 1.6, height - 1.8)
    quiet_axes(axes)
    return axes


def check_axes(ax: Any) -> None:
    """Raise an error if ``ax`` is not the axes of a figure."""
    if not all(hasattr(ax, name) for name in ("scatter", "set_title", "figure")):
        cure = "Pass an Axes, as `plt.subplots()` returns them, or None for a new figure."
        raise rule_error("ax", "be the axes of a matplotlib figure", ax, cure)


def strip_axes(axes: Any) -> None:
    """Remove ticks and frame."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def quiet_axes(axes: Any) -> None:
    """Draw two thin lines, faint horizontal grid lines and small numbers."""
    for side in ("left", "bottom"):
        axes.spines[side].set(visible=True, color=FAINT)
    axes.tick_params(colors=MUTED_INK, labelsize=8.5, length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def label_axes(axes: Any, x: str, y: str) -> None:
    """Name both axes."""
    axes.set_xlabel(x, fontsize=9, color=MUTED_INK)
    axes.set_ylabel(y, fontsize=9, color=MUTED_INK)


def scale_axes(axes: Any, x: str, y: str) -> None:
    """Name both axes, and put a few round numbers on them."""
    from matplotlib.ticker import MaxNLocator

    label_axes(axes, x, y)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(4))


def name_axes(axes: Any, title: str) -> None:
    """Write a title above axes. A $ in the name of a class does not start a formula."""
    style = {"loc": "left", "fontsize": 10.5, "weight": "bold", "color": INK, "parse_math": False}
    axes.set_title(title, **style)


def note(
    axes: Any, words: str, at: tuple[Any, Any], offset: tuple[int, int], color: str, **own: Any
) -> None:
    """Write words at a distance, in points, from a place on the axes."""
    on_paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}  # hides grid lines below words
    style = {"fontsize": 9.5, "va": "bottom", "bbox": on_paper} | own
    axes.annotate(words, at, offset, textcoords="offset points", color=color, **style)


def write_title(figure: Any, left: float, text: str, size: float = 14.0) -> None:
    """Write the title of a figure, in a smaller font if the figure is narrow."""
    across, up = figure.get_size_inches()
    style = {"fontsize": size, "weight": "bold", "color": INK, "va": "top", "parse_math": False}
    title = figure.text(left / across, 1 - 0.3 / up, text, **style)
    room = (across - 1.7 * left) * figure.dpi
    title.set_fontsize(size * min(1.0, room / title.get_window_extent().width))


def write(figure: Any, left: float, bottom: float, text: str, **style: Any) -> None:
    """Write text at a place in inches. A $ in the name of a class does not start a formula."""
    across, up = figure.get_size_inches()
    figure.text(left / across, bottom / up, text, parse_math=False, **style)


def save_figure(figure: Any, path: Path, kind: str) -> None:
    """Write a figure as "png", "svg" or "pdf". Equal figures give equal bytes."""
    from matplotlib import rc_context

    dated = {"svg": "Date", "pdf": "CreationDate"}
    metadata = {dated[kind]: None} if kind in dated else None
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "nsse"}):
        figure.savefig(temporary, format=kind, dpi=200, metadata=metadata)
