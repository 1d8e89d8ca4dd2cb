"""The report on the front page: written by the library while the site is built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

from nsse import NSSE
from nsse.datasets import load_dataset
from nsse.evaluation import per_class_split
from nsse.report import Samples, write_report

# Pictures of a solid to learn from, and to show beside them.
LEARNED, SHOWN = 12, 15


def write(app: Sphinx, failed: Exception | None) -> None:
    """Twenty solids, as in the README: `objects.html` beside the front page."""
    if failed or app.builder.name != "html":
        return
    data = load_dataset("objects", size=(25, 25))
    train, test = per_class_split(data.y, LEARNED, 0)
    shown = np.concatenate([test[data.y[test] == label][:SHOWN] for label in np.unique(data.y)])
    names = np.array(data.class_names)[data.y - 1]
    X = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    model = NSSE().fit(X[train], names[train])
    write_report(
        Path(app.outdir) / "objects.html",
        model,
        Samples(X[shown], names[shown]),
        preparation={"kind": "images", "size": (25, 25), "unit_norm": True},
        title="Twenty solids, embedded",
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
