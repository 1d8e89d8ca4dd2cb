"""The commands of the documentation, typed in its order, print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import nsse

ROOT = Path(__file__).parents[2]
# What differs from run to run and from machine to machine: seconds, sizes of files, versions.
VARIES = (
    (r"\d+\.\d+ s\b", "# s"),
    (r"\d+(\.\d+)? (bytes|kB|MB)\b", "# bytes"),
    (r"(scikit-learn|NumPy) \S+", r"\1 #"),
)


def transcript(page):
    """Commands of a page, in its order, each with the lines that the page shows below it."""
    blocks = re.findall(
        r"^```\n(\$ nsse .*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S
    )
    return [(command[2:], shown) for command, _, shown in (block.partition("\n") for block in blocks)]


def without_variation(text):
    for pattern, name in VARIES:
        text = re.sub(pattern, name, text)
    return [line.rstrip() for line in text.rstrip().splitlines()]


def type_in(command, folder):
    program, *arguments = shlex.split(command)
    assert program == "nsse"
    # As wide as the pages show it, without colours.
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONPATH": str(Path(nsse.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nsse", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_path_of_the_readme(tmp_path):
    steps = transcript("README.md")
    assert [command.split()[1] for command, _ in steps] == [
        "datasets",
        "fit",
        "predict",
        "evaluate",
        "report",
        "export",
    ]
    for command, shown in steps:
        assert without_variation(type_in(command, tmp_path)) == without_variation(shown), command
    written = {"photos", "photos.nsse", "labels.csv", "photos.html", "photos.onnx"}
    assert {path.name for path in tmp_path.iterdir()} >= written


@pytest.mark.slow
def test_the_commands_of_the_page_on_deployment(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[:3]:  # up to the files
        exec(block, names)
    steps = transcript("docs/deploy.md")
    assert [command.split()[1] for command, _ in steps] == ["info", "evaluate"]
    for command, shown in steps:
        assert without_variation(type_in(command, tmp_path)) == without_variation(shown), command


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Fitted in 0.4 s.", "Fitted in 12.0 s."),
        ("Wrote a, 281 kB.", "Wrote a, 1.2 MB."),
        ("NumPy 2.4.6", "NumPy 1.26.4"),
    ],
)
def test_what_varies_is_left_out(text, same):
    assert without_variation(text) == without_variation(same)
    assert without_variation("Error 6.2 %") != without_variation("Error 6.3 %")
