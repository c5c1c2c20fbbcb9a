"""Settings that every test shares."""

from __future__ import annotations

import signal

import hypothesis
import pytest

from ocboost import get_num_threads, set_num_threads

# A shell that runs the tests in the background has Ctrl-C ignored, and many tests are about Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a red test must be red again when it is looked into.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=40
)
hypothesis.settings.load_profile("repeatable")


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
