"""Measure errors if all classes share a nuisance: English vowels of new speakers.

    python benchmarks/shared_speaker.py [--splits 5]

The table `vowel` of the KEEL repository has six recordings of eleven vowels by each of fifteen speakers.
The columns of the speaker and of the sex are left out, and the other ten are standardized. Eight random
speakers are for training and seven for testing. A further split trains on men and tests on women.
`SmoothEmbedding` and LDA have default parameters, and the support vector machine is tuned on folds of
speakers. It needs NSSE_DATA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import SVC

from common import RESULTS, Floats, parser_of, versions, write_json
from reproduction.study import sets
from shared_light import METHODS

GRID = [
    {"kernel": ["linear"], "C": [0.01, 0.1, 1, 10, 100, 1000]},
    {"kernel": ["rbf"], "C": [1, 10, 100, 1000], "gamma": [0.003, 0.01, 0.03, 0.1, 0.3, 1]},
]
Bools = NDArray[np.bool_]
# Columns of the file: half of the corpus, speaker, sex, ten numbers, vowel.
SPEAKER, SEX, FIRST, LABEL = 1, 2, 3, -1
N_TRAINING_SPEAKERS, FOLDS = 8, 4


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and store the errors."""
    parser = parser_of(__doc__, RESULTS / "shared_speaker.json")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args(argv)
    table = np.loadtxt(sets.folder("keel") / "balanced" / "vowel.dat", delimiter=",")
    speakers = np.unique(table[:, SPEAKER])
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed in range(options.splits):
        heard = np.random.default_rng(seed).permutation(speakers)[:N_TRAINING_SPEAKERS]
        for name, error in _errors(table, np.isin(table[:, SPEAKER], heard)).items():
            errors[name].append(error)
            print(f"split {seed}  {name}: {error} %", flush=True)
    means = {name: round(float(np.mean(values)), 2) for name, values in errors.items()}
    other_sex = _errors(table, table[:, SEX] == 0)
    for title, shown in (("new speakers", means), ("men to women", other_sex)):
        print(f"{title}  " + "  ".join(f"{name} {error:.1f} %" for name, error in shown.items()))
    record = {"errors": errors, "means": means, "men to women": other_sex, **versions()}
    write_json(options.out, record)
    return record


def _errors(table: Floats, is_train: Bools) -> dict[str, float]:
    """Return the errors of all methods in percent."""
    X, y = table[:, FIRST:LABEL], table[:, LABEL].astype(int)
    own, new = X[is_train], X[~is_train]
    center, spread = own.mean(axis=0), own.std(axis=0)
    own = (own - center) / spread
    new = (new - center) / spread
    found = {}
    for name, make in METHODS.items():
        if isinstance(make(), GridSearchCV):
            search = GridSearchCV(SVC(), GRID, cv=GroupKFold(FOLDS))
            model = search.fit(own, y[is_train], groups=table[is_train, SPEAKER])
        else:
            model = make().fit(own, y[is_train])
        found[name] = round(100 * (1 - float(model.score(new, y[~is_train]))), 2)
    return found


if __name__ == "__main__":
    main()
