"""The page of certified accuracy, in Markdown. Every number is made of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from reproduction.certified.methods import RADII
from reproduction.rows import Row, markdown, write_text

HERE = Path(__file__).resolve().parent
TITLES = {"mnist": "MNIST", "digits": "digits", "orl": "ORL", "coil20": "COIL-20"}
TITLES |= {"spectra_wine": "spectra of wine", "spectra_coffee": "spectra of coffee"}
AT_RADIUS, AT_ACCURACY = "SmoothEmbedding, tuned for the radius", "SmoothEmbedding, tuned for accuracy"
LINES = (
    AT_RADIUS,
    AT_ACCURACY,
    "SmoothEmbeddingCV, default",
    "1-NN, exact cells",
    "linear SVM, tuned for the radius",
    "logistic regression, tuned for the radius",
)
# Method, and whether its parameters were chosen for the radius, by line.
SOURCES = dict(
    zip(
        LINES,
        (
            ("SmoothEmbedding", True),
            ("SmoothEmbedding", False),
            ("SmoothEmbeddingCV", False),
            ("1-NN", False),
            ("linear SVM", True),
            ("logistic regression", True),
        ),
        strict=True,
    )
)


def publish(rows: Sequence[Row], page: Path) -> None:
    """Write the page of some rows."""
    if not rows:
        raise ValueError("`--out` must hold rows. Got none. Run the command without --page first.")
    write_text(page, text_of(rows))
    print(f"Page: {page}")


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """Return accuracies: one line for every row, every line of the tables and every radius."""
    lines = []
    for row in rows:
        for line, (method, is_tuned) in SOURCES.items():
            if row.task.method == method:
                for radius in (0.0, *RADII):
                    found = row.details["tuned"][str(radius if is_tuned else 0.0)]
                    lines.append(
                        {
                            "dataset": row.task.dataset,
                            "size": row.task.n_train,
                            "split": row.task.seed,
                            "line": line,
                            "radius": radius,
                            "certified": found["certified"][str(radius)],
                            "attacked": found["attacked"][str(radius)],
                        }
                    )
    return pd.DataFrame(lines)


def text_of(rows: Sequence[Row]) -> str:
    """Return the page in Markdown."""
    frame = frame_of(rows)
    experiments = frame[["dataset", "size"]].drop_duplicates()
    n_splits = frame["split"].nunique()
    return (
        (HERE / "certified.md")
        .read_text(encoding="utf-8")
        .format(
            n_experiments=len(experiments),
            splits=f"{n_splits} random split{'s' * (n_splits != 1)}",
            rows=len(rows),
            sizes=", ".join(str(size) for size in sorted(frame["size"].unique())),
            mnist=_mnist(frame),
            wins=_wins(frame),
            tables="\n\n".join(_tables(frame)),
        )
    )


def _tables(frame: pd.DataFrame) -> Iterable[str]:
    for name, title in TITLES.items():
        for size, part in frame[frame["dataset"] == name].groupby("size"):
            yield f"### {title}, {size} samples per class\n\n{table_of(part)}"


def table_of(part: pd.DataFrame) -> str:
    """Return certified accuracies in percent, and attacked ones in parentheses, by radius."""
    means = part.groupby(["line", "radius"])[["certified", "attacked"]].mean()
    best = means["certified"].groupby("radius").max()
    lines = []
    for line in LINES:
        if line in means.index:
            shown = [_cell(means.loc[line, radius], best[radius]) for radius in (0.0, *RADII)]
            lines.append([line, *shown])
    return markdown(["certified % (attacked %)", "accuracy", *map(str, RADII)], lines)


def _cell(means: pd.Series, best: float) -> str:
    certified, attacked = (f"{100 * means[key]:.1f}" for key in ("certified", "attacked"))
    shown = f"**{certified}**" if 0.0 < best <= means["certified"] + 1e-12 else certified
    return shown if certified == attacked else f"{shown} ({attacked})"


def _mnist(frame: pd.DataFrame) -> str:
    """State the certified accuracy of ours and of 1-NN on MNIST, 10 per class, at radius 0.5."""
    part = frame[(frame["dataset"] == "mnist") & (frame["size"] == 10) & (frame["radius"] == 0.5)]
    means = part.groupby("line")["certified"].mean()
    if not {AT_RADIUS, "1-NN, exact cells"} <= set(means.index):
        return "MNIST with 10 labels per class was not measured."
    return (
        f"On MNIST with 10 labels per class, `SmoothEmbedding` certifies {100 * means[AT_RADIUS]:.1f} % "
        f"of the test images at radius 0.5. The exact cells of 1-NN certify "
        f"{100 * means['1-NN, exact cells']:.1f} %."
    )


def _wins(frame: pd.DataFrame) -> str:
    """Return, by radius, in how many experiments each line certifies most."""
    means = frame.groupby(["dataset", "size", "radius", "line"])["certified"].mean().unstack("line")
    means = means.dropna()
    is_best = means.ge(means.max(axis=1) - 1e-12, axis=0) & (means > 0.0)
    counts = is_best.groupby("radius").sum()
    lines = [
        [line, *(str(int(counts.loc[radius, line])) for radius in counts.index)]
        for line in LINES
        if line in counts
    ]
    head = ["experiments with the largest certified accuracy"]
    return markdown([*head, *("accuracy" if not r else str(r) for r in counts.index)], lines)
