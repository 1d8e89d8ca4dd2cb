"""The page ``docs/certificates.md``: the mathematics of the certificates, and their figures measured."""

from __future__ import annotations

from typing import Any

from common import markdown_table, text_table


def tables(record: dict[str, Any]) -> str:
    """All tables as plain text."""
    parts = (_tightness, _radii, _attacks, _pipelines, _ranking, _theorem, _generalization)
    return "\n\n".join(text_table(*part(record)) for part in parts) + "\n\n" + _speed(record)


def page_text(record: dict[str, Any]) -> str:
    """The whole page."""
    points = sum(row["n_points"] for row in record["attacks"] if row["model"].startswith("NSSE"))
    raw_broken = _broken(record["pipelines"], record["raw_factors"])
    broken = _broken(record["attacks"], record["factors"]) + raw_broken
    return PAGE.format(
        splits=record["splits"],
        tightness=markdown_table(*_tightness(record)),
        radii=markdown_table(*_radii(record)),
        attacks=markdown_table(*_attacks(record)),
        points=f"{points:,}",
        pipelines=markdown_table(*_pipelines(record)),
        raw_points=f"{sum(row['n_points'] for row in record['pipelines']):,}",
        raw_broken=raw_broken,
        broken=broken,
        verdict="**The certificates are broken.**"
        if broken
        else "Inside, nothing may change: nothing did.",
        ranking=markdown_table(*_ranking(record)),
        theorem=markdown_table(*_theorem(record)),
        generalization=markdown_table(*_generalization(record)),
        speed=_speed(record),
        versions=", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    )


def _broken(rows: list[dict[str, Any]], factors: list[float]) -> int:
    """Labels changed inside certificates."""
    inside = [k for k, factor in enumerate(factors) if factor <= 1]
    return sum(row["changed"][k] for row in rows for k in inside)


def _case(row: dict[str, Any]) -> str:
    method = f", {row['method']}" if "method" in row else ""
    return f"{row['dataset']} {row['n_per_class']}{method}"


def _tightness(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = [
        "data, method",
        "σ",
        "σ/median",
        "Prop. 1",
        "row sum",
        "RKHS",
        "steepest",
        "Prop. 1/RKHS",
        "RKHS/steepest",
    ]
    return header, [
        [_case(row), f"{row['sigma']:.2f}", f"{row['sigma_in_units']:.2f}"]
        + [f"{row[key]:.3g}" for key in ("proposition_1", "row_sum", "rkhs", "empirical")]
        + [f"{row['proposition_1'] / row['rkhs']:.1f}", f"{row['rkhs'] / row['empirical']:.2f}"]
        for row in record["tightness"]
    ]


def _radii(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = ["data, method", "directional", "RKHS", "Prop. 1", "directional/Prop. 1"]
    keys = ("radius_directional", "radius_rkhs", "radius_proposition_1")
    return header, [
        [_case(row), *(f"{row[key]:.3g}" for key in keys), f"{row[keys[0]] / row[keys[2]]:.1f}"]
        for row in record["tightness"]
    ]


def _attacks(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = ["data, model", "points", *(f"{factor:g} r" for factor in record["factors"])]
    return header, [
        [f"{row['dataset']}, {row['model']}", str(row["n_points"])]
        + [f"{100 * n / row['n_points']:.1f} %" if n else "0" for n in row["changed"]]
        for row in record["attacks"]
    ]


def _pipelines(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = [
        "table, steps",
        "points",
        "median r",
        *(f"{factor:g} r" for factor in record["raw_factors"]),
    ]
    return header, [
        [row["model"], str(row["n_points"]), f"{row['radius']:.3g}"]
        + [f"{100 * n / row['n_points']:.1f} %" if n else "0" for n in row["changed"]]
        for row in record["pipelines"]
    ]


def _ranking(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    share = f"{100 * record['coverage']:.0f} %"
    header = ["data, per class", "accuracy", f"at {share} coverage", "gain", "mean risk"]
    return header, [
        [
            _case(row),
            _percent(row["accuracy"]),
            _percent(row["accuracy_covered"]),
            _gain(row),
            _percent(row["area"]),
        ]
        for row in record["ranking"]
    ]


def _gain(row: dict[str, Any]) -> str:
    error = "" if row["gain_error"] is None else f" ± {_percent(row['gain_error'])}"
    return _percent(row["gain"]) + error


def _theorem(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    keys = (
        "gamma",
        "A_delta",
        "lipschitz",
        "delta",
        "epsilon",
        "left",
        "right",
        "largest_delta",
        "eta_estimate",
    )
    header = [
        "data",
        "γ",
        "A_δ",
        "L",
        "δ",
        "ε",
        "left of (4)",
        "right",
        "met",
        "largest δ",
        "η (estimate)",
        "(5) (estimate)",
    ]
    rows = []
    for row in record["theorem"]:
        cells = [f"{row[key]:.3g}" for key in keys]
        bound = "silent" if row["bound_estimate"] is None else f"{row['bound_estimate']:.3f}"
        rows.append([row["dataset"], *cells[:7], "yes" if row["met"] else "no", *cells[7:], bound])
    return header, rows


def _generalization(record: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    header = [
        "data, per class",
        "training",
        "unseen",
        "gap",
        "shuffled: training",
        "shuffled: unseen",
        "p",
        "ranking of errors",
    ]
    keys = (
        "train_separation",
        "test_separation",
        "gap",
        "permuted_train_separation",
        "permuted_test_separation",
        "p_value",
        "ranking",
    )
    return header, [
        [_case(row), *("–" if row[key] is None else f"{row[key]:.2f}" for key in keys)]
        for row in record["generalization"]
    ]


def _speed(record: dict[str, Any]) -> str:
    speed = record["speed"]
    return (
        f"{speed['n_points']:,} radii against 2,000 samples in 20 dimensions:"
        f" {speed['radius_seconds']:.1f} s, `predict` alone {speed['predict_seconds']:.1f} s."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


PAGE = """# Certificates: how far each prediction can be trusted

Written by `benchmarks/certificates.py` (`make certificates`); do not edit.

```python
model = NSSE().fit(X_train, y_train)
model.certified_radius(X_new)          # no change of x by less than this changes its label

from nsse.certificates import (
    SelectivePredictor, certified_radius, generalization_report, lipschitz_bounds, risk_coverage,
    theorem_1)

lipschitz_bounds(model)                         # Proposition 1, tighter bounds, the truth from below
careful = SelectivePredictor(model, coverage=0.8, rejected=-1).fit(X_calibration)
careful.predict(X_new)                          # -1 where the radius is too small
careful.select(X_new)                           # all labels, which of them are accepted, radii
careful.score(X_test, y_test)                   # accuracy among the accepted
certified_radius(pipeline, X_new)               # through affine steps, in the units of X
risk_coverage(model, X_test, y_test).accuracy_at(0.8)
theorem_1(model, X_train, y_train)              # both sides of condition (4), bound (5)
generalization_report(model, X_test, y_test)    # training against unseen samples, shuffled labels
```

For `NSSE`, `SUPLAP`, `MReg` and `IsoKRR`, whose maps are Gaussian expansions `f(x) = Σ c_i exp(−‖x −
z_i‖²/σ²)`, with the k nearest neighbours, the nearest centroid, or a linear classifier of scikit-learn
in the embedding. Anything else is refused with an error: no number is better than one without a proof.
The radius is about the label that `predict` gives, right or wrong, and about Euclidean changes of any
kind.

## The bound

Let `G = C'K_ZZ C`, the Gram matrix of the components of f in the space of the kernel. For every vector
w, the function `w'f` has the norm `√(w'Gw)` there, and the Cauchy–Schwarz inequality says

    |w'f(u) − w'f(v)| ≤ √(w'Gw) · √(2 − 2 exp(−‖u−v‖²/σ²)) ≤ √(w'Gw) · (√2/σ) ‖u − v‖.

The best unit vector gives the Lipschitz constant `(√2/σ) √λmax(G)`, here called RKHS; the paper's
Proposition 1 has `√N L_φ ‖C‖_F` with `L_φ = √(2/e)/σ`, and `L_φ Σ‖c_i‖` (row sum) lies below it.
"Steepest" is the largest spectral norm of the Jacobian found by climbing from the three steepest
training samples: no constant can be smaller. Means over {splits} splits, grey levels in [0, 1]; NSSE is
`NSSE.as_published()`, which chooses its σ itself, the others have the defaults of version 0.1; the
number after a data set is that of training samples per class:

{tightness}

## The radius

A classifier compares affine scores `s = w'f(x) + b`: for neighbours `2y'f − ‖y‖²`, since the nearest
has the largest. A score i of the predicted class stays ahead of a rival j, when x moves by r, while

    s_i − s_j > √((w_i − w_j)'G(w_i − w_j)) · √(2 − 2 exp(−r²/σ²)),

which is solved for r in closed form. The radius is that of the worst rival, for the best of the four
largest own scores (any own score gives a valid radius, and four are tried). It is infinite where the
left-hand side reaches √2 times the norm. With k neighbours, m = ⌊k/2⌋ + 1 own samples must stay ahead
of all rivals but k − m. Rounding is accounted for on the safe side: of the expanded distances, of the
kernel, of G, of f(x) in the type of X (float32 or float64; the moved sample is meant to be of the same
type) and of the classifier's scores.

**Pipelines.** Behind steps `z = xM + b` a change δ of x is one of `M'δ`. What is certified is the
ellipsoid `‖A M'δ‖ < ρ`, A being the metric of the model; `certified_radius(pipeline, X)` gives the
largest ball inside it, of radius `ρ/‖MA‖`, **in the units of X**, less what rounding in the steps can
do. A column of small spread sets that ball: `units="model"` measures the change behind the steps
instead, in standard deviations for instance, and `units="metric"` is ρ itself. Steps that are known to
be affine are scikit-learn's scalers without clipping, `SimpleImputer` (what is missing cannot change),
selections of features, PCA, `TruncatedSVD`, random projections, LDA, NCA, and `WithinMetric`, `LFDA`,
`LDE`; any other is refused by name. With more than 2,048 features `‖MA‖` is bounded by `‖M‖‖A‖`.
`SelectivePredictor`, `risk_coverage`, the page and `nsse predict` (columns `radius` and `radius_scaled`)
use the same radii; where a step is not affine the page and the shell say so and measure behind it.

Where several maps vote (`NSSECV`), each voter keeps its label within its own radius. Within r only those
of smaller radii can turn, at worst all of them to one rival: the radius of the vote is the largest r at
which the winner's other voters still outnumber them.

Median certified radius of unseen samples, by which bound:

{radii}

{speed}

## Attacked

Projected gradient with the exact gradient of the map: 4 starts, 20 steps, in balls of multiples of the
certified radius r. The share of labels changed ({points} points for NSSE; **{broken} changes inside the
certificates** of all models):

{attacks}

{verdict} Beyond, the attack is real, and shows how much room is left.

Through pipelines, with tables in the units they come in and balls in these units ({raw_points} points,
**{raw_broken} changes inside**). One ball for columns of all spreads is that of the narrowest, and a
label seldom hangs on that one: there is much room beyond.

{pipelines}

## Radii and mistakes

The radius does not know the right label, but it ranks mistakes. Accept the 80 % of unseen samples with
the largest radii (accuracies and gain in per cent, ± standard error over the splits):

{ranking}

![Risk by coverage](images/certificates_risk.png)

## Training against unseen samples

The separation of a sample is `(b − a)/max(a, b)`, a and b being the distances to the nearest training
sample of its own class and of another one. A fit to shuffled labels separates them in training nearly
as well: that alone says little. Unseen samples tell the difference, p being the share of shuffled fits
that separate them as well as the true one, which counts itself. The ranking of errors is the
probability that a right prediction has a larger radius than a wrong one.

{generalization}

![Generalisation on COIL-20](images/certificates_generalization.png)

## Theorem 1

Condition (4) of the paper, `Lδ + √d ε + A_δ ≤ γ/2`, with the smallest proved L, and the probability
bound (5) with the measure η of balls **estimated** from the sample: the smallest share of a class
within δ of one of its samples. δ, ε and Q are the most favourable ones; where the theorem is silent for
every δ, half the largest δ that meets (4). On images expect silence: balls small enough for (4) contain
no second sample of the class, η is estimated as 0. The last row has two squares of side 0.2, 8 apart,
with 150 samples each, where it speaks.

{theorem}

## Made by

    NSSE_DATA=<folder> make certificates

{versions}
"""
