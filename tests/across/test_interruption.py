"""Ctrl-C and kill at any moment: what is left is whole, and says truly how far it came."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ocboost
from ocboost.boosters.sketch import fold as folding
from tests.support.adaptive import fitted as adaptive
from tests.support.adaptive import state, stream
from tests.support.makers import independent_columns, random_margins

PACKAGE = Path(ocboost.__file__).parent
# The files whose lines change a booster or a file; those left out only compute.
FOLDERS = (
    *("_core", "boosters", "boosters/sketch", "estimators", "estimators/adaptive", "deployment", "streams"),
)
FILES = {str(path) for folder in FOLDERS for path in (PACKAGE / folder).glob("*.py") if path.stem != "checks"}

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread only"
)


@pytest.fixture(autouse=True)
def threads():
    """Set the number of threads, and set it back."""
    before = ocboost.get_num_threads()
    yield ocboost.set_num_threads
    ocboost.set_num_threads(before)


# Ctrl-C at some moment of a long call -----------------------------------------------------------------


@contextlib.contextmanager
def interrupted(reached, delay):
    """Press Ctrl-C, from another thread, a moment after something is reached."""

    def wait_and_press():
        while not reached():
            time.sleep(0.0005)
        time.sleep(delay)
        signal.raise_signal(signal.SIGINT)

    presser = threading.Thread(target=wait_and_press)
    presser.start()
    try:
        yield
    finally:
        presser.join()  # if it is late after all, it strikes here and not in another test


@pytest.mark.parametrize(("head", "batch_size"), [(1, 256), (100, 256), (500, 1)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_in_a_long_update(n_threads, head, batch_size, threads, tmp_path):
    # 180,000 pairs and 256 examples: two threads share each fold.
    threads(n_threads)
    J = 600
    assert folding.is_long(J, J, 256)
    rng = np.random.default_rng(230)
    block = independent_columns(rng, 4096, rng.uniform(0.5, 0.65, J))
    margins = np.tile(block, (20, 1))  # far more than there is time for
    for begun, delay in [(1, 0.0), (1, 0.013), (700, 0.031)]:
        sketch = ocboost.BoostingSketch(J, head=head)
        handler = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupted(lambda n=begun, s=sketch: s.n_seen >= n, delay):
            sketch.update_many(margins, batch_size=batch_size)
        assert signal.getsignal(signal.SIGINT) is handler
        n = sketch.n_seen
        assert begun <= n < len(margins)
        fresh = ocboost.BoostingSketch(J, head=head)
        fresh.update_many(margins[:n], batch_size=batch_size)
        np.testing.assert_allclose(sketch.alpha, fresh.alpha, rtol=0, atol=1e-12)
        if head == 1:
            np.testing.assert_array_equal(sketch.alpha, fresh.alpha)
        sketch.save(tmp_path / "model")
        np.testing.assert_array_equal(ocboost.BoostingSketch.load(tmp_path / "model").alpha, sketch.alpha)


# Ctrl-C at every line ---------------------------------------------------------------------------------


def interrupted_at(line, call):
    """Run ``call`` with Ctrl-C pressed as the ``line``-th line of the package begins; whether it came so far.

    A signal is heard between any two steps of Python, so each line stands for the moment before it.
    """
    passed = 0

    def trace(frame, event, argument):
        nonlocal passed
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            passed += 1
            if passed == line:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    before, handler = sys.gettrace(), signal.getsignal(signal.SIGINT)
    sys.settrace(trace)
    try:
        call()
        came = passed >= line
        assert not came, "Ctrl-C was lost"
    except KeyboardInterrupt:
        came = True
    finally:
        sys.settrace(before)
    assert signal.getsignal(signal.SIGINT) is handler
    return came


def at_every_line(make, margins, batch_size, check, n_threads=1):
    """Interrupt the taking in of ``margins`` at each line in turn; ``check`` what is left each time."""
    line = 0
    while True:
        line += 1
        ocboost.set_num_threads(1)
        booster = make()
        start = booster.n_seen
        options = {} if batch_size is None else {"batch_size": batch_size}
        ocboost.set_num_threads(n_threads)
        came = interrupted_at(line, lambda b=booster, o=options: b.update_many(margins, **o))
        ocboost.set_num_threads(1)
        n = booster.n_seen - start
        check(booster, n, line)
        if not came:
            assert n == len(margins)
            return line


@pytest.mark.parametrize(
    ("head", "batch_size", "n"), [(1, 32, 70), (20, 32, 40), (20, 8, 12), (60, 1, 12), (40, 40, 20)]
)
@pytest.mark.parametrize(("n_threads", "keep"), [(1, "newest"), (2, "newest"), (2, "heavy")])
def test_ctrl_c_at_every_line_of_an_update(n_threads, keep, head, batch_size, n, monkeypatch, tmp_path):
    if keep == "heavy" and head == 1:
        return  # the paper's algorithm keeps none
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)  # so that small folds are shared too
    J = 9
    margins = random_margins(np.random.default_rng(231), 96 + n, J)
    first, rest = margins[:96], margins[96:]

    def make(n=0):
        sketch = ocboost.BoostingSketch(J, head=head, keep=keep)
        sketch.update_many(first, batch_size=batch_size)
        assert sketch.alpha.shape == (J,)  # read, so that a stale answer would be noticed
        if n:
            sketch.update_many(rest[:n], batch_size=batch_size)
        return sketch

    whole = make(len(rest))
    alpha_after = cache(lambda n: make(n).alpha)

    def check(sketch, n, line):
        np.testing.assert_allclose(sketch.alpha, alpha_after(n), rtol=0, atol=1e-12, err_msg=f"line {line}")
        sketch.save(tmp_path / "model")
        loaded = ocboost.BoostingSketch.load(tmp_path / "model")
        for again in (sketch, loaded):
            if n < len(rest):
                again.update_many(rest[n:], batch_size=batch_size)
            assert again.n_seen == len(margins)
            np.testing.assert_allclose(again.alpha, whole.alpha, rtol=0, atol=1e-12, err_msg=f"line {line}")

    assert at_every_line(make, rest, batch_size, check, n_threads) > 10


@pytest.mark.parametrize("smaller", [1, 8, 31])
def test_other_batches_after_ctrl_c(smaller, monkeypatch):
    # Whatever has not been folded yet must not get in the way of a smaller batch.
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    margins = random_margins(np.random.default_rng(232), 200, 9)

    def check(sketch, n, line):
        fresh = ocboost.BoostingSketch(9)
        if n:
            fresh.update_many(margins[:n], batch_size=64)
        for booster in (sketch, fresh):
            booster.update_many(margins[:70], batch_size=smaller)
        assert sketch.n_seen == fresh.n_seen == n + 70
        np.testing.assert_allclose(sketch.alpha, fresh.alpha, rtol=0, atol=1e-12, err_msg=f"line {line}")

    at_every_line(lambda: ocboost.BoostingSketch(9), margins, 64, check, n_threads=2)


@pytest.mark.parametrize("options", [{}, {"tail": False}, {"keep": "heavy"}])
def test_ctrl_c_at_every_line_of_growing(options):
    # A head that outgrows its store while it is being filled, and a window that turns.
    margins = random_margins(np.random.default_rng(233), 150, 9)

    def make(n=0):
        sketch = ocboost.BoostingSketch(9, head=140, **options)
        sketch.update_many(margins[:50])
        if n:
            sketch.update_many(margins[:n])
        return sketch

    alpha_after = cache(lambda n: make(n).alpha)

    def check(sketch, n, line):
        np.testing.assert_allclose(sketch.alpha, alpha_after(n), rtol=0, atol=1e-12, err_msg=f"line {line}")

    assert at_every_line(make, margins, 1, check) > 10


@pytest.mark.parametrize("made", [ocboost.OzaRussell, ocboost.IncrementalAdaBoost])
def test_ctrl_c_at_every_line_of_the_other_boosters(made):
    margins = random_margins(np.random.default_rng(234), 150, 9)

    def make(n=0):
        booster = made(9)
        for rows in (margins[:10], margins[10 : 10 + n]):
            if len(rows):
                booster.update_many(rows)
        return booster

    def check(booster, n, line):
        # Also after more examples: what was not taken in must not have left its bits behind.
        fresh = make(n)
        for more in (margins[:0], margins[40:60]):
            for again in (booster, fresh):
                if len(more):
                    again.update_many(more)
            assert booster.n_seen == fresh.n_seen
            np.testing.assert_allclose(booster.alpha, fresh.alpha, rtol=0, atol=1e-12, err_msg=f"line {line}")

    at_every_line(make, margins[10:], None, check)


def test_ctrl_c_at_every_line_of_decay():
    margins = random_margins(np.random.default_rng(235), 60, 9)
    for options in ({"head": 1}, {"head": 20}, {"head": 20, "keep": "heavy"}):
        found, line, came = set(), 0, True
        while came:
            line += 1
            sketch = ocboost.BoostingSketch.from_margins(margins, **options)
            came = interrupted_at(line, lambda s=sketch: s.decay(0.3))
            found.add(tuple(sketch.alpha.round(12)))  # solved anew, it may differ in the last digit
        assert len(found) == 2  # before and after, and nothing between


def every_few_lines(call, check, start=1, step=23):
    """Press Ctrl-C at lines further and further on; ``call`` gives the object that was being changed."""
    line, came = start, True
    while came:
        thing, act = call()
        came = interrupted_at(line, act)
        check(thing, came)
        line += step
    return line


@pytest.mark.parametrize("late", [0, 3])
def test_ctrl_c_within_an_adaptive_classifier_s_rows(late):
    """Whole rows: what was said of a row is forgotten when the row is learnt, and not before."""
    X, y = stream()
    learnt = slice(100, 112)

    def begun():
        clf = adaptive()
        clf.predict(X[100 : 112 + late])
        return clf

    states = {}
    for n in range(13):
        clf = begun()
        if n:
            clf.partial_fit(X[100 : 100 + n], y[100 : 100 + n])
        states[clf.n_learnt_] = state(clf)

    def call():
        clf = begun()
        return clf, lambda: clf.partial_fit(X[learnt], y[learnt])

    def check(clf, came):
        assert state(clf) == states[clf.n_learnt_]
        assert came or clf.n_learnt_ == 112

    assert every_few_lines(call, check) > 1000


def test_ctrl_c_within_an_adaptive_classifier_s_predictions():
    """All of a call are remembered, or none."""
    X, _ = stream()
    clf = adaptive()
    before = state(clf)
    clf.predict(X[100:112])
    after = state(clf)

    def call():
        clf = adaptive()
        return clf, lambda: clf.predict(X[100:112])

    def check(clf, came):
        assert state(clf) in (before, after)
        assert came or state(clf) == after

    assert every_few_lines(call, check, step=9) > 100


def test_ctrl_c_is_left_alone_in_other_threads(threads, monkeypatch):
    threads(2)
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    margins = random_margins(np.random.default_rng(236), 200, 9)
    handler = signal.getsignal(signal.SIGINT)
    sketches = [ocboost.BoostingSketch(9) for _ in range(4)]
    workers = [
        threading.Thread(target=lambda s=s: s.update_many(margins, batch_size=50)) for s in sketches[1:]
    ]
    for worker in workers:
        worker.start()
    sketches[0].update_many(margins, batch_size=50)
    for worker in workers:
        worker.join()
    assert signal.getsignal(signal.SIGINT) is handler
    for sketch in sketches[1:]:
        np.testing.assert_array_equal(sketch.alpha, sketches[0].alpha)


LEARN = """
import signal, sys, threading, time
import numpy as np, ocboost
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
ocboost.set_num_threads(int(sys.argv[2]))
margins = np.where(np.random.default_rng(0).random((2048, 300)) < 0.6, 1, -1).astype(np.int8)
sketch = ocboost.BoostingSketch(300)

def press():
    while sketch.n_seen < 600:
        time.sleep(0.0005)
    signal.raise_signal(signal.SIGINT)

presser = threading.Thread(target=press)
presser.start()
sketch.update_many(np.tile(margins, (8, 1)), batch_size=512)
presser.join()
"""


@pytest.mark.parametrize(("handler", "n_threads"), [("SIG_DFL", 1), ("SIG_DFL", 2), ("SIG_IGN", 2)])
def test_what_was_to_happen_on_ctrl_c_still_does(handler, n_threads):
    # SIG_DFL ends the process, as programs with a window often want it; SIG_IGN does nothing.
    done = subprocess.run([sys.executable, "-c", LEARN, handler, str(n_threads)], timeout=300)
    assert done.returncode == (-signal.SIGINT if handler == "SIG_DFL" else 0)


# Kill -------------------------------------------------------------------------------------------------

SAVE_FOR_EVER = """
import itertools, sys
import ocboost
path, *others = sys.argv[1:]
sketches = [ocboost.BoostingSketch.load(other) for other in others]
for sketch in itertools.cycle(sketches):
    sketch.save(path)
    print("saved", flush=True)
"""


def test_killed_while_saving(tmp_path):
    J = 500  # some megabytes: most of the time goes into writing them
    rng = np.random.default_rng(237)
    alphas, others = [], []
    for i in range(2):
        sketch = ocboost.BoostingSketch.from_margins(random_margins(rng, 300, J), head=20 + 200 * i)
        others.append(str(tmp_path / f"sketch{i}"))
        sketch.save(others[-1])
        alphas.append(sketch.alpha)
    path = tmp_path / "folder" / "model"
    path.parent.mkdir()
    moments = random.Random(238)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(path), *others], stdout=subprocess.PIPE
        ) as writer:
            for _ in range(moments.randint(1, 4)):
                assert writer.stdout.readline() == b"saved\n"
            time.sleep(moments.uniform(0.0, 0.03))
            assert writer.poll() is None
            writer.send_signal(signal.SIGKILL)
        loaded = ocboost.BoostingSketch.load(path)
        assert any(np.array_equal(loaded.alpha, alpha) for alpha in alphas)
    # What the killed ones were writing lies beside it and does no harm.
    assert all(name.name == "model" or name.name.startswith(".model.") for name in path.parent.iterdir())
    loaded.save(path)
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(path).alpha, loaded.alpha)


# Nothing is heard between the end of a ``with`` block and its exit, but a line begins there.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_every_line_of_saving(tmp_path):
    old, new = (ocboost.BoostingSketch.from_margins([[1, -1, sign]] * 5, head=3) for sign in (1, -1))
    path, line, came = tmp_path / "model", 0, True
    while came:
        line += 1
        old.save(path)
        came = interrupted_at(line, lambda: new.save(path))
        loaded = ocboost.BoostingSketch.load(path).alpha
        assert loaded.tolist() in (old.alpha.tolist(), new.alpha.tolist())
    assert loaded.tolist() == new.alpha.tolist()
