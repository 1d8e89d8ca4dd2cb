"""Data sets by name: ``load_dataset("coil20")`` gives images as rows of a matrix, with labels.

The map of this package, in the order of the imports:

- ``_store``: what was computed from the content of a file, kept on disk;
- ``_images``: a file -> grey or color levels in [0, 1], upright; area averaging, thumbnails;
- ``_encoder``: images -> features of an ONNX network;
- ``_folder``: a folder of one's own images, one sub-folder per class;
- ``_places``: where a data set lies on disk, where it is downloaded from, what is missing;
- ``_layouts``: which files make up COIL-20, ORL, Extended Yale B, FEI, ROBOTICS-CSIE and MIT-CBCL;
- ``_mnist``: the IDX files of MNIST;
- ``_load``: the table of names, what is found of it, and the public functions;
- ``_write``: a random split, and a data set as a folder of PNG files, one sub-folder per class;
- ``_preparation``: what was done to samples, as a value that travels with a model;
- ``_table_encoder``: columns of a table -> features: numbers, categories, dates;
- ``_table_files``, ``_arrays``: CSV and Parquet; NumPy's files;
- ``_unlabeled``: rows without a label, marked by a value that no label is;
- ``_inputs``: samples from any of these, and more of them for a model that was fitted.

No image is shipped with the library. To add a data set, write down its ``Place`` and a function
that lists its files with their labels, then add one row to the table in ``_load``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsse.datasets._folder import small_images
from nsse.datasets._images import area_average
from nsse.datasets._inputs import Inputs, load_inputs, load_inputs_like, thumbnails
from nsse.datasets._load import Dataset, KnownDataset, known_datasets, load_dataset, load_image_folder
from nsse.datasets._places import DatasetNotFoundError
from nsse.datasets._preparation import (
    ArrayPreparation,
    EncodedPreparation,
    ImagePreparation,
    Preparation,
    TablePreparation,
    check_preparation,
)
from nsse.datasets._store import cache_home
from nsse.datasets._unlabeled import joined
from nsse.datasets._write import per_class_split, write_images

if TYPE_CHECKING:
    from nsse.datasets._encoder import Encoder, encoder_of
    from nsse.datasets._table_encoder import TableEncoder

__all__ = [
    "ArrayPreparation",
    "Dataset",
    "DatasetNotFoundError",
    "EncodedPreparation",
    "Encoder",
    "ImagePreparation",
    "Inputs",
    "KnownDataset",
    "Preparation",
    "TableEncoder",
    "TablePreparation",
    "area_average",
    "cache_home",
    "check_preparation",
    "encoder_of",
    "joined",
    "known_datasets",
    "load_dataset",
    "load_image_folder",
    "load_inputs",
    "load_inputs_like",
    "per_class_split",
    "small_images",
    "thumbnails",
    "write_images",
]

_ESTIMATORS = {"Encoder": "_encoder", "encoder_of": "_encoder", "TableEncoder": "_table_encoder"}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:  # other names do not wait for scikit-learn
        return getattr(import_module(f"nsse.datasets.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module 'nsse.datasets' has no attribute {name!r}")
