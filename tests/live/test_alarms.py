"""Alarms beside a model in service: events and silence reach webhooks, whatever happens in between."""

from __future__ import annotations

import json
import logging
import threading
import time
from functools import partial

import numpy as np
import pytest

from ocboost.errors import ModelFileError
from ocboost.live import Adapter, alarms
from ocboost.live.alarms import Alarms, webhook_urls
from ocboost.live.notices import AlarmNotice
from ocboost.live.webhooks import Webhook
from tests.support.asgi_client import ROW, small_model
from tests.support.receiver import receiving, until

QUICK = partial(Webhook, delay=lambda attempt: 0.0)


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(autouse=True)
def look_often(monkeypatch):
    monkeypatch.setattr(alarms, "LOOK_SECONDS", 0.01)


def alarms_of(adapter, folder, *urls, **more):
    more.setdefault("webhook", QUICK)
    return Alarms(adapter, folder, "churn", webhook_urls(urls), **more)


def content(came):
    return json.loads(came.body)


def test_events_reach_every_url(model, tmp_path):
    with receiving() as one, receiving() as other, Adapter(model, tmp_path) as adapter:
        adapter.freeze()  # before: that is not told
        with alarms_of(adapter, tmp_path, one.url, other.url):
            adapter.freeze(False)
            adapter.promote()
            found = [content(one.next()), content(one.next())]
            assert found == [content(other.next()), content(other.next())]
    assert [each["type"] for each in found] == ["unfrozen", "promoted"]
    assert [each["data"]["number"] for each in found] == [2, 3]
    assert found[0]["text"] == "Learning goes on."
    assert found[0]["model"] == "churn"


def test_drift_and_the_guard(model, tmp_path):
    """Labels turn round: the errors of the models change, and the adapted one answers in the end."""
    pytest.importorskip("river")
    X = np.random.default_rng(0).normal(size=(1200, 3))
    with (
        receiving() as receiver,
        Adapter(model, tmp_path) as adapter,
        alarms_of(adapter, tmp_path, receiver.url),
    ):
        for i, x in enumerate(X.tolist()):
            label = ("no", "yes")[(x[0] > 0) != (i >= 400)]
            adapter.label_soon([{"row": dict(zip("abc", x, strict=True)), "label": label}])
        assert adapter.facts()["labels"] == len(X)
        events = adapter.events()
        found = [content(receiver.next()) for _ in events]
    assert [each["data"]["number"] for each in found] == [each["number"] for each in events]
    assert {each["type"] for each in found} == {"drift", "guard"}
    worse = next(each for each in found if each["data"]["of"] == "deployed")
    assert worse["data"]["better"] is False
    assert 400 < worse["data"]["label"] < 700
    assert "deployed model's rate of error rose" in worse["text"]
    guard = next(each for each in found if each["type"] == "guard")
    assert guard["data"]["of"] == "adapted"
    assert guard["text"].startswith("The adapted model answers from now on")


def test_a_restart_goes_on(model, tmp_path):
    with receiving() as receiver:
        with Adapter(model, tmp_path) as adapter, alarms_of(adapter, tmp_path, receiver.url):
            adapter.freeze()
            assert content(receiver.next())["type"] == "frozen"
        with Adapter(model, tmp_path) as adapter:
            adapter.freeze(False)  # nobody looks
        with Adapter(model, tmp_path) as adapter, alarms_of(adapter, tmp_path, receiver.url):
            adapter.freeze()
            found = [content(receiver.next()) for _ in range(2)]
            assert [each["data"]["number"] for each in found] == [2, 3]
        assert receiver.came.empty()


def test_an_end_between_sending_and_remembering(model, tmp_path):
    """As after a kill: it was sent and that is not written; it is sent again, as the same delivery."""

    def forgetful(index, url, name, secret, delivered):
        return QUICK(index, url, name, secret, lambda notice: None)

    with receiving() as receiver:
        with (
            Adapter(model, tmp_path) as adapter,
            alarms_of(adapter, tmp_path, receiver.url, webhook=forgetful),
        ):
            adapter.freeze()
            first = receiver.next()
        with Adapter(model, tmp_path) as adapter, alarms_of(adapter, tmp_path, receiver.url):
            again = receiver.next()
    assert first.headers["Ocboost-Delivery"] == again.headers["Ocboost-Delivery"]
    assert first.body == again.body


def test_what_could_not_be_sent_is_sent_after_the_next_start(model, tmp_path, monkeypatch):
    monkeypatch.setattr(alarms, "CLOSE_SECONDS", 0.2)
    slow = partial(Webhook, delay=lambda attempt: 1e6)
    with receiving() as receiver:
        receiver.answers = [500]
        with Adapter(model, tmp_path) as adapter:
            with alarms_of(adapter, tmp_path, receiver.url, webhook=slow) as watching:
                adapter.freeze()
                adapter.freeze(False)
                receiver.next()
                until(lambda: watching.webhooks[0].waiting == 2)
            assert receiver.came.empty()
        with Adapter(model, tmp_path) as adapter, alarms_of(adapter, tmp_path, receiver.url):
            assert [content(receiver.next())["type"] for _ in range(2)] == ["frozen", "unfrozen"]


def test_what_happened_last_is_sent_at_the_end(model, tmp_path, monkeypatch):
    monkeypatch.setattr(alarms, "LOOK_SECONDS", 1e6)
    with receiving() as receiver, Adapter(model, tmp_path) as adapter:
        with alarms_of(adapter, tmp_path, receiver.url):
            adapter.freeze()
        assert content(receiver.came.get_nowait())["type"] == "frozen"


def test_a_slow_receiver_is_in_nobodys_way(model, tmp_path, monkeypatch):
    monkeypatch.setattr(alarms, "CLOSE_SECONDS", 0.2)
    with receiving() as receiver, receiving() as other, Adapter(model, tmp_path) as adapter:
        receiver.held.clear()
        watching = alarms_of(adapter, tmp_path, receiver.url, other.url)
        watching.start()
        adapter.freeze()
        receiver.next()  # it is not answered
        assert content(other.next())["type"] == "frozen"
        adapter.freeze(False)
        assert content(other.next())["type"] == "unfrozen"
        ids = adapter.predict([ROW]).ids
        assert adapter.label([{"id": ids[0], "label": adapter.classes[0]}]).accepted == 1
        watching.close()
        assert watching.webhooks[0]._thread.is_alive()  # it still waits, and nobody for it
        before = (tmp_path / "webhooks.json").read_bytes()
        receiver.held.set()
        watching.webhooks[0].join(30)
        assert (tmp_path / "webhooks.json").read_bytes() == before  # another process may have the folder


class Clock:
    """A clock that is told the time."""

    ahead = 0.0

    def __init__(self, seconds):
        self.seconds = seconds

    def now(self):
        return self.seconds


class Told:
    """An adapter that says what it is told to."""

    def __init__(self):
        self.clock = Clock(1_760_000_000.0)
        self.counts = {"labels": 0, "pending": 0, "expired": 0, "last_event": 0}
        self.happened = []

    def facts(self):
        if isinstance(self.counts, Exception):
            raise self.counts
        return dict(self.counts)

    def events(self, after):
        return [each for each in self.happened if each["number"] > after]


def test_silence(tmp_path):
    clock, adapter = Clock(1_760_000_000.0), Told()
    with receiving() as receiver:
        watching = alarms_of(adapter, tmp_path, receiver.url, within=60.0, clock=clock)
        watching.webhooks[0].start()

        def pass_time(seconds, **changes):
            for _ in range(seconds):
                clock.seconds += 1.0
                for key, change in changes.items():
                    adapter.counts[key] += change
                watching.look()

        pass_time(2, pending=1)
        pass_time(100, labels=1)
        assert not watching.labels_stopped
        pass_time(30, pending=3)
        pass_time(40, expired=3)  # new ones come and old ones go
        assert watching.labels_stopped
        stopped = content(receiver.next())
        assert stopped["type"] == "labels_stopped"
        assert stopped["data"]["predictions"] == 186  # 3 a second
        pass_time(30, pending=3)
        assert receiver.came.empty()
        watching.close()

        watching = alarms_of(adapter, tmp_path, receiver.url, within=60.0, clock=clock)
        watching.webhooks[0].start()
        assert watching.labels_stopped  # it is known after a restart
        pass_time(10, pending=3)
        assert receiver.came.empty()
        pass_time(1, labels=1, pending=-1)
        back = content(receiver.next())
        assert back["type"] == "labels_back"
        assert back["id"] != stopped["id"]
        assert not watching.labels_stopped
        watching.close()
    assert json.loads((tmp_path / "silence.json").read_text())["stopped_at"] is None


def test_silence_that_could_not_be_told_is_told_after_the_next_start(tmp_path):
    """Killed, so that nothing is closed in order."""
    clock, adapter = Clock(1_760_000_000.0), Told()
    with receiving() as receiver, receiving() as new:
        receiver.answers = [500]
        of_url = partial(alarms_of, adapter, tmp_path, within=10.0, clock=clock)
        killed = of_url(receiver.url, webhook=partial(Webhook, delay=lambda attempt: 1e6))
        killed.webhooks[0].start()
        for _ in range(20):
            clock.seconds += 1
            adapter.counts["pending"] += 1
            killed.look()
        first = receiver.next()
        assert content(first)["type"] == "labels_stopped"

        again = of_url(receiver.url, new.url)
        again.start()
        told = receiver.next()
        assert told.headers["Ocboost-Delivery"] == first.headers["Ocboost-Delivery"]
        assert told.body == first.body
        until(lambda: again.webhooks[0].waiting == 0)
        again.close()
        with of_url(receiver.url):  # it has arrived
            pass
        assert receiver.came.empty()
        assert new.came.empty()  # which is told what happens from now on
        killed.webhooks[0].end(0.0)
        killed.webhooks[0].join(30)


def test_labels_before_the_first_look(tmp_path):
    """As from a client that tries again until the service is back."""
    adapter = Told()
    of_url = partial(alarms_of, adapter, tmp_path, within=10.0)
    with receiving() as receiver:
        watching = of_url(receiver.url)
        for _ in range(20):
            adapter.clock.seconds += 1
            adapter.counts["pending"] += 1
            watching.look()
        watching.webhooks[0].start()
        assert content(receiver.next())["type"] == "labels_stopped"
        watching.close()

        watching = of_url(receiver.url)
        adapter.counts["labels"] += 20
        adapter.counts["pending"] -= 20
        watching.look()
        watching.webhooks[0].start()
        assert content(receiver.next())["type"] == "labels_back"
        watching.close()


def test_what_is_told_has_the_time_of_the_system(tmp_path):
    adapter = Told()
    adapter.clock.ahead = 86_400.0
    with receiving() as receiver:
        watching = alarms_of(adapter, tmp_path, receiver.url, within=10.0)
        adapter.counts["labels"] += 1
        watching.look()
        for _ in range(20):
            adapter.clock.seconds += 1
            adapter.counts["pending"] += 1
            watching.look()
        watching.webhooks[0].start()
        told = content(receiver.next())
        watching.close()
    assert told["time"] == "2025-10-10T08:53:32.000Z"
    assert told["data"]["last_label"] == "2025-10-10T08:53:20.000Z"


def test_a_clock_that_was_wrong_once(model, tmp_path, monkeypatch):
    """The first label came in the year 2096: labels that stop must still be noticed when it is mended."""
    days = [4_000_000_000.0 + 86_400.0]
    monkeypatch.setattr(time, "time", lambda: days[0])
    with Adapter(model, tmp_path) as adapter:
        watching = alarms_of(adapter, tmp_path)
        adapter.label([{"row": ROW, "label": "yes"}])
        watching.look()
        watching.close()
    days[0] = 1_760_000_000.0
    with Adapter(model, tmp_path) as adapter:
        watching = alarms_of(adapter, tmp_path)
        adapter.clock._start += 2 * 86_400.0
        adapter.label([{"row": ROW, "label": "yes"}])
        watching.look()
        assert watching._silence.limit is not None  # labels have come for two days
        watching.close()


def test_no_silence_while_nothing_waits(tmp_path):
    clock, adapter = Clock(0.0), Told()
    watching = alarms_of(adapter, tmp_path, within=10.0, clock=clock)
    for _ in range(60):
        clock.seconds += 1
        adapter.counts["expired"] += 1  # each is dropped at once
        watching.look()
    assert not watching.labels_stopped
    watching.close()


def test_without_webhooks_silence_is_logged(tmp_path, caplog):
    clock, adapter = Clock(0.0), Told()
    watching = alarms_of(adapter, tmp_path, within=10.0, clock=clock)
    for _ in range(20):
        clock.seconds += 1
        adapter.counts["pending"] += 1
        watching.look()
    watching.close()
    assert [each.message for each in caplog.records] == [
        "No label has ever come: none in 11 seconds of predictions, and 10 seconds is the limit. "
        "12 predictions were made meanwhile."
    ]
    assert not (tmp_path / "webhooks.json").exists()


def test_events_that_are_gone_are_counted(tmp_path):
    adapter = Told()
    with receiving() as receiver:
        watching = alarms_of(adapter, tmp_path, receiver.url)
        watching.webhooks[0].start()
        adapter.happened = [
            {
                "number": number,
                "kind": kind,
                "label": 1,
                "time": None,
                "of": None,
                "better": None,
                "text": "x",
            }
            for number, kind in ((6, "frozen"), (7, "drift"), (8, "unfrozen"))
        ]
        watching.look()
        assert [content(receiver.next())["data"]["number"] for _ in range(3)] == [6, 7, 8]
        assert watching.webhooks[0].results["dropped"] == 5
        watching.look()
        watching.close()
        assert receiver.came.empty()


def test_a_number_that_comes_again_is_another_delivery():
    """A journal that was put back from a backup counts on from there."""
    event = {"number": 7, "kind": "frozen", "label": 1, "time": 10.0, "text": "Learning pauses."}
    one, same, other = (
        AlarmNotice.of_event({**event, "time": time}, "sender", 20.0) for time in (10.0, 10.0, 11.0)
    )
    assert one.id == same.id != other.id


def test_looking_that_fails_is_tried_again(tmp_path, caplog):
    adapter = Told()
    with receiving() as receiver, alarms_of(adapter, tmp_path, receiver.url):
        counts, adapter.counts = adapter.counts, RuntimeError("no")
        until(lambda: caplog.records)
        adapter.counts = counts
        adapter.happened = [{"number": 1, "kind": "frozen", "time": 1.0, "text": "x"}]
        assert content(receiver.next())["time"] == "1970-01-01T00:00:01.000Z"
    assert [each.levelno for each in caplog.records] == [logging.ERROR]


def test_an_adapter_that_is_busy_does_not_hold_up_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(alarms, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(alarms, "SAVE_SECONDS", 0.0)
    asked, free = threading.Event(), threading.Event()

    class Busy(Told):
        def facts(self):
            if watching is not None:
                asked.set()
                free.wait(30)
            return super().facts()

    watching = None
    watching = alarms_of(Busy(), tmp_path)
    watching.start()
    assert asked.wait(30)
    watching.close()
    assert watching._thread.is_alive()
    (tmp_path / "silence.json").unlink()
    free.set()
    watching._thread.join(30)
    assert not (tmp_path / "silence.json").exists()  # another process may have the folder


def test_a_file_that_makes_no_sense(tmp_path):
    (tmp_path / "silence.json").write_text('{"format": 1, "gap": 1e999}')
    with pytest.raises(ModelFileError, match=r"silence\.json' makes no sense: .*Remove it"):
        Alarms(Told(), tmp_path)
