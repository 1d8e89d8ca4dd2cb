"""Everything with a table number, or a seed and a score; not part of the package that is installed.

- ``rows``: tasks, their rows, and the file of JSON lines that keeps them; ``running``: tasks on workers;
- ``paper``: the paper's tables, run times and figures, ours beside the printed ones;
- ``study``: many methods on many data sets, ranks and the pages made of them;
- ``commands``: ``python -m reproduction tables | figures | all | check | page | study | ...``.
"""
