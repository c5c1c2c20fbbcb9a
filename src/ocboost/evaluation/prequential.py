"""Prequential evaluation: predict each row, and learn from it when its label has arrived."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.metrics import Series, Tally, Window
from ocboost._ctrl_c import uninterrupted
from ocboost._watch.drift import KEPT, change_in
from ocboost._watch.drift import detector as adwin
from ocboost.errors import InputError, MissingExtraError
from ocboost.evaluation.contenders import Contender
from ocboost.evaluation.result import Result, Standing
from ocboost.streams.rows import Rows, Stopwatch, rebatch


def rows_of(batches: Iterable[Any]) -> Iterator[Rows]:
    """Batches as `Rows`; objects with X and y, and perhaps known and first, are checked and counted."""
    counted = 0
    for batch in batches:
        rows = batch if isinstance(batch, Rows) else _checked(batch, counted)
        counted = rows.first + len(rows)
        yield rows


def _checked(batch: Any, counted: int) -> Rows:
    first, known = getattr(batch, "first", None), getattr(batch, "known", None)
    first = counted if first is None else int(first)
    n, y = batch.X.shape[0], None if batch.y is None else np.asarray(batch.y)
    n_labels = n if y is None else len(y)
    given = n if known is None or y is None else len(known)
    if not n_labels == given == n:
        raise InputError(
            f"batches must have as many labels as rows; got {n} rows, {n_labels} labels and {given} marks of "
            f"known ones from row {first} on."
        )
    return Rows(batch.X, y, None if known is None or y is None else np.asarray(known), first)


ROWS_PER_CHUNK = 1024  # that one contender goes through before the next does
PROGRESS_NS = 500_000_000  # from one report of progress to the next
Schedule = list[tuple[Rows, list[Rows]]]


def prequential(
    batches: Iterable[Any],
    contenders: Sequence[Contender],
    *,
    classes: Sequence[Any],
    step: int = 1,
    delay: int = 0,
    window: int = 1000,
    every: int | None = None,
    drift: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Evaluate several contenders on a stream side by side, in one pass and bounded memory.

    Parameters
    ----------
    batches : iterable of objects with X, y, known and first
        The stream, as `ocboost.streams` gives it. How it is cut into batches makes no difference. Rows
        without a label are predicted, not scored and not learnt.
    contenders : sequence of Contender
        Each with a name of its own.
    classes : sequence
        All labels of the stream; a label's place is its code.
    step : int, default 1
        Rows predicted at once, before any of them is learnt.
    delay : int, default 0
        A row's label arrives after this many further rows have been predicted.
    window : int, default 1000
        Scored examples that a point of the curves is about.
    every : int, optional
        Scored examples from one point of the curves to the next; a tenth of the window if left out. Long
        streams have it doubled whenever there would be more than 2,000 points.
    drift : bool, default True
        Whether ADWIN (of river) watches each contender's errors. Without river a note says so.
    progress : callable, optional
        Called with the number of rows done, at least every thousand rows or so, and about twice a second
        where they take longer. In between, rows that some of the contenders have done count in part.

    Returns
    -------
    Result
        After Ctrl-C too, about the rows that every contender has done by then: look at its ``interrupted``.

    Raises
    ------
    InputError
        If the stream has no row.

    Notes
    -----
    Between chunks of about 1,000 rows every contender has seen the same rows. Weak answers are computed
    for a chunk at once and shared; a contender's times do not include them. A fixed model (``learns`` is
    False) predicts chunks at once.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ocboost.evaluation import Majority, NoChange
    >>> batch = SimpleNamespace(X=np.zeros((6, 1)), y=np.array(list("aaabbb")))
    >>> result = prequential([batch], [Majority(), NoChange()], classes=["a", "b"], drift=False)
    >>> [round(standing.metrics["accuracy"], 2) for standing in result.standings]
    [0.5, 0.83]
    """
    labels = _labels(classes)
    step = as_count(step, "step", 1, None, "1 predicts and learns row by row.")
    delay = as_count(delay, "delay", 0, None, "0 gives each label as soon as its row has been predicted.")
    window = as_count(window, "window", 1, None, "It is the number of recent examples a curve shows.")
    if every is not None:
        every = as_count(every, "every", 1, None, "It is the distance between two points of a curve.")
    every = max(1, window // 10) if every is None else every
    _check_names(contenders)
    notes: list[str] = []
    detector = _detector(notes) if drift else None

    begun = perf_counter_ns()
    clock = Stopwatch()
    queue = _Queue(step, delay)
    reports = _ProgressReports(progress, len(contenders))
    tracks = [_Track(one, len(labels), window, every, detector) for one in contenders]
    for one in contenders:
        one.begin(labels)
    size = step * max(1, ROWS_PER_CHUNK // step)
    first_row = last_row = None
    n_scored = 0
    interrupted = False
    try:
        for chunk in rebatch((rows.coded(labels) for rows in rows_of(batches)), size, clock):
            schedule = queue.take(chunk)
            tables = [track.run(chunk, schedule, clock, reports) for track in tracks]
            with uninterrupted():  # all contenders are scored, or none
                for track, (table, predicted) in zip(tracks, tables, strict=True):
                    track.score(chunk, table, predicted, n_scored)
                n_scored += int(chunk.known.sum())
                first_row = int(chunk.rows[0]) if first_row is None else first_row
                last_row = int(chunk.rows[-1])
                queue.done()
            reports.chunk_done(queue.n_predicted)
    except KeyboardInterrupt:
        interrupted = True
    if queue.n_predicted == 0 and not interrupted:
        raise InputError("batches must hold at least one row; got none. Is the stream empty?")

    if interrupted:
        notes.append("Interrupted: this is about the rows before that.")
    if n_scored == 0:
        notes.append("No row had a label, so nothing could be scored.")
    if last_row is not None:
        for track in tracks:
            track.finish(last_row)
    return Result(
        classes=labels,
        first_row=first_row,
        last_row=last_row,
        n_predicted=queue.n_predicted,
        n_scored=n_scored,
        n_learnt=queue.n_learnt,
        settings={
            "step": step,
            "delay": delay,
            "window": window,
            "every": tracks[0].series.every,
            "drift": detector is not None,
        },
        standings=[track.standing(queue) for track in tracks],
        curve_rows=tracks[0].series.rows,
        curve_counts=tracks[0].series.counts,
        seconds=(perf_counter_ns() - begun) / 1e9,
        answers_us=clock.ns / 1e3 / max(1, queue.n_predicted),
        peak_bytes=_peak_bytes(),
        interrupted=interrupted,
        notes=notes,
    )


class _Queue:
    """Which rows are predicted and learnt, in which order; the same for every contender."""

    def __init__(self, step: int, delay: int) -> None:
        self._step, self._delay = step, delay
        self._chunks: deque[tuple[int, Rows]] = deque()  # with rows still to be learnt, and where they begin
        self._predicted = self._arrived = self._learnt = 0
        self.n_predicted = self.n_learnt = 0

    def take(self, chunk: Rows) -> Schedule:
        """The views of a chunk to predict, each with the views to learn after it."""
        self._chunks.append((self._predicted, chunk))
        schedule: Schedule = []
        for start in range(0, len(chunk), self._step):
            stop = min(start + self._step, len(chunk))
            learnable = self._arrivals(self._predicted + stop - self._delay)
            schedule.append((chunk[start:stop], learnable))
        self._predicted += len(chunk)
        return schedule

    def _arrivals(self, until: int) -> list[Rows]:
        views = []
        while self._arrived < until:
            first, chunk = self._chunks[0]
            stop = min(until, first + len(chunk))
            view = chunk[self._arrived - first : stop - first].labelled()
            if len(view):
                views.append(view)
                self._learnt += len(view)
            self._arrived = stop
            if stop == first + len(chunk):
                self._chunks.popleft()
        return views

    def done(self) -> None:
        """Count the chunk: every contender has gone through it."""
        self.n_predicted, self.n_learnt = self._predicted, self._learnt


class _ProgressReports:
    """Reports how many rows are done: after each chunk, and now and then within a slow one."""

    def __init__(self, progress: Callable[[int], None] | None, n_contenders: int) -> None:
        self._progress = progress
        self._n = n_contenders
        self._before = self._in_chunk = 0  # rows of earlier chunks, and of this one times contenders
        self._due = perf_counter_ns() + PROGRESS_NS

    def add(self, rows: int, now: int) -> None:
        """Count rows of this chunk that one contender has done."""
        self._in_chunk += rows
        if now >= self._due and self._progress is not None:
            self._due = now + PROGRESS_NS
            self._progress(self._before + self._in_chunk // self._n)

    def chunk_done(self, rows: int) -> None:
        """All contenders have done so many rows."""
        self._before, self._in_chunk = rows, 0
        if self._progress is not None:
            self._progress(rows)


class _Track:
    """The state of one contender: its metrics, curves, alarms and times."""

    def __init__(self, contender: Contender, n_classes: int, window: int, every: int, detector: Any) -> None:
        self.contender = contender
        self._K = n_classes
        self._tally = Tally(n_classes)
        self._window = Window(n_classes, window)
        self.series = Series(every)
        self._detector = None if detector is None else detector()
        self._alarms: list[int] = []
        self._alarm_rates: list[tuple[float, float]] = []
        self._errors = bytearray()  # the last ones, to tell the rates around an alarm
        self._predict_ns = self._learn_ns = 0
        self._chunk_ns = 0, 0

    def run(
        self, chunk: Rows, schedule: Schedule, clock: Stopwatch, reports: _ProgressReports
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Predict and learn as scheduled; gives the probabilities and predictions of the whole chunk."""
        contender, now = self.contender, perf_counter_ns
        predict, learn = contender.predict, contender.learn
        table, predicted = np.empty((len(chunk), self._K)), np.empty(len(chunk), np.int64)
        decides = contender.decides
        if not contender.learns:
            schedule = [(chunk, [])]
        predict_ns = learn_ns = done = 0
        view = schedule[0][0]
        try:
            for view, learnable in schedule:
                shared = clock.ns
                start = now()
                share = predict(view)
                middle = now()
                predict_ns += middle - start - (clock.ns - shared)
                if share.shape != (len(view), self._K):
                    raise InputError(
                        f"{contender.name!r} must predict probabilities of shape ({len(view)}, {self._K}), "
                        f"one for each row and class; got shape {share.shape}."
                    )
                table[done : done + len(view)] = share
                if decides:  # as its class weights are now
                    predicted[done : done + len(view)] = contender.decide(share)
                done += len(view)
                if learnable:
                    shared = clock.ns
                    start = now()
                    for each in learnable:
                        learn(each)
                    middle = now()
                    learn_ns += middle - start - (clock.ns - shared)
                reports.add(len(view), middle)
        except Exception as error:
            error.add_note(f"It came from the contender {contender.name!r}, about row {int(view.rows[0])}.")
            raise
        self._chunk_ns = predict_ns, learn_ns
        wrong = ~((table >= 0.0).all(axis=1) & (np.abs(table.sum(axis=1) - 1.0) < 1e-6))  # NaN is wrong too
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"{contender.name!r} must predict probabilities that are not negative and sum to 1; "
                f"got {table[i].tolist()!s:.120} at row {int(chunk.rows[i])}."
            )
        return table, predicted if decides else table.argmax(axis=1)

    def score(
        self, chunk: Rows, table: NDArray[np.float64], predicted: NDArray[np.int64], n_before: int
    ) -> None:
        """Score the labelled rows of a chunk, and count the time it took."""
        self._predict_ns += self._chunk_ns[0]
        self._learn_ns += self._chunk_ns[1]
        codes, rows = chunk.codes, chunk.rows
        known = chunk.known
        if not known.all():
            table, predicted, codes, rows = table[known], predicted[known], codes[known], rows[known]
        self._tally.add(table, codes, predicted)
        start = 0
        while start < len(codes):
            stop = min(len(codes), self.series.due_after(n_before + start) - n_before)
            part = slice(start, stop)
            self._window.add(table[part], codes[part], predicted[part])
            if (n_before + stop) % self.series.every == 0:
                self.series.record(int(rows[stop - 1]), self._window.n, self._window.values())
            start = stop
        if self._detector is not None:
            for row, error in zip(rows.tolist(), (predicted != codes).tolist(), strict=True):
                if len(self._errors) >= 2 * KEPT:
                    del self._errors[:-KEPT]
                self._errors.append(error)
                width = int(self._detector.width) + 1
                self._detector.update(error)
                if self._detector.drift_detected:
                    self._alarms.append(row)
                    change = change_in(self._errors[-width:])
                    self._alarm_rates.append((change.before, change.after))

    def finish(self, last_row: int) -> None:
        """Let the curve reach the end of the stream."""
        if self._window.n and (not self.series.rows or self.series.rows[-1] < last_row):
            self.series.record(last_row, self._window.n, self._window.values())

    def standing(self, queue: _Queue) -> Standing:
        """What came out."""
        learns = self.contender.learns and queue.n_learnt > 0
        return Standing(
            name=self.contender.name,
            role=self.contender.role,
            deployable=self.contender.deployable,
            metrics=self._tally.values(),
            auc_bound=self._tally.auc_bound,
            pr_auc_bound=self._tally.pr_auc_bound,
            thresholds=self._tally.bins[0].curve() if self._K == 2 and self._tally.bins[0].has_both else None,
            confusion=self._tally.confusion.tolist(),
            curve=self.series.values,
            alarms=self._alarms,
            alarm_rates=self._alarm_rates,
            predict_us=self._predict_ns / 1e3 / max(1, queue.n_predicted),
            learn_us=self._learn_ns / 1e3 / queue.n_learnt if learns else None,
            nbytes=self.contender.nbytes,
        )


def _labels(classes: Sequence[Any]) -> list[Any]:
    labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise InputError(
            f"classes must be at least two different labels; got {labels!s:.80}. "
            "Give every label that the stream may hold, once."
        )
    return labels


def _check_names(contenders: Sequence[Contender]) -> None:
    names = [one.name for one in contenders]
    if not names:
        raise InputError("contenders must be at least one; got none.")
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"contenders must have names of their own; {names.count(name)} are called {name!r:.80}. "
                "Pass name=... to tell them apart."
            )


def _detector(notes: list[str]) -> Any:
    found = adwin()
    if found is None:
        notes.append(str(MissingExtraError("river", "river", "Drift alarms, which are left out here,")))
    return found


def _peak_bytes() -> int | None:
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
