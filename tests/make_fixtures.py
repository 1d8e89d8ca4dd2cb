"""Keep model files of this release, so that later ones can be seen to load them.

    python tests/make_fixtures.py

writes ``tests/fixtures/models-<version>/``: one file per model, and in ``expected.json`` what each says
about a few samples. Run it once, at the release, and commit the folder; it is never written again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse

FOLDER = Path(__file__).parent / "fixtures" / f"models-{nsse.__version__}"


def models():
    """One of each, as small as they come."""
    return {
        "NSSE": nsse.NSSE.as_published(2, tol=1e-2),
        "NSSECV": nsse.NSSECV(nsse.NSSE(2, sigma=1.0), n_repeats=2, n_voters=2),
        "SUPLAP": nsse.SUPLAP(2, n_neighbors_between=5),
        "LFDA": nsse.LFDA(2),
        "LDE": nsse.LDE(2),
        "NYS": nsse.NYS(2, n_neighbors=8),
        "SPE": nsse.SPE(2),
        "IsoKRR": nsse.IsoKRR(2),
        "MReg": nsse.MReg(),
        "SemiRBF": nsse.SemiRBF(),
        "default": nsse.NSSE(),
        "vote": nsse.NSSECV(),
        "landmarks": nsse.NSSE(n_landmarks=8, random_state=0),
        "copies": nsse.NSSE(invariances=nsse.invariances.Noise(0.05, copies=2)),
        "weighted": nsse.NSSE(class_weight="balanced"),
        "unlabeled": nsse.NSSE(unlabeled=""),
        "metric": make_pipeline(nsse.WithinMetric(), nsse.NSSE(metric="euclidean")),
        "pipeline": make_pipeline(StandardScaler(), nsse.NSSE.as_published(2, sigma=1.0)),
    }


def main() -> None:
    if FOLDER.exists():
        raise SystemExit(f"{FOLDER} is there already: the files of a release are kept as they were.")
    X, y = load_iris(return_X_y=True)
    labels = load_iris().target_names[y]
    train, test = np.arange(0, 150, 10), np.arange(3, 150, 30)
    FOLDER.mkdir(parents=True)
    expected = {}
    for name, model in models().items():
        given = np.where(train % 50 < 40, labels[train], "") if name == "unlabeled" else labels[train]
        model.fit(X[train], given)
        nsse.save(model, FOLDER / f"{name}.nsse")
        expected[name] = {
            "embedding": model.transform(X[test]).tolist(),
            "labels": model.predict(X[test]).tolist(),
        }
    content = {"X": X[test].tolist(), "models": expected}
    (FOLDER / "expected.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
