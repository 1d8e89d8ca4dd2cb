"""``python -m reproduction``: compute the tables of the paper, the study and the benchmarks.

Rows are stored when they finish, so that a stopped run can continue. The exit code is 0, or 2 if
something fails or rows do not agree, or 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from reproduction.certified import benchmark as certified
from reproduction.maps import benchmark as maps
from reproduction.paper import steps
from reproduction.study import study


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        problems = options.run(options)
    except KeyboardInterrupt as stopped:
        print(f"reproduction: stopped. {stopped}", file=sys.stderr)
        return 130
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        problems = [str(error)]
    for problem in problems:
        print(f"reproduction: {problem}", file=sys.stderr)
    return 2 if problems else 0


def _paper(options: Namespace) -> list[str]:
    if options.name == "page":
        steps.publish(steps.requested(options))
        return []
    run = steps.planned(options)
    problems = list(run.problems)
    if options.name in ("tables", "all"):
        problems += steps.compute(run, options)
    if options.name in ("runtime", "all"):
        steps.measure_times(run)
    if options.name in ("figures", "all"):
        steps.draw(run)
    steps.publish(run)
    return problems


def _check(options: Namespace) -> list[str]:
    is_whole = not (options.quick or options.out or options.datasets or options.methods)
    agrees = []
    for agreed, line in chain(steps.check_rows(options), study.check(options.rows) if is_whole else ()):
        print(line, flush=True)
        agrees.append(agreed)
    return [] if all(agrees) else ["stored rows and new rows do not agree"]


IN_A_RUN = ("--datasets", "--sizes", "--repeats", "--jobs", "--methods", "--quick")
IN_A_CHECK = ("--datasets", "--methods", "--rows", "--quick")
IN_A_STUDY = ("--sets", "--methods", "--sizes", "--splits", "--jobs", "--page-only")
IN_A_BENCHMARK = ("--sets", "--methods", "--sizes", "--splits", "--jobs", "--page")
# Command -> its help, its function, and its options.
COMMANDS: dict[str, tuple[str, Callable[[Namespace], list[str]], tuple[str, ...]]] = {
    "tables": ("Tables 1 to 6: our errors and the printed ones", _paper, IN_A_RUN),
    "runtime": ("Table 7: seconds, compared with Algorithm 1", _paper, ("--datasets", "--quick")),
    "figures": ("convergence, error against d, embeddings", _paper, ("--datasets", "--quick")),
    "all": ("tables, run times and figures on one page", _paper, IN_A_RUN),
    "page": ("tables and page of the stored rows", _paper, ("--quick",)),
    "check": ("compare pages with rows, and random rows with new ones", _check, IN_A_CHECK),
    "study": ("our estimators compared with common methods", study.run, ("--quick", *IN_A_STUDY)),
    "imbalanced": ("the study on imbalanced tables", study.run_imbalanced, IN_A_STUDY),
    "maps": ("supervised maps on unseen samples", maps.run, IN_A_BENCHMARK),
    "certified": ("certified accuracy with few labels", certified.run, IN_A_BENCHMARK),
    "unlabeled": ("few labels, and samples without labels", study.run_unlabeled, IN_A_STUDY),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "--out": {"type": Path, "help": "folder of rows and results (default: that of the project)"},
    "--datasets": {"nargs": "+", "help": "(default: all that are found)"},
    "--methods": {"nargs": "+", "metavar": "METHOD", "help": "(default: all)"},
    "--sets": {"nargs": "+", "help": "data sets (default: all)"},
    "--sizes": {"type": int, "nargs": "+", "help": "training samples per class (default: all)"},
    "--repeats": {"type": int, "help": "random splits (default: 20, or 5 for slow methods)"},
    "--splits": {"type": int, "help": "random splits"},
    "--rows": {"type": int, "default": 1, "help": "rows of each data set and kind (default: 1)"},
    "--jobs": {"type": int, "default": 1, "help": "worker processes"},
    "--page": {"action": "store_true", "help": "write the page of the stored rows"},
    "--page-only": {"action": "store_true", "help": "compute nothing"},
    "--quick": {"action": "store_true", "help": "a quick run that needs no download"},
}


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m reproduction", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (told, run, own) in COMMANDS.items():
        command = commands.add_parser(name, help=told, description=told)
        command.set_defaults(run=run, name=name)
        for option in ("--out", *own):
            command.add_argument(option, **OPTIONS[option])
    return parser
