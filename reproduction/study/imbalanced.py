"""The page of imbalanced tables: mean ranks, errors and seconds of every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.rows import Row, write_text
from reproduction.study.methods import IMBALANCED_PLAIN, IMBALANCED_TUNED
from reproduction.study.page import rank_table
from reproduction.study.results import Results, frame_of

OURS = ("SmoothEmbeddingCV()", "SmoothEmbedding()")


def publish(rows: Sequence[Row], page: Path) -> None:
    """Write the page of these rows."""
    frame = frame_of(rows)
    tuned, plain, ours = (Results.of(frame, own) for own in (IMBALANCED_TUNED, IMBALANCED_PLAIN, OURS))
    template = Path(__file__).with_name("imbalanced.md").read_text(encoding="utf-8")
    text = template.format(
        n_tables=len(tuned.names),
        n_splits=tuned.n_splits,
        tuned=rank_table(tuned, {"mean rank": tuned}),
        plain=rank_table(plain, {"mean rank": plain}),
        ratio=ours.ratio(*OURS),
    )
    write_text(page, text)
    print(f"Page: {page}")
