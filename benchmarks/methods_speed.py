"""The other seven methods beside the obvious NumPy code for the same embedding: none of ours is slower.

Both get the same samples in one run, with default parameters, and must agree on the embedding. The
obvious code (``obvious.py``) gets every BLAS thread, and one alone, where spinning threads would slow it
down; the faster of the two counts. Ours also checks its input, fits a nearest-neighbour classifier and
maps a sample to the same bits in every batch: of a linear map, one product, these are a visible part.

    python benchmarks/methods_speed.py
    python benchmarks/methods_speed.py --n-sparse 6000    # and neighbour graphs, on more samples
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes
from threadpoolctl import threadpool_limits

import obvious
from common import (
    RESULTS,
    Floats,
    Labels,
    Samples,
    best_time,
    draw_samples,
    machine_facts,
    text_table,
    write_json,
)
from nsse import LDE, LFDA, NYS, SPE, SUPLAP, IsoKRR, MReg
from nsse.estimators.catalogue import DEFAULTS_0_1

N_TEST = 500
# Two runs of one code differ by so much on a machine with something else to do.
NOISE = 1.1
# Transforms take milliseconds: they are repeated more often.
MORE_OFTEN = 4
# Largest relative difference of two embeddings, after the best rotation: rounding, times condition.
SAME = 1e-5
# The codes of new samples are the obvious ones up to the tolerance of coordinate descent.
SAME_NEW = {"SPE": 2e-2}


@dataclass(frozen=True)
class Race:
    """Our estimator beside the obvious function."""

    ours: Callable[[], Any]
    obvious: Callable[[Floats, Labels], tuple[Floats, obvious.Map]]
    transforms: bool = True


# The obvious functions have the parameters of version 0.1.
RACES = {
    "SUPLAP": Race(lambda: SUPLAP(**DEFAULTS_0_1["SUPLAP"]), obvious.suplap),
    "LFDA": Race(lambda: LFDA(**DEFAULTS_0_1["LFDA"]), obvious.lfda),
    "LDE": Race(lambda: LDE(**DEFAULTS_0_1["LDE"]), obvious.lde),
    "NYS": Race(lambda: NYS(**DEFAULTS_0_1["NYS"]), obvious.nys),
    "SPE": Race(lambda: SPE(**DEFAULTS_0_1["SPE"]), obvious.spe),
    "IsoKRR": Race(lambda: IsoKRR(**DEFAULTS_0_1["IsoKRR"]), obvious.isokrr),
    "MReg": Race(MReg, obvious.mreg),
}
SPARSE_RACES = {
    "SUPLAP, 10 neighbours": Race(
        lambda: SUPLAP(mu=0.01, n_neighbors=10, n_neighbors_between=10),
        lambda X, y: obvious.suplap(X, y, 10),
    ),
    "LDE, 5 and 20 neighbours": Race(lambda: LDE(**DEFAULTS_0_1["LDE"]), obvious.lde),
    "NYS, 10 neighbours": Race(
        lambda: NYS(n_neighbors=10), lambda X, y: obvious.nys(X, y, 10), transforms=False
    ),
}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = _parse(argv)
    facts = machine_facts()
    chosen = {name: race for name, race in RACES.items() if name in (options.methods or RACES)}
    rows = _races(chosen, options.n, options.repeats)
    if options.n_sparse:
        rows += _races(SPARSE_RACES, options.n_sparse, 1)
    record = {
        "data": draw_samples(options.n, N_TEST).source,
        "n_test": N_TEST,
        "rows": rows,
        "none_slower": all(row["ratio"] * NOISE >= 1.0 for row in rows),
        "noise": NOISE,
        "machine": facts,
    }
    _show(record)
    write_json(options.out, record)
    return record


def _races(races: dict[str, Race], n_samples: int, repeats: int) -> list[dict[str, Any]]:
    samples = draw_samples(n_samples, N_TEST)
    rows = []
    for name, race in races.items():
        print(f"{name}, N = {n_samples}", flush=True)
        rows += _run(name, race, samples, repeats)
    return rows


def _run(name: str, race: Race, samples: Samples, repeats: int) -> list[dict[str, Any]]:
    """Rows for fit and transform; an error if the embeddings are not the same."""
    X, y = samples.X_train, samples.y_train.astype(np.int64)
    ours, model = best_time(lambda: race.ours().fit(X, y), repeats)
    plain, (Y, extend) = _faster(lambda: race.obvious(X, y), repeats)
    rotation, _ = orthogonal_procrustes(Y, model.embedding_)
    rows = [_row(name, "fit", len(X), ours, plain, _difference(model.embedding_, Y @ rotation))]
    if race.transforms:
        often = MORE_OFTEN * repeats
        ours, Z = best_time(lambda: model.transform(samples.X_test), often)
        plain, Z_plain = _faster(lambda: extend(samples.X_test), often)
        rows.append(_row(name, "transform", len(X), ours, plain, _difference(Z, Z_plain @ rotation)))
    return rows


def _faster(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The better time of all BLAS threads and of one."""
    times = []
    for threads in (None, 1):
        with threadpool_limits(threads, user_api="blas"):
            seconds, result = best_time(work, repeats)
        times.append(seconds)
    return min(times), result


def _difference(A: Floats, B: Floats) -> float:
    return float(np.linalg.norm(A - B) / np.linalg.norm(A))


def _row(
    name: str, step: str, n_samples: int, ours: float, plain: float, difference: float
) -> dict[str, Any]:
    allowed = SAME if step == "fit" else SAME_NEW.get(name, SAME)
    if not difference <= allowed:
        raise AssertionError(
            f"{name}, {step}: embeddings differ by {difference:.1e}, over {allowed:.0e}"
        )
    return {
        "method": name,
        "step": step,
        "n_samples": n_samples,
        "seconds": round(ours, 4),
        "seconds_obvious": round(plain, 4),
        "ratio": round(plain / ours, 2),
        "difference": difference,
        "difference_allowed": allowed,
    }


def _show(record: dict[str, Any]) -> None:
    header = ["method", "step", "N", "ours, s", "obvious, s", "ratio", "difference", "verdict"]
    lines = [
        [
            row["method"],
            row["step"],
            row["n_samples"],
            f"{row['seconds']:.3f}",
            f"{row['seconds_obvious']:.3f}",
            f"{row['ratio']:.2f}",
            f"{row['difference']:.0e}",
            _verdict(row["ratio"]),
        ]
        for row in record["rows"]
    ]
    print(f"{record['data']}; transform of {record['n_test']} new samples; ratio: obvious to ours")
    print(text_table(header, lines))
    print(f"none slower than the obvious code: {record['none_slower']}")


def _verdict(ratio: float) -> str:
    if ratio * NOISE < 1.0:
        return "SLOWER"
    return "faster" if ratio > NOISE else "equal"


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="training samples (default: 2000)")
    parser.add_argument("--n-sparse", type=int, default=None, help="also neighbour graphs, so many")
    parser.add_argument("--methods", nargs="+", choices=list(RACES), help="only these (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument("--out", type=Path, default=RESULTS / "methods_speed.json")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
