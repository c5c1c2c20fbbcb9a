"""Threads, forks and Ctrl-C: readers see whole states, calls take turns, and rows are learnt whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from ocboost import AdaptiveClassifier
from ocboost.estimators.adaptive import bank_classifier as module
from ocboost.estimators.adaptive.bank import Bank
from tests.support.adaptive import classifier, fitted, same, state, stream
from tests.support.thread_stress import switching

X, Y = stream()


def run(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    return threads


# Calls take turns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [None, 1e-6])
def test_writers_take_turns_call_by_call(interval):
    """Two calls of 90 rows: the one first and then the other, not a mix of them."""
    first, second = slice(100, 190), slice(190, 280)
    ab = fitted().partial_fit(X[first], Y[first]).partial_fit(X[second], Y[second])
    ba = fitted().partial_fit(X[second], Y[second]).partial_fit(X[first], Y[first])
    with switching(interval):
        clf = fitted()
        for thread in run(*(lambda s=s: clf.partial_fit(X[s], Y[s]) for s in (first, second))):
            thread.join()
    assert state(clf) in (state(ab), state(ba))


@pytest.mark.parametrize("interval", [None, 1e-6])
def test_a_first_call_in_two_threads(interval):
    """One begins, the other goes on; neither is lost."""
    with switching(interval):
        clf = classifier()
        parts = (slice(0, 30), slice(30, 60))
        for thread in run(*(lambda s=s: clf.partial_fit(X[s], Y[s], classes=[0, 1]) for s in parts)):
            thread.join()
    assert clf.n_learnt_ == 60


def test_a_fit_waits_for_the_rows_being_learnt(monkeypatch):
    """It does not replace what a call in another thread is in the middle of."""
    inside, go_on, done = threading.Event(), threading.Event(), []
    original = Bank.label

    def label(self, *args):
        if not inside.is_set():
            inside.set()
            assert go_on.wait(60)
        original(self, *args)

    clf = fitted()
    monkeypatch.setattr(Bank, "label", label)
    texts = np.array(["a", "b", "c"])[stream(K=3)[1]]
    learner = run(lambda: (clf.partial_fit(X[100:200], Y[100:200]), done.append("learnt")))[0]
    assert inside.wait(60)
    fitter = run(lambda: (clf.fit(X[:60], texts[:60]), done.append("fitted")))[0]
    fitter.join(0.2)
    assert fitter.is_alive()
    go_on.set()
    learner.join()
    fitter.join()
    assert done == ["learnt", "fitted"]
    assert same(clf, classifier().fit(X[:60], texts[:60]))


def test_readers_do_not_wait_for_a_fit(monkeypatch):
    """Until the end they see it as it was."""
    inside, go_on = threading.Event(), threading.Event()
    original = Bank.begin

    def begin(self, rows):
        inside.set()
        assert go_on.wait(60)
        original(self, rows)

    clf = fitted()
    before = clf.predict_proba(X, issue=False)
    monkeypatch.setattr(Bank, "begin", begin)
    fitter = run(lambda: clf.fit(X[200:300], Y[200:300]))[0]
    assert inside.wait(60)
    np.testing.assert_array_equal(clf.predict_proba(X, issue=False), before)
    assert clf.n_learnt_ == 100
    assert len(clf.members_) > 5
    go_on.set()
    fitter.join()
    assert (clf.predict_proba(X, issue=False) != before).any()


def test_predictions_while_it_is_fitted_again_with_other_classes():
    """Classes and probabilities are of the same fit, whichever it is."""
    names = {K: np.array([f"{K}-{k}" for k in range(K)]) for K in (2, 3)}
    data = {K: (stream(K=K)[0][:50], names[K][stream(K=K)[1][:50]]) for K in (2, 3)}
    clf, stop, faults = classifier().fit(*data[2]), threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                found = set(clf.predict(X[:8], issue=False)) | {clf.predict_one(X[9], issue=False)}
                found = set(clf.predict(X[:8]))
                if len({name[0] for name in found}) > 1:
                    faults.append(found)
            except Exception as error:
                faults.append(error)

    with switching(1e-5):
        readers = run(read, read)
        for K in (3, 2, 3, 2, 3):
            clf.fit(*data[K])
        stop.set()
        for reader in readers:
            reader.join()
    assert not faults


def test_readers_get_in_between_the_rows_of_a_long_call(monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_WRITE", 4)
    clf, seen = fitted(), []
    rows, labels = np.tile(X, (8, 1)), np.tile(Y, 8)
    learner = run(lambda: clf.partial_fit(rows, labels))[0]
    while learner.is_alive():
        seen.append(clf.members_ and clf.n_learnt_)
        clf.predict_proba(X[:2], issue=False)
    learner.join()
    assert len(set(seen)) > 3
    assert clf.n_learnt_ == 100 + len(rows)


def test_issuing_and_learning_in_two_threads():
    """In any order: nothing is lost, and all that was said finds its label."""
    clf, asked = fitted(), threading.Semaphore(0)

    def predict():
        for i in range(100, 300):
            clf.predict(X[i : i + 1], ids=[i])
            asked.release()

    def learn():
        for i in range(100, 300):
            asked.acquire()
            clf.partial_fit(X[i : i + 1], Y[i : i + 1], ids=[i])

    with switching(1e-5):
        for thread in run(predict, learn):
            thread.join()
    assert (clf.n_waiting_, clf.n_learnt_) == (0, 300)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_a_loaded_one_is_guarded_too(tmp_path):
    fitted().save(tmp_path / "model")
    clf = AdaptiveClassifier.load(tmp_path / "model")
    alone = fitted().partial_fit(X[100:300], Y[100:300])
    readers = run(*(lambda: [clf.predict_proba(X[:3], issue=False) for _ in range(30)] for _ in range(2)))
    clf.partial_fit(X[100:300], Y[100:300])
    for reader in readers:
        reader.join()
    assert same(clf, alone)


# Ctrl-C ----------------------------------------------------------------------------------------------------


def pressing(monkeypatch, owner, name, number):
    """Press Ctrl-C when a method is called for the number-th time."""
    original, calls = getattr(owner, name), []

    def method(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, method)


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize("name", ["label", "learn", "record", "_teach"])
def test_ctrl_c_while_learning(monkeypatch, name, predicted):
    clf, twin = fitted(), fitted()
    if predicted:
        for each in (clf, twin):
            each.predict(X[100:200])
    with monkeypatch.context() as patch:
        pressing(patch, Bank, name, 40)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X[100:200], Y[100:200])
    done = clf.n_learnt_ - 100
    assert done in (39, 40, 41)
    twin.partial_fit(X[100 : 100 + done], Y[100 : 100 + done])
    assert same(clf, twin)
    for each in (clf, twin):
        each.partial_fit(X[100 + done : 200], Y[100 + done : 200])
    assert same(clf, twin)


@pytest.mark.parametrize("place", [(Bank, "learn"), (Bank, "_make_pool"), (Bank, "_rehearse")])
def test_ctrl_c_in_fit_leaves_what_was_there(monkeypatch, place):
    clf, unfitted = fitted(), classifier()
    before = state(clf)
    for each in (clf, unfitted):
        with monkeypatch.context() as patch:
            pressing(patch, *place, 1)
            with pytest.raises(KeyboardInterrupt):
                each.fit(X[200:300], Y[200:300])
    assert state(clf) == before
    assert not hasattr(unfitted, "classes_")
    assert same(unfitted.fit(X[:100], Y[:100]), fitted())


def test_ctrl_c_in_a_first_partial_fit(monkeypatch):
    clf = classifier()
    with monkeypatch.context() as patch:
        pressing(patch, Bank, "label", 30)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X[:60], Y[:60], classes=[0, 1])
    assert not hasattr(clf, "classes_")


def test_ctrl_c_while_predicting_remembers_nothing(monkeypatch):
    clf = fitted()
    before = state(clf)
    with monkeypatch.context() as patch:
        pressing(patch, Bank, "record", 20)
        with pytest.raises(KeyboardInterrupt):
            clf.predict(X[100:150])
    assert state(clf) == before


# Forks -----------------------------------------------------------------------------------------------------

FORKING = """
import os, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from ocboost.errors import OcboostError
from tests.support.adaptive import fitted, stream

X, y = stream()
clf = fitted()
stop = threading.Event()
def learn():
    while not stop.is_set():
        clf.partial_fit(X[:40], y[:40])
def read():
    while not stop.is_set():
        clf.predict_proba(X[:2], issue=False)
threads = [threading.Thread(target=target) for target in (learn, read)]
for thread in threads:
    thread.start()
codes = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        try:
            n = clf.n_learnt_
            assert n % 20 == 0, n
            assert clf.partial_fit(X[:7], y[:7]).n_learnt_ == n + 7
            assert np.isfinite(clf.predict_proba(X[:9])).all()
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(sorted(set(codes)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_threads_learn_and_read():
    environment = {
        **os.environ,
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    found = subprocess.run(
        [sys.executable, "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[0]"
