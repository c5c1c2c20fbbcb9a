"""Helpers of the tests that could quietly make tests say less than they seem to."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys

import pytest

from tests.support.covering import covering
from tests.support.processes import CAN_FORK, Ocboost, ran

LISTS = [["a", "b"], [1, 2, 3, 4], [True, False], [None, "x", "y"], [0]]


@pytest.mark.parametrize("together", [1, 2, 3, 5])
def test_any_few_settings_meet_with_all_their_values(together):
    chosen = covering(LISTS, together)
    every = list(itertools.product(*LISTS))
    assert set(chosen) <= set(every)
    assert len(chosen) == len(set(chosen))
    for places in itertools.combinations(range(len(LISTS)), together):
        met = {tuple(row[place] for place in places) for row in chosen}
        assert met == set(itertools.product(*(LISTS[place] for place in places)))
    assert len(chosen) <= {1: 4, 2: 14, 3: 28, 5: 48}[together]  # of 48
    assert covering(LISTS, together) == chosen


@pytest.mark.skipif(not CAN_FORK, reason="this system does not fork")
class TestForked:
    """A forked run is told from one in an interpreter of its own by nothing but its speed."""

    @pytest.mark.parametrize(
        "words", [["--version"], ["nonsense"], ["info", "nowhere.ocb"], ["fit", "--help"]]
    )
    def test_what_it_says_and_its_exit_code(self, words, tmp_path):
        forked, fresh = (ran(*words, cwd=tmp_path, fresh=each) for each in (False, True))
        assert "-m" in fresh.args
        assert "-m" not in forked.args
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            fresh.returncode,
            fresh.stdout,
            fresh.stderr,
        )

    def test_its_own_environment_and_standard_input(self, tmp_path):
        words = ["predict", "nowhere.ocb", "-"]
        shown = ran(*words, cwd=tmp_path, input="", env={**os.environ, "OCBOOST_TRACEBACK": "1"})
        assert "Traceback" in shown.stderr
        assert "Traceback" not in ran(*words, cwd=tmp_path, input="").stderr

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_a_signal_ends_it(self, number, tmp_path):
        words = ["fit", "-", "--label", "y", "--out", tmp_path / "model.ocb"]
        with Ocboost(words, stdin=-1, stderr=-1) as running:
            assert running.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(timeout=0.1)
            running.send_signal(number)
            assert running.wait(timeout=60) in (-number, 128 + number)

    def test_what_is_read_at_imports_needs_a_new_interpreter(self):
        running = Ocboost(["--version"], stdout=-3, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert running.wait(timeout=60) == 0
        assert not running._forked
        with Ocboost(["--version"], stdout=-3) as running:
            assert running._forked
            assert running.pid != os.getpid()


def test_every_run_is_a_process_of_this_python():
    assert ran("--version").args[0] == sys.executable
