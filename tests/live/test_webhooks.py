"""One webhook: what is sent, when it is sent again, and what is given up."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import stat
import threading
from contextlib import contextmanager
from email.utils import format_datetime

import pytest

from ocboost.errors import ModelFileError
from ocboost.live import webhooks
from ocboost.live.http_post import DeliveryError, parse_url
from ocboost.live.notices import AlarmNotice
from ocboost.live.webhooks import Delivered, Last, Webhook, backoff, seconds_of, signature
from tests.support.receiver import receiving, until

SECRET = b"a-secret-of-the-tests"


def drift(number):
    event = {
        "number": number,
        "kind": "drift",
        "label": 1234,
        "time": 1763330000.0,
        "of": "adapted",
        "better": False,
        "text": "The adapted model's rate of error rose, from 12.0% to 31.5%.",
    }
    return AlarmNotice.of_event(event, "a sender", 0.0)


@contextmanager
def sending(url, secret=None, **more):
    """A webhook that runs, and the list of numbers that it has delivered or given up."""
    numbers = []
    more.setdefault("delay", lambda attempt: 0.0)
    webhook = Webhook(
        1, parse_url(url, "--webhook"), "churn", secret, lambda notice: numbers.append(notice.number), **more
    )
    webhook.start()
    try:
        yield webhook, numbers
    finally:
        webhook.end(0.0)
        webhook.join(30)
        assert not webhook._thread.is_alive()


def test_what_is_sent():
    with receiving() as receiver, sending(receiver.url, SECRET) as (webhook, numbers):
        webhook.put(drift(7))
        came = receiver.next()
        until(lambda: numbers == [7])
    assert json.loads(came.body) == {
        "id": came.headers["Ocboost-Delivery"],
        "type": "drift",
        "time": "2025-11-16T21:53:20.000Z",
        "model": "churn",
        "text": "The adapted model's rate of error rose, from 12.0% to 31.5%.",
        "data": {"number": 7, "label": 1234, "of": "adapted", "better": False},
    }
    assert came.headers["Content-Type"] == "application/json"
    assert re.fullmatch(r"ocboost/\S+", came.headers["User-Agent"])
    assert came.headers["Ocboost-Event"] == "drift"
    at = int(re.fullmatch(r"t=(\d+),v1=[0-9a-f]{64}", came.headers["Ocboost-Signature"])[1])
    assert came.headers["Ocboost-Signature"] == signature(SECRET, came.body, at)
    assert webhook.results == {"delivered": 1, "retried": 0, "given_up": 0, "dropped": 0}


def test_no_secret_no_signature():
    with receiving() as receiver, sending(receiver.url) as (webhook, _):
        webhook.put(drift(1))
        assert receiver.next().headers["Ocboost-Signature"] is None


def test_text_from_outside_stays_inside_json():
    notice = AlarmNotice("drift", 0.0, 'a"\r\n\x1b[31m\u202e', {"of": "</script>"})
    assert notice.body("é\n").isascii()
    assert b"\n" not in notice.body("é\n")
    assert json.loads(notice.body("é\n"))["text"] == notice.text


def test_order_is_kept_through_failures():
    with receiving() as receiver:
        receiver.answers = [500, 503, 200, 429, 200, 408, 425, 302, 200]
        with sending(receiver.url) as (webhook, numbers):
            for number in range(1, 5):
                webhook.put(drift(number))
            until(lambda: numbers == [1, 2, 3, 4])
            came = [receiver.next() for _ in range(10)]
    assert [json.loads(each.body)["data"]["number"] for each in came] == [1, 1, 1, 2, 2, 3, 3, 3, 3, 4]
    ids = [each.headers["Ocboost-Delivery"] for each in came]
    assert len(set(ids)) == 4
    assert ids[0] == ids[1] == ids[2]
    assert came[0].body == came[1].body
    assert webhook.results == {"delivered": 4, "retried": 6, "given_up": 0, "dropped": 0}


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_errors_of_ours_are_given_up(status, caplog):
    with receiving() as receiver:
        receiver.answers = [status]
        with sending(receiver.url) as (webhook, numbers):
            webhook.put(drift(1))
            webhook.put(drift(2))
            until(lambda: numbers == [1, 2])
    assert webhook.results == {"delivered": 1, "retried": 0, "given_up": 1, "dropped": 0}
    assert f"it answered {status}; event {drift(1).id} is given up" in caplog.text


def test_no_redirect_is_followed(caplog):
    with receiving() as other, receiving() as receiver:
        receiver.answers = [(status, {"Location": other.url}) for status in (301, 302, 307, 308)]
        with sending(receiver.url) as (webhook, numbers):
            webhook.put(drift(1))
            until(lambda: numbers == [1])
        assert receiver.came.qsize() == 5
        assert other.came.qsize() == 0
    assert "redirect, which is not followed" in caplog.text


def test_a_receiver_that_is_not_there_yet():
    tried = threading.Event()

    def delay(attempt):
        tried.set()
        return 0.01

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with sending(f"http://127.0.0.1:{port}/in", delay=delay) as (webhook, numbers):
        webhook.put(drift(1))
        assert tried.wait(30)
        with receiving(port) as receiver:
            until(lambda: numbers == [1])
            assert receiver.next().headers["Ocboost-Delivery"] == drift(1).id


def test_how_long_it_waits(monkeypatch):
    """The pauses, with a clock that they move."""
    now, paused, answers = [0.0], [], [(500, None)] * 12 + [(503, "1000"), (429, "99999"), (200, None)]

    def pause(self, seconds):
        paused.append(seconds)
        now[0] += seconds
        return True

    monkeypatch.setattr(Webhook, "_pause", pause)
    monkeypatch.setattr(webhooks.random, "uniform", lambda low, high: high)
    with sending(
        "http://127.0.0.1/", delay=backoff, clock=lambda: now[0], send=lambda *words: answers.pop(0)
    ) as (webhook, numbers):
        webhook.put(drift(1))
        until(lambda: numbers == [1])
    assert paused == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 1000, 3600]


def test_given_up_after_a_day(monkeypatch, caplog):
    now = [0.0]

    def pause(self, seconds):
        now[0] += seconds
        return True

    def send(*words):
        raise DeliveryError("no answer")

    monkeypatch.setattr(Webhook, "_pause", pause)
    with sending("http://127.0.0.1/", delay=backoff, clock=lambda: now[0], send=send) as (webhook, numbers):
        webhook.put(drift(1))
        until(lambda: numbers == [1])
    assert 86_400 <= now[0] < 86_400 + 300
    assert 280 < webhook.results["retried"] < 700
    assert (webhook.results["given_up"], webhook.results["delivered"]) == (1, 0)
    assert len(caplog.records) == 2  # the first failure and the end: not each attempt


def test_jitter():
    waits = [backoff(4) for _ in range(200)]
    assert 4.0 <= min(waits) < 5.0 < 7.0 < max(waits) <= 8.0
    assert max(backoff(1_000_000) for _ in range(100)) <= 300.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0.0), ("", 0.0), ("-5", 0.0), ("1e3", 0.0), ("9" * 400, 3600.0), ("٣", 0.0), ("3", 3.0)],
)
def test_retry_after(header, seconds):
    assert seconds_of(header, 0.0) == seconds


def test_retry_after_a_date():
    from datetime import UTC, datetime

    date = datetime(2026, 1, 1, tzinfo=UTC)
    text = format_datetime(date, usegmt=True)
    assert seconds_of(text, date.timestamp() - 90) == 90.0
    assert seconds_of(text, date.timestamp() + 90) == 0.0
    assert seconds_of(text, 0.0) == 3600.0
    assert seconds_of("Mon, 99 Foo 99999 00:00:00 GMT", 0.0) == 0.0


def test_the_oldest_are_dropped(monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "MAX_QUEUED", 3)
    with receiving() as receiver:
        receiver.held.clear()
        with sending(receiver.url) as (webhook, numbers):
            webhook.put(drift(1))
            receiver.next()  # it is being sent
            for number in range(2, 8):
                webhook.put(drift(number))
            assert webhook.waiting == 3
            receiver.held.set()
            until(lambda: numbers == [1, 6, 7])
    assert webhook.results["dropped"] == 4
    assert caplog.text.count("the oldest are dropped") == 1


def test_the_end_while_a_receiver_is_slow():
    with receiving() as receiver:
        receiver.held.clear()
        with sending(receiver.url) as (webhook, numbers):
            webhook.put(drift(1))
            receiver.next()
            webhook.end(0.0)
            webhook.join(0.0)  # returns although the thread still waits for an answer
            assert webhook._thread.is_alive()
            receiver.held.set()
    assert numbers == [1]


def test_the_end_while_it_waits_to_send_again():
    failed = threading.Event()

    def delay(attempt):
        failed.set()
        return 1e6

    def send(*words):
        raise DeliveryError("no")

    with sending("http://127.0.0.1/", delay=delay, send=send) as (webhook, numbers):
        webhook.put(drift(1))
        assert failed.wait(30)
    assert numbers == []
    assert webhook.waiting == 1


def test_secrets_are_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    with receiving() as receiver:
        receiver.answers = [500, 404, 302]
        url = f"http://user:hidden1@127.0.0.1:{receiver.port}/hidden2?key=hidden3"
        with sending(url, b"hidden4-of-the-tests") as (webhook, numbers):
            webhook.put(drift(1))
            webhook.put(drift(2))
            until(lambda: numbers == [1, 2])
    assert len(caplog.records) >= 3
    assert "hidden" not in caplog.text
    assert "user" not in caplog.text
    assert f"webhook 1 (http://127.0.0.1:{receiver.port})" in caplog.text
    assert "hidden" not in repr(vars(webhook)["_url"])


def test_an_error_of_ours_does_not_end_the_thread(caplog):
    def send(url, body, *words):
        if b'"number": 1,' in body:
            raise ZeroDivisionError
        return 200, None

    with sending("http://127.0.0.1/", send=send) as (webhook, numbers):
        webhook.put(drift(1))
        webhook.put(drift(2))
        until(lambda: numbers == [1, 2])
    assert webhook.results["given_up"] == 1


# The file -------------------------------------------------------------------------------------------------


def test_a_url_begins_with_what_is_new(tmp_path):
    one = Delivered(tmp_path)
    forty = Last(40, "the last notice")
    assert one.begin(["http://a", "http://b"], forty) == {"http://a": forty, "http://b": forty}
    one.delivered("http://a", drift(41))
    one.delivered("http://b", AlarmNotice("labels_back", 1.0, "Labels come again.", {}, id="of silence"))
    again = Delivered(tmp_path)
    assert again.sender == one.sender
    newest = Last(45, "another")
    assert again.begin(["http://a", "http://c"], newest) == {
        "http://a": Last(41, "the last notice"),
        "http://c": newest,
    }
    assert Delivered(tmp_path).begin(["http://b"], newest) == {"http://b": Last(40, "of silence")}
    content = (tmp_path / "webhooks.json").read_text()
    assert "http" not in content
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "webhooks.json").stat().st_mode) == 0o600


def test_a_state_that_began_anew(tmp_path):
    Delivered(tmp_path).begin(["http://a"], Last(40))
    assert Delivered(tmp_path).begin(["http://a"], Last(3)) == {"http://a": Last(3)}


def test_nothing_is_written_after_the_end(tmp_path):
    one = Delivered(tmp_path)
    one.begin(["http://a"], Last(1))
    before = (tmp_path / "webhooks.json").read_bytes()
    one.end()
    one.delivered("http://a", drift(2))
    assert (tmp_path / "webhooks.json").read_bytes() == before


def test_a_disk_that_is_full(tmp_path, monkeypatch, caplog):
    one = Delivered(tmp_path)
    one.begin(["http://a"], Last(1))

    def full(path, tree):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(webhooks, "write_side_file", full)
    one.delivered("http://a", drift(2))
    assert "'webhooks.json' could not be written: No space left" in caplog.text


GOOD = {"format": 1, "sender": "a" * 32, "delivered": {"a": {"number": 1, "notice": None}}}


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"[]",
        b"NaN",
        *(
            json.dumps({**GOOD, **change}).encode()
            for change in (
                {"format": 2},
                {"format": True},
                {"sender": 1},
                {"sender": ""},
                {"sender": "a" * 100},
                {"delivered": [1]},
                *(
                    {"delivered": {"a": {"number": number, "notice": None}}}
                    for number in (-1, 1.5, True, 1 << 70, {})
                ),
                {"delivered": {"a": {"number": 1, "notice": 1}}},
                {"delivered": {"a": {"number": 1, "notice": "x" * 100}}},
                {"delivered": {"a": {"number": 1}}},
                {"delivered": {"a": 1}},
                {"delivered": {str(i): {"number": i, "notice": None} for i in range(101)}},
                {"more": 1},
            )
        ),
        json.dumps(GOOD).replace("1,", "NaN,").encode(),
        b" " * (2 << 20),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path, content):
    (tmp_path / "webhooks.json").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"webhooks\.json.*Remove it"):
        Delivered(tmp_path)


def test_a_file_that_was_made_and_not_written(tmp_path):
    (tmp_path / "webhooks.json").touch()
    assert Delivered(tmp_path).begin(["http://a"], Last(5)) == {"http://a": Last(5)}
