"""A run that is watched: what its page shows, however it was stopped."""

from __future__ import annotations

import copy
import math
import signal

import numpy as np
import pytest

from ocboost import AdaptiveClassifier
from ocboost._core.file_format import load, save
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from ocboost.deployment.watched import WatchedRun
from ocboost.errors import ModelFileError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.streams import ArrayStream, Batch
from tests.support.cli_runs import table
from tests.support.saved_trees import GONE, changed, places

KINDS = ["ocb", "growing", "adaptive"]


def examples(n, seed=0, classes=2):
    rows = table(n, seed, classes)
    return np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])


@pytest.fixture(scope="module")
def fitted():
    """A function that gives a new copy of a fitted classifier."""
    made = {}

    def make(kind, classes=2):
        if (kind, classes) not in made:
            X, y = examples(220, 9, classes)
            clf = (
                AdaptiveClassifier(n_hypotheses=6)
                if kind == "adaptive"
                else OCBClassifier(n_hypotheses=6, **({"grow": 9, "head": 30} if kind == "growing" else {}))
            )
            made[kind, classes] = clf.fit(X, y)
        return copy.copy(made[kind, classes])

    return make


@pytest.fixture
def begun(fitted):
    """A function that begins a run that is watched."""

    def begin(kind="ocb", classes=2):
        run = Adaptation(Model(fitted(kind, classes)), {"model": "m"})
        run.watched = WatchedRun(run.model, 0)
        return run

    return begin


def document(run):
    return run.watched.document(run.model, "t", [])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
def test_each_label_with_what_both_said_of_it(kind, classes, begun, fitted):
    run, deployed, twin = begun(kind, classes), fitted(kind, classes), fitted(kind, classes)
    X, y = examples(60, 1, classes)
    known = np.arange(60) % 7 != 3
    unissued = {"issue": False} if kind == "adaptive" else {}
    right, loss = {"deployed": [], "adapted": []}, {"deployed": [], "adapted": []}
    for i in np.flatnonzero(known):
        for name, clf in (("deployed", deployed), ("adapted", twin)):
            share = clf.predict_proba(X[i : i + 1], **unissued)[0]
            right[name].append(float(clf.predict(X[i : i + 1], **unissued)[0] == y[i]))
            loss[name].append(-math.log(share[y[i]]))
        twin.partial_fit(X[i : i + 1], y[i : i + 1])
    for at in range(0, 60, 25):
        part = slice(at, at + 25)
        run.take(Batch(X[part], y[part], known[part], at))
    found = document(run)
    series = found["series"]["all"]
    assert series["labels"] == list(range(1, known.sum() + 1))
    for name in ("deployed", "adapted"):
        assert series["accuracy"][name] == right[name]
        np.testing.assert_allclose(series["log_loss"][name], loss[name], rtol=1e-9)
    assert loss["deployed"] != loss["adapted"]
    assert found["status"]["accuracy"] == pytest.approx(np.mean(right["adapted"]))
    assert found["status"]["labels"] == known.sum()
    assert found["kind"] == "run"
    wrong = [k for k, hit in enumerate(right["adapted"], start=1) if not hit]
    assert [each["label"] for each in found["mistakes"]] == wrong[::-1][:20]
    rows = X[known]
    first = found["mistakes"][0]
    assert float(first["row"][2][1]) == pytest.approx(rows[first["label"] - 1, 2], rel=1e-3)


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_stopped_and_resumed_it_shows_the_same(kind, step, begun, tmp_path):
    straight, stopping = begun(kind), begun(kind)
    X, y = examples(200, 1)
    for batch in ArrayStream(X, y, batch_size=100):
        straight.take(batch, step)
    at = 0
    for n in (4, 36, 8, 92, 60):
        stopping.take(Batch(X[at : at + n], y[at : at + n], np.ones(n, np.bool_), at), step)
        at += n
        stopping.save(tmp_path / "c")
        stopping = Adaptation.load(tmp_path / "c")
    assert document(stopping) == document(straight)
    straight.save(tmp_path / "d")
    stopping.save(tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()


def test_ctrl_c_loses_no_label(begun, monkeypatch):
    straight, run = begun(), begun()
    X, y = examples(60, 1)
    straight.take(Batch(X, y, np.ones(60, np.bool_), 0))
    learn, left = OCBClassifier.learn_rows, [25]

    def interrupting(self, *words):
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        learn(self, *words)

    monkeypatch.setattr(OCBClassifier, "learn_rows", interrupting)
    with pytest.raises(KeyboardInterrupt):
        run.take(Batch(X, y, np.ones(60, np.bool_), 0))
    assert run.learnt == run.watched.watch.n_labels == 25
    run.take(Batch(X[25:], y[25:], np.ones(35, np.bool_), 25))
    assert document(run) == document(straight)


def test_a_batch_that_was_not_counted_is_counted_when_it_is_saved(begun, monkeypatch):
    straight, run = begun(), begun()
    X, y = examples(40, 1)
    batch = Batch(X, y, np.ones(40, np.bool_), 0)
    straight.take(batch)
    with monkeypatch.context() as patch:
        patch.setattr(Adaptation, "_count_probabilities", lambda self: None)  # a second Ctrl-C comes there
        run.take(batch)
    run.tree()
    assert document(run) == document(straight)


def test_the_deployed_model_does_not_learn(begun, fitted):
    run = begun()
    X, y = examples(100, 1)
    run.take(Batch(X, y, np.ones(100, np.bool_), 0))
    np.testing.assert_array_equal(run.watched.deployed.classifier.alpha_[0], fitted("ocb").alpha_[0])
    assert not np.array_equal(run.model.classifier.alpha_[0], fitted("ocb").alpha_[0])


def test_without_river_the_page_says_so(begun, monkeypatch):
    run = begun()
    assert document(run)["subtitle"] == ""
    monkeypatch.setattr("ocboost._watch.document.detector", lambda: None)
    assert "Drift was not watched" in document(run)["subtitle"]


class TestFiles:
    def test_an_older_checkpoint_is_not_watched(self, begun, tmp_path):
        run = begun()
        run.watched = None
        run.save(tmp_path / "c")
        assert "watched" not in load(tmp_path / "c", "Adaptation")
        assert Adaptation.load(tmp_path / "c").watched is None

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("watched", 3),
            ("watched.since", -1),
            ("watched.deployed", {}),
            ("watched.watch", GONE),
            ("watched.watch.n_labels", 1.5),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, path, value, begun, tmp_path):
        begun().save(tmp_path / "c")
        save(tmp_path / "d", "Adaptation", changed(load(tmp_path / "c", "Adaptation"), path, value))
        with pytest.raises(ModelFileError, match="is not a valid model"):
            Adaptation.load(tmp_path / "d")

    def test_models_that_do_not_fit_each_other(self, begun, tmp_path):
        run = begun()
        run.watched = begun(classes=3).watched
        run.save(tmp_path / "c")
        with pytest.raises(ModelFileError, match="other classes"):
            Adaptation.load(tmp_path / "c")

    def test_any_entry_changed(self, begun, tmp_path):
        """Refused, or a run that goes on and has a page."""
        run = begun()
        X, y = examples(60, 1)
        run.take(Batch(X, y, np.ones(60, np.bool_), 0))
        run.save(tmp_path / "c")
        tree = load(tmp_path / "c", "Adaptation")
        rng, refused = np.random.default_rng(0), 0
        values = [GONE, None, -1, 2**70, 0.5, "x", [], {}, np.array([math.nan]), np.zeros((0, 2))]
        paths = [path for path in places(tree["watched"]) if path[0] != "deployed"]
        for path in paths:
            value = values[int(rng.integers(len(values)))]
            save(tmp_path / "d", "Adaptation", changed(tree, ("watched", *path), value))
            try:
                other = Adaptation.load(tmp_path / "d")
            except ModelFileError:
                refused += 1
                continue
            other.take(Batch(X, y, np.ones(60, np.bool_), 60))
            document(other)
        assert refused > len(paths) // 2
