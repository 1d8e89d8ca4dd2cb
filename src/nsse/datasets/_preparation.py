"""Store how samples were prepared as a frozen value, which is saved in the model file.

It reads like the mapping that a model file holds, and ``dict(preparation)`` is that mapping::

    {"kind": "images", "size": [25, 25], "unit_norm": True, "color": False}
    {"kind": "encoded", "encoder": "dinov2.onnx", "sha256": "9f2…", "n_features": 384, "settings": {…}}
    {"kind": "table", "columns": ["length", "width"], "medians": {…}, "label": "species", "ignored": []}
    {"kind": "array", "n_features": 64}

The entry of a table also has ``"id": "plant"``, ``"categories": {"soil": ["clay", "sand"]}`` and
``"dates": {"day": "%d.%m.%Y"}`` if they are needed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nsse._support.errors import rule_error

if TYPE_CHECKING:
    from nsse.datasets._table_encoder import TableEncoder


class Preparation(Mapping[str, Any]):
    """The preparation of samples before a model. There is one class for each kind of samples.

    See Also
    --------
    nsse.datasets.Inputs : Holds one.
    nsse.datasets.load_inputs_like : Prepares other samples alike.

    Examples
    --------
    >>> from nsse.datasets import ImagePreparation, Preparation
    >>> stored = ImagePreparation((25, 25), unit_norm=True).to_dict()
    >>> Preparation.from_dict(stored).size
    (25, 25)
    """

    kind: ClassVar[str]
    noun: ClassVar[str]

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Preparation:
        """Read the result of `to_dict`, which may have more names.

        Raises KeyError, TypeError or ValueError if it is not valid.
        """
        of: tuple[Any, ...] = (ImagePreparation, EncodedPreparation, TablePreparation, ArrayPreparation)
        kind = {one.kind: one for one in of}[stored["kind"]]
        known = {field.name for field in fields(kind)}
        return kind(**{name: frozen(value) for name, value in stored.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the metadata of a model file."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in vars(self).items()}}

    @abstractmethod
    def fits(self, n_features: int) -> bool:
        """Return whether the preparation gives samples with this number of features."""

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())


class Pairs(tuple[tuple[str, Any], ...]):
    """A frozen dict, which is converted to a plain dict for model files."""

    __slots__ = ()


NO_PAIRS = Pairs()


def frozen(value: Any) -> Any:
    """Return the preparation without its mutable parts."""
    if isinstance(value, Mapping):
        return Pairs((str(name), frozen(part)) for name, part in value.items())
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {name: _plain(part) for name, part in value}
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, eq=False)
class ImagePreparation(Preparation):
    """Images of one height and width, gray or in color, divided by their Euclidean norm or not.

    Attributes
    ----------
    size : tuple of (int, int)
        Height and width.
    unit_norm : bool
        Whether images are divided by their Euclidean norm.
    color : bool
        Whether they keep their color.

    See Also
    --------
    nsse.datasets.load_inputs : Prepares a folder of images so.

    Examples
    --------
    >>> from nsse.datasets import ImagePreparation
    >>> ImagePreparation((25, 25), unit_norm=True, color=True).image_shape
    (25, 25, 3)
    """

    kind, noun = "images", "images"
    size: tuple[int, int]
    unit_norm: bool
    color: bool = False

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Height and width of images, and 3 in color."""
        return (*self.size, 3) if self.color else self.size

    def fits(self, n_features: int) -> bool:
        """Return whether images of this shape have this number of levels."""
        match self.size:
            case [int(height), int(width)] if isinstance(self.color, bool):
                return min(height, width) > 0 and math.prod(self.image_shape) == n_features
        return False

    def __str__(self) -> str:
        height, width = self.size
        levels = "pixels in color" if self.color else "gray levels"
        return f"{height} x {width} {levels}" + (", unit norm" if self.unit_norm else "")


@dataclass(frozen=True, eq=False)
class EncodedPreparation(Preparation):
    """Images as features of a network, which is another file.

    Attributes
    ----------
    encoder : str
        The file of the network, as it was given.
    sha256 : str
        Of its content.
    n_features : int
        Features of an image.
    settings : Pairs
        How images go in and features come out: `Encoder.settings`.
    pictures : str
        Keys of the thumbnails of the training images in the cache, 64 signs each.

    See Also
    --------
    nsse.datasets.Encoder : The network.

    Examples
    --------
    >>> from nsse.datasets import EncodedPreparation
    >>> print(EncodedPreparation("nets/dinov2.onnx", "9f" * 32, 384))
    384 features of dinov2.onnx
    """

    kind, noun = "encoded", "images"
    encoder: str
    sha256: str
    n_features: int
    settings: Pairs = NO_PAIRS
    pictures: str = ""

    def fits(self, n_features: int) -> bool:
        """Return whether an image has this number of features."""
        texts = self.encoder, self.sha256, self.pictures
        return (
            all(isinstance(text, str) for text in texts)
            and isinstance(self.settings, Pairs)
            and self.n_features == n_features
        )

    def __str__(self) -> str:
        return f"{self.n_features} features of {Path(self.encoder).name}"


@dataclass(frozen=True, eq=False)
class TablePreparation(Preparation):
    """The columns of a table, as a fitted `nsse.datasets.TableEncoder` has them, and those left out.

    Attributes
    ----------
    columns : tuple of str
        The columns that become features, in this order.
    label, id : str or None
        The columns of labels and of names of rows.
    ignored : tuple of str
        The columns that are left out.
    categories : Pairs of (str, tuple of str)
        The categories of each column that has them.
    medians : Pairs of (str, float) or None
        The numbers that replace missing ones. None: missing entries raise an error.
    dates : Pairs of (str, str)
        The form in which the dates of a column are written.

    See Also
    --------
    nsse.datasets.TableEncoder : Turns the columns into features.

    Examples
    --------
    >>> from nsse.datasets import Preparation
    >>> leaves = {"leaf": ["oval", "round"]}
    >>> table = {"kind": "table", "columns": ["height", "leaf"], "categories": leaves}
    >>> Preparation.from_dict(table).fits(3)  # the height, and one for each kind of leaf
    True
    """

    kind, noun = "table", "a table"
    columns: tuple[str, ...]
    label: str | None = None
    ignored: tuple[str, ...] = ()
    id: str | None = None
    categories: Pairs = NO_PAIRS
    medians: Pairs | None = None
    dates: Pairs = NO_PAIRS

    @classmethod
    def of(cls, encoder: TableEncoder, label: str | None, id: str | None) -> TablePreparation:
        """Return the preparation of a fitted encoder."""
        dropped = [name for name in encoder.drop if name not in (label, id)]
        return cls(
            columns=tuple(encoder.columns_),
            label=label,
            ignored=(*dropped, *encoder.constant_),
            id=id,
            categories=frozen(encoder.categories_),
            medians=frozen(encoder.medians_) if encoder.missing == "median" else None,
            dates=frozen(encoder.dates_),
        )

    @property
    def encoder(self) -> TableEncoder:
        """A fitted encoder."""
        from nsse.datasets._table_encoder import TableEncoder  # an estimator: others do not wait for it

        dropped = [name for name in (*self.ignored, self.label, self.id) if name is not None]
        encoder = TableEncoder(drop=dropped, missing="error" if self.medians is None else "median")
        encoder.columns_, encoder.constant_ = list(self.columns), []
        encoder.categories_ = {name: list(known) for name, known in self.categories}
        encoder.medians_, encoder.dates_ = dict(self.medians or ()), dict(self.dates)
        encoder._names, encoder.n_features_in_ = list(self.columns), len(self.columns)
        return encoder

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in their order: ``length``, ``soil=clay``, ``soil=sand``."""
        known = dict(self.categories)
        return tuple(
            feature
            for name in self.columns
            for feature in ([f"{name}={one}" for one in known[name]] if name in known else [name])
        )

    def fits(self, n_features: int) -> bool:
        """Return whether the columns give this number of features."""
        texts = [*self.columns, *self.ignored, *(form for _, form in self.dates)]
        texts += [one for _, known in self.categories for one in known]
        numbers = [number for _, number in self.medians or ()]
        plain = {*self.columns} - {name for name, _ in self.categories}
        return (
            all(isinstance(text, str) for text in texts)
            and {name for name, _ in (*self.categories, *self.dates, *(self.medians or ()))}
            <= set(self.columns)
            and (self.medians is None or {name for name, _ in self.medians} == plain)
            and all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
            and len(self.features) == n_features
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the metadata of a model file."""
        unused: dict[str, Any] = {"id": None, "categories": {}, "medians": None, "dates": {}}
        fields = super().to_dict().items()
        return {name: value for name, value in fields if name not in unused or value != unused[name]}

    def __str__(self) -> str:
        text = f"{len(self.columns)} columns"
        if not self.categories:
            return text
        return f"{text} ({len(self.categories)} with categories: {len(self.features)} features)"


@dataclass(frozen=True, eq=False)
class ArrayPreparation(Preparation):
    """Rows of numbers as they are.

    Attributes
    ----------
    n_features : int
        Numbers in a row.

    See Also
    --------
    nsse.datasets.TablePreparation : Columns by name.

    Examples
    --------
    >>> from nsse.datasets import ArrayPreparation
    >>> ArrayPreparation(4).to_dict()
    {'kind': 'array', 'n_features': 4}
    """

    kind, noun = "array", "arrays"
    n_features: int

    def fits(self, n_features: int) -> bool:
        """Return whether rows have this number of features."""
        return self.n_features == n_features

    def __str__(self) -> str:
        return f"{self.n_features} features"


def check_preparation(stored: Mapping[str, Any], n_features: int) -> Preparation:
    """Return the preparation that a file states, or raise an error if it does not fit the model."""
    try:
        found = Preparation.from_dict(stored)
        is_fit = found.fits(n_features)
    except (KeyError, TypeError, ValueError):
        is_fit = False
    if not is_fit:
        rule = f"say how the {n_features} features of the model were prepared"
        cure = "Save the model again with the `preparation` of its samples."
        raise rule_error("metadata", rule, dict(stored), cure)
    return found
