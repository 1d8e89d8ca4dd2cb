"""Size and speed of the report with 60,000 points, in a real browser.

    python benchmarks/report_page.py [--points 60000] [--out page.html]

Digits with noise, most of them laid over a model of 1000: seconds to write the page, its bytes, seconds
to open it, milliseconds per frame while the embedding turns, and to find the point under the pointer.
Chromium is run without a graphics card: the processor computes every point and pixel. Needs the test
extra and Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from browser import Page, running_browser
from nsse import SmoothEmbedding
from nsse.report import Samples, write_report

N_TRAIN = 1000
# Milliseconds per call with all pixels done, by reading one of them back.
FRAMES = """
const s = window.nsse.stage, context = s.scatter.context, n = 20;
const timed = (work) => {
  const begin = performance.now();
  for (let k = 0; k < n; k++) work(k);
  return (performance.now() - begin) / n;
};
const frame = (every) => timed(() => {
  s.view.rotate(6, 1);
  Object.assign(s, { every, inMotion: every > 1 });
  s.draw();
  context.getImageData(0, 0, 1, 1);
});
return [frame(1), frame(16), timed((k) => s.pick(10 * k, 200)), s.width, s.height];
"""


def noisy_digits(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(X), n_points)
    return np.clip(X[chosen] / 16.0 + 0.05 * rng.standard_normal((n_points, 64)), 0, 1), y[chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60_000)
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    X, y = noisy_digits(arguments.points)
    model = SmoothEmbedding().fit(X[:N_TRAIN], y[:N_TRAIN])
    with tempfile.TemporaryDirectory() as folder:
        path = (arguments.out or Path(folder) / "page.html").resolve()
        begin = time.perf_counter()
        summary = write_report(
            path,
            model,
            Samples(X[N_TRAIN:], y[N_TRAIN:]),
            preparation={"kind": "images", "size": [8, 8], "unit_norm": False},
        )
        written = time.perf_counter() - begin
        with running_browser() as driver:
            begin = time.perf_counter()
            page = Page(driver, path)
            opened = time.perf_counter() - begin
            print(
                f"{summary.n_train + summary.n_shown:,} points, {summary.bytes / 1e6:.1f} MB, "
                f"written in {written:.1f} s, opened in {opened:.1f} s"
            )
            for view in ("all", "2d", "3d"):
                page.click(f"[data-view='{view}']")
                frame, coarse, pick, width, height = page.js(FRAMES)
                print(
                    f"view {view}: {frame:.1f} ms per frame of {width:.0f} × {height:.0f} pixels, "
                    f"{coarse:.1f} ms with one point in 16, as drawn while a slow page moves, "
                    f"{pick:.1f} ms to find the point under the pointer"
                )


if __name__ == "__main__":
    main()
