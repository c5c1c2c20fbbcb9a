"""The guard of an object: writers take turns, and readers see whole states."""

from __future__ import annotations

import threading
import time

import pytest

from ocboost._core.locks import Guard, locks_of, reads, writes, written


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
