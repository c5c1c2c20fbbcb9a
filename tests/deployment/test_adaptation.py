"""A model on its way through a stream: what it counts, and its checkpoint."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from ocboost import AdaptiveClassifier
from ocboost._core.file_format import load, save, to_bytes
from ocboost._core.metrics import Window
from ocboost.deployment.adaptation import Adaptation, model_digest, run_id
from ocboost.deployment.model import Model
from ocboost.errors import InputError, ModelFileError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.streams import ArrayStream, Batch
from ocboost.streams.bad_rows import BadRow
from tests.support.cli_runs import table

ORIGIN = {"model": "m", "stream": {"bytes": 3, "sha256": "s"}, "settings": {"head": 5}}


def examples(n, seed=0, classes=2):
    rows = table(n, seed, classes)
    return np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])


def begun(classes=2, **parameters):
    X, y = examples(200, 9, classes)
    return Adaptation(Model(OCBClassifier(n_hypotheses=6, **parameters).fit(X, y)), dict(ORIGIN))


def batches(X, y, size=50):
    return list(ArrayStream(X, y, batch_size=size))


def same(a, b):
    assert (a.rows, a.learnt, a.finished, a.origin) == (b.rows, b.learnt, b.finished, b.origin)
    np.testing.assert_array_equal(a.confusion, b.confusion)
    np.testing.assert_array_equal(a.confusion, a.tally.confusion)
    assert a.tally.values() == b.tally.values()
    for one, other in zip(a.model.classifier.alpha_, b.model.classifier.alpha_, strict=True):
        np.testing.assert_array_equal(one, other)


class TestTake:
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("step", [1, 4])
    def test_predicts_then_learns(self, classes, step):
        adaptation, twin = begun(classes), begun(classes).model.classifier
        X, y = examples(130, 1, classes)
        confusion, shares = np.zeros((classes, classes), np.int64), []
        for start in range(0, 130, step):
            part = slice(start, start + step)
            shares.append(twin.predict_proba(X[part]))
            for truth, guess in zip(y[part], twin.predict(X[part]), strict=True):
                confusion[truth, guess] += 1
            twin.partial_fit(X[part], y[part])
        for batch in batches(X, y, 20 * step):
            adaptation.take(batch, step)
        np.testing.assert_array_equal(adaptation.confusion, confusion)
        assert (adaptation.rows, adaptation.learnt) == (130, 130)
        assert adaptation.accuracy == np.trace(confusion) / 130
        window = Window(classes, 130)
        window.add(np.concatenate(shares), y)
        for name, value in window.values().items():
            assert adaptation.tally.values()[name] == pytest.approx(value, abs=0.01), name
        for one, other in zip(adaptation.model.classifier.alpha_, twin.alpha_, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_lately(self):
        adaptation = begun()
        X, y = examples(1300, 1)
        assert adaptation.recent_accuracy is None
        assert adaptation.accuracy is None
        right = []
        for batch in batches(X, y, 1):
            before = np.trace(adaptation.confusion)
            adaptation.take(batch)
            right.append(int(np.trace(adaptation.confusion) - before))
        assert adaptation.recent_accuracy == np.mean(right[-1000:])

    def test_unlabelled_rows(self):
        adaptation, other = begun(), begun()
        X, y = examples(20, 1)
        known = np.ones(20, np.bool_)
        known[[0, 3, 4, 5, 19]] = False
        adaptation.take(Batch(X, y, known, 0), 2)
        for i in range(0, 20, 2):
            few = [k for k in (i, i + 1) if known[k]]
            if few:
                other.take(Batch(X[few], y[few], known[few], 0), 2)
        np.testing.assert_array_equal(adaptation.confusion, other.confusion)
        assert (adaptation.rows, adaptation.learnt) == (20, 15)

    @pytest.mark.parametrize(("step", "learnt"), [(1, 13), (5, 10), (20, 0)])
    def test_whole_steps_before_a_strange_label_are_learnt(self, step, learnt):
        adaptation, straight = begun(), begun()
        X, y = examples(20, 1)
        y[13] = 7
        batch = Batch(X, y, np.ones(20, np.bool_), 100)
        with pytest.raises(InputError, match=r"the label 7 in row 113 \(the first is row 0\) is no class"):
            adaptation.take(batch, step)
        if learnt:
            straight.take(batch[:learnt], step)
        same(adaptation, straight)
        assert adaptation.learnt == learnt

    def test_a_strange_label_that_is_not_known_does_not_matter(self):
        adaptation = begun()
        X, y = examples(20, 1)
        y[13] = 7
        adaptation.take(Batch(X, y, np.arange(20) != 13, 0))
        assert adaptation.learnt == 19

    @pytest.mark.parametrize("step", [1, 3, 5])
    def test_answers_and_bad_rows_come_in_the_order_of_the_stream(self, step):
        adaptation, twin = begun(), begun().model.classifier
        X, y = examples(9, 2)
        numbers = np.array([0, 1, 3, 4, 5, 8, 9, 10, 12])  # the others are bad, and the last two come later
        known = np.array([True, False, True, True, False, False, True, True, True])
        for number in (2, 6, 7, 11, 13, 14):
            adaptation.bad_rows.waiting.append(BadRow(number, 0, "some" if number % 2 else "other", "", b""))
        wanted = []
        for start in range(0, 9, step):
            part = slice(start, start + step)
            for number, share in zip(numbers[part].tolist(), twin.predict_proba(X[part]), strict=True):
                wanted.append((number, int(share.argmax()), share.max()))
            if known[part].any():
                twin.partial_fit(X[part][known[part]], y[part][known[part]])
        told = []
        adaptation.on_answer = lambda code, share: told.append((code, share))
        adaptation.on_bad_row = lambda bad: told.append(bad.number)
        adaptation.take(Batch(X, y, known, row_numbers=numbers), step)
        by_number = {number: (code, pytest.approx(share)) for number, code, share in wanted}
        assert told == [by_number.get(number, number) for number in range(15)]
        assert adaptation.rows == 15
        assert adaptation.learnt == 6
        assert adaptation.left_out == {"other": 3, "some": 3}
        for one, other in zip(adaptation.model.classifier.alpha_, twin.alpha_, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_labels_are_needed(self):
        X, _ = examples(5)
        with pytest.raises(InputError, match="must have a label column"):
            begun().take(Batch(X, None, np.zeros(5, np.bool_), 0))

    def test_ctrl_c_between_two_steps(self, monkeypatch):
        """What is learnt is counted: whoever goes on from the rows counted ends as if nothing had been."""
        adaptation, straight = begun(), begun()
        X, y = examples(60, 1)
        straight.take(batches(X, y, 60)[0])
        learn, left = OCBClassifier.learn_rows, [25]

        def interrupting(self, *words):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGINT)
            learn(self, *words)

        monkeypatch.setattr(OCBClassifier, "learn_rows", interrupting)
        with pytest.raises(KeyboardInterrupt):
            adaptation.take(batches(X, y, 60)[0])
        assert adaptation.rows == adaptation.learnt == adaptation.confusion.sum() == 25
        adaptation.take(Batch(X[25:], y[25:], np.ones(35, np.bool_), 25))
        same(adaptation, straight)


class TestCheckpoint:
    @pytest.mark.parametrize(
        "parameters", [{}, {"tail": False, "head": 15}, {"forgetting": 0.97}, {"head": 1, "classes": 3}]
    )
    def test_goes_on_as_if_it_had_never_stopped(self, parameters, tmp_path):
        classes = parameters.get("classes", 2)
        straight, stopping = begun(**parameters), begun(**parameters)
        X, y = examples(300, 1, classes)
        for i, batch in enumerate(batches(X, y, 20)):
            straight.take(batch)
            stopping.take(batch)
            if i % 3 == 0:
                stopping.save(tmp_path / "c")
                stopping = Adaptation.load(tmp_path / "c")
        same(stopping, straight)
        for each in (straight, stopping):
            each.finish("s.csv")
            each.save(tmp_path / f"{id(each)}")
        assert (tmp_path / f"{id(straight)}").read_bytes() == (tmp_path / f"{id(stopping)}").read_bytes()

    def test_finish_is_noted_once(self, tmp_path):
        adaptation = begun()
        X, y = examples(50, 1)
        adaptation.take(batches(X, y)[0])
        adaptation.finish("s.csv")
        adaptation.save(tmp_path / "c")
        again = Adaptation.load(tmp_path / "c")
        again.finish("other.csv")
        assert again.finished
        assert again.model.history == [
            {
                "event": "adapt",
                "stream": "s.csv",
                "rows": 50,
                "learnt": 50,
                "accuracy": adaptation.accuracy,
                "model": "m",
                "run": run_id(ORIGIN),
            }
        ]

    @pytest.mark.parametrize(
        "change",
        [
            lambda p: p.pop("model"),
            lambda p: p.update(model=[]),
            lambda p: p.update(more={}),
            lambda p: p.pop("rows"),
            lambda p: p.update(rows=-1),
            lambda p: p.update(rows=True),
            lambda p: p.update(rows=1.5),
            lambda p: p.update(finished=1),
            lambda p: p.update(origin=None),
            lambda p: p.update(learnt=-1),
            lambda p: p.update(first=1),
            lambda p: p.update(leave_unseen=None),
            lambda p: p.update(confusion=np.array([[1, 2]])),
            lambda p: p.update(confusion=np.array([[1, -2], [3, 4]])),
            lambda p: p.update(confusion=np.array([[1, 2.5], [3, 4]])),
            lambda p: p.update(confusion=np.array([[1, 2], [3, 4]], np.int32)),
            lambda p: p.update(confusion=[[1, 2], [3, 4]]),
            lambda p: p.update(confusion=None),
            lambda p: p.update(model={}),
            lambda p: p.update(left_out=[]),
            lambda p: p.update(left_out={"reason": -1}),
            lambda p: p.update(left_out={"reason": [1]}),
            lambda p: p.update(outputs={"predictions": 1.5}),
            lambda p: p.update(outputs={"predictions": True}),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, change, tmp_path):
        begun().save(tmp_path / "c")
        tree = load(tmp_path / "c", "Adaptation")
        change(tree)
        save(tmp_path / "d", "Adaptation", tree)
        with pytest.raises(ModelFileError, match="is not a valid model"):
            Adaptation.load(tmp_path / "d")
        with pytest.raises(ModelFileError, match="is not a valid model"):
            Model.load(tmp_path / "d")

    def test_what_was_left_out_and_written_is_kept(self, tmp_path):
        adaptation = begun()
        adaptation.left_out, adaptation.outputs = {"not UTF-8": 2}, {"predictions": 70}
        adaptation.save(tmp_path / "c")
        again = Adaptation.load(tmp_path / "c")
        assert (again.left_out, again.outputs) == ({"not UTF-8": 2}, {"predictions": 70})
        assert Model.load(tmp_path / "c").kind == "OCBClassifier"

    def test_the_model_on_the_way_has_the_event_and_the_run_does_not(self, tmp_path):
        adaptation = begun()
        X, y = examples(50)
        adaptation.take(batches(X, y)[0])
        adaptation.save_model(tmp_path / "m", "s.csv")
        assert [(event["event"], event["rows"]) for event in Model.load(tmp_path / "m").history] == [
            ("adapt", 50)
        ]
        assert adaptation.model.history == []

    def test_other_files_are_refused(self, tmp_path):
        begun().model.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match="not Adaptation"):
            Adaptation.load(tmp_path / "m")


class TestAdaptive:
    """The same with an AdaptiveClassifier, which remembers what it predicted."""

    def begun(self, classes=2):
        X, y = examples(220, 9, classes)
        clf = AdaptiveClassifier(n_hypotheses=6, random_state=0).fit(X, y)
        return Adaptation(Model(clf), dict(ORIGIN))

    def bytes_of(self, adaptation):
        return to_bytes("Adaptation", adaptation.tree())

    @pytest.mark.parametrize(("classes", "step"), [(2, 1), (3, 4)])
    def test_goes_on_as_if_it_had_never_stopped(self, classes, step, tmp_path):
        straight, stopping = self.begun(classes), self.begun(classes)
        X, y = examples(240, 1, classes)
        for i, batch in enumerate(batches(X, y, 20)):
            straight.take(batch, step)
            stopping.take(batch, step)
            if i % 3 == 0:
                stopping.save(tmp_path / "c")
                stopping = Adaptation.load(tmp_path / "c")
        assert self.bytes_of(stopping) == self.bytes_of(straight)
        assert isinstance(stopping.model.classifier, AdaptiveClassifier)

    def test_predictions_of_others_still_wait(self):
        adaptation = self.begun()
        X, y = examples(20, 1)
        adaptation.model.classifier.predict(X[:3], ids=["a", "b", "c"])
        adaptation.model.classifier.predict(X[:2], ids=[0, 99])  # ids are no numbers of rows
        adaptation.take(batches(X, y, 20)[0])
        assert adaptation.model.classifier.n_waiting_ == 5

    @pytest.mark.parametrize("method", ["probabilities_of", "learn_rows"])
    def test_ctrl_c_between_two_steps(self, method, monkeypatch):
        adaptation, straight = self.begun(), self.begun()
        X, y = examples(60, 1)
        straight.take(batches(X, y, 60)[0])
        call, left = getattr(AdaptiveClassifier, method), [25]

        def interrupting(self, *words, **more):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGINT)
            return call(self, *words, **more)

        monkeypatch.setattr(AdaptiveClassifier, method, interrupting)
        with pytest.raises(KeyboardInterrupt):
            adaptation.take(batches(X, y, 60)[0])
        assert adaptation.rows == adaptation.learnt == adaptation.confusion.sum() == 25
        adaptation.take(Batch(X[25:], y[25:], np.ones(35, np.bool_), 25))
        assert self.bytes_of(adaptation) == self.bytes_of(straight)

    @pytest.mark.parametrize("change", [lambda m: m.pop("bank"), lambda m: m.update(committee={})])
    def test_what_makes_no_sense_is_refused(self, change, tmp_path):
        self.begun().save(tmp_path / "c")
        tree = load(tmp_path / "c", "Adaptation")
        change(tree["model"])
        save(tmp_path / "d", "Adaptation", tree)
        with pytest.raises(ModelFileError, match="is not a valid model"):
            Adaptation.load(tmp_path / "d")


def test_a_run_has_a_name_of_its_own():
    assert run_id(ORIGIN) == run_id({**ORIGIN, "model": "another"})
    for change in ({"stream": None}, {"settings": {}}, {"label": "y"}):
        assert run_id({**ORIGIN, **change}) != run_id(ORIGIN)


def test_model_digest(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    assert model_digest(tmp_path / "a") != model_digest(tmp_path / "b")
    assert len(model_digest(tmp_path / "a")) == 64
