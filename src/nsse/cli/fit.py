"""``nsse fit``: from data to a model file."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._errors import rule_error
from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.options import SIZE, Data, Ignore, Json, Label, Size, UnitNorm, read_size
from nsse.cli.screen import Screen, running

if TYPE_CHECKING:
    from nsse.datasets import Inputs

# Columns whose spreads differ by more than this are worth a word.
SPREAD = 10.0


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.nsse.")],
    label: Label = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the parameters by cross-validation (NSSECV).")
    ] = False,
    n_components: Annotated[
        int | None, typer.Option(help="Dimensions. (default: classes - 1, or by --tune)")
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Kernel scale in median distances. (default: found)")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC", help="What distances are: euclidean, or within: short within classes."
        ),
    ] = None,
    shrinkage: Annotated[
        float | None,
        typer.Option(help="How much --metric within holds to the Euclidean one. (default: 1)"),
    ] = None,
    landmarks: Annotated[
        str | None,
        typer.Option(metavar="M", help="Centres of the map, for many samples: a number, or auto."),
    ] = None,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Give the columns of a table mean 0 and spread 1.")
    ] = False,
    ignore: Ignore = None,
    size: Size = SIZE,
    unit_norm: UnitNorm = True,
    seed: Annotated[int, typer.Option(help="Draws the splits of --tune, landmarks and subsamples.")] = 0,
    jobs: Annotated[int, typer.Option(help="Workers of --tune; -1 is one per processor.")] = 1,
    as_json: Json = False,
) -> None:
    """Fit a model to a table, to arrays or to a folder of images.

    Images may differ in size and in kind: colour becomes grey, and all are averaged to --size.
    """
    with running(as_json) as screen:
        check_out(out, read=[data])
        given = {"n_components": n_components, "sigma": sigma, **_metric(metric, shrinkage)}
        settings = _settings(given, landmarks, seed)
        inputs = _read(data, label, ignore, size, unit_norm, standardize, screen)
        model = _model(settings, inputs, tune, standardize, jobs)
        _check_memory(model, inputs)
        start = perf_counter()
        # The search has a bar of its own.
        with nullcontext() if tune else screen.busy(f"Fitting {len(inputs.X)} samples"):
            model.fit(inputs.X, inputs.y)
        seconds = perf_counter() - start
        _save(model, inputs, out)
        _tell(screen, model, inputs, seconds, out)


def _metric(metric: str | None, shrinkage: float | None) -> dict[str, Any]:
    if metric not in (None, "euclidean", "within"):
        raise rule_error("--metric", "be euclidean or within", metric, "Leave it out for the default.")
    if shrinkage is not None and not shrinkage > 0:
        cure = "1 is a good start; inf gives the Euclidean metric."
        raise rule_error("--shrinkage", "be a positive number or inf", shrinkage, cure)
    if shrinkage is not None and metric != "within":
        raise rule_error(
            "--shrinkage", "come with --metric within", metric, "Add it, or leave this out."
        )
    return {"metric": metric, "shrinkage": shrinkage}


def _settings(given: dict[str, Any], landmarks: str | None, seed: int) -> dict[str, Any]:
    """The parameters of NSSE that were given."""
    if landmarks is not None and landmarks != "auto" and not landmarks.isdecimal():
        rule = "be a number of landmarks or auto"
        raise rule_error("--landmarks", rule, landmarks, "Leave it out for up to some thousand samples.")
    number = int(landmarks) if landmarks is not None and landmarks != "auto" else landmarks
    given = given | {"n_landmarks": number}
    return {name: value for name, value in given.items() if value is not None} | {"random_state": seed}


def _read(
    data: Path,
    label: str | None,
    ignore: list[str] | None,
    size: str,
    unit_norm: bool,
    standardize: bool,
    screen: Screen,
) -> Inputs:
    from nsse.datasets import ImagePreparation, load_inputs

    with screen.busy(f"Reading {data}"):
        inputs = load_inputs(data, label, ignore=ignore or (), size=read_size(size), unit_norm=unit_norm)
    images = isinstance(inputs.preparation, ImagePreparation)
    if standardize and images:
        cure = "Leave it out: --unit-norm is what images have."
        raise rule_error("--standardize", "be left out for images", True, cure)
    noun, n_classes = "images" if images else "samples", len(set(inputs.y.tolist()))  # type: ignore[union-attr]
    screen.say(f"Read {data}: {len(inputs.X)} {noun} in {n_classes} classes, {inputs.preparation}.")
    if not images and not standardize:
        _advise(inputs.X, screen)
    return inputs


def _advise(X: Any, screen: Screen) -> None:
    """Distances see the columns of largest spread only: say so where they differ much."""
    spreads = X.std(axis=0)
    spreads = spreads[spreads > 0]
    if len(spreads) and spreads.max() > SPREAD * spreads.min():
        ratio = spreads.max() / spreads.min()
        screen.say(f"The spreads of the columns differ {ratio:.3g}-fold: try --standardize.")


def _model(settings: dict[str, Any], inputs: Inputs, tune: bool, standardize: bool, jobs: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nsse.estimators import NSSE
    from nsse.selection import NSSECV, default_param_grid

    model: Any = NSSE(**settings)
    if tune:
        grid = default_param_grid(len(set(inputs.y.tolist())))  # type: ignore[union-attr]
        # What was given is not searched for; where σ is, its weight μ3 changes nothing.
        taken = set(settings) | ({"mu3"} if "sigma" in settings else set())
        model = NSSECV(
            {name: values for name, values in grid.items() if name not in taken},
            estimator=model,
            n_jobs=jobs,
            random_state=settings["random_state"],
            n_voters=1,  # one map, which the report shows and ONNX exports
            progress=sys.stderr.isatty(),
        )
    return make_pipeline(StandardScaler(), model) if standardize else model


def _check_memory(model: Any, inputs: Inputs) -> None:
    """An exact fit of too many samples would be killed without a word."""
    from nsse.certificates import opened

    needed = opened(model)[1].estimate_memory(*inputs.X.shape)
    if needed > physical_memory():
        raise rule_error(
            "DATA",
            f"fit into memory, of which there are {physical_memory() / 1e9:.3g} GB",
            f"{len(inputs.X)} samples, which need {needed / 1e9:.3g} GB",
            "Take fewer samples, or --landmarks 2000.",
        )


def physical_memory() -> float:
    """Bytes of this machine, where it tells."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _save(model: Any, inputs: Inputs, out: Path) -> None:
    from nsse.certificates import opened
    from nsse.exports import save

    _, last = opened(model)
    if "progress" in last.get_params():
        last.set_params(progress=None)  # of this terminal, not of the model
    save(model, out, metadata=inputs.preparation)


def _tell(screen: Screen, model: Any, inputs: Inputs, seconds: float, out: Path) -> None:
    from nsse.certificates import opened

    _, last = opened(model)
    best = getattr(last, "best_estimator_", last)
    d, in_medians = best.embedding_.shape[1], best.sigma_ / best.length_unit_
    screen.result = {
        "model": type(last).__name__,
        "out": str(out),
        "bytes": bytes_of(out),
        "n_samples": len(inputs.X),
        "n_features": inputs.X.shape[1],
        "classes": best.classes_.tolist(),
        "n_components": d,
        "sigma": best.sigma_,
        "sigma_in_medians": in_medians,
        "seconds": seconds,
        "preparation": inputs.preparation.to_dict(),
    }
    if last is not best:
        error, chosen = 1.0 - last.best_score_, last.best_params_
        screen.result |= {"validation_error": error, "parameters": chosen}
        told = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
        screen.say(
            f"Chose by cross-validation: {told}; error {100 * error:.1f} % on {last.n_splits_} splits."
        )
    screen.say(
        f"Fitted NSSE: {d} dimension{'s' * (d != 1)}, σ = {in_medians:.2f} median distances, "
        f"{seconds:.1f} s."
    )
    screen.say(f"Wrote {out}, {size_of(out)}.")
