"""Write the page or its static version with `write_report`, completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from nsse._support.errors import Described, rule_error, rule_message
from nsse._support.files import replacing, written
from nsse.class_maps import MOST_LABELS, spread_heights
from nsse.datasets import EncodedPreparation, Preparation, TablePreparation
from nsse.palette import HUES
from nsse.pipelines import is_encoder, opened
from nsse.report.explorer import facts
from nsse.report.explorer.alike import alike_in_class
from nsse.report.explorer.blocks import block, script_safe_json
from nsse.report.explorer.bundle import bundled
from nsse.report.explorer.charts import panels
from nsse.report.explorer.live import LiveMap, live_map
from nsse.report.explorer.models import Findings, Points, Samples, find
from nsse.report.explorer.pictures import (
    checked_preparation,
    column_names,
    photographs,
    pictures_or_rows,
)
from nsse.report.explorer.why import reasons
from nsse.report.notebook import report_in_notebook

SUFFIXES = (".html", ".png", ".svg")


@dataclass(frozen=True)
class WrittenReport:
    """The path, the size and the number of samples of a report. A notebook shows the report itself.

    Attributes
    ----------
    n_train, n_shown : int
        Number of training samples and of other samples.
    bytes : int
        Size of the file.
    live : bool
        Whether the page contains the map and accepts new samples.
    path : Path
        The file.

    See Also
    --------
    nsse.report.write_report : Returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> import tempfile
    >>> from nsse.report import Samples, write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(f"{folder}/iris.html", model, Samples(X, y))
    >>> written.n_train, written.n_shown, written.live
    (50, 150, True)
    """

    n_train: int
    n_shown: int
    bytes: int
    live: bool
    path: Path

    def _repr_html_(self) -> str:
        return report_in_notebook(self.path, self.bytes)


def write_report(
    path: str | Path,
    model: Any,
    samples: Samples,
    *,
    preparation: Mapping[str, Any] | None = None,
    title: str = "",
    live: bool | str = "auto",
) -> WrittenReport:
    """Write a report on a fitted model and samples, as one HTML file that works offline.

    Parameters
    ----------
    path : str or Path
        The file to write. ``.html`` is the page to explore, and ``.png`` and ``.svg`` are one figure.
    model : estimator
        A fitted `SmoothEmbedding` or another method of this library, alone or at the end of a pipeline.
        It contains the training samples.
    samples : Samples
        The samples to show, which the model should not have seen.
    preparation : Preparation or mapping, default=None
        The meaning of the features: ``{"kind": "images", "size": (height, width), "unit_norm": bool}``
        (with ``"color": True`` if every pixel has red, green and blue levels),
        ``{"kind": "table", "columns": names}`` or ``{"kind": "array"}``, which is the default. Images
        are shown as images, and rows with the names of their columns.
    title : str, default=""
        The title. If it is empty, the title contains the name of the method.
    live : bool or "auto", default="auto"
        Whether the page contains the map itself, so that readers can try their own samples. "auto"
        includes a kernel map or a linear map behind affine steps if it has at most 12 MB. True includes
        it at any size.

    Returns
    -------
    WrittenReport
        The number of samples, the size and the path of the file, and whether it contains the map. At
        the end of a cell, a notebook shows the report.

    See Also
    --------
    nsse.plot.embedding : The map as an image.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nsse import SmoothEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothEmbedding().fit(X[::3], y[::3])
    >>> from nsse.report import Samples, write_report
    >>> written = write_report("iris.html", model, Samples(X[1::3], y[1::3]), title="Flowers")
    >>> written.path.name
    'iris.html'
    """
    path, title = Path(path), written(title)
    if not isinstance(samples, Samples):
        got, cure = Described(f"a {type(samples).__name__}"), "Pass Samples(X_new, y_new)."
        raise TypeError(rule_message("samples", "be Samples of nsse.report", got, cure))
    if path.suffix.lower() not in SUFFIXES:
        raise rule_error("path", f"end in {', '.join(SUFFIXES)}", str(path), "Name it report.html.")
    model, samples, preparation = _behind_encoder(model, samples, preparation)
    findings = find(model, samples, without_radii=facts.without_radii(preparation))
    known = checked_preparation(preparation, findings.n_features)
    if path.suffix.lower() != ".html":
        from nsse.figures import save_figure
        from nsse.report.explorer.sheet import report_figure

        save_figure(report_figure(model, samples, findings, title), path, path.suffix.lower()[1:])
        inside = False
    else:
        carried = live_map(findings, known, live)
        columns = column_names(known, findings, getattr(samples.X, "columns", None))
        data = page_data(findings, known, carried, columns)
        data["photographs"] = photographs(samples, findings)
        data["radius_in"] = " in feature space" if isinstance(known, EncodedPreparation) else ""
        text = page(data, findings, title)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        inside = carried.entry is not None
    return WrittenReport(len(findings.train), len(findings.test), path.stat().st_size, inside, path)


def _behind_encoder(
    model: Any, samples: Samples, preparation: Mapping[str, Any] | None
) -> tuple[Any, Samples, Mapping[str, Any] | None]:
    """Return the model without the encoder of its table, the encoded samples, and the columns."""
    before, last = opened(model)
    if not before or not is_encoder(before[0]):
        return model, samples, preparation
    encoder, rest = before[0], before[1:]
    if samples.X is not None:
        samples = replace(samples, X=encoder.transform(samples.X))
    known = preparation or TablePreparation(encoder)
    return make_pipeline(*rest, last) if rest else last, samples, known


def page(data: dict[str, Any], findings: Findings, title: str) -> str:
    """Return the page as text."""
    folder, title = files("nsse.report.explorer"), escape(title or f"{findings.name} report")
    frame, style = ((folder / name).read_text(encoding="utf-8") for name in ("page.html", "style.css"))
    sentences = {"finding": facts.finding(findings), "made_of": facts.made_of(findings)}
    lines = {name: escape(written(sentence)) for name, sentence in sentences.items()}
    scripts = {"data": script_safe_json(data), "script": bundled()}
    return Template(frame).substitute(title=title, style=style, **lines, **scripts)


def page_data(
    findings: Findings, preparation: Preparation, live: LiveMap, columns: list[str]
) -> dict[str, Any]:
    """Return all data that the scripts need."""
    alike, has_radii = alike_in_class(findings), findings.radius is not None and len(findings.radius)
    return {
        "classes": findings.classes,
        "hues": HUES,
        "train": _points_entry(findings.train),
        "test": _points_entry(findings.test),
        "labelled": findings.has_labels,
        "notes": facts.notes(findings),
        "polygon": _polygon_entry(findings),
        "most_labels": MOST_LABELS,
        "columns": columns,
        "panels": panels(findings, preparation),
        "radius": None if not has_radii else block(findings.radius, "f4"),
        "probabilities": _probabilities_entry(findings),
        "alike": None if alike is None else block(alike, "u4"),
        "nearest": _nearest_entry(findings),
        "why": reasons(findings, _feature_names(preparation, columns)),
        "live": live.entry,
        "without_live": live.reason,
        **pictures_or_rows(preparation, findings, columns),
    }


def _feature_names(preparation: Preparation, columns: list[str]) -> Sequence[str]:
    """Return the names of the features, of which a column with categories has several."""
    return preparation.features if isinstance(preparation, TablePreparation) else columns


def _points_entry(points: Points) -> dict[str, Any]:
    # 65535 stands for a label that is not known.
    codes = np.where(points.codes < 0, 65535, points.codes)
    return {
        "embedding": block(points.embedding, "f4"),
        "codes": block(codes, "u2"),
        "predicted": block(points.predicted, "u2"),
        "names": points.names,
        "certainty": None if points.certainty is None else block(points.certainty, "f4"),
    }


def _polygon_entry(findings: Findings) -> dict[str, Any]:
    """Return the corners of the classes, the places of the samples, and where the labels are."""
    class_map, places = findings.class_map, findings.places()
    order = np.argsort(np.arctan2(*class_map.corners.T))
    bands = None
    if class_map.is_line:
        parts = findings.train, findings.test
        codes = [np.where(points.codes < 0, points.predicted, points.codes) for points in parts]
        places[:, 1], middles = spread_heights(places[:, 0], np.concatenate(codes))
        bands = middles.tolist()
    return {
        "classes": order.tolist(),
        "corners": class_map.corners[order].tolist(),
        "labels": class_map.labels[order].tolist(),
        "sharpness": class_map.sharpness,
        "places": block(np.pad(places, ((0, 0), (0, 1))), "f4"),
        "bands": bands,
    }


def _nearest_entry(findings: Findings) -> dict[str, Any] | None:
    if findings.nearest is None:
        return None
    sample, copy, names = findings.nearest
    return {"sample": block(sample, "f8"), "copy": block(copy, "u2"), "names": list(names)}


def _probabilities_entry(findings: Findings) -> dict[str, Any]:
    P, sets, test = findings.probabilities, findings.sets, findings.test
    entry: dict[str, Any] = {"predicted": None, "own": None, "sets": None}
    if P is not None:
        # A class that the model does not know has probability zero.
        rows, known = np.arange(len(P)), (test.codes >= 0) & (test.codes < P.shape[1])
        entry["predicted"] = block(P[rows, test.predicted], "f4")
        entry["own"] = block(np.where(known, P[rows, np.where(known, test.codes, 0)], 0.0), "f4")
    if sets is not None:
        entry["sets"] = {
            "sure": facts.SURE,
            "sizes": block(sets.sum(axis=1), "u2"),
            "members": block(np.nonzero(sets)[1], "u2"),
            "threshold": findings.threshold if np.isfinite(findings.threshold) else None,
        }
    return entry
