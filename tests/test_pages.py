"""Every block of Python in README and pages runs, in order, and prints what the page shows.

A block of text directly behind a block of Python is its output. The commands of the README run, too. The
commands of the pages run when the site is built (`docs/extensions/commands.py`).
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nsse.cli.app import app

ROOT = Path(__file__).parents[1]
MADE = ("_build", "api", "gallery")
WRITTEN = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.relative_to(ROOT / "docs").parts[0] not in MADE
]
PAGES = [ROOT / "README.md", *WRITTEN]
FOR_DEVELOPERS = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]


BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)


def python_of(page):
    """Return the blocks of Python of a page, each with the output that the page shows."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def named(page):
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def trimmed(text):
    return [line.rstrip() for line in text.splitlines()]


WITH_PYTHON = [page for page in [*PAGES, *FOR_DEVELOPERS] if python_of(page)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # UMAP's, on the page of those who come from it
@pytest.mark.parametrize("page", WITH_PYTHON, ids=map(named, WITH_PYTHON))
def test_python_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    if page.name == "migrate.md":
        pytest.importorskip("umap", reason="umap comes with the docs extra")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block, shown in python_of(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert trimmed(printed.getvalue()) == trimmed(shown)


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(nsse .*photos.*)$", text, re.M)
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


@pytest.mark.parametrize("page", [*PAGES, *FOR_DEVELOPERS], ids=named)
def test_files_that_a_page_names_are_there(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert [
        name for name in named if not any((ROOT / part / name).is_file() for part in ("", "src"))
    ] == []


LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_images_are_files_of_the_repository(page):
    """They work in a clone without a built site."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
