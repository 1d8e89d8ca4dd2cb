"""Certified accuracy with few labels: radii that are proved, compared with attacks.

- ``sets``: samples in units in which radii can be compared;
- ``cells``: exact radii of the nearest neighbor and of linear classifiers;
- ``attack``: attacks of our models by gradients;
- ``benchmark``: which rows there are to be, and how one is measured;
- ``page``: the page of the rows that are there.
"""
