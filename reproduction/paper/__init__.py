"""The experiments of the paper.

- ``printed``: Tables 1 to 7 as they are printed; ``settings``, ``grids``: the experiments and grids;
- ``work``: one row (``grid_row``, ``candidates``; ``extended_row``: our estimators);
- ``tables``: the rows under the protocols `paper` and `honest`; ``check``: whether they agree;
- ``page``, ``figures``: the page and figures made from the table; ``steps``: one after the other;
- ``runtime``: Table 7, compared with Algorithm 1 as it is printed (``benchmarks/literal.py``).
"""
