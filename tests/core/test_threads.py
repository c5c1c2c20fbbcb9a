"""Warning filters that several threads share."""

from __future__ import annotations

import threading
import warnings

import pytest

from ocboost._core.threads import without_warning


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
