"""The command line: what ``nsse demo`` leaves behind, and how it fails."""

import builtins
import subprocess
import sys

import numpy as np
import pytest
from commands import rows_of
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import nsse
from nsse.cli import main
from nsse.cli.app import app
from nsse.evaluation import per_class_split

FILES = {"embedding.csv", "embedding.png", "embedding.svg", "errors.csv"}


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "made" / "here"
    return run("demo", "--out", str(out), "--splits", "1"), out


@pytest.mark.slow
def test_demo_leaves_its_four_files_and_nothing_else(demo):
    result, out = demo
    assert result.exit_code == 0
    assert {path.name for path in out.iterdir()} == FILES
    assert all(path.stat().st_size > 100 for path in out.iterdir())


@pytest.mark.slow
def test_errors_agree_with_a_recomputation(demo):
    _, out = demo
    errors = {(row["method"], int(row["n_per_class"])): row for row in rows_of(out / "errors.csv")}
    assert len(errors) == 12
    X, y = load_digits(return_X_y=True)
    train, test = per_class_split(y, 20, seed=0)
    distances = ((X[test, np.newaxis] - X[train]) ** 2).sum(axis=2)
    nearest = y[train][distances.argmin(axis=1)]
    by_hand = {"1-NN": nearest, "NSSE": nsse.NSSE().fit(X[train], y[train]).predict(X[test])}
    for method, predicted in by_hand.items():
        row = errors[method, 20]
        assert float(row["error_percent"]) == pytest.approx(
            100 * np.mean(predicted != y[test]), abs=1e-4
        )
        assert (row["standard_error_percent"], row["splits"]) == ("", "1")


def test_embedding_is_that_of_nsse_and_agrees_with_the_table(demo):
    _, out = demo
    rows = rows_of(out / "embedding.csv")
    _, y = load_digits(return_X_y=True)
    train, test = per_class_split(y, 60, seed=0)
    assert [int(row["index"]) for row in rows] == list(range(len(y)))
    assert [int(row["label"]) for row in rows] == y.tolist()
    assert [k for k, row in enumerate(rows) if row["set"] == "train"] == train.tolist()
    Y = np.array([[float(row[f"y{k}"]) for k in range(1, 10)] for row in rows])
    X = load_digits().data / 16
    same = nsse.NSSE().fit(X[train], y[train])
    np.testing.assert_allclose(Y[train], same.embedding_, atol=1e-8)
    predicted = np.array([int(row["predicted"]) for row in rows])
    labels = same.predict(X[test])
    np.testing.assert_array_equal(predicted[test], labels)
    (row,) = (
        r for r in rows_of(out / "errors.csv") if (r["method"], r["n_per_class"]) == ("NSSE", "60")
    )
    assert float(row["error_percent"]) == pytest.approx(100 * np.mean(labels != y[test]), abs=1e-4)


def test_screen_tells_what_was_found_and_where(demo):
    result, out = demo
    lines = result.stdout.splitlines()
    row = next(line for line in lines if "NSSE" in line and "│" in line)
    errors = {r["n_per_class"]: r for r in rows_of(out / "errors.csv") if r["method"] == "NSSE"}
    for size in ("7", "20", "60"):
        assert f"{float(errors[size]['error_percent']):.1f}" in row
    assert any(line.startswith("Found: untuned NSSE errs on ") for line in lines)
    assert all(str(out / name) in result.stdout for name in FILES)
    assert lines[-1].startswith("Next: ")


def test_an_out_that_is_no_folder_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "taken").write_text("kept")
    for out in (tmp_path / "taken", tmp_path / "taken" / "below"):
        result = run("demo", "--out", str(out), "--splits", "1")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith(
            f"nsse: `--out` must be a folder that can be written. Got '{out}'"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "kept"


def test_missing_matplotlib_is_found_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("nsse.evaluation.compare", lambda *_: pytest.fail("worked for nothing"))
    result = run("demo", "--out", str(tmp_path), "--splits", "1")
    assert result.exit_code == 2
    assert result.stderr == "nsse: Figures need matplotlib. Install it: pip install 'nsse[plot]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("demo", "--splits", "0"), ("demo", "--nonsense"), ("nonsense",)])
def test_wrong_arguments_end_with_exit_code_2(arguments):
    assert run(*arguments).exit_code == 2


def test_help_and_version():
    for arguments in (("--help",), ("demo", "--help")):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "demo" in result.stdout
    assert run("--version").stdout == f"nsse {nsse.__version__}\n"


def test_help_of_the_module_needs_nothing_heavy():
    script = (
        "import runpy, sys\nsys.argv = ['nsse', '--help']\n"
        "try:\n    runpy.run_module('nsse', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numpy', 'sklearn', 'polars', 'PIL', 'skops', 'onnx', 'matplotlib', 'nsse.report'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: nsse" in done.stdout


@pytest.mark.parametrize("part", ["typer", "rich"])
def test_a_missing_part_of_the_command_line_names_its_extra(part, monkeypatch, capsys):
    real_import = builtins.__import__

    def without_part(name, *arguments, **named):
        if name.split(".")[0] == part:
            raise ModuleNotFoundError(f"No module named {part!r}", name=part)
        return real_import(name, *arguments, **named)

    for name in [name for name in sys.modules if name.startswith("nsse.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_part)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert (
        capsys.readouterr().err
        == f"The nsse command needs {part}. Install it: pip install 'nsse[cli]'\n"
    )
