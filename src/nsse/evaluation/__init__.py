"""Measuring: how well estimators do on samples they have not seen.

- ``splits``: which samples train and which test;
- ``comparison``: fit several estimators on the same splits, one row per fit, and summarise;
- ``tasks``: what is to be measured, and what was, as data with a canonical key;
- ``store``: rows on disk, whole or not at all, never twice;
- ``text``: the same rows as lines of JSON, for version control;
- ``runner``: many tasks on many workers, written as they finish, to be stopped and started at will;
- ``study``: many sets, sizes and methods as data, and the work of one row;
- ``rivals``: what people use, tuned, for a study to compare with;
- ``apart``: a fit in a process of its own.

Estimators of ours come in as arguments; nothing here knows them.
"""

from nsse.evaluation.comparison import Fit, Summary, compare, summarize
from nsse.evaluation.runner import Failure, Outcome, run_tasks
from nsse.evaluation.splits import per_class_split
from nsse.evaluation.store import RowStore
from nsse.evaluation.tasks import Row, Task, software_versions
from nsse.evaluation.text import read_rows, take_over, write_rows

__all__ = [
    "Failure",
    "Fit",
    "Outcome",
    "Row",
    "RowStore",
    "Summary",
    "Task",
    "compare",
    "per_class_split",
    "read_rows",
    "run_tasks",
    "software_versions",
    "summarize",
    "take_over",
    "write_rows",
]
