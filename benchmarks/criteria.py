"""By what a search should choose: criteria, voters and votes compared on the choosing half of the sets.

    NSSE_DATA=<folder> python benchmarks/criteria.py [--seeds 100 101] [--table-only]

For every cell the scores of held-out and of test samples are computed once for all points of the grid of
`SmoothEmbeddingCV`; every rule is then a pass over these. Rows go to ``results/criteria.jsonl`` as they
finish; the table in ``docs/model_selection.md`` is made of them. Sets of the choosing half and seeds
from 100 on alone: nothing here is reported elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, stdtrit

sys.path.insert(0, str(Path(__file__).parents[1]))

from nsse import SmoothEmbedding, search
from nsse.criteria import FEW_LABELS, SquaredError
from nsse.datasets import per_class_split
from nsse.distances import squared_distances
from nsse.search import HELD_OUT, N_VOTERS, Samples, Table
from nsse.splits import BalancedSplits
from reproduction.study import sets

ROWS = Path(__file__).parent / "results" / "criteria.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "model_selection.md"
BEGIN, END = "<!-- made by benchmarks/criteria.py -->", "<!-- end -->"
# Samples per class, of all at most, and of the test; pictures with many classes as the paper has them.
SIZES, MOST_TRAINING, MOST_TEST, N_SPLITS = (5, 10, 20, 50), 500, 300, 10
PICTURES = (("yale", 6), ("yale", 10), ("coil20", 7), ("orl", 3), ("coil20", 10), ("orl", 5))
TEMPERATURES = np.geomspace(0.02, 1.0, 10)
SMOOTH, CHOSEN = "squared error at the best amplitude", "the same and N/40 for a wrong label"
GROUPS = {"up to 40 samples": 40, "up to 80": 80, "up to 140": 140, "more": 10**6}
PAPER = "the paper's pictures"


def cells(seeds: list[int]) -> Iterator[tuple[str, int, int]]:
    """Set, samples per class and seed."""
    there, _ = sets.found(None)
    for seed in seeds:
        yield from ((name, size, seed) for name, size in PICTURES if name in there)
        for size in SIZES:
            half = (name for name in there if sets.half_of(name) == "choose")
            yield from ((name, size, seed) for name in half if name not in sets.IMAGES)


def row(name: str, size: int, seed: int) -> dict[str, Any] | None:
    """Wrong test labels of every rule in a cell; None where the set is too small or too large."""
    X, y = sets.samples(sets.found(None, [name])[0][name], name)
    classes, y, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() <= size or size * len(classes) > MOST_TRAINING:
        return None
    train, test = per_class_split(y, size, seed)
    test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_TEST])
    if name not in sets.IMAGES:
        spread = X[train].std(axis=0)
        X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows = np.concatenate([train, test])
    samples = Samples.of(SmoothEmbedding(), X[rows], y[rows], None, None, len(rows))
    inner = BalancedSplits(N_SPLITS, HELD_OUT, seed).split(y[train], y[train])
    whole = np.arange(len(train)), np.arange(len(train), len(rows))
    table = Table.of(SmoothEmbedding(), None, samples, [*inner, whole], None)
    parts = [points(table, split) for split in range(N_SPLITS + 1)]
    held, near, ratios = (np.concatenate(part, axis=1) for part in zip(*parts[:-1], strict=True))
    codes = np.concatenate([samples.codes[b] for _, b in table.splits[:-1]])
    error = SquaredError.of((len(held),), samples, table.splits[:-1])
    for split in range(N_SPLITS):
        fold, here = table.fold(split, None), slice(*error.ends[split : split + 2])
        for place in range(len(held)):
            error.record((place,), split, fold, held[place, here])
    untuned = table.own
    whole_loss = error.losses(slice(None), N_SPLITS).values
    smooth = whole_loss - error.price * error.wrong
    losses = criteria(held, codes) | {SMOOTH: smooth, CHOSEN: whole_loss}
    scores, nearest, _ = parts[-1]
    told = samples.codes[whole[1]]
    labels = rules(losses, untuned, held, codes, near, ratios, scores, nearest, len(train))
    wrong = {rule: int(np.sum(own != told)) for rule, own in labels.items()}
    group = next(group for group, most in GROUPS.items() if len(train) <= most)
    group = PAPER if name in sets.IMAGES else group
    return {"cell": [name, size, seed], "group": group, "test": len(test), "wrong": wrong}


def points(table: Table, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels of the nearest row and (d²/(d² + d'²))² of held-out samples at all points."""
    fold = table.fold(split, None)
    scores, labels, ratios = [], [], []
    is_own = fold.held_codes[:, np.newaxis] == fold.train.codes
    for kernel in table.kernels:
        for S, F in fold.scores(kernel, table.smoothness):
            D2 = squared_distances(S, F)
            own, other = (np.where(here, D2, np.inf).min(axis=1) for here in (is_own, ~is_own))
            scores.append(S.astype(np.float32))
            labels.append(fold.train.codes[D2.argmin(axis=1)])
            ratios.append((1.0 - other / np.maximum(own + other, 1e-300)) ** 2)
    return np.array(scores), np.array(labels), np.array(ratios)


def criteria(S: np.ndarray, codes: np.ndarray) -> dict[str, np.ndarray]:
    """Losses of held-out samples at all points, by name."""
    own = S[:, np.arange(len(codes)), codes]
    by_temperature = np.array([logsumexp(S / t, axis=2) - own / t for t in TEMPERATURES])
    best = by_temperature.mean(axis=2).argmin(axis=0)
    wrong = (S.argmax(axis=2) != codes).astype(float)
    squared = (S**2).sum(axis=2) - 2.0 * own + 1.0
    return {
        "squared error": squared,
        "log-loss at the best temperature": by_temperature[best, np.arange(len(S))],
        "wrong labels": wrong + 1e-3 * squared,
    }


def rules(
    losses: dict[str, np.ndarray],
    untuned: int,
    held: np.ndarray,
    codes: np.ndarray,
    near: np.ndarray,
    ratios: np.ndarray,
    scores: np.ndarray,
    nearest: np.ndarray,
    n_samples: int,
) -> dict[str, np.ndarray]:
    """Test labels by every rule."""
    root = np.sqrt(min(n_samples, len(codes)))
    few = float(stdtrit(n_samples - 1, 1.0 - search.LEVEL_OF_FEW))
    times = few if n_samples <= search.FEW_SAMPLES else search.BETTER
    found = {"untuned": scores[untuned].argmax(axis=1)}
    for name, loss in losses.items():
        order = np.argsort(loss.mean(axis=1), kind="stable")
        for k in (1, 5, 30):
            found[f"{name}: best {k}, mean"] = scores[order[:k]].mean(axis=0).argmax(axis=1)
        found[f"{name}: best 5, majority"] = majority(scores[order[:5]].argmax(axis=2))
        gain = loss - loss[untuned]
        bounds = gain.mean(axis=1) + times * gain.std(axis=1) / root
        better = [p for p in np.argsort(bounds, kind="stable")[:N_VOTERS] if bounds[p] < 0.0]
        with_untuned = [*better, untuned]
        found[f"{name}: best 5 and untuned, mean"] = scores[with_untuned].mean(axis=0).argmax(axis=1)
        together = gain[with_untuned].mean(axis=0)
        is_behind = together.mean() + (times + 1.0) * together.std() / root < 0.0
        voters = better if is_behind else with_untuned
        labels = scores[voters].mean(axis=0).argmax(axis=1)
        found[f"{name}: the same, untuned may leave"] = labels
        by_scores = held[voters].mean(axis=0).argmax(axis=1) != codes
        by_untuned = held[untuned].argmax(axis=1) != codes
        if times > search.BETTER and by_scores.mean() >= by_untuned.mean():
            labels, by_scores = found["untuned"], by_untuned
        price = n_samples / FEW_LABELS if name == CHOSEN else 0.0
        ranked = np.argsort((ratios + price * (near != codes)).mean(axis=1), kind="stable")[:N_VOTERS]
        change = (near[ranked] != codes).mean(axis=0) - by_scores
        takes = change.mean() + times * change.std() / root < 0.0
        labels = majority(nearest[ranked]) if takes else labels
        found[f"{name}: the same, or the nearest sample"] = labels
    return found


def majority(labels: np.ndarray) -> np.ndarray:
    """The label that most rows of ``labels`` have; of equal ones the earlier rows decide."""
    counts = np.zeros((labels.shape[1], int(labels.max()) + 1))
    for place, own in enumerate(labels):
        counts[np.arange(len(own)), own] += 1.0 + 0.5 ** (place + 2)
    return counts.argmax(axis=1)


def table_of(rows: list[dict[str, Any]]) -> str:
    """Errors beside the untuned model, geometric means over sets; the share of cells that are worse."""
    groups = [*GROUPS, "all", PAPER]
    lines = ["| chosen by | " + " | ".join([*groups, "worse"]) + " |"]
    lines.append("|---|" + "---:|" * (len(groups) + 1))
    for rule in list(rows[0]["wrong"])[1:]:
        by_set: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        by_cell: dict[tuple[str, int], list[float]] = defaultdict(list)
        for one in rows:
            name, size, _ = one["cell"]
            new, old = one["wrong"][rule], one["wrong"]["untuned"]
            by_cell[name, size].append((new - old) / one["test"])
            for group in {one["group"], PAPER if name in sets.IMAGES else "all"}:
                by_set[group][name].append(np.log((new + 0.5) / (old + 0.5)))
        means = [np.mean([np.mean(v) for v in by_set[g].values()] or [np.nan]) for g in groups]
        several = [np.array(v) for v in by_cell.values() if len(v) > 1]
        worse = np.mean([v.mean() > v.std(ddof=1) / len(v) ** 0.5 + 1e-12 for v in several] or [0.0])
        shown = [f"{100 * np.expm1(mean):+.1f} %" for mean in means]
        lines.append(f"| {rule} | " + " | ".join([*shown, f"{100 * worse:.0f} %"]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101])
    parser.add_argument("--table-only", action="store_true")
    options = parser.parse_args()
    stored = ROWS.read_text(encoding="utf-8") if ROWS.exists() else ""
    rows = [json.loads(line) for line in stored.splitlines()]
    done = {tuple(one["cell"]) for one in rows}
    for cell in [] if options.table_only else cells(options.seeds):
        if cell in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            new = row(*cell)
        if new is not None:
            rows.append(new)
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(new) + "\n")
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    n_sets = len({one["cell"][0] for one in rows})
    said = f"{len(rows)} cells of {n_sets} sets."
    PAGE.write_text(f"{before}{BEGIN}\n{said}\n\n{table_of(rows)}\n{END}{after}", encoding="utf-8")
    print(table_of(rows))


if __name__ == "__main__":
    main()
