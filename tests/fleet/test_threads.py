"""Threads and processes that read a fleet while it learns, and Ctrl-C."""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from ocboost.errors import ClosedError

pytest.importorskip("lmdb")

import lmdb

from ocboost.fleet import Fleet
from ocboost.fleet.state import REFRESH
from tests.fleet.fleets import model, records, rows
from tests.fleet.kills import processes

X, Y, KEYS = rows()
STEP, WINDOW = 75, 25
READERS = 10
LONGEST = 20.0  # seconds that something which must end may take on a busy machine


def steps():
    return [slice(start, start + STEP) for start in range(0, len(X), STEP)]


def votes_of(fleet):
    return fleet.votes(KEYS[:40], X[:40]).tobytes()


READS = {
    "votes": votes_of,
    "probabilities": lambda fleet: fleet.predict_proba(KEYS[:40], X[:40]).tobytes(),
    "table": lambda fleet: repr(fleet.table(100, "moved")),
    "info": lambda fleet: repr(fleet.info().accuracy),
    "export": lambda fleet: fleet.export("key 3").decision_function(X[:10]).tobytes(),
    "verify": lambda fleet: repr(fleet.verify()),
    "keys": lambda fleet: repr(list(fleet.keys())),
    "length": len,
    "rows": lambda fleet: fleet.rows,
    "offset": lambda fleet: fleet.offset("log"),
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What each way of reading gives between two calls of an undisturbed run, in order, and the end."""
    seen = {name: [] for name in READS}
    with Fleet(model(), store=tmp_path_factory.mktemp("alone") / "store", window=WINDOW) as fleet:
        for part in [None, *steps()]:
            if part is not None:
                fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=part.start)
            for name, read in READS.items():
                seen[name].append(read(fleet))
        return seen, records(fleet)


@pytest.fixture
def often():
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Threads:
    """Threads that do something again and again until all of them are told to stop."""

    def __init__(self, *works):
        self.stopped, self.errors, self.counts = threading.Event(), [], [0] * len(works)
        self._threads = [
            threading.Thread(target=self._run, args=(i, work), daemon=True) for i, work in enumerate(works)
        ]

    def _run(self, i, work):
        try:
            while not self.stopped.is_set():
                work()
                self.counts[i] += 1
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stopped.set()
        for thread in self._threads:
            thread.join(LONGEST)
        assert not any(thread.is_alive() for thread in self._threads)

    def wait_for_all(self, more=1):
        """Wait until each has done it so many times more, or one has failed."""
        wanted = [count + more for count in self.counts]
        until = time.monotonic() + LONGEST
        while any(a < b for a, b in zip(self.counts, wanted, strict=True)) and not self.errors:
            assert time.monotonic() < until
            time.sleep(0.001)


def reading(fleet, name, expected):
    """Read, and check that it is a state between two calls, and not an earlier one than before."""
    states, at = expected[name], [0]

    def read():
        found = READS[name](fleet)
        assert found in states[at[0] :], f"{name} is of no state"
        at[0] = states.index(found, at[0])

    return read


def test_ten_threads_read_while_one_learns(tmp_path, alone, often):
    expected, end = alone
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        with Threads(*[reading(fleet, name, expected) for name in READS]) as readers:
            for i, part in enumerate(steps()):
                fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=part.start)
                if i % 5 == 0:
                    readers.wait_for_all()
        assert readers.errors == []
        assert records(fleet) == end


def test_threads_that_learn_at_once(tmp_path, often):
    """Calls come one after the other, in some order; what is kept in memory is what the store has."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:

        def learner(name):
            luck = random.Random(name)

            def learn():
                start = luck.randrange(len(X) - 300)
                part = slice(start, start + 300)
                fleet.learn([name] * 300, X[part], Y[part])

            return learn

        with Threads(*[learner(name) for name in "abc"]) as learners:
            learners.wait_for_all(6)
        assert learners.errors == []
        assert fleet.rows == 300 * sum(learners.counts)
        (tmp_path / "copy").mkdir()
        fleet._store._env.copy(str(tmp_path / "copy"))
        fleet.learn(KEYS[:700], X[:700], Y[:700])
        kept = records(fleet)
    with Fleet(store=tmp_path / "copy") as fleet:
        fleet.learn(KEYS[:700], X[:700], Y[:700])
        assert records(fleet) == kept


class Interleaved:
    """A lock: when it is given back for the first time another call begins, which is held up at its end."""

    def __init__(self, lock, work):
        self._lock, self._releases = lock, 0
        self._both_have_learnt, self._first_is_done = threading.Event(), threading.Event()
        self.other = threading.Thread(target=work)

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *error):
        self._releases += 1
        number = self._releases
        self._lock.__exit__(*error)
        if number == 1:
            self.other.start()
            self._both_have_learnt.wait()
        elif number == 2:
            self._both_have_learnt.set()
            self._first_is_done.wait(0.5)
        else:
            self._first_is_done.set()


def test_learners_that_are_held_up_at_their_ends(tmp_path):
    """The common weights that are kept in memory must be the latest, whoever comes to an end last."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:

        def learn(start, stop):
            fleet.learn(KEYS[start:stop], X[start:stop], Y[start:stop])

        fleet._writing = lock = Interleaved(fleet._writing, lambda: learn(600, 1400))
        learn(0, 600)
        lock.other.join()
        learn(0, 700)
        kept = records(fleet)
    with Fleet(model(), store=tmp_path / "other", window=WINDOW) as fleet:
        for start, stop in ((0, 600), (600, 1400), (0, 700)):
            learn(start, stop)
        assert fleet.rows > 4 * REFRESH
        assert records(fleet) == kept


def test_compaction_while_others_read(tmp_path, alone, often):
    """It ends, though somebody reads at every moment; nobody sees anything of it."""
    expected, end = alone
    names = [name for name in READS if name != "info"]
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        with Threads(*[reading(fleet, name, expected) for name in names]) as readers:
            for i, part in enumerate(steps()):
                fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=part.start)
                if i % 6 == 0:
                    readers.wait_for_all()
                    compacting = threading.Thread(target=fleet.compact, daemon=True)
                    compacting.start()
                    compacting.join(LONGEST)
                    assert not compacting.is_alive()
        assert readers.errors == []
        assert records(fleet) == end


def test_compaction_waits_for_those_who_read(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        expected = records(fleet)[0]
        compacting = threading.Thread(target=fleet.compact, daemon=True)
        with fleet._store.reading() as txn:
            compacting.start()
            compacting.join(0.2)
            assert compacting.is_alive()
            found = {key: bytes(record) for key, record in fleet._store.records(txn)}
        compacting.join(LONGEST)
        assert not compacting.is_alive()
        assert found == records(fleet)[0] == expected


def test_compaction_where_somebody_reads_at_every_moment(tmp_path):
    """Two take turns, and each stays until the other has come: who comes later waits for the compaction."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        inside = [threading.Event(), threading.Event()]

        def reader(me):
            def read():
                with fleet._store.reading():
                    inside[me].set()
                    inside[1 - me].wait(0.2)
                    inside[1 - me].clear()

            return read

        with Threads(reader(0), reader(1)) as readers:
            readers.wait_for_all(3)
            compacting = threading.Thread(target=fleet.compact, daemon=True)
            compacting.start()
            compacting.join(LONGEST / 4)
            assert not compacting.is_alive()
        assert readers.errors == []


def test_closing_while_others_read(tmp_path, alone, often):
    expected, end = alone
    for _ in range(3):
        fleet = Fleet(model(), store=tmp_path / "store", window=WINDOW)
        fleet.learn(KEYS, X, Y, source="log", offset=0)
        works = [reading(fleet, name, expected) for name in READS if name not in ("info", "table")]
        with Threads(*works) as readers:
            readers.wait_for_all()
            fleet.close()
            readers.stopped.wait(0.05)
        assert readers.errors
        assert all(type(error) is ClosedError for error in readers.errors)
        with Fleet(store=tmp_path / "store") as fleet:
            assert records(fleet)[0] == end[0]


def test_closing_while_one_learns(tmp_path):
    """It waits for the call; the next one is told."""
    fleet = Fleet(model(), store=tmp_path / "store", window=WINDOW)

    def learn():
        at = fleet.offset("log")
        part = slice(at % 1400, at % 1400 + 50)
        fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=at)

    with Threads(learn) as learners:
        learners.wait_for_all(3)
        fleet.close()
        while not learners.errors:
            time.sleep(0.001)
    assert [type(error) for error in learners.errors] == [ClosedError]
    with Fleet(store=tmp_path / "store") as fleet:
        assert fleet.rows == fleet.offset("log") == 50 * learners.counts[0]


# Processes ------------------------------------------------------------------------------------------------


def read_on(store, telling, until):
    """Read until told otherwise, in a process of its own; sends all the different votes in their order."""
    seen = []
    with Fleet(store=store, read_only=True) as fleet:
        telling.send(None)
        while not until.poll():
            found = votes_of(fleet)
            if not seen or seen[-1] != found:
                seen.append(found)
        telling.send((seen, votes_of(fleet), len(fleet)))


def test_processes_read_while_one_learns(tmp_path, alone):
    expected, end = alone
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        running = []
        for _ in range(3):
            told, telling = processes().Pipe(duplex=False)
            until, stop = processes().Pipe(duplex=False)
            process = processes().Process(target=read_on, args=(tmp_path / "store", telling, until))
            process.start()
            running.append((process, told, stop))
        for _, told, _ in running:
            told.recv()
        for part in steps():
            fleet.learn(KEYS[part], X[part], Y[part], source="log", offset=part.start)
        for process, told, stop in running:
            stop.send(None)
            seen, last, n = told.recv()
            process.join()
            places = [expected["votes"].index(each) for each in seen]
            assert places == sorted(places)
            assert (last, n) == (expected["votes"][-1], expected["length"][-1])
        assert records(fleet) == end


def hold_a_reader(store, telling):
    """Begin to read, and never come to an end."""
    with Fleet(store=store, read_only=True) as fleet, fleet._store.reading():
        telling.send(None)
        time.sleep(LONGEST)


def test_a_reader_that_was_killed_does_not_make_the_store_grow(tmp_path):
    """LMDB keeps every page that a reader may still need, until somebody notices that it is gone."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS, X, Y)
        told, telling = processes().Pipe(duplex=False)
        process = processes().Process(target=hold_a_reader, args=(tmp_path / "store", telling))
        process.start()
        told.recv()
        process.kill()
        process.join()
        before = fleet.info().bytes
        for _ in range(60):
            fleet.learn(KEYS[:100], X[:100], Y[:100])
        assert fleet.info().bytes < 3 * before


def read_with_little_room(store, telling, until):
    """Open a store on a disk that is nearly full, and read it in threads when it has grown."""
    from types import SimpleNamespace

    from ocboost.fleet import store as store_module

    store_module._LEAST_MAP = 1 << 18
    shutil.disk_usage = lambda path: SimpleNamespace(free=0)
    with Fleet(store=store, read_only=True) as fleet:
        telling.send(len(fleet))
        until.recv()
        with Threads(*[lambda: votes_of(fleet)] * 4) as readers:
            with suppress(AssertionError):
                readers.wait_for_all(3)
            telling.send((readers.errors, min(readers.counts) >= 3, len(fleet), votes_of(fleet)))


def test_a_store_that_outgrows_a_reader(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        told, telling = processes().Pipe(duplex=False)
        until, stop = processes().Pipe(duplex=False)
        process = processes().Process(target=read_with_little_room, args=(tmp_path / "store", telling, until))
        process.start()
        assert told.recv() == 0
        for i in range(4):
            fleet.learn(np.arange(len(X)) + len(X) * i, X, Y)
        fleet.learn(KEYS, X, Y)
        assert fleet.info().bytes > 1 << 19
        stop.send(None)
        try:
            assert told.poll(2 * LONGEST), "it hangs"
            assert told.recv() == ([], True, len(fleet), votes_of(fleet))
        finally:
            process.kill()
            process.join()


class Outgrown:
    """An environment of LMDB that tells two threads at once that the file has outgrown its map."""

    def __init__(self, env):
        self._env, self._both, self._told = env, threading.Barrier(2), set()

    def begin(self, *args, **options):
        if threading.get_ident() not in self._told:
            self._told.add(threading.get_ident())
            self._both.wait()
            raise lmdb.MapResizedError
        return self._env.begin(*args, **options)

    def __getattr__(self, name):
        return getattr(self._env, name)


def test_threads_that_find_at_once_that_a_store_has_grown(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS[:60], X[:60], Y[:60])
        expected, found, real = votes_of(fleet), [], fleet._store._env
        fleet._store._env = Outgrown(real)
        threads = [
            threading.Thread(target=lambda: found.append(votes_of(fleet)), daemon=True) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONGEST)
        hang = any(thread.is_alive() for thread in threads)
        fleet._store._env = real
        if hang:
            fleet._store._readers.clear()  # so that it can be closed
        assert not hang
        assert found == [expected] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_must_open_the_store_itself(tmp_path):
    """LMDB's readers and locks are of one process: a child that uses its parent's would disturb it."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS, X, Y)
        child = os.fork()
        if child == 0:
            said = 1
            with suppress(BaseException):
                try:
                    len(fleet)
                except ClosedError as error:
                    said = 0 if "open it again in this process" in str(error) else 2
                fleet.close()
            os._exit(said)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert (tmp_path / "store" / ".fleet.lock").exists()  # it is still this process's
        assert code == 0
        fleet.learn(KEYS[:9], X[:9], Y[:9])
