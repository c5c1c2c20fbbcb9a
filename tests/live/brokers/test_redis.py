from __future__ import annotations

import re
import socket
import threading
from pathlib import Path

import pytest

from ocboost.errors import InputError
from ocboost.live.brokers.base import AwayError, BrokerError, FencedError
from ocboost.live.brokers.url import LogAddress, open_log
from tests.support.redis_server import RedisServer, free_port, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture
def log(server):
    log = open_log(f"{server.url}?stream=s")
    yield log
    log.close()


def fill(client, *numbers: int, stream: str = "s") -> None:
    for number in numbers:
        client.xadd(stream, {"json": f"{number}"}, id=f"{number}-0")


def offsets(messages) -> list[str]:
    return [message.offset for message in messages]


def read_and_commit(log, after=None, most=100, state=b"state"):
    """Read on, and answer everything with its offset."""
    messages = log.read(after, most, 0.01)
    answers = [(one.offset, one.offset.encode()) for one in messages]
    log.commit(answers, messages[-1].offset, state)
    return messages


def answered(client, stream="s:predictions") -> list[str]:
    return [id_.decode() for id_, _ in client.xrange(stream)]


# Reading and committing -----------------------------------------------------------------------------------


def test_a_log_is_read_in_order_and_continued_where_it_was(log, client):
    assert log.take_over().state is None
    assert log.read(None, 10, 0.01) == []
    fill(client, 1000, 2500, 2600)
    found = log.read(None, 2, 0.01)
    assert [(one.offset, one.time, one.data) for one in found] == [
        ("1000-0", 1.0, b"1000"),
        ("2500-0", 2.5, b"2500"),
    ]
    log.commit([("1000-0", b"one")], "2500-0", b"state")
    resumed = log.take_over()
    assert (resumed.state, resumed.after, resumed.answered) == (b"state", "2500-0", "2500-0")
    assert offsets(log.read("2500-0", 9, 0.01)) == ["2600-0"]
    log.commit([("2600-0", b"three")], "2600-0")
    resumed = log.take_over()
    assert (resumed.state, resumed.after, resumed.answered) == (b"state", "2500-0", "2600-0")
    assert client.xrange("s:predictions") == [
        (b"1000-0", {b"json": b"one"}),
        (b"2600-0", {b"json": b"three"}),
    ]


def test_waiting_ends_when_something_comes(log, client):
    log.take_over()
    fill(client, 1)
    found = read_and_commit(log)
    client.xadd("s", {"json": "2"})
    assert len(log.read(found[-1].offset, 10, 30.0)) == 1


def test_entries_of_another_form_say_so(log, client):
    log.take_over()
    client.xadd("s", {"age": 41, "plan": "basic"}, id="1-0")
    client.xadd("s", {"json": "{}", "more": 1}, id="2-0")
    client.xadd("s", {b"\xff": "{}"}, id="3-0")
    found = log.read(None, 10, 0.01)
    assert [one.data for one in found] == [None] * 3
    assert "one field, 'json', with the message; got 'age, plan'" in found[0].problem


def test_a_commit_whose_answer_was_lost_is_not_done_twice(log, client, monkeypatch):
    log.take_over()
    fill(client, 1, 2)
    log.read(None, 10, 0.01)
    done = log._committed

    def lost(*args):
        done(*args)
        raise ConnectionResetError("the answer was lost")

    monkeypatch.setattr(log, "_committed", lost)
    with pytest.raises(AwayError, match="the answer was lost"):
        log.commit([("1-0", b"one")], "2-0", b"state")
    monkeypatch.undo()
    log.commit([("1-0", b"one")], "2-0", b"state")
    assert answered(client) == ["1-0"]
    fill(client, 3)
    log.read("2-0", 10, 0.01)
    log.commit([("3-0", b"three")], "3-0")
    assert answered(client) == ["1-0", "3-0"]


def test_a_state_alone_can_be_committed(log, client):
    log.take_over()
    fill(client, 1)
    read_and_commit(log)
    log.commit([], "1-0", b"another")
    assert log.take_over().state == b"another"


def test_a_state_that_is_too_large_is_refused(log, monkeypatch):
    monkeypatch.setattr("ocboost.live.brokers.redis.MAX_STATE_BYTES", 5)
    with pytest.raises(BrokerError, match=r"takes 6 bytes, and at most 5.*--max-pending"):
        log.commit([], "1-0", b"state!")


def test_beginning_anew_keeps_what_was_answered(log, client):
    log.take_over()
    fill(client, 1)
    read_and_commit(log)
    resumed = log.take_over(afresh=True)
    assert (resumed.state, resumed.after, resumed.answered) == (None, None, "1-0")
    assert client.get("s:ocboost:state") is None
    assert offsets(log.read(None, 10, 0.01)) == ["1-0"]


def test_predictions_may_go_elsewhere_and_back(server, log, client):
    elsewhere = open_log(f"{server.url}?stream=s&predictions=other")
    after = None
    for number, one in enumerate([log, elsewhere, log, log], 1):
        assert one.take_over().answered == after
        fill(client, number)
        read_and_commit(one, after)
        after = f"{number}-0"
    elsewhere.close()
    assert (answered(client), answered(client, "other")) == (["1-0", "3-0", "4-0"], ["2-0"])


def test_a_start_that_is_refused_changes_nothing(log, client):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log)
    client.delete("s:predictions")
    fill(client, 1, stream="s:predictions")
    before = client.hgetall("s:ocboost"), client.get("s:ocboost:state")
    with pytest.raises(BrokerError, match="has lost data"):
        log.take_over()
    assert (client.hgetall("s:ocboost"), client.get("s:ocboost:state")) == before
    assert log.take_over(afresh=True).state is None  # which needs no answers of before


def test_a_commit_while_another_takes_over(server, log, client, monkeypatch):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log, most=1)
    log.read("1-0", 10, 0.01)
    newer = open_log(f"{server.url}?stream=s")
    facts = newer._facts

    def committed_meanwhile(raw):
        monkeypatch.setattr(newer, "_facts", facts)
        log.commit([("2-0", b"of the older")], "2-0", b"newer state")
        return facts(raw)

    monkeypatch.setattr(newer, "_facts", committed_meanwhile)
    resumed = newer.take_over()
    assert (resumed.state, resumed.after, resumed.answered) == (b"newer state", "2-0", "2-0")
    newer.close()


# Another consumer -----------------------------------------------------------------------------------------


def test_the_newest_consumer_fences_off_the_others(server, log, client):
    log.take_over()
    fill(client, 1)
    log.read(None, 10, 0.01)
    newer = open_log(f"{server.url}?stream=s")
    newer.take_over()
    with pytest.raises(FencedError, match="another consumer has taken over"):
        log.commit([("1-0", b"old")], "1-0", b"old")
    with pytest.raises(FencedError):
        log.read(None, 10, 0.01)
    read_and_commit(newer)
    assert client.xrange("s:predictions") == [(b"1-0", {b"json": b"1-0"})]
    newer.close()


def test_a_consumer_that_comes_in_the_middle_of_a_commit_wins(server, log, client, monkeypatch):
    log.take_over()
    fill(client, 1)
    log.read(None, 10, 0.01)
    newer = open_log(f"{server.url}?stream=s")
    checked = log._require_epoch

    def then_another_comes(found):
        checked(found)
        monkeypatch.undo()
        newer.take_over()

    monkeypatch.setattr(log, "_require_epoch", then_another_comes)
    with pytest.raises(FencedError):
        log.commit([("1-0", b"old")], "1-0", b"old")
    assert answered(client) == []
    newer.close()


def test_answers_of_somebody_else_in_the_same_stream_are_noticed(log, client):
    log.take_over()
    fill(client, 1)
    log.read(None, 10, 0.01)
    client.xadd("s:predictions", {"json": "x"}, id="5-0")
    with pytest.raises(BrokerError, match=r"has an entry 5-0, and the answer to 1-0 cannot follow it"):
        log.commit([("1-0", b"one")], "1-0", b"state")
    assert client.hget("s:ocboost", "answered") is None


# What was lost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lose",
    [
        lambda client: client.xtrim("s", maxlen=1, approximate=False),
        lambda client: client.xtrim("s", maxlen=0, approximate=False),
        lambda client: client.xdel("s", "4-0"),
        lambda client: client.xdel("s", "3-0"),
    ],
)
def test_entries_that_were_removed_before_they_were_read_are_noticed(log, client, lose):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log)
    fill(client, 3, 4, 5)
    lose(client)
    for _ in range(2):
        with pytest.raises(BrokerError, match=r"behind 2-0 were removed before they were read.*--restart"):
            log.read("2-0", 10, 0.01)
        log.take_over()  # also by the next consumer


@pytest.mark.parametrize(
    "trim",
    [
        lambda client: client.xtrim("s", minid="2-0", approximate=False),
        lambda client: client.xtrim("s", minid="3-0", approximate=False),
        lambda client: client.xtrim("s", maxlen=0, approximate=False),
        lambda client: client.xdel("s", "1-0", "2-0"),
    ],
)
def test_what_was_read_may_be_removed(log, client, trim):
    log.take_over()
    fill(client, 1, 2, 3)
    read_and_commit(log, most=2)
    read_and_commit(log, "2-0")
    trim(client)
    fill(client, 4)
    assert offsets(log.read("3-0", 10, 0.01)) == ["4-0"]
    log.take_over()
    assert offsets(log.read("3-0", 10, 0.01)) == ["4-0"]


def test_what_was_removed_before_it_began_is_told_and_not_missed(log, client):
    fill(client, 1, 2, 3, 4, 5)
    client.xtrim("s", maxlen=4, approximate=False)
    client.xdel("s", "4-0")
    assert "2 entries" in log.take_over().notes[0]
    read_and_commit(log, most=1)
    read_and_commit(log, "2-0", state=None)
    log.take_over()
    assert offsets(log.read("2-0", 10, 0.01)) == ["3-0", "5-0"]


def test_a_log_that_was_made_anew_is_noticed(log, client):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log)
    client.delete("s")
    fill(client, 3)
    with pytest.raises(BrokerError, match="removed before they were read"):
        log.read("2-0", 10, 0.01)
    client.delete("s")
    fill(client, 1)
    with pytest.raises(BrokerError, match=r"has lost data.*the log ends at 1-0, and 2-0 was read"):
        log.read("2-0", 10, 0.01)
    with pytest.raises(BrokerError, match=r"ends at 1-0, and 2-0 was answered: it was made anew.*--restart"):
        log.take_over()
    client.delete("s:predictions")
    resumed = log.take_over(afresh=True)
    assert (resumed.state, resumed.answered) == (None, None)
    assert "made anew" in resumed.notes[0]
    read_and_commit(log)
    assert answered(client) == ["1-0"]


@pytest.mark.parametrize("field", ["answered", "after", "taken", "deleted", "last_answer"])
@pytest.mark.parametrize("value", [b"abc", b"\xff", b"", b"9" * 5000])
def test_a_place_that_somebody_else_has_written_is_refused(log, client, field, value):
    log.take_over()
    fill(client, 1)
    read_and_commit(log)
    client.hset("s:ocboost", field, value)
    with pytest.raises(BrokerError, match=f"the field '{field}' of the hash 's:ocboost' .* makes no sense"):
        log.take_over()


def test_the_rights_that_are_documented_are_enough(server, client):
    text = Path(__file__).parents[3].joinpath("docs/brokers.md").read_text()
    rights = text.partition("**Rights** (ACL)")[2].partition(";\n")[0].partition("- The state")[0]
    commands = [f"+{name.lower()}" for name in re.findall(r"`([A-Z|]+)`", rights) if name != "NAME"]
    client.acl_setuser(
        "bob", enabled=True, passwords=["+pw"], keys=["s:predictions", "s:ocboost", "s:ocboost:state"]
    )
    client.execute_command("ACL", "SETUSER", "bob", "%R~s", *commands)
    fill(client, 1)
    log = open_log(f"redis://bob:pw@127.0.0.1:{server.port}/0?stream=s")
    log.take_over()
    read_and_commit(log)
    log.take_over(afresh=True)
    log.close()
    assert answered(client) == ["1-0"]


def test_a_server_that_lost_what_was_committed_is_noticed(log, client):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log, most=1)
    log.read("1-0", 10, 0.01)
    client.hset("s:ocboost", "answered", "0-5")
    with pytest.raises(BrokerError, match=r"has lost data.*answered was 1-0, and is 0-5 now"):
        log.commit([], "2-0")
    client.flushall()
    with pytest.raises(BrokerError, match=r"has lost data.*no longer knows this consumer"):
        log.commit([], "2-0")


def test_answers_that_were_lost_are_noticed(log, client):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log)
    client.xtrim("s:predictions", maxlen=0, approximate=False)
    log.take_over()  # they may be removed
    client.delete("s:predictions")
    fill(client, 1, stream="s:predictions")
    with pytest.raises(BrokerError, match=r"has lost data.*ends at 1-0, and 2-0 was written"):
        log.take_over()


@pytest.mark.parametrize("key", ["s:ocboost:state", "s:ocboost"])
def test_half_a_state_is_noticed(log, client, key):
    log.take_over()
    fill(client, 1)
    read_and_commit(log)
    client.delete(key)
    with pytest.raises(BrokerError, match="is not complete"):
        log.take_over()
    assert log.take_over(afresh=True).state is None


# A server that refuses ------------------------------------------------------------------------------------


def test_keys_of_other_kinds_are_refused(log, client):
    client.set("s", "text")
    with pytest.raises(BrokerError, match=r"the key 's' .* must be a stream; it is a string"):
        log.take_over()
    client.delete("s")
    client.set("s:ocboost", "text")
    with pytest.raises(BrokerError, match=r"the key 's:ocboost' .* must be a hash; it is a string"):
        log.take_over()


def test_nobody_there():
    log = open_log(f"redis://me:secret@127.0.0.1:{free_port()}/0")
    with pytest.raises(AwayError, match="cannot be reached") as found:
        log.take_over()
    assert "secret" not in str(found.value)


def test_a_server_that_is_killed_keeps_all_that_was_committed(server, log, client):
    log.take_over()
    fill(client, 1, 2)
    read_and_commit(log, most=1)
    server.kill()
    with pytest.raises(AwayError):
        log.read("1-0", 10, 0.01)
    with pytest.raises(AwayError):
        log.commit([], "2-0")
    server.start()
    read_and_commit(log, "1-0")
    assert answered(client) == ["1-0", "2-0"]


def test_passwords(tmp_path, monkeypatch):
    with RedisServer(tmp_path, "--requirepass", "se:c/ret") as server:
        for address in (server.url, f"redis://:wrong@127.0.0.1:{server.port}"):
            with pytest.raises(BrokerError, match="OCBOOST_REDIS_PASSWORD") as found:
                open_log(address).take_over()
            assert "wrong" not in str(found.value)
        log = open_log(f"redis://:se%3Ac%2Fret@127.0.0.1:{server.port}")
        assert log.take_over().state is None
        assert "se" not in log.name.removeprefix("redis").replace("requests", "")
        log.close()
        monkeypatch.setenv("OCBOOST_REDIS_PASSWORD", "se:c/ret")
        log = open_log(server.url)
        assert log.take_over().state is None
        log.close()


def test_a_server_that_is_full_is_tried_again(server, log, client):
    log.take_over()
    fill(client, 1)
    log.read(None, 10, 0.01)
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(AwayError, match=r"refuses: command not allowed when used memory"):
            log.commit([("1-0", b"one")], "1-0", b"state")
    finally:
        client.config_set("maxmemory", 0)
    assert answered(client) == []
    log.commit([("1-0", b"one")], "1-0", b"state")
    assert answered(client) == ["1-0"]


# Addresses ------------------------------------------------------------------------------------------------


def test_names():
    log = open_log("redis://me:secret@host/3?stream=in&predictions=out")
    assert (log.name, log.predictions) == ("redis://host:6379/3?stream=in", "the stream 'out'")
    assert open_log("rediss://[::1]:7000").name == "rediss://[::1]:7000/0?stream=ocboost:requests"
    assert open_log("redis://h?stream=a%1b[31m").name == "redis://h:6379/0?stream=a\\x1b[31m"
    assert repr(LogAddress("redis://me:secret@host/3?x=1")) == "'redis://host/3'"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("redis://:secret@/0", "must have a host"),
        ("redis://:secret@h/name", "number of the database, such as /0; got '/name'"),
        ("redis://:secret@h:port/0", "makes no sense"),
        ("redis://:secret@h:99999/0", "makes no sense"),
        ("redis://:secret@[::1/0", "makes no sense"),
        ("redis://:secret@h?stream=", "got 'stream' without a value"),
        ("redis://:secret@h?stream=a&stream=b", "got 'stream' twice"),
        ("redis://:secret@h?steam=a", "may have the parameters stream.*; got 'steam' which is not known"),
        ("redis://:secret@h?stream", "must be like name=value"),
        ("redis://:secret@h?stream=a#b", "must have no '#'"),
        ("redis://:secret@h?stream=a&predictions=a", "predictions must not be the stream itself"),
        ("redis://:secret@h?stream=a&predictions=a:ocboost", "predictions must not be the stream itself"),
        ("redis://:secret@h?ca=file", "write rediss://"),
        ("rediss://:secret@h?ca=no/file", "ca must be a file; there is no 'no/file'"),
    ],
)
def test_addresses_that_make_no_sense(address, says):
    with pytest.raises(InputError, match=says) as found:
        open_log(address)
    assert "secret" not in str(found.value)


@pytest.mark.parametrize("name", ["ca", "cert"])
def test_files_for_tls_that_cannot_be_used(tmp_path, name):
    (tmp_path / "file").write_text("no PEM")
    with pytest.raises(InputError, match="in PEM; these cannot be used"):
        open_log(f"rediss://h?{name}={tmp_path / 'file'}")


@pytest.mark.parametrize("reply", [b"+text\r\n", b":1\r\n", b":x\r\n", b"*0\r\n", b"$-1\r\n"])
def test_a_server_that_is_no_redis(reply):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        log = open_log(f"redis://127.0.0.1:{listening.getsockname()[1]}/0")

        def answer():
            connection, _ = listening.accept()
            with connection:
                while connection.recv(4096):
                    connection.sendall(reply * 2)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(BrokerError):
            log.take_over()
        log.close()
        thread.join(30)
