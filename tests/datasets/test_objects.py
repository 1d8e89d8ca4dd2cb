"""The rendered solids: shapes against their definition, pictures against marching rays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from nsse.datasets import Dataset, load_dataset
from nsse.datasets._solids import AMBIENT, _camera, ball, box, picture, solids, spindle


@pytest.fixture(scope="module")
def objects() -> Dataset:
    data = load_dataset("objects")
    data.X.flags.writeable = False
    return data


def inside(part, points: np.ndarray) -> np.ndarray:
    """The definition of a part, with a little room for rounding."""
    if hasattr(part, "normals"):
        return (points @ part.normals.T <= part.offsets + 1e-9).all(axis=1)
    return (((points - part.center) / part.radii) ** 2).sum(axis=1) <= 1 + 1e-9


def test_corners_lie_on_their_polytope() -> None:
    parts = [
        box((1, 2, 3), (0.1, 0.2, 0.3)),
        spindle(5, 0.7, 0.3, 0.9),
        spindle(3, 0.8, 0.0, 1.0, (1, 0, 0)),
    ]
    for part in parts:
        assert inside(part, part.corners).all()
        assert not inside(part, part.corners * 1.01 - 0.01 * part.corners.mean(axis=0)).any()
        np.testing.assert_allclose(np.linalg.norm(part.normals, axis=1), 1.0)


def test_solids_are_twenty_and_fill_their_frame() -> None:
    named = solids()
    assert len(named) == 20
    for solid in named.values():
        corners = np.vstack([part.corners for part in solid])
        assert np.linalg.norm(corners, axis=1).max() == pytest.approx(1.0)
        np.testing.assert_allclose(corners.min(axis=0), -corners.max(axis=0), atol=1e-12)


@pytest.mark.parametrize("name", ["square frustum", "mug", "duck"])
def test_silhouette_is_what_marching_rays_meet(name: str) -> None:
    """Another route: walk along every ray in small steps and ask whether the point is inside."""
    solid, angle, n = solids()[name], 0.7, 24
    right, up, towards = _camera(angle)
    side = (2 * np.arange(n) + 1) / n - 1
    met = np.zeros((n, n), dtype=bool)
    for t in np.arange(-1.1, 1.1, 0.004):
        points = (side[None, :, None] * right - side[:, None, None] * up + t * towards).reshape(-1, 3)
        for part in solid:
            met |= inside(part, points).reshape(n, n)
    seen = picture(solid, angle, n) > 0
    assert not (met & ~seen).any()
    assert (seen & ~met).sum() <= 2  # rays that cut a corner shorter than a step


def test_camera_axes_are_orthonormal_and_turn_with_the_table() -> None:
    for angle in (0.0, 1.0, 4.0):
        axes = np.array(_camera(angle))
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1.0)
    np.testing.assert_allclose(_camera(0.3), _camera(0.3 + 2 * np.pi), atol=1e-12)


def test_nearer_part_hides_the_farther() -> None:
    towards = _camera(0.0)[2]
    near = ball((0.3, 0.3, 0.3), tuple(0.5 * towards))
    far = ball((0.2, 0.2, 0.2), tuple(-0.5 * towards))
    alone = picture([near], 0.0, 32)
    np.testing.assert_array_equal(picture([near, far], 0.0, 32), alone)
    np.testing.assert_array_equal(picture([far, near], 0.0, 32), alone)
    assert alone.max() > AMBIENT


@pytest.mark.slow
def test_what_load_dataset_gives(objects: Dataset) -> None:
    assert (objects.X.shape, objects.image_shape, objects.name) == ((1440, 625), (25, 25), "objects")
    np.testing.assert_array_equal(objects.y, np.repeat(np.arange(1, 21), 72))
    assert objects.class_names == tuple(solids())
    assert objects.X.min() == 0
    assert 0.8 < objects.X.max() <= 1


@pytest.mark.slow
def test_no_two_pictures_are_the_same(objects: Dataset) -> None:
    """A cube would look the same four times in a turn if all its sides were painted alike."""
    for label in range(1, 21):
        of_class = objects.X[objects.y == label]
        D2 = ((of_class[:, None, :] - of_class[None, :, :]) ** 2).sum(axis=2)
        assert D2[~np.eye(72, dtype=bool)].min() > 0.01


@pytest.mark.slow
def test_it_is_the_same_every_time(objects: Dataset) -> None:
    np.testing.assert_array_equal(load_dataset("objects").X, objects.X)


@pytest.mark.slow
@pytest.mark.parametrize("unit_norm", [False, True])
def test_it_is_neither_trivial_nor_hopeless(objects: Dataset, unit_norm: bool) -> None:
    X = objects.X / np.linalg.norm(objects.X, axis=1, keepdims=True) if unit_norm else objects.X
    errors = []
    for train, test in StratifiedShuffleSplit(3, train_size=140, random_state=0).split(X, objects.y):
        model = KNeighborsClassifier(1).fit(X[train], objects.y[train])
        errors.append(1 - model.score(X[test], objects.y[test]))
    assert 0.05 < np.mean(errors) < 0.2
