"""``ocboost predict``: a model's answers, as CSV on standard output."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from ocboost._core.escaping import shown
from ocboost.cli.options import Count, Data, Flag, Format, Names
from ocboost.cli.terminal import say, stream_progress


def predict(
    model: Path,
    data: Data,
    /,
    *,
    all: Flag = False,
    drop: Names = None,
    batch: Count = 10_000,
    format: Format | None = None,
) -> int:
    """Predict the class of each row of a file: CSV on standard output, in the order of the rows.

    To a file:
        ocboost predict model.ocb data.csv > predictions.csv

    With the probability of every class:
        ocboost predict model.ocb data.csv --all

    Row by row as they come from another program:
        producer | ocboost predict model.ocb - --batch 1

    Parameters
    ----------
    model
        A model made by `ocboost fit` or `ocboost adapt`, or an OCBClassifier saved in Python.
    data
        CSV, JSON lines or Parquet, gzipped or not; - is standard input. A label column is not needed.
    all
        A column for each class's probability, instead of that of the predicted one.
    drop
        Columns to leave out; only for a model that does not know its columns.
    batch
        Rows read, and written, at once.
    format
        What the file is, where its name does not say.
    """
    import numpy as np

    from ocboost.cli.columns import open_for, require_complete
    from ocboost.deployment.model import Model
    from ocboost.estimators.committee import probabilities, winners

    deployed = Model.load(model)
    clf = deployed.classifier
    labels = clf.classes_
    if sys.stdout.isatty():  # a file gets them as they are
        labels = np.array([shown(label) for label in labels.tolist()], object)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    with (
        open_for(deployed, data, batch_size=batch, drop=drop, format=format, need_label=False) as stream,
        stream_progress("predicting") as show,
    ):
        for note in stream.notes:
            say(note)
        writer.writerow(["prediction", *([f"p({c})" for c in labels] if all else ["probability"])])
        names = stream.schema.feature_names
        for rows in stream:
            if not clf.hypotheses_.accepts_missing:
                require_complete(rows.X, names, rows.first, clf.hypotheses_.kind.lower())
            votes = clf.committee_.votes(rows.X)
            codes, table = winners(votes), probabilities(votes)
            shares = table if all else table[np.arange(len(codes)), codes][:, None]
            for label, row in zip(labels[codes].tolist(), shares.tolist(), strict=True):
                writer.writerow([label, *(f"{p:.6g}" for p in row)])
            sys.stdout.flush()  # whoever reads has the whole batch
            show(stream, rows.first + len(rows), "")
    return 0
