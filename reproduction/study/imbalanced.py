"""The page of imbalanced tables: mean ranks, errors and seconds of every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.rows import Row, write_text
from reproduction.study.methods import IMBALANCED_PLAIN, IMBALANCED_TUNED
from reproduction.study.page import rank_table, splits_of
from reproduction.study.reading import read

OURS = ("SmoothEmbeddingCV()", "SmoothEmbedding()")


def publish(rows: Sequence[Row], page: Path) -> None:
    """Write the page of some rows."""
    tuned, plain, ours = (read(rows, own) for own in (IMBALANCED_TUNED, IMBALANCED_PLAIN, OURS))
    template = Path(__file__).with_name("imbalanced.md").read_text(encoding="utf-8")
    text = template.format(
        n_tables=len(tuned.names),
        splits=splits_of(tuned),
        tuned=rank_table(tuned),
        plain=rank_table(plain),
        ratio=ours.ratio(*OURS),
        worse="{} of {}".format(*ours.worse(*OURS)),
    )
    write_text(page, text)
    print(f"Page: {page}")
