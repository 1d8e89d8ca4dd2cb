"""Files are written whole or not at all, and in the place that their name means."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from nsse._support.files import new_folder, replacing, takes_a_stream

posix = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes of POSIX")


def write(path, text="new"):
    with replacing(path) as temporary:
        temporary.write_text(text)


def fail_half_way(path):
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise ValueError("half way")


def test_a_new_file_has_the_mode_that_open_gives(tmp_path):
    write(tmp_path / "ours")
    (tmp_path / "theirs").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        temporary.write_text("new")
        # Nobody else reads a private file while it is written.
        assert not stat.S_IMODE(temporary.stat().st_mode) & ~mode & 0o077
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to("far/target")
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["far", "link", "target"]


@posix
def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


@posix
def test_a_failure_behind_a_link_leaves_the_target_as_it_was(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with pytest.raises(ValueError, match="half way"):
        fail_half_way(link)
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "target"]


@posix
def test_a_device_is_written_and_stays_a_device():
    """A terminal: in its folder nothing can be put in place of it, whatever goes wrong."""
    reader, terminal = os.openpty()
    try:
        write(os.ttyname(terminal))
        assert os.read(reader, 100) == b"new"
        assert stat.S_ISCHR(os.stat(os.ttyname(terminal)).st_mode)
    finally:
        os.close(reader)
        os.close(terminal)


@posix
def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    write(path, "text" * 50_000)  # more than a pipe holds
    reader.join(timeout=30)
    assert got == ["text" * 50_000]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_nothing_goes_down_a_pipe_if_the_work_fails(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="half way"):
        fail_half_way(path)
    assert stat.S_ISFIFO(path.stat().st_mode)


WRITER = """
import sys
from nsse._support.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("new")
"""


@posix
@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_a_place_to_write_to(place):
    done = subprocess.run([sys.executable, "-c", WRITER, place], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("new", "")


@posix
def test_standard_output_into_a_file_is_written_through(tmp_path):
    """The shell holds the file open: it is written, not replaced by another of its name."""
    with (tmp_path / "out").open("w+") as file:
        subprocess.run([sys.executable, "-c", WRITER, "/dev/stdout"], stdout=file, check=True)
        file.seek(0)
        assert file.read() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@posix
def test_streams_are_told_from_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(os.devnull)
    streams = {name: takes_a_stream(tmp_path / name) for name in ("pipe", "file", "link", "none")}
    assert streams == {"pipe": True, "file": False, "link": True, "none": False}
    assert not takes_a_stream(tmp_path)  # a folder


def fill(folder, reason=None):
    with new_folder(folder) as temporary:
        (temporary / "file").write_text("")
        if reason is not None:
            raise reason


def test_a_new_folder_is_there_whole_or_not_at_all(tmp_path):
    fill(tmp_path / "good")
    with pytest.raises(ValueError, match="bad"):
        fill(tmp_path / "bad", ValueError("bad"))
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "good"]
