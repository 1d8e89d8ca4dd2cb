"""``nsse fit``: from data to a model file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._support.errors import rule_error
from nsse._support.machine import available_memory
from nsse.cli.data import read_labelled, with_unlabelled
from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.options import (
    SIZE,
    Category,
    Colour,
    Data,
    Feature,
    Id,
    Ignore,
    Impute,
    Json,
    Label,
    Size,
    SkipBroken,
    Standardize,
    UnitNorm,
)
from nsse.cli.screen import Screen, running
from nsse.cli.words import FIT, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs

# What --tune chooses, as far as it is an option as well.
QUICK = ("metric", "shrinkage", "sigma")
# How labels are read off the embedding, in words.
READERS = {"nearest": "the nearest neighbour", "scores": "the largest class score"}


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.nsse.")],
    label: Label = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose metric, scale, smoothness and reader by cross-validation (NSSECV), and let the "
            "best few vote. What is given is kept.",
        ),
    ] = False,
    n_components: Annotated[int | None, typer.Option(help="Dimensions. (default: classes - 1)")] = None,
    sigma: Annotated[
        float | None,
        typer.Option(help="Kernel scale in median distances. (default: 0.65; --tune chooses)"),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC", help="What distances are: euclidean, or within: short within classes."
        ),
    ] = None,
    shrinkage: Annotated[
        float | None,
        typer.Option(
            help="How much --metric within holds to the Euclidean one. (default: 3; --tune chooses)"
        ),
    ] = None,
    landmarks: Annotated[
        str | None,
        typer.Option(metavar="M", help="Centres of the map, for many samples: a number, or auto."),
    ] = None,
    augment: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Learn from transformed copies of the images as well: some of shift, rotate, scale, "
            "mirror, brightness, with commas; or auto: what helps on images held out, if anything.",
        ),
    ] = None,
    unlabeled: Annotated[
        Path | None,
        typer.Option(
            metavar="MORE",
            help="More samples of the kind of DATA, without labels: the map is learned from them too.",
        ),
    ] = None,
    unlabeled_label: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='What stands in DATA in the place of a label where there is none: "" is an empty '
            "entry; of images the sub-folder of those.",
        ),
    ] = None,
    standardize: Standardize = False,
    ignore: Ignore = None,
    id: Id = None,
    impute: Impute = None,
    category: Category = None,
    feature: Feature = None,
    size: Size = SIZE,
    unit_norm: UnitNorm = True,
    colour: Colour = False,
    skip_broken: SkipBroken = False,
    seed: Annotated[int, typer.Option(help="Draws the splits of --tune, landmarks and subsamples.")] = 0,
    as_json: Json = False,
) -> None:
    """Fit a model to a table, to arrays or to a folder of images.

    Images may differ in size and in kind: they are read upright, made grey but for --colour, and
    averaged to --size. Columns of text in a table become categories. All of it is kept in the model.
    """
    with running(as_json) as screen:
        check_out(out, read=[data] if unlabeled is None else [data, unlabeled])
        given = {"n_components": n_components, "sigma": sigma, **_metric(metric, shrinkage)}
        settings = _settings(given, landmarks, seed)
        words = _words(augment)
        inputs = read_labelled(
            data,
            label,
            size,
            standardize,
            screen,
            ignore=ignore,
            id=id,
            impute=impute,
            category=category,
            feature=feature,
            unit_norm=unit_norm,
            colour=colour,
            skip_broken=skip_broken,
            unlabeled=unlabeled_label,
        )
        if unlabeled is not None:
            inputs = with_unlabelled(inputs, unlabeled, screen, ignore=ignore, skip_broken=skip_broken)
        if inputs.unlabeled is not None:
            settings |= {"unlabeled": inputs.unlabeled}
        sets = _sets(words, inputs)
        largest = max(sets, key=lambda views: 0 if views is None else views.n_copies)
        with typed(FIT):
            _check_memory(_model(settings | {"invariances": largest}, tune, standardize), inputs)
        start = perf_counter()
        choice = None
        if len(sets) > 1 and not tune:
            with screen.busy(f"Comparing {len(sets)} sets of copies"), typed(FIT):
                choice = _compared(settings, inputs, sets, seed)
            sets = [choice.best]
        model = _model(settings | {"invariances": sets[0]}, tune, standardize, sets)
        # The search has a bar of its own.
        busy = nullcontext() if tune else screen.busy(f"Fitting {len(inputs.X)} samples")
        with busy, typed(FIT):
            model.fit(inputs.X, inputs.y)
        seconds = perf_counter() - start
        _save(model, inputs, out)
        _tell(screen, model, inputs, seconds, out, choice)


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


def _words(augment: str | None) -> list[str] | None:
    """What to do to images; None leaves the choice to their own splits."""
    from nsse.invariances.sets import AMOUNTS

    if augment is None:
        return []
    words = [word.strip() for word in augment.split(",")]
    if words == ["auto"]:
        return None
    unknown = [word for word in words if word not in AMOUNTS]
    if unknown:
        rule = f"be auto, or some of {', '.join(AMOUNTS)}"
        raise rule_error("--augment", rule, augment, "Write them with commas: shift,rotate.")
    return words


def _sets(words: list[str] | None, inputs: Inputs) -> list[Any]:
    """The invariances that were asked for, or those to choose among."""
    from nsse.datasets import ImagePreparation
    from nsse.invariances import named_images, usual_sets

    if words == []:
        return [None]
    preparation = inputs.preparation
    if not isinstance(preparation, ImagePreparation):
        got = ",".join(words or ["auto"])
        cure = "In Python, NSSE(invariances=...) takes copies of any samples."
        raise rule_error("--augment", f"be left out for {preparation.noun}", got, cure)
    if min(preparation.size) < 2:
        got = f"images of {preparation}"
        raise rule_error("--augment", "be left out for images of one line", got, "See --size.")
    shape = preparation.image_shape
    return usual_sets(shape) if words is None else [named_images(words, shape)]


def _compared(settings: dict[str, Any], inputs: Inputs, sets: list[Any], seed: int) -> Any:
    from nsse.estimators import NSSE
    from nsse.selection import choose_invariances

    # On labelled samples alone: what is held out must have a label.
    X, y = (rows[inputs.is_labelled] for rows in (inputs.X, inputs.y))  # type: ignore[index]
    plain = NSSE(**settings | {"unlabeled": None})
    return choose_invariances(plain, X, y, sets, random_state=seed)


def _settings(given: dict[str, Any], landmarks: str | None, seed: int) -> dict[str, Any]:
    """The parameters of NSSE that were given."""
    if landmarks is not None and landmarks != "auto" and not landmarks.isdecimal():
        rule = "be a number of landmarks or auto"
        raise rule_error("--landmarks", rule, landmarks, "Leave it out for up to some thousand samples.")
    number = int(landmarks) if landmarks is not None and landmarks != "auto" else landmarks
    given = given | {"n_landmarks": number}
    return {name: value for name, value in given.items() if value is not None} | {"random_state": seed}


def _model(
    settings: dict[str, Any], tune: bool, standardize: bool, sets: list[Any] | None = None
) -> Any:
    """Unfitted; of several ``sets`` of copies a search chooses."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nsse.estimators import NSSE
    from nsse.selection import NSSECV

    model: Any = NSSE(**settings)
    if tune:
        # What was given is not searched for, whether or not NSSE has it by itself.
        given = tuple(name for name in QUICK if name in settings)
        several = sets if sets is not None and len(sets) > 1 else None
        seed = settings["random_state"]
        model = NSSECV(estimator=model, keep=given, invariances=several, random_state=seed)
    return make_pipeline(StandardScaler(), model) if standardize else model


def _check_memory(model: Any, inputs: Inputs) -> None:
    """An exact fit of too many samples would be killed without a word."""
    from nsse.certificates import opened

    n_classes = len(set(inputs.y[inputs.is_labelled].tolist()))  # type: ignore[index]
    needed = opened(model)[1].estimate_memory(*inputs.X.shape, n_classes)
    room = available_memory()
    if room is not None and needed > room:
        raise rule_error(
            "DATA",
            f"fit into memory, of which {room / 1e9:.3g} GB can be had",
            f"{len(inputs.X)} samples, which need {needed / 1e9:.3g} GB",
            "Take fewer samples, or --landmarks 2000.",
        )


def _save(model: Any, inputs: Inputs, out: Path) -> None:
    from nsse.io import save

    save(model, out, metadata=inputs.preparation)


def _tell(screen: Screen, model: Any, inputs: Inputs, seconds: float, out: Path, choice: Any) -> None:
    from nsse.certificates import opened
    from nsse.invariances import names_of

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
        "copies": {"how": names_of(best.invariances), "per_sample": best.n_copies_},
        "preparation": inputs.preparation.to_dict(),
    }
    if choice is not None:
        screen.result["copies"] |= _gain(choice.gain, choice.scores.shape[1])
        screen.say(_augmented(best, choice.gain, choice.scores.shape[1]))
    if last is not best:
        told = last.invariance_results_
        if told:
            screen.result["copies"] |= _gain(told["gain"], told["split_test_score"].shape[1])
            screen.say(_augmented(best, told["gain"], told["split_test_score"].shape[1]))
        screen.result |= {
            "validation_error": 1.0 - last.best_score_,
            "parameters": dict(last.best_params_),
            "n_voters": len(last.voters_),
            "n_splits": last.n_splits_,
        }
        screen.say(_chosen(best, in_medians, last))
    if inputs.unlabeled is not None:
        screen.result["unlabelled"] = about = _about_unlabelled(model, best, inputs)
        if last is not best:
            gain = last.unlabeled_results_["gain"]
            about |= {"gain": gain[0], "gain_error": gain[1]}
            screen.say(_smoothed(best, gain, last.unlabeled_results_["split_test_score"].shape[1]))
        screen.say(
            f"{about['n']} of {len(inputs.X)} samples had no label: they were given one, with a "
            f"median probability of {about['median_probability']:.2f}."
        )
    k = best.n_copies_
    copies = f" to {len(inputs.X)} images and {k} cop{'y' if k == 1 else 'ies'} of each" if k else ""
    screen.say(
        f"Fitted NSSE{copies}: {d} dimension{'s' * (d != 1)}, σ = {in_medians:.2f} median distances, "
        f"{seconds:.1f} s."
    )
    screen.say(f"Wrote {out}, {size_of(out)}.")


def _about_unlabelled(model: Any, best: Any, inputs: Inputs) -> dict[str, Any]:
    """How many there are, how much they weigh, and how sure the labels are that they were given."""
    hidden = ~inputs.is_labelled
    chances = model.predict_proba(inputs.X[hidden]).max(axis=1)
    middle = sorted(chances.tolist())[len(chances) // 2]
    used = {"mu4": best.mu4, "spread": best.spread}
    return {"n": int(hidden.sum())} | used | {"median_probability": middle}


def _smoothed(best: Any, gain: tuple[float, float], n_splits: int) -> str:
    """Whether samples without a label helped, in words."""
    by = f"{100 * abs(gain[0]):.1f} ± {100 * gain[1]:.1f} points"
    where = f"on {n_splits} validation split{'s' * (n_splits != 1)}"
    if best.mu4 == 0:
        change = "falls" if gain[0] > 0 else "rises"
        return f"Chose no smoothness along samples without a label: the error {change} by {by} {where}."
    chosen = "Chose labels spread along the graph of all samples"
    if best.spread is None:
        chosen = f"Chose smoothness along samples without a label, mu4 = {best.mu4:.3g}"
    return f"{chosen}: the error falls by {by} {where}."


def _gain(gain: tuple[float, float], n_splits: int) -> dict[str, Any]:
    return {"gain": gain[0], "gain_error": gain[1], "n_splits": n_splits}


def _augmented(best: Any, gain: tuple[float, float], n_splits: int) -> str:
    """Which copies were chosen, and what they gained, in words."""
    from nsse.invariances import names_of

    where = f"on {n_splits} validation split{'s' * (n_splits != 1)}"
    if best.invariances is None:
        change = f"{-100 * gain[0]:+.1f} ± {100 * gain[1]:.1f} points"
        return f"Chose no copies: with the best of them the error changes by {change} {where}."
    names, by = ", ".join(names_of(best.invariances)), f"{100 * gain[0]:.1f} ± {100 * gain[1]:.1f}"
    return f"Chose copies by {names}: the error falls by {by} points {where}."


def _chosen(best: Any, in_medians: float, search: Any) -> str:
    """What a search chose, in words."""
    within = f"the within-class metric with shrinkage {best.shrinkage:g}, relevance {best.relevance:g}"
    reader = best.classifier if isinstance(best.classifier, str) else type(best.classifier).__name__
    chosen = (
        "Euclidean distances" if best.metric == "euclidean" else within,
        f"σ = {in_medians:.3g} median distances",
        f"mu2 = {best.mu2:.3g}",
        f"labels by {READERS.get(reader, reader)}",
    )
    n_voters, n_splits = len(search.voters_), search.n_splits_
    alone = "It labels alone" if n_voters == 1 else f"The {n_voters} best vote on labels"
    return (
        f"Chose {', '.join(chosen)}: error {100 * (1.0 - search.best_score_):.1f} % on "
        f"{n_splits} validation split{'s' * (n_splits != 1)}. {alone}."
    )
