"""How figures of the gallery look: as those of `nsse.report`. An example need not say so itself."""

from __future__ import annotations

from typing import Any

from nsse.report import Plot, class_colors, save_figure
from nsse.report.palette import FAINT, INK, MUTED_INK

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
    """Give every example the same start."""
    import matplotlib.pyplot as plt
    from cycler import cycler

    plt.rcdefaults()
    plt.rcParams.update(STYLE | {"axes.prop_cycle": cycler(color=class_colors(10))})


def plots(block: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Show the `Plot` that a block makes: pyplot does not know its figure."""
    from sphinx_gallery.scrapers import figure_rst

    names = block_vars["example_globals"]
    found = names.get("___")
    if not isinstance(found, Plot) or not found.is_alone:
        return ""
    names["___"] = None  # else its repr would follow the picture
    path = next(block_vars["image_path_iterator"])
    save_figure(found.figure, path, "png")
    return figure_rst([path], gallery_conf["src_dir"])
