"""Where commands write to: links, private files, pipes."""

from __future__ import annotations

import json
import os
import stat
import threading

import numpy as np
import pytest
from commands import run
from sklearn.datasets import load_iris

import nsse

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes of POSIX")


@pytest.fixture(scope="module")
def irises(tmp_path_factory):
    """A model file and samples."""
    folder = tmp_path_factory.mktemp("irises")
    X, y = load_iris(return_X_y=True)
    nsse.save(nsse.NSSE(sigma=1.0).fit(X[::3], y[::3]), folder / "model.nsse")
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


def arguments(way, irises, path):
    command, option, _ = way
    return (command, *irises[: 1 if command == "export" else 2], option, path)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]} {way[2]}")
def test_all_write_the_same_through_a_link_and_down_a_pipe(irises, tmp_path, way):
    (tmp_path / "far").mkdir()
    plain, link, pipe = tmp_path / way[2], tmp_path / f"link-{way[2]}", tmp_path / f"pipe-{way[2]}"
    run(*arguments(way, irises, plain), *(("--title", "one") * (way[0] == "report")))
    target = tmp_path / "far" / way[2]
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for path in (link, pipe):
        run(*arguments(way, irises, path), *(("--title", "one") * (way[0] == "report")))
    reader.join(timeout=30)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert target.read_bytes() == got[0] == plain.read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_stream_has_no_size(irises, tmp_path):
    pipe = tmp_path / "out.onnx"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.read_bytes, daemon=True).start()
    told = json.loads(run("export", irises[0], "--onnx", pipe, "--json").stdout)
    assert told["bytes"] is None
