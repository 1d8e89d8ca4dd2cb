"""MNIST from its four IDX files, with every claim of their headers checked."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nsse.datasets._images import ImageSet, Size, unreadable
from nsse.datasets._places import DataHome, Download, Place

_SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

MNIST = Place(
    title="MNIST",
    folder="mnist",
    files="{train,t10k}-images-idx3-ubyte.gz, {train,t10k}-labels-idx1-ubyte.gz",
    page="http://yann.lecun.com/exdb/mnist/",
    # A copy of the official files, with the checksums of the originals.
    download=Download("https://ossci-datasets.s3.amazonaws.com/mnist/", _SHA256),
)

# The official parts in the order in which they are returned, with their numbers of images.
PARTS = {"train": 60_000, "t10k": 10_000}


def read_mnist(data_home: DataHome, _size: Size) -> ImageSet:
    """Read the training part, then the test part; the images stay 28 x 28."""
    folder = MNIST.locate(data_home)
    images = [_read_idx(folder / _images_file(part), (n, 28, 28)) for part, n in PARTS.items()]
    labels = [_read_idx(folder / f"{part}-labels-idx1-ubyte.gz", (n,)) for part, n in PARTS.items()]
    return ImageSet(
        images=np.concatenate(images) / 255.0,
        y=np.concatenate(labels).astype(np.int64),
        files=[f"{_images_file(part)}, image {i}" for part, n in PARTS.items() for i in range(n)],
        source=MNIST.source,
        n_train=PARTS["train"],
    )


def _images_file(part: str) -> str:
    return f"{part}-images-idx3-ubyte.gz"


def _read_idx(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Read unsigned bytes of a known shape: magic number, one length per axis, then the data."""
    data = _unzip(path)
    expected = (0x0800 + len(shape), *shape)  # 0x08: unsigned bytes; then the number of axes
    n_header = 4 * len(expected)
    if len(data) < n_header:
        raise unreadable(path, f"{len(data)} bytes, shorter than its header")
    magic, *lengths = np.frombuffer(data, dtype=">i4", count=len(expected)).tolist()
    if magic != expected[0]:
        raise unreadable(path, f"magic number {magic} instead of {expected[0]}")
    if tuple(lengths) != shape:
        raise unreadable(path, f"its header says {tuple(lengths)} instead of {shape}")
    if len(data) != n_header + np.prod(shape):
        raise unreadable(path, f"{len(data)} bytes instead of {n_header + np.prod(shape)}")
    return np.frombuffer(data, dtype=np.uint8, offset=n_header).reshape(shape)


def _unzip(path: Path) -> bytes:
    MNIST.check_present(path.parent, [path])
    try:
        with gzip.open(path) as stream:
            return stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, str(error)) from error
