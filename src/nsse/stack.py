"""The stack of a search: non-negative weights of candidates, with little log-loss and a smooth map.

Let v_kc(x) be the value of candidate k for class c, τ_k its best temperature and u_k = v_k/τ_k. The
weights w ≥ 0 of stacked generalization (Wolpert 1992, Breiman 1996) minimize

    mean log-loss of softmax(Σ_k w_k u_k) over held-out samples  +  νℓ Σ_k w_k L_k  +  (ρ/N) ‖w − w₀‖²,

with the typical slopes L_k of `nsse.halving`, the lowest log-loss ℓ of a candidate, the effective
number N of samples, and weights w₀ that are 1 for the user's estimator and 0 for all others. As in the
objective of the paper, classes are separated and the map is smooth. With the factor ℓ, ν means the same
for easy data, on which all log-losses are small, and for hard data.

The problem is convex. The candidates with the largest w_k · std(u_k) become members, and their weights
are found once more. If no weight is positive, the candidate with the lowest sum of log-loss and νℓL is
the only member, with the weight 1.

One more sample counts in the log-loss, which is placed like the others and belongs to every class alike.
Otherwise, probabilities from few samples would be overconfident. The weights are fitted to the held-out
samples, so they are finally divided by a temperature that counts two such samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from nsse._support.types import Floats, Ints
from nsse.candidates import HeldOutSamples, Singles, best_temperature, log_losses

# ρ, how strongly the weights are held to the user's estimator.
PRIOR = 1.0
# Samples of every class alike that the temperature of the stack counts.
MORE_SAMPLES = 2.0
# Members whose w · std(u) is below this share of the largest one are left out.
NO_WEIGHT = 1e-3
MOST_STEPS = 300


@dataclass(frozen=True)
class Stack:
    """The problem of finding the weights of candidates.

    Attributes
    ----------
    values : ndarray of shape (n_candidates, n_held_out, n_classes)
        u_k of the held-out samples.
    held : HeldOutSamples
        These samples.
    slope_costs : ndarray of shape (n_candidates,)
        νℓ L_k.
    start : ndarray of shape (n_candidates,)
        w₀.
    """

    values: Singles
    held: HeldOutSamples
    slope_costs: Floats
    start: Floats

    def members(self, most: int) -> tuple[Ints, Floats]:
        """Return the positions of at most so many members, the heaviest first, and their weights."""
        places = heaviest(self.weights(), self.values, most)
        if len(places) == 0:
            return np.array([self.best_alone()]), np.ones(1)
        part = Stack(self.values[places], self.held, self.slope_costs[places], self.start[places])
        weights = part.weights()
        order = heaviest(weights, part.values, most)
        scores = np.tensordot(weights[order].astype(np.float32), part.values[order], 1)
        _, temperature = best_temperature(scores, self.held, MORE_SAMPLES)
        return places[order], weights[order] / temperature

    def best_alone(self) -> int:
        """Return the candidate with the lowest sum of log-loss and slope cost."""
        shares = self.held.weights / self.held.weights.sum()
        losses = [log_losses(own, self.held.codes) @ shares for own in self.values]
        return int(np.argmin(losses + self.slope_costs))

    def weights(self) -> Floats:
        """Return the weights w ≥ 0 with the lowest penalized log-loss."""
        n_candidates, n_held_out, n_classes = self.values.shape
        U = np.ascontiguousarray(self.values, dtype=np.float64).reshape(n_candidates, -1)
        codes, rows, one_more = self.held.codes, np.arange(n_held_out), 1.0 / self.held.n_effective
        shares = self.held.weights / self.held.weights.sum()
        prior = PRIOR / self.held.n_effective

        def objective(w: Floats) -> tuple[float, Floats]:
            S = (w @ U).reshape(n_held_out, n_classes)
            largest = S.max(axis=1)
            P = np.exp(S - largest[:, np.newaxis])
            sums = P.sum(axis=1)
            # Scores add up to zero, so that the log-loss of a sample of every class is log Σ exp.
            loss = shares @ ((1.0 + one_more) * (np.log(sums) + largest) - S[rows, codes])
            P *= ((1.0 + one_more) * shares / sums)[:, np.newaxis]
            P[rows, codes] -= shares
            away = w - self.start
            value = loss + self.slope_costs @ w + prior * (away @ away)
            return float(value), U @ P.ravel() + self.slope_costs + 2.0 * prior * away

        bounds = [(0.0, None)] * n_candidates
        return np.asarray(fmin_l_bfgs_b(objective, self.start, bounds=bounds, maxiter=MOST_STEPS)[0])


def heaviest(weights: Floats, values: Singles, most: int) -> Ints:
    """Return the positions of at most so many members, the largest w_k · std(u_k) first."""
    size = weights * values.std(axis=(1, 2), dtype=np.float64)
    if not size.max(initial=0.0) > 0.0:
        return np.empty(0, dtype=np.intp)
    order = np.argsort(-size, kind="stable")[:most]
    return np.asarray(order[size[order] > NO_WEIGHT * size.max()], dtype=np.intp)
