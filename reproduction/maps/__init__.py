"""A benchmark of supervised maps on samples that no map was fitted to.

- ``sets``: the data sets, and how training samples are drawn;
- ``methods``: the maps that are compared;
- ``measures``: what is measured of a map;
- ``benchmark``: which rows there are to be, and how one is measured;
- ``reading``: rows as a data frame, mean ranks and critical differences;
- ``panels``: positions of unseen samples, and the figure of them;
- ``page``: the page of the rows that are there.
"""
