"""Data sets by name, and samples from tables, arrays and folders of images.

``load_dataset("coil20")`` returns images as rows of a matrix, with labels. ``load_inputs("table.csv",
"species")`` reads your own samples, and `TableEncoder` does the same for data frames. The modules, in
the order of their imports:

- ``_store``: what was computed from the content of a file, stored on disk;
- ``_images``: an image file -> gray or color levels in [0, 1], upright; area averaging, thumbnails;
- ``_files``: CSV and Parquet tables, NumPy's files;
- ``_table_encoder``: columns of a table -> features;
- ``_preparation``: how samples were prepared, as a value that is stored in a model file;
- ``_encoder_graph``: the graph from pixels to the features of an ONNX network;
- ``_encoder``: images -> features of such a network;
- ``_folder``: a folder of images, one sub-folder per class;
- ``_sources``: which files make up a data set that is known by name, and where they are;
- ``_load``: the table of names; a random split; a data set as a folder of PNG files;
- ``_inputs``: samples from any of these, and more of them for a fitted model.

The library contains no images. To add a data set, write down its ``Place`` and a function that lists its
files with their labels, and add one row to the table in ``_sources``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsse.datasets._inputs import Inputs, load_inputs, load_inputs_like
from nsse.datasets._load import (
    Dataset,
    KnownDataset,
    known_datasets,
    load_dataset,
    load_image_folder,
    per_class_split,
    write_images,
)
from nsse.datasets._preparation import (
    ArrayPreparation,
    EncodedPreparation,
    ImagePreparation,
    Preparation,
    TablePreparation,
)
from nsse.datasets._sources import DatasetNotFoundError
from nsse.datasets._store import cache_home

if TYPE_CHECKING:
    from nsse.datasets._encoder import Encoder
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
    "cache_home",
    "known_datasets",
    "load_dataset",
    "load_image_folder",
    "load_inputs",
    "load_inputs_like",
    "per_class_split",
    "write_images",
]

_ESTIMATORS = {"Encoder": "_encoder", "TableEncoder": "_table_encoder"}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:  # other names do not wait for scikit-learn
        return getattr(import_module(f"nsse.datasets.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module 'nsse.datasets' has no attribute {name!r}")
