"""The commands of the documentation, typed in its order, print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import nsse
from nsse.cli.app import app

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


def type_in(command):
    program, *arguments = shlex.split(command)
    assert program == "nsse"
    # As wide as the pages show it, without colours.
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    done = runner.invoke(app, arguments, catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_path_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
        assert without_variation(type_in(command)) == without_variation(shown), command
    written = {"photos", "photos.nsse", "labels.csv", "photos.html", "photos.onnx"}
    assert {path.name for path in tmp_path.iterdir()} >= written


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsse.ScaleAtBoundWarning")
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    """Block by block, on digits; a few hundred of them have no room for thousands of landmarks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("=3000", "=100")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) > 6
    X, y = load_digits(return_X_y=True)
    scaled = make_pipeline(StandardScaler(), nsse.NSSE()).fit(X[:200], y[:200])
    names = {
        **{"np": np, "nsse": nsse, "LogisticRegression": LogisticRegression, "pipeline": scaled},
        **{"X": X[:300], "y": y[:300], "labels": y[:300], "known": np.arange(300) < 100},
        **{"X_train": X[:200], "y_train": y[:200], "X_new": X[200:400], "y_new": y[200:400]},
        **{"X_calibration": X[400:600], "X_test": X[600:800], "y_test": y[600:800]},
        "read_blocks": lambda: iter([(X[:150], y[:150]), (X[150:300], y[150:300])]),
    }
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(block, names)


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
        assert without_variation(type_in(command)) == without_variation(shown), command


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
