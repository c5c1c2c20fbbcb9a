"""``ocboost predict``: a model's predictions, as CSV on standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ocboost._core.escaping import shown
from ocboost.cli.decisions import DecisionOptions, decision_parameters
from ocboost.cli.files import require_files
from ocboost.cli.options import Count, Data, DropUnknown, FileFormat, Flag
from ocboost.cli.outputs import PredictionLines
from ocboost.cli.terminal import say, stream_progress

Unlabelled = Annotated[
    Data,
    Parameter(
        help="CSV, JSON lines or Parquet, gzipped or not; - is standard input. A label column is not needed."
    ),
]


def predict(
    model: Path,
    data: Unlabelled,
    /,
    *,
    all: Flag = False,
    drop: DropUnknown = None,
    decisions: DecisionOptions = DecisionOptions(),  # noqa: B008
    batch: Count = 10_000,
    format: FileFormat = None,
) -> int:
    """Predict the class of each row of a file: CSV on standard output, in the order of the rows.

    To a file:
        ocboost predict model.ocb data.csv > predictions.csv

    With the probability of every class:
        ocboost predict model.ocb data.csv --all

    With another threshold than the model's, this time:
        ocboost predict model.ocb data.csv --threshold 0.3

    Row by row as they come from another program:
        producer | ocboost predict model.ocb - --batch 1

    Parameters
    ----------
    model
        A model made by `ocboost fit` or `ocboost adapt`, its checkpoint, or a classifier saved in Python. It
        stays as it is.
    all
        A column for each class's probability, instead of only that of the predicted one.
    batch
        Rows read, and written, at once.
    """
    require_files(model, data)

    import numpy as np

    from ocboost.cli.columns import check_missing, open_for
    from ocboost.deployment.model import Model

    given = decisions.given()
    deployed = Model.load(model)
    deployed.classifier.set_params(**decision_parameters(given, deployed.classifier.classes_.tolist()))
    labels = deployed.classifier.classes_
    if sys.stdout.isatty():  # a file gets them unescaped
        labels = np.array([shown(label) for label in labels.tolist()], object)
    lines = PredictionLines(labels.tolist(), [f"p({c})" for c in labels] if all else ["probability"])
    with (
        open_for(deployed, data, batch_size=batch, drop=drop, format=format, need_label=False) as stream,
        stream_progress("predicting") as show,
    ):
        for note in stream.notes:
            say(note)
        sys.stdout.write(lines.header)
        for rows in stream:
            check_missing(rows, stream, deployed.hypotheses)
            codes, table = deployed.answers_to(rows)
            columns = table if all else table[np.arange(len(codes)), codes][:, None]
            for code, row in zip(codes.tolist(), columns.tolist(), strict=True):
                sys.stdout.write(lines.line(code, row))
            sys.stdout.flush()  # so that a reader gets whole batches
            show(stream, rows.first + len(rows), "")
    return 0
