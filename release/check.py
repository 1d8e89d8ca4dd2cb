"""What a stranger gets: the wheel and the sdist, in environments that have nothing else.

    make dist check-dist

Every environment lies outside the checkout. The wheel is installed without any part, then with each part
alone; where a part is missing, one line must say which. Then the command line from fit to export, a
consumer's mypy, the other Pythons that are found here, the citation, and the tests of the sdist.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from uses import BEFORE, CONSUMER, MISTAKEN_CONSUMER, OF_PART, WITHOUT_PARTS

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 1_000_000
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Nothing of the checkout, no display, no way out for downloads; one BLAS thread.
CLEAN = {"PYTHONPATH", "NSSE_DATA", "VIRTUAL_ENV", "PYTHONHOME"}
SET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "COLUMNS": "80"}
NO_WAY_OUT = dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9") | {
    "no_proxy": "",
    "NO_PROXY": "",
}


class Environment:
    """A virtual environment, perhaps on top of another one's packages."""

    def __init__(self, folder: Path, python: str = sys.executable, below: Environment | None = None):
        run([python, "-m", "venv", str(folder)])
        self.python = folder / "bin" / "python"
        if below:
            (self.packages() / "below.pth").write_text(f"{below.packages()}\n")

    def packages(self) -> Path:
        """Where its packages are."""
        return Path(
            run(
                [str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
            ).strip()
        )

    def install(self, *wanted: str, constrained: bool = True) -> None:
        """Install packages, in the versions that the project is tested with."""
        fixed = ["-c", str(ROOT / "constraints" / "newest.txt")] if constrained else []
        run(
            [
                str(self.python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *fixed,
                *wanted,
            ]
        )

    def program(self, text: str, folder: Path, fails: bool = False) -> str:
        """Run a program in an empty folder; what it printed, the error too if it is to fail."""
        return run([str(self.python), "-c", text], folder, fails=fails, more=NO_WAY_OUT)

    def command(self, line: str, folder: Path, fails: bool = False) -> str:
        """Run ``nsse`` with the words of a line."""
        return run([str(self.python), "-m", "nsse", *line.split()], folder, fails=fails)


def run(
    words: Sequence[str],
    folder: Path | None = None,
    fails: bool = False,
    more: dict[str, str] | None = None,
) -> str:
    """Run a command that must succeed, or must not; what it printed."""
    environment = (
        {name: value for name, value in os.environ.items() if name not in CLEAN} | SET | (more or {})
    )
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if bool(done.returncode) != fails:
        raise SystemExit(f"{words}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stderr if fails else done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Check what ``make dist`` built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--umap", action="store_true", help="install the part umap too, which is large")
    options = parser.parse_args(arguments)
    (wheel,), (sdist,) = options.dist.glob("*.whl"), options.dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_sizes(wheel, sdist)
        core = check_without_parts(wheel, folder)
        check_parts(wheel, core, folder, [*OF_PART, *["umap"] * options.umap])
        check_commands(wheel, core, folder)
        check_types(core, folder)
        check_pythons(wheel, folder)
        check_citation(folder)
        check_sdist(sdist, wheel, folder)


def check_sizes(wheel: Path, sdist: Path) -> None:
    """The wheel is small and holds the package and its metadata alone."""
    assert wheel.stat().st_size <= MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes."
    rooms = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {"nsse"} < rooms <= {"nsse", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}, rooms
    say(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,}")


def check_without_parts(wheel: Path, folder: Path) -> Environment:
    """Without parts the library works; a missing part is one line that says how to get it."""
    core = Environment(folder / "core")
    core.install(str(wheel))
    core.program(BEFORE + WITHOUT_PARTS, empty(folder))
    # Whoever has an array of Dask has Dask.
    missing = [part for part in OF_PART if part != "dask"]
    for part in missing:
        told = core.program(BEFORE + OF_PART[part], empty(folder), fails=True)
        assert f"pip install 'nsse[{part}]'" in told.strip().splitlines()[-1], told
    line = core.command("--help", empty(folder), fails=True)
    assert line.count("\n") == 1, line
    assert "pip install 'nsse[cli]'" in line, line
    say(f"without parts: works; {len(missing) + 1} missing parts name themselves in a line each")
    return core


def check_parts(wheel: Path, core: Environment, folder: Path, parts: Sequence[str]) -> None:
    """Each part alone gives what it is for."""
    for part in parts:
        alone = Environment(folder / part, below=core)
        alone.install(f"{wheel}[{part}]")
        alone.program(BEFORE + OF_PART.get(part, f"import {part}"), empty(folder))
        say(f"part {part}, alone: works")


def check_commands(wheel: Path, core: Environment, folder: Path) -> None:
    """From a table and a folder of images to predictions, a report and a graph, by the command line."""
    whole = Environment(folder / "commands", below=core)
    whole.install(f"{wheel}[cli,images,tables,onnx,plot]")
    place = empty(folder)
    whole.program(BEFORE + OF_PART["images"], place)
    for line in (
        "fit pictures --out model.nsse",
        "predict model.nsse pictures --out labels.csv",
        "evaluate model.nsse pictures",
        "report model.nsse pictures --out report.html",
        "export model.nsse --onnx model.onnx",
        "info model.nsse",
    ):
        whole.command(line, place)
    n_images = len([path for path in (place / "pictures").rglob("*.*") if path.is_file()])
    assert len((place / "labels.csv").read_text().splitlines()) == n_images + 1
    assert (place / "report.html").stat().st_size > 10_000
    assert (place / "model.onnx").stat().st_size > 1000
    say("command line: fit, predict, evaluate, report, export, info")


def check_types(core: Environment, folder: Path) -> None:
    """A consumer's mypy reads our annotations: what is right passes, what is wrong does not."""
    typed = Environment(folder / "typed", below=core)
    typed.install("mypy")
    place = empty(folder)
    (place / "right.py").write_text(CONSUMER)
    (place / "wrong.py").write_text(MISTAKEN_CONSUMER)
    words = [str(typed.python), "-m", "mypy", "--strict", "--cache-dir", str(place / "cache")]
    run([*words, "right.py"], place)
    run([*words, "wrong.py"], place, fails=True)
    say("a consumer's mypy --strict: our annotations are read")


def check_pythons(wheel: Path, folder: Path) -> None:
    """The wheel without parts, on every supported Python that is here."""
    for version in PYTHONS[1:]:
        python = found_python(version)
        if python is None:
            say(f"Python {version}: not here, not run")
            continue
        other = Environment(folder / version, python)
        other.install(str(wheel))
        other.program(BEFORE + WITHOUT_PARTS, empty(folder))
        say(f"Python {version}: works")


def found_python(version: str) -> str | None:
    """An interpreter of that version that starts; pyenv keeps some that are not on the path."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in [*map(str, kept), shutil.which(f"python{version}")]:
        if (
            candidate
            and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0
        ):
            return candidate
    return None


def check_citation(folder: Path) -> None:
    """The citation is valid, by the tool of those who defined the format."""
    # Its old jsonschema is at odds with ours: an environment of its own, without our versions.
    judge = Environment(folder / "citation")
    judge.install("cffconvert==2.0.0", constrained=False)
    program = "from cffconvert.cli.cli import cli; cli()"
    run([str(judge.python), "-c", program, "--validate", "--infile", str(ROOT / "CITATION.cff")])
    say("CITATION.cff: valid")


def check_sdist(sdist: Path, wheel: Path, folder: Path) -> None:
    """The sdist builds the same wheel, and its tests run in it (those of `make quick`)."""
    place = empty(folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (source,) = place.iterdir()
    run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(source)]
    )
    again = zipfile.ZipFile(place / wheel.name)
    assert set(again.namelist()) == set(zipfile.ZipFile(wheel).namelist())
    words = [
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    told = run([sys.executable, *words], source, more={"PYTHONPATH": str(source / "src")})
    say(f"sdist: builds the same wheel; its tests: {told.strip().splitlines()[-1]}")


def empty(folder: Path) -> Path:
    """A new folder to run something in."""
    return Path(tempfile.mkdtemp(dir=folder))


def say(line: str) -> None:
    """Print a line as soon as it is known."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
