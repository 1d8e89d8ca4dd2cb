"""Give figures of the gallery the style of `nsse.report`, so that examples contain no style."""

from __future__ import annotations

from typing import Any

from nsse.palette import FAINT, INK, MUTED_INK, class_colors
from nsse.plot import Plot

STYLE = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "font.size": 10,
    "text.color": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED_INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "xtick.color": MUTED_INK,
    "ytick.color": MUTED_INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def reset(_gallery_conf: Any, _name: str) -> None:
    """Reset the style before every example."""
    import matplotlib.pyplot as plt
    from cycler import cycler

    plt.rcdefaults()
    plt.rcParams.update(STYLE | {"axes.prop_cycle": cycler(color=class_colors(10))})


def without_repr(_block: Any, block_vars: Any, _gallery_conf: Any) -> str:
    """Drop the repr of a `Plot`, because the gallery already shows its figure."""
    names = block_vars["example_globals"]
    if isinstance(names.get("___"), Plot):
        names["___"] = None
    return ""
