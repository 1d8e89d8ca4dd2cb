"""The picture of the report in the documentation: a real page in a real browser.

    python benchmarks/report_picture.py [--out docs/images/report.png] [--page report.html]

Ten of the 72 views of each generated solid are learned, the others are laid over them; one mislabelled
sample is chosen and put through the live map. Needs the test extra and Debian's chromium and
chromium-driver.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

from browser import Page, running_browser  # noqa: E402
from nsse import NSSE  # noqa: E402
from nsse.datasets import load_dataset  # noqa: E402
from nsse.report import Samples, write_report  # noqa: E402

COLORS = 256  # enough for a page of few hues, and a third of the bytes


def write_page(path: Path) -> int:
    """The report; returns the point of a mislabelled sample."""
    data = load_dataset("objects", unit_norm=True)
    names = np.array(data.class_names)[data.y - 1]
    X_train, X_test, y_train, y_test = train_test_split(
        data.X, names, train_size=200, stratify=names, random_state=0
    )
    model = NSSE().fit(X_train, y_train)
    prepared = {"kind": "images", "size": data.image_shape, "unit_norm": True}
    title = "Solids on a turning table"
    summary = write_report(path, model, Samples(X_test, y_test), preparation=prepared, title=title)
    print(f"{summary.n_train} training samples, {summary.n_shown} others, {summary.bytes / 1e6:.2f} MB")
    wrong = np.flatnonzero((model.predict(X_test) != y_test) & (y_test == "mug"))
    return int(len(X_train) + wrong[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "report.png")
    parser.add_argument("--page", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_browser("--hide-scrollbars") as driver:
        path = (arguments.page or Path(folder) / "report.html").resolve()
        point = write_page(path)
        driver.set_window_size(1400, 1330)
        page = Page(driver, path)
        page.js(
            "const { stage, live } = window.nsse; stage.select(arguments[0]); live.takeSelected()", point
        )
        page.mouse_to(point)
        page.js("window.scrollTo(0, 0)")
        page.settle()
        picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(arguments.out, optimize=True)
    print(f"{arguments.out.name}: {arguments.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
