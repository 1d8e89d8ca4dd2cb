"""What there is by name: what is found on this machine, and how to get the rest."""

from __future__ import annotations

from dataclasses import dataclass

from nsse.datasets._layouts import COIL20, CSIE, FEI, MIT_CBCL, ORL, YALE
from nsse.datasets._mnist import MNIST
from nsse.datasets._places import ENVIRONMENT_VARIABLE, DataHome, DatasetNotFoundError

PLACES = {
    "coil20": COIL20,
    "orl": ORL,
    "yale": YALE,
    "fei": FEI,
    "csie": CSIE,
    "mit_cbcl": MIT_CBCL,
    "mnist": MNIST,
}
WITHOUT_FILES = {
    "digits": "scikit-learn's handwritten digits, 8 x 8",
    "objects": "Twenty solids rendered on a turning table, 64 x 64",
}


@dataclass(frozen=True)
class KnownDataset:
    """A name that `load_dataset` takes.

    Attributes
    ----------
    name, title : str
        The name, and what it is.
    found : str or None
        Where its folder is; empty for what needs no files, None where it is not found.
    cure : str
        How to get it; empty where it is there.

    See Also
    --------
    nsse.datasets.known_datasets : Lists them.

    Examples
    --------
    >>> from nsse.datasets import known_datasets
    >>> [known.name for known in known_datasets() if known.found == ""]
    ['digits', 'objects']
    """

    name: str
    title: str
    found: str | None
    cure: str


def known_datasets(data_home: DataHome = None) -> list[KnownDataset]:
    """Every name with the folder in which it is found; the files in it are not looked at.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder that holds the sets; None takes it from the environment variable ``NSSE_DATA``.

    See Also
    --------
    nsse.datasets.load_dataset : Loads one.

    Examples
    --------
    >>> from nsse.datasets import known_datasets
    >>> "objects" in [known.name for known in known_datasets()]
    True
    """
    known = [KnownDataset(name, title, "", "") for name, title in WITHOUT_FILES.items()]
    for name, place in PLACES.items():
        try:
            known.append(KnownDataset(name, place.title, str(place.locate(data_home)), ""))
        except DatasetNotFoundError:
            cure = f"{place.page} → ${ENVIRONMENT_VARIABLE}/{place.folder}"
            cure += ", or --download" if place.download else ""
            known.append(KnownDataset(name, place.title, None, cure))
    return known
