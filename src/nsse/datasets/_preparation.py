"""Store how samples were prepared as a value, which is saved in the model file.

A preparation reads like the mapping that a model file contains, and ``dict(preparation)`` is that
mapping::

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
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nsse._support.errors import rule_error

if TYPE_CHECKING:
    from nsse.datasets._table_encoder import TableEncoder


class Preparation(Mapping[str, Any]):
    """The preparation of samples before a model. There is one class for each kind of samples.

    See Also
    --------
    nsse.datasets.Inputs : Holds one.
    nsse.datasets.load_inputs_like : Prepares other samples in the same way.

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
        kinds = (ImagePreparation, EncodedPreparation, TablePreparation, ArrayPreparation)
        return {one.kind: one for one in kinds}[stored["kind"]].of(stored)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read the values of this kind of preparation."""
        known = {one.name for one in fields(cls)}  # type: ignore[arg-type]
        values = {name: value for name, value in stored.items() if name in known}
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the metadata of a model file."""
        values = vars(self).items()
        return {"kind": self.kind, **{n: list(v) if isinstance(v, tuple) else v for n, v in values}}

    @abstractmethod
    def fits(self, n_features: int) -> bool:
        """Return whether the preparation gives samples with this number of features."""

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())


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
    nsse.datasets.load_inputs : Prepares a folder of images in this way.

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
        The SHA-256 of its content.
    n_features : int
        The number of features of an image.
    settings : dict
        How images go in and features come out: `Encoder.settings`.
    pictures : str
        Keys of the thumbnails of the training images in the cache, 64 characters each.

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
    settings: dict[str, Any] = field(default_factory=dict)
    pictures: str = ""

    def fits(self, n_features: int) -> bool:
        """Return whether an image has this number of features."""
        texts = self.encoder, self.sha256, self.pictures
        has_types = all(isinstance(text, str) for text in texts) and isinstance(self.settings, dict)
        return has_types and self.n_features == n_features

    def __str__(self) -> str:
        return f"{self.n_features} features of {Path(self.encoder).name}"


@dataclass(frozen=True, eq=False)
class TablePreparation(Preparation):
    """The columns of a table, which a `nsse.datasets.TableEncoder` turns into features.

    Attributes
    ----------
    encoder : TableEncoder
        The fitted encoder.
    label, id : str or None
        The columns of labels and of names of rows.

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
    encoder: TableEncoder
    label: str | None = None
    id: str | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read the columns, and return them with a fitted encoder."""
        from nsse.datasets._table_encoder import TableEncoder  # imports scikit-learn

        label, id = stored.get("label"), stored.get("id")
        medians = stored.get("medians")
        dropped = [name for name in (*stored.get("ignored", ()), label, id) if name is not None]
        encoder = TableEncoder(drop=dropped, missing="error" if medians is None else "median")
        encoder.columns_, encoder.constant_ = list(stored["columns"]), []
        encoder.categories_ = {name: list(known) for name, known in stored.get("categories", {}).items()}
        encoder.medians_, encoder.dates_ = dict(medians or {}), dict(stored.get("dates", {}))
        encoder._names, encoder.n_features_in_ = encoder.columns_, len(encoder.columns_)
        return cls(encoder, label, id)

    def renamed(self, label: str | None, id: str | None, drop: Iterable[str] = ()) -> TablePreparation:
        """Return the same with other columns of labels and names, and more columns to leave out."""
        encoder = copy(self.encoder)
        encoder.drop = [*encoder.drop, *drop, *(name for name in (label, id) if name is not None)]
        return TablePreparation(encoder, label, id)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the metadata of a model file."""
        encoder = self.encoder
        dropped = [name for name in encoder.drop if name not in (self.label, self.id)]
        stored: dict[str, Any] = {
            "kind": self.kind,
            "columns": list(encoder.columns_),
            "label": self.label,
        }
        stored["ignored"] = [*dropped, *encoder.constant_]
        if self.id is not None:
            stored["id"] = self.id
        if encoder.categories_:
            stored["categories"] = encoder.categories_
        if encoder.missing == "median":
            stored["medians"] = encoder.medians_
        if encoder.dates_:
            stored["dates"] = encoder.dates_
        return stored

    @property
    def features(self) -> list[str]:
        """Names of the features, in their order: ``length``, ``soil=clay``, ``soil=sand``."""
        names: list[str] = self.encoder.get_feature_names_out().tolist()
        return names

    def fits(self, n_features: int) -> bool:
        """Return whether the columns give this number of features."""
        encoder, columns = self.encoder, {*self.encoder.columns_}
        texts = [*columns, *encoder.drop, *encoder.dates_.values()]
        texts += [one for known in encoder.categories_.values() for one in known]
        has_medians = set(encoder.medians_) == columns.difference(encoder.categories_)
        numbers = encoder.medians_.values()
        return (
            all(isinstance(text, str) for text in texts)
            and columns.issuperset([*encoder.categories_, *encoder.dates_])
            and (has_medians or encoder.missing == "error")
            and all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
            and len(self.features) == n_features
        )

    def __str__(self) -> str:
        text, n_categorical = f"{len(self.encoder.columns_)} columns", len(self.encoder.categories_)
        if not n_categorical:
            return text
        return f"{text} ({n_categorical} with categories: {len(self.features)} features)"


@dataclass(frozen=True, eq=False)
class ArrayPreparation(Preparation):
    """Rows of numbers as they are.

    Attributes
    ----------
    n_features : int
        The number of values in a row.

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
    except (KeyError, TypeError, ValueError, AttributeError):
        is_fit = False
    if not is_fit:
        rule = f"say how the {n_features} features of the model were prepared"
        cure = "Save the model again with the `preparation` of its samples."
        raise rule_error("metadata", rule, dict(stored), cure)
    return found
