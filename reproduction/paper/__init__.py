"""The paper as data, and its experiments.

- ``printed``: Tables 1 to 7 as they are printed; ``settings``, ``grids``: what is tried, how often;
- ``work``: one row for both protocols (``grid_row``, ``candidates``; ``extended_row``: ours);
- ``tables``: rows under the protocols `paper` and `honest`, never mixed; ``findings``: what they say;
  ``check``: whether they and their rows hold;
- ``pages``, ``picture``, ``manifest``: what is published of them; ``steps``: one after the other;
- ``runtime``: Table 7, beside Algorithm 1 as it is printed (``literal``);
- ``figures``: convergence, error against d, embeddings in the plane: frames, then pictures.
"""
