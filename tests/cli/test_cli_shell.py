"""The command line among other programs: exit codes, JSON, completion, Ctrl-C, what it loads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import nsse
from nsse.cli.app import app

COMMANDS = ("fit", "predict", "transform", "evaluate", "report", "export", "info", "demo", "datasets")


def run(*arguments, **keywords):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False, **keywords)


def shell(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "nsse", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture
def data(blobs, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=blobs.X, y=blobs.codes)
    return path


def test_every_command_is_listed_and_has_json():
    listed = run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"│ {command} ", listed)
        assert "--json" in run(command, "--help", env={"COLUMNS": "200"}).stdout


@pytest.mark.slow
def test_the_whole_shell_gets_json_on_stdout_and_lines_on_stderr(data, tmp_path):
    done = shell("fit", data, "--out", tmp_path / "m.nsse", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["n_samples"] == 60
    assert done.stdout.count("\n") == 1
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["Read", "Fitted", "Wrote"]


@pytest.mark.slow
def test_demo_speaks_json(tmp_path):
    result = run("demo", "--out", tmp_path, "--splits", "1", "--json")
    told = json.loads(result.stdout)
    assert len(told["errors"]) == 12
    assert {row["method"] for row in told["errors"]} == {"NSSE", "1-NN", "SVM", "LDA"}
    assert len(told["files"]) == 4


@pytest.mark.slow
def test_debug_shows_the_traceback_and_the_line(tmp_path):
    arguments = ("fit", tmp_path / "nowhere.csv", "--out", tmp_path / "m.nsse")
    plain = run(*arguments)
    assert plain.exit_code == 2
    assert len(plain.stderr.splitlines()) == 1
    debugged = shell("--debug", *arguments)
    assert debugged.returncode == 2
    assert "Traceback (most recent call last)" in debugged.stderr
    assert debugged.stderr.splitlines()[-1] == plain.stderr.strip()
    assert "Traceback" in run(*arguments, env={"NSSE_DEBUG": "1"}).stderr


def test_one_call_with_debug_leaves_the_next_without(tmp_path):
    arguments = ("info", tmp_path / "nowhere.nsse")
    assert "Traceback" in run("--debug", *arguments).stderr
    assert "Traceback" not in run(*arguments).stderr


def test_warnings_are_lines_of_ours(data, tmp_path):
    # A kernel scale at the end of its range: NSSE warns.
    X, y = np.load(data)["X"], np.load(data)["y"]
    model = nsse.NSSE(sigma=5.0, mu2=1e-9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nsse.save(model.fit(X, y), tmp_path / "m.nsse")
        nsse.to_onnx(model)
    assert any(issubclass(warning.category, UserWarning) for warning in caught)
    done = shell("export", tmp_path / "m.nsse", "--onnx", tmp_path / "m.onnx")
    assert done.returncode == 0
    assert done.stderr.startswith("nsse: warning: In float32 the map of this NSSE is off by ")
    assert done.stderr.count("\n") == 1


def test_control_c_ends_with_130_and_no_file(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.standard_normal((600, 20)), y=np.arange(600) % 10)
    fit = ["nsse", "fit", f"{tmp_path}/d.npz", "--out", f"{tmp_path}/m.nsse", "--tune", "--json"]
    # Ctrl-C may be switched off in the shell that runs the tests.
    program = (
        "import signal, runpy, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.argv = {fit!r}\nrunpy.run_module('nsse', run_name='__main__')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr.readline().startswith("Read ")  # seconds of work begin
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert stderr.splitlines()[-1].startswith("nsse: stopped.")
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nsse ev", {"evaluate"}),
        ("nsse re", {"report"}),
        ("nsse export --dt", {"--dtype"}),
        ("nsse export --dtype fl", {"float32", "float64"}),
    ],
)
def test_the_shell_completes(words, expected):
    done = shell(
        _NSSE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("which", ["bash", "zsh", "fish"])
def test_completion_can_be_shown_for_every_shell(which):
    done = shell("--show-completion", which, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_NSSE_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["datasets"], 0),
        (["info", "model.nsse"], 0),
        (["predict", "nowhere.nsse", "data.npz"], 2),
        (["predict", "model.nsse", "data.npz", "--out", "labels.txt"], 2),
        (["export", "model.nsse", "--onnx", "graph.txt"], 2),
    ],
)
def test_nobody_waits_for_scikit_learn_who_does_not_need_it(arguments, code, data):
    nsse.save(nsse.NSSE().fit(np.eye(4), [0, 0, 1, 1]), data.with_name("model.nsse"))
    program = (
        "import sys\nfrom nsse.cli import main\n"
        f"sys.argv = {['nsse', *arguments]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        "print('\\n', status, sorted({'sklearn', 'scipy', 'polars', 'skops'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=data.parent, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].strip() == f"{code} []", done.stderr
