"""A folder of one's own images, and the cache behind all image files."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nsse.datasets import ImagePreparation, cache_home, load_dataset, load_image_folder, load_inputs_like
from nsse.datasets._folder import has_color
from nsse.datasets._images import area_average, read_levels

Image = pytest.importorskip("PIL.Image", reason="reading images needs Pillow")


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Three classes of images of every kind and size, and what lies about in folders."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "zoo"
    for name in ("cat", "ape", "bee"):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            gray = rng.integers(1, 256, (10 + number, 12), dtype=np.uint8)
            Image.fromarray(gray).save(folder / name / f"{number}.png")
    color = rng.integers(0, 256, (8, 9, 3), dtype=np.uint8)
    Image.fromarray(color).save(folder / "ape" / "1.png")
    deep = rng.integers(0, 65536, (7, 5)).astype(np.uint16)
    Image.fromarray(deep).save(folder / "bee" / "2.png")
    (folder / "README.txt").write_text("three animals")
    (folder / "cat" / ".DS_Store").write_bytes(b"hidden")
    (folder / ".git").mkdir()
    return folder


def test_sub_folders_are_the_classes_in_the_order_of_their_names(zoo: Path) -> None:
    data = load_image_folder(zoo, size=(4, 3))
    assert (data.X.shape, data.image_shape, data.name) == ((9, 12), (4, 3), "zoo")
    assert data.class_names == ("ape", "bee", "cat")
    np.testing.assert_array_equal(data.y, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert data.y.dtype == np.int64
    assert str(zoo.parent) not in data.source


def test_every_image_is_averaged_from_its_own_size_and_depth(zoo: Path) -> None:
    data = load_image_folder(str(zoo), size=(4, 3))
    weights = np.array([0.299, 0.587, 0.114])
    for row, name, white in (
        (0, "ape/0", 255),
        (1, "ape/1", 255),
        (5, "bee/2", 65535),
        (8, "cat/2", 255),
    ):
        pixels = np.asarray(Image.open(zoo / f"{name}.png"), dtype=float) / white
        gray = pixels @ weights if pixels.ndim == 3 else pixels
        np.testing.assert_allclose(data.X[row], area_average(gray, (4, 3)).ravel(), atol=1e-6)


@pytest.mark.parametrize("kind", [str, Path])
def test_load_dataset_takes_a_path(zoo: Path, kind: type) -> None:
    by_path = load_dataset(kind(zoo), size=(4, 3), unit_norm=True)
    folder = load_image_folder(zoo, size=(4, 3), unit_norm=True)
    np.testing.assert_array_equal(by_path.X, folder.X)
    np.testing.assert_allclose(np.linalg.norm(by_path.X, axis=1), 1.0, rtol=1e-12)


RULE = "^`path` must be a folder with one sub-folder per class and whole images in these"


def test_wrong_folder(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=rf"{RULE}\. Got '.*nowhere', which is not a folder\. Check"
    ):
        load_image_folder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_dataset(str(tmp_path / "nowhere"))


def test_folder_without_classes(zoo: Path) -> None:
    with pytest.raises(ValueError, match=rf"{RULE}, for at least 2 classes\. Got '.*cat' with 0\. Make"):
        load_image_folder(zoo / "cat")


def test_a_folder_around_the_classes_is_named_with_the_cure(zoo: Path) -> None:
    inner = zoo.parent / "all" / "train"
    inner.parent.mkdir()
    zoo.rename(inner)
    (inner.parent / "test" / "cat").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"'train' holds 3 more folders\. Pass '.*all.train', if those"):
        load_image_folder(inner.parent)


def test_color_is_seen_in_a_folder(zoo: Path) -> None:
    assert has_color(zoo)
    (zoo / "ape" / "1.png").unlink()
    assert not has_color(zoo)


def test_what_a_mac_adds_to_an_archive_is_no_class(zoo: Path) -> None:
    plain = load_image_folder(zoo, size=(4, 3))
    (zoo / "__MACOSX" / "cat").mkdir(parents=True)
    (zoo / "__MACOSX" / "cat" / "._0.png").write_bytes(b"resource fork")
    np.testing.assert_array_equal(load_image_folder(zoo, size=(4, 3)).X, plain.X)


def test_files_that_are_no_images_are_left_out_and_counted(zoo: Path) -> None:
    plain = load_image_folder(zoo, size=(4, 3))
    assert "left out" not in plain.source
    (zoo / "cat" / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    (zoo / "bee" / "notes.txt").write_text("buzz")
    again = load_image_folder(zoo, size=(4, 3))
    np.testing.assert_array_equal(again.X, plain.X)
    assert again.source.endswith("2 files left out")
    # An image without an ending is one.
    (zoo / "cat" / "0.png").rename(zoo / "cat" / "0")
    np.testing.assert_array_equal(load_image_folder(zoo, size=(4, 3)).X, plain.X)


def test_broken_images_are_left_out_on_request(zoo: Path) -> None:
    plain = load_image_folder(zoo, size=(4, 3))
    path = zoo / "ape" / "2.png"
    path.write_bytes(path.read_bytes()[:60])
    rule = rf"{RULE}\. Got '.*ape.2\.png' \(.+\)\. Replace or remove it, or leave broken images out"
    with pytest.raises(OSError, match=rf"{rule} with `skip_broken`\.$"):
        load_image_folder(zoo, size=(4, 3))
    kept = [0, 1, 3, 4, 5, 6, 7, 8]
    for _ in range(2):  # the broken one is tried again
        rest = load_image_folder(zoo, size=(4, 3), skip_broken=True)
        np.testing.assert_array_equal(rest.X, plain.X[kept])
        np.testing.assert_array_equal(rest.y, plain.y[kept])
        assert rest.source.endswith("1 files left out")
    with pytest.raises(OSError, match=r"ape.2\.png"):  # the cache does not hide it
        load_image_folder(zoo, size=(4, 3))
    (zoo / "ape" / "1.png").write_bytes(b"junk")
    with pytest.raises(ValueError, match=rf"{RULE}, at least 2 in each\. Got '.*ape' with 1\. Add"):
        load_image_folder(zoo, size=(4, 3), skip_broken=True)


# Upright, and in color.

# What EXIF means by orientation, in slices: the stored pixels s as they are to be shown.
UPRIGHT = {
    1: lambda s: s,
    2: lambda s: s[:, ::-1],
    3: lambda s: s[::-1, ::-1],
    4: lambda s: s[::-1],
    5: lambda s: s.swapaxes(0, 1),
    6: lambda s: s.swapaxes(0, 1)[:, ::-1],
    7: lambda s: s[::-1, ::-1].swapaxes(0, 1),
    8: lambda s: s.swapaxes(0, 1)[::-1],
    99: lambda s: s,  # no such orientation
}


def save_turned(pixels: np.ndarray, orientation: int, path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif)


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("ending", ["png", "tiff"])
@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
def test_images_are_read_upright(orientation: int, ending: str, depth: type, tmp_path: Path) -> None:
    white = np.iinfo(depth).max
    pixels = np.random.default_rng(0).integers(0, white, (4, 7)).astype(depth)
    path = tmp_path / f"turned.{ending}"
    save_turned(pixels, orientation, path)
    expected = UPRIGHT[orientation](pixels) / white
    np.testing.assert_array_equal(read_levels(path), expected)
    np.testing.assert_array_equal(read_levels(path, color=True)[:, :, 1], expected)


def test_a_photograph_is_read_upright(tmp_path: Path) -> None:
    # Left half black, right half white, as stored; the camera was turned.
    pixels = np.zeros((16, 32, 3), dtype=np.uint8)
    pixels[:, 16:] = 255
    save_turned(pixels, 6, tmp_path / "phone.jpg")
    seen = read_levels(tmp_path / "phone.jpg")
    assert seen.shape == (32, 16)
    np.testing.assert_allclose(seen[[0, -1]].mean(axis=1), [0.0, 1.0], atol=0.02)


def test_color_is_kept_on_request(zoo: Path) -> None:
    data = load_image_folder(zoo, size=(4, 3), color=True)
    assert (data.X.shape, data.image_shape) == ((9, 36), (4, 3, 3))
    pixels = np.asarray(Image.open(zoo / "ape" / "1.png"), dtype=float) / 255
    expected = np.stack([area_average(pixels[:, :, c], (4, 3)) for c in range(3)], axis=2)
    np.testing.assert_allclose(data.X[1].reshape(4, 3, 3), expected, atol=1e-14)
    # Averaging is linear: gray of the means is the mean of gray. Gray images have three equal channels.
    gray = load_image_folder(zoo, size=(4, 3))
    weights = np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(data.X.reshape(9, 12, 3) @ weights, gray.X, atol=1e-6)
    others = [0, 2, 3, 4, 5, 6, 7, 8]
    channels = data.X[others].reshape(8, 12, 3)
    np.testing.assert_allclose(channels, np.repeat(channels[:, :, :1], 3, axis=2), atol=0)
    np.testing.assert_array_equal(load_image_folder(zoo, size=(4, 3)).X, gray.X)  # each its own cache


@pytest.mark.parametrize("color", [False, True])
def test_inks_are_read_as_their_colors(color: bool, tmp_path: Path) -> None:
    # Cyan, magenta, yellow and black ink, from none to full: what is left of red, green and blue.
    inks = np.random.default_rng(0).integers(0, 256, (5, 6, 4)).astype(np.uint8)
    Image.frombytes("CMYK", (6, 5), inks.tobytes()).save(tmp_path / "inks.tiff")
    left = 1.0 - inks / 255
    rgb = left[:, :, :3] * left[:, :, 3:]
    expected = rgb if color else rgb @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(
        read_levels(tmp_path / "inks.tiff", color=color), expected, atol=1.5 / 255
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_named(zoo: Path) -> None:
    (zoo / "cat" / "0.png").chmod(0)
    with pytest.raises(OSError, match=r"Got '.*0\.png' \(.*Permission denied"):
        load_image_folder(zoo)


def test_folder_inside_a_class_is_named(zoo: Path) -> None:
    (zoo / "cat" / "more").mkdir()
    with pytest.raises(OSError, match=r"Got '.*more' \(not a file\)\. Replace or remove"):
        load_image_folder(zoo)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names need POSIX")
def test_pipe_is_named_and_not_read(tmp_path: Path) -> None:
    # The writer waits for the first one who opens the pipe, and that is the test itself.
    pipe = tmp_path / "a" / "pipe.png"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[b"no image"], daemon=True)
    writer.start()
    with pytest.raises(OSError, match=r"Got '.*pipe\.png' \(not a file\)"):
        load_inputs_like(pipe, ImagePreparation((3, 3), False))
    assert not has_color(tmp_path)
    assert pipe.read_bytes() == b"no image"
    writer.join()


def test_data_home_has_no_meaning_for_a_path(zoo: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^`data_home` must be None where `name` is a folder of images"
    ):
        load_dataset(zoo, data_home=zoo.parent)


# The cache.


def only_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_second_load_reads_no_image(zoo: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_image_folder(zoo, size=(4, 3))
    assert only_file(cache).name == "computed.sqlite"
    load_image_folder(zoo, size=(4, 3), unit_norm=True)  # norms do not reach the cache
    monkeypatch.setitem(sys.modules, "PIL", None)
    # By content: a folder that was moved is known.
    second = load_image_folder(zoo.rename(zoo.parent / "moved"), size=(4, 3))
    np.testing.assert_array_equal(second.X, first.X)
    with pytest.raises(ImportError, match="needs Pillow"):
        load_image_folder(zoo.parent / "moved", size=(3, 3))


def test_changed_file_is_read_again(zoo: Path) -> None:
    before = load_image_folder(zoo, size=(4, 3))
    path = zoo / "cat" / "0.png"
    state = path.stat()
    Image.fromarray(np.full((10, 12), 51, dtype=np.uint8)).save(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # the same time: content counts
    after = load_image_folder(zoo, size=(4, 3))
    np.testing.assert_allclose(after.X[6], 0.2, atol=1e-12)
    np.testing.assert_array_equal(after.X[:6], before.X[:6])


def test_new_file_is_seen_and_missing_class_too(zoo: Path) -> None:
    load_image_folder(zoo, size=(4, 3))
    (zoo / "ape" / "3.png").write_bytes((zoo / "ape" / "0.png").read_bytes())
    assert len(load_image_folder(zoo, size=(4, 3)).X) == 10
    for path in (zoo / "ape").iterdir():
        path.unlink()
    with pytest.raises(ValueError, match="at least 2 in each"):
        load_image_folder(zoo, size=(4, 3))


DAMAGES = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-5000]),
    "foreign": lambda file: file.write_bytes(b"something else, which is no data base" * 9),
    "overwritten": lambda file: file.write_bytes(file.read_bytes()[:100] + bytes(9000)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cache_is_named_and_rebuilt(zoo: Path, cache: Path, damage: str) -> None:
    first = load_image_folder(zoo, size=(40, 30))
    file = only_file(cache)
    DAMAGES[damage](file)
    wording = rf"^NSSE_CACHE must hold what .* Got {re.escape(repr(str(file)))} \(.+\)\. It is made"
    with pytest.warns(UserWarning, match=wording):
        again = load_image_folder(zoo, size=(40, 30))
    np.testing.assert_array_equal(again.X, first.X)
    np.testing.assert_array_equal(load_image_folder(zoo, size=(40, 30)).X, first.X)  # no warning


def test_a_value_of_the_cache_that_has_changed_is_computed_again(zoo: Path, cache: Path) -> None:
    first = load_image_folder(zoo, size=(40, 30))
    with closing(sqlite3.connect(only_file(cache))) as store, store:
        key, value = store.execute("SELECT * FROM computed").fetchone()
        store.execute("UPDATE computed SET value = ? WHERE key = ?", (value[:-1] + b"!", key))
    np.testing.assert_array_equal(load_image_folder(zoo, size=(40, 30)).X, first.X)


def test_cache_that_cannot_be_written_is_told(zoo: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NSSE_CACHE", str(tmp_path / "file"))
    with pytest.warns(
        UserWarning, match=r"^NSSE_CACHE must name a folder that can be written\. Got '.*file"
    ):
        assert load_image_folder(zoo).X.shape == (9, 625)


def test_images_in_their_own_size_are_not_kept(zoo: Path, cache: Path) -> None:
    for path in zoo.glob("*/*.png"):
        Image.fromarray(np.full((3, 3), 9, dtype=np.uint8)).save(path)
    assert load_image_folder(zoo, size=None).X.shape == (9, 9)
    assert not list(cache.rglob("*"))


def test_place_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSSE_CACHE", str(tmp_path))
    assert cache_home() == tmp_path
    monkeypatch.delenv("NSSE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_home() == tmp_path / "nsse"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_home() == Path.home() / ".cache" / "nsse"
