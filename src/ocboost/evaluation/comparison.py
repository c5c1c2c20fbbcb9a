"""A comparison: any set of methods through a stream side by side, repeated over seeds.

>>> from ocboost.evaluation.board import Board
>>> from ocboost.evaluation.methods import methods_named
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(600, 3))
>>> y = (X[:, 0] > 0).astype(int)
>>> found = compare_methods(batches_of(X, y), methods_named("static,oza"), seeds=(0, 1))
>>> [(entry.title, entry.mean("accuracy") > 0.9) for entry in Board.of("toy", [found]).entries]
[('static', True), ('Oza-Russell', True)]
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ocboost._core.checks import as_count
from ocboost._core.labels import codes_of, require_class_labels, sorted_classes
from ocboost.errors import InputError
from ocboost.evaluation.contenders import OCB, Adaptive
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import Method
from ocboost.evaluation.prequential import prequential, rows_of
from ocboost.evaluation.result import Result, Standing
from ocboost.streams.rows import Rows, stack_matrices

DEFAULT_START = 2_000  # rows
START_DIVISOR = 5  # by default the start is at most a fifth of the stream
MAX_START_SHARE = 0.9  # of the stream, where a start is asked for
LONG_STREAM = 10_000  # rows that are enough for the usual window
COMPARED_ROWS_PER_BATCH = 4096
WARM_UP_ROWS = 20  # of each class
NO_TRAINING_ROWS = (
    "What does not continue the model itself began with nothing, since the rows the model was fitted on are "
    "not here"
)
ADAPTIVE_FROM_MODEL = (
    "The adaptive classifier began as the model, and finds hypotheses of its own in the stream."
)
Progress = Callable[[str, int], None]  # what is being done, if it is not yet the stream, and rows done


@dataclass(frozen=True)
class MethodRun:
    """The result of one method, by its name, with one seed."""

    method: str
    seed: int
    standing: Standing


@dataclass(frozen=True)
class Comparison:
    """The results of several methods on a stream, each with several seeds.

    ``start`` counts the rows that hypotheses were learnt from, before those compared on; ``skipped`` says by
    a method's name why it did not take part; ``result`` has everything else: rows, classes, settings, times.
    From ``least_probability`` on the second of two classes was predicted, if that was asked for. ``models``
    has the classifiers of ocboost by their methods' names, if they were kept: as they are at the end, and as
    they began.
    """

    runs: list[MethodRun]
    start: int
    n_features: int | None
    result: Result
    skipped: dict[str, str] = field(default_factory=dict)
    least_probability: float | None = None
    models: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result) -> Comparison:
        """The comparison of contenders that `prequential` evaluated."""
        runs = [MethodRun(standing.name, 0, standing) for standing in result.standings]
        return cls(runs, result.first_row or 0, None, result)


def batches_of(X: Any, y: Any, *, first: int = 0) -> Iterator[Rows]:
    """Arrays, or a sparse matrix and its labels, as the batches of a stream."""
    labels = np.asarray(y)
    for at in range(0, X.shape[0], COMPARED_ROWS_PER_BATCH):
        rows = slice(at, at + COMPARED_ROWS_PER_BATCH)
        yield Rows(X[rows], labels[rows], first=first + at)


def compare_methods(
    batches: Iterable[Any],
    methods: Sequence[Method],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    start: int | FirstRows | None = None,
    hypotheses: int = 100,
    classes: Sequence[Any] | None = None,
    all_rows: bool = False,
    step: int = 1,
    delay: int = 0,
    window: int | None = None,
    drift: bool = False,
    rows: int | None = None,
    decisions: Callable[[Sequence[Any]], Mapping[str, Any]] | None = None,
    progress: Progress | None = None,
    keep_models: bool = False,
) -> Comparison:
    """Run methods through a stream side by side, each once for every seed, in one pass.

    ``batches`` are those of `ocboost.streams` or `batches_of`, at most ``rows`` of them. Hypotheses are
    learnt from the first ``start`` rows (2,000, or a fifth of a shorter stream; at most nine tenths of it),
    which all methods learn before the comparison; see `FirstRows` for what a seed takes of them. `FirstRows`
    of a model are used as they are, and the comparison begins with the first row. ``classes`` are by default
    those of the rows that are read first: 10,000, or five times the start. ``window`` is by default 1,000, or
    a tenth of a shorter stream; ``step``, ``delay`` and ``drift`` are those of `prequential`. ``decisions``
    gives the class weights, threshold or costs for classes; a model has its own. ``progress`` is
    called with what is being done before the first row, and then with "" and the rows done. ``keep_models``
    keeps the classifiers of the first seed.

    After Ctrl-C the result is about the rows before that: look at its ``result.interrupted``.
    """
    progress = progress or (lambda what, done: None)
    if not methods:
        raise InputError("methods must be at least one; got none.")
    stream = rows_of(batches)
    if rows is not None:
        stream = _at_most(stream, as_count(rows, "rows", 1, None, "It is how many rows to take."))
    progress("reading the first rows", 0)
    split = (
        _after_model(stream, start)
        if isinstance(start, FirstRows)
        else _split(stream, start, _checked_seeds(seeds), hypotheses, classes, all_rows, decisions)
    )
    if window is None:
        window = min(1_000, max(50, split.n_read // 10))
    skipped = {
        m.name: reason for m in methods if (reason := m.refuses(split.n_features, split.first_rows[0]))
    }
    able = [method for method in methods if method.name not in skipped]
    if not able:
        raise InputError(f"no method can take part: {'; '.join(f'{k}: {v}' for k, v in skipped.items())}.")
    _warm_up(able, split.first_rows[0], progress)
    entries = []
    for first_rows in split.first_rows:
        for method in able:
            progress(f"beginning: {method.title}, seed {first_rows.seed}", 0)
            contender = method.contender(first_rows)
            if len(split.first_rows) > 1:
                contender.name = f"{method.title}, seed {first_rows.seed}"
            entries.append((method, first_rows.seed, contender))
    kept = {
        method.name: (contender.classifier, copy.copy(contender.classifier))
        for method, seed, contender in entries
        if keep_models and seed == split.first_rows[0].seed and isinstance(contender, Adaptive | OCB)
    }
    result = prequential(
        split.rest,
        [contender for _, _, contender in entries],
        classes=split.first_rows[0].classes,
        step=step,
        delay=delay,
        window=window,
        drift=drift,
        progress=lambda done: progress("", done),
    )
    result.notes.extend(_remarks(split, result))
    runs = [
        MethodRun(method.name, seed, dataclasses.replace(standing, name=method.title))
        for (method, seed, _), standing in zip(entries, result.standings, strict=True)
    ]
    decision = split.first_rows[0].decision
    least = None if decision is None else decision.least_probability
    return Comparison(runs, split.start, split.n_features, result, skipped, least, kept)


def _remarks(split: _Split, result: Result) -> list[str]:
    """What a reader might not expect: a shorter start, rows without a label, a step that is too long."""
    remarks = list(split.notes)
    unlabelled = split.unlabelled + result.n_predicted - result.n_scored
    if unlabelled:
        rows = "1 row has" if unlabelled == 1 else f"{unlabelled:,} rows have"
        remarks.append(f"{rows} no label: not learnt, and not scored.")
    step = result.settings["step"]
    if step > 1 and result.n_predicted <= step and not result.interrupted:
        remarks.append(
            f"All {result.n_predicted:,} rows were predicted in one step, before any of them was learnt: "
            "nothing here is about learning from the stream. Take a smaller step."
        )
    return remarks


def _warm_up(methods: Sequence[Method], first_rows: FirstRows, progress: Progress) -> None:
    """Compile what is compiled on its first call, before anything is timed."""
    if first_rows.view is None:
        return
    codes = first_rows.codes
    rows = np.concatenate([np.flatnonzero(codes == code)[:WARM_UP_ROWS] for code in np.unique(codes)])
    few = Rows.of(first_rows.X[np.sort(rows)], codes[np.sort(rows)])
    start = FirstRows(few.X, few.codes, first_rows.classes, hypotheses=3, decisions=first_rows.decisions)
    for method in methods:
        if method.package is None:
            progress(f"warming up: {method.title}", 0)
            contender = method.contender(start)
            contender.begin(first_rows.classes)
            contender.predict(few)
            contender.learn(few)


def _checked_seeds(seeds: Sequence[int]) -> list[int]:
    given = [as_count(seed, "seeds", 0, 2**32 - 1, "Each is a number to draw from.") for seed in seeds]
    if not given or len(set(given)) != len(given):
        raise InputError(f"seeds must be at least one, each another; got {given!s:.80}.")
    return given


# The first rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """The first rows of each seed, and the remaining rows.

    ``n_read`` is how many rows were looked at, of a long stream only a part; ``unlabelled`` how many of the
    first ones had no label; ``notes`` what a reader might not expect.
    """

    first_rows: list[FirstRows]
    rest: Iterable[Rows]
    start: int
    n_features: int
    n_read: int
    unlabelled: int = 0
    notes: list[str] = field(default_factory=list)


def _split(
    stream: Iterator[Rows],
    asked: int | None,
    seeds: list[int],
    hypotheses: int,
    classes: Sequence[Any] | None,
    all_rows: bool,
    decisions: Callable[[Sequence[Any]], Mapping[str, Any]] | None,
) -> _Split:
    """The first rows are what hypotheses are learnt from."""
    wanted = DEFAULT_START if asked is None else asked
    wanted = as_count(wanted, "start", 2, None, "It is how many rows hypotheses are learnt from.")
    as_count(hypotheses, "hypotheses", 1, None, "It is how many to learn.")
    enough = max(START_DIVISOR * wanted, LONG_STREAM)
    read = _read(stream, enough, least=2 * START_DIVISOR)
    n_read = sum(map(len, read))
    most = int(MAX_START_SHARE * n_read)
    start = min(wanted, n_read // START_DIVISOR if asked is None else most)
    head, rest = _parted(read, start)
    X, y = stack_matrices([rows.labelled().X for rows in head]), _labels(head)
    labels = _classes(read) if classes is None else sorted_classes(np.asarray(classes))
    found = len(set(y.tolist()))
    if found < 2:
        advice = _more_classes(read, most, ended=n_read < enough)
        raise InputError(
            f"the first {start:,} rows must hold at least two classes; they hold {found}. {advice}"
        )
    codes, known = codes_of(y, labels), labels.tolist()
    same: dict[str, Any] = {"hypotheses": hypotheses, "all_rows": all_rows}
    if decisions is not None:
        same["decisions"] = decisions(known)
    first_rows = [FirstRows(X, codes, known, seed=seed, **same) for seed in seeds]
    notes = []
    if start == most < wanted:
        notes.append(f"The start is {start:,} rows, nine tenths of the stream; {wanted:,} were asked for.")
    return _Split(first_rows, itertools.chain(rest, stream), start, X.shape[1], n_read, start - len(y), notes)


def _after_model(stream: Iterator[Rows], start: FirstRows) -> _Split:
    """The start is a model from elsewhere; all rows remain."""
    read = _read(stream, LONG_STREAM, least=1)
    notes = []
    if start.view is None:
        ocb = "; OCB began with what the model remembers of them." if start.has_ocb else ", and so did OCB."
        notes.append(NO_TRAINING_ROWS + ocb)
        if start.deployed_adaptive is None:
            notes.append(ADAPTIVE_FROM_MODEL)
    n_features, n_read = read[0].X.shape[1], sum(map(len, read))
    return _Split([start], itertools.chain(read, stream), 0, n_features, n_read, notes=notes)


def _at_most(stream: Iterator[Rows], n: int) -> Iterator[Rows]:
    for rows in stream:
        yield rows[:n]
        n -= len(rows)
        if n <= 0:
            return


def _read(stream: Iterator[Rows], n: int, *, least: int) -> list[Rows]:
    """Batches of at least n rows, if the stream has so many."""
    read: list[Rows] = []
    seen = 0
    while seen < n and (rows := next(stream, None)) is not None:
        read.append(rows)
        seen += len(rows)
    if seen < least:
        count = "one row" if least == 1 else f"{least} rows, a fifth of them to begin with"
        raise InputError(f"the stream must have at least {count}; it has {seen}.")
    return read


def _parted(read: list[Rows], n: int) -> tuple[list[Rows], list[Rows]]:
    """The first n rows, and the others."""
    head, rest = [], []
    for rows in read:
        first, others = rows[: max(n, 0)], rows[max(n, 0) :]
        n -= len(first)
        head += [first] if len(first) else []
        rest += [others] if len(others) else []
    return head, rest


def _labels(read: list[Rows]) -> Any:
    """The labels of the rows that have one."""
    if any(rows.y is None for rows in read):
        raise InputError("the stream must have labels; got rows without. Name their column.")
    return np.concatenate([rows.labelled().y for rows in read])


def _classes(read: list[Rows]) -> Any:
    labels = _labels(read)
    require_class_labels(labels, "the label of the stream")
    return sorted_classes(labels)


def _more_classes(read: list[Rows], most: int, *, ended: bool) -> str:
    """What to do about first rows of one class; ``ended`` says whether these are all rows of the stream."""
    labels, known = _labels(read), np.concatenate([rows.known for rows in read])
    others = np.flatnonzero(labels != labels[:1])
    if len(others):
        second = int(np.flatnonzero(known)[others[0]]) + 1
        if second <= most or not ended:
            return f"Take more with --start: the second one first appears in row {second:,}."
        return (
            f"The second one first appears in row {second:,}, and nine tenths of the stream, {most:,} rows, "
            "are the most to begin with: mix its rows, or leave out most of those before it."
        )
    if not ended:
        return "Take more with --start."
    return "The whole stream holds no other: is the label in another column?"
