"""A process that forks, or is interrupted, while its threads learn and read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKING = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np, ocboost
from ocboost._core import locks
from ocboost.boosters.sketch import fold as folding
from ocboost.errors import OcboostError

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
        except OcboostError as error:
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
        "locks.FORK_SECONDS = 0.05\n"
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
parent, child = os.getpid(), os.fork()
if child == 0:
    while os.getppid() == parent:  # or it would press on in somebody else's process
        time.sleep(random.random() * 0.002)
        os.kill(parent, signal.SIGINT)
    os._exit(0)
heard, armed = 0, False
def press(number, frame):
    global armed
    if armed:
        armed = False  # or the next one would come while this one is handled
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
for _ in range(100):
    if learnt == before:
        time.sleep(0.01)
print(heard, "heard;", "still learning" if learnt > before else "stuck", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("call", ["sketch.alpha", "sketch.merge(other)", "clf.predict(X[:2])"])
def test_ctrl_c_leaves_no_lock_behind(call):
    """Signals from outside, at any moment, to a thread that reads; another one learns, and must go on."""
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(call=call)], capture_output=True, text=True, timeout=120
    )
    assert found.stdout.strip().endswith("still learning"), found.stdout + found.stderr
