"""Write the report on the front page while the site is built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

from nsse import SmoothEmbedding
from nsse.datasets import load_dataset
from nsse.report import Samples, write_report

# Training images of each digit, and new images of each digit.
LEARNED, SHOWN = 12, 15


def write(app: Sphinx, failed: Exception | None) -> None:
    """Write `digits.html`, which the front page shows."""
    if failed or app.builder.name != "html":
        return
    data = load_dataset("digits")
    order = np.random.default_rng(0).permutation(len(data.y))
    of_class = [order[data.y[order] == label] for label in np.unique(data.y)]
    train = np.concatenate([rows[:LEARNED] for rows in of_class])
    shown = np.concatenate([rows[LEARNED : LEARNED + SHOWN] for rows in of_class])
    X = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    model = SmoothEmbedding().fit(X[train], data.y[train])
    write_report(
        Path(app.outdir) / "digits.html",
        model,
        Samples(X[shown], data.y[shown]),
        preparation={"kind": "images", "size": (8, 8), "unit_norm": True},
        title="Handwritten digits, embedded",
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the report with Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
