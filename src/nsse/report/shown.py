"""What a notebook shows of a figure or a report: a picture, or the page in a frame."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from nsse._support.errors import rule_error

Frame = dict[str, list[Any]]

# Points of a figure per inch on the screen, and how many pixels are drawn for each.
SCREEN, SHARP = 72, 2
# Beyond, a notebook would carry more than it should: it says where the file is.
INLINE_BYTES = 16_000_000
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
# How high the page stands in a notebook.
_HEIGHT = "46rem"


class Plot(tuple[Any, Frame]):
    """A figure and the frame it is drawn from; a notebook shows the figure.

    ``figure, frame = model.plot()`` takes it apart.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        Write it with ``figure.savefig``.
    frame : dict of lists
        Columns by name.

    See Also
    --------
    nsse.NSSE.plot : Gives one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import NSSE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE().fit(X[::3], y[::3])
    >>> figure, frame = model.plot(X, y)
    >>> type(figure).__name__
    'Figure'
    """

    is_alone: bool

    def __new__(cls, figure: Any, frame: Frame, is_alone: bool = True) -> Plot:
        """Put both together; what is drawn on the axes of another's figure is shown with that."""
        plot = super().__new__(cls, (figure, frame))
        plot.is_alone = is_alone
        return plot

    @property
    def figure(self) -> Any:
        """The figure."""
        return self[0]

    @property
    def frame(self) -> Frame:
        """The frame it is drawn from."""
        return self[1]

    def __getnewargs__(self) -> tuple[Any, Frame, bool]:
        return self[0], self[1], self.is_alone

    def __repr__(self) -> str:
        n_rows = len(next(iter(self.frame.values()), []))
        names = list(self.frame)
        columns = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        return f"Plot: .figure, and .frame with {n_rows} rows of {columns}"

    def _repr_png_(self) -> tuple[bytes, dict[str, float]] | None:
        if not self.is_alone:
            return None
        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=SHARP * SCREEN)
        width, height = self.figure.get_size_inches() * SCREEN
        return file.getvalue(), {"width": float(width), "height": float(height)}


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
