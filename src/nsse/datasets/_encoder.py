"""Turn images into features of a pretrained image network with `Encoder`.

The graph that is run begins with pixels and ends with features. It consists of three graphs, which
`onnx.compose` merges: one that prepares pixels, the network, and one that makes one row of its output.

By default, features are divided by the sum of their absolute values, and square roots are taken. The
Euclidean distance of two images is then the Hellinger distance, every row has norm 1, and a few large
features do not dominate the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from nsse._support.errors import Described, listed, optional, rule_error, rule_message
from nsse._support.types import LabelsLike, SamplesLike
from nsse.datasets._images import Reading, checked_size, eight_bits, import_pillow, read_images
from nsse.datasets._preparation import EncodedPreparation

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE, FEATURES = "image", "features"
TYPES = {1: "float", 10: "float16", 11: "double"}  # names of the element types of ONNX
SIDE = 224  # of networks that take any size
# Mean and std are those of ImageNet, in levels from 0 to 1.
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
# The transformations of an image before the network sees it, and the share of its sides in a crop.
VIEWS, KEPT = ("mirror", "crop"), 0.875
CORNERS = {"upper left": (0, 0), "upper right": (1, 0), "lower left": (0, 1), "lower right": (1, 1)}
VERSION = 2  # raised whenever the same settings give other numbers


class Encoder(TransformerMixin, BaseEstimator):
    """Features of images by a pretrained image network, which is an ONNX file.

    Nothing is downloaded, so you need the file (the page on encoders shows how to get one). Features of
    image files are stored on disk (:func:`cache_home`), by the content of the image and the network.

    Parameters
    ----------
    model : str or path-like
        The network, ``.onnx``, or a ``.json`` file with its path as ``"model"`` and any of the next
        seven parameters. A JSON file with the same name next to the network is read as well.
    output : str, default=None
        The name of the result of the network that contains the features. None is the result of the last
        averaging over all places, which classifiers compute before their last layer, or the last output
        if there is no averaging. If the result has tokens, the first one is taken. If it is a feature
        map, its mean is taken.
    size : tuple of (int, int), default=None
        Height and width, for networks that take any size. None is 224 × 224.
    mean, std : float or sequence of three, default=None
        Pixels become (level − mean)/std. Levels range from 0 to 1, or to 255 if a number exceeds 1. None
        takes the numbers of ImageNet.
    channels : {"RGB", "BGR"}, default=None
        The order of the channels. None is RGB.
    resize : {"squash", "crop", "pad"}, default=None
        The whole image squeezed to the size of the network, its middle, or the whole image with gray
        margins. None is squash.
    norm : {"hellinger", "l2", "none"}, default=None
        Signed square roots of the features, scaled to norm 1, the features scaled to norm 1, or the
        features as they are. None is hellinger.
    augment : sequence of {"mirror", "crop"}, default=()
        The augmented versions of images that `copies` adds.
    batch_size : int, default=8
        Number of images that the network processes at a time.
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
        """Check the parameters and the network. Nothing is learned.

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
        """Return the features of images.

        Parameters
        ----------
        X : sequence of path-like, of Pillow's images, or array of shape (n, height, width[, 3])
            Files, or images in memory, with levels from 0 to 255 as whole numbers or from 0 to 1 as
            floats.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32
            One row for each.
        """
        return self._views(X)[:, 0]

    def copies(self, X: SamplesLike) -> list[NDArray[np.float32]]:
        """Return the features of the images that `augment` makes, in the order of `copy_names`.

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
        """The change that each augmented version shows."""
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
        """The SHA-256 of the network, with the weights of a file next to it."""
        parts = [self.path, *(Path(f"{self.path}{end}") for end in (".data", "_data"))]
        found = [part for part in parts if part.is_file()]
        if not self.path.is_file():
            cure = "Check its spelling. Nothing is downloaded, so export a network first."
            message = rule_message("encoder", "name the ONNX file of a network", str(self.path), cure)
            raise FileNotFoundError(message)
        return _sha256(
            tuple((str(part), part.stat().st_mtime_ns, part.stat().st_size) for part in found)
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything except the network that determines the numbers.

        mean and std are levels from 0 to 1.
        """
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
        """Return the content of the JSON file that was given, or of the one next to the network."""
        file = Path(self.model).expanduser()
        beside = file if file.suffix.lower() == ".json" else file.with_suffix(".json")
        if beside != file and not beside.is_file():
            return {"model": file}
        try:
            settings = dict(json.loads(beside.read_text(encoding="utf-8")))
            settings["model"] = beside.parent / settings["model"] if beside == file else file
        except (OSError, ValueError, TypeError, KeyError) as error:
            got = Described(f"{beside} ({type(error).__name__}: {error})")
            cure = 'For example {"mean": 127, "std": 128}.'
            raise rule_error(
                "encoder", "have a JSON file that describes how it is used", got, cure
            ) from error
        strange = sorted(set(settings) - {"model", *DEFAULTS})
        if strange:
            rule, got = (
                f"say only {', '.join(DEFAULTS)} in its JSON",
                Described(f"{beside} with {strange[0]}"),
            )
            raise rule_error("encoder", rule, got, "Take it out.")
        return settings

    def reading(self) -> Features:
        """Return how an image is prepared, for people who read files."""
        wrong = [name for name in self.augment if name not in VIEWS]
        if wrong:
            raise rule_error("augment", f"be some of {', '.join(VIEWS)}", wrong[0], "Leave it out.")
        if not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise rule_error("batch_size", "be a whole number from 1 on", self.batch_size, "8 is usual.")
        return Features(self)

    def _views(self, X: SamplesLike) -> NDArray[Any]:
        if isinstance(X, str | os.PathLike):
            raise rule_error("X", "be a sequence of images", str(X), "Pass a list: [X].")
        if len(X) and isinstance(X[0], str | os.PathLike):
            return read_images([Path(path) for path in X], self.reading(), _broken).images
        reading = self.reading()
        return np.stack([*reading.finished([reading.picture(image) for image in _in_memory(X)])])

    def graph(self, model: Any = None) -> Any:
        """Return the graph from pixels to features, or to the outputs of a model behind it.

        Parameters
        ----------
        model : onnx.ModelProto, default=None
            What `nsse.to_onnx` returns for a model that was fitted to the features.

        Returns
        -------
        onnx.ModelProto
            Its input ``image`` (n, height, width, 3) has red, green and blue from 0 to 255 of resized
            images. Its outputs are those of the model, or ``features``.
        """
        if model is None:
            return feature_graph(self.path, self.settings)
        onnx = optional("onnx", "Encoders need onnx", "encode")
        kind = model.graph.input[0].type.tensor_type.elem_type
        both = [feature_graph(self.path, self.settings, kind), model]
        opset = max(map(_opset, both))
        both = [
            one if _opset(one) == opset else onnx.version_converter.convert_version(one, opset)
            for one in both
        ]
        for one in both:
            one.ir_version = max(graph.ir_version for graph in both)
        return onnx.compose.merge_models(*both, io_map=[(FEATURES, model.graph.input[0].name)])

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Features(Reading):
    """Compute the features of an image and of its augmented versions, with one row each."""

    def __init__(self, encoder: Encoder) -> None:
        self.path = encoder.path
        self.settings = encoder.settings
        self.augment = encoder.augment
        self.fingerprint, self.n_jobs = encoder.fingerprint, encoder.n_jobs or cpu_count()
        self.batch = encoder.batch_size
        self.draft = 2 * max(self.settings["size"] or (SIDE, SIDE))
        about = [VERSION, self.fingerprint, self.settings, encoder.copy_names]
        self.how = f"features {json.dumps(about)}"

    def open(self) -> None:
        """Open the network, or raise an error that describes what is wrong with it."""
        self.session()

    def session(self) -> Any:
        """Open the network once."""
        return _session(str(self.path), self.fingerprint, json.dumps(self.settings), self.n_jobs)

    def picture(self, image: Image) -> NDArray[np.uint8]:
        """Return the pixels of an image and of its augmented versions, in the size of the network."""
        _, height, width, _ = self.session().get_inputs()[0].shape
        views = self._augmented(eight_bits(image))
        return np.stack([np.asarray(self._resized(view, (width, height))) for view in views])

    def finished(self, pictures: list[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Return the features of each image, with one row for every view."""
        if not pictures:
            return []
        pixels, fixed = np.concatenate(pictures), self.session().get_inputs()[0].shape[0]
        # A graph may take only a fixed number of images. The last one fills the batch.
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


# Graphs in the text format of onnx, from the bytes of images to the input of a network, and from its
# result to features.
_PREPARE = """prepare (uint8[{n}, {height}, {width}, 3] image) => ({out} prepared) {{
    levels = Cast <to = 1> (image)
    order = Constant <value_ints = {order}> ()
    pixels = Gather <axis = 3> (levels, order)
    mean = Constant <value_floats = {mean}> ()
    centered = Sub (pixels, mean)
    std = Constant <value_floats = {std}> ()
    scaled = Div (centered, std)
    turned = {turn} (scaled)
    prepared = Cast <to = {kind}> (turned)
}}"""
_MAKE_ROWS = """rows (float[{sides}] result) => ({out}[n, m] features) {{
    first = Constant <value_int = 0> ()
    places = {turn} (result)
    row = {row}
    flat = Flatten <axis = 1> (row)
    size = Abs (flat)
    root = Sqrt (size)
    sign = Sign (flat)
    signed = Mul (sign, root)
    chosen = Identity ({chosen})
    normed = {normed} (chosen)
    features = Cast <to = {kind}> (normed)
}}"""
_CHANNELS_FIRST = "Transpose <perm = [0, 3, 1, 2]>"
# Takes the first token, or the mean of a feature map.
_ROWS = {3: "Gather <axis = 1> (places, first)", 4: "GlobalAveragePool (places)"}
_ORDERS = {"RGB": [0, 1, 2], "BGR": [2, 1, 0]}


def feature_graph(path: Path, settings: Mapping[str, Any], kind: int = 1) -> Any:
    """Return a graph from bytes, ``image`` (n, height, width, 3), to ``features`` of an ONNX type."""
    onnx = optional("onnx", "Encoders need onnx", "encode")
    try:
        network = onnx.compose.add_prefix(onnx.shape_inference.infer_shapes(onnx.load(path)), "encoder/")
    except Exception as error:  # onnx, protobuf and the file system have many
        why = " ".join(str(error).split())[:120]
        raise _unusable(path, f"no whole ONNX file ({why})") from error
    network.ir_version = max(8, network.ir_version)
    graph = network.graph
    image = _image_input(path, graph)
    is_last = _shape(image)[3] == 3 and _shape(image)[1] != 3
    ranks = {one.name: len(_shape(one)) for one in (*graph.value_info, image, *graph.output)}
    output = _output(path, graph, settings["output"], ranks)
    rank = ranks.get(output) or 2
    # Convolutions of ONNX have channels first. A network with channels last turns its output around.
    is_turned = is_last and rank == 4 and output in {one.name for one in graph.output}
    del graph.output[:]
    graph.output.append(onnx.helper.make_tensor_value_info(output, 1, [None] * rank))
    header = f'<ir_version: {network.ir_version}, opset_import: ["" : {_opset(network)}]>'
    texts = _preparation(image, is_last, settings), _rows(rank, is_turned, settings["norm"], kind)
    first, last = (onnx.parser.parse_model(header + text) for text in texts)
    whole = onnx.compose.merge_models(first, network, io_map=[("prepared", image.name)])
    whole = onnx.compose.merge_models(whole, last, io_map=[(output, "result")])
    # Merging repeats the sets of operators, and the converter of versions reads the first one only.
    versions = {one.domain: one.version for one in whole.opset_import}
    del whole.opset_import[:]
    whole.opset_import.extend(onnx.helper.make_opsetid(*one) for one in versions.items())
    return whole


def _image_input(path: Path, graph: Any) -> Any:
    """Return the input of a network, which must have color images and no other input."""
    weights = {part.name for part in graph.initializer}
    inputs = [one for one in graph.input if one.name not in weights]
    shapes = [_shape(one) for one in inputs]
    is_known = len(inputs) == 1 and inputs[0].type.tensor_type.elem_type in TYPES
    if is_known and len(shapes[0]) == 4 and {3, None}.intersection(shapes[0][1::2]):
        return inputs[0]
    got = listed([f"{_plain(one)} {_shape(one)}" for one in inputs]) or "none"
    raise _unusable(path, f"no image input, but {got}")


def _rows(rank: int, is_turned: bool, norm: str, kind: int) -> str:
    """Return the text of the graph from the output of a network to rows of features."""
    return _MAKE_ROWS.format(
        sides=", ".join("abcdefgh"[:rank]),
        out=TYPES[kind],
        kind=kind,
        turn=_CHANNELS_FIRST if is_turned else "Identity",
        row=_ROWS.get(rank, "Identity (places)"),
        chosen="signed" if norm == "hellinger" else "flat",
        normed="Identity" if norm == "none" else "LpNormalization <axis = 1, p = 2>",
    )


def _preparation(network_input: Any, is_last: bool, settings: Mapping[str, Any]) -> str:
    """Return the text of the graph from bytes to the input of a network."""
    shape, kind = _shape(network_input), network_input.type.tensor_type.elem_type
    n, *sides = shape[:3] if is_last else (shape[0], *shape[2:])
    height, width = (
        own or given for own, given in zip(sides, settings["size"] or (SIDE, SIDE), strict=True)
    )
    many = n or "n"
    out = [many, height, width, 3] if is_last else [many, 3, height, width]
    return _PREPARE.format(
        n=many,
        height=height,
        width=width,
        out=f"{TYPES[kind]}[{', '.join(map(str, out))}]",
        order=_ORDERS[settings["channels"]],
        mean=[255.0 * level for level in settings["mean"]],
        std=[255.0 * level for level in settings["std"]],
        turn="Identity" if is_last else _CHANNELS_FIRST,
        kind=kind,
    )


def _output(path: Path, graph: Any, output: str | None, ranks: Mapping[str, int]) -> str:
    """Return the result with this name, the last one that is averaged, or the last output."""
    if output is None:
        pools = [node for node in graph.node if node.op_type in ("GlobalAveragePool", "ReduceMean")]
        averaged = [node.output[0] for node in pools if ranks.get(node.input[0]) == 4]
        return str([*(one.name for one in graph.output), *averaged][-1])
    if f"encoder/{output}" not in {name for node in graph.node for name in node.output}:
        cure = f"Its outputs are {listed([_plain(one) for one in graph.output])}."
        raise rule_error("output", f"be a result of {path.name}", output, cure)
    return f"encoder/{output}"


def _shape(value: Any) -> list[int | None]:
    return [side.dim_value or None for side in value.type.tensor_type.shape.dim]


def _plain(value: Any) -> str:
    return str(value.name.removeprefix("encoder/"))


def _opset(model: Any) -> int:
    return int(next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx")))


def _unusable(path: Path, got: str) -> ValueError:
    rule = "name an ONNX graph with one input of images, (n, 3, height, width) or (n, height, width, 3)"
    cure = "The page on encoders shows how to export one."
    return rule_error("encoder", rule, Described(f"{path}, {got}"), cure)


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
            "encoder", "be a graph that onnxruntime runs", Described(f"{path} ({why})"), cure
        ) from error


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
    network = Encoder(known.encoder if path is None else path, **dict(known.settings))
    rule = f"name the network of the model, {Path(known.encoder).name} (SHA-256 {known.sha256[:12]}…)"
    if not network.path.is_file():
        cure = "Pass its file."
        got = Described(f"{network.path}, which is not there")
        raise FileNotFoundError(rule_message("encoder", rule, got, cure))
    if network.fingerprint != known.sha256:
        got = Described(f"{network.path} (SHA-256 {network.fingerprint[:12]}…)")
        raise rule_error("encoder", rule, got, "Pass the file that the model was fitted behind.")
    return network
