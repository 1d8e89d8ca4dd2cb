"""The pictures of the explanations: first figures of examples, in the style of the gallery.

    python benchmarks/example_pictures.py [--out docs/images]

The pictures are files of the repository, so that the pages show them without a built site.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

ROOT = Path(__file__).parents[1]
PICTURES = {
    "what_the_map_does": "plot_02_what_the_map_does",
    "metric": "plot_05_metric",
    "certified_radii": "plot_08_certified_radii",
}


def main(argv: Sequence[str] | None = None) -> list[Path]:
    """Run the examples and save their first figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    folder = parser.parse_args(argv).out
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    from house_style import reset

    written = []
    for picture, example in PICTURES.items():
        reset(None, picture)
        runpy.run_path(str(ROOT / "examples" / f"{example}.py"))
        path = folder / f"{picture}.png"
        plt.figure(1).savefig(path, dpi=110)
        plt.close("all")
        written.append(path)
    return written


if __name__ == "__main__":
    for path in main():
        print(path)
