"""A model that follows a log in Kafka, from the command line and killed in the middle."""

from __future__ import annotations

import json

import pytest

from ocboost.live.brokers import consumer as consumer_module
from ocboost.live.brokers.base import FencedError
from ocboost.live.brokers.consumer import Consumer, FollowSettings
from tests.support import kafka_cluster as kinds
from tests.support import live
from tests.support.cli_runs import ran
from tests.support.memory_log import Killed, MemoryLog, MemoryServer, label, mixed_log, request


@pytest.fixture(autouse=True)
def small_commits(monkeypatch):
    monkeypatch.setattr(consumer_module, "MESSAGES_PER_COMMIT", 10)


def consumer(log):
    return Consumer(log, live.model(), following=FollowSettings(checkpoint_messages=25, idle=1e-9))


def answers(cluster, topic):
    return [json.loads(value) for value in cluster.values(topic)]


def test_a_log_is_answered_learnt_and_continued(capsys, tmp_path, cluster, logs):
    model = tmp_path / "model.ocb"
    live.model().save(model)
    address = cluster.log("cli")
    words = ["adapt", model, address, "--out", model, "--idle", 0.01]
    cluster.send("cli", request(0), label(0), b"{")
    code, out, err = ran(capsys, *words)
    assert code == 0, err
    assert "3 messages: 1 answered, 1 labels learnt, 1 messages could not be used" in out
    assert "predictions go to the topic cli.predictions" in err
    first = model.read_bytes()
    cluster.send("cli", request(1), label(1))
    code, out, err = ran(capsys, *words)
    assert code == 0, err
    assert "5 messages: 2 answered, 2 labels learnt" in out
    assert model.read_bytes() != first
    said = answers(cluster, "cli.predictions")
    assert [(each["id"], each["at"]) for each in said] == [("q0", "0"), (None, "2"), ("q1", "3")]


def test_an_error_is_told_without_the_settings(capsys, tmp_path, cluster, logs):
    live.model().save(tmp_path / "model.ocb")
    secret = tmp_path / "client.properties"
    secret.write_text("sasl.password=geheim\nno.such=geheim\n")
    address = f"kafka://{cluster.hosts}/t?config={secret}"
    code, out, err = ran(capsys, "adapt", tmp_path / "model.ocb", address, "--out", tmp_path / "out.ocb")
    assert code != 0
    assert "does not take 'no.such'" in " ".join(err.split())
    assert "geheim" not in out + err


@pytest.mark.parametrize("moment", ["_begin", "_write_answers", "_write_state", "_write_place", "_end"])
def test_killed_at_each_step_of_a_commit_it_answers_and_learns_the_same(cluster, logs, monkeypatch, moment):
    name = f"killed{moment}"
    address = cluster.log(name)
    messages = mixed_log(30)
    cluster.send(name, *messages)
    for after_step in (False, True):
        log = logs(address)
        one = consumer(log)
        one.begin()
        step, calls = getattr(log._writer, moment), []

        def killed(commit, step=step, calls=calls, after_step=after_step):
            calls.append(commit)
            if len(calls) < 3:
                return step(commit)
            if after_step:
                step(commit)
            raise Killed

        monkeypatch.setattr(log._writer, moment, killed)
        with pytest.raises(Killed):
            one.follow()
    last = consumer(logs(address))
    last.begin()
    last.follow()
    undisturbed = consumer(
        logs(f"{address}?state={cluster.topic(f'{name}-2')}&predictions={cluster.topic(f'{name}-3')}")
    )
    undisturbed.begin()
    undisturbed.follow()
    assert last.state.live.model_bytes() == undisturbed.state.live.model_bytes()
    assert cluster.values(f"{name}.predictions") == cluster.values(f"{name}-3")
    assert last.state.messages == len(messages)
    server = MemoryServer(list(messages))
    other = consumer(MemoryLog(server))
    other.begin()
    other.follow()
    assert len(server.answers) == len(cluster.values(f"{name}-3"))


def test_a_consumer_that_was_replaced_ends(cluster, logs):
    address = cluster.log("replaced")
    cluster.send("replaced", request(0), label(0))
    older, newer = consumer(logs(address)), consumer(logs(address))
    older.begin()
    newer.begin()
    cluster.errors(kinds.ADD_PARTITIONS, kinds.FENCED)
    with pytest.raises(FencedError, match="Another consumer has taken over"):
        older.follow()
    newer.follow()
    assert [each["id"] for each in answers(cluster, "replaced.predictions")] == ["q0"]
