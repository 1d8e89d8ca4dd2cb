"""Turn images into features of a pretrained image network with `Encoder`.

By default, features are divided by the sum of their absolute values, and square roots are taken. The
Euclidean distance of two images is then the Hellinger distance, every row has norm 1, and a few large
features do not dominate the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from nsse._support.errors import Described, optional, rule_error, rule_message
from nsse._support.parameters import check_choice
from nsse._support.types import LabelsLike, SamplesLike
from nsse.datasets._encoder_graph import FEATURES, IMAGE, SIDE, feature_graph, opset_of
from nsse.datasets._images import Reading, checked_size, eight_bits, import_pillow, read_images
from nsse.datasets._preparation import EncodedPreparation

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 8  # images that a network processes at a time
DEFAULTS: dict[str, Any] = {
    "output": None,
    "size": None,
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
    "resize": "squash",
    "norm": "hellinger",
}
RESIZINGS, NORMS = ("squash", "crop"), ("hellinger", "l2", "none")
VERSION = 3  # raised whenever the same settings give other numbers


class Encoder(TransformerMixin, BaseEstimator):
    """Features of images by a pretrained image network, which is an ONNX file.

    Nothing is downloaded, so you need the file (the page on photographs shows how to get one). Features
    of image files are stored on disk (:func:`cache_home`), by the content of the image and the network.

    Parameters
    ----------
    model : str or path-like
        The network, ``.onnx``. If a ``.json`` file with the same name is next to it, that file contains
        the values of the following parameters. You can also pass a ``.json`` file that names the network
        as ``"model"``. Arguments override the file.
    output : str, default=None
        The name of the result of the network that contains the features. None is the result of the last
        averaging over all places, which classifiers compute before their last layer, or the last output
        if there is no averaging. If the result has tokens, the first one is used. A feature map is
        flattened.
    size : tuple of (int, int), default=None
        Height and width, for networks that take any size. None is 224 × 224.
    mean, std : float or sequence of three, default=None
        Pixels become (level − mean)/std. Levels range from 0 to 1, or to 255 if a number exceeds 1. None
        uses the numbers of ImageNet.
    resize : {"squash", "crop"}, default=None
        The whole image squeezed to the size of the network, or its middle. None is squash.
    norm : {"hellinger", "l2", "none"}, default=None
        Signed square roots of the features, scaled to norm 1, the features scaled to norm 1, or the
        features as they are. None is hellinger.
    n_jobs : int, default=None
        Threads of onnxruntime. None is one for each processor.

    See Also
    --------
    nsse.datasets.load_inputs : Takes one as ``encoder``.

    Notes
    -----
    ``hellinger`` was chosen on 180 photographs and on COIL-20 and ORL through EfficientNet-Lite0, on
    splits that no table reports.

    Examples
    --------
    >>> from nsse import SmoothEmbedding
    >>> from nsse.datasets import Encoder
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(Encoder("dinov2.onnx"), SmoothEmbedding())
    >>> # model.fit(["cat/1.jpg", "dog/1.jpg", ...], ["cat", "dog", ...])
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        output: str | None = None,
        size: tuple[int, int] | None = None,
        mean: Any = None,
        std: Any = None,
        resize: str | None = None,
        norm: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.output = output
        self.size = size
        self.mean = mean
        self.std = std
        self.resize = resize
        self.norm = norm
        self.n_jobs = n_jobs

    def fit(self, X: SamplesLike = None, y: LabelsLike = None) -> Encoder:
        """Check the parameters and the network. Nothing is learned.

        Parameters
        ----------
        X, y : ignored
            Images and labels.

        Returns
        -------
        Encoder
            The encoder.
        """
        self.reading().open()
        return self

    def transform(self, X: SamplesLike) -> NDArray[np.float32]:
        """Return the features of images.

        Parameters
        ----------
        X : sequence of path-like, of Pillow's images, or array of shape (n, height, width[, 3])
            Files, or images in memory, with levels from 0 to 255 as integers or from 0 to 1 as floats.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32
            One row for each image.
        """
        return self._encoded(X, self.reading())

    def mirrored(self, X: SamplesLike) -> NDArray[np.float32]:
        """Return the features of the images mirrored left to right.

        Parameters
        ----------
        X : sequence
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32
            One row for each image.
        """
        return self._encoded(X, Features(self, mirror=True))

    @property
    def path(self) -> Path:
        """The file of the network."""
        return Path(self._described()["model"])

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the network, with the weights of a file next to it."""
        network = self.path
        if not network.is_file():
            cure = "Check its spelling. Nothing is downloaded, so export a network first."
            message = rule_message("encoder", "name the ONNX file of a network", str(network), cure)
            raise FileNotFoundError(message)
        files = [network, *(Path(f"{network}{ending}") for ending in (".data", "_data"))]
        states = [(str(file), file.stat()) for file in files if file.is_file()]
        return _sha256(tuple((name, state.st_mtime_ns, state.st_size) for name, state in states))

    @property
    def settings(self) -> dict[str, Any]:
        """Everything except the network that determines the numbers. Levels range from 0 to 1."""
        found = DEFAULTS | self._described()
        found |= {name: getattr(self, name) for name in DEFAULTS if getattr(self, name) is not None}
        del found["model"]
        check_choice("resize", found["resize"], RESIZINGS)
        check_choice("norm", found["norm"], NORMS)
        found["mean"], found["std"] = _levels(found["mean"], found["std"])
        found["size"] = checked_size(found["size"])
        return found

    def _described(self) -> dict[str, Any]:
        """Return the network and the content of its JSON file."""
        given = Path(self.model).expanduser()
        file = given.with_suffix(".json")
        if not file.is_file():
            return {"model": given}
        try:
            found = dict(json.loads(file.read_text(encoding="utf-8")))
            network = given if given != file else file.parent / found["model"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            got = Described(f"{file} ({type(error).__name__}: {error})")
            rule, cure = "have a JSON file with its settings", 'For example {"mean": 127, "std": 128}.'
            raise rule_error("encoder", rule, got, cure) from error
        unknown = sorted(set(found) - {"model", *DEFAULTS})
        if unknown:
            got = Described(f"{file} with {unknown[0]}")
            rule = f"have no settings in its JSON file but {', '.join(DEFAULTS)}"
            raise rule_error("encoder", rule, got, "Remove it.")
        return found | {"model": network}

    def reading(self) -> Reading:
        """Return how an image file is read."""
        return Features(self)

    def _encoded(self, X: SamplesLike, reading: Reading) -> NDArray[Any]:
        if isinstance(X, str | os.PathLike):
            raise rule_error("X", "be a sequence of images", str(X), "Pass a list: [X].")
        if len(X) and isinstance(X[0], str | os.PathLike):
            return read_images([Path(path) for path in X], reading, _broken).images
        reading.open()
        return np.stack(reading.finished([reading.picture(image) for image in _in_memory(X)]))

    def graph(self, model: Any = None) -> Any:
        """Return the graph from pixels to features, or to the outputs of a model behind it.

        Parameters
        ----------
        model : onnx.ModelProto, default=None
            The result of `nsse.to_onnx` for a model that was fitted to the features.

        Returns
        -------
        onnx.ModelProto
            Its input ``image`` (n, height, width, 3) has red, green and blue from 0 to 255 of resized
            images. Its outputs are those of the model, or ``features``.
        """
        if model is None:
            return feature_graph(self.path, self.settings)
        onnx = optional("onnx", "Encoders need onnx", "encode")
        first = feature_graph(self.path, self.settings, model.graph.input[0].type.tensor_type.elem_type)
        opset = max(opset_of(first), opset_of(model))
        first, last = (onnx.version_converter.convert_version(one, opset) for one in (first, model))
        first.ir_version = last.ir_version = max(first.ir_version, last.ir_version)
        return onnx.compose.merge_models(first, last, io_map=[(FEATURES, model.graph.input[0].name)])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Features(Reading):
    """Compute the features of an image, or of its mirror image."""

    def __init__(self, encoder: Encoder, mirror: bool = False) -> None:
        self.path, self.settings = encoder.path, encoder.settings
        self.fingerprint, self.n_jobs = encoder.fingerprint, encoder.n_jobs or cpu_count()
        self.mirror = mirror
        self.batch = BATCH
        self.draft = 2 * max(self.settings["size"] or (SIDE, SIDE))
        self.how = f"features {json.dumps([VERSION, self.fingerprint, self.settings, mirror])}"

    def open(self) -> None:
        """Open the network, or raise an error that describes what is wrong with it."""
        self._session()

    def _session(self) -> Any:
        return _session(str(self.path), self.fingerprint, json.dumps(self.settings), self.n_jobs)

    def picture(self, image: Image) -> NDArray[np.uint8]:
        """Return the pixels of an image in the size of the network."""
        from PIL import ImageOps

        _, height, width, _ = self._session().get_inputs()[0].shape
        bicubic = import_pillow().Resampling.BICUBIC
        image = eight_bits(image)
        if self.mirror:
            image = ImageOps.mirror(image)
        if self.settings["resize"] == "crop":
            return np.asarray(ImageOps.fit(image, (width, height), bicubic))
        return np.asarray(image.resize((width, height), bicubic))

    def finished(self, pictures: list[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Return the features of each image."""
        session = self._session()
        fixed = session.get_inputs()[0].shape[0]  # a graph may only take a fixed number of images
        step = fixed if isinstance(fixed, int) else BATCH
        rows: list[NDArray[Any]] = []
        for first in range(0, len(pictures), step):
            part = np.stack(pictures[first : first + step])
            n_images = step if isinstance(fixed, int) else len(part)
            filled = np.resize(part, (n_images, *part.shape[1:]))  # repeats images
            rows += list(session.run([FEATURES], {IMAGE: filled})[0][: len(part)])
        if not all(np.isfinite(row).all() for row in rows):
            cure = "See mean and std, or choose another output."
            raise rule_error("encoder", "give a row of finite features", str(self.path), cure)
        return rows


@lru_cache(maxsize=8)
def _sha256(files: tuple[tuple[str, int, int], ...]) -> str:
    digest = sha256()
    for name, *_ in files:
        digest.update(Path(name).read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def _session(path: str, _fingerprint: str, settings: str, n_jobs: int) -> Any:
    runtime = optional("onnxruntime", "Encoders need onnxruntime", "encode")
    graph = feature_graph(Path(path), json.loads(settings))
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = n_jobs, 3
    # Threads that wait by spinning would slow down other programs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has many
        got = Described(f"{path} ({' '.join(str(error).split())[:160]})")
        cure = "Export it again, for opset 17."
        raise rule_error("encoder", "be a graph that onnxruntime runs", got, cure) from error


def _levels(mean: Any, std: Any) -> list[list[float]]:
    """Return both values as three numbers each, as levels from 0 to 1."""
    both = [np.broadcast_to(np.asarray(part, dtype=float).ravel(), 3) for part in (mean, std)]
    if not np.isfinite(both).all() or np.min(both[1]) <= 0:
        raise rule_error("std", "be positive numbers, one or three", std, "128 goes with a mean of 127.")
    scale = 255.0 if np.max(both) > 1.0 else 1.0
    return [(part / scale).tolist() for part in both]


def _in_memory(X: SamplesLike) -> Iterator[Any]:
    """Return Pillow's images, also for arrays."""
    pillow = optional("PIL.Image", "Encoders need Pillow", "encode")
    for picture in X:
        if isinstance(picture, pillow.Image):
            yield picture
            continue
        levels = np.asarray(picture)
        if levels.dtype.kind == "f":
            levels = np.rint(255.0 * np.clip(levels, 0.0, 1.0))
        yield pillow.fromarray(levels.astype(np.uint8))


def _broken(path: Path, why: str) -> OSError:
    cure = "Replace it, or leave it out."
    return OSError(rule_message("X", "name whole images", Described(f"{path} ({why})"), cure))


def encoder_of(known: EncodedPreparation, path: str | os.PathLike[str] | None = None) -> Encoder:
    """Return the network of a model, from the file that is named or from where it was."""
    network = Encoder(known.encoder if path is None else path, **known.settings)
    rule = f"name the network of the model, {Path(known.encoder).name} (SHA-256 {known.sha256[:12]}…)"
    if not network.path.is_file():
        cure = "Pass its file."
        got = Described(f"{network.path}, which is not there")
        raise FileNotFoundError(rule_message("encoder", rule, got, cure))
    if network.fingerprint != known.sha256:
        got = Described(f"{network.path} (SHA-256 {network.fingerprint[:12]}…)")
        raise rule_error("encoder", rule, got, "Pass the file that the model was fitted with.")
    return network
