"""Addresses of logs in Kafka, and files of settings, which nobody gets to see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ocboost._core.log_address import LogAddress
from ocboost.errors import InputError
from ocboost.live.brokers.kafka_address import KafkaAddress, kafka_address, read_settings


def address(text: str) -> KafkaAddress:
    return kafka_address(LogAddress(text))


def test_names_of_topics() -> None:
    plain = address("kafka://h1:9092,[::1]:9093,h2/clicks")
    assert plain.hosts == "h1:9092,[::1]:9093,h2"
    assert (plain.topic, plain.partition, plain.chosen) == ("clicks", 0, False)
    assert (plain.predictions, plain.state) == ("clicks.predictions", "clicks.ocboost-state")
    assert (plain.group, plain.transactional_id) == ("ocboost.clicks", "ocboost.clicks.ocboost-state")
    assert plain.name == "kafka://h1:9092,[::1]:9093,h2/clicks"
    part = address("kafka://h:1/clicks?partition=2")
    assert (part.partition, part.chosen, part.group) == (2, True, "ocboost.clicks.2")
    assert (part.predictions, part.state) == ("clicks.2.predictions", "clicks.2.ocboost-state")
    assert part.transactional_id != plain.transactional_id
    named = address("kafka://h:1/clicks?predictions=said&state=kept")
    assert (named.predictions, named.state, named.transactional_id) == ("said", "kept", "ocboost.kept")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kafka://h:9092", "must name a topic after the hosts"),
        ("kafka://h:9092/a/b", "must name a topic"),
        ("kafka://h:9092/..", "must name a topic"),
        ("kafka://h:9092/a%1bb", r"got 'a\\\\x1bb'"),
        ("kafka:///topic", "'' is no host with a port"),
        ("kafka://h:99999/t", "'h:99999' is no host"),
        ("kafka://h:1,,g:2/t", "'' is no host"),
        ("kafka://h:1/t#x", "no '#'"),
        ("kafka://me:geheim@h:1/t", r"no user and no password.*sasl\.password.*config=FILE"),
        ("kafka://h:1/t?partition=-1", "partition must be a whole number"),
        ("kafka://h:1/t?partition=9999999999", "partition must be a whole number"),
        ("kafka://h:1/t?sasl.password=geheim", r"parameters predictions, state, partition, config"),
        ("kafka://h:1/t?state=t", "must be three topics"),
        ("kafka://h:1/t?state=a%20b", "state must be the name of a topic"),
        ("kafka://h:1/t?config=/no/such/file", "cannot be read: No such file"),
    ],
)
def test_addresses_that_make_no_sense(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        address(text)
    assert "geheim" not in str(caught.value)


def test_settings_are_read_from_lines_and_from_json(tmp_path: Path) -> None:
    lines = tmp_path / "client.properties"
    lines.write_text("# comment\n\nsasl.username = me\n! more\nsasl.password=a=b c\nenable.ssl=true\n")
    assert read_settings(lines) == {"sasl.username": "me", "sasl.password": "a=b c", "enable.ssl": "true"}
    as_json = tmp_path / "client.json"
    as_json.write_text(json.dumps({"sasl.password": "a=b", "linger.ms": 5, "check.crcs": True}))
    assert read_settings(as_json) == {"sasl.password": "a=b", "linger.ms": "5", "check.crcs": "true"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"bootstrap.servers=h:1", "must not set 'bootstrap.servers'.*stand in the address"),
        (b"isolation.level=read_uncommitted", "must not set 'isolation.level'"),
        (b"plugin.library.paths=/tmp/evil.so", "must not set 'plugin.library.paths'"),
        (b'{"error_cb": "x"}', "must not set 'error_cb'"),
        (b"a=geheim\na=geheim", "set 'a' twice"),
        (b'{"a": "geheim", "a": "geheim"}', "set 'a' twice"),
        (b"geheim", "line 1 of the settings .* must be like name=value"),
        (b"=geheim", "line 1 of the settings"),
        (b'{"a": "geheim"', "are no JSON"),
        (b'{"a": {"b": "geheim"}}', "must give a text, a number, true or false for 'a'"),
        (b'{"a": null}', "must give a text"),
        (b"\xff\xfe", "must be text in UTF-8"),
        (b"#" * 1_000_001, "at most 1,000,000 bytes"),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "settings"
    path.write_bytes(data)
    with pytest.raises(InputError, match=problem) as caught:
        read_settings(path)
    assert "geheim" not in str(caught.value)


def test_no_setting_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("sasl.password=geheim\nsasl.username=me")
    found = address(f"kafka://h:1/t?config={path}")
    assert found.settings["sasl.password"] == "geheim"
    assert found.hidden("wrong\x1b password geheim of\nme") == "wrong\\x1b password … of me"
    assert "geheim" not in repr(found) + found.name
