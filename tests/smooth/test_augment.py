"""Augmentation: what is done to rows by its definition, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from nsse import SmoothEmbedding, SmoothEmbeddingCV, load, save
from nsse.augment import Augmentation, Copies, Images, Noise, Signals, named_images

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.2, 0.8, size=(12, 20)), np.arange(12) % 2


def interpolated(image, row, column):
    """The value between four pixels. Beyond the border, the nearest pixel of the border is repeated."""
    row, column = (
        np.clip(place, 0, size - 1) for place, size in zip((row, column), image.shape[:2], strict=True)
    )
    up, left = int(row), int(column)
    down, right = min(up + 1, image.shape[0] - 1), min(left + 1, image.shape[1] - 1)
    b, a = row - up, column - left
    upper, lower = ((1 - a) * image[line, left] + a * image[line, right] for line in (up, down))
    return (1 - b) * upper + b * lower


@pytest.mark.parametrize("colors", [1, 3])
def test_rotated_and_scaled_images_are_interpolated(colors):
    images = RNG.random((3, 6, 5, colors))
    augment = Images((6, 5, colors), shift=None, rotate=20.0, scale=1.5)
    back = {"turned by +20°": (1.0, 20.0), "turned by -20°": (1.0, -20.0)}
    back |= {"enlarged by 1.5": (1 / 1.5, 0.0), "shrunk by 1.5": (1.5, 0.0)}
    assert augment.names == tuple(back)
    found = augment(images.reshape(3, -1))
    for (ratio, degrees), made in zip(back.values(), found, strict=True):
        cos, sin = ratio * np.cos(np.deg2rad(degrees)), ratio * np.sin(np.deg2rad(degrees))
        for image, pixels in zip(images, made.reshape(images.shape), strict=True):
            for i, j in np.ndindex(6, 5):
                down, right = i - 2.5, j - 2.0
                place = 2.5 + cos * down + sin * right, 2.0 - sin * down + cos * right
                np.testing.assert_allclose(pixels[i, j], interpolated(image, *place), atol=1e-12)


def test_interpolated_images_stay_in_the_range_of_their_image():
    image = RNG.random((50, 1)) * np.ones(20)
    for made in Images((4, 5), shift=None, rotate=(3.0, 77.0), scale=1.3)(image):
        np.testing.assert_array_equal(made, image)


def test_brighter_and_darker_go_a_share_of_the_way_to_the_ends():
    brightness = Images((4, 5), shift=None, rotate=None, brightness=0.25)
    brighter, darker = brightness(X)
    assert brightness.names == ("brighter by 0.25", "darker by 0.25")
    for row, up, down in zip(X, brighter, darker, strict=True):
        np.testing.assert_allclose(up, [0.75 * level + 0.25 * max(row) for level in row])
        np.testing.assert_allclose(down, [0.75 * level + 0.25 * min(row) for level in row])


def test_light_from_a_side_keeps_the_norm():
    light = Images((4, 5, 1), shift=None, rotate=None, light=0.5)
    assert light.names == ("lit from the left by 0.5", "lit from the right by 0.5")
    for row, left, right in zip(X, *light(X), strict=True):
        lit = np.array([value * np.exp(0.5 * (i % 5 - 2) / 2) for i, value in enumerate(row)])
        np.testing.assert_allclose(right, lit * np.sqrt(np.sum(row**2) / np.sum(lit**2)))
        mirrored = right.reshape(4, 5)[:, ::-1]
        np.testing.assert_allclose(
            light(row.reshape(4, 5)[:, ::-1].reshape(1, 20))[0].reshape(4, 5), mirrored
        )
        assert np.linalg.norm(left) == pytest.approx(np.linalg.norm(row))
    colors = Images((2, 5, 2), shift=None, rotate=None, light=0.5)(np.ones((1, 20)))[1]
    np.testing.assert_allclose(*np.moveaxis(colors.reshape(2, 5, 2), 2, 0))
    np.testing.assert_array_equal(light(np.zeros((1, 20), dtype=np.uint8))[0], np.zeros((1, 20)))


def test_channels_of_signals_move_together():
    earlier, later = Signals(shift=2, channels=2)(X)
    for row, to_left, to_right in zip(X, earlier, later, strict=True):
        pairs = row.reshape(10, 2)
        np.testing.assert_array_equal(to_left.reshape(10, 2), [*pairs[2:], pairs[-1], pairs[-1]])
        np.testing.assert_array_equal(to_right.reshape(10, 2), [pairs[0], pairs[0], *pairs[:-2]])


def test_equal_parameters_make_equal_augmentations():
    assert Noise([0.1] * 20) == Noise(np.full(20, 0.1))
    assert len({Noise(0.1), Noise(0.1), Noise(0.2), Signals()}) == 3
    assert Noise(0.1) != 0.1


WRONG = [
    (Images((4, 6)), "`shape` must have as many values as a sample has features"),
    (Images((4,)), "`shape` must be height and width"),
    (Images((4, 5), shift=4), "`shift` must be None or whole numbers of pixels from 1 to 3"),
    (Images((4, 5), shift=-1), "`shift` must be None or whole numbers"),
    (Images((4, 5), rotate=180), "`rotate` must be None or degrees between 0 and 180"),
    (Images((4, 5), scale=1.0), "`scale` must be None or ratios above 1"),
    (Images((4, 5), brightness=1), "`brightness` must be None or shares between 0 and 1"),
    (Images((4, 5), light=0.0), "`light` must be None or positive numbers"),
    (Images((4, 5), mirror="left"), "`mirror` must be True or False"),
    (Signals(shift=0.5), "`shift` must be whole numbers, at least 1"),
    (Signals(shift=20), r"`shift` must be less than the length of signals \(20 values in 1 channels\)"),
    (
        Signals(channels=3),
        r"`shift` must be less than the length of signals \(20 values in 3 channels\)",
    ),
    (Signals(channels=0), "`channels` must be a whole number, at least 1"),
    (Noise("loud"), "`scale` must be a positive number, or one for each feature"),
    (Noise([0.1, 0.2]), "`scale` must be one number or one for each of the 20 features"),
    (Noise(0.1, copies=0), "`copies` must be a whole number, at least 1"),
    (Copies(X[:3], [X[:3]], ["again"]), "`X` must have rows with known augmented samples"),
    (lambda rows: [rows[:1]], "`augment` must give copies of the shape of the rows"),
]


@pytest.mark.parametrize(("augment", "words"), WRONG)
def test_what_cannot_be_done_is_refused(augment, words):
    model = SmoothEmbedding(augment=augment)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert not hasattr(model, "map_")


class Sizes(Augmentation):
    """Samples that are a part larger and smaller."""

    def __init__(self, part=0.1):
        self.part = part

    def __call__(self, X):
        return [X * (1.0 + self.part), X * (1.0 - self.part)]


def test_an_augmentation_of_the_user(tmp_path):
    """It does the same as a function, has parameters of an estimator, and is not saved."""
    model = SmoothEmbedding(augment=Sizes(0.2)).fit(X, Y)
    function = SmoothEmbedding(augment=lambda rows: [rows * 1.2, rows * 0.8]).fit(X, Y)
    np.testing.assert_array_equal(model.transform(X), function.transform(X))
    assert len(model.coef_) == 36
    assert clone(model).set_params(augment__part=0.3).augment == Sizes(0.3)
    search = SmoothEmbeddingCV(augment=[None, Sizes()]).fit(np.vstack([X, X + 0.01]), np.tile(Y, 2))
    assert search.best_params_["augment"] in (None, Sizes())
    with pytest.raises(ValueError, match="`augment` to be saved"):
        save(model, tmp_path / "model.nsse")
    save(model.set_params(augment=None), tmp_path / "model.nsse")
    predicted = load(tmp_path / "model.nsse").predict_proba(X)
    np.testing.assert_array_equal(predicted, model.predict_proba(X))


def test_augmentations_have_a_base_class():
    assert all(issubclass(kind, Augmentation) for kind in (Copies, Images, Noise, Signals))
    with pytest.raises(TypeError, match="abstract"):
        Augmentation()


def test_sparse_rows_and_unknown_names_are_refused():
    with pytest.raises(ValueError, match="`augment` must be None for sparse samples"):
        SmoothEmbedding(augment=Noise(0.1)).fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match=r"`names` must be among .*mirror"):
        named_images(["swirl"], (4, 5))
