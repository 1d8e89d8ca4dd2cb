"""The paper as data, and its experiments: everything that has a table number.

- ``printed``: Tables 1 to 7 as they are printed;
- ``settings``, ``grids``: training sizes, realisations, scalings, and what is tried of every method;
- ``work``: one row, computed once for both protocols (``nsse_row``, ``method_row``, ``candidates``);
- ``second_row``, ``machine``: rows that the paper does not have, NSSE now and others given the same;
- ``tables``: rows under the protocols `paper` and `honest`, never mixed;
- ``verdict``, ``second_edition``, ``check``: what the tables say about NSSE; whether they and their rows
  hold;
- ``pages``, ``manifest``: what is published of them, as text, and what it depends on;
- ``literal``, ``runtime``: Algorithm 1 as it is printed, and Table 7 against it;
- ``figures``: convergence, error against d, embeddings in the plane: frames, not pictures.
"""
