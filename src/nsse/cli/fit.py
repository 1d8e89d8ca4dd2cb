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
from nsse.cli.data import read_labeled, with_unlabeled
from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.models import MOST_NAMES, NAMES, with_encoder
from nsse.cli.screen import FIT, Screen, running, typed
from nsse.cli.summary import tell_fit
from nsse.cli.training import (
    augmentations,
    chosen_augmentation,
    forget_copies,
    search,
    single,
    unlabeled_use,
)

if TYPE_CHECKING:
    from nsse.datasets import Inputs

INTERRUPTED = 130
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
        settings, names = parameters.settings(), images.augmentations()
        begun = perf_counter()
        inputs = read_labeled(data, label, table, images, more.unlabeled_label, screen)
        reading = perf_counter() - begun
        settings["standardize"] = _standardize(table, inputs, screen)
        if more.unlabeled is not None:
            inputs = with_unlabeled(inputs, more.unlabeled, table, images, screen)
        if inputs.unlabeled is not None:
            settings["unlabeled"] = unlabeled_use(settings, inputs)
        start = perf_counter()
        sets = [None] if images.augment is None else augmentations(names, inputs, images.encoder)
        if len(sets) > 1 and not parameters.tune:
            sets = [chosen_augmentation(settings, inputs, sets, screen)]
        model = search(settings, sets) if parameters.tune else single(settings, sets[0])
        # The search has a progress bar of its own.
        busy = nullcontext() if parameters.tune else screen.busy(f"Fitting {len(inputs.X)} samples")
        with busy, typed(FIT), _noting_interrupts() as interrupts:
            model.fit(inputs.X, inputs.y)
        seconds = perf_counter() - start
        from nsse.io.files import save

        forget_copies(model)
        with typed(FIT):
            whole = with_encoder(model, inputs.preparation)
            save(whole, out, metadata=_metadata(inputs), updatable=updatable)
        tell_fit(screen, model, inputs)
        screen.result |= {"seconds_reading": reading, "seconds": seconds}
        screen.result |= {"out": str(out), "bytes": bytes_of(out)}
        screen.say(f"Wrote {out}, {size_of(out)}, after {seconds:.1f} s.")
        if inputs.preparation.get("color"):
            screen.say("For photographs, features of a pretrained network are better: --encoder.")
        if interrupts:
            screen.code = INTERRUPTED
            screen.say("Stopped before the search had ended. The model is the best one found by then.")


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


def _metadata(inputs: Inputs) -> dict[str, Any]:
    """Return how samples are prepared, and the names of the training samples if they have any."""
    known = inputs.preparation.to_dict()
    if inputs.names is None or len(inputs.names) > MOST_NAMES:
        return known
    return known | {NAMES: list(inputs.names)}


def _standardize(table: given.TableOptions, inputs: Inputs, screen: Screen) -> bool:
    """Return whether columns are scaled. By default the columns of tables are, because units differ."""
    if table.standardize is None and inputs.preparation["kind"] == "table":
        screen.say("Columns are divided by their standard deviations. Use --as-they-are to leave them.")
        return True
    return bool(table.standardize)
