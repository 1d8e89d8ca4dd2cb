"""``nsse demo``: draw scikit-learn's digits, and compare methods on them.

All methods have default parameters, apart from C = 10 in the SVM, and all are fitted to the same splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse.cli.files import prepare_folder, table_rows, write_columns
from nsse.cli.options import Json
from nsse.cli.screen import plain_table, running

if TYPE_CHECKING:
    from rich.table import Table

    from nsse._support.types import LabelsLike, SamplesLike

SIZES = (7, 20)  # training samples per class
SHOWN = 300  # training samples of the class map, as in the quick start of the README
FILES = "embedding.png", "embedding.csv", "errors.csv"

# Mean and standard error in percent, by method and size. A single split has no standard error.
Errors = dict[tuple[str, int], tuple[float, float | None]]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results, created if needed.")] = Path("demo"),
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 5,
    as_json: Json = False,
) -> None:
    """Draw scikit-learn's digits and compare methods on them, in less than a minute."""
    with running(as_json) as screen:
        prepare_folder(out)
        import numpy as np
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
        from threadpoolctl import threadpool_limits

        from nsse import SmoothEmbedding
        from nsse.figures import require_matplotlib

        require_matplotlib()
        X, y = load_digits(return_X_y=True)
        # Matrices of this size are faster on one thread of BLAS, in particular if other programs run.
        with threadpool_limits(1, user_api="blas"):
            errors = _compared(X, y, splits)
            train, test = train_test_split(
                np.arange(len(y)), train_size=SHOWN, stratify=y, random_state=0
            )
            train, test = np.sort(train), np.sort(test)
            model = SmoothEmbedding().fit(X[train], y[train])
            model.plot(X[test], y[test]).save(out / "embedding.png")
        table = error_columns(errors, splits)
        write_columns(out / "embedding.csv", _samples(model, X, y, train))
        write_columns(out / "errors.csv", table)
        wrong = int((model.predict(X[test]) != y[test]).sum())
        screen.result = {"files": [str(out / name) for name in FILES], "errors": list(table_rows(table))}
        means = f"means ± standard errors of {splits} splits" if splits > 1 else "one split"
        screen.say(f"Test error in percent, {means}:")
        screen.show(screen_table(errors))
        share = f"{wrong / len(test):.1%}"
        screen.say(f"In the class map, {wrong} of {len(test)} new digits are wrong ({share}).")
        screen.say(f"Files: {', '.join(str(out / name) for name in FILES)}.")
        screen.say("Next: nsse datasets digits --out photos, nsse fit photos/train --out model.nsse.")


def methods(X: SamplesLike, y: LabelsLike) -> Iterator[tuple[str, Any]]:
    """Yield the name and the fitted model of each method."""
    import numpy as np
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from nsse import SmoothEmbedding, SmoothEmbeddingCV
    from nsse.augment import Images

    shifts = Images((8, 8), rotate=None)
    yield "SmoothEmbedding", SmoothEmbedding().fit(X, y)
    yield "SmoothEmbedding, shifts", SmoothEmbedding(augment=shifts).fit(X, y)
    yield "SmoothEmbeddingCV", SmoothEmbeddingCV().fit(X, y)
    yield "SVM", SVC(C=10).fit(X, y)
    yield "SVM, shifts", SVC(C=10).fit(np.vstack([X, *shifts(X)]), np.tile(y, 1 + shifts.n_copies))
    yield "LDA, shrinkage", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    yield "1-NN", KNeighborsClassifier(1).fit(X, y)


def _compared(X: SamplesLike, y: LabelsLike, splits: int) -> Errors:
    """Return the test errors of every method and size."""
    from nsse._support.progress import progress_bar
    from nsse.datasets import per_class_split

    errors: dict[tuple[str, int], list[float]] = {}
    with progress_bar(splits * len(SIZES), "Comparing methods", None) as advance:
        for seed in range(splits):
            for size in SIZES:
                train, test = per_class_split(y, size, seed)
                for name, model in methods(X[train], y[train]):
                    wrong = float((model.predict(X[test]) != y[test]).mean())
                    errors.setdefault((name, size), []).append(wrong)
                advance()
    return {key: _mean(values) for key, values in errors.items()}


def _samples(model: Any, X: SamplesLike, y: LabelsLike, train: Any) -> dict[str, list[Any]]:
    """Return the columns of the file of samples: labels and coordinates."""
    is_train = set(train.tolist())
    return {
        "index": list(range(len(y))),
        "set": ["train" if index in is_train else "test" for index in range(len(y))],
        "label": y.tolist(),
        "predicted": model.predict(X).tolist(),
        **{f"y{k + 1}": column.tolist() for k, column in enumerate(model.transform(X).T)},
    }


def error_columns(errors: Errors, splits: int) -> dict[str, list[Any]]:
    """Return columns with one row per method and size. A single split has no standard error."""
    means = errors.values()
    return {
        "method": [method for method, _ in errors],
        "n_per_class": [size for _, size in errors],
        "error_percent": [round(mean, 4) for mean, _ in means],
        "standard_error_percent": ["" if error is None else round(error, 4) for _, error in means],
        "splits": [splits] * len(errors),
    }


def _mean(errors: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the standard error in percent."""
    import numpy as np

    n = len(errors)
    return 100 * float(np.mean(errors)), 100 * float(np.std(errors, ddof=1) / n**0.5) if n > 1 else None


def screen_table(errors: Errors) -> Table:
    """Return a table with methods as rows, sizes as columns, and the smallest means in bold."""
    from rich.text import Text

    table = plain_table("training samples per class", *map(str, SIZES), right=[*map(str, SIZES)])
    least = {size: min(errors[key] for key in errors if key[1] == size) for size in SIZES}
    for method in dict.fromkeys(name for name, _ in errors):
        row = [(errors[method, size], errors[method, size] == least[size]) for size in SIZES]
        table.add_row(method, *(Text(_cell(*own), style="bold" * best) for own, best in row))
    return table


def _cell(mean: float, deviation: float | None) -> str:
    return f"{mean:.1f}" + ("" if deviation is None else f" ± {deviation:.1f}")
