"""Many methods on many data sets.

- ``methods``, ``sets``: the tables of what is compared, and on what; ``span``, ``dtw``: parts of some;
- ``study``: which rows there are to be, and how one is measured;
- ``reading``, ``ranks``: rows as errors by set, size and method; mean ranks and their tests;
- ``page``, ``drawing``: what is published of them; ``imbalanced``: a study and a page of their own.
"""
