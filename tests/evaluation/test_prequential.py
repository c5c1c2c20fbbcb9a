"""Prequential evaluation: who predicts and learns what, in which order, and what comes out."""

from __future__ import annotations

import json
import os
import signal
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._extras import install_line
from ocboost.errors import InputError
from ocboost.evaluation import Contender, Majority, NoChange, Tally, Window, prequential


class Witness(Contender):
    """Writes down the rows it predicts and learns; says class 0 with a probability that tells rows apart."""

    def __init__(self, name="witness", learns=True):
        super().__init__(name)
        self.learns = learns
        self.log = []

    def predict(self, view):
        self.log.append(("predict", view.rows.tolist()))
        p = 0.5 + 0.4 * np.sin(view.X[:, 0])
        return np.stack([p, 1 - p], axis=1)

    def learn(self, view):
        assert view.known.all()
        np.testing.assert_array_equal(view.codes, view.X[:, 1])
        self.log.append(("learn", view.rows.tolist()))


def stream(n, *, cut=(10**9,), known=None, first=0, seed=0):
    """X holds the row number and the class; batches are as long as `cut` says, in turn."""
    codes = np.random.default_rng(seed).integers(0, 2, n)
    X = np.stack([np.arange(n) + first, codes], axis=1).astype(float)
    known = np.ones(n, bool) if known is None else known
    start = k = 0
    while start < n:
        part = slice(start, start + cut[k % len(cut)])
        y = np.array(["no", "yes"], object)[codes[part]]
        y[~known[part]] = ""
        yield SimpleNamespace(X=X[part], y=y, known=known[part], first=start + first)
        start, k = part.stop, k + 1


def plain_log(n, step, delay, known):
    """What must happen, row by row: the plain twin."""
    log, waiting, done = [], [], 0
    for start in range(0, n, step):
        rows = list(range(start, min(start + step, n)))
        log.append(("predict", rows))
        waiting += rows
        done += len(rows)
        ready = [row for row in waiting if row < done - delay]
        waiting = waiting[len(ready) :]
        log += [("learn", [row]) for row in ready if known[row]]
    return log


def split(log):
    """Learning row by row: how rows are gathered into calls is free, their order is not."""
    for what, rows in log:
        yield from [(what, rows)] if what == "predict" else [(what, [row]) for row in rows]


CLASSES = ["no", "yes"]


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 60),
    step=st.integers(1, 9),
    delay=st.integers(0, 70),
    cut=st.lists(st.integers(1, 25), min_size=1, max_size=4),
    data=st.data(),
)
def test_each_row_is_predicted_and_then_learnt_when_its_label_arrives(n, step, delay, cut, data):
    known = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    witness = Witness()
    result = prequential(
        stream(n, cut=cut, known=known), [witness], classes=CLASSES, step=step, delay=delay, drift=False
    )
    want = plain_log(n, step, delay, known)
    assert list(split(witness.log)) == want
    assert result.n_predicted == n
    assert result.n_scored == known.sum()
    assert result.n_learnt == sum(what == "learn" for what, _ in want)


def test_labels_that_are_late_cross_chunks():
    witness = Witness()
    prequential(stream(2500), [witness], classes=CLASSES, step=1, delay=1500, drift=False)
    assert list(split(witness.log)) == plain_log(2500, 1, 1500, np.ones(2500, bool))


def test_the_result_does_not_depend_on_how_the_stream_is_cut():
    known = np.random.default_rng(3).random(3000) < 0.9
    found = []
    for cut in ((10**6,), (1,), (700, 13), (1024,)):
        contenders = [Witness(), Majority(), NoChange()]
        result = prequential(
            stream(3000, cut=cut, known=known), contenders, classes=CLASSES, step=7, delay=20, window=100
        )
        found.append([(s.metrics, s.curve, s.alarms, s.confusion) for s in result.standings])
        found[-1].append((result.curve_rows, result.curve_counts, result.n_learnt))
    assert found[0] == found[1] == found[2] == found[3]


def test_scores_are_those_of_the_labelled_rows():
    n = 1500
    known = np.random.default_rng(4).random(n) < 0.7
    result = prequential(
        stream(n, known=known, first=100), [Witness()], classes=CLASSES, window=200, every=50, drift=False
    )
    X = np.concatenate([batch.X for batch in stream(n, known=known, first=100)])[known]
    p = 0.5 + 0.4 * np.sin(X[:, 0])
    probabilities, codes = np.stack([p, 1 - p], axis=1), X[:, 1].astype(int)
    tally = Tally(2)
    tally.add(probabilities, codes)
    standing = result["witness"]
    assert standing.metrics == pytest.approx(tally.values())
    assert standing.confusion == tally.confusion.tolist()
    assert (result.first_row, result.last_row) == (100, 100 + n - 1)
    for k, row in enumerate(result.curve_rows[:-1]):
        window, upto = Window(2, 200), 50 * (k + 1)
        window.add(probabilities[:upto], codes[:upto])
        assert row == X[upto - 1, 0]
        assert result.curve_counts[k] == min(upto, 200)
        assert {name: values[k] for name, values in standing.curve.items()} == pytest.approx(window.values())
    assert result.curve_rows[-1] == result.last_row
    assert len(standing.curve["auc"]) == len(result.curve_rows) == tally.n // 50 + 1


def test_a_model_that_never_learns_predicts_all_the_same():
    fixed, learning = Witness("fixed", learns=False), Witness("learning")
    result = prequential(stream(1300), [fixed, learning], classes=CLASSES, drift=False)
    assert [what for what, _ in fixed.log] == ["predict", "predict"]
    assert result["fixed"].metrics == result["learning"].metrics
    assert result["fixed"].learn_us is None
    assert result["learning"].learn_us > 0.0


def test_rows_without_any_label():
    batch = SimpleNamespace(X=np.zeros((5, 2)), y=None, known=np.zeros(5, bool), first=0)
    result = prequential([batch], [Witness()], classes=CLASSES)
    assert set(result["witness"].metrics.values()) == {None}
    assert (result.n_predicted, result.n_scored, result.n_learnt) == (5, 0, 0)
    assert any("No row had a label" in note for note in result.notes)
    assert result.curve_rows == []


def test_weak_answers_are_computed_once_for_each_chunk():
    class Counting:
        asked = 0

        def answers(self, X):
            self.asked += 1
            return np.ones((len(X), 3), np.int8)

    class Asks(Witness):
        def __init__(self, name, hypotheses):
            super().__init__(name)
            self.hypotheses = hypotheses

        def predict(self, view):
            assert view.answers(self.hypotheses).shape == (len(view), 3)
            return super().predict(view)

    hypotheses = Counting()
    prequential(stream(2048), [Asks("a", hypotheses), Asks("b", hypotheses)], classes=CLASSES, drift=False)
    assert hypotheses.asked == 2


def test_memory_is_bounded():
    chunks, alive = [], []

    class Census(Witness):
        def learn(self, view):
            if view.rows[0] % 512 == 0:
                chunks.append(weakref.ref(view._table))
                alive.append(len({id(ref()) for ref in chunks if ref() is not None}))

    prequential(stream(8192, cut=(500,)), [Census()], classes=CLASSES, delay=100, drift=False)
    assert len(alive) == 16
    assert max(alive) <= 2  # the one at work, and one whose labels are still to come


def test_long_curves_are_thinned():
    result = prequential(stream(9000), [Majority()], classes=CLASSES, every=1, window=10, drift=False)
    assert len(result.curve_rows) < 2000
    assert result.settings["every"] == 8
    assert result.curve_rows[:2] == [7, 15]


class TestDrift:
    def test_alarms_follow_a_change(self):
        pytest.importorskip("river")
        X = np.zeros((4000, 1))
        y = np.where(np.arange(4000) < 2000, 0, 1)
        batches = [SimpleNamespace(X=X, y=y, known=None, first=10)]
        result = prequential(batches, [Majority("m")], classes=[0, 1])
        assert result.settings["drift"] is True
        assert len(result["m"].alarms) >= 1
        assert 2010 < result["m"].alarms[0] < 2200

    def test_without_river_a_note_says_so(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "river", None)
        monkeypatch.setitem(sys.modules, "river.drift", None)
        result = prequential(stream(20), [Majority()], classes=CLASSES)
        assert result.settings["drift"] is False
        assert result.standings[0].alarms == []
        assert install_line("river") in result.notes[0]


class TestInterruption:
    def test_what_was_done_by_then_is_reported(self):
        class Stops(Witness):
            def predict(self, view):
                if view.rows[0] == 2100:
                    os.kill(os.getpid(), signal.SIGINT)
                return super().predict(view)

        contenders = [Majority(), Stops("stops"), NoChange()]
        result = prequential(stream(5000), contenders, classes=CLASSES, window=100)
        assert result.interrupted
        assert result.n_predicted == result.n_scored == 2048
        whole = prequential(stream(2048), [Majority(), NoChange()], classes=CLASSES, window=100)
        for name in ("majority", "no change"):
            assert result[name].metrics == whole[name].metrics
            assert result[name].curve == whole[name].curve
        assert any("Interrupted" in note for note in result.notes)

    def test_while_scoring_all_contenders_are_scored_or_none(self, monkeypatch):
        calls = []

        class Stops(Tally):
            def add(self, *examples):
                calls.append(self)
                if len(calls) == 3:  # the second chunk of the first contender
                    os.kill(os.getpid(), signal.SIGINT)
                super().add(*examples)

        monkeypatch.setattr(sys.modules[prequential.__module__], "Tally", Stops)
        result = prequential(stream(5000), [Majority(), NoChange()], classes=CLASSES, drift=False)
        assert result.interrupted
        assert [np.sum(standing.confusion) for standing in result.standings] == [2048, 2048]
        assert result.n_scored == 2048

    def test_at_once(self):
        def nothing():
            raise KeyboardInterrupt
            yield

        result = prequential(nothing(), [Majority()], classes=CLASSES)
        assert result.interrupted
        assert result.n_predicted == 0
        assert result.first_row is None
        json.dumps(result.as_dict(), allow_nan=False)


class TestRefusals:
    def run(self, batches=None, contenders=None, classes=CLASSES, **parameters):
        prequential(
            stream(10) if batches is None else batches,
            [Majority()] if contenders is None else contenders,
            classes=classes,
            **parameters,
        )

    def test_a_strange_label_is_named_with_its_row(self):
        batch = SimpleNamespace(X=np.zeros((3, 1)), y=["no", "yes", "maybe"], known=None, first=40)
        with pytest.raises(InputError, match=r"got 'maybe' at row 42, and the classes are \['no', 'yes'\]"):
            self.run([batch])

    def test_a_strange_label_that_is_not_known_does_no_harm(self):
        batch = SimpleNamespace(X=np.zeros((2, 1)), y=["no", "?"], known=np.array([True, False]), first=0)
        self.run([batch])

    def test_two_contenders_of_one_name(self):
        with pytest.raises(InputError, match="names of their own; 2 are called 'majority'"):
            self.run(contenders=[Majority(), Majority()])

    @pytest.mark.parametrize("classes", [["no"], ["no", "no"], []])
    def test_classes(self, classes):
        with pytest.raises(InputError, match="classes must be at least two different labels"):
            self.run(classes=classes)

    @pytest.mark.parametrize(
        ("name", "value"), [("step", 0), ("delay", -1), ("window", 0), ("every", 0), ("step", 1.5)]
    )
    def test_counts(self, name, value):
        with pytest.raises(InputError, match=f"{name} must be a whole number"):
            self.run(**{name: value})

    def test_nobody(self):
        with pytest.raises(InputError, match="contenders must be at least one"):
            self.run(contenders=[])

    def test_nothing(self):
        with pytest.raises(InputError, match="batches must hold at least one row"):
            self.run([])

    def test_labels_and_rows_that_do_not_fit(self):
        with pytest.raises(InputError, match="got 3 rows, 2 labels"):
            self.run([SimpleNamespace(X=np.zeros((3, 1)), y=["no", "no"])])

    @pytest.mark.parametrize(
        ("share", "text"),
        [
            ([[np.nan, np.nan]], r"not negative and sum to 1; got \[nan, nan\] at row 0"),
            ([[0.9, 0.3]], "not negative and sum to 1"),
            ([[1.5, -0.5]], "not negative and sum to 1"),
            ([[1.0]], r"of shape \(1, 2\), one for each row and class; got shape \(1, 1\)"),
        ],
    )
    def test_probabilities(self, share, text):
        class Wrong(Majority):
            def predict(self, view):
                return np.array(share)

        with pytest.raises(InputError, match=text):
            self.run(contenders=[Wrong()])

    def test_an_error_says_whose_it_is(self):
        class Broken(Majority):
            def learn(self, view):
                raise ZeroDivisionError("oh")

        with pytest.raises(ZeroDivisionError) as caught:
            self.run(contenders=[Broken("broken")])
        assert caught.value.__notes__ == ["It came from the contender 'broken', about row 0."]


def test_labels_of_numpy_are_labels():
    y = np.array([3, 5, 3])
    batch = SimpleNamespace(X=np.zeros((3, 1)), y=y)
    result = prequential([batch], [Majority()], classes=np.array([3, 5]))
    assert result.classes == [3, 5]
    assert result.n_scored == 3


def test_progress_counts_rows():
    seen = []
    prequential(stream(2500), [Majority()], classes=CLASSES, progress=seen.append, drift=False)
    assert seen == [1024, 2048, 2500]


def test_progress_is_reported_within_a_chunk_that_takes_long(monkeypatch):
    clock = [0]

    class Slow(Majority):
        def learn(self, view):
            clock[0] += 100_000_000  # a tenth of a second for each row
            super().learn(view)

    module = sys.modules["ocboost.evaluation.prequential"]
    monkeypatch.setattr(module, "perf_counter_ns", lambda: clock[0])
    seen = []

    def progress(done):
        seen.append((done, clock[0]))

    contenders = [Majority(), Slow("slow")]
    prequential(stream(1500), contenders, classes=CLASSES, progress=progress, drift=False)
    rows = [done for done, _ in seen]
    assert rows == sorted(rows)
    assert rows[0] == 512 + 5 // 2  # one of two contenders has done its chunk, the other five rows
    assert rows[-1] == 1500
    assert max(np.diff([0, *(at for _, at in seen)])) <= 1_000_000_000


def test_as_dict_is_json():
    result = prequential(stream(300), [Majority(), Witness()], classes=CLASSES, window=50)
    text = json.dumps(result.as_dict(), allow_nan=False)
    found = json.loads(text)
    assert found["contenders"]["majority"]["accuracy"] == result["majority"].metrics["accuracy"]
    assert found["rows"] == {"first": 0, "last": 299, "predicted": 300, "scored": 300, "learnt": 300}
    assert len(found["windowed_rows"]) == len(found["contenders"]["witness"]["windowed"]["kappa"])
    with pytest.raises(KeyError):
        result["nobody"]
