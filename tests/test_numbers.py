"""The numbers that readers see first are those of stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from nsse import SmoothEmbedding, SmoothEmbeddingCV
from reproduction.rows import RowFile

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def page(name):
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def readme():
    return " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


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
    told = page("howto/uncertainty.md")
    assert "five methods on eight data sets" in told
    assert "`SmoothEmbedding` has the lowest log-loss on six data sets" in told


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
    (exact, *_), million = stored("centers.json")["rows"], stored("million.json")["rows"][-1]
    text = page("howto/many_samples.md")
    assert f"{exact['seconds']:.0f} seconds on two cores" in text
    assert f"with an error of {exact['test_error_percent']:.1f} %" in text
    assert f"200 centers take {million['microseconds_per_row']:.0f} µs per row" in text


def description(path):
    """Return the description of a picture: titles of its panels, and what the example prints."""
    image = pytest.importorskip("PIL.Image", reason="Pillow comes with the images extra")
    with image.open(path) as picture:
        return picture.text["Description"].splitlines()


SHOWN = ROOT / "docs" / "images" / "new_digits.png"


def test_the_figure_of_the_readme_is_drawn_by_its_code():
    _, lda, ours, *by_neighbors = description(SHOWN)
    # The quick start prints this line (tests/test_pages.py), and draws this panel.
    (share,) = re.findall(r"(\S+)% of the new digits are wrong", readme())
    assert ours == f"SmoothEmbedding, class map: {share} % wrong"
    assert lda.startswith("LDA, class map: ")
    first, second, third = (re.search(r"([\d.]+)% wrong", line)[1] for line in by_neighbors)
    assert f"the errors are {first}, {second} and {third} %" in readme()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # warnings of UMAP about its dependencies
def test_the_figure_of_the_readme_is_current(tmp_path, monkeypatch):
    pytest.importorskip("umap", reason="umap comes with the docs extra")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from example_pictures import save

    assert description(save("new_digits", tmp_path)) == description(SHOWN)


def test_reasons_of_the_readme():
    means = stored("shared_light.json")["means"]
    ours, lda, svm = (f"{means[method]:.1f} %" for method in ("SmoothEmbedding", "LDA", "SVC, tuned"))
    assert f"the error is {ours}. It is {lda} for shrinkage LDA and {svm} for a tuned SVM" in readme()
    assert f"| {ours} | {lda} | {svm} |" in page("research/measurements.md")
    record = stored("shared_speaker.json")
    for title, errors in (("new speakers", record["means"]), ("men to women", record["men to women"])):
        told = " | ".join(f"{errors[method]:.1f} %" for method in means)
        assert f"| {title} | {told} |" in page("research/measurements.md")
    (digits,) = (row for row in stored("probabilities.json") if row["set"] == "digits")
    ours, svm = (f"{digits[name]:.3f}" for name in ("untuned", "SVC"))
    assert f"the log-loss (lower is better) is {ours}. It is {svm} for a calibrated SVM" in readme()
    (area,) = re.findall(r"\| digits, 20 \| ([\d.]+) ±", page("research/measurements.md"))
    assert f"an area under the ROC curve of {area}" in readme()
    section = page("research/measurements.md").split("## Typicality")[1].split("## ")[0]
    areas = [float(value) for value in re.findall(r"\| ([\d.]+) ± [\d.]+ \| [\d.]+ ±", section)]
    assert len(areas) == 7
    assert f"On seven data sets it is between {min(areas):.2f} and {max(areas):.2f}" in readme()
    assert "returns the same label for 100.0 % of the new digits" in readme()
    assert "100.0% equal labels" in page("howto/deploy.md")


def test_maps_of_the_readme():
    text = page("research/maps.md")
    names = ("`SmoothEmbeddingCV` class map", "LDA class map", "supervised UMAP")
    found = (re.search(rf"\| {re.escape(name)} \| ([\d.]+) \|", text) for name in names)
    ours, lda, umap = (one.group(1) for one in found)
    (n_sets,) = re.findall(r"The table below contains (\d+) of them", text)
    assert (
        f"On {n_sets} data sets, the mean accuracy of five neighbors in the plane is {ours} %"
        in readme()
    )
    assert f"{lda} % for class maps of LDA, and {umap} % for supervised UMAP" in readme()


def test_defaults():
    defaults = SmoothEmbedding().get_params()
    table = page("reference/parameters.md")
    for name in ("sigma", "smoothness", "metric__shrinkage"):
        assert f"- **`{name}`** ({defaults[name]:g}) " in readme()
        assert f"| `{name}` | {defaults[name]:g} |" in table
    penalty = SmoothEmbeddingCV().slope_penalty
    assert f"`slope_penalty` is {penalty} by default" in page("explanation/search.md")


def test_coverage_of_the_search():
    coverage: dict[tuple[str, str, int], list[float]] = {}
    for line in (RESULTS / "frontier-0.4.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if (row["model"], row["half"]) == ("search", "report") and row["coverage"] is not None:
            coverage.setdefault((row["kind"], row["set"], row["size"]), []).append(row["coverage"])
    means = {key: np.mean(values) for key, values in coverage.items()}
    every = 100 * np.mean(list(means.values()))
    tables = 100 * np.mean([mean for key, mean in means.items() if key[0] == "tables"])
    text = page("explanation/search.md")
    assert f"In {len(means)} experiments" in text
    assert f"contain the true label in {every:.0f} % of the cases on average" in text
    assert f"and in {tables:.0f} % on tables" in text


def test_gains_of_the_metric():
    light, speaker = stored("shared_light.json")["means"], stored("shared_speaker.json")
    text = page("explanation/metric.md")
    for errors in (light, speaker["means"], speaker["men to women"]):
        told = f"{errors['SmoothEmbedding']:.1f} %, compared with {errors['SVC, tuned']:.1f} %"
        assert told in text


def test_what_the_search_gains():
    (ratio,) = re.findall(r"\| tables \| reported \| \d+ \| ([\d.]+) \(", page("research/study.md"))
    gain = f"{100 - 100 * float(ratio):.0f} %"
    assert f"this lowers the error by {gain}" in readme()
    assert f"the search lowers the error on tables by {gain}" in page("howto/hyperparameters.md")


def test_data_sets_of_the_ranks():
    (number,) = re.findall(r"This page reports the other (\d+) data sets", page("research/study.md"))
    assert f"Mean ranks on {number} public data sets" in readme()


def test_the_gain_of_the_search():
    (ratio,) = re.findall(r"\| tables \| reported \| \d+ \| (\S+) ", page("research/study.md"))
    gain = f"{100 * (1 - float(ratio)):.0f} %"
    assert f"On tables, this lowers the error by {gain}" in readme()
    assert f"the search lowers the error on tables by {gain}" in page("howto/hyperparameters.md")
