"""A comparison: any set of methods through a stream side by side, repeated over seeds.

>>> from ocboost.evaluation.board import Board
>>> from ocboost.evaluation.methods import methods_named
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(600, 3))
>>> y = (X[:, 0] > 0).astype(int)
>>> board = Board.of("toy", [compete(batches_of(X, y), methods_named("static,oza"), seeds=(0, 1))])
>>> [(place.title, place.mean("accuracy") > 0.9) for place in board.places]
[('static', True), ('Oza-Russell', True)]
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ocboost._core.checks import as_count
from ocboost._core.labels import codes_of, require_class_labels, sorted_classes
from ocboost.errors import InputError
from ocboost.evaluation.first_rows import Start
from ocboost.evaluation.methods import Method
from ocboost.evaluation.prequential import prequential
from ocboost.evaluation.result import Result, Standing
from ocboost.streams.rows import stack_matrices

START = 2_000  # rows to begin with, unless someone says otherwise
PART = 5  # the start is at most this part of a stream, unless someone says otherwise
MOST = 0.9  # of a stream may be asked for as its start
LONG = 10_000  # rows of a stream that is long enough for the usual window
PIECE = 4096  # rows of a batch
COLD = (
    "What does not follow the model itself began with nothing, since the rows the model was fitted on are "
    "not here"
)
FEW = 20  # rows of each class to warm up with
Told = Callable[[str, int], None]  # what is being done, if it is not yet the stream, and rows done


@dataclass(frozen=True)
class Run:
    """What one method did with one seed.

    Attributes
    ----------
    method : str
        Its name; its title, its role and whether it can be deployed are those of the standing.
    seed : int
    standing : Standing
    """

    method: str
    seed: int
    standing: Standing


@dataclass(frozen=True)
class Contest:
    """What several methods did on a stream, each with several seeds.

    Attributes
    ----------
    runs : list of Run
    start : int
        The rows that hypotheses were learnt from; the comparison is about those after them.
    n_features : int or None
    skipped : dict
        By a method's name why it did not take part.
    result : Result
        Everything else: rows, classes, settings, times.
    """

    runs: list[Run]
    start: int
    n_features: int | None
    result: Result
    skipped: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result) -> Contest:
        """The same of contenders that went through a stream by themselves, by `prequential`."""
        runs = [Run(standing.name, 0, standing) for standing in result.standings]
        return cls(runs, result.first_row or 0, None, result)


def batches_of(X: Any, y: Any, *, first: int = 0) -> Iterator[Any]:
    """Arrays, or a sparse matrix and its labels, as the batches of a stream."""
    labels = np.asarray(y)
    for at in range(0, X.shape[0], PIECE):
        rows = slice(at, at + PIECE)
        yield SimpleNamespace(X=X[rows], y=labels[rows], known=None, first=first + at)


def compete(
    batches: Iterable[Any],
    methods: Sequence[Method],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    start: int | Start | None = None,
    hypotheses: int = 100,
    classes: Sequence[Any] | None = None,
    whole: bool = False,
    step: int = 1,
    delay: int = 0,
    window: int | None = None,
    drift: bool = False,
    rows: int | None = None,
    told: Told | None = None,
) -> Contest:
    """Let methods go through a stream side by side, each once for every seed, in one pass.

    Parameters
    ----------
    batches : iterable of objects with X, y, known and first
        The stream, as `ocboost.streams` or `batches_of` gives it.
    methods : sequence of Method
        See `ocboost.evaluation.methods.methods_named`.
    seeds : sequence of int
        Seed 0 starts from all of the first rows, others from 0.8 of them each, see `Start`.
    start : int or Start, optional
        Rows that hypotheses are learnt from, and that all methods learn first; at most nine tenths of the
        stream. By default 2,000, or a fifth of a shorter stream. A `Start` is taken as it is, with its seed;
        the comparison then begins with the first row.
    hypotheses : int, default 100
        Stumps to learn, for each class if they are more than two.
    classes : sequence, optional
        All labels; by default those among the first rows: 10,000, or five times as many as the start has.
    whole : bool, default False
        Start from all of the first rows with any seed.
    step : int, default 1
        Rows predicted at once, before any of them is learnt.
    delay : int, default 0
        A row's label arrives after this many further rows have been predicted.
    window : int, optional
        Scored examples that a point of the curves is about; by default 1,000, or a tenth of a shorter stream.
    drift : bool, default False
        Whether ADWIN (of river) watches the errors of each.
    rows : int, optional
        Stop after so many rows of the stream.
    told : callable, optional
        Called with what is being done before the first row, and 0; then with "" and the rows done, at least
        every second or so.

    Returns
    -------
    Contest
        After Ctrl-C too, about the rows before that: look at its ``result.interrupted``.
    """
    told = told or (lambda what, done: None)
    if not methods:
        raise InputError("methods must be at least one; got none.")
    if rows is not None:
        batches = _at_most(batches, as_count(rows, "rows", 1, None, "It is how many rows to take."))
    told("reading the first rows", 0)
    opening = (
        _deployed(iter(batches), start)
        if isinstance(start, Start)
        else _opening(iter(batches), start, _seeds(seeds), hypotheses, classes, whole)
    )
    if window is None:
        window = min(1_000, max(50, opening.total // 10))
    skipped = {m.name: reason for m in methods if (reason := m.refuses(opening.n_features))}
    able = [method for method in methods if method.name not in skipped]
    if not able:
        raise InputError(f"no method can take part: {'; '.join(f'{k}: {v}' for k, v in skipped.items())}.")
    entries = []
    one = len(opening.starts) == 1
    for number, begin in enumerate(opening.starts):
        if number == 0:
            _warm_up(able, begin, told)
        for method in able:
            told(f"beginning: {method.title}, seed {begin.seed}", 0)
            contender = method.begun(begin)
            contender.name = method.title if one else f"{method.title}, seed {begin.seed}"
            entries.append((method, begin.seed, contender))
    result = prequential(
        opening.rest,
        [contender for _, _, contender in entries],
        classes=opening.starts[0].classes,
        step=step,
        delay=delay,
        window=window,
        drift=drift,
        progress=lambda done: told("", done),
    )
    result.notes.extend(_remarks(opening, result))
    runs = [
        Run(method.name, seed, dataclasses.replace(standing, name=method.title))
        for (method, seed, _), standing in zip(entries, result.standings, strict=True)
    ]
    return Contest(runs, opening.start, opening.n_features, result, skipped)


@dataclass(frozen=True)
class _Opening:
    """How a comparison begins: the start of each seed, and the rows that are left.

    ``total`` is how many rows were looked at, of a long stream only a part; ``unlabelled`` how many of
    the first ones had no label; ``notes`` what a reader might not expect.
    """

    starts: list[Start]
    rest: Iterable[Any]
    start: int
    n_features: int
    total: int
    unlabelled: int = 0
    notes: list[str] = field(default_factory=list)


def _opening(
    batches: Iterator[Any],
    asked: int | None,
    seeds: list[int],
    hypotheses: int,
    classes: Sequence[Any] | None,
    whole: bool,
) -> _Opening:
    """The first rows are what hypotheses are learnt from."""
    wanted = START if asked is None else asked
    wanted = as_count(wanted, "start", 2, None, "It is how many rows hypotheses are learnt from.")
    as_count(hypotheses, "hypotheses", 1, None, "It is how many to learn.")
    enough = max(PART * wanted, LONG)
    held, rest = _held(batches, enough)
    total = sum(batch.X.shape[0] for batch in held)
    most = int(MOST * total)
    start = min(wanted, total // PART if asked is None else most)
    X, y = _first(held, start)
    labels = _classes(held) if classes is None else sorted_classes(np.asarray(classes))
    found = len(set(y.tolist()))
    if found < 2:
        advice = _more_classes(held, most, whole=total < enough)
        raise InputError(
            f"the first {start:,} rows must hold at least two classes; they hold {found}. {advice}"
        )
    codes, named = codes_of(y, labels), labels.tolist()
    starts = [Start(X, codes, named, hypotheses=hypotheses, seed=seed, whole=whole) for seed in seeds]
    notes = []
    if start == most < wanted:
        notes.append(f"The start is {start:,} rows, nine tenths of the stream; {wanted:,} were asked for.")
    left = itertools.chain(_after(held, start), rest)
    return _Opening(starts, left, start, X.shape[1], total, start - len(y), notes)


def _deployed(batches: Iterator[Any], start: Start) -> _Opening:
    """What there is to begin with came from elsewhere; all rows are left."""
    held, rest = _held(batches, LONG, least=1)
    notes = []
    if start.view is None:
        ocb = "; OCB began with what the model remembers of them." if start.has_ocb else ", and so did OCB."
        notes.append(COLD + ocb)
    total = sum(batch.X.shape[0] for batch in held)
    return _Opening([start], itertools.chain(held, rest), 0, held[0].X.shape[1], total, notes=notes)


def _remarks(opening: _Opening, result: Result) -> list[str]:
    """What a reader might not expect: a shorter start, rows without a label, a step that is too long."""
    said = list(opening.notes)
    unlabelled = opening.unlabelled + result.n_predicted - result.n_scored
    if unlabelled:
        rows = "1 row has" if unlabelled == 1 else f"{unlabelled:,} rows have"
        said.append(f"{rows} no label: not learnt, and not scored.")
    step = result.settings["step"]
    if step > 1 and result.n_predicted <= step and not result.interrupted:
        said.append(
            f"All {result.n_predicted:,} rows were predicted in one step, before any of them was learnt: "
            "nothing here is about learning from the stream. Take a smaller step."
        )
    return said


def _warm_up(methods: Sequence[Method], begin: Start, told: Told) -> None:
    """Let what is compiled when it is first called be called before anything is timed."""
    if begin.view is None:
        return
    codes = begin.codes
    rows = np.sort(np.concatenate([np.flatnonzero(codes == code)[:FEW] for code in np.unique(codes)]))
    start = Start(begin.X[rows], codes[rows], begin.classes, hypotheses=3)
    assert start.view is not None
    for method in methods:
        if method.package is None:
            told(f"warming up: {method.title}", 0)
            contender = method.begun(start)
            contender.begin(begin.classes)
            contender.predict(start.view)
            contender.learn(start.view)


def _seeds(seeds: Sequence[int]) -> list[int]:
    given = [as_count(seed, "seeds", 0, 2**32 - 1, "Each is a number to draw from.") for seed in seeds]
    if not given or len(set(given)) != len(given):
        raise InputError(f"seeds must be at least one, each another; got {given!s:.80}.")
    return given


# The first rows -------------------------------------------------------------------------------------------


def _part(batch: Any, first: int, last: int | None) -> Any:
    known = getattr(batch, "known", None)
    return SimpleNamespace(
        X=batch.X[first:last],
        y=None if batch.y is None else batch.y[first:last],
        known=None if known is None else known[first:last],
        first=batch.first + first,
    )


def _held(batches: Iterator[Any], n: int, least: int = 2 * PART) -> tuple[list[Any], Iterator[Any]]:
    """Batches of at least n rows, if there are so many, and the others."""
    held: list[Any] = []
    seen = 0
    while seen < n and (batch := next(batches, None)) is not None:
        if getattr(batch, "first", None) is None:
            batch = SimpleNamespace(X=batch.X, y=batch.y, known=getattr(batch, "known", None), first=seen)
        held.append(batch)
        seen += batch.X.shape[0]
    if seen < least:
        first = ", a fifth of them to begin with" if least > 1 else ""
        count = "one row" if least == 1 else f"{least} rows"
        raise InputError(f"the stream must have at least {count}{first}; it has {seen}.")
    return held, batches


def _known(batch: Any) -> tuple[Any, Any]:
    """The rows of a batch that have a label, and their labels."""
    if batch.y is None:
        raise InputError("the stream must have labels; got rows without. Name their column.")
    known = getattr(batch, "known", None)
    labels = np.asarray(batch.y)
    return (batch.X, labels) if known is None else (batch.X[known], labels[known])


def _first(held: list[Any], n: int) -> tuple[Any, Any]:
    Xs, ys = [], []
    for batch in held:
        left = n - (batch.first - held[0].first)
        if left > 0:
            X, y = _known(_part(batch, 0, left))
            Xs.append(X)
            ys.append(y)
    return stack_matrices(Xs), np.concatenate(ys)


def _more_classes(held: list[Any], most: int, *, whole: bool) -> str:
    """What to do about first rows of one class; ``whole`` says whether the rows held are all there are."""
    seen: set[Any] = set()
    for batch in held:
        known = getattr(batch, "known", None)
        for i, label in enumerate(np.asarray(batch.y).tolist()):
            if known is None or known[i]:
                seen.add(label)
            if len(seen) == 2:
                second = batch.first - held[0].first + i + 1
                if second <= most or not whole:
                    return f"Take more with --start: the second one comes in row {second:,}."
                return (
                    f"The second one comes in row {second:,}, and nine tenths of the stream, {most:,} rows, "
                    "are the most to begin with: mix its rows, or leave out most of those before it."
                )
    if not whole:
        return "Take more with --start."
    return "No other comes in the whole stream: is the label in another column?"


def _after(held: list[Any], n: int) -> Iterator[Any]:
    for batch in held:
        done = n - (batch.first - held[0].first)
        if done < batch.X.shape[0]:
            yield _part(batch, max(0, done), None)


def _classes(held: list[Any]) -> Any:
    labels = np.concatenate([_known(batch)[1] for batch in held])
    require_class_labels(labels, "the label of the stream")
    return sorted_classes(labels)


def _at_most(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    seen = 0
    for batch in batches:
        n = batch.X.shape[0]
        yield batch if seen + n <= rows else _part(batch, 0, rows - seen)
        seen += n
        if seen >= rows:
            return
