"""How samples were prepared: a frozen value that travels with a model as plain data.

It reads like the mapping that a model file holds, and ``dict(preparation)`` is that mapping::

    {"kind": "images", "size": [25, 25], "unit_norm": True}
    {"kind": "table", "columns": ["length", "width"], "label": "species", "ignored": []}
    {"kind": "array", "n_features": 64}
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from nsse._errors import rule_error


class Preparation(Mapping[str, Any]):
    """What was done to samples before a model saw them; one class for each kind of samples."""

    kind: ClassVar[str]
    noun: ClassVar[str]

    @staticmethod
    def from_dict(told: Mapping[str, Any]) -> Preparation:
        """Read what `to_dict` gave, of version 0.1 as well; KeyError or TypeError for anything else."""
        if told["kind"] == "images":
            return ImagePreparation(tuple(told["size"]), told["unit_norm"])
        if told["kind"] == "table":
            ignored = tuple(told.get("ignored", ()))
            return TablePreparation(tuple(told["columns"]), told.get("label"), ignored)
        if told["kind"] == "array":
            return ArrayPreparation(told["n_features"])
        raise KeyError(told["kind"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the metadata of a model file."""
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}
        return {"kind": self.kind, **lists}

    @abstractmethod
    def fits(self, n_features: int) -> bool:
        """Whether it gives samples of so many features."""

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())


@dataclass(frozen=True, eq=False)
class ImagePreparation(Preparation):
    """Grey images of one height and width, divided by their Euclidean norm or not."""

    kind, noun = "images", "images"
    size: tuple[int, int]
    unit_norm: bool

    def fits(self, n_features: int) -> bool:
        """Whether images of this size have so many pixels."""
        match self.size:
            case [int(height), int(width)]:
                return min(height, width) > 0 and height * width == n_features
        return False

    def __str__(self) -> str:
        height, width = self.size
        return f"{height} x {width} grey levels" + (", unit norm" if self.unit_norm else "")


@dataclass(frozen=True, eq=False)
class TablePreparation(Preparation):
    """Columns of a table in this order; the column of labels, and those that were left out."""

    kind, noun = "table", "a table"
    columns: tuple[str, ...]
    label: str | None = None
    ignored: tuple[str, ...] = ()

    def fits(self, n_features: int) -> bool:
        """Whether it names so many columns."""
        named = all(isinstance(name, str) for name in (*self.columns, *self.ignored))
        return named and len(self.columns) == n_features

    def __str__(self) -> str:
        return f"{len(self.columns)} columns"


@dataclass(frozen=True, eq=False)
class ArrayPreparation(Preparation):
    """Rows of numbers as they are."""

    kind, noun = "array", "arrays"
    n_features: int

    def fits(self, n_features: int) -> bool:
        """Whether rows have so many features."""
        return self.n_features == n_features

    def __str__(self) -> str:
        return f"{self.n_features} features"


def check_preparation(told: Mapping[str, Any], n_features: int) -> Preparation:
    """Refuse what no `load_inputs` gives: a file may say anything."""
    try:
        found = Preparation.from_dict(told)
    except (KeyError, TypeError):
        found = None
    if found is None or not found.fits(n_features):
        rule = f"say how the {n_features} features of the model were prepared"
        cure = "Save the model again with the `preparation` of its samples."
        raise rule_error("metadata", rule, dict(told), cure)
    return found
