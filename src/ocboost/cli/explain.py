"""``ocboost explain``: what carried a prediction, and what has changed since the model was deployed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost.cli.files import check_out, require_files
from ocboost.cli.options import Count, DropUnknown, FileFormat, Flag, MaybeCount, UsageError, no_option
from ocboost.cli.terminal import after_writing, results, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ocboost._report.document import Block
    from ocboost._report.tables import Table
    from ocboost.deployment.model import Model
    from ocboost.estimators.explanation import Explanation, WeightChanges

FORMS = (".svg", ".png", ".html", ".json")
INCHES_A_BAR = 0.34


def explain(
    model: Path,
    data: Annotated[
        Path | None,
        Parameter(
            allow_leading_hyphen=True,
            validator=no_option,
            help="The rows to explain: CSV, JSON lines or Parquet, gzipped or not; - is standard input. A "
            "label column is not needed.",
        ),
    ] = None,
    /,
    *,
    row: Annotated[int | None, Parameter(validator=validators.Number(gte=0))] = None,
    rows: MaybeCount = None,
    top: Count = 10,
    changes: Flag = False,
    out: Path | None = None,
    drop: DropUnknown = None,
    format: FileFormat = None,
) -> int:
    """Say what carried a prediction, or what has changed since the model was deployed.

    The prediction of the first row of a file:
        ocboost explain model.ocb data.csv

    That of the row with the number 41, as a picture:
        ocboost explain model.ocb data.csv --row 41 --out why.svg

    Those of the first three, as a page:
        ocboost explain model.ocb data.csv --rows 3 --out why.html

    Which weights have changed most since the model was deployed:
        ocboost explain model.ocb --changes

    docs/explain.md says what the numbers mean.

    Parameters
    ----------
    model
        A model made by `ocboost fit` or `ocboost adapt`, or a classifier saved in Python. It stays as it is.
    row
        The number of the row to explain; the first is 0.
    rows
        Explain so many rows, the first ones.
    top
        Name so many hypotheses, features and members, those that contribute or have changed most.
    changes
        Show what has changed since the model was deployed, that is fitted or adopted: which hypotheses have
        gained or lost most weight, and which members most share. Not known of models that an earlier version
        has written.
    out
        Write it to a file as well: a picture (.svg or .png), a page (.html) or numbers (.json).
    """
    if row is not None and rows is not None:
        raise UsageError("--row and --rows exclude each other: one row, or the first ones.")
    if data is None and not changes:
        raise UsageError("name a file with rows to explain, or --changes.")
    if data is None and (row is not None or rows is not None):
        raise UsageError(f"{'--rows' if row is None else '--row'} needs a file with rows to explain.")
    if out is not None:
        _check_form(out, 0 if data is None else rows or 1)
        check_out(out, model, *([] if data is None else [data]))
    require_files(model, data)

    from ocboost.deployment.model import Model
    from ocboost.estimators.explaining import changes as changes_of

    deployed = Model.load(model)
    first = row or 0
    why = [] if data is None else _explained(deployed, data, first, rows or 1, top, drop, format)
    changed = changes_of(deployed.classifier, top, deployed.schema) if changes else None
    if out is None:
        _print(why, first, changed)
        return 0
    content = _content(out, model, why, first, changed)
    with after_writing("the explanation", out) as written:
        _write(out, content)
        written()
        _print(why, first, changed)
    return 0


def _check_form(out: Path, n_rows: int) -> None:
    """Refuse a file that cannot be written, before the work."""
    from ocboost._report.figures import require_matplotlib
    from ocboost._report.page import require_packages

    form = out.suffix.lower()
    if form not in FORMS:
        raise UsageError(f"--out must end in {', '.join(FORMS[:-1])} or {FORMS[-1]}; got {str(out)!r:.80}.")
    if form == ".html":
        require_packages()
    elif form != ".json":
        require_matplotlib()
        if n_rows > 1:
            raise UsageError(f"a picture shows one row; got --rows {n_rows}. Write a page, or take --row.")


def _explained(
    model: Model, data: Path, first: int, n: int, top: int, drop: Any, format: Any
) -> list[Explanation]:
    from ocboost.cli.columns import check_missing, open_for
    from ocboost.errors import InputError
    from ocboost.estimators.explaining import explanations
    from ocboost.streams.records import TooShortError

    found: list[Explanation] = []
    with (
        suppress(TooShortError),
        open_for(
            model, data, batch_size=min(n, 1000), drop=drop, format=format, need_label=False, skip=first
        ) as stream,
    ):
        for note in stream.notes:
            say(note)
        for rows in stream:
            part = rows[: n - len(found)]
            check_missing(part, stream, model.hypotheses)
            found += explanations(model.classifier, part.X, top, model.schema)
            if len(found) >= n:
                break
    if not found:
        raise InputError(f"--row must be a row of the file; it has no row {first} (the first is row 0).")
    return found


# Output ----------------------------------------------------------------------------------------------------


def _print(why: Sequence[Explanation], first: int, changed: WeightChanges | None) -> None:
    """Everything as tables in the terminal."""
    from rich.text import Text

    console = results()
    parts = [(f"Row {number}: {each.title}", each.tables) for number, each in enumerate(why, first)]
    if changed is not None:
        parts.append((changed.title[0].upper() + changed.title[1:], changed.tables))
    for k, (title, tables) in enumerate(parts):
        if k:
            console.print("")
        console.print(Text(title, style="bold"), soft_wrap=True)
        for table in tables:
            console.print("")
            console.print(_drawn(table))


def _drawn(table: Table) -> Any:
    """A table whose first column may be folded."""
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False)
    for rank, column in enumerate(table.columns):
        drawn.add_column(column, overflow="fold", justify="right" if rank else "left", no_wrap=rank > 0)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row.cells))
    return drawn


def _content(
    out: Path, model: Path, why: Sequence[Explanation], first: int, changed: WeightChanges | None
) -> bytes:
    """The bytes of the file."""
    from ocboost._report.figures import render
    from ocboost._report.output import to_json

    form = out.suffix.lower()
    if form == ".json":
        rows = [{"row": number, **each.to_dict()} for number, each in enumerate(why, first)]
        return to_json(
            {"model": str(model), "rows": rows, "changes": None if changed is None else changed.to_dict()}
        )
    if form == ".html":
        return _page(model, why, first, changed).encode(errors="backslashreplace")
    return render(_figure(why[0] if why else None, changed), "figure")[f"figure{form}"]


def _figure(why: Explanation | None, changed: WeightChanges | None) -> Figure:
    """The features, the hypotheses and the changes, one above the other; without those that are empty."""
    from matplotlib.figure import Figure

    from ocboost._report.figures import any_script, house_style
    from ocboost.estimators.explanation_plot import draw_explanation, draw_weight_changes

    panels: list[tuple[int, Any]] = []
    if why is not None:
        for of, parts in (("features", why.features), ("hypotheses", why.hypotheses)):
            if parts:
                panels.append((len(parts) + 1, lambda ax, of=of: draw_explanation(why, of, ax)))
    if changed is not None and changed.hypotheses:
        panels.append((len(changed.hypotheses), lambda ax: draw_weight_changes(changed, ax)))
    with house_style(), any_script():
        sizes = [1.5 + INCHES_A_BAR * max(n, 2) for n, _ in panels] or [2.0]
        figure = Figure(figsize=(9.0, sum(sizes)), layout="constrained")
        for ax, (_, draw) in zip(
            figure.subplots(len(sizes), 1, squeeze=False, gridspec_kw={"height_ratios": sizes})[:, 0],
            panels or [(0, lambda ax: ax.set_axis_off())],
            strict=True,
        ):
            draw(ax)
            ax.grid(axis="y", visible=False)
    return figure


def _page(model: Path, why: Sequence[Explanation], first: int, changed: WeightChanges | None) -> str:
    from ocboost._report.document import Heading, Illustration, Paragraph, as_html

    blocks: list[Block] = []
    for number, each in enumerate(why, first):
        blocks += [Heading(f"Row {number}"), Paragraph(f"It is predicted as {each.title}.")]
        if each.features or each.hypotheses:
            alt = "What each feature and each hypothesis contributes to the prediction, as bars."
            blocks.append(Illustration(f"row-{number}", _figure(each, None), alt, {}))
        blocks += each.tables
    if changed is not None:
        blocks += [Heading("Since the model was deployed"), Paragraph(f"{changed.title}.")]
        if changed.hypotheses:
            alt = "The weights that have changed most, when the model was deployed and now."
            blocks.append(Illustration("changes", _figure(None, changed), alt, {}))
        blocks += changed.tables
    return as_html(f"Why: {model.name}", blocks)


def _write(out: Path, content: bytes) -> None:
    from ocboost._core.file_format import write_atomically

    write_atomically(out, content)
