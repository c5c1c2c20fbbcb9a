"""Label patterns: the context in which a label counts, late labels, and files."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost.estimators.adaptive.bank import Bank
from ocboost.estimators.adaptive.issued import key_of_id
from ocboost.estimators.adaptive.members import OneRow
from ocboost.estimators.adaptive.patterns import FADING, MAX_DISTANCE, MEMORIES, LabelPatterns
from ocboost.streams.rows import Rows
from tests.naive.label_patterns import NaivePatterns
from tests.support.adaptive_members import from_file, resumed, scores_of

ROW = np.zeros((1, 2))


def test_begin_counts_each_label_after_the_one_before():
    codes = np.random.default_rng(0).integers(0, 3, 60)
    member, twin = LabelPatterns(3), NaivePatterns(3, MEMORIES, FADING, MAX_DISTANCE)
    member.begin(Rows(np.zeros((60, 2)), codes=codes, weights=np.ones(60)), None)
    for last, code in zip([3, *codes.tolist()[:-1]], codes.tolist(), strict=True):
        twin.learn(last, code, 1.0)
    for last in range(4):
        row = OneRow(ROW, None, last)
        np.testing.assert_allclose(scores_of(member, row, 3), twin.scores(last), rtol=1e-9)
    assert member.tree()["follows"][3].sum() == 1.0  # the first label followed none


def assert_counted(bank, twin):
    tree = labels_member(bank).tree()
    expected = [[twin.followed(last, k) for k in range(3)] for last in range(4)]
    np.testing.assert_allclose(tree["follows"], expected, rtol=1e-9)
    for since in range(MAX_DISTANCE):
        expected = [[twin.followed(last, k, since) for k in range(3)] for last in range(4)]
        np.testing.assert_allclose(tree["by_distance"][since], expected, rtol=1e-9)


@pytest.mark.parametrize("step", [5, 40])
def test_rows_predicted_together_count_by_their_distance_from_the_last_label(step):
    bank = Bank(2, 3, sparse=False, n_hypotheses=5, seed=0)
    codes = np.random.default_rng(0).integers(0, 3, 4 * step).tolist()
    twin = NaivePatterns(3, MEMORIES, FADING, MAX_DISTANCE)
    for start in range(0, 4 * step, step):
        numbers = range(start, start + step)
        X = np.array([[i, 1.0] for i in numbers])
        bank.predict(X, [key_of_id(i) for i in numbers])
        last = codes[start - 1] if start else 3
        for i in numbers:
            bank.label(X[i - start : i - start + 1], codes[i], 1.0, key_of_id(i))
            twin.learn(last, codes[i], 1.0, i - start)
    assert_counted(bank, twin)
    row = OneRow(ROW, None, codes[-1], 3)
    expected = twin.scores(codes[-1], 3, has_distances=True)
    np.testing.assert_allclose(scores_of(labels_member(bank), row, 3), expected, rtol=1e-9)


def labels_member(bank):
    return next(member for member in bank.members if member.group == "labels")


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_a_late_label_counts_after_what_was_known_when_its_row_was_predicted(delay):
    bank = Bank(2, 3, sparse=False, n_hypotheses=5, seed=0)
    codes = np.random.default_rng(0).integers(0, 3, 60).tolist()
    twin, known = NaivePatterns(3, MEMORIES, FADING, MAX_DISTANCE), []
    for i in range(60 + delay):
        if i < 60:
            bank.predict(np.array([[i, 1.0]]), [key_of_id(i)], replace=True)
            known.append((codes[i - delay - 1], 0) if i > delay else (3, i))
        if i >= delay:
            at = i - delay
            bank.label(np.array([[at, 1.0]]), codes[at], 1.0, key_of_id(at))
            twin.learn(known[at][0], codes[at], 1.0, known[at][1])
    assert_counted(bank, twin)


def test_a_second_label_of_the_newest_row_counts_after_the_first():
    """The row is kept from its prediction; what was known then is not what is known now."""
    banks = [Bank(2, 3, sparse=False, n_hypotheses=5, seed=0) for _ in range(2)]
    for bank in banks:
        for i in range(30):
            bank.label(np.array([[i, 0.0]]), i % 3, 1.0, None)
    X = np.array([[5.0, 5.0]])
    for bank in banks:
        bank.predict(X, [key_of_id("a")])
        bank.predict(np.array([[9.0, 9.0]]), [key_of_id("waits")])
        bank.predict(X, [key_of_id("b")])
        bank.label(X, 1, 1.0, key_of_id("b"))
        if bank is banks[1]:
            bank._newest = None
        bank.label(X, 2, 1.0, key_of_id("b"))
    states = [labels_member(bank).tree() for bank in banks]
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name])
    for name, array in banks[0].mixing.tree().items():
        np.testing.assert_array_equal(array, banks[1].mixing.tree()[name], err_msg=name)


def test_the_second_track_learns_from_what_is_known_when_the_label_comes(monkeypatch):
    bank = Bank(2, 3, sparse=False, n_hypotheses=5, seed=0)
    for i in range(30):
        bank.label(np.array([[i, 0.0]]), i % 3, 1.0, None)
    rows = np.array([[5.0, 5.0], [6.0, 6.0]])
    bank.predict(rows, [key_of_id("a"), key_of_id("b")])
    bank.label(rows[1:], 0, 1.0, key_of_id("b"))
    expected, E = bank.record(bank.row(rows[:1])), len(bank.names)
    fresh = []
    monkeypatch.setattr(bank.mixing, "learn_fresh", lambda record, *more: fresh.append(record))
    bank.label(rows[:1], 1, 1.0, key_of_id("a"))
    np.testing.assert_array_equal(fresh[0][:E], expected[:E])


def test_a_label_that_comes_with_another_row_teaches_that_row():
    states = []
    for forget in (False, True):
        bank = Bank(2, 2, sparse=False, n_hypotheses=5, seed=0)
        bank.label(np.array([[0.5, 1.0]]), 0, 1.0, None)
        bank.predict(np.array([[1.0, 1.0]]), [key_of_id(7)])
        if forget:  # as after loading
            bank._newest = None
        bank.label(np.array([[3.0, 4.0]]), 1, 1.0, key_of_id(7))
        states.append({m.group: m.tree() for m in bank.members if m.group == "features"})
    means = [state["features"]["means"] for state in states]
    np.testing.assert_array_equal(means[0], [1.75, 2.5])
    np.testing.assert_array_equal(means[0], means[1])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rates", -0.1, "frequencies must not be negative"),
        ("rates", 1.5, "frequencies must be possible"),
        ("rates", np.nan, "rates must be finite"),
        ("follows", -1.0, "frequencies must not be negative"),
        ("follows", 1e9, "frequencies must be possible"),
        ("by_distance", -1.0, "frequencies must not be negative"),
        ("by_distance", 1e9, "frequencies must be possible"),
        ("stepped", 2, "frequencies must be possible"),
        ("stepped", -1, "frequencies must not be negative"),
    ],
)
def test_a_file_that_it_never_wrote_is_refused(name, value, message):
    member = LabelPatterns(3)
    for i in range(3000):
        member.learn(OneRow(ROW, None, 1), i % 2, 5.0)
    tree = from_file(member)
    resumed("labels", 3, tree)
    tree[name].flat[-1] = value
    with pytest.raises(ModelFileError, match=message):
        resumed("labels", 3, tree)
