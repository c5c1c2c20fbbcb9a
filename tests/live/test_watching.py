"""What a model in service says of itself, for the page: figures, events, mistakes, versions."""

from __future__ import annotations

import json
import sqlite3
import threading

import numpy as np
import pytest

from ocboost.live import Adapter, replay, watching
from tests.support import live

ROWS, LABELS = live.records(200, 400), live.labels(200, 400)


def teach(adapter, rows, labels):
    """Predict rows and give their labels, ten at a time: what was said."""
    said = []
    for i in range(0, len(rows), 10):
        answers = adapter.predict(rows[i : i + 10])
        said += list(answers)
        adapter.label(
            [{"id": id_, "label": y} for id_, y in zip(answers.ids, labels[i : i + 10], strict=True)]
        )
    return said


def mean_loss(said, labels):
    return float(np.mean([-np.log(one.probabilities[y]) for one, y in zip(said, labels, strict=True)]))


@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
def test_figures_are_those_of_what_was_said(kind, tmp_path):
    with Adapter(live.model(kind), tmp_path / "s", guard=False) as adapter:
        deployed = list(adapter.predict(ROWS, issue=False))
        adapted = teach(adapter, ROWS, LABELS)
        recent = adapter.facts()["recent"]
        series = adapter.watch()["series"]["all"]
    for name, said in (("deployed", deployed), ("adapted", adapted)):
        right = np.mean([one.label == y for one, y in zip(said, LABELS, strict=True)])
        assert recent[name]["accuracy"] == pytest.approx(right)
        assert recent[name]["log_loss"] == pytest.approx(mean_loss(said, LABELS), rel=1e-6)
        assert np.mean(series["log_loss"][name]) == pytest.approx(mean_loss(said, LABELS), rel=1e-6)
    assert recent["answered"]["accuracy"] == recent["adapted"]["accuracy"]
    assert series["labels"][-1] == len(ROWS)


def test_late_labels_count_by_what_was_said_then(tmp_path):
    with Adapter(live.model(), tmp_path / "s", guard=False) as adapter:
        early = adapter.predict(ROWS[:50])
        teach(adapter, ROWS[50:], LABELS[50:])
        before = adapter.watch()["series"]["all"]["log_loss"]["adapted"]
        adapter.label([{"id": i, "label": y} for i, y in zip(early.ids, LABELS[:50], strict=True)])
        after = adapter.watch()["series"]["all"]["log_loss"]["adapted"]
    assert np.mean(after[len(before) :]) == pytest.approx(mean_loss(list(early), LABELS[:50]), rel=1e-6)


@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
def test_the_document(kind, tmp_path):
    with Adapter(live.model(kind), tmp_path / "s") as adapter:
        teach(adapter, ROWS, LABELS)
        waiting = adapter.predict(ROWS[:3])
        adapter.freeze()
        adapter.promote()
        adapter.explain_mistakes(2)
        found = adapter.watch("<b>")
        assert [each["kind"] for each in adapter.events(1)] == ["promoted"]
        assert adapter.events(2) == []
    found = json.loads(json.dumps(found, allow_nan=False))
    assert found["title"] == "<b>"
    assert found["classes"] == ["no", "yes"]
    assert (found["status"]["labels"], found["status"]["pending"]) == (200, len(waiting))
    assert found["status"]["frozen"] is True
    assert [each["kind"] for each in found["events"]][-2:] == ["frozen", "promoted"]
    assert [each["number"] for each in found["versions"]] == [0, 1]
    assert bool(found["members"]) == (kind == "adaptive")
    assert {each["name"] for each in found["features"]} <= set(live.COLUMNS)
    newest = found["mistakes"][0]
    assert newest["said"] != newest["truth"]
    assert [name for name, _ in newest["row"]] == live.COLUMNS
    assert newest["now"]["prediction"] in ("no", "yes")
    assert newest["now"]["features"]
    assert sum(each["now"] is not None for each in found["mistakes"]) == min(2, len(found["mistakes"]))


@pytest.mark.parametrize("kind", ["adaptive", "ocb"])
def test_what_has_moved_is_told_from_the_first_model_on(kind, tmp_path, monkeypatch):
    """Also after a promotion: members, hypotheses and features mean the same beginning."""
    monkeypatch.setattr(watching, "PAUSE", 0)
    with Adapter(live.model(kind), tmp_path / "s") as adapter:
        first = {each["name"]: each["share"] for each in adapter.watch()["features"]}
        teach(adapter, ROWS, ["no" if y == "yes" else "yes" for y in LABELS])
        adapter.promote()
        moved = adapter.watch()["features"]
    assert {each["name"]: each["before"] for each in moved} == first
    assert any(each["share"] != each["before"] for each in moved)


def test_it_survives_restarts_and_is_what_the_journal_says(tmp_path):
    with Adapter(live.model(), tmp_path / "s") as adapter:
        teach(adapter, ROWS[:100], LABELS[:100])
        adapter.checkpoint()
        teach(adapter, ROWS[100:], LABELS[100:])
        before = adapter.watch()
        crashed = live.crashed_copy(tmp_path / "s", tmp_path / "crashed")
    with Adapter(live.model(), crashed) as adapter:
        after = adapter.watch()
        again = replay(tmp_path / "s").watch
        assert again.tree()["n_labels"] == 200
    for key in ("series", "events", "hypotheses", "features", "versions"):
        assert after[key] == before[key]
    assert again.series() == before["series"]
    assert [each["number"] for each in after["mistakes"]] == [each["number"] for each in before["mistakes"]]


def test_the_guards_decisions_are_events(tmp_path):
    with Adapter(live.model(), tmp_path / "s") as adapter:
        flipped = ["no" if y == "yes" else "yes" for y in LABELS]
        for _ in range(3):
            teach(adapter, ROWS, flipped)
        events = [each for each in adapter.events() if each["kind"] == "guard"]
        assert adapter.facts()["guard_decisions"] == len(events) >= 1
    assert events[0]["of"] == "adapted"
    assert events[0]["text"] == (
        "The adapted model answers from now on, no longer the deployed model, judged by the labels that came."
    )


def test_a_journal_of_before_is_taken_over(tmp_path):
    """Predictions that wait in it have no probabilities: they are learnt, and count where they can."""
    with Adapter(live.model(), tmp_path / "s") as adapter:
        teach(adapter, ROWS[:20], LABELS[:20])
        ids = adapter.predict(ROWS[20:30]).ids
    db = sqlite3.connect(tmp_path / "s" / "journal.db")
    for table in ("pending", "journal"):
        db.execute(f"alter table {table} drop column shares")
    db.execute("pragma user_version=1")
    db.commit()
    db.close()
    with Adapter(live.model(), tmp_path / "s") as adapter:
        report = adapter.label([{"id": i, "label": y} for i, y in zip(ids, LABELS[20:30], strict=True)])
        teach(adapter, ROWS[30:40], LABELS[30:40])
        found = adapter.watch()["series"]["all"]
    assert report.accepted == 10
    assert found["labels"][-1] == 40
    assert found["accuracy"]["adapted"][20:30] == [None] * 10
    assert None not in found["accuracy"]["deployed"]


@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
def test_threads_may_look_while_it_learns(kind, tmp_path):
    """What they see fits together, and nothing is disturbed."""
    ended, faults, seen = threading.Event(), [], []

    def look(adapter):
        try:
            while not ended.is_set():
                adapter.explain_mistakes(1)
                found = adapter.watch()
                seen.append(found["status"]["labels"])
                assert sum(found["series"]["all"]["counts"]) == found["status"]["labels"]
                assert [each["number"] for each in adapter.events()] == sorted(
                    {each["number"] for each in adapter.events()}
                )
        except BaseException as error:
            faults.append(error)

    with Adapter(live.model(kind), tmp_path / "s") as adapter:
        readers = [threading.Thread(target=look, args=(adapter,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        teach(adapter, ROWS, LABELS)
        ended.set()
        for reader in readers:
            reader.join()
        watched = adapter.model_file()
    assert faults == []
    assert seen
    with Adapter(live.model(kind), tmp_path / "alone") as adapter:
        teach(adapter, ROWS, LABELS)
        assert adapter.model_file() == watched


def test_errors_of_another_model_are_watched_anew(tmp_path):
    def watched(adapter):
        return {name: len(each._wrong) for name, each in adapter._state.watch._detectors.items()}

    with Adapter(live.model(), tmp_path / "s") as adapter:
        teach(adapter, ROWS[:20], LABELS[:20])
        assert watched(adapter) == {"deployed": 20, "adapted": 20}
        adapter.rollback(0)
        assert watched(adapter) == {"deployed": 20, "adapted": 0}
        adapter.promote()
        assert watched(adapter) == {"deployed": 0, "adapted": 0}
