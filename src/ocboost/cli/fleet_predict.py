"""``ocboost fleet predict``: the predictions of a fleet, as CSV on standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from ocboost._core.escaping import shown
from ocboost.cli.decisions import DecisionOptions, decision_parameters
from ocboost.cli.files import require_files
from ocboost.cli.fleet_shared import KeyColumn, StoreFolder, opened_store, votes_of
from ocboost.cli.options import Count, DropUnknown, FileFormat, Flag
from ocboost.cli.outputs import PredictionLines
from ocboost.cli.predict import Unlabelled
from ocboost.cli.terminal import say, stream_progress


def predict(
    store: StoreFolder,
    data: Unlabelled,
    /,
    *,
    key: KeyColumn,
    all: Flag = False,
    drop: DropUnknown = None,
    decisions: DecisionOptions = DecisionOptions(),  # noqa: B008
    batch: Count = 10_000,
    format: FileFormat = None,
) -> int:
    """Predict the class of each row with the weights of its key: CSV on standard output.

    To a file:
        ocboost fleet predict store/ new.csv --key customer > predictions.csv

    With the probability of every class:
        ocboost fleet predict store/ new.csv --key customer --all

    Row by row as they come from another program:
        producer | ocboost fleet predict store/ - --key customer --batch 1

    A key that the store does not know is predicted as one that has learnt nothing
    of its own yet. The store is only read, also while `ocboost fleet adapt` learns;
    each batch is predicted with what was learnt until then.

    Parameters
    ----------
    all
        A column for each class's probability, instead of only that of the predicted one.
    batch
        Rows read, and written, at once.
    """
    require_files(data)

    import numpy as np

    from ocboost.cli.columns import check_missing, open_for
    from ocboost.estimators.committee import probabilities

    given = decisions.given()
    with opened_store(Path(store), read_only=True) as fleet:
        clf, model = fleet.classifier, fleet.model
        clf.set_params(**decision_parameters(given, clf.classes_.tolist()))
        labels = clf.classes_.tolist()
        if sys.stdout.isatty():  # a file gets them unescaped
            labels = [shown(label) for label in labels]
        lines = PredictionLines(labels, [f"p({label})" for label in labels] if all else ["probability"])
        with (
            open_for(
                model, data, batch_size=batch, drop=drop, format=format, need_label=False, key=key
            ) as stream,
            stream_progress("predicting") as show,
        ):
            for note in stream.notes:
                say(note)
            sys.stdout.write(lines.header)
            for rows in stream:
                check_missing(rows, stream, model.hypotheses)
                votes = votes_of(fleet, rows.keys, rows.X)
                codes, table = clf.decided_by_votes(votes), probabilities(votes)
                columns = table if all else table[np.arange(len(codes)), codes][:, None]
                for code, row in zip(codes.tolist(), columns.tolist(), strict=True):
                    sys.stdout.write(lines.line(code, row))
                sys.stdout.flush()  # so that a reader gets whole batches
                show(stream, rows.first + len(rows), "")
    return 0
