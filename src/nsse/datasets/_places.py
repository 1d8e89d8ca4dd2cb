"""Where a data set lies on disk and where it is to be had: find it, fetch it, or say what is missing.

Only data sets whose checksums are known beyond doubt have a download.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsse._support.errors import optional
from nsse.datasets._store import cache_home

DataHome = str | os.PathLike[str] | None

ENVIRONMENT_VARIABLE = "NSSE_DATA"


@dataclass(frozen=True)
class Download:
    """Files under one address, with the SHA-256 of each."""

    address: str
    sha256: Mapping[str, str]

    def fetch(self, folder: Path) -> None:
        """Bring the files that `folder` lacks; a file that is there is left as it is."""
        missing = [name for name in self.sha256 if not (folder / name).is_file()]
        if not missing:
            return
        pooch = optional("pooch", "Downloading data sets needs pooch", "download")
        for name in missing:
            try:
                # Pooch writes to a temporary file and renames it after the checksum.
                pooch.retrieve(
                    url=self.address + name,
                    known_hash=f"sha256:{self.sha256[name]}",
                    fname=name,
                    path=folder,
                )
            except (OSError, ValueError) as error:
                raise OSError(
                    f"`download` must reach {self.address}{name}, whose SHA-256 is "
                    f"{self.sha256[name]}. Got {error}. Try again, or put the file into "
                    f"{str(folder)!r} yourself."
                ) from error


class DatasetNotFoundError(FileNotFoundError):
    """The folder of a data set is not there at all; one that is there in part is a plain error.

    See Also
    --------
    nsse.datasets.known_datasets : Which are there, and how to get the others.

    Examples
    --------
    >>> import tempfile
    >>> from nsse.datasets import DatasetNotFoundError, load_dataset
    >>> with tempfile.TemporaryDirectory() as nothing:
    ...     try:
    ...         load_dataset("orl", data_home=nothing)
    ...     except DatasetNotFoundError:
    ...         print("not there")
    not there
    """


@dataclass(frozen=True)
class Place:
    """The published layout of a data set: a folder, the files in it, and the official page."""

    title: str
    folder: str
    files: str
    page: str
    download: Download | None = None

    @property
    def source(self) -> str:
        """Where the data came from, without the path on this machine."""
        return f"{self.title}, {self.page} (folder {self.folder})"

    def locate(self, data_home: DataHome) -> Path:
        """Find the folder under `data_home`, or under the environment's folder if that is None.

        Where neither is given, a data set that was downloaded before is found in the cache.
        """
        home = _home(data_home)
        if home is None:
            home = _downloads()
            if not (home / self.folder).is_dir():
                raise self._not_found(f"None, and {ENVIRONMENT_VARIABLE} is not set")
        folder = home / self.folder
        if not folder.is_dir():
            origin = f" from {ENVIRONMENT_VARIABLE}" if data_home is None else ""
            raise self._not_found(f"{str(home)!r}{origin}, and {str(folder)!r} is not a folder")
        return folder

    def fetch(self, data_home: DataHome) -> None:
        """Download what is missing, if there is a download whose files can be checked."""
        if self.download is not None:
            self.download.fetch((_home(data_home) or _downloads()) / self.folder)

    def check_present(self, folder: Path, paths: Sequence[Path]) -> None:
        """Raise an error that names the first of the files that are not there."""
        missing = [path for path in paths if not path.is_file()]
        if missing:
            first = missing[0].relative_to(folder).as_posix()
            count = f"{len(missing)} of {len(paths)} files missing"
            raise self.incomplete(folder, f"{first} ({count})")

    def incomplete(self, folder: Path, what: str) -> FileNotFoundError:
        """Build the error for a data set that is there in part."""
        return FileNotFoundError(
            f"`data_home` must hold the whole of {self.title}: {self.files}. "
            f"Got {str(folder)!r} without {what}. Download it again from {self.page}."
        )

    def _not_found(self, got: str) -> DatasetNotFoundError:
        return DatasetNotFoundError(
            f"`data_home` must be the folder that holds {self.folder!r} with {self.files}. "
            f"Got {got}. Download {self.title} from {self.page}, unpack it as {self.folder!r}, "
            f"and pass the folder around it as `data_home` or set {ENVIRONMENT_VARIABLE} to it"
            f"{', or pass `download=True`' if self.download else ''}."
        )


def _home(data_home: DataHome) -> Path | None:
    home = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE) or None
    return None if home is None else Path(home).expanduser()


def _downloads() -> Path:
    return cache_home() / "data"
