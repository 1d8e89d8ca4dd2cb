"""Model files of nsse 0.1, one of every kind, and what each says about a few samples.

    python tests/models_0_1/make.py

was run once, with nsse 0.1.0, and wrote the files beside it: ``<kind>.nsse``, and in ``expected.npz``
the samples (``X``, the float64 array that every model is asked about) and for every kind
``<kind>.embedding`` (what `transform` gave, where the model has it) and ``<kind>.labels`` (`predict`).
The files are kept as they were written: later versions are seen to load them.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import nsse
from nsse.certificates import SelectivePredictor

FOLDER = Path(__file__).parent
TABLE = {"kind": "table", "columns": ["sl", "sw", "pl", "pw"], "label": "species"}


def scaled(kernel_scale=1.0, **parameters):
    """NSSE at a given scale: nothing to search for, a short trace."""
    return nsse.NSSE.as_published(2, sigma=kernel_scale, **parameters)


def models():
    """Every kind, not yet fitted."""
    return {
        "nsse": nsse.NSSE.as_published(2, tol=1e-2),
        "alternating": nsse.NSSE.as_published(2, solver="alternating", n_sigmas=3, max_iter=2),
        "landmarks": scaled(n_landmarks=6),
        "random_landmarks": nsse.NSSE.as_published(
            2, n_landmarks=6, landmarks="random", classifier=KNeighborsClassifier(3)
        ),
        "affinity": scaled(affinity=np.kron(np.eye(3), np.ones((10, 10)))),
        "nssecv": nsse.NSSECV({"mu2": [0.01, 0.1]}, estimator=scaled(), n_repeats=2),
        "vote": nsse.NSSECV({"mu2": [0.01, 0.1, 1.0]}, estimator=scaled(), n_repeats=2, n_voters=3),
        "folds": nsse.NSSECV(
            {"mu2": [0.1]}, estimator=scaled(), cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=1)
        ),
        "suplap": nsse.SUPLAP(2, n_neighbors_between=5),
        "lfda": nsse.LFDA(2),
        "lde": nsse.LDE(2),
        "nys": nsse.NYS(2),
        "nys_neighbors": nsse.NYS(2, n_neighbors=10),
        "spe": nsse.SPE(2),
        "isokrr": nsse.IsoKRR(2),
        "mreg": nsse.MReg(),
        "knn": scaled(classifier=KNeighborsClassifier(3, weights="distance")),
        "knn_brute": scaled(classifier=KNeighborsClassifier(3, algorithm="brute")),
        "radius": scaled(classifier=RadiusNeighborsClassifier(10.0)),
        "centroid": scaled(classifier=NearestCentroid()),
        "logistic": scaled(classifier=LogisticRegression()),
        "ridge": scaled(classifier=RidgeClassifier()),
        "lda": scaled(classifier=LinearDiscriminantAnalysis()),
        "bayes": scaled(classifier=GaussianNB()),
        "svc": scaled(classifier=SVC()),
        "linear_svc": scaled(classifier=LinearSVC()),
        "pipeline": make_pipeline(StandardScaler(), scaled()),
        "pipeline_knn": make_pipeline(PCA(3), scaled(), KNeighborsClassifier(3)),
        "columns": make_pipeline(
            make_column_transformer(
                (MinMaxScaler(), [0, 1, 2]), (OneHotEncoder(handle_unknown="ignore"), [3])
            ),
            scaled(),
        ),
    }


def fitted(X, y):
    """Every kind, fitted, with the form in which it takes samples."""
    for name, model in models().items():
        yield name, model.fit(X, y), np.asarray
    yield "single", scaled().fit(X.astype(np.float32), y), np.float32
    yield "sparse", scaled().fit(sparse.csr_array(X), y), sparse.csr_array
    yield "sparse_matrix", scaled().fit(sparse.csr_matrix(X), y), sparse.csr_matrix
    yield "sparse_spe", nsse.SPE(2).fit(sparse.csr_array(X), y), sparse.csr_array
    yield "sparse_nys", nsse.NYS(2).fit(sparse.csr_array(X), y), sparse.csr_array
    yield "sparse_landmarks", scaled(n_landmarks=6).fit(sparse.csr_array(X), y), sparse.csr_array
    yield "numbers", scaled().fit(X, np.unique(y, return_inverse=True)[1]), np.asarray
    careful = SelectivePredictor(scaled().fit(X, y), coverage=0.5, rejected="?")
    yield "selective", careful.fit(X), np.asarray


def main() -> None:
    if list(FOLDER.glob("*.nsse")):
        raise SystemExit("The files are there already, and are kept as they were.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    iris = load_iris()
    train, new = np.arange(0, 150, 5), np.arange(3, 150, 20)
    X, y = np.round(iris.data, 1), iris.target_names[iris.target]
    expected = {"X": X[new]}
    for name, model, form in fitted(X[train], y[train]):
        nsse.save(model, FOLDER / f"{name}.nsse", metadata=TABLE if name == "pipeline" else None)
        if hasattr(model, "transform"):
            expected[f"{name}.embedding"] = model.transform(form(X[new]))
        expected[f"{name}.labels"] = np.asarray(model.predict(form(X[new]))).astype(str)
    np.savez_compressed(FOLDER / "expected.npz", **expected)


if __name__ == "__main__":
    main()
