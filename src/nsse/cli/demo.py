"""``nsse demo``: what NSSE does with scikit-learn's digits, in a picture and a table.

NSSE has its default parameters, and all methods see the same splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsse._support.names import shown as plain
from nsse.cli.demo_tables import SIZES, embedding_rows, error_rows, finding, screen_table
from nsse.cli.files import prepare_folder, write_csv
from nsse.cli.options import Json
from nsse.cli.screen import running

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from nsse.evaluation import Fit, Summary
    from nsse.report import PolygonView

SHOWN_SIZE, SHOWN_SEED = 60, 0
_FILES = "embedding.png", "embedding.svg", "embedding.csv", "errors.csv"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results; made if need be.")] = Path("demo"),
    splits: Annotated[int, typer.Option(min=1, help="Random splits behind every mean.")] = 10,
    as_json: Json = False,
) -> None:
    """Embed scikit-learn's digits: a picture, a table of errors and a CSV, in seconds."""
    from rich.console import Console

    with running(as_json) as screen:
        console = Console(highlight=False)
        prepare_folder(out)
        summaries, shown = _run(out, splits, console)
        header, rows = error_rows(summaries)
        screen.result = {
            "files": [str(out / name) for name in _FILES],
            "errors": [dict(zip(header, row, strict=True)) for row in rows],
        }
        if not as_json:
            console.print(screen_table(summaries))
        _conclude(console, summaries, shown, out)


def _run(out: Path, splits: int, console: Console) -> tuple[list[Summary], _Shown]:
    from sklearn.datasets import load_digits
    from threadpoolctl import threadpool_limits

    from nsse.report import require_matplotlib

    require_matplotlib()
    X, y = load_digits(return_X_y=True)
    # Matrices of this size are faster on one thread of BLAS, most of all beside other programs.
    with _progress(console) as progress, threadpool_limits(1, user_api="blas"):
        summaries = _compare(X, y, splits, progress)
        task = progress.add_task("Drawing the embedding", total=None)
        shown = _embed(X, y)
        _save(out, _draw(shown, X), shown, summaries)
        progress.update(task, total=1, completed=1)
    return summaries, shown


def _progress(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console)


def methods() -> dict[str, Any]:
    """NSSE and three others as they come."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from nsse.estimators import NSSE

    return {
        "NSSE": NSSE(),
        "1-NN": KNeighborsClassifier(1),
        "SVM": SVC(C=10),
        "LDA": LinearDiscriminantAnalysis(),
    }


def _compare(X: Any, y: Any, splits: int, progress: Progress) -> list[Summary]:
    from nsse.evaluation import compare, summarize

    compared = methods()
    task = progress.add_task("Comparing methods", total=splits * len(SIZES) * len(compared))
    fits: list[Fit] = []
    for fit in compare(compared, X, y, SIZES, range(splits)):
        fits.append(fit)
        done = f"Comparing methods, split {fit.seed + 1} of {splits}"
        progress.update(task, advance=1, description=done)
    return summarize(fits)


@dataclass(frozen=True, eq=False)
class _Shown:
    """What the picture shows: one split, the NSSE fitted to it, and each method's view of it."""

    train: Any
    test: Any
    labels: Any
    embedding: Any  # of all samples
    predicted: Any  # of all samples
    views: list[PolygonView]


def _embed(X: Any, y: Any) -> _Shown:
    """Fit NSSE on the split of the picture, and LDA and PCA of the same dimension beside it."""
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from nsse.certificates import answers
    from nsse.estimators import NSSE
    from nsse.evaluation import per_class_split
    from nsse.report import polygon_view

    train, test = per_class_split(y, SHOWN_SIZE, SHOWN_SEED)
    model = NSSE().fit(X[train], y[train])
    d = model.embedding_.shape[1]
    others = {"LDA": LinearDiscriminantAnalysis(n_components=d), "PCA": PCA(d)}
    said = answers(model, X, bound=None)
    embedded = {name: other.fit(X[train], y[train]).transform(X) for name, other in others.items()}
    parts = said.embedding[train], y[train], said.embedding[test], y[test]
    views = [polygon_view("NSSE", *parts, said.label[test])]
    views += [_view(name, Y, y, train, test) for name, Y in embedded.items()]
    return _Shown(train, test, y, said.embedding, said.label, views)


def _view(name: str, Y: Any, y: Any, train: Any, test: Any) -> PolygonView:
    """See embedded samples, labelled by the nearest training sample there."""
    from sklearn.neighbors import KNeighborsClassifier

    from nsse.report import polygon_view

    predicted = KNeighborsClassifier(1).fit(Y[train], y[train]).predict(Y[test])
    return polygon_view(name, Y[train], y[train], Y[test], y[test], predicted)


def _draw(shown: _Shown, X: Any) -> Any:
    from nsse.report import embedding_figure

    caption = (
        f"scikit-learn’s digits, {SHOWN_SIZE} per class for training. NSSE labels by scores that are"
        " linear in its map; in the other embeddings a sample gets that of its nearest training sample."
    )
    images = X[shown.test].reshape(-1, 8, 8)
    return embedding_figure(
        shown.views[0], shown.views[1:], images=images, noun="digits", caption=caption
    )


def _save(out: Path, figure: Any, shown: _Shown, summaries: list[Summary]) -> None:
    from nsse.report import save_figure

    for kind in ("png", "svg"):
        save_figure(figure, out / f"embedding.{kind}", kind)
    columns = shown.train, shown.labels, shown.predicted, shown.embedding
    write_csv(out / "embedding.csv", *embedding_rows(*columns))
    write_csv(out / "errors.csv", *error_rows(summaries))


def _conclude(console: Console, summaries: list[Summary], shown: _Shown, out: Path) -> None:
    """Say what was found, where it is, and what to try next."""
    view = shown.views[0]
    for line in (
        f"Found: {finding(summaries)}",
        f"In the picture, NSSE mislabels {view.wrong.size} of {len(view.test)} unseen digits.",
        f"Files: {', '.join(str(out / name) for name in _FILES)}.",
        "Next: nsse demo --splits 30, or NSSE().fit(X, y).transform(X_new) with data of your own.",
    ):
        console.print(plain(line), markup=False, soft_wrap=True)
