"""Install the wheel and the sdist in new environments, and check that they work.

    make dist check-dist

All environments are outside the checkout. The wheel is installed without optional parts and with each
part alone. If a part is missing, the error must name it in one line. The script also checks the command
line from fit to export, mypy on code that uses nsse, the other installed Pythons, the citation, and the
tests of the sdist.
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
# The environments see no part of the checkout and no display, and use one BLAS thread.
CLEAN = {"PYTHONPATH", "NSSE_DATA", "VIRTUAL_ENV", "PYTHONHOME"}
SET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "COLUMNS": "80"}
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9") | {
    "no_proxy": "",
    "NO_PROXY": "",
}


class Environment:
    """A virtual environment, which may include the packages of another one."""

    def __init__(self, folder: Path, python: str = sys.executable, below: Environment | None = None):
        run([python, "-m", "venv", str(folder)])
        self.python = folder / "bin" / "python"
        if below:
            (self.packages() / "below.pth").write_text(f"{below.packages()}\n")

    def packages(self) -> Path:
        """Return the folder of its packages."""
        program = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(run([str(self.python), "-c", program]).strip())

    def install(self, *wanted: str, constrained: bool = True) -> None:
        """Install packages in the versions of the tests."""
        fixed = ["-c", str(ROOT / "constraints" / "newest.txt")] if constrained else []
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *fixed, *wanted])

    def program(self, text: str, folder: Path, fails: bool = False) -> str:
        """Run a program in a folder, and return what it prints. If it must fail, return its errors."""
        return run([str(self.python), "-c", text], folder, fails=fails, more=NO_NETWORK)

    def command(self, line: str, folder: Path, fails: bool = False) -> str:
        """Run ``nsse`` with the arguments of a line."""
        return run([str(self.python), "-m", "nsse", *line.split()], folder, fails=fails)


def run(
    words: Sequence[str],
    folder: Path | None = None,
    fails: bool = False,
    more: dict[str, str] | None = None,
) -> str:
    """Run a command that must succeed or must fail, and return what it prints."""
    kept = {name: value for name, value in os.environ.items() if name not in CLEAN}
    env = kept | SET | (more or {})
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if bool(done.returncode) != fails:
        raise SystemExit(f"{words}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stderr if fails else done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the files of ``make dist``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--umap", action="store_true", help="also install the part umap, which is large")
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
    """Check that the wheel is small and contains only the package and its metadata."""
    assert wheel.stat().st_size <= MOST_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes."
    rooms = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {"nsse"} < rooms <= {"nsse", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}, rooms
    say(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,}")


def check_without_parts(wheel: Path, folder: Path) -> Environment:
    """Check that the library works without parts, and that errors name the missing part."""
    core = Environment(folder / "core")
    core.install(str(wheel))
    core.program(BEFORE + WITHOUT_PARTS, empty(folder))
    # A Dask array exists only if Dask is installed.
    missing = [part for part in OF_PART if part != "dask"]
    for part in missing:
        told = core.program(BEFORE + OF_PART[part], empty(folder), fails=True)
        assert f"pip install 'nsse[{part}]'" in told.strip().splitlines()[-1], told
    line = core.command("--help", empty(folder), fails=True)
    assert line.count("\n") == 1, line
    assert "pip install 'nsse[cli]'" in line, line
    say(f"without parts: works; {len(missing) + 1} missing parts are named in one line each")
    return core


def check_parts(wheel: Path, core: Environment, folder: Path, parts: Sequence[str]) -> None:
    """Check that each part works alone."""
    for part in parts:
        alone = Environment(folder / part, below=core)
        alone.install(f"{wheel}[{part}]")
        alone.program(BEFORE + OF_PART.get(part, f"import {part}"), empty(folder))
        say(f"part {part}, alone: works")


def check_commands(wheel: Path, core: Environment, folder: Path) -> None:
    """Check the command line, from a folder of images to predictions, a report and an ONNX graph."""
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
    """Check that mypy reads our types: it accepts correct code and rejects wrong code."""
    typed = Environment(folder / "typed", below=core)
    typed.install("mypy")
    place = empty(folder)
    (place / "right.py").write_text(CONSUMER)
    (place / "wrong.py").write_text(MISTAKEN_CONSUMER)
    words = [str(typed.python), "-m", "mypy", "--strict", "--cache-dir", str(place / "cache")]
    run([*words, "right.py"], place)
    run([*words, "wrong.py"], place, fails=True)
    say("mypy --strict on code that uses nsse: types are read")


def check_pythons(wheel: Path, folder: Path) -> None:
    """Check the wheel without parts on every supported Python that is installed."""
    for version in PYTHONS[1:]:
        python = found_python(version)
        if python is None:
            say(f"Python {version}: not installed, not checked")
            continue
        other = Environment(folder / version, python)
        other.install(str(wheel))
        other.program(BEFORE + WITHOUT_PARTS, empty(folder))
        say(f"Python {version}: works")


def found_python(version: str) -> str | None:
    """Return an interpreter of a version, from the path or from pyenv, or None."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in filter(None, [*map(str, kept), shutil.which(f"python{version}")]):
        if not subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode:
            return candidate
    return None


def check_citation(folder: Path) -> None:
    """Check the citation with the validator of its format."""
    # The validator needs an older jsonschema than the other tools.
    judge = Environment(folder / "citation")
    judge.install("cffconvert==2.0.0", constrained=False)
    program = "from cffconvert.cli.cli import cli; cli()"
    run([str(judge.python), "-c", program, "--validate", "--infile", str(ROOT / "CITATION.cff")])
    say("CITATION.cff: valid")


def check_sdist(sdist: Path, wheel: Path, folder: Path) -> None:
    """Check that the sdist builds the same wheel, and run its quick tests."""
    place = empty(folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (source,) = place.iterdir()
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run([*build, "--outdir", str(place), str(source)])
    again = zipfile.ZipFile(place / wheel.name)
    assert set(again.namelist()) == set(zipfile.ZipFile(wheel).namelist())
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
    options = ["-m", "not slow", "-p", "no:cacheprovider"]
    printed = run([*pytest, *options], source, more={"PYTHONPATH": str(source / "src")})
    say(f"sdist: builds the same wheel; its tests: {printed.strip().splitlines()[-1]}")


def empty(folder: Path) -> Path:
    """Return a new empty folder."""
    return Path(tempfile.mkdtemp(dir=folder))


def say(line: str) -> None:
    """Print a line as soon as it is known."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
