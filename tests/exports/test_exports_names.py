"""The names of our types in files stay when a module moves."""

from __future__ import annotations

import json

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from hostile import HEADER, TREE, changed_file, members_of, nodes_of

pytest.importorskip("skops.io", reason="model files need skops: pip install 'nsse[files]'")


def fitted(blobs):
    return nsse.NSSE.as_published(2, sigma=1.0).fit(blobs.X, blobs.codes)


@pytest.mark.slow
def test_no_private_module_stands_in_a_new_file(blobs, tmp_path):
    path = tmp_path / "m.nsse"
    models = [
        nsse.NSSE.as_published(2),
        nsse.NSSE.as_published(2, sigma=1.0, n_landmarks=9),
        nsse.NSSECV(n_repeats=2, n_voters=2),
        nsse.SPE(2),
        nsse.NYS(2, n_neighbors=10),
        nsse.LFDA(2),
        nsse.LDE(2),
        nsse.SUPLAP(2),
        nsse.IsoKRR(2),
        nsse.MReg(),
        make_pipeline(StandardScaler(), nsse.NSSE.as_published(2)),
        make_pipeline(nsse.WithinMetric(), nsse.NSSE.as_published(2)),
    ]
    seen = set()
    for model in models:
        nsse.save(model.fit(blobs.X, blobs.codes), path)
        told = {
            f"{node['__module__']}.{node['__class__']}"
            for node in nodes_of(json.loads(members_of(path)[TREE]))
            if str(node.get("__module__")).startswith("nsse")
        }
        assert all(name.count(".") == 1 for name in told)
        assert b"nsse.estimators" not in members_of(path)[TREE] + members_of(path)[HEADER]
        seen |= told
    assert seen >= {
        "nsse.NSSECV",
        "nsse.Trace",
        "nsse.Condition",
        "nsse.SparseCoder",
        "nsse.Neighborhoods",
    }


def test_names_are_looked_up_and_not_imported(blobs, tmp_path):
    def change(members, tree):
        tree["__module__"], tree["__class__"] = "nsse.cli.app", "main"

    with pytest.raises(ValueError, match=r"trusted types only\. Got '.*with nsse\.cli\.app\.main"):
        nsse.load(changed_file(fitted(blobs), change, tmp_path / "m.nsse"))
