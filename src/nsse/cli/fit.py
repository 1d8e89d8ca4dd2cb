"""``nsse fit``: train a model and save it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._support.errors import Described, rule_error
from nsse.cli import options as given
from nsse.cli.data import Choice, chosen, read_labeled, right_when_left_out, with_unlabeled
from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.models import MOST_NAMES, NAMES, with_encoder
from nsse.cli.screen import FIT, Screen, running, typed

if TYPE_CHECKING:
    from nsse.datasets import Inputs

DECISIONS = {"nearest": "the nearest training sample", "scores": "the largest class score"}
INTERRUPTED = 130
VIEWS = ("mirror", "crop")  # transformations of an image before a network sees it
_UPDATABLE = "Store in the file what `nsse update` needs to learn from more samples later."


def fit(
    data: given.Data,
    out: Annotated[Path, typer.Option(help="The model file to write, for example model.nsse.")],
    parameters: given.ModelOptions,
    more: given.UnlabeledOptions,
    table: given.TableOptions,
    images: given.ImageOptions,
    label: given.Label = None,
    updatable: Annotated[bool, typer.Option("--updatable", help=_UPDATABLE)] = False,
    as_json: given.Json = False,
) -> None:
    """Fit a model (SmoothEmbedding) to a table, to arrays or to a folder of images.

    Images may differ in size and format. They are read upright and averaged to one size, or go through
    a pretrained network (--encoder). Columns of text become categories, missing numbers are replaced by
    medians, and the features of a table are scaled. The model file contains all of this.
    """
    with running(as_json) as screen:
        check_out(out, read=[data] if more.unlabeled is None else [data, more.unlabeled])
        _check_clashes(data, parameters, more, table, images, updatable)
        settings = _settings(parameters)
        names = None if images.augment in (None, "auto") else _augmentations(images)
        network = None if images.encoder is None else _network(images, names)
        begun = perf_counter()
        inputs = read_labeled(data, label, table, images, network, more.unlabeled_label, screen)
        reading = perf_counter() - begun
        standardize = _standardize(table, inputs, screen)
        if more.unlabeled is not None:
            inputs = with_unlabeled(inputs, more.unlabeled, table, images, screen)
        start, choice = perf_counter(), None
        sets = [None] if images.augment is None else _sets(names, inputs, network)
        if len(sets) > 1 and not parameters.tune:
            with screen.busy(f"Comparing {len(sets)} augmentations"), typed(FIT):
                choice = _chosen_set(settings, inputs, sets)
            sets = [sets[choice.place]]
        model = _model(settings, inputs, sets, parameters.tune, standardize)
        # The search has a progress bar of its own.
        busy = nullcontext() if parameters.tune else screen.busy(f"Fitting {len(inputs.X)} samples")
        with busy, typed(FIT), _noting_interrupts() as interrupts:
            model.fit(inputs.X, inputs.y)
        seconds = perf_counter() - start
        from nsse.io.files import save

        if inputs.copies:
            _forget_copies(model)
        with typed(FIT):
            whole = with_encoder(model, inputs.preparation)
            save(whole, out, metadata=_metadata(inputs), updatable=updatable)
        _tell(screen, model, inputs, choice and (sets[0], choice))
        screen.result |= {"seconds_reading": reading, "seconds": seconds}
        screen.result |= {"out": str(out), "bytes": bytes_of(out)}
        screen.say(f"Wrote {out}, {size_of(out)}, after {seconds:.1f} s.")
        if inputs.files and network is None and inputs.preparation["color"]:
            screen.say("For photographs, features of a pretrained network are better: --encoder.")
        if interrupts:
            screen.code = INTERRUPTED
            screen.say("Stopped before the search had ended. The model is the best one found by then.")


def _metadata(inputs: Inputs) -> dict[str, Any]:
    """Return how samples are prepared, and the names of the training samples if they have any."""
    known = inputs.preparation.to_dict()
    if inputs.names is None or len(inputs.names) > MOST_NAMES:
        return known
    return known | {NAMES: list(inputs.names)}


@contextmanager
def _noting_interrupts() -> Iterator[list[int]]:
    """Collect interrupts. A search may continue with what it has found."""
    came: list[int] = []

    def interrupt(number: int, _frame: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _check_clashes(
    data: Path,
    parameters: given.ModelOptions,
    more: given.UnlabeledOptions,
    table: given.TableOptions,
    images: given.ImageOptions,
    updatable: bool,
) -> None:
    """Raise an error for options that exclude each other."""
    tune, is_augmented = parameters.tune, images.encoder and images.augment
    for is_clash, option, other, cure in (
        (table.standardize and data.is_dir(), "--standardize", "images", "They have --unit-norm."),
        (tune and parameters.decision, "--decision", "--tune", "The search chooses it."),
        (tune and updatable, "--updatable", "--tune", "An ensemble must be fitted anew."),
        (is_augmented and more.unlabeled, "--unlabeled", "--encoder and --augment", "Choose two."),
    ):
        if is_clash:
            raise rule_error(option, f"be left out with {other}", Described("both"), cure)


def _settings(given: given.ModelOptions) -> dict[str, Any]:
    """Return the parameters of the estimator that were given."""
    names = ("n_components", "sigma", "smoothness", "decision")
    settings = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    settings["random_state"] = given.seed
    if given.metric is not None or given.shrinkage is not None:
        settings["metric"] = _metric(given.metric, given.shrinkage)
    if given.centers not in (None, "auto"):
        settings["centers"] = _centers(str(given.centers))
    return settings


def _network(images: given.ImageOptions, names: list[str] | None) -> Any:
    """Return the encoder, with all augmentations if one of them is to be chosen."""
    from nsse.datasets import Encoder

    views = () if images.augment is None else VIEWS if names is None else names
    return Encoder(str(images.encoder), augment=views)


def _metric(metric: str | None, shrinkage: float | None) -> Any:
    if shrinkage is None:
        return metric
    if not shrinkage > 0:
        cure = "1 is a good start, and inf gives the Euclidean metric."
        raise rule_error("--shrinkage", "be a positive number or inf", shrinkage, cure)
    if metric == "euclidean":
        raise rule_error("--shrinkage", "come with --metric within", metric, "Leave one of them out.")
    from nsse.metrics import WithinMetric

    return WithinMetric(shrinkage=shrinkage)


def _centers(text: str) -> int | None:
    if text != "all" and not text.isdecimal():
        raise rule_error("--centers", "be a number, auto or all", text, "Leave it out for the default.")
    return None if text == "all" else int(text)


def _augmentations(images: given.ImageOptions) -> list[str]:
    """Return the names of the augmentations that were given."""
    from nsse.augment import AMOUNTS

    names = [name.strip() for name in str(images.augment).split(",")]
    known = tuple(AMOUNTS) if images.encoder is None else VIEWS
    if any(name not in known for name in names):
        rule = f"be auto, or some of {', '.join(known)}"
        raise rule_error("--augment", rule, images.augment, "Separate them by commas.")
    return names


def _sets(names: list[str] | None, inputs: Inputs, network: Any) -> list[Any]:
    """Return the requested augmentation, or the list of those to choose from."""
    from nsse.augment import Copies, named_images, usual_sets
    from nsse.datasets import ImagePreparation

    preparation = inputs.preparation
    if network is not None:
        every, ways = list(inputs.copies), network.copy_names
        mirror = ways.index("mirrored") if "mirrored" in ways else 0
        mirrored = Copies(inputs.X, [every[mirror]], [ways[mirror]])
        whole = Copies(inputs.X, every, ways)
        return [whole] if names is not None else [None, mirrored, whole]
    if not isinstance(preparation, ImagePreparation):
        cure = "In Python, SmoothEmbedding(augment=...) takes augmented samples of any kind."
        got = ",".join(names or ["auto"])
        raise rule_error("--augment", f"be left out for {preparation.noun}", got, cure)
    if min(preparation.size) < 2:
        got = Described(f"images of {preparation}")
        raise rule_error("--augment", "be left out for images of one line", got, "See --size.")
    shape = preparation.image_shape
    return usual_sets(shape) if names is None else [named_images(names, shape)]


def _forget_copies(model: Any) -> None:
    """Store augmented samples as centers only, because the file needs them once."""
    from nsse.augment import Copies
    from nsse.pipelines import opened

    last = opened(model)[1]
    for one in (last, *getattr(last, "members_", ()), getattr(last, "best_estimator_", last)):
        if isinstance(getattr(one, "augment", None), Copies):
            one.augment = one.augment.forgotten()


def _standardize(table: given.TableOptions, inputs: Inputs, screen: Screen) -> bool:
    """Return whether columns are scaled. By default the columns of tables are, because units differ."""
    from nsse.datasets import TablePreparation

    if table.standardize is None and isinstance(inputs.preparation, TablePreparation):
        screen.say("Columns are divided by their standard deviations. Use --as-they-are to leave them.")
        return True
    return bool(table.standardize)


def _chosen_set(settings: dict[str, Any], inputs: Inputs, sets: list[Any]) -> Choice:
    """Return the augmentation with the lowest error on left-out samples, or none."""
    from nsse.smooth import SmoothEmbedding

    X, y = (rows[inputs.is_labeled] for rows in (inputs.X, inputs.y))  # type: ignore[index]
    models = [SmoothEmbedding(**settings, augment=augment) for augment in sets]
    return chosen([right_when_left_out(model, X, y) for model in models])


def _model(
    settings: dict[str, Any], inputs: Inputs, sets: list[Any], tune: bool, standardize: bool
) -> Any:
    """Return the unfitted model. If there are several augmentations, a search chooses among them."""
    from nsse.smooth import SmoothEmbedding

    more: dict[str, Any] = {"augment": sets[0] if len(sets) == 1 else None}
    more["unlabeled"] = None if inputs.unlabeled is None else _unlabeled(settings, inputs)
    if not tune:
        return SmoothEmbedding(**settings, **more, standardize=standardize)
    from nsse.search import SmoothEmbeddingCV

    return SmoothEmbeddingCV(
        SmoothEmbedding(**settings, **more, standardize=standardize),
        grid=_grid(settings) or None,
        augment=sets if len(sets) > 1 else None,
        random_state=settings["random_state"],
    )


def _grid(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the values of parameters that are given, which are not searched for."""
    grid: dict[str, Any] = {
        name: [settings[name]] for name in ("sigma", "smoothness") if name in settings
    }
    shrinkage = getattr(settings.get("metric"), "shrinkage", None)
    return grid if shrinkage is None else {**grid, "metric__shrinkage": [shrinkage]}


def _unlabeled(settings: dict[str, Any], inputs: Inputs) -> Any:
    """Return how unlabeled samples are used: by a penalty, or by label propagation if there are many."""
    from nsse.centers import EXACT_UP_TO
    from nsse.unlabeled import GraphPenalty, LabelPropagation

    is_large = settings.get("centers") is not None or len(inputs.X) > EXACT_UP_TO
    return (LabelPropagation if is_large else GraphPenalty)(marker=inputs.unlabeled)


def _tell(screen: Screen, model: Any, inputs: Inputs, choice: tuple[Any, Choice] | None) -> None:
    """Return what was learned, in words and for ``--json``."""
    from nsse.augment import names_of
    from nsse.pipelines import opened

    last = opened(model)[1]
    best = getattr(last, "best_estimator_", last)
    d, in_medians = last.embedding_.shape[1], best.sigma_ / best._length_unit
    augmented: dict[str, Any] = {"how": [], "per_sample": 0}
    if best.augment is not None:
        augmented = {"how": names_of(best.augment), "per_sample": best.augment.n_copies}
    screen.result = {"model": type(last).__name__, "n_samples": len(inputs.X), "n_components": d}
    screen.result |= {"n_features": inputs.X.shape[1], "classes": best.classes_.tolist()}
    screen.result |= {"sigma": best.sigma_, "sigma_in_medians": in_medians, "augmented": augmented}
    about_error = _about_error(last, best, len(inputs.X))
    screen.result |= about_error[0]
    fields = inputs.preparation.to_dict().items()
    screen.result["preparation"] = {name: value for name, value in fields if name != "pictures"}
    if choice is not None:
        augmented |= {"gain": choice[1].gain, "gain_error": choice[1].gain_error}
        screen.say(_about_choice(*choice))
    if last is not best:
        parameters = {name: _plain(value) for name, value in last.best_params_.items()}
        screen.result |= {"parameters": parameters, "weights": last.weights_.tolist()}
        screen.say(_about_search(best, in_medians, last.weights_.tolist()))
    if inputs.unlabeled is not None:
        screen.result["unlabeled"] = about = _about_unlabeled(model, inputs)
        screen.say(
            f"{about['n']} of {len(inputs.X)} samples had no label. The predicted labels have a "
            f"median probability of {about['median_probability']:.2f}."
        )
    k = augmented["per_sample"]
    more = f" and {k} augmented of each" if k else ""
    width = "" if last is not best else f", σ = {in_medians:.2f} median distances"
    screen.say(
        f"Fitted {type(last).__name__} to {len(inputs.X)} samples{more} ({about_error[1]}): "
        f"{d} dimension{'s' * (d != 1)}{width}."
    )


def _about_error(last: Any, best: Any, n_samples: int) -> tuple[dict[str, Any], str]:
    """Return the error of left-out training samples, for ``--json`` and in words.

    A search leaves samples out of its splits, and a single model leaves some of them out of itself.
    """
    if last is not best and len(last._leave_one_out):
        labels = last.classes_[last._leave_one_out.argmax(axis=1)]
        error = float((labels != last._leave_one_out_labels).mean())
        return {"cross_validation_error": error}, f"cross-validation error {100 * error:.1f} %"
    error, n_left = 1.0 - best.leave_one_out_score_, round(float(best._leave_one_out_counts.sum()))
    some = f", {n_left} of them left out" if n_left < n_samples else ""
    found = {"leave_one_out_error": error, "n_left_out": n_left}
    return found, f"leave-one-out error {100 * error:.1f} %{some}"


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else repr(value)


def _about_unlabeled(model: Any, inputs: Inputs) -> dict[str, Any]:
    """Describe the unlabeled samples, and how certain their predicted labels are."""
    hidden = ~inputs.is_labeled
    probabilities = model.predict_proba(inputs.X[hidden]).max(axis=1)
    middle = sorted(probabilities.tolist())[len(probabilities) // 2]
    return {"n": int(hidden.sum()), "median_probability": middle}


def _about_choice(best: Any, choice: Choice) -> str:
    """Describe the chosen augmentation, and by how much it lowers the error."""
    from nsse.augment import names_of

    by = f"{100 * choice.gain:+.1f} ± {100 * choice.gain_error:.1f} points of accuracy"
    if best is None:
        return f"Chose no augmentation, because the best one gains {by} on held-out images."
    return f"Chose augmentation by {', '.join(names_of(best))}: it gains {by} on held-out images."


def _about_search(best: Any, in_medians: float, weights: list[float]) -> str:
    """Describe the heaviest member of a search, and the weights of all members."""
    from nsse.metrics import WithinMetric

    within = best.metric_
    metric = "Euclidean distances"
    if isinstance(within, WithinMetric):
        metric = f"the within-class metric with shrinkage {within.shrinkage:g}"
    chosen = f"{metric}, σ = {in_medians:.3g} median distances, smoothness {best.smoothness:.3g}"
    if len(weights) == 1:
        return f"Chose {chosen}, labels by {DECISIONS[best.decision]}."
    listed = ", ".join(f"{weight:.3g}" for weight in weights)
    return (
        f"Chose an ensemble of {len(weights)} members with weights {listed}. The heaviest member has "
        f"{chosen}, labels by {DECISIONS[best.decision]}."
    )
