"""Any number of threads read while one learns; `thread_stress` says what they may see."""

from __future__ import annotations

import copy
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import ocboost
from ocboost.boosters.sketch import fold as folding
from tests.support import thread_stress
from tests.support.makers import random_margins

SUBJECTS = [*thread_stress.subjects(), thread_stress.freshly_loaded()]


@pytest.fixture
def threads():
    before = ocboost.get_num_threads()
    yield ocboost.set_num_threads
    ocboost.set_num_threads(before)


@pytest.mark.parametrize(("long", "n_threads"), [(False, 1), (True, 2)], ids=["", "long folds"])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_readers_see_whole_states_and_disturb_nobody(subject, long, n_threads, threads):
    threads(n_threads)
    with thread_stress.short_folds_are_long() if long else nullcontext():
        alone = thread_stress.expected(subject)
        faults = []
        for seed in (2, 3) if long else (0, 1):
            with thread_stress.switching(1e-6 if seed % 2 else None):
                faults += thread_stress.trial(subject, alone, seed=seed)
    assert not faults


def test_folds_publish_the_alpha_of_the_whole_head(monkeypatch):
    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    rows = random_margins(np.random.default_rng(1), 60, 12)
    sketch = ocboost.BoostingSketch(12, head=40, keep="newest")
    views = []
    with thread_stress.published(views):
        sketch.update_many(rows[:40])
        assert sketch.n_head == 35
        sketch.update_many(rows[40:45])
    roomy = ocboost.BoostingSketch(12, head=100, keep="newest")
    roomy.update_many(rows[:40])
    before = ocboost.BoostingSketch(12, head=40, keep="newest")
    before.update_many(rows[:40])
    later = before.remade(head=100)
    later.update_many(rows[40:45])
    assert len(views) == 2
    np.testing.assert_allclose(views[0][0], roomy.alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(views[1][0], later.alpha, rtol=0, atol=1e-12)


@pytest.fixture
def fold_in_two(monkeypatch):
    """Every fold is long, and stops once it has solved: it says so by one event, and goes on by another."""
    solved, go_on = threading.Event(), threading.Event()
    original = folding.fold_pairs

    def slow(*args):
        solved.set()
        assert go_on.wait(60)
        original(*args)

    monkeypatch.setattr(folding, "WORTH_SHARING", 0)
    monkeypatch.setattr(folding, "fold_pairs", slow)
    return solved, go_on


def test_readers_of_alpha_do_not_wait_for_a_long_fold(fold_in_two):
    """While a fold goes on α is there, and a copy is not."""
    solved, go_on = fold_in_two
    rows = random_margins(np.random.default_rng(2), 40, 10)
    sketch = ocboost.BoostingSketch(10, head=40, keep="newest")
    sketch.update_many(rows[:39])  # and nobody has read it
    writer = threading.Thread(target=sketch.update, args=(rows[39],))
    writer.start()
    assert solved.wait(60)
    copies = []
    copier = threading.Thread(target=lambda: copies.append(sketch.copy()))
    copier.start()
    np.testing.assert_allclose(sketch.alpha, ocboost.adaboost_weights(rows), rtol=0, atol=1e-12)
    assert writer.is_alive()
    assert sketch.n_seen == 39
    assert copier.is_alive()
    assert not copies
    go_on.set()
    writer.join()
    copier.join()
    assert sketch.n_seen == copies[0].n_seen == 40


@pytest.mark.parametrize("K", [2, 3])
def test_predictions_do_not_wait_for_a_long_fold(K, fold_in_two):
    """Two classes: the fold's own α is voted with. More: what was there before, where it is kept."""
    solved, go_on = fold_in_two
    X, y = thread_stress.rows(180, K)
    go_on.set()
    clf = ocboost.OCBClassifier(n_hypotheses=8, head=40, keep="newest").fit(X[:60], y[:60])
    clf.committee_._guard.contended = K > 2  # as if a reader had had to wait before
    solved.clear()
    go_on.clear()
    twin = copy.copy(clf)
    before = twin.decision_function(X)
    n = 40 - twin.boosters_[0].n_head
    writer = threading.Thread(target=clf.partial_fit, args=(X[60:120], y[60:120]))
    writer.start()
    assert solved.wait(60)
    meanwhile = clf.decision_function(X)
    if K > 2:
        np.testing.assert_array_equal(meanwhile, before)
    else:
        roomy = twin.set_params(head=100).partial_fit(X[60 : 60 + n], y[60 : 60 + n])
        np.testing.assert_allclose(meanwhile, roomy.decision_function(X), rtol=0, atol=1e-12)
    assert writer.is_alive()
    go_on.set()
    writer.join()
    assert (clf.decision_function(X) != before).any()


def test_a_reader_gets_in_where_a_writer_never_stops(monkeypatch):
    sketch = ocboost.BoostingSketch(10)
    row = random_margins(np.random.default_rng(3), 1, 10)[0]
    stop = threading.Event()

    def learn():
        while not stop.is_set():
            sketch.update(row)

    writer = threading.Thread(target=learn)
    writer.start()
    try:
        for _ in range(50):
            assert np.isfinite(sketch.alpha).all()
            assert sketch.copy().n_seen >= 0
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("interval", [None, 1e-6])
def test_writers_take_turns(interval):
    row = random_margins(np.random.default_rng(4), 1, 16)[0]
    shared, alone = (ocboost.BoostingSketch(16, head=10) for _ in range(2))
    with thread_stress.switching(interval):
        writers = [
            threading.Thread(target=lambda: [shared.update(row) for _ in range(100)]) for _ in range(4)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    alone.update_many(np.tile(row, (400, 1)))
    assert thread_stress.saved(shared) == thread_stress.saved(alone)


def test_merging_both_ways_at_once_does_not_deadlock():
    rows = random_margins(np.random.default_rng(5), 200, 8)
    a, b = (ocboost.BoostingSketch.from_margins(half, head=30) for half in (rows[:100], rows[100:]))
    results = []
    mergers = [
        threading.Thread(
            target=lambda x=x, y=y: results.extend(x.merge(y).alpha.tobytes() for _ in range(50))
        )
        for x, y in ((a, b), (b, a))
    ]
    for merger in mergers:
        merger.start()
    for merger in mergers:
        merger.join(60)
    assert len(results) == 100
    assert len(set(results)) == 1


def test_settings_that_others_set_while_it_is_fitted_stay():
    X, y = thread_stress.rows(180, 2)
    fitting, go_on = threading.Event(), threading.Event()

    class Slow(ocboost.OCBClassifier):
        def _fit(self, *args):
            fitting.set()
            assert go_on.wait(60)
            super()._fit(*args)

    clf = Slow(n_hypotheses=5)
    writer = threading.Thread(target=clf.fit, args=(X, y))
    writer.start()
    assert fitting.wait(60)
    clf.set_params(forgetting=0.5)
    go_on.set()
    writer.join()
    assert clf.forgetting == 0.5
    assert len(clf.predict(X)) == len(X)


def test_settings_take_effect_together_with_the_rows_that_come_with_them(monkeypatch):
    """Nobody sees the new settings without the new rows."""
    X, y = thread_stress.rows(180, 3)
    clf = ocboost.OCBClassifier(n_hypotheses=6, head=60).fit(X[:60], y[:60])
    before, seen = clf.decision_function(X), []
    original = type(clf.committee_).learn

    def asked(*args, **kwargs):
        reader = threading.Thread(target=lambda: seen.append(clf.decision_function(X)))
        reader.start()
        reader.join(60)
        return original(*args, **kwargs)

    monkeypatch.setattr(type(clf.committee_), "learn", asked)
    clf.set_params(head=5).partial_fit(X[60:120], y[60:120])
    np.testing.assert_array_equal(seen[0], before)


def test_an_example_on_the_way_is_published_between_pieces(monkeypatch):
    """A reader that waits for a long call gets the state between two of its pieces."""
    monkeypatch.setattr(ocboost.boosters.base, "WORK_PER_CALL", 1)
    rows = random_margins(np.random.default_rng(6), 50, 6)
    sketch, views = ocboost.BoostingSketch(6, head=4, keep="newest"), []
    sketch._guard._wanted = True  # as if somebody waited
    with thread_stress.published(views):
        sketch.update_many(rows)
    part = ocboost.BoostingSketch(6, head=4, keep="newest")
    part.update(rows[0])
    np.testing.assert_array_equal(views[0][0], part.alpha)
    assert len(views) == 1
