"""Settings that every test shares."""

from __future__ import annotations

import signal
from pathlib import Path

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


# Tracing doubles the time of a test, so coverage is not measured in the suites that repeat the same calls
# many times. What only they reach counts as not covered.
NOT_TRACED = (
    "across",
    "boosters",
    "cascade",
    "cli/test_resume.py",
    "contracts",
    "estimators/adaptive/test_deployed_files.py",
    "estimators/adaptive/test_file.py",
    "estimators/test_check_estimator.py",
    "estimators/test_growth.py",
    "estimators/test_growth_file.py",
    "hypotheses",
    "kernels",
    "learners",
    "naive",
    "offsets",
    "paper",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave whole folders, and some files, out of what is traced."""
    here = Path(__file__).parent
    left_out = [here / place for place in NOT_TRACED]
    for item in items:
        if any(item.path.is_relative_to(place) for place in left_out):
            item.add_marker("no_cover")


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
