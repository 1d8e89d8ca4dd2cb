"""The picture of the report in the documentation: a real page in a real browser.

    python benchmarks/report_picture.py [--out docs/images/report.png]

The page shows handwritten digits, twenty of each to learn from; one mislabelled sample is chosen and put
through the live map, if the page carries it. Needs the test extra and Debian's chromium and
chromium-driver.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

import nsse  # noqa: E402
from browser import Page, running_browser  # noqa: E402
from nsse.datasets import load_inputs_like  # noqa: E402
from nsse.io import read_header  # noqa: E402

COLORS = 256  # enough for a page of few hues, and a third of the bytes


COMMANDS = (
    ("datasets", "digits", "--train", "20", "--out", "digits"),
    ("fit", "digits/train", "--size", "8x8", "--augment", "shift", "--out", "digits.nsse"),
    ("report", "digits.nsse", "digits/test", "--title", "Handwritten digits", "--out", "digits.html"),
)


def write_page(folder: Path) -> int:
    """The report; returns the point of a mislabelled sample."""
    for command in COMMANDS:
        subprocess.run([sys.executable, "-m", "nsse", *command], cwd=folder, check=True)
    model = nsse.load(folder / "digits.nsse")
    preparation = read_header(folder / "digits.nsse").metadata
    inputs = load_inputs_like(folder / "digits" / "test", preparation, labeled=True)
    wrong = np.flatnonzero(model.predict(inputs.X) != inputs.y)
    return int(len(model.embedding_) + wrong[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "report.png")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_browser("--hide-scrollbars") as driver:
        point = write_page(Path(folder))
        driver.set_window_size(1400, 1720)
        page = Page(driver, Path(folder) / "digits.html")
        page.js(
            "const { stage, live } = window.nsse; stage.select(arguments[0]); live?.takeSelected()",
            point,
        )
        page.js("window.scrollTo(0, 0)")
        page.settle()
        picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    few = picture.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(arguments.out, optimize=True)
    print(f"{arguments.out.name}: {arguments.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
