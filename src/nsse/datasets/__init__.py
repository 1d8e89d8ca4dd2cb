"""Data sets by name: ``load_dataset("coil20")`` gives images as rows of a matrix, with labels.

The map of this package, in the order of the imports:

- ``_images``: a file -> grey levels in [0, 1], area averaging, Euclidean norms;
- ``_places``: where a data set lies on disk, where it is downloaded from, what is missing;
- ``_layouts``: which files make up COIL-20, ORL and Extended Yale B, and their labels;
- ``_mnist``: the IDX files of MNIST;
- ``_load``: the table of names, and the public :func:`load_dataset`.

No image is shipped with the library. To add a data set, write down its ``Place`` and a function
that lists its files with their labels, then add one row to the table in ``_load``.
"""

from nsse.datasets._load import Dataset, load_dataset

__all__ = ["Dataset", "load_dataset"]
