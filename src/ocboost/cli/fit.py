"""``ocboost fit``: a first model from labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ocboost._core.escaping import shown
from ocboost.cli.decisions import DecisionOptions
from ocboost.cli.files import check_apart, check_out, require_files
from ocboost.cli.options import (
    Count,
    Data,
    Drop,
    FileFormat,
    Jobs,
    MaybeCount,
    MethodOptions,
    Names,
    Seed,
    UsageError,
    source,
)
from ocboost.cli.terminal import after_writing, results, say, stream_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocboost.streams import Stream

FEW_ROWS_PER_CLASS = 50  # fewer, and accuracy on them means nothing


def fit(
    data: Data,
    /,
    *,
    label: str,
    out: Path,
    drop: Drop = None,
    hypotheses: Count = 100,
    learner: Literal["stump", "ball"] = "stump",
    classes: Names = None,
    rows: MaybeCount = None,
    work: Path | None = None,
    options: MethodOptions = MethodOptions(),  # noqa: B008
    decisions: DecisionOptions = DecisionOptions(),  # noqa: B008
    seed: Seed = 0,
    jobs: Jobs = None,
    format: FileFormat = None,
) -> int:
    """Make a model from the rows of a file or a folder, ready to keep learning.

    A model in one line:
        ocboost fit data.csv --label y --out model.ocb

    Online Coordinate Boosting alone, that remembers the last 200 examples:
        ocboost fit data.csv --label y --method ocb --window 200 --out model.ocb

    Logistic regression over weak hypotheses, and nothing else:
        ocboost fit data.csv --label y --method logistic --out model.ocb

    Where one class is rare, or an error of one kind costs more:
        ocboost fit data.csv --label y --class-weight balanced --out model.ocb
        ocboost fit data.csv --label y --costs costs.csv --out model.ocb

    On the first rows of a stream:
        ocboost fit stream.csv.gz --label y --drop date --rows 2000 --out model.ocb

    On a folder of Parquet, CSV or JSON-lines files, larger than memory:
        ocboost fit folder/ --label y --out model.ocb

    The model is an AdaptiveClassifier: a bank of methods over weak hypotheses,
    mixed as they prove right, with nothing to choose. With another --method, or
    one of the options that say what is remembered, it is an OCBClassifier: one
    method that weights the hypotheses. The order of the rows matters.

    From a folder, stumps are found in all rows and weighted by AdaBoost. They
    are the deployed member of an AdaptiveClassifier, or with --method ocb an
    OCBClassifier. After a stop the same line goes on from where it was.

    Parameters
    ----------
    label
        The column that holds the class.
    out
        The file for the model; an old one is replaced when the new one is complete.
    hypotheses
        Weak hypotheses to learn, for each class if there are more than two.
    learner
        Decision stumps, or balls around examples; only an OCBClassifier has balls, and they make one.
    classes
        Classes that will come later, if these rows do not hold them all.
    rows
        Use only so many rows from the beginning.
    work
        For a folder of files: where to work, by default beside OUT. It takes a byte for each feature of a
        row, is kept after a stop, and is removed at the end.
    seed
        For what is drawn.
    jobs
        Classes learnt at the same time by an OCBClassifier, if there are more than two; -1 takes every core.
    """
    require_files(data)

    import numpy as np

    from ocboost._core.file_lock import locked
    from ocboost.cli.decisions import decision_parameters
    from ocboost.cli.method import makes_adaptive, parameters_to_fit
    from ocboost.deployment.model import Model
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.streams import open_stream

    if data.is_dir():
        from ocboost.cli.fit_folder import FolderOptions, fit_from_folder

        given = {"--classes": classes, "--jobs": jobs, "--learner": learner if learner != "stump" else None}
        chosen = FolderOptions(data, label, out, tuple(drop or ()), hypotheses, rows, work, seed, format)
        return fit_from_folder(chosen, options, decisions, {k: v for k, v in given.items() if v is not None})
    if work is not None:
        raise UsageError("--work is for a folder of files; a file is read at once. Leave it out.")
    settings, parameters, decided = options.settings(), None, decisions.given()
    if not makes_adaptive(options, learner):
        parameters = parameters_to_fit(options.method or "ocb", settings, hypotheses)
    elif jobs is not None:
        say("--jobs is for an OCBClassifier; an adaptive model is fitted in one thread.")
    check_out(out, data)
    check_apart(out, data=data)
    with after_writing("the model", out) as written:
        with locked(out):
            with open_stream(source(data), label=label, drop=tuple(drop or ()), format=format) as stream:
                X, y, n_read = _read(stream, rows, needs_every_number=learner == "ball")
                schema = stream.schema
            _check_classes(y, label)
            known = _all_classes(y, classes, label) if classes else np.unique(y)
            rule = decision_parameters(decided, known.tolist())
            clf: OCBClassifier | AdaptiveClassifier = AdaptiveClassifier(
                n_hypotheses=hypotheses, random_state=seed, **rule
            )
            if parameters is not None:
                clf = OCBClassifier(learner, hypotheses, n_jobs=jobs, random_state=seed, **parameters, **rule)
            with stream_progress("learning") as show:
                show(
                    None, 0, f"up to {hypotheses:,} hypotheses from {len(y):,} rows of {X.shape[1]} features"
                )
                if not classes:
                    clf.fit(X, y)
                else:
                    clf.partial_fit(X, y, classes=known)
            event = {"event": "fit", "stream": shown(data.name), "rows": n_read, "learnt": len(y)}
            if isinstance(clf, AdaptiveClassifier):  # `adapt` may name the line that fits another model
                given = {"drop": sorted(drop or ()), "classes": list(classes or ()), "seed": seed}
                event |= {key: value for key, value in given.items() if value}
            model = Model(clf, schema, [event])
            model.save(out)
            written()
        console = results()
        found = 0 if model.hypotheses is None else len(model.hypotheses)
        learnt = f"{found:,} {'hypothesis' if found == 1 else 'hypotheses'}"
        from_rows = f"for {len(clf.classes_):,} classes from {len(y):,} rows of {X.shape[1]:,} features"
        if isinstance(clf, AdaptiveClassifier):
            members = f"an adaptive model of {len(clf.members_):,} members, with {learnt},"
            console.print(f"Learnt {members} {from_rows}.", soft_wrap=True)
            if not found:
                say(f"{len(y):,} rows are too few for weak hypotheses; adapt finds them when it has more.")
        else:
            right = float(np.mean(clf.predict(X) == y))
            console.print(f"Learnt {learnt} {from_rows}; right on {right:.1%} of them.", soft_wrap=True)
            if len(y) < FEW_ROWS_PER_CLASS * len(np.unique(y)):
                say(
                    f"{len(y):,} rows are few, less than {FEW_ROWS_PER_CLASS} for each class: “right on "
                    f"{right:.1%}” is about the very rows it learnt from, and says little about others. Give "
                    f"more rows, or test it on others: ocboost evaluate others.csv --model {shown(out.name)}."
                )
        if n_read > len(y):
            n = n_read - len(y)
            left = "1 row had no label and was" if n == 1 else f"{n:,} rows had no label and were"
            console.print(f"{left} left out.", soft_wrap=True)
        console.print(f"Wrote {out}", soft_wrap=True)
    return 0


def _read(stream: Stream, rows: int | None, *, needs_every_number: bool) -> tuple[Any, Any, int]:
    """Features and labels of the first rows that have a label, and how many rows were read."""
    import numpy as np

    from ocboost.cli.columns import require_complete

    Xs, ys, n_read = [], [], 0
    for note in stream.notes:
        say(note)
    with stream_progress("reading") as show:
        for batch in stream:
            if rows is not None:
                batch = batch[: rows - n_read]
            if needs_every_number:
                require_complete(batch, stream, "balls")
            Xs.append(batch.X[batch.known])
            assert batch.y is not None
            ys.append(batch.y[batch.known])
            n_read += len(batch)
            show(stream, n_read, "")
            if n_read == rows:
                break
    return np.concatenate(Xs), np.concatenate(ys), n_read


def _all_classes(y: NDArray[Any], later: list[str], label: str) -> NDArray[Any]:
    """The classes of the rows, and those that will come later."""
    import numpy as np

    words = {"true": True, "false": False}
    try:
        more = [
            words[w.lower()] if y.dtype.kind == "b" else w if y.dtype.kind == "O" else y.dtype.type(w)
            for w in later
        ]
    except (KeyError, ValueError):
        kind = {"b": "true and false", "i": "whole numbers", "f": "numbers"}[y.dtype.kind]
        raise InputError(
            f"--classes must be {kind}, as the column '{label}' is; got {' '.join(later)!r:.80}."
        ) from None
    return np.unique(np.concatenate([y, np.array(more, dtype=y.dtype)]))


def _check_classes(y: NDArray[Any], label: str) -> None:
    """Refuse labels that are no classes: a single one, or measurements."""
    import numpy as np

    from ocboost._core.labels import require_class_labels

    if len(np.unique(y)) < 2:
        what = f"is {shown(y[0])!s:.40} in all {len(y):,} rows" if len(y) else "is missing in all rows"
        raise InputError(f"the label column '{label}' must hold at least two classes; it {what}.")
    require_class_labels(y, f"the label column '{label}'")
