"""The figure of small multiples: positions of unseen samples by several maps, drawn by one rule.

Every panel shows the first two coordinates of the same test samples. They are moved to the middle and
divided by one number, so that the farthest sample is at the border. Colors are classes,
and the number below a panel is the share of test samples that five neighbors label right.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from nsse._support.types import Floats
from nsse.palette import class_colors
from reproduction.maps import measures, sets
from reproduction.maps.methods import METHODS
from reproduction.paper.figures import FAINT, INK, MUTED
from reproduction.rows import write_text
from reproduction.study.study import standardised

# Images, a table and features of a network, with names for readers.
SHOWN = {"digits": "digits", "treeData": "table treeData", "embedded_flowers": "flowers, embedded"}
# Maps, by the methods that they are of.
MAPS = {
    "supervised UMAP": "supervised UMAP",
    "LDA": "LDA",
    "LDA class map": "LDA class map",
    "SmoothEmbeddingCV": "SmoothEmbeddingCV",
    "SmoothEmbeddingCV class map": "SmoothEmbeddingCV",
}
MOST_SHOWN, SIZE = 300, 20


def positions(names: Sequence[str] = tuple(SHOWN), maps: Mapping[str, str] = MAPS) -> pd.DataFrame:
    """Return positions of test samples of the first split, one line for each sample and map.

    ``maps`` are names of maps with the names of their methods.
    """
    frames = []
    for name in names:
        X, y = sets.samples(name)
        train, test = sets.draw(y, SIZE, 0)
        own, new = standardised(X[train], X[test])
        # Test samples are in the order of the file, which is often that of the classes.
        drawn = np.random.default_rng(0).permutation(len(test))[:MOST_SHOWN]
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {
                one.name: one
                for method in dict.fromkeys(maps.values())
                for one in METHODS[method](own, y[train], 2)
            }
        for map_name in maps:
            one = found[map_name]
            F = one.place(new)
            right = measures.accuracy(one.train, y[train], F, y[test])
            part = pd.DataFrame(in_square(F[drawn]), columns=["x", "y"]).round(3)
            frames.append(
                part.assign(dataset=name, map=map_name, label=y[test][drawn], accuracy=round(right, 4))
            )
    return pd.concat(frames, ignore_index=True)


def in_square(F: Floats) -> Floats:
    """Return the first two coordinates, centered and divided by one number, within ± 1.

    A map of one coordinate has 0 as its second.
    """
    F = np.pad(F, ((0, 0), (0, max(0, 2 - F.shape[1]))))[:, :2]
    F = F - (F.min(axis=0) + F.max(axis=0)) / 2.0
    reach = np.abs(F).max()
    return np.asarray(F / (reach if reach > 0 else 1.0))


def stored_positions(path: Path) -> pd.DataFrame:
    """Return the positions in a file, which is written if it is missing."""
    if not path.exists():
        write_text(path, positions().to_csv(index=False, lineterminator="\n"))
    return pd.read_csv(path)


def figure_of(frame: pd.DataFrame) -> Figure:
    """Return the figure: a row for every data set, a column for every map."""
    names, maps = list(frame["dataset"].unique()), list(frame["map"].unique())
    size = 2.1 * len(maps) + 0.3, 2.3 * len(names) + 0.3
    figure = Figure(size, facecolor="white", layout="constrained")
    panels = figure.subplots(len(names), len(maps), squeeze=False)
    for row, name in enumerate(names):
        for column, map_name in enumerate(maps):
            part = frame[(frame["dataset"] == name) & (frame["map"] == map_name)]
            _draw(panels[row, column], part)
            if row == 0:
                title = map_name.replace(" class map", "\nclass map")
                panels[row, column].set_title(title, fontsize=9.5, color=INK, weight="bold", pad=9)
            if column == 0:
                panels[row, column].set_ylabel(SHOWN.get(name, name), fontsize=9.5, color=INK)
    return figure


def _draw(axes: Any, part: pd.DataFrame) -> None:
    codes = np.unique(part["label"], return_inverse=True)[1]
    colors = np.asarray(class_colors(int(codes.max()) + 1), dtype=object)[codes]
    axes.scatter(part["x"], part["y"], s=10, c=list(colors), linewidths=0)
    limits = (-1.12, 1.12)
    axes.set(xlim=limits, ylim=limits, xticks=[], yticks=[], aspect="equal")
    axes.set_xlabel(f"{100 * part['accuracy'].iloc[0]:.0f} %", fontsize=9, color=MUTED)
    for side in axes.spines.values():
        side.set_color(FAINT)
