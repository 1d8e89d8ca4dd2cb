"""Run the Python of pages, and write what it prints behind each block.

    python release/outputs.py docs/howto/plot.md docs/tutorials/table.md

A block of text directly behind a block of Python is its output. `tests/test_pages.py` checks that the
two agree. Use this command after a change that changes what a page prints, and read the difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def with_outputs(text: str) -> str:
    """Return the text of a page with what its blocks print now."""
    names: dict[str, object] = {}

    def run(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(found[1], names)
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        return f"```python\n{found[1]}```\n" + (f"\n```text\n{lines}```\n" if lines else "")

    return BLOCK.sub(run, text)


def main() -> None:
    """Write the outputs of the pages that are named."""
    os.environ.setdefault("MPLBACKEND", "agg")
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for page in pages:
            before = page.read_text(encoding="utf-8")
            after = with_outputs(before)
            if after != before:
                page.write_text(after, encoding="utf-8")
                print(f"written: {page.name}")


if __name__ == "__main__":
    main()
