"""Frames are kept in bounded memory, and what was clicked on is kept for good."""

import numpy as np
import pytest

from ocboost._teaching import frames
from ocboost._teaching.frames import Frame, FrameStore
from ocboost.errors import InputError


def added(store, n, *, same=False, size=(40, 60)):
    for k in range(n):
        number = store.next_id()
        grey = np.random.default_rng(0 if same else k).integers(0, 255, size).astype(np.uint8)
        store.add(Frame(number, grey))
    return store


def test_memory_is_bounded_and_clicked_frames_stay(monkeypatch):
    monkeypatch.setattr(frames, "NEWEST_BYTES", 20 * 2400)
    monkeypatch.setattr(frames, "VARIED", 30)
    store = added(FrameStore(), 5)
    store.label(2)
    added(store, 400)
    assert len(store.all()) <= 20 + 31 + 1
    assert store.get(2).id == 2
    assert store.get(405).id == 405
    with pytest.raises(InputError, match="no longer kept"):
        store.get(4)
    assert [frame.id for frame in store.varied()] == sorted(frame.id for frame in store.varied())


def test_of_frames_that_look_alike_one_is_enough_beyond_the_newest():
    store = added(FrameStore(), 50, same=True)
    assert len(store.varied()) == 1
    assert len(store.all()) == 50


def test_large_frames_are_few(monkeypatch):
    monkeypatch.setattr(frames, "NEWEST_BYTES", 1000)
    store = added(FrameStore(), 30, same=True)
    assert len(store.all()) == frames.FEWEST_NEWEST + 1


def test_what_was_clicked_on_may_go_again_once_it_is_taken_back(monkeypatch):
    monkeypatch.setattr(frames, "LABELLED_BYTES", 5000)
    store = added(FrameStore(), 3)
    store.label(1)
    store.label(1)
    store.label(2)
    with pytest.raises(InputError, match="clicked on must be at most"):
        store.label(3)
    store.unlabel(1)
    store.label(3)


def test_no_id_is_given_twice():
    store = FrameStore()
    store.reserve(7)
    assert [store.next_id(), store.next_id()] == [7, 8]
    assert store.next_number == 9


def test_a_name_that_is_not_utf_8_is_spelled_out():
    assert Frame(1, np.zeros((9, 9), np.uint8), "b\udce9\x1b.png").name == "b\\udce9\\x1b.png"
