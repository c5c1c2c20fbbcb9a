"""``ocboost fit``: a first model from labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ocboost.cli.options import Count, Following, Format, MaybeCount, Names, Seed, check_out, source
from ocboost.cli.terminal import results, say, stream_progress


def fit(
    data: Path,
    /,
    *,
    label: str,
    out: Path,
    drop: Names = None,
    hypotheses: Count = 100,
    learner: Literal["stump", "ball"] = "stump",
    rows: MaybeCount = None,
    following: Following = Following(),  # noqa: B008
    seed: Seed = 0,
    jobs: int | None = None,
    format: Format | None = None,
) -> int:
    """Learn weak hypotheses and their weights from a file, and save them as a model.

    A model in one line:  ocboost fit data.csv --label y --out model.ocb

    On the first rows of a stream:  ocboost fit stream.csv.gz --label y --drop date --rows 2000 --out model.ocb

    Parameters
    ----------
    data
        CSV, JSON lines or Parquet, gzipped or not; - is standard input.
    label
        The column that holds the class.
    out
        The file for the model; an old one is replaced when the new one is whole.
    drop
        Columns to leave out.
    hypotheses
        Weak hypotheses to learn, for each class if they are more than two.
    learner
        Decision stumps, or balls around examples.
    rows
        Use only so many rows from the beginning.
    seed
        For learners that draw.
    jobs
        Classes learnt at the same time, if they are more than two.
    format
        What the file is, where its name does not say.
    """
    import numpy as np

    from ocboost.classifier import OCBClassifier
    from ocboost.errors import InputError
    from ocboost.model import Model
    from ocboost.streams import open_stream

    check_out(out)
    Xs: list[Any] = []
    ys: list[Any] = []
    seen = unlabelled = 0
    with (
        open_stream(source(data), label=label, drop=tuple(drop or ()), format=format) as stream,
        stream_progress("reading") as show,
    ):
        for note in stream.notes:
            say(note)
        for batch in stream:
            part = slice(None) if rows is None else slice(rows - seen)
            known = batch.known[part]
            assert batch.y is not None
            Xs.append(batch.X[part][known])
            ys.append(batch.y[part][known])
            seen += len(known)
            unlabelled += int((~known).sum())
            show(stream, seen, "")
            if seen == rows:
                break
        schema = stream.schema
    X, y = np.concatenate(Xs), np.concatenate(ys)
    if len(y) == 0 or (y == y[0]).all():
        what = f"is {y[0]!s:.40} in all {len(y):,} rows" if len(y) else "is missing in all rows"
        raise InputError(f"the label column '{label}' must hold at least two classes; it {what}.")
    clf = OCBClassifier(learner, hypotheses, n_jobs=jobs, random_state=seed, **following.settings())
    with stream_progress("learning") as show:
        show(None, 0, f"{hypotheses} hypotheses from {len(y):,} rows of {X.shape[1]} features")
        clf.fit(X, y)
    event = {"event": "fit", "stream": data.name, "rows": seen, "learnt": len(y)}
    Model(clf, schema, [event]).save(out)

    console = results()
    found = len(clf.hypotheses_)
    right = float(np.mean(clf.predict(X) == y))
    console.print(
        f"Learnt {found:,} hypotheses for {len(clf.classes_)} classes from {len(y):,} rows of "
        f"{X.shape[1]:,} features; right on {right:.1%} of them.",
        soft_wrap=True,
    )
    if unlabelled:
        console.print(f"{unlabelled:,} rows had no label and were left out.", soft_wrap=True)
    console.print(f"Wrote {out}", soft_wrap=True, markup=False)
    return 0
