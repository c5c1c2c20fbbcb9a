"""Any number of threads read while one learns; `thread_stress` says what they may see."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import threading
import time
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import ocboost
from ocboost._core.locks import Guard, locks_of, reads, writes, written
from ocboost._core.threads import without_warning
from ocboost.boosters.sketch import fold as folding
from tests.support import thread_stress
from tests.support.makers import random_margins

SUBJECTS = [*thread_stress.subjects(), thread_stress.freshly_loaded()]


@pytest.fixture
def threads():
    before = ocboost.get_num_threads()
    yield ocboost.set_num_threads
    ocboost.set_num_threads(before)


@pytest.mark.parametrize(("long", "n_threads"), [(False, 1), (True, 2)], ids=["", "long folds"])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_readers_see_whole_states_and_disturb_nobody(subject, long, n_threads, threads):
    threads(n_threads)
    with thread_stress.short_folds_are_long() if long else nullcontext():
        alone = thread_stress.expected(subject)
        faults = []
        for seed in range(4):
            with thread_stress.switching(1e-6 if seed % 2 else None):
                faults += thread_stress.trial(subject, alone, seed=seed)
    assert not faults


def test_folds_publish_the_alpha_of_the_whole_head(monkeypatch):
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    rows = random_margins(np.random.default_rng(1), 60, 12)
    sketch = ocboost.BoostingSketch(12, head=40, keep="newest")
    views = []
    with thread_stress.published(views):
        sketch.update_many(rows[:40])
        assert sketch.n_head == 35
        sketch.update_many(rows[40:45])
    roomy = ocboost.BoostingSketch(12, head=100, keep="newest")
    roomy.update_many(rows[:40])
    before = ocboost.BoostingSketch(12, head=40, keep="newest")
    before.update_many(rows[:40])
    later = before.remade(head=100)
    later.update_many(rows[40:45])
    assert len(views) == 2
    np.testing.assert_allclose(views[0][0], roomy.alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(views[1][0], later.alpha, rtol=0, atol=1e-12)


@pytest.fixture
def fold_in_two(monkeypatch):
    """Every fold is long, and stops once it has solved: it says so by one event, and goes on by another."""
    solved, go_on = threading.Event(), threading.Event()
    original = folding.fold_pairs

    def slow(*args):
        solved.set()
        assert go_on.wait(60)
        original(*args)

    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    monkeypatch.setattr(folding, "fold_pairs", slow)
    return solved, go_on


def test_readers_of_alpha_do_not_wait_for_a_long_fold(fold_in_two):
    """While a fold goes on α is there, and a copy is not."""
    solved, go_on = fold_in_two
    rows = random_margins(np.random.default_rng(2), 40, 10)
    sketch = ocboost.BoostingSketch(10, head=40, keep="newest")
    sketch.update_many(rows[:39])  # and nobody has read it
    writer = threading.Thread(target=sketch.update, args=(rows[39],))
    writer.start()
    assert solved.wait(60)
    copies = []
    copier = threading.Thread(target=lambda: copies.append(sketch.copy()))
    copier.start()
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(rows), rtol=0, atol=1e-12)
    assert writer.is_alive()
    assert sketch.n_seen == 39
    assert copier.is_alive()
    assert not copies
    go_on.set()
    writer.join()
    copier.join()
    assert sketch.n_seen == copies[0].n_seen == 40


@pytest.mark.parametrize("K", [2, 3])
def test_predictions_do_not_wait_for_a_long_fold(K, fold_in_two):
    """Two classes: the fold's own α is voted with. More: what was there before, where it is kept."""
    solved, go_on = fold_in_two
    X, y = thread_stress.rows(180, K)
    go_on.set()
    clf = ocboost.OCBClassifier(n_hypotheses=8, head=40, keep="newest").fit(X[:60], y[:60])
    clf.committee_._guard.contended = K > 2  # as if a reader had had to wait before
    solved.clear()
    go_on.clear()
    twin = copy.copy(clf)
    before = twin.decision_function(X)
    n = 40 - twin.boosters_[0].n_head
    writer = threading.Thread(target=clf.partial_fit, args=(X[60:120], y[60:120]))
    writer.start()
    assert solved.wait(60)
    meanwhile = clf.decision_function(X)
    if K > 2:
        np.testing.assert_array_equal(meanwhile, before)
    else:
        roomy = twin.set_params(head=100).partial_fit(X[60 : 60 + n], y[60 : 60 + n])
        np.testing.assert_allclose(meanwhile, roomy.decision_function(X), rtol=0, atol=1e-12)
    assert writer.is_alive()
    go_on.set()
    writer.join()
    assert (clf.decision_function(X) != before).any()


def test_a_reader_gets_in_where_a_writer_never_stops(monkeypatch):
    sketch = ocboost.BoostingSketch(10)
    row = random_margins(np.random.default_rng(3), 1, 10)[0]
    stop = threading.Event()

    def learn():
        while not stop.is_set():
            sketch.update(row)

    writer = threading.Thread(target=learn)
    writer.start()
    try:
        for _ in range(50):
            assert np.isfinite(sketch.alpha).all()
            assert sketch.copy().n_seen >= 0
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("interval", [None, 1e-6])
def test_writers_take_turns(interval):
    row = random_margins(np.random.default_rng(4), 1, 16)[0]
    shared, alone = (ocboost.BoostingSketch(16, head=10) for _ in range(2))
    with thread_stress.switching(interval):
        writers = [
            threading.Thread(target=lambda: [shared.update(row) for _ in range(100)]) for _ in range(4)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    alone.update_many(np.tile(row, (400, 1)))
    assert thread_stress.saved(shared) == thread_stress.saved(alone)


def test_merging_both_ways_at_once_does_not_deadlock():
    rows = random_margins(np.random.default_rng(5), 200, 8)
    a, b = (ocboost.BoostingSketch.from_margins(half, head=30) for half in (rows[:100], rows[100:]))
    results = []
    mergers = [
        threading.Thread(
            target=lambda x=x, y=y: results.extend(x.merge(y).alpha.tobytes() for _ in range(50))
        )
        for x, y in ((a, b), (b, a))
    ]
    for merger in mergers:
        merger.start()
    for merger in mergers:
        merger.join(60)
    assert len(results) == 100
    assert len(set(results)) == 1


# The guard itself ------------------------------------------------------------------------------------------


class Account:
    """Two numbers that must always be equal."""

    def __init__(self):
        self._guard, self.a, self.b = Guard(), 0, 0

    def both(self):
        return self._guard.view(lambda: (self.a, self.b))

    @writes
    def add(self, fails=False):
        self.a += 1
        if fails:
            raise ValueError
        self.b += 1

    @reads
    def sum(self):
        return self.a + self.b

    @writes
    def twice(self):
        self.add()
        self.add()
        return self.both()


def test_a_view_is_made_once_and_again_after_a_write():
    account = Account()
    first = account.both()
    assert account.both() is first
    account.add()
    assert account.both() == (1, 1)
    assert account.sum() == 2


def test_a_writer_sees_its_own_work():
    account = Account()
    account.both()
    assert account.twice() == (2, 2)
    assert account.both() == (2, 2)


def test_a_write_that_fails_leaves_no_old_view():
    account = Account()
    assert account.both() == (0, 0)
    with pytest.raises(ValueError):
        account.add(fails=True)
    assert account.both() == (1, 0)


def test_others_see_the_state_before_while_a_write_goes_on():
    account, seen = Account(), []
    account.both()

    def ask():
        reader = threading.Thread(target=lambda: seen.append(account.both()))
        reader.start()
        reader.join(60)

    def change():
        account.a = 7
        ask()
        account._guard.publish(("published", 0))
        ask()
        return "done"

    assert written(account, change) == "done"
    assert seen == [(0, 0), ("published", 0)]
    assert account.both() == (7, 0)


def test_who_waits_is_known_and_gets_what_is_published():
    account, seen = Account(), []

    def change():
        reader = threading.Thread(target=lambda: seen.append(account.both()))
        reader.start()
        while not account._guard.wanted:
            time.sleep(0.0005)
        assert account._guard.contended
        account._guard.publish("published")
        reader.join(60)

    written(account, change)
    assert seen == ["published"]


def test_a_part_publishes_for_the_whole_that_it_belongs_to():
    whole, part, seen = Account(), Account(), []

    def change():
        reader = threading.Thread(target=lambda: seen.append(whole.both()))
        reader.start()
        with part._guard.passing_on(whole._guard, lambda view: (view, "passed on")):
            while not part._guard.wanted:
                time.sleep(0.0005)
            part._guard.publish("published")
        part._guard.publish("not passed on")
        reader.join(60)

    written(whole, change)
    assert seen == [("published", "passed on")]


def test_a_view_is_kept_only_where_somebody_has_waited():
    account, made = Account(), []

    def change():
        account._guard.keep(lambda: made.append(1) or "kept")
        account._guard.contended = True
        account._guard.keep(lambda: made.append(2) or "kept")
        account._guard.keep(lambda: made.append(3) or "kept")

    written(account, change)
    assert made == [2]


def test_two_locks_come_in_one_order():
    a, b = Account(), Account()
    assert locks_of(a, b) == locks_of(b, a)
    first, second = locks_of(a, a)
    with first, second:
        assert a.sum() == 0


def test_settings_that_others_set_while_it_is_fitted_stay():
    X, y = thread_stress.rows(180, 2)
    fitting, go_on = threading.Event(), threading.Event()

    class Slow(ocboost.OCBClassifier):
        def _fit(self, *args):
            fitting.set()
            assert go_on.wait(60)
            super()._fit(*args)

    clf = Slow(n_hypotheses=5)
    writer = threading.Thread(target=clf.fit, args=(X, y))
    writer.start()
    assert fitting.wait(60)
    clf.set_params(forgetting=0.5)
    go_on.set()
    writer.join()
    assert clf.forgetting == 0.5
    assert len(clf.predict(X)) == len(X)


def test_settings_take_effect_together_with_the_rows_that_come_with_them(monkeypatch):
    """Nobody sees the new settings without the new rows."""
    X, y = thread_stress.rows(180, 3)
    clf = ocboost.OCBClassifier(n_hypotheses=6, head=60).fit(X[:60], y[:60])
    before, seen = clf.decision_function(X), []
    original = type(clf.committee_).learn

    def asked(*args, **kwargs):
        reader = threading.Thread(target=lambda: seen.append(clf.decision_function(X)))
        reader.start()
        reader.join(60)
        return original(*args, **kwargs)

    monkeypatch.setattr(type(clf.committee_), "learn", asked)
    clf.set_params(head=5).partial_fit(X[60:120], y[60:120])
    np.testing.assert_array_equal(seen[0], before)


def test_an_example_on_the_way_is_published_between_pieces(monkeypatch):
    """A reader that waits for a long call gets the state between two of its pieces."""
    monkeypatch.setattr(ocboost.boosters.base, "WORK_PER_CALL", 1)
    rows = random_margins(np.random.default_rng(6), 50, 6)
    sketch, views = ocboost.BoostingSketch(6, head=4, keep="newest"), []
    sketch._guard._wanted = True  # as if somebody waited
    with thread_stress.published(views):
        sketch.update_many(rows)
    part = ocboost.BoostingSketch(6, head=4, keep="newest")
    part.update(rows[0])
    np.testing.assert_array_equal(views[0][0], part.alpha)
    assert len(views) == 1


# Forking ---------------------------------------------------------------------------------------------------

FORKING = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np, ocboost
from ocboost import folding, guard

rows = np.where(np.random.default_rng(0).random((4000, 60)) < 0.6, 1, -1).astype(np.int8)
sketch = ocboost.BoostingSketch(60, head=500, keep="newest")
ocboost.set_num_threads(2)
folding.WORTH_SHARING = 0
sketch.update_many(rows)
stop = threading.Event()
def learn():
    while not stop.is_set():
        sketch.update_many(rows[:200])
def read():
    while not stop.is_set():
        sketch.alpha
def ready():
    pass
{before}
threads = [threading.Thread(target=target) for target in (learn, read)]
for thread in threads:
    thread.start()
codes = []
for _ in range({times}):
    ready()
    child = os.fork()
    if child == 0:
        try:
            n = sketch.n_seen
            assert n % 200 == 0, n
            sketch.update_many(rows[:200])
            assert sketch.copy().n_seen == n + 200
            assert np.isfinite(sketch.alpha).all()
            os._exit(0)
        except guard.OcboostError as error:
            os._exit(3 if "forked" in str(error) else 1)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
{after}
for thread in threads:
    thread.join()
print(sorted(set(codes)))
"""


def forked(times, before="", after=""):
    script = FORKING.format(before=before, times=times, after=after)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=environment
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_threads_learn_and_read():
    assert forked(15) == "[0]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_what_was_half_changed_at_a_fork_is_refused():
    before = (
        "guard.FORK_PATIENCE = 0.05\n"
        "original = folding.fold_pairs\n"
        "folds, go_on = threading.Event(), threading.Event()\n"
        "def slow(*args):\n"
        "    folds.set()\n"
        "    go_on.wait(60)\n"
        "    original(*args)\n"
        "folding.fold_pairs = slow\n"
        "ready = folds.wait\n"
    )
    assert forked(2, before, "go_on.set()") == "[3]"


def test_a_warning_is_kept_quiet_by_several_threads_at_once():
    before = list(warnings.filters)
    entered, leave = threading.Event(), threading.Event()

    def other():
        with without_warning("quiet, please"):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with without_warning("quiet, please"):
        thread.start()
        assert entered.wait(60)
    warnings.warn("quiet, please", stacklevel=1)  # the other one still wants it; a warning is an error here
    leave.set()
    thread.join()
    assert list(warnings.filters) == before
    with pytest.warns(UserWarning, match="quiet, please"):
        warnings.warn("quiet, please", stacklevel=1)


@pytest.mark.parametrize("call", ["sketch.alpha", "sketch.merge(other)", "clf.predict(X[:2])"])
def test_ctrl_c_leaves_no_lock_behind(call):
    """Signals from outside, at any moment, to a thread that reads; another one learns, and must go on."""
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(call=call)], capture_output=True, text=True, timeout=120
    )
    assert found.stdout.strip().endswith("still learning"), found.stdout + found.stderr


INTERRUPTED = """
import os, random, signal, threading, time
import numpy as np, ocboost
rng = np.random.default_rng(0)
rows = np.where(rng.random((200, 20)) < 0.6, 1, -1).astype(np.int8)
sketch, other = (ocboost.BoostingSketch.from_margins(rows, head=20) for _ in range(2))
X = rng.normal(size=(200, 3))
y = (X[:, 0] > 0).astype(int)
clf = ocboost.OCBClassifier(n_hypotheses=5).fit(X, y)
{call}
learnt = 0
def learn():
    global learnt
    while True:
        sketch.update(rows[learnt % 200])
        clf.partial_fit(X[:1], y[:1])
        learnt += 1
child = os.fork()
if child == 0:
    while True:
        time.sleep(random.random() * 0.002)
        try:
            os.kill(os.getppid(), signal.SIGINT)
        except ProcessLookupError:
            os._exit(0)
heard, armed = 0, False
def press(number, frame):
    if armed:
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, press)
threading.Thread(target=learn, daemon=True).start()
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        armed = True
        {call}
        armed = False
    except KeyboardInterrupt:
        armed = False
        heard += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.kill(child, signal.SIGKILL)
before = learnt
time.sleep(1)
print(heard, "heard;", "still learning" if learnt > before else "stuck", flush=True)
os._exit(0)
"""
