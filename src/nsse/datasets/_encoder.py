"""`Encoder`: pictures as features of a pretrained image network.

Features are divided by the sum of their absolute values, and square roots are taken: the Euclidean
distance of two pictures is then Hellinger's, every row has norm 1, and a few large features do not
drown the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from nsse._support.errors import optional, rule_error, rule_message
from nsse._support.types import LabelsLike, SamplesLike
from nsse.datasets._images import Reading, checked_size, eight_bits, import_pillow, read_images
from nsse.datasets._network import FEATURES, IMAGE, SIDE, feature_graph, merged
from nsse.datasets._preparation import EncodedPreparation

if TYPE_CHECKING:
    from PIL.Image import Image

# Those of ImageNet, in levels from 0 to 1.
DEFAULTS: dict[str, Any] = {
    "output": None,
    "size": None,
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
    "channels": "RGB",
    "resize": "squash",
    "norm": "hellinger",
}
CHOICES = {
    "channels": ("RGB", "BGR"),
    "resize": ("squash", "crop", "pad"),
    "norm": ("hellinger", "l2", "none"),
}
# What may be done to a picture before the network sees it, and what is kept of it in a crop.
VIEWS, KEPT = ("mirror", "crop"), 0.875
CORNERS = {"upper left": (0, 0), "upper right": (1, 0), "lower left": (0, 1), "lower right": (1, 1)}
VERSION = 1  # raised whenever the same settings give other numbers


class Encoder(TransformerMixin, BaseEstimator):
    """Features of pictures by a pretrained image network, an ONNX file.

    Nothing is downloaded: the file is yours (see the page on encoders). Features of files are kept on
    disk (:func:`cache_home`), by the content of the picture and of the network.

    Parameters
    ----------
    model : str or path-like
        The network, ``.onnx``; or a ``.json`` file with its path as ``"model"`` and any of the next
        seven parameters. A file of the name of the network that ends in ``.json`` is read as well.
    output : str, default=None
        The result of the graph to take. None is the last one that is averaged over all places, where
        classifiers end before their last layer, or else the last output. Of tokens the first is taken,
        of a feature map the mean.
    size : tuple of (int, int), default=None
        Height and width, for networks that take any; None is 224 × 224.
    mean, std : float or sequence of three, default=None
        Pixels become (level − mean)/std. Levels go from 0 to 1, or to 255 where a number exceeds 1.
        None: those of ImageNet.
    channels : {"RGB", "BGR"}, default=None
        Their order; None is RGB.
    resize : {"squash", "crop", "pad"}, default=None
        The whole picture squeezed to the size of the network, the middle of it, or the whole with grey
        beside it. None is squash.
    norm : {"hellinger", "l2", "none"}, default=None
        Square roots of the features, with their signs, and then norm 1; norm 1 alone; or as they are.
        None is hellinger.
    augment : sequence of {"mirror", "crop"}, default=()
        What `copies` does to pictures.
    batch_size : int, default=8
        Pictures that the network sees at a time.
    n_jobs : int, default=None
        Threads of onnxruntime; None is one for each processor.

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
        channels: str | None = None,
        resize: str | None = None,
        norm: str | None = None,
        augment: Sequence[str] = (),
        batch_size: int = 8,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.output = output
        self.size = size
        self.mean = mean
        self.std = std
        self.channels = channels
        self.resize = resize
        self.norm = norm
        self.augment = augment
        self.batch_size = batch_size
        self.n_jobs = n_jobs

    def fit(self, X: SamplesLike = None, y: LabelsLike = None) -> Encoder:
        """Check the parameters and the network; nothing is learned.

        Parameters
        ----------
        X, y : object
            Not looked at.

        Returns
        -------
        Encoder
            Itself.
        """
        self.reading().session()
        return self

    def transform(self, X: SamplesLike) -> NDArray[np.float32]:
        """Features of pictures.

        Parameters
        ----------
        X : sequence of path-like, of Pillow's images, or array of shape (n, height, width[, 3])
            Files, or pictures in memory: levels from 0 to 255 as whole numbers, from 0 to 1 as floats.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32
            One row for each.
        """
        return self._views(X)[:, 0]

    def copies(self, X: SamplesLike) -> list[NDArray[np.float32]]:
        """Features of what `augment` makes of the pictures, in the order of `copy_names`.

        Parameters
        ----------
        X : sequence
            As in `transform`.

        Returns
        -------
        list of ndarray of shape (n_samples, n_features)
            One array for each way.
        """
        return list(np.moveaxis(self._views(X)[:, 1:], 1, 0))

    @property
    def copy_names(self) -> tuple[str, ...]:
        """What is done to a picture for every copy."""
        names = [f"cropped at the {corner}" for corner in CORNERS] if "crop" in self.augment else []
        if "mirror" not in self.augment:
            return tuple(names)
        return (*names, "mirrored", *(f"{name}, mirrored" for name in names))

    @property
    def path(self) -> Path:
        """The file of the network."""
        return Path(self._settings().get("model", self.model))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the network, with the weights that lie in a file beside it."""
        parts = [self.path, *(Path(f"{self.path}{end}") for end in (".data", "_data"))]
        found = [part for part in parts if part.is_file()]
        if not self.path.is_file():
            cure = "Check its spelling. Nothing is downloaded: docs/encoders.md says where to get one."
            message = rule_message("encoder", "name the ONNX file of a network", str(self.path), cure)
            raise FileNotFoundError(message)
        return _sha256(
            tuple((str(part), part.stat().st_mtime_ns, part.stat().st_size) for part in found)
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the network that decides the numbers; mean and std in levels from 0 to 1."""
        settings = self._settings()
        given = {name: getattr(self, name) for name in DEFAULTS}
        given = {name: value for name, value in given.items() if value is not None}
        known = DEFAULTS | {name: settings[name] for name in DEFAULTS if name in settings} | given
        for name, choices in CHOICES.items():
            if known[name] not in choices:
                rule = f"be one of {', '.join(map(str, choices))}"
                raise rule_error(name, rule, known[name], "Leave it out for the default.")
        known |= zip(("mean", "std"), _levels(known["mean"], known["std"]), strict=True)
        known["size"] = checked_size(known["size"])
        return known

    def _settings(self) -> dict[str, Any]:
        """What a JSON file says: the one that was given, or the one beside the network."""
        file = Path(self.model).expanduser()
        beside = file if file.suffix.lower() == ".json" else file.with_suffix(".json")
        if beside != file and not beside.is_file():
            return {"model": file}
        try:
            settings = dict(json.loads(beside.read_text(encoding="utf-8")))
            settings["model"] = beside.parent / settings["model"] if beside == file else file
        except (OSError, ValueError, TypeError, KeyError) as error:
            got = f"{beside} ({type(error).__name__}: {error})"
            cure = 'For example {"mean": 127, "std": 128}.'
            raise rule_error(
                "encoder", "have a JSON file that says how it is used", got, cure
            ) from error
        strange = sorted(set(settings) - {"model", *DEFAULTS})
        if strange:
            rule, got = f"say only {', '.join(DEFAULTS)} in its JSON", f"{beside} with {strange[0]}"
            raise rule_error("encoder", rule, got, "Take it out.")
        return settings

    def reading(self) -> Features:
        """What is made of a picture, for those who read files."""
        wrong = [name for name in self.augment if name not in VIEWS]
        if wrong:
            raise rule_error("augment", f"be some of {', '.join(VIEWS)}", wrong[0], "Leave it out.")
        if not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise rule_error("batch_size", "be a whole number from 1 on", self.batch_size, "8 is usual.")
        return Features(self)

    def _views(self, X: SamplesLike) -> NDArray[Any]:
        if isinstance(X, str | os.PathLike):
            raise rule_error("X", "be a sequence of pictures", str(X), "Pass a list: [X].")
        if len(X) and isinstance(X[0], str | os.PathLike):
            return read_images([Path(path) for path in X], self.reading(), _broken).images
        reading = self.reading()
        return np.stack([*reading.finished([reading.picture(image) for image in _in_memory(X)])])

    def graph(self, model: Any = None) -> Any:
        """The graph that is run, from pixels to features; with the graph of a model behind it, if any.

        Parameters
        ----------
        model : onnx.ModelProto, default=None
            What `nsse.to_onnx` makes of a model that was fitted to the features.

        Returns
        -------
        onnx.ModelProto
            With the input ``image`` (n, height, width, 3): red, green and blue from 0 to 255 of pictures
            that were resized. Its outputs are those of the model, or ``features``.
        """
        if model is None:
            return feature_graph(self.path, self.settings)
        dtype = np.float32 if model.graph.input[0].type.tensor_type.elem_type == 1 else np.float64
        return merged(feature_graph(self.path, self.settings, dtype), model)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Features(Reading):
    """Features of a picture and of its augmented copies, one row each."""

    def __init__(self, encoder: Encoder) -> None:
        self.path, self.settings, self.augment = encoder.path, encoder.settings, encoder.augment
        self.fingerprint, self.n_jobs = encoder.fingerprint, encoder.n_jobs or cpu_count()
        self.batch = encoder.batch_size
        self.draft = 2 * max(self.settings["size"] or (SIDE, SIDE))
        about = [VERSION, self.fingerprint, self.settings, encoder.copy_names]
        self.how = f"features {json.dumps(about)}"

    def open(self) -> None:
        """Open the network, or say what is wrong with it."""
        self.session()

    def session(self) -> Any:
        """The network, opened once."""
        return _session(str(self.path), self.fingerprint, json.dumps(self.settings), self.n_jobs)

    def picture(self, image: Image) -> NDArray[np.uint8]:
        """The pixels of a picture and of its copies, in the size of the network."""
        _, height, width, _ = self.session().get_inputs()[0].shape
        views = self._augmented(eight_bits(image))
        return np.stack([np.asarray(self._resized(view, (width, height))) for view in views])

    def finished(self, pictures: list[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Features of each, one row for every view."""
        if not pictures:
            return []
        pixels, fixed = np.concatenate(pictures), self.session().get_inputs()[0].shape[0]
        # A graph may take a fixed number of pictures only: the last one fills it up.
        step = fixed if isinstance(fixed, int) else self.batch
        n_more = -len(pixels) % step if isinstance(fixed, int) else 0
        filled = np.concatenate([pixels, *[pixels[-1:]] * n_more])
        parts = [filled[first : first + step] for first in range(0, len(filled), step)]
        found = [self.session().run([FEATURES], {IMAGE: part})[0] for part in parts]
        rows = np.concatenate(found)[: len(pixels)]
        if rows.ndim != 2 or not np.isfinite(rows).all():
            cure = "See mean and std, or take another output."
            raise rule_error("encoder", "give a row of finite features", str(self.path), cure)
        return list(rows.reshape(len(pictures), -1, rows.shape[1]))

    def _augmented(self, image: Image) -> list[Image]:
        views = [image]
        if "crop" in self.augment:
            sides = [max(1, round(KEPT * side)) for side in image.size]
            room = [side - kept for side, kept in zip(image.size, sides, strict=True)]
            for across, down in CORNERS.values():
                left, top = across * room[0], down * room[1]
                views.append(image.crop((left, top, left + sides[0], top + sides[1])))
        if "mirror" in self.augment:
            flip = import_pillow().Transpose.FLIP_LEFT_RIGHT
            views += [view.transpose(flip) for view in views]
        return views

    def _resized(self, image: Image, size: tuple[int, int]) -> Image:
        from PIL import ImageOps

        bicubic = import_pillow().Resampling.BICUBIC
        if self.settings["resize"] == "squash":
            return image.resize(size, bicubic)
        if self.settings["resize"] == "crop":
            return ImageOps.fit(image, size, bicubic)
        return ImageOps.pad(
            image, size, bicubic, color=tuple(round(255 * level) for level in self.settings["mean"])
        )


@lru_cache(maxsize=8)
def _sha256(files: tuple[tuple[str, int, int], ...]) -> str:
    digests = []
    for path, *_ in files:
        with open(path, "rb") as file:
            digests.append(file_digest(file, "sha256"))
    if len(digests) == 1:
        return digests[0].hexdigest()
    return sha256(b"".join(one.digest() for one in digests)).hexdigest()


@lru_cache(maxsize=2)
def _session(path: str, _fingerprint: str, settings: str, n_jobs: int) -> Any:
    runtime = optional("onnxruntime", "Encoders need onnxruntime", "encode")
    graph = feature_graph(Path(path), json.loads(settings))
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = n_jobs, 3
    # Threads that wait by spinning take a processor from whoever else runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has many
        why = " ".join(str(error).split())[:160]
        cure = "Export it again, for opset 17."
        raise rule_error(
            "encoder", "be a graph that onnxruntime runs", f"{path} ({why})", cure
        ) from error


def _levels(mean: Any, std: Any) -> list[list[float]]:
    """Both as three numbers, in levels from 0 to 1."""
    both = [np.broadcast_to(np.asarray(part, dtype=float).ravel(), 3) for part in (mean, std)]
    if not np.isfinite(both).all() or np.min(both[1]) <= 0:
        raise rule_error("std", "be positive numbers, one or three", std, "128 goes with a mean of 127.")
    scale = 255.0 if np.max(both) > 1.0 else 1.0
    return [(part / scale).tolist() for part in both]


def _in_memory(X: SamplesLike) -> Iterator[Any]:
    """Pillow's images, of arrays too."""
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
    return OSError(rule_message("X", "name whole images", f"{path} ({why})", cure))


def encoder_of(known: EncodedPreparation, path: str | os.PathLike[str] | None = None) -> Encoder:
    """The network that a model was fitted behind: the file that is named, or where it was; no other.

    Parameters
    ----------
    known : EncodedPreparation
        Of the model.
    path : path-like, default=None
        The file of the network; None is where it was when the model was fitted.

    Returns
    -------
    Encoder
        The same network, used in the same way.

    See Also
    --------
    nsse.datasets.load_inputs_like : Reads images by it.

    Examples
    --------
    >>> from nsse.datasets import EncodedPreparation, encoder_of
    >>> known = EncodedPreparation("gone.onnx", "9f" * 32, 384)
    >>> try:
    ...     encoder_of(known)
    ... except FileNotFoundError as error:
    ...     print(str(error)[:40])
    `encoder` must name the network of the m
    """
    network = Encoder(known.encoder if path is None else path, **dict(known.settings))
    rule = f"name the network of the model, {Path(known.encoder).name} (SHA-256 {known.sha256[:12]}…)"
    if not network.path.is_file():
        cure = "Pass its file."
        got = f"{network.path}, which is not there"
        raise FileNotFoundError(rule_message("encoder", rule, got, cure))
    if network.fingerprint != known.sha256:
        got = f"{network.path} (SHA-256 {network.fingerprint[:12]}…)"
        raise rule_error("encoder", rule, got, "Pass the file that the model was fitted behind.")
    return network
