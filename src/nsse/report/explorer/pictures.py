"""Make the samples behind the points small enough for a page, as images or as rows of numbers."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsse._support.errors import rule_error
from nsse._support.types import Floats, SamplesLike
from nsse.affine import is_sparse
from nsse.datasets import EncodedPreparation, ImagePreparation, Preparation, TablePreparation
from nsse.datasets._images import area_average
from nsse.report.explorer.blocks import block
from nsse.report.explorer.models import Findings, Samples

KINDS = ("images", "encoded", "table", "array")
# Bytes of all images before they are deflated. If there are more, images are averaged to a smaller size.
PICTURE_BYTES = 24_000_000
# Numbers of all rows of a page, the number of values up to which whole rows are in the page, and the
# number of columns of longer rows.
ROW_VALUES, WHOLE_ROWS, COLUMNS = 2_000_000, 300_000, 24
TINY = 1e-6  # rounding of samples that are computed back from behind a metric


def checked_preparation(preparation: Mapping[str, Any] | None, n_features: int) -> Preparation:
    """Return what is known about the features, with None as an array of them."""
    given = {"kind": "array", "n_features": n_features} if preparation is None else dict(preparation)
    if given.get("kind") not in KINDS:
        rule = f"be None or have a kind, one of {', '.join(map(repr, KINDS))}"
        raise rule_error("preparation", rule, preparation, "Leave it None for a plain array.")
    known = Preparation.from_dict({"unit_norm": False, "n_features": n_features} | given)
    if isinstance(known, ImagePreparation) and math.prod(known.image_shape) != n_features:
        cure = "Give the height and width of the images that were fitted."
        raise rule_error("preparation", f"have a size of {n_features} levels", given["size"], cure)
    if isinstance(known, TablePreparation) and len(known.features) != n_features:
        cure = "Name the columns that were fitted, without the label."
        names = f"{len(known.features)} names"
        raise rule_error("preparation", f"name {n_features} columns", names, cure)
    return known


def column_names(preparation: Preparation, findings: Findings, columns: Any = None) -> list[str]:
    """Return names of the features, with ``columns`` of a data frame. Pixels have no names."""
    if isinstance(preparation, ImagePreparation | EncodedPreparation):
        return []
    if isinstance(preparation, TablePreparation):
        return [str(name) for name in preparation.encoder.columns_]
    if columns is None:
        columns = getattr(findings.core, "feature_names_in_", ())
    if len(columns) == findings.n_features:
        return [str(name) for name in columns]
    return [f"x{k}" for k in range(findings.n_features)]


def pictures_or_rows(preparation: Preparation, findings: Findings, columns: list[str]) -> dict[str, Any]:
    """Return the entries ``pictures`` and ``rows`` of the page's data. One or both of them are None."""
    parts = [points.inputs for points in (findings.train, findings.test)]
    shown = [part for part in parts if part is not None and part.shape[0]]
    # Training samples that are not in the model are points without an image.
    first = len(findings.train) if parts[0] is None else 0
    if not shown:
        return {"pictures": None, "rows": None}
    if isinstance(preparation, ImagePreparation):
        X = np.vstack([_dense(part) for part in shown])
        return {"pictures": {"first": first, **_pictures(X, preparation)}, "rows": None}
    n_rows = sum(part.shape[0] for part in shown)
    if isinstance(preparation, TablePreparation) and n_rows * len(columns) <= WHOLE_ROWS:
        words = [row for part in shown for row in _table_rows(preparation, _dense(part))]
        entry = {"first": first, "columns": columns, "n_columns": len(columns), "values": None}
        return {"pictures": None, "rows": {**entry, "words": words}}
    kept = len(columns) if n_rows * len(columns) <= WHOLE_ROWS else COLUMNS
    kept = min(len(columns), kept, ROW_VALUES // n_rows)
    if kept == 0:  # more than a page can contain, or features of a network
        return {"pictures": None, "rows": None}
    cells = np.vstack([_dense(part[:, :kept]) for part in shown])
    rows: dict[str, Any] = {"first": first, "columns": columns[:kept], "n_columns": len(columns)}
    has_words = cells.dtype == object
    rows["words"] = [[_word(cell) for cell in row] for row in cells] if has_words else None
    rows["values"] = None if has_words else block(cells, "f4")
    return {"pictures": None, "rows": rows}


def photographs(samples: Samples, findings: Findings) -> list[str | None] | None:
    """Return the entry ``photographs`` of the page's data, addresses with the files, or None."""
    parts = zip((samples.train_pictures, samples.pictures), (findings.train, findings.test), strict=True)
    # Training samples that were left out or joined are not known by their places.
    files = [
        file
        for given, points in parts
        for file in (given if given is not None and len(given) == len(points) else [None] * len(points))
    ]
    found = [
        None if file is None else f"data:image/jpeg;base64,{b64encode(file).decode()}" for file in files
    ]
    return found if any(found) else None


def _dense(part: Any) -> NDArray[Any]:
    return part.toarray() if is_sparse(part) else np.asarray(part)


def _table_rows(preparation: TablePreparation, X: Floats) -> list[list[str]]:
    """Return the entries of the columns of the user's table, from the features."""
    known, forms, start = preparation.encoder.categories_, preparation.encoder.dates_, 0
    cells = []
    for name in preparation.encoder.columns_:
        n = len(known[name]) if name in known else 1
        part, start = X[:, start : start + n], start + n
        if name in known:
            cells.append([_category(row, known[name]) for row in part])
        elif name in forms:
            cells.append([_date(days, forms[name]) for days in part[:, 0]])
        else:
            cells.append([f"{value:.9g}" for value in part[:, 0]])
    return [list(row) for row in zip(*cells, strict=True)]


def _category(indicators: Floats, names: Sequence[str]) -> str:
    """Return the category of a row. Training samples come back from the metric with rounding errors."""
    place = int(indicators.argmax())
    return names[place] if indicators[place] > 0.5 else ""


def _date(days: float, form: str) -> str:
    """Return days since 1970 as a date in the form of the table."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=round(86400.0 * float(days)) / 86400.0)
    return moment.strftime(form or "%Y-%m-%d")


def _word(cell: Any) -> str:
    """Return a cell of a table as text, or "" if it is missing."""
    word = f"{cell:.6g}" if isinstance(cell, float) else "" if cell is None else str(cell)
    return "" if word in ("nan", "<NA>", "NaT") else word


def _pictures(X: Floats, preparation: ImagePreparation) -> dict[str, Any]:
    images = X.reshape(-1, *preparation.image_shape)
    smaller = thumbnail_size(preparation.size, images.size)
    levels = quantised(images, bool(preparation.unit_norm))
    if smaller != tuple(preparation.size):
        levels = np.stack([np.rint(area_average(image.astype(float), smaller)) for image in levels])
    return {
        "height": smaller[0],
        "width": smaller[1],
        "levels": block(levels.reshape(len(levels), -1), "u1"),
        "stretched": not are_levels(X),
    }


def are_levels(X: SamplesLike) -> bool:
    """Return whether values are levels of image files in [0, 1], possibly divided by a norm."""
    return bool(X.dtype != object and X.shape[0] and X.min() >= -TINY and X.max() <= 1.0 + TINY)


def thumbnail_size(size: tuple[int, int], n_levels: int) -> tuple[int, int]:
    """Return the size, or a smaller one with which all images fit into `PICTURE_BYTES`."""
    height, width = size
    shrink = min(1.0, float(np.sqrt(PICTURE_BYTES / n_levels)))
    return max(1, int(height * shrink)), max(1, int(width * shrink))


def quantised(images: Floats, unit_norm: bool) -> NDArray[np.uint8]:
    """Return 256 levels from 0 (black) to 1 (white), or from the smallest to the largest value.

    Images divided by their norm have lost their brightness, so the brightest pixel of each becomes
    white.
    """
    if unit_norm:
        low, high = 0.0, images.max(axis=tuple(range(1, images.ndim)), keepdims=True)
    else:
        low, high = min(0.0, float(images.min())), max(1.0, float(images.max()))
    span = np.maximum(high - low, np.finfo(float).tiny)
    # Training samples are computed back from behind a metric. Rounding must not decide between levels.
    return np.clip(np.rint(np.round(255.0 * (images - low) / span, 6)), 0, 255).astype(np.uint8)
