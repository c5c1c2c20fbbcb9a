"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import signal

import hypothesis
import pytest

from ocboost import get_num_threads, set_num_threads

# A shell that runs the tests in the background has Ctrl-C ignored, and many tests are about Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two workers with two threads of OpenMP each spend most of their time waiting for each other in a loop.
# Nothing above has loaded it yet, and the threads of ocboost are not of it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on every run: a red test must be red again when it is looked into.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=40
)
hypothesis.settings.load_profile("repeatable")


def pytest_collection_finish():
    """Keep the garbage collector off what was collected: it took a sixth of the time of all tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


@pytest.fixture(autouse=True)
def same_number_of_threads():
    """What a test does to the number of threads is undone: some wait for two tasks at a time."""
    before = get_num_threads()
    yield
    if get_num_threads() != before:
        set_num_threads(before)


@pytest.fixture
def saved_bytes(tmp_path):
    """A function that returns a booster's whole state as the bytes of its file."""

    def read(booster):
        path = tmp_path / "state"
        booster.save(path)
        return path.read_bytes()

    return read
