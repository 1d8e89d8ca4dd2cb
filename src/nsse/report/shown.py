"""What is shown of a figure or a report: a picture in a notebook, a window of a script, the page."""

from __future__ import annotations

import base64
import sys
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from nsse._support.errors import rule_error
from nsse.report.page import require_matplotlib, save_figure

Frame = Any  # a pandas.DataFrame, or a dict of lists where pandas is not installed

# Points of a figure per inch on the screen, and how many pixels are drawn for each.
SCREEN, SHARP = 72, 2
# Beyond, a notebook would carry more than it should: it says where the file is.
INLINE_BYTES = 16_000_000
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
_FORMATS = (".png", ".svg", ".pdf")
# How high the page stands in a notebook.
_HEIGHT = "46rem"


class Plot(tuple[Any, Frame]):
    """A figure and the frame it is drawn from; a notebook shows the figure.

    ``figure, frame = model.plot()`` takes it apart. In a script that uses pyplot, ``plt.show()`` shows
    it, as `show` does anywhere.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    frame : pandas.DataFrame or dict of lists
        What it is drawn from, columns by name; a dict where pandas is not installed.

    See Also
    --------
    nsse.SmoothEmbedding.plot : Gives one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> figure, frame = model.plot(X, y)
    >>> type(figure).__name__
    'Figure'
    """

    is_alone: bool

    def __new__(cls, figure: Any, columns: Any, is_alone: bool = True) -> Plot:
        """Put both together; what is drawn on the axes of another's figure is shown with that."""
        plot = super().__new__(cls, (figure, _as_frame(columns)))
        plot.is_alone = is_alone
        pyplot = sys.modules.get("matplotlib.pyplot")
        # A notebook's own backend would show the figure a second time.
        if is_alone and pyplot is not None and "inline" not in pyplot.get_backend():
            _make_known(figure, pyplot)
        return plot

    @property
    def figure(self) -> Any:
        """The figure."""
        return self[0]

    @property
    def frame(self) -> Frame:
        """What it is drawn from."""
        return self[1]

    def show(self) -> None:
        """Show the figure, in a window or wherever pyplot's backend shows figures."""
        require_matplotlib()
        from matplotlib import pyplot

        _make_known(self.figure, pyplot)
        pyplot.show()

    def save(self, path: str | Path) -> None:
        """Write the figure.

        Parameters
        ----------
        path : str or Path
            Where to; its suffix says the format, ``.png``, ``.svg`` or ``.pdf``.
        """
        kind = Path(path).suffix.lower()
        if kind not in _FORMATS:
            rule, cure = f"end in {', '.join(_FORMATS)}", "Name it figure.png."
            raise rule_error("path", rule, str(path), cure)
        save_figure(self.figure, Path(path), kind[1:])

    def __getnewargs__(self) -> tuple[Any, Frame, bool]:
        return self[0], self[1], self.is_alone

    def __repr__(self) -> str:
        names = list(self.frame)
        n_rows = len(self.frame[names[0]]) if names else 0
        columns = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        return f"Plot: .show(), .save(path), .figure, .frame with {n_rows} rows of {columns}"

    def _repr_png_(self) -> tuple[bytes, dict[str, float]] | None:
        if not self.is_alone:
            return None
        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=SHARP * SCREEN)
        width, height = self.figure.get_size_inches() * SCREEN
        return file.getvalue(), {"width": float(width), "height": float(height)}


def _as_frame(columns: Any) -> Frame:
    if not isinstance(columns, dict) or find_spec("pandas") is None:
        return columns
    from pandas import DataFrame

    return DataFrame(columns)


def _make_known(figure: Any, pyplot: Any) -> None:
    """Put a figure among those that pyplot shows, once."""
    if figure.canvas.manager is None:
        pyplot.figure(FigureClass=lambda **_: figure)


def check_axes(ax: Any) -> None:
    """Refuse what nothing can be drawn on."""
    if not all(hasattr(ax, name) for name in ("scatter", "set_title", "figure")):
        cure = "Pass an Axes, as `plt.subplots()` makes them, or None for a figure of its own."
        raise rule_error("ax", "be the axes of a matplotlib figure", ax, cure)


def report_in_notebook(path: Path, n_bytes: int) -> str:
    """A report as HTML for a notebook: the page in a frame from which it cannot reach the notebook."""
    name = escape(str(path))
    if not path.is_file():
        return f"<p>The report {name} is not there any more.</p>"
    if n_bytes > INLINE_BYTES:
        return f"<p>The report is {n_bytes / 1e6:.0f} MB: open {name} in a browser.</p>"
    kind = _KINDS.get(path.suffix.lower())
    if kind is not None:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        return f'<img alt="{name}" style="max-width: 100%" src="data:{kind};base64,{data}">'
    page = escape(path.read_text(encoding="utf-8"))
    style = f"width: 100%; height: {_HEIGHT}; border: 0"
    return f'<iframe title="{name}" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'
