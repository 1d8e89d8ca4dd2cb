"""Projected gradient attacks inside certified radii, and bisection to the boundary.

The attack climbs the largest value of another class less the value of the label, with the Jacobians of
the members in closed form, and goes back to the ball after every step. What counts is `predict`.
"""

from __future__ import annotations

import numpy as np

from nsse.certificates import certified_radius
from nsse.maps import LinearMap
from nsse.pipelines import split_pipeline


def changed(model, X, radius, *, starts=3, steps=12, seed=0):
    """Return whether a point within ``radius`` of each row gets another label."""
    rng, labels = np.random.default_rng(seed), model.predict(X)
    X, radius = np.asarray(X, dtype=np.float64), radius[:, np.newaxis]
    found = np.zeros(len(X), dtype=bool)
    for start in range(starts):
        moved = X + started(start, X, radius, rng)
        for step in range(steps):
            ascent = lead_gradient(model, moved, labels)
            length = np.linalg.norm(ascent, axis=1, keepdims=True)
            ascent /= np.where(length > 0, length, 1.0)
            moved = projected(moved + 2.0 * radius * ascent / (1 + step) ** 0.75, X, radius)
            found |= model.predict(moved) != labels
    return found


def boundary(model, X, *, furthest, steps=30):
    """Return distances to points with another label along the gradient, or infinity."""
    labels, low = model.predict(X), np.zeros(len(X))
    ascent = lead_gradient(model, X, labels)
    ascent /= np.maximum(np.linalg.norm(ascent, axis=1, keepdims=True), 1e-300)
    high = np.full(len(X), furthest)
    reached = model.predict(X + high[:, np.newaxis] * ascent) != labels
    for _ in range(steps):
        middle = (low + high) / 2
        same = model.predict(X + middle[:, np.newaxis] * ascent) == labels
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.where(reached, high, np.inf)


def lead_gradient(model, X, labels):
    """Return the gradient of the largest value of another class minus the value of the label."""
    front, last = split_pipeline(model)
    affine = None if front.form is None else front.form.affine
    Z = X if affine is None else affine(X)
    members = last.map_.members(last.scores_)
    values = sum(member.values(Z) for member in members)
    codes, rows = np.searchsorted(last.scores_.classes, labels), np.arange(len(Z))
    values[rows, codes] = -np.inf
    rivals, total = values.argmax(axis=1), np.zeros_like(Z)
    for f, scores, weight in members:
        v = scores.functions(f(Z))
        i, j = (
            np.where(scores.codes == c[:, np.newaxis], v, -np.inf).argmax(axis=1)
            for c in (codes, rivals)
        )
        total += weight * gradient(f, Z, scores.weights[j] - scores.weights[i])
    return total if affine is None else affine.pull_back(total)


def gradient(f, Z, A):
    """Return the gradients of a_i'f at the rows z_i, with one direction a_i for each row."""
    if isinstance(f, LinearMap):
        return A @ f.affine.dense().T
    U = f.metric(Z)
    weights = f.kernel.gradient_weights(U, f.centers) * (A @ f.coef.T)
    return f.metric.pull_back(weights.sum(axis=1, keepdims=True) * U - weights @ f.centers)


def started(start, X, radius, rng):
    """Return the first step to the sample itself, to random points of the sphere, or inside it."""
    if start == 0:
        return np.zeros_like(X)
    direction = rng.standard_normal(X.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * radius * (1.0 if start % 2 else rng.random((len(X), 1)))


def projected(moved, X, radius):
    """Project points into the ball, slightly inside, because the sum X + change is rounded."""
    change = moved - X
    length = np.linalg.norm(change, axis=1, keepdims=True)
    outside = length > radius
    return X + np.where(outside, change * (radius / np.where(outside, length, 1.0)) * (1 - 1e-9), change)


def assert_attacks_fail_inside_and_succeed_outside(model, new):
    """Check that radii are positive and finite, that none is broken, and that attacks can succeed."""
    radius = certified_radius(model, new)
    has = radius > 0
    assert has.mean() > 0.5
    assert np.isfinite(radius).all()
    for share in (0.5, 1.0):
        assert not changed(model, new[has], share * radius[has]).any()
    assert changed(model, new[has], 60 * radius[has]).mean() > 0.2
    assert np.all(radius <= boundary(model, new, furthest=20.0) * (1 + 1e-9))
