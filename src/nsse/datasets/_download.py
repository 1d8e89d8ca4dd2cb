"""Official files from the network, each checked against its SHA-256 before it is put in place.

Only data sets whose checksums are known beyond doubt have a download.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nsse._support.errors import optional


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
