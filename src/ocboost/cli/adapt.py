"""``ocboost adapt``: a model goes on learning from a stream, and loses nothing however it ends."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost.cli.options import Count, Flag, Following, Format, Names, check_out, source
from ocboost.cli.terminal import results, say, stream_progress
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    from ocboost.adaptation import Adaptation
    from ocboost.model import Model
    from ocboost.streams import Stream

READ = 500  # rows read at once
Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0))]


def adapt(
    model: Path,
    stream: Path,
    /,
    *,
    out: Path,
    resume: Flag = False,
    restart: Flag = False,
    label: str | None = None,
    drop: Names = None,
    following: Following = Following(),  # noqa: B008
    batch: Count = 1,
    checkpoint_rows: Count = 50_000,
    checkpoint_seconds: Seconds = 30.0,
    format: Format | None = None,
) -> int:
    """Let a model go on learning from a stream: it predicts each row, then learns from it.

    The model follows the stream:  ocboost adapt model.ocb stream.csv --out model.ocb

    It changes fast, so remember little:  ocboost adapt model.ocb stream.csv --out model.ocb --window 200

    From another program:  producer | ocboost adapt model.ocb - --out model.ocb

    After an interruption, of whatever kind:  the same command with --resume

    On the way the state is kept beside the model, in OUT.checkpoint. The model itself is written at the end.

    Parameters
    ----------
    model
        A model made by `ocboost fit`, or an OCBClassifier saved in Python.
    stream
        CSV, JSON lines or Parquet, gzipped or not; - is standard input.
    out
        The file for the adapted model; it may be the same as MODEL.
    resume
        Go on from the checkpoint of a run that was interrupted. The result is the same as without the
        interruption.
    restart
        Throw away such a checkpoint, and begin anew.
    label
        The column that holds the class, if it is another than the model was fitted with.
    drop
        Columns to leave out; only for a model that does not know its columns.
    batch
        Rows predicted before any of them is learnt. More of them are faster, and show a model that is as much
        older; what it has learnt in the end is the same.
    checkpoint_rows
        Keep the state after so many rows,
    checkpoint_seconds
        or after so many seconds, whichever comes first.
    format
        What the file is, where its name does not say.
    """
    from ocboost.adaptation import Adaptation, model_digest, run_id
    from ocboost.model import Model

    if resume and restart:
        raise InputError("--resume and --restart exclude each other: go on, or begin anew.")
    check_out(out)
    checkpoint = out.with_name(out.name + ".checkpoint")
    given = {
        "settings": following.settings(),
        "label": label,
        "drop": sorted(drop or ()),
        "batch": batch,
    }
    begun: Adaptation | None = None
    if checkpoint.exists() and resume:
        begun = Adaptation.load(checkpoint)
    elif checkpoint.exists() and not restart:
        rows = Adaptation.load(checkpoint).rows
        raise InputError(
            f"'{checkpoint}' holds a run that was interrupted after {rows:,} rows. Give --resume to go on from "
            "there, or --restart to begin anew."
        )
    deployed = begun.model if begun is not None else Model.load(model)
    skip = 0 if begun is None else begun.rows
    with _opened(stream, deployed, label, tuple(drop or ()), batch, format, skip) as rows_of:
        origin = {**given, "model": model_digest(model), "stream": rows_of.fingerprint()}
        if begun is not None:
            _check_same(begun, origin, rows_of, checkpoint)
        elif resume and _is_done(out, run_id(origin)):
            say(f"nothing to resume: '{out}' has been through this stream already.")
            return 0
        elif resume:
            say("no checkpoint was found; beginning at the first row.")
        adaptation = begun
        if adaptation is None:
            adaptation = Adaptation(deployed, origin)
            deployed.classifier.set_params(**following.settings())
            deployed.classifier._follow_settings()
        for note in rows_of.notes:
            say(note)
        _run(adaptation, rows_of, batch, checkpoint, checkpoint_rows, checkpoint_seconds)
    adaptation.finish(stream.name if str(stream) != "-" else "standard input")
    # The finished state first: whatever happens between here and the end, it is there to be taken up.
    adaptation.save(checkpoint)
    adaptation.model.save(out)
    checkpoint.unlink()
    _report(adaptation, out)
    return 0


def _opened(
    path: Path, model: Model, label: str | None, drop: tuple[str, ...], step: int, format: Any, skip: int
) -> Stream:
    """The stream, read as the model's columns; or as numbers, if it does not know its columns."""
    from ocboost.cli.columns import columns_for
    from ocboost.streams import open_stream

    schema, label = columns_for(model, label)
    rows = -(-READ // step) * step  # whole steps, so that they are the same ones after an interruption
    opened = open_stream(
        source(path), label=label, drop=drop, schema=schema, batch_size=rows, format=format, skip=skip
    )
    if opened.schema.n_features != model.classifier.n_features_in_:
        n, found = model.classifier.n_features_in_, opened.schema.n_features
        opened.close()
        raise InputError(
            f"the stream must have the {n} features of the model, in its order, besides the label; it has "
            f"{found}. Leave others out with --drop."
        )
    return opened


def _check_same(begun: Adaptation, origin: dict[str, Any], stream: Stream, checkpoint: Path) -> None:
    """Refuse to go on with another stream, another model or other settings."""
    before = begun.origin
    for key, what in (
        ("settings", "with other settings"),
        ("label", "with another --label"),
        ("drop", "with another --drop"),
        ("batch", "with another --batch"),
        ("model", "with another model"),
    ):
        changed = before.get(key) != origin[key]
        if changed and not (key == "model" and begun.finished):  # the finished model may be in its place
            raise InputError(
                f"'{checkpoint}' belongs to a run {what}. Give the same ones, or --restart to begin anew."
            )
    if before.get("stream") is not None and not stream.matches(before["stream"]):
        raise InputError(
            f"'{checkpoint}' belongs to another stream, or to one whose beginning has changed. Give the same one, "
            "or --restart to begin anew."
        )


def _is_done(out: Path, run: str) -> bool:
    """Whether the model has come to its end before, and only its checkpoint was removed."""
    from ocboost.model import Model

    if not out.exists():
        return False
    history = Model.load(out).history
    return bool(history) and history[-1].get("run") == run


def _run(
    adaptation: Adaptation, stream: Stream, step: int, checkpoint: Path, every: int, seconds: float
) -> None:
    kept_rows, kept_at = adaptation.rows, time.monotonic()
    if adaptation.finished:
        return
    with stream_progress("adapting") as show:
        try:
            for batch in stream:
                adaptation.take(batch, step)
                if adaptation.rows - kept_rows >= every or time.monotonic() - kept_at >= seconds:
                    adaptation.save(checkpoint)
                    kept_rows, kept_at = adaptation.rows, time.monotonic()
                show(stream, adaptation.rows, _in_short(adaptation))
        except (KeyboardInterrupt, OcboostError, OSError) as error:
            adaptation.save(checkpoint)
            say(
                f"stopped after {adaptation.rows:,} rows, kept in '{checkpoint}'; --resume goes on from there."
            )
            raise error


def _in_short(adaptation: Adaptation) -> str:
    if adaptation.accuracy is None or adaptation.recent_accuracy is None:
        return ""
    return f"right: {adaptation.accuracy:.1%}, lately {adaptation.recent_accuracy:.1%}"


def _report(adaptation: Adaptation, out: Path) -> None:
    from rich.table import Table

    console = results()
    classes = adaptation.model.classifier.classes_.tolist()
    console.print("Each row was predicted, then learnt:")
    table = Table()
    table.add_column("class")
    for heading in ("rows", "right"):
        table.add_column(heading, justify="right")
    shown = list(zip(classes, adaptation.confusion, strict=True))[:20]
    for code, (label, row) in enumerate(shown):
        share = f"{row[code] / row.sum():.1%}" if row.sum() else "–"
        table.add_row(str(label), f"{row.sum():,}", share)
    total = adaptation.accuracy
    table.add_row("all", f"{adaptation.learnt:,}", f"{total:.1%}" if total is not None else "–", style="bold")
    console.print(table)
    missing = adaptation.rows - adaptation.learnt
    if missing:
        console.print(f"{missing:,} rows had no label and were not learnt.", soft_wrap=True)
    console.print(f"Wrote {out}", soft_wrap=True, markup=False)
