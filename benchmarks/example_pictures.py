"""Draw the images of the README and of the explanations, which are first figures of examples.

    python benchmarks/example_pictures.py [--out docs/images] [--only new_digits]

The images are files of the repository, so that the pages show them without a built site. The description
in each file contains the titles of the axes and what the example prints, which a test compares with the
text of the page.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

ROOT = Path(__file__).parents[1]
PICTURES = {
    "new_digits": "plot_03_beside_supervised_umap",
    "what_the_map_does": "plot_02_what_the_map_does",
    "metric": "plot_05_metric",
    "certified_radii": "plot_08_certified_radii",
}


def main(argv: Sequence[str] | None = None) -> list[Path]:
    """Run the examples and save their first figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--only", nargs="*", choices=list(PICTURES), default=list(PICTURES))
    options = parser.parse_args(argv)
    return [save(picture, options.out) for picture in options.only]


def save(picture: str, folder: Path) -> Path:
    """Run an example, and save its first figure with a description of what it shows."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    from house_style import reset

    reset(None, picture)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples" / f"{PICTURES[picture]}.py"))
    figure, path = plt.figure(1), folder / f"{picture}.png"
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    description = "\n".join([*titles, printed.getvalue()]).strip()
    figure.savefig(path, dpi=110, metadata={"Description": description})
    plt.close("all")
    return path


if __name__ == "__main__":
    for path in main():
        print(path)
