"""``ocboost fleet adapt``: every key's model learns from a stream, and an interruption loses nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from ocboost._core.interrupts import Ended, Signals
from ocboost.cli.adapt_learn import Waiting
from ocboost.cli.files import check_side_files, place_of, require_files
from ocboost.cli.fleet_learn import FleetRun, learn
from ocboost.cli.fleet_shared import STORE_FILE, KeyColumn
from ocboost.cli.fleet_sources import FileSource, find_source, first_row, size_to_continue
from ocboost.cli.options import Count, Data, DropUnknown, FileFormat, Flag, MaybeCount, no_option
from ocboost.cli.outputs import PREDICTIONS, RowOutputs
from ocboost.cli.terminal import after_writing, say
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.fleet import Fleet
    from ocboost.streams.open import FileStream

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
Skip = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Lines = Annotated[Path | None, Parameter(allow_leading_hyphen=True, validator=no_option)]


def adapt(
    model: Path,
    stream: Data,
    /,
    *,
    key: KeyColumn,
    store: Annotated[Path, Parameter(validator=no_option)],
    label: str | None = None,
    drop: DropUnknown = None,
    window: MaybeCount = None,
    skip: Skip = 0,
    leave_unseen: Flag = False,
    new: Flag = False,
    batch: Count = 8_000,
    format: FileFormat = None,
    predictions: Lines = None,
) -> int:
    """Let every key's model learn from a stream: each row is predicted, then learnt for its key.

    The store is made if it is not there:
        ocboost fleet adapt model.ocb stream.csv --key customer --store store/

    The log has grown, or the run was interrupted or killed: the same line goes on
    after the rows that are in the store.

    With what was predicted of each row before it was learnt:
        ocboost fleet adapt model.ocb s.csv --key id --store st/ --predictions p.csv

    From another program, which gets an answer to each row:
        producer | ocboost fleet adapt model.ocb - --key id --store st/ --predictions -

    A batch of rows is learnt as a whole, in one transaction. Whatever happens, each
    row is learnt once, and the store ends the same.

    A file that begins with rows that were learnt before is recognized, even under
    another name. Standard input and pipes are not: all of it is learnt, as it
    arrives, until it ends or Ctrl-C or SIGTERM end it in order.

    While this runs nobody else may learn into the store; anybody may read it.

    Parameters
    ----------
    model
        A model made by `ocboost fit`, or a classifier saved in Python, that the store begins with. It is kept
        in the store; later it must be the same. Of an adaptive one the OCB in it is taken.
    store
        The folder of the store.
    label
        The column that holds the class, if it is not the one the model was fitted with.
    window
        Rows that each key remembers, 200 unless the store says otherwise.
    skip
        Skip so many rows at the beginning, such as those the model was fitted on; more if more were learnt
        before.
    leave_unseen
        Leave out rows of a class that the model does not know, instead of stopping there.
    new
        Learn the whole file as a new one, though another has been learnt under its name. Given again after an
        interruption it goes on.
    batch
        Rows of a transaction: larger ones are faster. What is learnt does not depend on it.
    predictions
        Write what is predicted of each row, before it is learnt, to this file or standard output (-): CSV as
        `ocboost predict` writes it, or JSON lines if the stream is that. Rows without a label are predicted
        too. With - all else goes to standard error.
    """
    require_files(model, stream)

    from ocboost.cli.columns import is_endless, open_for
    from ocboost.deployment.model import Model
    from ocboost.fleet import Fleet
    from ocboost.streams.encoding import leave_signals_alone

    check_side_files(store / STORE_FILE, {"--predictions": predictions}, stream=stream, model=model)
    if predictions is not None and place_of(predictions).parent == place_of(store):
        raise InputError(f"--predictions must lie outside the store; got '{predictions}'. Give another name.")
    endless = is_endless(stream)
    if endless:
        leave_signals_alone()
    deployed = Model.load(model)
    with after_writing("what was learnt", store) as written, Signals(in_order=endless) as signals:
        waiting = Waiting(signals) if endless else None
        try:
            opening = open_for(
                deployed,
                stream,
                batch_size=batch,
                label=label,
                label_optional=predictions is not None,
                drop=drop,
                format=format,
                skip=skip,
                tracked=True,
                as_they_come=endless,
                patience=waiting,
                key=key,
            )
        except Ended:
            say("ended before the first row came; nothing was learnt.")
            return 0
        with opening as opened, Fleet(deployed, store=store, window=window) as fleet:
            source = find_source(fleet, opened, stream, new=new)
            first = skip
            if source is not None:
                if source.known_to_end is not None:
                    n = source.known_to_end
                    say(f"nothing new: all {n:,} rows of '{stream}' were learnt before.")
                    return 0
                first = first_row(source, skip)
                opened.start_at(first)
                source.begin(opened, stream)
            for note in opened.notes:
                say(note)
            try:
                waits = endless and predictions is not None and predictions.is_fifo()
                with signals.interruptible() if waits else nullcontext():  # until somebody reads it
                    outputs = _outputs(fleet, source, opened, predictions, waiting)
            except Ended:
                say("ended before anybody read the predictions; nothing was learnt.")
                return 0
            run = FleetRun(fleet, source, predictions, leave_unseen, outputs, first)
            try:
                if not learn(run, opened):
                    return EXIT_TERMINATED if signals.terminated else EXIT_INTERRUPTED
            finally:
                outputs.close()
            written()
            run.print_report(store, stderr=str(predictions) == "-")
    return 0


def _outputs(
    fleet: Fleet,
    source: FileSource | None,
    stream: FileStream,
    predictions: Path | None,
    waiting: Waiting | None,
) -> RowOutputs:
    """What is written row by row; a file of predictions goes on after what belongs to the rows before."""
    sizes = {} if predictions is None else {PREDICTIONS: size_to_continue(source, predictions)}
    outputs = RowOutputs(sizes, bad_rows=None, at_once=waiting is not None)
    if predictions is not None:
        labels = fleet.classifier.classes_.tolist()
        accepts = None if waiting is None else waiting.accepts
        outputs.predict_to(predictions, labels, as_json=stream.is_json, accepts=accepts)
    return outputs
