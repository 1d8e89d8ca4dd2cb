"""The command line among other programs: exit codes, JSON, completion, Ctrl-C, what it loads."""

from __future__ import annotations

import builtins
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from commands import run
from sklearn.datasets import load_iris

import nsse
from nsse.cli import main
from nsse.cli.screen import running

posix = pytest.mark.skipif(os.name != "posix", reason="signals, devices, links and pipes of POSIX")

OF_MODELS = "update", "predict", "transform", "evaluate", "report", "export", "info"
COMMANDS = ("fit", *OF_MODELS, "demo", "datasets")


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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_of_80_columns(command):
    """No word is cut, and no paragraph breaks where its docstring did."""
    shown = run(command, "--help", env={"COLUMNS": "80"}).stdout
    assert "…" not in shown
    lines = [line.strip() for line in shown[: shown.index("╭")].splitlines()]
    assert all(len(line) > 55 for line, after in pairwise(lines) if line and after)


@pytest.mark.slow
def test_the_whole_shell_gets_json_on_stdout_and_lines_on_stderr(data, tmp_path):
    done = shell("fit", data, "--out", tmp_path / "m.nsse", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["n_samples"] == 60
    assert done.stdout.count("\n") == 1
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["Read", "Fitted", "Wrote"]


def test_json_has_no_infinities():
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr(sys.stdout, "write", written.append)
        with running(True) as screen:
            screen.result = {"a": [float("inf"), 1.5, {"b": float("nan")}]}
    assert json.loads("".join(written)) == {"a": [None, 1.5, {"b": None}]}


@pytest.mark.slow
def test_debug_shows_the_traceback_and_the_line(tmp_path):
    arguments = ("fit", tmp_path / "nowhere.csv", "--out", tmp_path / "m.nsse")
    plain = run(*arguments, code=2)
    assert len(plain.stderr.splitlines()) == 1
    debugged = shell("--debug", *arguments)
    assert debugged.returncode == 2
    assert "Traceback (most recent call last)" in debugged.stderr
    assert debugged.stderr.splitlines()[-1] == plain.stderr.strip()
    assert "Traceback" in run(*arguments, code=2, env={"NSSE_DEBUG": "1"}).stderr
    assert "Traceback" in run("--debug", *arguments, code=2).stderr
    assert "Traceback" not in run(*arguments, code=2).stderr  # one call leaves the next without


def test_warnings_are_lines_of_ours(tmp_path):
    # Columns whose spreads differ a millionfold: SmoothEmbedding warns.
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "d.npz", X=X * [1e6, 1, 1, 1], y=y)
    done = shell("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse")
    assert done.returncode == 0
    assert done.stderr.startswith("nsse: warning: ")
    assert done.stderr.count("\n") == 1


# Ctrl-C may be switched off in the shell that runs the tests. The fit waits for it: else a fast machine
# would be through before a busy one has sent the signal.
INTERRUPTIBLE = """
import runpy, signal, sys, time
import nsse
signal.signal(signal.SIGINT, signal.default_int_handler)
learn = nsse.SmoothEmbedding.fit
nsse.SmoothEmbedding.fit = lambda self, X, y: (time.sleep(60), learn(self, X, y))[1]
sys.argv = ["nsse", *sys.argv[1:]]
runpy.run_module("nsse", run_name="__main__")
"""


@posix
def test_control_c_ends_with_130_and_no_file(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(4), y=[0, 0, 1, 1])
    command = ["fit", f"{tmp_path}/d.npz", "--out", f"{tmp_path}/m.nsse", "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline().startswith("Read ")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (130, "")
    assert stderr.splitlines()[-1].startswith("nsse: stopped.")
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]


@posix
def test_a_search_that_goes_on_after_control_c_writes_its_model_and_ends_with_130(
    data, tmp_path, monkeypatch
):
    """As the search does: what is known when Ctrl-C comes is kept."""
    learn = nsse.SmoothEmbedding.fit

    def interrupted(self, X, y):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return learn(self, X, y)
        raise AssertionError("no interrupt came")

    monkeypatch.setattr(nsse.SmoothEmbedding, "fit", interrupted)
    result = run("fit", data, "--out", tmp_path / "m.nsse", code=130)
    assert result.stdout.splitlines()[-1].startswith("Stopped before the search had ended")
    assert len(nsse.load(tmp_path / "m.nsse").classes_) == 4
    assert "130" in run("fit", "--help").stdout
    assert "130" in run("--help").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nsse ev", {"evaluate"}),
        ("nsse export --dt", {"--dtype"}),
        ("nsse export --dtype fl", {"float32", "float64"}),
    ],
)
def test_the_shell_completes(words, expected):
    done = shell(
        _NSSE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    assert set(done.stdout.split()) == expected


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
    nsse.save(nsse.SmoothEmbedding().fit(np.eye(4), [0, 0, 1, 1]), data.with_name("model.nsse"))
    more = {"numpy", "PIL", "onnx", "matplotlib", "nsse.report"} if arguments == ["--help"] else set()
    heavy = {"sklearn", "scipy", "polars"} | more
    program = (
        "import sys\nfrom nsse.cli import main\n"
        f"sys.argv = {['nsse', *arguments]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        f"print('\\n', status, sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=data.parent, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].strip() == f"{code} []", done.stderr


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
    message = f"The nsse command needs {part}. Install it: pip install 'nsse[cli]'\n"
    assert capsys.readouterr().err == message


def test_version_and_wrong_arguments():
    assert run("--version").stdout == f"nsse {nsse.__version__}\n"
    for arguments in (("demo", "--splits", "0"), ("fit", "--nonsense"), ("nonsense",)):
        run(*arguments, code=2)


# Places to write to: links, private files, pipes, devices.


@pytest.fixture(scope="module")
def irises(tmp_path_factory):
    """A model file and samples."""
    folder = tmp_path_factory.mktemp("irises")
    X, y = load_iris(return_X_y=True)
    nsse.save(nsse.SmoothEmbedding().fit(X[::3], y[::3]), folder / "model.nsse")
    np.save(folder / "new.npy", X[1::3])
    return folder / "model.nsse", folder / "new.npy"


WAYS = [
    ("predict", "--out", "out.csv"),
    ("predict", "--out", "out.parquet"),
    ("transform", "--out", "out.npy"),
    ("report", "--out", "out.html"),
    ("report", "--out", "out.png"),
    ("export", "--onnx", "out.onnx"),
]


def arguments_of(way, irises, path):
    command, option, _ = way
    title = ("--title", "one") if command == "report" else ()
    return (command, *irises[: 1 if command == "export" else 2], option, path, *title)


@posix
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]} {way[2]}")
def test_all_write_the_same_through_a_link_and_down_a_pipe(irises, tmp_path, way):
    (tmp_path / "far").mkdir()
    plain, link, pipe = tmp_path / way[2], tmp_path / f"link-{way[2]}", tmp_path / f"pipe-{way[2]}"
    run(*arguments_of(way, irises, plain))
    target = tmp_path / "far" / way[2]
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for path in (link, pipe):
        run(*arguments_of(way, irises, path))
    reader.join(timeout=30)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert target.read_bytes() == got[0] == plain.read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


@posix
def test_a_stream_has_no_size(irises, tmp_path):
    pipe = tmp_path / "out.onnx"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.read_bytes, daemon=True).start()
    assert json.loads(run("export", irises[0], "--onnx", pipe, "--json").stdout)["bytes"] is None


full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
FULL = (
    "nsse: `output` must be written whole. Got 'No space left on device'. Free some room, or write to "
    "another place.\n"
)


@full
@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("info",), ("info", "--json"), ("datasets",)], ids=str
)
def test_a_full_disk_behind_stdout_is_one_line(arguments, irises):
    model = [irises[0]] if arguments[0] == "info" else []
    command = [sys.executable, "-m", "nsse", arguments[0], *model, *arguments[1:]]
    with open("/dev/full", "w") as full_disk:
        done = subprocess.run(command, stdout=full_disk, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == FULL


@full
def test_a_full_disk_behind_out_is_one_line(irises):
    done = shell("export", irises[0], "--onnx", "/dev/full")
    assert (done.returncode, done.stdout) == (2, "")  # it must end in .onnx
    link = irises[0].with_name("full.onnx")
    link.symlink_to("/dev/full")
    done = shell("export", irises[0], "--onnx", link)
    assert (done.returncode, done.stderr) == (2, FULL)


@posix
def test_what_the_system_refuses_is_one_line(tmp_path):
    name = tmp_path / f"{'long' * 100}.nsse"
    line = run("info", name, code=2).stderr
    assert line.startswith(
        f"nsse: `{name}` must be a file that this user may read or write. Got 'File na"
    )
    assert line.count("\n") == 1


@posix
def test_a_reader_that_has_seen_enough_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m nsse --help | head -1", shell=True, capture_output=True, text=True
    )
    assert done.stderr == ""


@posix
@pytest.mark.parametrize("command", ["info", "predict", "evaluate"])
def test_a_device_that_never_ends_is_refused(command, irises):
    done = subprocess.run(
        [sys.executable, "-m", "nsse", command, "/dev/urandom", *irises[1:] * (command != "info")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("nsse: `MODEL` must name a file. Got '/dev/urandom")


@posix
def test_what_a_killed_process_leaves_is_named_and_removed(tmp_path):
    """A process that is killed cannot tidy up: who writes there later does."""
    program = (
        "import os, signal\nfrom pathlib import Path\nfrom nsse._support.files import replacing\n"
        f"with replacing({str(tmp_path / 'm.nsse')!r}) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("m.nsse.unfinished-")
    np.savez(tmp_path / "d.npz", X=np.eye(4), y=[0, 0, 1, 1])
    fit = ("fit", tmp_path / "d.npz", "--out", tmp_path / "m.nsse")
    run(*fit)
    assert left.exists()  # somebody may be at it still
    os.utime(left, (0, 0))
    run(*fit)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.npz", "m.nsse"]
