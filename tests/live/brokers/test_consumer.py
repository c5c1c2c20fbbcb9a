from __future__ import annotations

import copy
import json
import random

import pytest

from ocboost._core.file_format import to_bytes
from ocboost.errors import InputError, ModelFileError
from ocboost.live.brokers import consumer as consumer_module
from ocboost.live.brokers.base import AwayError, BrokerError, FencedError
from ocboost.live.brokers.consumer import Consumer, EndedEarlyError, FollowSettings, Hooks
from ocboost.live.brokers.log_state import LogSettings
from ocboost.live.brokers.url import LogAddress, open_log
from ocboost.live.versions import load_model
from tests.support import live
from tests.support.memory_log import Killed, MemoryLog, MemoryServer, away, label, mixed_log, request

IDLE = 1e-9  # to the end of what is there


@pytest.fixture(autouse=True)
def small_commits(monkeypatch):
    monkeypatch.setattr(consumer_module, "MESSAGES_PER_COMMIT", 10)
    monkeypatch.setattr(consumer_module, "FIRST_PAUSE", 0.001)


def follow(
    server: MemoryServer,
    *,
    trouble=lambda what: None,
    afresh=False,
    kind="ocb",
    settings=None,
    hooks=None,
    model=None,
    **following,
) -> tuple[Consumer, MemoryLog]:
    log = MemoryLog(server, trouble)
    how = {"idle": IDLE, "checkpoint_messages": 25, **following}
    consumer = Consumer(log, model or live.model(kind), settings, FollowSettings(**how), hooks)
    consumer.begin(afresh=afresh)
    consumer.follow()
    return consumer, log


def undisturbed(log: list[bytes], **options) -> tuple[bytes, list[tuple[str, bytes]]]:
    server = MemoryServer(list(log))
    consumer, _ = follow(server, **options)
    return consumer.state.live.model_bytes(), server.answers


def changed_model():
    model = live.model()
    server = MemoryServer([request(7), label(7)])
    return follow(server)[0].state.live.adapted, model


# The same whatever happens --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
def test_kills_at_any_step_change_nothing(kind):
    log = mixed_log(60 if kind == "ocb" else 25)
    model, answers = undisturbed(log, kind=kind)
    kills = 0
    for seed in range(4 if kind == "ocb" else 2):
        rng = random.Random(seed)

        def trouble(what, rng=rng):
            if rng.random() < 0.2:
                raise Killed(what)

        server = MemoryServer([])
        while True:
            try:
                while len(server.log) < len(log):
                    server.log += log[len(server.log) :][: rng.randint(1, 30)]
                    consumer, _ = follow(
                        server, trouble=trouble, kind=kind, checkpoint_messages=rng.randint(1, 60)
                    )
                break
            except Killed:
                kills += 1
        consumer, _ = follow(server, kind=kind)
        assert consumer.state.live.model_bytes() == model
        assert server.answers == answers
    assert kills > 5


def test_lost_connections_change_nothing_and_are_told_once():
    log = mixed_log(30)
    model, answers = undisturbed(log)
    rng, said = random.Random(0), []

    server = MemoryServer(list(log))

    def all_answered():
        return server.answered == str(len(log))

    def trouble(what):
        if rng.random() < 0.5 and not all_answered():
            raise away(what)

    consumer, _ = follow(server, trouble=trouble, hooks=Hooks(all_answered, said.append), idle=None)
    assert consumer.state.live.model_bytes() == model
    assert server.answers == answers
    assert {one.endswith("Trying again.") or "reached again" in one for one in said} == {True}


def test_the_size_of_commits_changes_nothing(monkeypatch):
    log = mixed_log(30)
    expected = undisturbed(log)
    for size in (1, 7, 1000):
        monkeypatch.setattr(consumer_module, "MESSAGES_PER_COMMIT", size)
        assert undisturbed(log) == expected


def test_the_first_commit_and_those_after_so_many_messages_have_the_state():
    server = MemoryServer([request(i) for i in range(60)])
    saved = []
    _, log = follow(server, hooks=Hooks(saved=saved.append))
    assert log.commits == [
        (10, True),
        (10, False),
        (10, False),
        (10, True),
        (10, False),
        (10, False),
        (0, True),
    ]
    assert len(saved) == 3
    assert server.after == server.answered == "60"


def test_the_state_is_saved_after_so_many_seconds():
    server = MemoryServer([request(i) for i in range(30)])
    _, log = follow(server, checkpoint_seconds=1e-9)
    assert log.commits == [(10, True)] * 3


# Who may continue -----------------------------------------------------------------------------------------


def test_an_older_consumer_is_fenced_off():
    server = MemoryServer([request(0)])
    old = MemoryLog(server)
    consumer = Consumer(old, live.model(), None, FollowSettings(idle=IDLE))
    consumer.begin()
    follow(server)
    server.log.append(request(1))
    with pytest.raises(FencedError, match="another consumer"):
        consumer.follow()
    assert len(server.answers) == 1


def test_another_model_is_refused_unless_it_begins_anew():
    adapted, first = changed_model()
    server = MemoryServer([request(i) for i in range(3)] + [label(0)])
    follow(server)
    with pytest.raises(InputError, match=r"another model than MODEL.*--restart"):
        follow(server, model=adapted)
    server.log.append(request(5))
    consumer, _ = follow(server, model=adapted, afresh=True)
    assert consumer.state.messages == 5
    assert [at for at, _ in server.answers] == ["1", "2", "3", "5"]  # nothing is answered twice
    with pytest.raises(InputError, match="another model than MODEL"):
        follow(server, model=first)


def written_by(consumer):
    return load_model(consumer.state.model_file(), "model")


def test_a_model_that_was_written_is_known_again():
    server = MemoryServer([request(0), label(0)])
    first, _ = follow(server)
    server.log += [request(1), label(1)]
    second, _ = follow(server, model=written_by(first))
    server.log += [request(2), label(2)]
    third, _ = follow(server, model=written_by(first))  # as if it was killed before it could write
    assert third.state.live.learnt == 3
    assert len({one.state.model_file() for one in (first, second, third)}) == 3
    other = written_by(third)
    other.history.append({"event": "adapt"})  # it has learnt from something else
    with pytest.raises(InputError, match="another model"):
        follow(server, model=other)


def test_a_model_that_is_ahead_of_a_server_that_was_set_back():
    server = MemoryServer([request(0), label(0)])
    first, _ = follow(server)
    kept = copy.deepcopy(vars(server))
    server.log += [request(1), label(1)]
    ahead = written_by(follow(server, model=written_by(first))[0])
    vars(server).update(kept)
    server.log += [request(2), label(2)]
    consumer, _ = follow(server, model=ahead)
    assert consumer.state.live.learnt == 2
    assert consumer.state.model_file() == follow(MemoryServer(list(server.log)))[0].state.model_file()


def test_a_model_that_begins_anew_is_another_one():
    server = MemoryServer([request(0), label(0)])
    first = written_by(follow(server)[0])
    again = written_by(follow(server, model=first, afresh=True)[0])
    follow(server, model=again)
    follow(server, model=first)  # which it began with
    with pytest.raises(InputError, match="another model"):
        follow(server)
    assert [each["event"] for each in again.history] == ["log", "log"]


def test_a_model_that_could_not_be_written_twice_is_still_known():
    server = MemoryServer([request(0), label(0)])
    written = [live.model()]

    def write(data):
        written[0] = load_model(data, "model")

    def fail(data):
        raise Killed

    follow(server, hooks=Hooks(saved=write))
    for number in (1, 2, 3):  # each has one commit, and no time to write
        server.log += [request(number), label(number)]
        with pytest.raises(Killed):
            follow(server, hooks=Hooks(saved=fail), model=written[0])
    consumer, _ = follow(server, hooks=Hooks(saved=write), model=written[0])
    assert consumer.state.messages == 8
    assert to_bytes(written[0].kind, written[0].tree()) == consumer.state.model_file()


def test_the_model_is_written_before_anything_else_is_committed():
    server = MemoryServer([request(0), label(0)])
    follow(server)
    steps: list[str] = []
    server.log.append(request(1))
    follow(server, trouble=steps.append, hooks=Hooks(saved=lambda data: steps.append("written")))
    assert steps.index("written") < steps.index("before a commit")


def test_a_state_of_another_place_or_damaged_is_refused():
    server = MemoryServer([request(0), request(1)])
    follow(server)
    server.after = "1"
    with pytest.raises(BrokerError, match="of another place"):
        follow(server)
    server.state = server.state[:-1]
    with pytest.raises(ModelFileError, match=r"state of memory is damaged.*--restart"):
        follow(server)


def test_other_settings_hold_from_where_it_continues():
    server = MemoryServer([request(i) for i in range(5)])
    follow(server)
    server.log.append(request(5))
    consumer, log = follow(server, settings=LogSettings(guard=True, max_pending=2))
    assert list(consumer.state.awaited.waiting) == ["q4", "q5"]
    assert json.loads(server.answers[-1][1])["answered_by"] == "version 0"
    assert log.commits[0] == (0, True)  # before anything is answered by them


def test_a_log_that_no_longer_has_what_was_answered_is_refused():
    server = MemoryServer([request(i) for i in range(4)])
    follow(server)
    server.answered = "9"
    with pytest.raises(BrokerError, match="no longer has the message 9"):
        follow(server)


# Ends -----------------------------------------------------------------------------------------------------


def test_it_can_stop_at_a_message_that_cannot_be_used():
    server = MemoryServer([request(0), request(1), b"{", request(2)])
    with pytest.raises(InputError, match=r"the message 3 of memory cannot be used \(bad_json\)"):
        follow(server, strict=True)
    assert (len(server.answers), server.after) == (2, "2")
    with pytest.raises(InputError, match="the message 3 of memory"):
        follow(server, strict=True)
    follow(server)
    assert len(server.answers) == 4


def test_what_came_before_a_message_that_stops_it_is_saved():
    server = MemoryServer(mixed_log(2))
    follow(server)
    server.log += [*([request(50)] * 10), b"{"]  # the bad one is the first that is read in its turn
    with pytest.raises(InputError, match="What came before is answered and saved"):
        follow(server, strict=True)
    assert server.after == server.answered == str(len(server.log) - 1)


def test_a_first_message_that_cannot_be_used_stops_it_before_anything_is_committed():
    server = MemoryServer([b"{"])
    with pytest.raises(InputError, match="the message 1"):
        follow(server, strict=True)
    assert server.answered is None


def test_asked_to_end_it_saves_what_it_has():
    server = MemoryServer([request(i) for i in range(60)])
    asked = iter([False, False, True])
    consumer, log = follow(server, idle=None, hooks=Hooks(asked=lambda: next(asked)))
    assert consumer.state.messages == 20
    assert server.after == "20"
    assert log.commits[-1] == (0, True)


def test_asked_to_end_while_the_broker_is_away_it_ends():
    server = MemoryServer([request(0)])

    def trouble(what):
        if what == "before a commit":
            raise away(what)

    asked = iter([False] * 1)
    with pytest.raises(EndedEarlyError):
        follow(server, idle=None, trouble=trouble, hooks=Hooks(asked=lambda: next(asked, True)))
    assert server.answers == []


def test_a_broker_that_is_away_longer_than_idle_is_an_error():
    def trouble(what):
        raise away(what)

    with pytest.raises(AwayError, match="cannot be reached"):
        follow(MemoryServer(), trouble=trouble, idle=0.005)


def test_nothing_came():
    consumer, log = follow(MemoryServer())
    assert consumer.state is None
    assert log.commits == []


def test_an_unknown_address_is_no_log():
    with pytest.raises(InputError, match="must have a host"):
        open_log(LogAddress("redis:///0"))
