"""Ctrl-C while a fleet learns, answers or is written anew."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from contextlib import suppress

import pytest

pytest.importorskip("lmdb")


from ocboost.fleet import Fleet
from tests.fleet.fleets import model, records, rows
from tests.fleet.kills import processes

X, Y, KEYS = rows()
WINDOW = 25
LONGEST = 20.0  # seconds that something which must end may take on a busy machine


def votes_of(fleet):
    return fleet.votes(KEYS[:40], X[:40]).tobytes()


def learn_interrupted(store, telling):
    """Learn the whole stream, whatever is pressed meanwhile, in a process of its own."""
    pressed, luck, armed = 0, random.Random(0), False

    def interrupt(number, frame):
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    with Fleet(model(), store=store, window=WINDOW) as fleet:
        fleet.learn(KEYS[:1], X[:1], Y[:1], source="log", offset=0)
        telling.send(None)
        while (at := fleet.offset("log")) < len(X):
            part = slice(at, min(len(X), at + luck.randint(1, 12)))
            try:
                armed = True
                fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=at)
                armed = False
            except KeyboardInterrupt:
                pressed += 1
        telling.send((pressed, records(fleet), votes_of(fleet)))


def test_ctrl_c_while_it_learns(tmp_path):
    """A call that was interrupted has learnt all or nothing, in memory and on the disk."""
    with Fleet(model(), store=tmp_path / "alone", window=WINDOW) as fleet:
        fleet.learn(KEYS, X, Y, source="log", offset=0)
        end, expected = records(fleet), votes_of(fleet)
    told, telling = processes().Pipe(duplex=False)
    process = processes().Process(target=learn_interrupted, args=(tmp_path / "store", telling))
    process.start()
    told.recv()
    luck = random.Random(1)
    while not told.poll(luck.uniform(0.0, 0.01)):
        assert process.is_alive()
        os.kill(process.pid, signal.SIGINT)
    pressed, kept, votes = told.recv()
    process.join(LONGEST)
    assert process.exitcode == 0
    assert pressed > 10
    assert (kept, votes) == (end, expected)
    with Fleet(store=tmp_path / "store") as fleet:
        assert records(fleet) == end


WORKS = {
    "votes": votes_of,
    "learn": lambda fleet: fleet.learn(KEYS[:9], X[:9], Y[:9]),
    "drop": lambda fleet: fleet.drop(["key 1"]),
    "note": lambda fleet: fleet.note_source("log", {"a": 1}),
    "compact": lambda fleet: fleet.compact(),
}


def interrupt_everywhere(folder, name, telling):
    """Interrupt a call at each of the points where Python might, each in a store of its own."""
    point, left = 0, 0

    def trace(frame, event, arg):
        nonlocal left
        if os.path.basename(frame.f_code.co_filename) in ("store.py", "contextlib.py", "threading.py"):
            left -= event in ("call", "line")
            if left == 0:
                telling.send(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                signal.raise_signal(signal.SIGINT)  # which waits where Ctrl-C does
        return trace

    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        shutil.rmtree(folder / "now", ignore_errors=True)
        shutil.copytree(folder / "first", folder / "now")
        point, left = point + 1, point  # the first time not at all, as kernels are loaded then
        interrupted = False
        try:
            with Fleet(store=folder / "now") as fleet:
                sys.settrace(trace if left else None)
                try:
                    WORKS[name](fleet)
                finally:
                    sys.settrace(None)
        except KeyboardInterrupt:
            interrupted = True
        with Fleet(store=folder / "now") as fleet:
            telling.send((interrupted, records(fleet)))
        if not interrupted and point > 1:
            return


@pytest.mark.parametrize("name", list(WORKS))
def test_ctrl_c_at_every_point(tmp_path, name):
    """The fleet is closed, by its block, with the error on its way; the store is as before or as after."""
    with Fleet(model(), store=tmp_path / "first", window=WINDOW) as fleet:
        fleet.learn(KEYS[:60], X[:60], Y[:60])
        before = records(fleet)
    shutil.copytree(tmp_path / "first", tmp_path / "after")
    with Fleet(store=tmp_path / "after") as fleet:
        WORKS[name](fleet)
        after = records(fleet)
    told, telling = processes().Pipe(duplex=False)
    process = processes().Process(target=interrupt_everywhere, args=(tmp_path, name, telling))
    process.start()
    telling.close()
    where, points = "nothing", 0
    try:
        with suppress(EOFError):
            while True:
                assert told.poll(LONGEST), f"it hangs, interrupted at {where}"
                said = told.recv()
                if isinstance(said, str):
                    where, points = said, points + 1
                    continue
                interrupted, found = said
                assert found in (before, after), f"interrupted at {where}"
        assert not interrupted, f"it ended, interrupted at {where}"
        assert found == after
        assert points > 30
    finally:
        process.kill()
        process.join()
