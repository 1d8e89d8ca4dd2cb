"""What README and pages show runs: every block of Python, in order, and the commands of the README.

Commands of the pages are typed in when the site is built (`docs/extensions/commands.py`).
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nsse.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Fewer centres on a few hundred samples; MNIST and clusters are for pages, not for tests.
SMALLER = (("=3000", "=100"),)


def python_of(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


WITH_PYTHON = [page for page in PAGES if python_of(page)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # UMAP's, on the page of those who come from it
@pytest.mark.parametrize("page", WITH_PYTHON, ids=[page.name for page in WITH_PYTHON])
def test_python_runs(page, tmp_path, monkeypatch):
    if page.name == "coming_from.md":
        pytest.importorskip("umap", reason="umap comes with the docs extra")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_of(page):
        for written, smaller in SMALLER:
            block = block.replace(written, smaller)
        exec(block, names)


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"`(nsse datasets digits .*?)`", text)
    commands = first + re.findall(r"^(nsse (?:fit|predict|report|export) photos.*)$", text, re.M)
    assert [command.split()[1] for command in commands] == [
        "datasets",
        "fit",
        "predict",
        "report",
        "export",
    ]
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    written = {"photos", "photos.nsse", "labels.csv", "photos.html", "photos.onnx"}
    assert {path.name for path in tmp_path.iterdir()} >= written


NAMED = re.compile(r"\b(?:benchmarks|tests|src|docs|reproduction|nsse)/[\w/]+\.(?:py|md|jsonl|js)\b")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_files_that_a_page_names_are_there(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert [
        name for name in named if not any((ROOT / part / name).is_file() for part in ("", "src"))
    ] == []
