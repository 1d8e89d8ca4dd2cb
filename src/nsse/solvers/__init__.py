"""Everything with an argmin: the embedding for a given σ, and the σ itself.

- ``problem``: what stays fixed while σ moves (distances, graph, weights).
- ``constraint``: B, from the kernel matrix at one σ or as a sum over the samples.
- ``factors``: a triangular factor of P, and the policy for ill-conditioned ones.
- ``krylov``: the leading eigenpairs of P⁻¹B; ``sample_space``: the same from a factor of K;
  ``symmetric``: those of a small matrix.
- ``pencil``: one embedding for one σ (Eq. 12), with the slope of the objective.
- ``gram_pencil``: the same from sums over the samples.
- ``joint``: Eq. (11) minimised over σ; ``survey``, ``valleys``, ``descent``: how the minimum is found;
  ``extrapolation``: where to begin with many samples; ``recorder``: the trace.
- ``alternating``: Algorithm 1 as printed.
- ``closed_form``: the problem of class means for every weight, from one eigendecomposition.
- ``label_kernel``, ``label_spread``: scores of samples without a label, by a map and along a graph.
- ``eigenmap``: Laplacian eigenmaps, for the methods to compare with.
- ``trace``: what both report; ``signs``: the one sign rule.

Arrays in, frozen dataclasses out; no input or output, nothing global.
"""

from nsse.solvers.alternating import solve_alternating
from nsse.solvers.eigenmap import Eigenmap, normalized_eigenmap, smallest_eigenpairs
from nsse.solvers.joint import solve_fixed, solve_joint
from nsse.solvers.pencil import Solution, solve_pencil
from nsse.solvers.problem import Objective, Problem
from nsse.solvers.signs import fix_signs
from nsse.solvers.trace import SearchResult, Step, Trace

__all__ = [
    "Eigenmap",
    "Objective",
    "Problem",
    "SearchResult",
    "Solution",
    "Step",
    "Trace",
    "fix_signs",
    "normalized_eigenmap",
    "smallest_eigenpairs",
    "solve_alternating",
    "solve_fixed",
    "solve_joint",
    "solve_pencil",
]
