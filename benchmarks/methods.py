"""Fits of the compared and cited methods beside the obvious NumPy code for the same embedding.

The obvious code is what one writes from the paper: dense graphs and Laplacians, a loop over samples for
reconstruction weights, one LAPACK call for the pencil. Both run on the same samples with the same
parameters, one after the other, on one thread; the shortest of several.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from common import RESULTS, Floats, Labels, draw_samples, machine_facts, show, write_json
from nsse import methods

RIDGE = 0.3
NEIGHBORS, BETWEEN, PAIRS = 5, 20, 200
RATIO = "obvious / ours"


def neighbors(D2: Floats, allowed: Any, k: int) -> Any:
    """Edges to the k nearest allowed columns, either way."""
    order = np.argsort(np.where(allowed, D2, np.inf), axis=1)[:, :k]
    edges = np.zeros(D2.shape, dtype=bool)
    np.put_along_axis(edges, order, True, axis=1)
    edges &= allowed
    return edges | edges.T


def laplacian(W: Floats) -> Floats:
    return np.diag(W.sum(axis=1)) - W


def pencil(B: Floats, A: Floats, d: int) -> Floats:
    A = A + RIDGE * np.trace(A) / len(A) * np.eye(len(A))
    return np.asarray(linalg.eigh(B, A, subset_by_index=(len(A) - d, len(A) - 1))[1])


def principal(X: Floats) -> Floats:
    Z = X - X.mean(axis=0)
    _, s, axes = np.linalg.svd(Z, full_matrices=False)
    return np.asarray(Z @ axes[s > 1e-12 * s[0]].T)


def residuals(X: Floats, near: Sequence[Any]) -> Floats:
    R = np.eye(len(X))
    for i, own in enumerate(near):
        G = (X[own] - X[i]) @ (X[own] - X[i]).T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(len(own)), np.ones(len(own)))
        R[i, own] -= w / w.sum()
    return R


def median(D2: Floats) -> float:
    return float(np.median(np.sqrt(D2[np.triu_indices(len(D2), 1)])))


def two_graphs(X: Floats, y: Labels, d: int) -> Floats:
    D2, same = cdist(X, X, "sqeuclidean"), y[:, None] == y
    within = neighbors(D2, same & ~np.eye(len(X), dtype=bool), NEIGHBORS)
    between = neighbors(D2, ~same, BETWEEN)
    K = np.exp(-D2 / median(D2) ** 2)
    Z = principal(X)
    return Z @ pencil(Z.T @ laplacian(K * between) @ Z, Z.T @ laplacian(K * within) @ Z, d)


def lpp(X: Floats, y: Labels, d: int, supervised: bool = False) -> Floats:
    D2, may = cdist(X, X, "sqeuclidean"), (y[:, None] == y) | (not supervised)
    edges = neighbors(D2, may & ~np.eye(len(X), dtype=bool), NEIGHBORS)
    W = np.where(edges, np.exp(-D2 / median(D2) ** 2), 0.0)
    Z = principal(X)
    return Z @ pencil(Z.T @ np.diag(W.sum(axis=1)) @ Z, Z.T @ laplacian(W) @ Z, d)


def npe(X: Floats, y: Labels, d: int, features: Floats | None = None) -> Floats:
    near = np.argsort(cdist(X, X, "sqeuclidean"), axis=1)[:, 1 : NEIGHBORS + 1]
    R, Z = residuals(X, list(near)), principal(X if features is None else features)
    return Z @ pencil(Z.T @ Z, Z.T @ R.T @ R @ Z, d)


def nppe(X: Floats, y: Labels, d: int) -> Floats:
    Z = X - X.mean(axis=0)
    size = np.sqrt(np.var(Z**2, axis=0).sum() / np.var(Z, axis=0).sum())
    return npe(X, y, d, np.hstack([Z, Z**2 / size]))


def mfa(X: Floats, y: Labels, d: int) -> Floats:
    D2, same = cdist(X, X, "sqeuclidean"), y[:, None] == y
    within = neighbors(D2, same & ~np.eye(len(X), dtype=bool), NEIGHBORS)
    between = np.zeros_like(same)
    for c in np.unique(y):
        own, rest = np.flatnonzero(y == c), np.flatnonzero(y != c)
        order = np.argsort(D2[np.ix_(own, rest)], axis=None)[:PAIRS]
        i, j = np.unravel_index(order, (len(own), len(rest)))
        between[own[i], rest[j]] = between[rest[j], own[i]] = True
    Z = principal(X)
    parts = (Z.T @ laplacian(W.astype(float)) @ Z for W in (between, within))
    return Z @ pencil(*parts, d)


def kda(X: Floats, y: Labels, d: int) -> Floats:
    D2, N = cdist(X, X, "sqeuclidean"), len(X)
    K = np.exp(-D2 / (2.0 * median(D2)) ** 2)
    J = np.eye(N) - 1.0 / N
    K = J @ K @ J
    averages = np.where(y[:, None] == y, 1.0 / np.bincount(y)[y], 0.0)
    values, U = np.linalg.eigh(K)
    U = U[:, values > 1e-12 * values[-1]] * np.sqrt(values[values > 1e-12 * values[-1]])
    A = U.T @ (np.eye(N) - averages) @ U
    A += 0.03 * np.trace(A) / len(A) * np.eye(len(A))
    return U @ linalg.eigh(U.T @ averages @ U, A, subset_by_index=(len(A) - d, len(A) - 1))[1]


# Method -> ours with the parameters of the obvious code, and that.
PAIRED: dict[str, tuple[Any, Callable[[Floats, Labels, int], Floats]]] = {
    "LDE": (methods.LDE(9, beta=1.0, reg=RIDGE), two_graphs),
    "KDA": (methods.KDA(9), kda),
    "LPP": (methods.LPP(9, beta=1.0, reg=RIDGE), lpp),
    "SLPP": (methods.LPP(9, supervised=True, beta=1.0, reg=RIDGE), partial(lpp, supervised=True)),
    "NPE": (methods.NPE(9, reg=RIDGE), npe),
    "NPPE": (methods.NPPE(9, reg=RIDGE), nppe),
    "MFA": (methods.MFA(9, reg=RIDGE), mfa),
}


def row(name: str, X: Floats, y: Labels, repeats: int) -> dict[str, Any]:
    """Seconds of both, and the largest angle between the spaces that their coordinates span."""
    model, obvious = PAIRED[name]
    seconds = {"ours": np.inf, "obvious": np.inf}
    for _ in range(repeats):
        start = time.perf_counter()
        Y = model.fit(X, y).embedding_
        middle = time.perf_counter()
        Z = obvious(X, y, Y.shape[1])
        end = time.perf_counter()
        seconds["ours"] = min(seconds["ours"], middle - start)
        seconds["obvious"] = min(seconds["obvious"], end - middle)
    angle = float(linalg.subspace_angles(Y - Y.mean(axis=0), Z - Z.mean(axis=0)).max())
    ratio = seconds["obvious"] / seconds["ours"]
    return {
        "method": name,
        "ours_seconds": round(seconds["ours"], 3),
        "obvious_seconds": round(seconds["obvious"], 3),
        RATIO: round(ratio, 2),
        "angle": f"{angle:.0e}",
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=2000, help="training samples")
    parser.add_argument("--methods", nargs="+", default=list(PAIRED))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "methods.json")
    options = parser.parse_args(argv)
    facts, samples = machine_facts(), draw_samples(options.n, 10)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        X, y = samples.X_train, samples.y_train
        rows = [row(name, X, y, options.repeats) for name in options.methods]
    data = f"{samples.source}: {options.n} samples, {samples.X_train.shape[1]} features"
    print(data)
    show(rows)
    record = {"data": data, "rows": rows, "machine": facts}
    write_json(options.out, record)
    return record


if __name__ == "__main__":
    main()
