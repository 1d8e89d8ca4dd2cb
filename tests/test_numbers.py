"""The numbers that readers see first are those of stored results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from reproduction.rows import RowFile

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def page(name):
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def stored(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def test_log_losses():
    methods = ("untuned", "SVC", "LDA", "logistic", "forest")
    rows = stored("probabilities.json")
    shown = page("research/measurements.md").replace("**", "")
    for row in rows:
        assert f"{row['per class']} | " + " | ".join(f"{row[m]:.3f}" for m in methods) + " |" in shown
    lowest = sum(min(methods, key=row.__getitem__) == "untuned" for row in rows)
    assert (len(rows), lowest) == (8, 6)
    assert "is the lowest on six of them" in page("howto/uncertainty.md")
    assert "five methods with default parameters on eight data sets" in page("howto/uncertainty.md")


def test_class_maps():
    rows = stored("ask_maps.json")["percent"]
    shown = page("research/measurements.md").replace("**", "")
    for row in rows.values():
        assert "| " + " | ".join(f"{100 * value:.1f}" for value in row.values()) + " |" in shown
    told = f"{100 * rows['digits']['class map']:.1f} % of the new samples in the class map"
    first = f"{100 * rows['digits']['first two']:.1f} % in the first two coordinates"
    assert f"{told} and for {first}" in page("howto/plot.md")


def test_relevant_features():
    rows = stored("ask_features.json")["percent"]
    shown = page("research/measurements.md").replace("**", "")
    for row in rows.values():
        assert "| " + " | ".join(f"{100 * value:.1f}" for value in row.values()) + " |" in shown
    relevant, random = (f"{100 * rows['digits'][key]:.1f}" for key in ("relevant", "random"))
    told = f"{relevant} percentage points for the most relevant pixels and by {random} points"
    assert told in page("howto/explain.md")


def test_photographs():
    lines = (RESULTS / "photographs.jsonl").read_text(encoding="utf-8").splitlines()
    photos = [
        row["errors"] for row in map(json.loads, lines) if (row["set"], row["size"]) == ("photos", 10)
    ]

    def error(method):
        return f"{100 * np.mean([row[method] for row in photos]):.1f} %"

    text = page("howto/photographs.md")
    features, pixels = error("SmoothEmbedding"), error("SmoothEmbedding on pixels")
    assert (
        f"the error is {features} with features of EfficientNet-Lite0 and {pixels} with pixels" in text
    )
    assert f"A tuned SVM on the same features has an error of {error('SVC, tuned')}" in text


def test_few_labels():
    rows = RowFile(ROOT / "reproduction" / "study" / "unlabeled.jsonl").rows()

    def error(method):
        own = [
            r for r in rows if (r.task.dataset, r.task.n_train, r.task.method) == ("coil20", 3, method)
        ]
        return f"{100 * np.mean([row.details['new'] for row in own]):.1f} %"

    told = f"from {error('untuned, labelled alone')} to {error('untuned, with unlabelled samples')}"
    assert told in page("howto/few_labels.md")


def test_many_samples():
    (exact, *_), million = stored("centres.json")["rows"], stored("million.json")["rows"][-1]
    text = page("howto/many_samples.md")
    assert f"{exact['seconds']:.0f} seconds on two cores" in text
    assert f"with an error of {exact['test_error_percent']:.1f} %" in text
    assert f"200 centers take {million['microseconds_per_row']:.0f} µs per row" in text
