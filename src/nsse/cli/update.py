"""``nsse update``: learn from more samples, or forget some."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nsse._support.errors import rule_error
from nsse.cli.files import bytes_of, check_out, size_of
from nsse.cli.models import NAMES, read
from nsse.cli.options import Data, Json, KnownLabel, Model, NewOptions
from nsse.cli.screen import DATA, running, typed


def update(
    model: Model,
    data: Data,
    new: NewOptions,
    out: Annotated[
        Path | None, typer.Option(help="The model file to write. (default: MODEL, written whole or not)")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Forget these samples instead.")] = False,
    label: KnownLabel = None,
    as_json: Json = False,
) -> None:
    """Learn from more labeled samples without a new fit. They may have new classes.

    Metric and centers stay as they are. The model must have been written by `nsse fit --updatable`.
    """
    with running(as_json) as screen:
        target = model if out is None else out
        if out is not None:
            check_out(out, read=[data])
        from nsse.io import read_header
        from nsse.io.files import save

        opened, inputs = read(model, data, new, screen, label=label, labeled=True)
        before = set(opened.last.classes_.tolist())
        _check_updatable(opened.last, model)
        X = inputs.X
        for step in opened.before:
            X = step.transform(X)
        words = {**DATA, "X": "DATA", "y": "DATA"}
        with screen.busy(f"{'Forgetting' if forget else 'Learning'} {len(X)} samples"), typed(words):
            (opened.last.forget if forget else opened.last.partial_fit)(X, inputs.y)
        metadata = dict(read_header(model).metadata or {})
        metadata.pop(NAMES, None)  # the training samples are others now
        save(opened.whole, target, metadata=metadata, updatable=True)
        after = set(opened.last.classes_.tolist())
        came, gone = (sorted(map(str, one - other)) for one, other in ((after, before), (before, after)))
        screen.result = {"n_samples": len(X), "n_classes": len(after), "new": came, "gone": gone}
        screen.result |= {"out": str(target), "bytes": bytes_of(target)}
        screen.say(f"{'Forgot' if forget else 'Learned'} {len(X)} samples: {len(after)} classes now.")
        for names, word in ((came, "New"), (gone, "Gone")):
            if names:
                screen.say(f"{word}: {', '.join(names)}.")
        screen.say(f"Wrote {target}, {size_of(target)}.")


def _check_updatable(last: Any, path: Path) -> None:
    if getattr(last, "_updates", None) is None:
        cure = "Fit it with `nsse fit --updatable`."
        raise rule_error("MODEL", "contain the sums of its samples", str(path), cure)
