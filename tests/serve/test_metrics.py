"""The page for Prometheus, the rules in the documentation, and the documented check of signatures."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ocboost.live.webhooks import signature
from ocboost.serve import metrics
from tests.support.asgi_client import ROW

ALARMS = Path(__file__).parents[2] / "docs" / "alarms.md"
WEBHOOKS = [
    SimpleNamespace(index=1, waiting=3, results=Counter(delivered=5, retried=2, given_up=0, dropped=0)),
    SimpleNamespace(index=2, waiting=0, results=Counter(delivered=4, retried=0, given_up=1, dropped=0)),
]


def families(client):
    page = client.get("/metrics")
    assert page.status == 200
    return list(text_string_to_metric_families(page.body.decode()))


def samples(client):
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families(client)
        for sample in family.samples
    }


@pytest.fixture
def known(client):
    """A client of a service that has seen everything that its metrics show."""
    alarms = SimpleNamespace(labels_stopped=True, webhooks=WEBHOOKS)
    client.app.state.service.metrics.add_alarms(alarms)
    ids = [each["id"] for each in client.post("/predict", {"rows": [ROW] * 5}).json["predictions"]]
    labels = [{"id": id_, "label": label} for id_, label in zip(ids, ["no", "yes", "yes"], strict=False)]
    assert client.post("/label", {"labels": labels}).json["accepted"] == 3
    return client


def test_what_is_known_of_the_models(known, adapter):
    found = samples(known)
    recent = adapter.facts()["recent"]
    for model in ("deployed", "adapted"):
        assert found["ocboost_model_accuracy", model] == recent[model]["accuracy"]
        assert found["ocboost_model_log_loss", model] == pytest.approx(recent[model]["log_loss"])
        assert found["ocboost_drift_alarms_total", model] == 0
    assert found["ocboost_model_accuracy", "answered"] == recent["answered"]["accuracy"]
    assert ("ocboost_model_log_loss", "answered") not in found
    assert found["ocboost_guard_decisions_total",] == 0
    assert found["ocboost_pending",] == 2
    assert found["ocboost_expired_predictions_total",] == 0
    assert 0 <= found["ocboost_oldest_pending_age_seconds",] < 3600
    assert 0 <= found["ocboost_last_label_age_seconds",] < 3600


def test_ages_and_counts(client, adapter, monkeypatch):
    facts = {
        **adapter.facts(),
        "drift": {"deployed": 3, "adapted": 1},
        "guard_decisions": 2,
        "expired": 9,
        "oldest_pending": 1_000.0,
        "last_label": 5_000.0,
        "recent": {"adapted": {"accuracy": float("nan"), "log_loss": None}},
    }
    done = Future()
    done.set_result(facts)
    monkeypatch.setattr(adapter, "facts_soon", lambda: done)
    monkeypatch.setattr(metrics, "system_time", lambda: 4_000.0)
    found = samples(client)
    assert found["ocboost_drift_alarms_total", "deployed"] == 3
    assert found["ocboost_drift_alarms_total", "adapted"] == 1
    assert found["ocboost_guard_decisions_total",] == 2
    assert found["ocboost_expired_predictions_total",] == 9
    assert found["ocboost_oldest_pending_age_seconds",] == 3_000
    assert found["ocboost_last_label_age_seconds",] == 0  # never negative
    assert not any(key[0].startswith("ocboost_model_") for key in found)


def test_before_anything_is_known(client):
    found = samples(client)
    assert ("ocboost_last_label_age_seconds",) not in found
    assert ("ocboost_oldest_pending_age_seconds",) not in found
    assert ("ocboost_labels_stopped",) not in found  # there are no alarms


def test_webhooks(known):
    found = samples(known)
    assert found["ocboost_labels_stopped",] == 1
    assert found["ocboost_webhook_deliveries_total", "1", "delivered"] == 5
    assert found["ocboost_webhook_deliveries_total", "1", "retried"] == 2
    assert found["ocboost_webhook_deliveries_total", "2", "given_up"] == 1
    assert found["ocboost_webhook_queue", "1"] == 3


def test_names_are_those_that_prometheus_asks_for(known):
    found = families(known)
    names = [family.name for family in found]
    assert len(names) == len(set(names))
    for family in found:
        assert re.fullmatch(r"ocboost_[a-z_]+", family.name)
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            if family.type == "counter":
                assert sample.name.endswith(("_total", "_created"))
        assert not re.search(r"_(ms|milliseconds|minutes|percent)\b", family.name)


def test_a_model_that_is_busy(known, adapter, monkeypatch):
    """The writer does not answer in time: the page has what was known, and does not wait."""
    before = samples(known)
    monkeypatch.setattr(metrics, "FACTS_SECONDS", 0.01)
    begun, free = threading.Event(), threading.Event()

    def busy():
        begun.set()
        free.wait(30)

    thread = threading.Thread(target=adapter._in_turn, args=(busy,))
    thread.start()
    try:
        assert begun.wait(30)
        now = samples(known)
    finally:
        free.set()
        thread.join()
    assert now["ocboost_pending",] == before["ocboost_pending",] == 2
    assert now["ocboost_model_accuracy", "adapted"] == before["ocboost_model_accuracy", "adapted"]


def test_busy_from_the_start(client, adapter, monkeypatch):
    monkeypatch.setattr(metrics, "FACTS_SECONDS", 0.01)
    monkeypatch.setattr(adapter, "facts_soon", Future)
    found = samples(client)
    assert found["ocboost_storage", "ok"] == 1
    assert ("ocboost_pending",) not in found


def test_an_adapter_that_was_closed(client, adapter):
    adapter.close()
    assert samples(client)["ocboost_pending",] == 0


def part(name):
    """A block of the documentation between its marks."""
    found = re.search(
        rf"<!-- {name}: begin -->\n```\w+\n(.*?)```\n<!-- {name}: end -->", ALARMS.read_text(), re.S
    )
    return found[1]


def test_rules_name_metrics_that_exist(known):
    rules = part("rules")
    lines = rules.splitlines()
    alerts = [line for line in lines if line.startswith("      - alert: ")]
    expressions = [line for line in lines if line.startswith("        expr: ")]
    assert len(alerts) == len(expressions) == len(set(alerts)) >= 8
    for line in lines:  # each line is a mapping's, indented by its place
        assert re.fullmatch(
            r"groups:|  - name: ocboost|    rules:|      - alert: Ocboost\w+|"
            r" {8}(expr: \S.*|for: \d+[mhd]|annotations: \{summary: \"[^\"]+\"\})",
            line,
        ), line
    found = [sample for family in families(known) for sample in family.samples]
    exist = {sample.name for sample in found}
    labels = {(sample.name, key, value) for sample in found for key, value in sample.labels.items()}
    for line in expressions:
        assert line.count("(") == line.count(")")
        named = re.findall(r"\b(ocboost_\w+)(?:\{(\w+)(=~?)\"([^\"]+)\"\})?", line)
        assert named or "up{" in line
        for name, key, sign, value in named:
            assert name in exist, line
            for each in value.split("|") if sign == "=~" else [value] * bool(key):
                assert (name, key, each) in labels, line


def test_metrics_that_are_documented(known):
    exist = {sample.name for family in families(known) for sample in family.samples}
    names = re.findall(r"`(ocboost_\w+)`", ALARMS.read_text())
    assert len(names) >= 12
    assert set(names) <= exist


def test_the_documented_check_of_signatures():
    given = {}
    exec(part("signature"), given)
    is_genuine = given["is_genuine"]
    secret, body, now = b"a-secret-of-the-tests", b'{"id": 1}', int(time.time())
    header = signature(secret, body, now)
    assert is_genuine(header, body, secret)
    assert not is_genuine(header, body + b" ", secret)
    assert not is_genuine(header, body, b"another")
    assert not is_genuine(signature(secret, body, now - 1000), body, secret)
    assert is_genuine(signature(secret, body, now - 1000), body, secret, tolerance=2000)
    assert not is_genuine(header.replace(f"t={now}", f"t={now + 1}"), body, secret)
    for wrong in (None, "", "t=", "v1=abc", f"t={now}", f"t={now},v1=é", "t=٣,v1=a", "t=" + "9" * 5000):
        assert not is_genuine(wrong, body, secret)
