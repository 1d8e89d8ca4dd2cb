"""Model files of trusted types that lie: refused in one line before compiled code believes them."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zipfile
import zlib
from io import BytesIO

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import nsse
from hostile import HEADER, TREE, as_npy, changed_file, members_of, node_at, nodes_of, write_members
from nsse.exports import archive, checks, names

pytest.importorskip("skops.io", reason="model files need skops: pip install 'nsse[files]'")

DAMAGED = (
    r"^`path` must name a model file that is whole\. Got ['\"].*hostile\.nsse, cut short or damaged \(.*"
)


@pytest.fixture
def hostile(blobs, tmp_path):
    """Factory: save a model, change its members, and give the path of what came of it."""

    def make(model, change, X=blobs.X):
        return changed_file(model.fit(X, blobs.codes), change, tmp_path / "hostile.nsse")

    return make


def array_changed(change, *way):
    """Change the array of an attribute."""

    def changed(members, tree):
        file = node_at(tree, *way)["file"]
        array = np.load(BytesIO(members[file]))
        members[file] = as_npy(change(array))

    return changed


def sparse_changed(part, change, *way):
    """Change one of the arrays that a sparse attribute is made of."""

    def changed(members, tree):
        file = node_at(tree, *way)["file"]
        inner = members_of(BytesIO(members[file]))
        inner[f"{part}.npy"] = as_npy(change(np.load(BytesIO(inner[f"{part}.npy"]))))
        buffer = BytesIO()
        write_members(buffer, inner)
        members[file] = buffer.getvalue()

    return changed


def with_value(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def number_changed(text, *way):
    def changed(members, tree):
        node_at(tree, *way).update(content=text, __id__=1)

    return changed


# Sparse matrices: compiled code follows their indices.


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("indptr", with_value(3, 10**6), "indptr that does not rise"),
        ("indptr", with_value(3, -1), "indptr that does not rise"),
        ("indptr", lambda p: p[::-1], "indptr that does not rise"),
        ("indptr", lambda p: p[:-1], "indptr of shape"),
        ("indices", with_value(3, 10**6), "indices outside"),
        ("indices", with_value(3, -1), "indices outside"),
        ("indices", lambda i: i.astype(float), "indices of shape .* float64"),
        ("data", lambda d: d[:-1], "indices of shape"),
        ("data", lambda d: d.astype("U8"), "values of shape"),
        ("data", with_value(0, np.nan), "not finite"),
        ("shape", with_value(1, 10**12), "shape 60 x 1000000000000"),
        ("shape", with_value(1, 2), "indices outside"),
        ("format", lambda f: np.array(b"csc"), "in the format"),
    ],
)
def test_a_sparse_matrix_that_lies_is_refused(part, change, reason, hostile, blobs):
    path = hostile(
        nsse.NSSE.as_published(2, sigma=1.0),
        sparse_changed(part, change, "centers_"),
        sparse.csr_array(blobs.X),
    )
    with pytest.raises(ValueError, match=DAMAGED + reason):
        nsse.load(path)


def test_pointers_of_an_empty_matrix_are_followed_too(tmp_path):
    # SciPy does not look at them where there is no value.
    empty = sparse.csr_array((3, 4))
    empty.indptr[:] = [0, 5, -3, 0]
    parts = {"format": np.array(b"csr"), "shape": np.array([3, 4]), "_is_array": np.array(True)}
    parts |= {name: getattr(empty, name) for name in ("data", "indices", "indptr")}
    with pytest.raises(ValueError, match="does not rise"):
        archive.check_sparse({f"{name}.npy": as_npy(part) for name, part in parts.items()}, "csr_array")


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix]
)
def test_honest_matrices_of_every_kind_pass(form):
    buffer = BytesIO()
    sparse.save_npz(buffer, form(np.eye(3, 5)))
    archive.check_sparse(members_of(buffer), form.__name__)


def test_a_sparse_matrix_put_together_from_loose_parts_is_refused(hostile, blobs):
    def change(members, tree):
        node = node_at(tree, "centers_")
        node["__loader__"] = "ObjectNode"
        node["content"] = node_at(tree, "sigma_")

    path = hostile(nsse.NSSE.as_published(2, sigma=1.0), change, sparse.csr_array(blobs.X))
    with pytest.raises(ValueError, match=DAMAGED + "csr_array' to be read as a 'ObjectNode'"):
        nsse.load(path)


# Classifiers.


@pytest.mark.parametrize("code", [10**6, 4, -1])
@pytest.mark.parametrize(
    "neighbors", [KNeighborsClassifier(3), KNeighborsClassifier(3, algorithm="brute")]
)
def test_labels_of_neighbours_outside_their_classes_are_refused(code, neighbors, hostile):
    path = hostile(
        nsse.NSSE.as_published(2, sigma=1.0, classifier=neighbors),
        array_changed(with_value(0, code), "classifier_", "_y"),
    )
    with pytest.raises(ValueError, match=DAMAGED + "labels of neighbours outside"):
        nsse.load(path)


def test_what_neighbours_say_of_themselves_is_made_again(hostile, blobs):
    way = ("classifier_", "effective_metric_")
    path = hostile(nsse.NSSE.as_published(2, sigma=1.0), number_changed('"haversine"', *way))
    assert nsse.load(path).classifier_.effective_metric_ == "euclidean"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_n_support", with_value(0, 10**6)),
        ("_dual_coef_", lambda a: a[:, :2]),
        ("support_vectors_", lambda a: a[:, :1]),
        ("support_vectors_", with_value((0, 0), np.nan)),
        ("_intercept_", lambda a: a[:1]),
    ],
)
def test_support_vectors_that_do_not_fit_are_refused(name, change, hostile):
    model = nsse.NSSE.as_published(2, sigma=1.0, classifier=SVC())
    path = hostile(model, array_changed(change, "classifier_", name))
    with pytest.raises(ValueError, match=DAMAGED + "support vectors"):
        nsse.load(path)


def test_an_encoder_without_a_column_for_every_category_is_refused(tmp_path):
    encoder = OneHotEncoder().fit([[0.0], [1.0], [2.0]])
    for name, value, reason in [
        ("_n_features_outs", [1], "other columns"),
        ("categories_", [np.array([2.0, 1.0, 0.0])], "ascend"),
        ("categories_", [np.array([b"0.0", b"1.0", b"2.0"])], "bytes"),
    ]:
        broken = OneHotEncoder().fit([[0.0], [1.0], [2.0]])
        setattr(broken, name, value)
        nsse.save(broken, tmp_path / "hostile.nsse")
        with pytest.raises(ValueError, match=DAMAGED + f".*{reason}"):
            nsse.load(tmp_path / "hostile.nsse")
    nsse.save(encoder, tmp_path / "honest.nsse")
    honest = nsse.load(tmp_path / "honest.nsse")
    np.testing.assert_array_equal(honest.transform([[2.0]]).toarray(), [[0, 0, 1]])


def test_what_scikit_learn_would_stumble_over_at_use_is_refused_at_once(blobs, tmp_path):
    path = tmp_path / "hostile.nsse"
    scaler = StandardScaler().fit(blobs.X)
    scaler.mean_ = scaler.mean_[:-1]
    encoder = OneHotEncoder().fit([[0.0], [1.0]])
    encoder._infrequent_enabled = True
    neighbors = KNeighborsClassifier(3).fit(blobs.X, blobs.codes)
    neighbors.weights = np.isnan
    infinite = StandardScaler().fit(blobs.X)
    infinite.mean_[0] = np.inf
    for broken in (scaler, infinite, encoder, neighbors):
        nsse.save(broken, path)
        with pytest.raises(ValueError, match=DAMAGED):
            nsse.load(path)


def test_neighbours_that_are_too_few_say_so_when_asked(blobs, tmp_path):
    # As before the file: the map can still be used.
    model = nsse.NSSE.as_published(2, sigma=1.0, classifier=KNeighborsClassifier(61)).fit(
        blobs.X, blobs.codes
    )
    nsse.save(model, tmp_path / "m.nsse")
    loaded = nsse.load(tmp_path / "m.nsse")
    np.testing.assert_array_equal(loaded.transform(blobs.X), model.transform(blobs.X))
    with pytest.raises(ValueError, match="n_neighbors"):
        loaded.predict(blobs.X)


def test_a_small_radius_is_no_damage(blobs, tmp_path):
    classifier = RadiusNeighborsClassifier(1e-6)
    model = nsse.NSSE.as_published(2, sigma=1.0, classifier=classifier).fit(blobs.X, blobs.codes)
    nsse.save(model, tmp_path / "m.nsse")
    np.testing.assert_array_equal(
        nsse.load(tmp_path / "m.nsse").predict(blobs.X), model.predict(blobs.X)
    )


@pytest.mark.parametrize(
    ("classifier", "name"), [(LogisticRegression(), "classes_"), (GaussianNB(), "theta_")]
)
def test_classifiers_are_asked_about_points_of_all_classes(classifier, name, hostile):
    model = nsse.NSSE.as_published(2, sigma=1.0, classifier=classifier)
    with pytest.raises(ValueError, match=DAMAGED):
        nsse.load(hostile(model, array_changed(lambda a: a[:1, ...], "classifier_", name)))


@pytest.mark.parametrize("search", [False, True])
def test_classes_that_do_not_ascend_are_refused(search, hostile):
    model = nsse.NSSECV(n_repeats=2) if search else nsse.NSSE.as_published(2, sigma=1.0)
    with pytest.raises(ValueError, match=DAMAGED + "classes that do not ascend"):
        nsse.load(hostile(model, array_changed(lambda a: a[::-1], "classes_")))


def test_estimators_that_nobody_checks_have_to_be_named(blobs, tmp_path):
    path, name = tmp_path / "m.nsse", "sklearn.cluster._kmeans.KMeans"
    model = make_pipeline(KMeans(5, random_state=0), nsse.NSSE.as_published(2, sigma=1.0)).fit(
        blobs.X, blobs.codes
    )
    with pytest.raises(ValueError, match=r"`nsse\.load` trusts.*KMeans"):
        nsse.save(model, path)
    nsse.save(model, path, trusted=[name])
    with pytest.raises(ValueError, match=r"trusted types only.*KMeans"):
        nsse.load(path)
    assert nsse.load(path, trusted=[name]).n_features_in_ == 5


def test_a_random_generator_beyond_its_state_is_refused(hostile):
    state = np.random.RandomState(0)
    model = nsse.NSSE.as_published(2, sigma=1.0, random_state=state)

    def change(members, tree):
        places = [node for node in nodes_of(tree) if "pos" in node]
        assert places
        for place in places:
            place["pos"]["content"] = "1000000"

    with pytest.raises(ValueError, match=DAMAGED + "beyond the end of its state"):
        nsse.load(hostile(model, change))


# Our own parts.


def without_classifier(members, tree):
    nothing = node_at(tree, "sigma_") | {"content": "null", "__id__": 1}
    tree["content"]["content"]["classifier_"] = nothing


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (array_changed(lambda a: a[:-1], "coef_"), "coef_ of 59 rows, not 60"),
        (array_changed(with_value((0, 0), np.inf), "coef_"), "coef_ with values that are not finite"),
        (array_changed(lambda a: a.astype("U8"), "centers_"), ""),
        (array_changed(with_value((0, 0), np.nan), "centers_"), "values that are not finite"),
        (array_changed(with_value((0, 0), 1e200), "centers_"), "not finite"),
        (array_changed(lambda a: a[:, :1], "embedding_"), "embedding_ of 1 columns, not 2"),
        (array_changed(lambda a: a[:2], "classes_"), "a classifier of other classes"),
        (number_changed("0.0", "sigma_"), "sigma_ that is not positive"),
        (number_changed("NaN", "sigma_"), "sigma_ that is not positive"),
        (number_changed("7", "n_features_in_"), "number of features"),
        (without_classifier, "no classifier"),
        (number_changed("1000000", "classifier_", "n_jobs"), "n_jobs=1000000"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, reason, hostile):
    with pytest.raises(ValueError, match=DAMAGED + reason):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0), change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (array_changed(lambda a: a[:1], "axes_"), "axes of other features"),
        (array_changed(lambda a: np.full_like(a, np.nan), "axes_"), "axes_ with values .* not finite"),
        (array_changed(lambda a: a[:1], "factors_"), "factors_ that is no vector of length"),
        (array_changed(lambda a: -a, "factors_"), "factors outside 0 and 1"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused(change, reason, hostile):
    with pytest.raises(ValueError, match=DAMAGED + reason):
        nsse.load(hostile(nsse.WithinMetric(), change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (array_changed(lambda a: a[:-1], "classifier_", "coef_"), "coef_ of 3 rows, not 4"),
        (array_changed(lambda a: a[:, :1], "classifier_", "coef_"), "coef_ of 1 columns, not 2"),
        (
            array_changed(with_value((0, 0), np.nan), "classifier_", "coef_"),
            "coef_ with values .* not fin",
        ),
        (array_changed(lambda a: a[0], "classifier_", "coef_"), "coef_ without rows and columns"),
        (array_changed(lambda a: a + 7, "classifier_", "classes_"), "labels of no class|classes"),
        (number_changed("0", "classifier_", "n_features_in_"), "a classifier of other dimensions"),
    ],
)
def test_scores_that_do_not_fit_are_refused(change, reason, hostile):
    with pytest.raises(ValueError, match=DAMAGED + f"({reason})"):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0, classifier="scores"), change))


def test_every_type_of_ours_has_its_check():
    for kind in names.WRITTEN.values():
        assert [known for known in checks.OURS if issubclass(kind, known)], kind.__name__
    for known in checks.OURS:
        assert [kind for kind in names.WRITTEN.values() if issubclass(kind, known)], known.__name__


# The tree.


def test_a_part_that_contains_itself_is_refused(hostile):
    def change(members, tree):
        node_at(tree, "classifier_")["__id__"] = tree["__id__"]

    with pytest.raises(ValueError, match=DAMAGED + "contains itself"):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0), change))


def test_few_words_for_very_many_objects_are_refused(hostile):
    # Lists of the list before, twice: 2 to the power of 40 of them for whoever walks through all.
    def change(members, tree):
        inner = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "__id__": 1,
            "content": [],
        }
        for number in range(2, 42):
            inner = inner | {"__id__": number, "content": [inner, {"__id__": number - 1}]}
        tree["content"]["content"]["verbose"] = inner

    with pytest.raises(ValueError, match=DAMAGED + "without a type"):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0), change))


def test_depths_without_end_are_refused(hostile):
    def change(members, tree):
        inner = node_at(tree, "verbose")
        for _ in range(400):
            inner = {
                "__class__": "list",
                "__module__": "builtins",
                "__loader__": "ListNode",
                "content": [inner],
            }
        tree["content"]["content"]["verbose"] = inner

    with pytest.raises(ValueError, match=DAMAGED + "levels deep"):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0), change))


# Sizes.


def lying_header(shape, dtype="<f8"):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((2**31,), "<f8"),
        ((-1, -3), "<f8"),
        ((2**62, 4), "<f8"),
        ((10**12,), "|V0"),
        ((3,), "|O"),
        ((0, 2**40), "<f8"),
    ],
)
def test_arrays_are_as_long_as_they_say(shape, dtype, hostile):
    def change(members, tree):
        members[node_at(tree, "coef_")["file"]] = lying_header(shape, dtype) + bytes(24)

    with pytest.raises(ValueError, match=DAMAGED):
        nsse.load(hostile(nsse.NSSE.as_published(2, sigma=1.0), change))


def inflating(path, size):
    """A file with an array that inflates to so many bytes of zeros: a thousandth of it on disk."""
    members = members_of(path)
    file = node_at(json.loads(members[TREE]), "centers_")["file"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name in (TREE, HEADER):
            opened.writestr(name, members[name])
        with opened.open(file, "w", force_zip64=True) as member:
            header = lying_header((size // 8, 1))
            member.write(header)
            for _ in range(size // 2**20):
                member.write(bytes(2**20))


def peak_of(code, *arguments):
    """Bytes that a process of its own took at most, above those that it takes for its imports."""
    whole = (
        "import resource, sys, nsse, skops.io\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        f"before = peak()\n{code}\nprint(peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", whole, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


REFUSED = """
try:
    nsse.load(sys.argv[1])
except ValueError as error:
    assert "bytes declared" in str(error)
else:
    raise SystemExit(1)
"""


@pytest.mark.slow
def test_what_inflates_beyond_measure_is_refused_unread(hostile):
    path = hostile(nsse.NSSE.as_published(2, sigma=1.0), lambda members, tree: None)
    inflating(path, 2**28)
    assert path.stat().st_size < 2**20
    assert peak_of(REFUSED, path) < 2**26


@pytest.mark.slow
def test_a_member_larger_than_it_says_is_not_inflated(hostile):
    path = hostile(nsse.NSSE.as_published(2, sigma=1.0), lambda members, tree: None)
    members = members_of(path)
    name = next(name for name in members if name.endswith(".npy"))
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = b"".join(squeezer.compress(bytes(2**20)) for _ in range(128)) + squeezer.flush()
    write_members(path, members | {name: bomb}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    # Say of the stored bytes, in both places, that they are 128 deflated ones.
    local, central = content.index(name.encode()) - 30, content.rindex(name.encode()) - 46
    changed = bytearray(content)
    for start, method, size in [(local, 8, 22), (central, 10, 24)]:
        changed[start + method : start + method + 2] = struct.pack("<H", zipfile.ZIP_DEFLATED)
        changed[start + size : start + size + 4] = struct.pack("<I", 128)
    path.write_bytes(changed)
    code = REFUSED.replace("bytes declared", "damaged")
    assert peak_of(code, path) < 2**26


def test_a_model_that_deflates_very_well_is_stored_as_it_is(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "FREE", 0)
    X = np.zeros((60, 4000))
    X[:, :5] = blobs.X
    model = nsse.NSSE.as_published(2, sigma=1.0).fit(X, blobs.codes)
    nsse.save(model, tmp_path / "m.nsse")
    np.testing.assert_array_equal(nsse.load(tmp_path / "m.nsse").transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (lambda steps: [steps[0], tuple], "a pipeline of something else than steps"),
        (lambda steps: tuple, "a pipeline of something else than steps"),
        (lambda steps: [steps[0], ("nsse", 3)], "a pipeline with a step that is none"),
        (lambda steps: [(7, steps[0][1]), steps[1]], "a pipeline with a step that is none"),
    ],
)
def test_a_pipeline_is_made_of_steps(steps, reason, make_blobs):
    X, codes = make_blobs((5, 5), 3)
    pipeline = make_pipeline(StandardScaler(), nsse.NSSE()).fit(X, codes)
    checks.check_model(pipeline)
    pipeline.steps = steps(pipeline.steps)
    with pytest.raises(ValueError, match=reason):
        checks.check_model(pipeline)
