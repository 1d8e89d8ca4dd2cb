"""The paper as data, and its experiments.

- ``printed``: Tables 1 to 7 as they are printed; ``settings``, ``grids``: what is tried, how often;
- ``work``: one row for both protocols (``nsse_row``, ``method_row``, ``extended_row``, ``machine``);
- ``tables``: rows under the protocols `paper` and `honest`, never mixed; ``verdict``, ``extended``: what
  they say about NSSE; ``check``: whether they and their rows hold;
- ``pages``, ``html``, ``picture``, ``manifest``: what is published of them;
- ``literal``, ``runtime``: Algorithm 1 as it is printed, and Table 7 against it;
- ``figures``, ``drawing``: convergence, error against d, embeddings in the plane: frames, then pictures;
- ``cells``: our estimators in the cells of the tables; ``choice``: the paper's rule for the weights.
"""
