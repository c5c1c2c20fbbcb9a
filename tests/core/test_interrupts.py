"""Ctrl-C and SIGTERM inside a block: they end it in order, or interrupt it as one."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from ocboost._core.interrupts import Ended, Signals, Terminated
from ocboost._ctrl_c import uninterrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def handlers():
    """As in a program that nobody has started in the background, and put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
class TestInOrder:
    def test_noted(self, number):
        with Signals(in_order=True) as signals:
            assert not signals.asked
            signal.raise_signal(number)
            assert signals.asked
            with pytest.raises(Ended), signals.interruptible():
                pytest.fail("it must not wait any more")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def test_while_it_waits(self, number):
        with Signals(in_order=True) as signals:
            with pytest.raises(Ended), signals.interruptible():
                signal.raise_signal(number)
            signal.raise_signal(number)  # noted only
            with uninterrupted():
                signal.raise_signal(number)


class TestInterrupted:
    def test_sigterm_is_told_from_ctrl_c(self):
        with pytest.raises(Terminated), Signals(in_order=False):
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt) as caught, Signals(in_order=False):
            signal.raise_signal(signal.SIGINT)
        assert caught.type is KeyboardInterrupt

    @pytest.mark.parametrize("ctrl_c", [signal.default_int_handler, signal.SIG_IGN])
    def test_sigterm_is_delayed_where_ctrl_c_is(self, ctrl_c):
        signal.signal(signal.SIGINT, ctrl_c)
        reached = []

        def work():
            with Signals(in_order=False):
                with uninterrupted():
                    signal.raise_signal(signal.SIGTERM)
                    reached.append("the end of what must not be interrupted")
                reached.append("what comes after it")

        with pytest.raises(Terminated):
            work()
        assert reached == ["the end of what must not be interrupted"]
        assert signal.getsignal(signal.SIGINT) is ctrl_c


@pytest.mark.parametrize("in_order", [False, True])
def test_ctrl_c_stays_ignored(in_order):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Signals(in_order=in_order) as signals:
        signal.raise_signal(signal.SIGINT)
        assert not signals.asked


def test_another_thread():
    found = []

    def run():
        with Signals(in_order=True) as signals, signals.interruptible():
            found.append(signals.asked)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
