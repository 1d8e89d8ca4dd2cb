"""Arrays, memory maps, sparse matrices, blocks and Dask arrays must give the same model.

Random configurations of weights, equal rows, centre rules, augmented copies, unlabelled samples, metrics
and types, each fitted from every source: embeddings and probabilities must agree to 1e-8
(``tests/smooth/test_sources.py``, which runs the first of them).

    python benchmarks/sources.py            # 200 configurations, a minute
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "smooth")]

from test_sources import check_sources  # noqa: E402

from common import RESULTS, versions, write_json  # noqa: E402


def disagreement(seed: int) -> str | None:
    """What differs between the sources of a configuration; None where nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            check_sources(seed, Path(folder))
        except (AssertionError, ValueError, ArithmeticError) as error:
            return " ".join(str(error).split())
    return None


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=RESULTS / "sources.json")
    options = parser.parse_args(argv)
    seeds = range(options.first, options.first + options.configurations)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weights with an unusual mean
        found = {seed: disagreement(seed) for seed in seeds}
    apart = {str(seed): told for seed, told in found.items() if told is not None}
    for seed, told in apart.items():
        print(f"{seed}: {told}")
    print(f"{len(apart)} of {len(found)} configurations disagree")
    record = {"configurations": len(found), "disagree": apart, **versions()}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
