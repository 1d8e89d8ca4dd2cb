"""Affine maps of every form against their literal definition with one dense matrix."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from nsse import WithinMetric
from nsse.affine import Affine

RNG = np.random.default_rng(0)
N_FEATURES, N_COLUMNS, N_OUTPUTS = 30, 7, 4


@dataclass(frozen=True)
class Literal:
    """x ↦ ((x − shift) · scale) T + offset with a dense T."""

    shift: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    T: np.ndarray

    def __call__(self, X):
        return ((X - self.shift) * self.scale) @ self.T + self.offset

    @property
    def linear(self):
        return np.diag(self.scale) @ self.T


def literal(affine):
    T = np.eye(affine.n_features)
    if affine.down is not None:
        T = T - affine.down @ affine.up
    if affine.matrix is not None:
        T = affine.matrix.toarray() if sparse.issparse(affine.matrix) else affine.matrix
        T = T if affine.tail is None else T @ affine.tail
    return Literal(affine.shift, affine.scale, affine.offset, T)


def columns(*shape):
    """Sparse columns, one of which is empty; every third row is empty, too."""
    dense = RNG.normal(size=shape) * (RNG.random(shape) < 0.4)
    dense[::3] = 0.0
    return sparse.csr_array(dense)


def shifted(n=N_FEATURES, p=N_OUTPUTS):
    return RNG.normal(size=n), RNG.uniform(0.5, 2.0, n), RNG.normal(size=p)


def centered(n=N_FEATURES, p=N_OUTPUTS):
    return np.zeros(n), RNG.uniform(0.5, 2.0, n), np.zeros(p)


def triangle(n):
    return np.triu(RNG.normal(size=(n, n))) + 5.0 * np.sqrt(n) * np.eye(n)


TAIL = RNG.normal(size=(N_COLUMNS, N_OUTPUTS))
MAPS = {
    "identity": Affine.identity(N_FEATURES),
    "diagonal": Affine.diagonal(*shifted()[:2]),
    "square": Affine(*shifted(p=N_FEATURES), RNG.normal(size=(N_FEATURES, N_FEATURES))),
    "triangle": Affine(*shifted(p=N_FEATURES), triangle(N_FEATURES)),
    "tall": Affine(*shifted(), RNG.normal(size=(N_FEATURES, N_OUTPUTS))),
    "wide": Affine(*shifted(p=50), RNG.normal(size=(N_FEATURES, 50))),
    "low rank": Affine(
        *shifted(p=N_FEATURES),
        down=RNG.normal(size=(N_FEATURES, 3)),
        up=0.1 * RNG.normal(size=(3, N_FEATURES)),
    ),
    "dense, tail": Affine(*shifted(), RNG.normal(size=(N_FEATURES, N_COLUMNS)), tail=TAIL),
    "sparse, tail": Affine(*shifted(), columns(N_FEATURES, N_COLUMNS), tail=TAIL),
    "sparse, tail, centered": Affine(*centered(), columns(N_FEATURES, N_COLUMNS), tail=TAIL),
}
DEFICIENT = {
    "tall": Affine(*shifted(), RNG.normal(size=(N_FEATURES, 2)) @ RNG.normal(size=(2, N_OUTPUTS))),
    "zero": Affine(*shifted(), np.zeros((N_FEATURES, N_OUTPUTS))),
    "square": Affine(
        *shifted(p=N_FEATURES), RNG.normal(size=(N_FEATURES, 4)) @ RNG.normal(size=(4, N_FEATURES))
    ),
    "columns of zeros": Affine(
        *shifted(p=N_FEATURES), RNG.normal(size=(N_FEATURES, N_FEATURES)) * (np.arange(N_FEATURES) % 3)
    ),
    "square zero": Affine(*shifted(p=N_FEATURES), np.zeros((N_FEATURES, N_FEATURES))),
    "sparse, tail": Affine(*shifted(), columns(N_FEATURES, 2), tail=RNG.normal(size=(2, N_OUTPUTS))),
}
TAILED = {name: affine for name, affine in MAPS.items() if "tail" in name}
every_map = pytest.mark.parametrize("affine", MAPS.values(), ids=MAPS)


@every_map
@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_rows_dense_and_sparse(affine, n_rows):
    X = RNG.normal(size=(n_rows, N_FEATURES)) * (RNG.random((n_rows, N_FEATURES)) < 0.5)
    expected = literal(affine)(X)
    np.testing.assert_allclose(affine(X), expected, atol=1e-12)
    found = affine(sparse.csr_array(X))
    assert sparse.issparse(found) == affine.keeps_sparse
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found, expected, atol=1e-12)


@every_map
def test_linear_part_and_gradients(affine):
    linear = literal(affine).linear
    np.testing.assert_allclose(affine.dense(), linear, atol=1e-12)
    for shape in ((), (5,), (5, 2)):
        G = RNG.normal(size=(*shape, affine.n_outputs))
        np.testing.assert_allclose(affine.pull_back(G), G @ linear.T, atol=1e-12)


@every_map
def test_norm_is_the_largest_singular_value_rounded_up(affine):
    exact = np.linalg.norm(literal(affine).linear, 2)
    assert exact <= affine.norm * (1 + 1e-15)
    assert affine.norm <= exact * (1 + 1e-10)
    assert affine.multiplied(3.0).norm == pytest.approx(3.0 * affine.norm, rel=1e-12)


@pytest.mark.parametrize("first", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("second", MAPS)
def test_compositions(first, second):
    n = first.n_outputs
    seconds = {
        "identity": Affine.identity(n),
        "diagonal": Affine.diagonal(*shifted(n)[:2]),
        "square": Affine(*shifted(n, n), RNG.normal(size=(n, n))),
        "triangle": Affine(*shifted(n, n), triangle(n)),
        "tall": Affine(*shifted(n, 3), RNG.normal(size=(n, 3))),
        "wide": Affine(*shifted(n, 9), RNG.normal(size=(n, 9))),
        "low rank": Affine(
            *shifted(n, n), down=RNG.normal(size=(n, 2)), up=0.1 * RNG.normal(size=(2, n))
        ),
        "dense, tail": Affine(*shifted(n), RNG.normal(size=(n, N_COLUMNS)), tail=TAIL),
        "sparse, tail": Affine(*shifted(n), columns(n, N_COLUMNS), tail=TAIL),
        "sparse, tail, centered": Affine(*centered(n), columns(n, N_COLUMNS), tail=TAIL),
    }
    affine, X = seconds[second].after(first), RNG.normal(size=(5, N_FEATURES))
    expected = literal(seconds[second])(literal(first)(X))
    np.testing.assert_allclose(affine(X), expected, atol=1e-9)
    linear = literal(first).linear @ literal(seconds[second]).linear
    exact = np.linalg.norm(linear, 2)
    assert exact <= affine.norm * (1 + 1e-12) + 1e-13
    assert affine.norm <= exact * (1 + 1e-9) + 1e-12


def test_only_scalings_keep_rows_sparse():
    zero, scale = np.zeros(N_FEATURES), np.full(N_FEATURES, 2.0)
    assert Affine.diagonal(zero, scale).keeps_sparse
    assert not Affine.diagonal(zero + 1.0, scale).keeps_sparse
    assert not Affine(zero, scale, zero + 1.0).keeps_sparse
    assert not MAPS["tall"].keeps_sparse


def test_a_composition_keeps_sparse_columns():
    first = MAPS["sparse, tail"]
    for second in (Affine.diagonal(*shifted(4)[:2]), Affine(*shifted(4, 2), RNG.normal(size=(4, 2)))):
        assert second.after(first).matrix is first.matrix
    scaler = Affine.diagonal(np.zeros(N_FEATURES), np.full(N_FEATURES, 2.0))
    assert first.after(scaler).matrix is first.matrix


@pytest.mark.parametrize(
    "affine", [*MAPS.values(), *DEFICIENT.values()], ids=[*MAPS, *(f"deficient {k}" for k in DEFICIENT)]
)
def test_inverse_is_the_shortest_preimage(affine):
    """By the singular value decomposition: the pseudo-inverse of T, in the scaled features."""
    known, Y = literal(affine), RNG.normal(size=(70, affine.n_outputs))
    expected = (Y - known.offset) @ np.linalg.pinv(known.T, rcond=1e-10) / known.scale + known.shift
    for rows in (Y, sparse.csr_array(Y)):
        found = affine.inverse(rows)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(found, expected, atol=1e-8)
    assert affine.inverse(Y[:0]).shape == (0, N_FEATURES)


@pytest.mark.parametrize("name", TAILED)
def test_joined_factors_are_one_dense_matrix(name):
    affine, X = TAILED[name], RNG.normal(size=(5, N_FEATURES))
    joined = affine.joined()
    assert joined.tail is None
    assert isinstance(joined.matrix, np.ndarray)
    np.testing.assert_allclose(joined(X), affine(X), atol=1e-12)
    assert MAPS["tall"].joined() is MAPS["tall"]


def test_preimages_of_sparse_columns_are_these_columns():
    """The columns are samples, and the tail makes them orthonormal: each sample is found again."""
    samples = sparse.csr_array(RNG.normal(size=(20, 500)) * (RNG.random((20, 500)) < 0.05))
    R = np.linalg.cholesky((samples @ samples.T).toarray()).T
    affine = Affine(
        np.zeros(500),
        np.full(500, 0.5),
        np.zeros(20),
        sparse.csr_array(samples.T),
        tail=np.linalg.inv(R),
    )
    assert affine.norm == pytest.approx(0.5, rel=1e-9)
    found = affine.inverse(affine(samples))
    assert sparse.issparse(found)
    assert found.nnz == samples.nnz
    np.testing.assert_allclose(found.toarray(), samples.toarray(), atol=1e-12)
    origin = samples[[0]].toarray().ravel()
    moved = Affine(origin, affine.scale, affine.offset, affine.matrix, tail=affine.tail)
    found = moved.inverse(moved(samples))
    assert sparse.issparse(found)
    assert found.nnz == samples.nnz
    np.testing.assert_allclose(found.toarray(), samples.toarray(), atol=1e-12)


def test_factors_can_be_functions():
    """A fit forms the factors when they are first needed, and the norm needs them."""
    calls = []

    def form(value):
        calls.append(1)
        return value

    matrix = columns(N_FEATURES, N_COLUMNS)
    affine = Affine(*shifted(), lambda: form(matrix), tail=lambda: form(TAIL)).multiplied(2.0)
    assert not affine.keeps_sparse
    assert calls == []
    exact = np.linalg.norm(affine.scale[:, np.newaxis] * (matrix @ TAIL), 2)
    assert affine.norm == pytest.approx(exact)
    assert len(calls) == 2


def test_norms_of_many_features():
    """Beyond 512 features a bound replaces the norm of I − down up; it is exact for equal scales."""
    n, scale = 800, np.full(800, 0.25)
    for factor in (0.1, 10.0, -1.0):
        down = RNG.normal(size=(n, 5)) / np.sqrt(n)
        up = factor * RNG.normal(size=(5, n)) / np.sqrt(n)
        affine = Affine(np.zeros(n), scale, np.zeros(n), down=down, up=up)
        exact = np.linalg.norm(affine.dense(), 2)
        assert exact <= affine.norm <= exact * (1 + 1e-9)
        unequal = Affine(np.zeros(n), RNG.uniform(0.1, 0.25, n), np.zeros(n), down=down, up=up)
        assert np.linalg.norm(unequal.dense(), 2) <= unequal.norm <= affine.norm
    tall = Affine.linear(np.zeros(5000), RNG.normal(size=(5000, 40)))
    exact = np.linalg.norm(tall.matrix, 2)
    assert exact <= tall.norm <= exact * (1 + 1e-9)


@pytest.mark.parametrize("n_features", [40, 700])
def test_the_norm_of_a_metric_is_at_most_one(make_blobs, n_features):
    """A metric is a contraction times feature weights that are at most 1."""
    data = make_blobs((12, 12), n_features=n_features)
    affine = WithinMetric(0.1).fit(data.X, data.codes).affine_
    assert np.linalg.norm(affine.dense(), 2) <= affine.norm <= 1.0 + 1e-8


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-5, 1e5, 1e150])
def test_norms_of_very_small_and_very_large_numbers(size):
    matrix = RNG.normal(size=(6, 3))
    affine = Affine.linear(np.zeros(6), size * matrix)
    assert affine.norm == pytest.approx(size * np.linalg.norm(matrix, 2), rel=1e-9)
    tailed = Affine(np.zeros(6), np.ones(6), np.zeros(2), size * matrix, tail=np.eye(3, 2) / size**0.5)
    exact = np.linalg.norm(matrix[:, :2], 2) * size**0.5
    assert tailed.norm == pytest.approx(exact, rel=1e-6)
    overflowing = Affine(np.zeros(6), np.full(6, 1e300), np.zeros(3), 1e300 * matrix)
    with np.errstate(over="ignore"):
        assert overflowing.norm == np.inf


def test_a_norm_cannot_be_stated():
    with pytest.raises(TypeError, match="norm"):
        Affine(np.zeros(2), np.ones(2), np.zeros(2), norm=1e-9)


def test_factors_that_cancel_do_not_hide_a_norm():
    """Squares of products that cancel underflow; the bound stays above the norm."""
    matrix = np.array([[1.0, 1e-200]])
    affine = Affine(np.zeros(1), np.ones(1), np.zeros(1), matrix, tail=np.array([[1e-200], [1.0]]))
    assert affine.norm >= 2e-200
