"""Pictures through a network: the features beside a literal route, the cache, what is refused."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from nsse import SmoothEmbedding
from nsse.datasets import Encoder, load_inputs, load_inputs_like

pytest.importorskip("onnxruntime", reason="encoders need onnxruntime")
pytest.importorskip("PIL", reason="encoders need Pillow")

from onnx import TensorProto, helper, load, save
from onnx.reference import ReferenceEvaluator
from PIL import Image, ImageOps

from networks import FEATURES, SIDE, write_network, write_pictures

pytestmark = pytest.mark.usefixtures("cache")
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@pytest.fixture
def network(tmp_path):
    return write_network(tmp_path / "small.onnx")


@pytest.fixture
def pictures(tmp_path):
    return sorted(write_pictures(tmp_path / "photos").glob("*/*.jpg"))


def literal(path, images, *, mean=MEAN, std=STD, last=False, result="flat"):
    """One picture at a time by onnx's own evaluator, as the pages of networks tell to do."""
    model = load(path)
    model.graph.output.append(helper.make_tensor_value_info(result, TensorProto.FLOAT, None))
    rows = []
    for image in images:
        x = ((np.asarray(image, dtype=np.float64) / 255 - mean) / std)[np.newaxis]
        x = x if last else x.transpose(0, 3, 1, 2)
        rows.append(ReferenceEvaluator(model).run([result], {"x": x.astype(np.float32)})[0][0])
    return np.array(rows, dtype=np.float64)


def squashed(paths):
    return [
        Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC) for path in paths
    ]


def hellinger(rows):
    shares = np.abs(rows) / np.abs(rows).sum(axis=1, keepdims=True)
    return np.sign(rows) * np.sqrt(shares)


def test_features_are_those_of_the_literal_route(network, pictures):
    found = Encoder(network).transform(pictures)
    expected = hellinger(literal(network, squashed(pictures)))
    assert found.shape == (18, FEATURES)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("made", "settings", "told"),
    [
        ({"last": True}, {}, {"last": True}),
        ({"n": 4}, {}, {}),  # takes four pictures at a time, no more and no fewer
        ({"opset": 13}, {"mean": 127, "std": 128}, {"mean": 127 / 255, "std": 128 / 255}),
        ({"opset": 18}, {"mean": 0.5, "std": [0.5, 0.4, 0.3]}, {"mean": 0.5, "std": [0.5, 0.4, 0.3]}),
        ({"opset": 18, "axes": "stored"}, {}, {}),
        ({"opset": 18, "axes": "made"}, {}, {}),
        ({}, {"output": "scores"}, {"result": "scores"}),
        ({"head": False, "outputs": ("map",)}, {}, {}),  # the averaged map comes before the output
        ({"outputs": ("map",)}, {"output": "map"}, {"result": "map"}),
    ],
)
def test_features_of_other_networks(made, settings, told, tmp_path, pictures):
    path = write_network(tmp_path / "other.onnx", **made)
    found = Encoder(path, norm="none", **settings).transform(pictures[:6])
    expected = literal(path, squashed(pictures[:6]), **told).reshape(6, -1)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_plain_norms(network, pictures):
    found = Encoder(network, norm="l2").transform(pictures[:4])
    rows = literal(network, squashed(pictures[:4]))
    np.testing.assert_allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=2e-6)


def test_pictures_may_be_cropped(network, pictures):
    images = [Image.open(path) for path in pictures[:3]]
    cropped = [ImageOps.fit(image, (SIDE, SIDE), Image.Resampling.BICUBIC) for image in images]
    found = Encoder(network, resize="crop").transform(pictures[:3])
    np.testing.assert_allclose(found, hellinger(literal(network, cropped)), atol=2e-6)


def test_pictures_in_memory_are_those_of_files(network, tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (3, 20, 30, 3)).astype(np.uint8)
    files = [tmp_path / f"{i}.png" for i in range(3)]
    for file, picture in zip(files, pixels, strict=True):
        Image.fromarray(picture).save(file)
    encoder = Encoder(network)
    expected = encoder.transform(files)
    for given in (pixels, pixels / 255.0, [Image.fromarray(picture) for picture in pixels]):
        np.testing.assert_array_equal(encoder.transform(given), expected)


def test_every_kind_of_picture(network, tmp_path):
    rng = np.random.default_rng(0)
    gray = rng.integers(0, 256, (24, 24)).astype(np.uint8)
    plain = Image.fromarray(gray)
    kinds = {
        "gray.png": plain,
        "deep.png": Image.fromarray(257 * gray.astype(np.uint16)),
        "inks.tif": plain.convert("RGB").convert("CMYK"),
        "clear.png": plain.convert("RGBA"),
        "palette.gif": plain.convert("P"),
        "dot.png": plain.crop((0, 0, 1, 1)),
    }
    for name, image in kinds.items():
        image.save(tmp_path / name)
    plain.save(tmp_path / "moving.gif", save_all=True, append_images=[plain.rotate(90)])
    rows = Encoder(network).transform([tmp_path / name for name in (*kinds, "moving.gif")])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    for same in (1, 2, 3, 4, 6):  # the same picture, stored otherwise; of one that moves, the first
        np.testing.assert_allclose(rows[same], rows[0], atol=2e-3)


def test_a_broken_picture_is_named(network, pictures):
    pictures[2].write_bytes(pictures[2].read_bytes()[:300])
    with pytest.raises(
        OSError, match=rf"^`X` must name whole images\. Got .*{pictures[2].name} \(.+\)."
    ):
        Encoder(network).transform(pictures)


def test_features_come_from_the_cache_by_content(network, pictures, tmp_path, monkeypatch):
    first = Encoder(network).transform(pictures)
    moved = [path.rename(path.with_name(f"moved {path.name}")) for path in pictures]
    copy = network.rename(tmp_path / "renamed.onnx")
    for package in ("onnx", "onnxruntime", "PIL"):
        monkeypatch.setitem(sys.modules, package, None)
    np.testing.assert_array_equal(Encoder(copy, n_jobs=3).transform(moved), first)
    with pytest.raises(ImportError, match=r"pip install 'nsse\[(encode|images)\]'"):
        Encoder(copy, norm="l2", n_jobs=3).transform(moved)


def test_another_network_or_another_picture_is_computed(network, pictures, tmp_path):
    first = Encoder(network).transform(pictures)
    other = Encoder(write_network(tmp_path / "small.onnx", seed=1)).transform(pictures)
    assert np.abs(other - first).max() > 0.01
    Image.open(pictures[1]).save(pictures[0])
    again = Encoder(write_network(tmp_path / "small.onnx")).transform(pictures)
    np.testing.assert_array_equal(again[1:], first[1:])
    assert np.abs(again[0] - first[0]).max() > 0.001


def test_weights_beside_the_graph_are_part_of_its_fingerprint(network, tmp_path):
    before = Encoder(network).fingerprint
    beside = tmp_path / "large.onnx"
    save(load(network), beside, save_as_external_data=True, location="large.onnx.data", size_threshold=0)
    found = Encoder(beside).fingerprint
    with (tmp_path / "large.onnx.data").open("ab") as file:
        file.write(b"\0")
    assert len({before, found, Encoder(beside).fingerprint}) == 3


def test_a_json_file_says_how_a_network_is_used(network, pictures, tmp_path):
    expected = Encoder(network, mean=127, std=128, resize="crop").transform(pictures[:3])
    (tmp_path / "how.json").write_text(
        '{"model": "small.onnx", "mean": 127, "std": 128, "resize": "crop"}'
    )
    np.testing.assert_array_equal(Encoder(tmp_path / "how.json").transform(pictures[:3]), expected)
    (tmp_path / "small.json").write_text('{"mean": [127, 127, 127], "std": 128, "resize": "squash"}')
    found = Encoder(network, resize="crop").transform(pictures[:3])  # what is given wins
    np.testing.assert_array_equal(found, expected)
    (tmp_path / "small.json").write_text('{"means": 127}')
    rule = r"`encoder` must have no settings .* but output, size, .* Got .*with means"
    with pytest.raises(ValueError, match=rule):
        Encoder(network).transform(pictures)
    (tmp_path / "small.json").write_text("{")
    rule = r"^`encoder` must have a JSON file with its settings.*JSONDecodeError"
    with pytest.raises(ValueError, match=rule):
        Encoder(network).transform(pictures)


def test_mirrored_pictures_are_encoded_as_others(network, pictures):
    encoder = Encoder(network)
    images = [Image.open(path).convert("RGB") for path in pictures[:3]]
    mirrored = [image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for image in images]
    for given in (pictures[:3], images):
        np.testing.assert_array_equal(encoder.mirrored(given), encoder.transform(mirrored))


def test_its_graph_goes_from_pixels_to_features_and_on_to_labels(network, pictures):
    import onnxruntime

    import nsse

    encoder, y = Encoder(network), [path.parent.name for path in pictures]
    X = encoder.transform(pictures)
    model = SmoothEmbedding().fit(X, y)
    pixels = np.stack([np.asarray(image) for image in squashed(pictures)])
    for graph, name, expected in (
        (encoder.graph(), "features", X),
        (encoder.graph(nsse.to_onnx(model)), "label", model.predict(X)),
        (encoder.graph(nsse.to_onnx(model, dtype=np.float64)), "label", model.predict(X)),
    ):
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        (found,) = session.run([name], {"image": pixels})
        assert np.abs(found - expected).max() < 1e-6 if name == "features" else (found == expected).all()


def test_it_is_an_estimator(network, pictures):
    y = [path.parent.name for path in pictures]
    model = make_pipeline(Encoder(network), SmoothEmbedding())
    assert clone(model).fit(pictures, y).score(pictures, y) > 0.8
    again = pickle.loads(pickle.dumps(Encoder(network).fit(pictures)))
    np.testing.assert_array_equal(again.transform(pictures), Encoder(network).transform(pictures))


def graph_of(path, shape, kind=TensorProto.FLOAT):
    """A graph that gives back its input."""
    value = [helper.make_tensor_value_info(name, kind, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_network_whose_input_has_no_fixed_sides_takes_channels_first(tmp_path, pictures):
    path = graph_of(tmp_path / "free.onnx", ["n", "c", "h", "w"])
    settings = {"mean": 0.0, "std": 1.0, "size": (SIDE, SIDE), "norm": "none"}
    found = Encoder(path, **settings).transform(pictures[:2])
    levels = np.array([np.asarray(image) for image in squashed(pictures[:2])]) / 255
    np.testing.assert_allclose(found, levels.transpose(0, 3, 1, 2).reshape(2, -1), atol=1e-6)


def test_what_is_no_network_of_pictures_is_refused(tmp_path, pictures):
    (tmp_path / "text.onnx").write_text("no graph")
    cases = [
        (tmp_path / "gone.onnx", FileNotFoundError, r"must name the ONNX file.*gone.*Nothing is"),
        (tmp_path / "text.onnx", ValueError, r"must name an ONNX graph .*text.*no whole ONNX"),
        (graph_of(tmp_path / "rows.onnx", ["n", 9]), ValueError, r"no image input, but x \[None, 9\]"),
        (graph_of(tmp_path / "many.onnx", ["n", 7, 8, 9]), ValueError, r"no image input, but x"),
        (graph_of(tmp_path / "gray.onnx", ["n", 1, 8, 8]), ValueError, r"no image input, but x"),
        (
            graph_of(tmp_path / "bytes.onnx", ["n", 3, 8, 8], TensorProto.UINT8),
            ValueError,
            r"no image input, but x",
        ),
    ]
    for path, kind, words in cases:
        with pytest.raises(kind, match=words) as caught:
            Encoder(path).transform(pictures)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"output": "none"}, r"^`output` must be a result of small\.onnx\. .* Its outputs are scores\."),
        ({"resize": "squeeze"}, r"^`resize` must be one of 'squash', 'crop'\."),
        ({"norm": "l1"}, r"^`norm` must be one of 'hellinger', 'l2', 'none'\."),
        ({"std": 0}, r"^`std` must be positive numbers"),
        ({"size": (3,)}, r"^`size` must be None or a pair"),
    ],
)
def test_bad_settings_are_named(settings, words, network, pictures):
    with pytest.raises(ValueError, match=words):
        Encoder(network, **settings).transform(pictures)


def test_a_folder_through_a_network_and_more_of_it(network, pictures, tmp_path):
    folder = tmp_path / "photos"
    inputs = load_inputs(folder, encoder=network)
    np.testing.assert_allclose(inputs.X, Encoder(network).transform(pictures), atol=1e-6)
    assert (inputs.preparation["kind"], inputs.preparation["n_features"]) == ("encoded", FEATURES)
    same = load_inputs_like(folder, dict(inputs.preparation))
    np.testing.assert_array_equal(same.X, inputs.X)
    one = load_inputs_like(pictures[0], inputs.preparation)
    np.testing.assert_array_equal(one.X, inputs.X[:1])
    network.rename(tmp_path / "elsewhere.onnx")
    found = load_inputs_like(folder, inputs.preparation, encoder=tmp_path / "elsewhere.onnx")
    np.testing.assert_array_equal(found.X, inputs.X)


def test_an_encoder_is_for_pictures(network, tmp_path):
    Path(tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n1,x\n2,y\n")
    with pytest.raises(ValueError, match=r"^`encoder` must be left out for a table\."):
        load_inputs(tmp_path / "t.csv", "b", encoder=network)
