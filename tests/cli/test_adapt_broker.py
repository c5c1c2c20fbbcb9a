"""``ocboost adapt`` with a log in Redis, from the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time

import pytest

from ocboost._extras import install_line
from tests.support import live
from tests.support.cli_runs import ran, refused
from tests.support.memory_log import as_json, label, mixed_log, request
from tests.support.modules import forget_modules
from tests.support.processes import Ocboost
from tests.support.redis_server import free_port, missing

needs_server = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture
def model(tmp_path):
    live.model().save(tmp_path / "model.ocb")
    return tmp_path / "model.ocb"


def send(client, *messages, stream="ocboost:requests"):
    for data in messages:
        client.xadd(stream, {"json": data})


def answers(client, stream="ocboost:requests:predictions"):
    return [json.loads(fields[b"json"]) for _, fields in client.xrange(stream)]


def follow(capsys, model, server, *words, out=None, query=""):
    return ran(capsys, "adapt", model, server.url + query, "--out", out or model, "--idle", 0.05, *words)


@needs_server
def test_a_log_is_answered_learnt_and_continued(capsys, model, server, client):
    before = model.read_bytes()
    send(client, request(0), label(0), b"{")
    code, out, err = follow(capsys, model, server)
    assert code == 0, err
    assert "3 messages: 1 answered, 1 labels learnt, 1 messages could not be used; 0 predictions wait" in out
    assert "predictions go to the stream 'ocboost:requests:predictions'" in err
    assert [each["id"] for each in answers(client)] == ["q0", None]
    first = model.read_bytes()
    assert first != before
    send(client, request(1), label(1))
    code, out, err = follow(capsys, model, server)
    assert "5 messages: 2 answered, 2 labels learnt" in out
    assert model.read_bytes() != first
    assert re.search(r"log +2 labels learnt", ran(capsys, "info", model)[1])
    code, out, err = follow(capsys, model, server)  # nothing new
    assert (code, "5 messages" in out) == (0, True)


@needs_server
def test_names_settings_and_decisions(capsys, model, server, client):
    send(client, request(0), stream="in")
    words = ["--window", 50, "--class-weight", "yes=3"]
    code, _, err = follow(capsys, model, server, *words, query="?stream=in&predictions=out")
    assert code == 0, err
    assert len(answers(client, "out")) == 1
    send(client, request(1), stream="in")
    code, _, err = follow(capsys, model, server, *words, query="?stream=in&predictions=out")
    assert code == 0, err
    assert len(answers(client, "out")) == 2


@needs_server
def test_another_model_is_refused_and_restart_begins_anew(capsys, model, server, client, tmp_path):
    send(client, request(0), label(0))
    follow(capsys, model, server, out=tmp_path / "out.ocb")
    live.model("adaptive").save(tmp_path / "other.ocb")
    words = ["adapt", tmp_path / "other.ocb", server.url, "--out", tmp_path / "new.ocb", "--idle", 0.05]
    assert "belongs to another model than MODEL" in refused(capsys, *words)
    send(client, request(1))
    code, out, err = ran(capsys, *words, "--restart")
    assert code == 0, err
    assert "3 messages: 2 answered, 1 labels learnt" in out
    assert [each["id"] for each in answers(client)] == ["q0", "q1"]  # the first by the other model


@needs_server
def test_other_settings_are_another_model(capsys, model, server, client, tmp_path):
    send(client, request(0), label(0))
    follow(capsys, model, server)
    words = ["adapt", model, server.url, "--out", model, "--idle", 0.05]
    assert "with the same settings as then" in refused(capsys, *words, "--window", 50)
    assert follow(capsys, model, server)[0] == 0


@needs_server
def test_what_was_learnt_is_not_replaced_where_the_broker_has_lost_its_state(
    capsys, model, server, client, tmp_path
):
    out = tmp_path / "out.ocb"
    send(client, request(0), label(0))
    follow(capsys, model, server, out=out)
    learnt = out.read_bytes()
    client.flushall()
    send(client, request(1))
    words = ["adapt", model, server.url, "--out", out, "--idle", 0.05]
    assert "has no state of this one" in refused(capsys, *words)
    assert out.read_bytes() == learnt
    code, text, err = follow(capsys, out, server)
    assert code == 0, err
    assert "1 messages" in text
    client.flushall()
    send(client, request(2))
    assert ran(capsys, *words, "--restart")[0] == 0


@needs_server
def test_a_page_that_cannot_be_written_does_not_stop_it(capsys, model, server, client, tmp_path):
    send(client, request(0), label(0), request(1))
    page = tmp_path / "page.html"
    from ocboost.cli import adapt_broker

    def fails(*_):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapt_broker, "_write_page", fails)
        code, _, err = follow(capsys, model, server, "--report", page, "--checkpoint-rows", 1)
    assert code == 0, err
    assert err.count("the page could not be written to") == 1
    assert len(answers(client)) == 2


@needs_server
def test_it_can_stop_at_what_cannot_be_used(capsys, model, server, client):
    send(client, request(0), as_json(id="nobody", label="yes\x1b[31m"))
    words = ["adapt", model, server.url, "--out", model, "--idle", 0.05, "--on-bad-row", "stop"]
    found = ran(capsys, *words)
    assert found[0] == 1
    assert "cannot be used (unknown_class)" in found[2]
    assert "\x1b" not in found[2]
    assert len(answers(client)) == 1


@needs_server
def test_the_guard_and_the_limit_of_what_waits(capsys, model, server, client):
    send(client, *(request(i) for i in range(5)))
    _, out, _ = follow(capsys, model, server, "--guard", "--max-pending", 2)
    assert "2 predictions wait" in out
    assert {each["answered_by"] for each in answers(client)} == {"version 0"}


@needs_server
def test_nothing_came(capsys, model, server, tmp_path):
    code, _, err = follow(capsys, model, server, out=tmp_path / "new.ocb")
    assert code == 0
    assert "ended before the first message came" in err
    assert (tmp_path / "new.ocb").exists()


# Options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--resume"], "--resume does not go with a log in a broker: a log in a broker always continues"),
        (["--follow"], "is always followed"),
        (["--predictions", "p.csv"], "predictions=NAME in the address says where"),
        (["--bad-rows", "b.jsonl"], "answered in the broker"),
        (["--batch", "5"], "by itself"),
        (["--label", "y"], "under 'label'"),
        (["--format", "csv"], "messages are JSON"),
        (["--skip", "5"], "every message is answered"),
        (["--again"], "--restart learns it anew"),
        (["--new"], "--restart learns it anew"),
        (["--drop", "a"], "columns of the model"),
        (["--leave-unseen"], "the log goes on"),
    ],
)
def test_options_that_make_no_sense_with_a_log(capsys, model, words, says):
    line = refused(capsys, "adapt", model, "redis://:secret@h", "--out", model, *words, code=2)
    assert says in line
    assert "secret" not in line


@pytest.mark.parametrize("words", [["--idle", "5"], ["--guard"], ["--max-pending", "5"]])
def test_options_of_logs_make_no_sense_with_a_file(capsys, model, words, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    line = refused(capsys, "adapt", model, tmp_path / "a.csv", "--out", model, *words, code=2)
    assert f"{words[0]} is for logs in a broker" in line


@pytest.mark.parametrize(
    "address",
    [
        "redis://me:secret#x@h:1/0",
        "redis://me:secret?x@h:1/0",
        "redis://me:secret?x=1@h:1/0",
        "redis://me:12?secret=1@h:1/0",
        "redis://me:secret/x@h:1/0",
        "redis://me:12/secret@h:1/0",
        "kafka://me:secret/x@h/t",
        "kafka://me:secret?x@h/t",
        "kafka://me:12/secret@h/t",
        "valkey://me:secret@h:1/0",
        "redis:/me:secret@h:1/0",
        "redis//me:secret@h:1/0",
        "rediss:me:secret@h:1/0",
        'kafka:/me:a@"secret@h/t',
    ],
)
def test_no_part_of_a_password_is_shown_where_an_address_is_written_wrongly(capsys, model, address):
    if address.startswith("kafka"):
        pytest.importorskip("confluent_kafka")
    assert "secret" not in refused(capsys, "adapt", model, address, "--out", model)
    assert "secret" not in refused(capsys, "adapt", address, model, "--out", model)
    assert "secret" not in refused(capsys, "predict", model, address)
    words = ("adapt", model, model, "--out", model, "--checkpoint-rows", address)
    assert "secret" not in refused(capsys, *words, code=2)


@pytest.mark.parametrize("password", ["my secret", "my'secret", 'my"secret', "a@secret", "a:secret"])
def test_passwords_of_addresses_that_are_taken_for_files(capsys, model, password):
    assert "secret" not in refused(capsys, "predict", model, f"redis://me:{password}@h:1/0")


def test_passwords_are_not_shown(capsys, model):
    pytest.importorskip("redis")
    address = f"redis://me:secret@127.0.0.1:{free_port()}/0"
    line = refused(capsys, "adapt", model, f"{address}?steam=x", "--out", model)
    assert "secret" not in line
    code, _, err = ran(capsys, "adapt", model, address, "--out", model, "--idle", 0.01)
    assert code == 1
    assert "cannot be reached" in err
    assert "secret" not in err


def test_without_the_package_the_extra_is_named(capsys, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    forget_modules(monkeypatch, "ocboost.live.brokers.redis")
    assert install_line("redis") in refused(capsys, "adapt", model, "redis://h", "--out", model)


# Processes ------------------------------------------------------------------------------------------------


def started(model, server, out, stderr):
    words = ["adapt", model, server.url, "--out", out, "--checkpoint-rows", 30]
    with stderr.open("w") as said:
        return Ocboost(words, stderr=said, stdout=said)


def wait_for(holds, process):
    deadline = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_server
def test_a_kill_loses_nothing(capsys, model, server, client, tmp_path):
    log = mixed_log(60)
    send(client, *log[:70])
    out = tmp_path / "out.ocb"
    process = started(model, server, out, tmp_path / "said.txt")
    try:
        wait_for(lambda: client.xlen("ocboost:requests:predictions") > 5, process)
    finally:
        process.kill()
        process.wait()
    send(client, *log[70:])
    assert follow(capsys, model, server, out=out)[0] == 0
    require_undisturbed(capsys, model, server, client, out)


@needs_server
def test_sigterm_ends_it_in_order_while_the_server_is_away(
    capsys, model, server, client, tmp_path, monkeypatch
):
    said = []

    def say(message):
        said.append(message)
        if message.startswith("following"):
            server.kill()
        elif message.endswith("Trying again."):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("ocboost.cli.adapt_broker.say", say)
    send(client, *mixed_log(20))
    out = tmp_path / "out.ocb"
    try:
        assert ran(capsys, "adapt", model, server.url, "--out", out)[0] == 0
    finally:
        server.start()
    monkeypatch.undo()
    assert [message.split()[-1] for message in said[:-1]] == ["'ocboost:requests:predictions'.", "again."]
    assert "Nothing is lost" in said[-1]
    assert out.read_bytes() == model.read_bytes()  # nothing was committed yet
    assert follow(capsys, model, server, out=out)[0] == 0
    require_undisturbed(capsys, model, server, client, out)


@needs_server
def test_sigterm_ends_it_in_order(capsys, model, server, client, tmp_path, monkeypatch):
    send(client, *mixed_log(20))
    stops = iter([signal.SIGTERM])

    def progress(state):
        for number in stops:
            os.kill(os.getpid(), number)
        return ""

    monkeypatch.setattr("ocboost.cli.adapt_broker._progress_of", progress)
    out = tmp_path / "out.ocb"
    assert ran(capsys, "adapt", model, server.url, "--out", out)[0] == 0
    require_undisturbed(capsys, model, server, client, out)


def require_undisturbed(capsys, model, server, client, out):
    """The model and the answers are those of a consumer that reads a copy of the log."""
    for id_, fields in client.xrange("ocboost:requests"):
        client.xadd("copy", fields, id=id_)
    other = out.with_name("other.ocb")
    assert follow(capsys, model, server, out=other, query="?stream=copy")[0] == 0
    assert out.read_bytes() == other.read_bytes()
    assert answers(client) == answers(client, "copy:predictions")
