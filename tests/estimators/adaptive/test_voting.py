"""Boosters as experts: their weights, and how they follow the pool."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost.boosters.registry import BOOSTERS
from ocboost.estimators.adaptive.settings import USUAL
from ocboost.estimators.adaptive.voting import FIXED, Voting
from ocboost.estimators.committee import signs
from ocboost.streams.rows import join_rows
from tests.naive.voting import twice_the_votes
from tests.support.adaptive_members import (
    ChangingPool,
    columns_of,
    from_file,
    learn_all,
    one_row,
    resumed,
    scores_of,
    some_rows,
    state_of,
)
from tests.support.saved_trees import changed

NAMES = [each.name for each in USUAL]
WINDOW = NAMES.index("ocb-window-20")
EG, *STEADY = (len(FIXED) + NAMES.index(name) for name in ("eg", "logistic", "pa"))
STEADY += [0, 1]


def begun(K, n=200, seed=0, boosters=USUAL):
    rng = np.random.default_rng(seed)
    pool, rows = ChangingPool(rng, K), some_rows(rng, n, K)
    member = Voting(list(boosters), pool.columns)
    member.begin(rows, pool.answers(rows.X))
    return member, pool, rows


def weights_of(member, pool):
    """The weights of each class, (experts, hypotheses of it)."""
    sizes = [c.stop - c.start for c in pool.columns]
    return np.split(member.tree()["weights"], np.cumsum(sizes)[:-1], axis=1)


@pytest.mark.parametrize("K", [2, 3])
def test_scores_are_twice_the_votes_of_each_booster(K):
    member, pool, rows = begun(K)
    rng = np.random.default_rng(1)
    for place in (0, 1):
        member.set_fixed(place, [rng.normal(size=c.stop - c.start) for c in pool.columns])
    weights, answers = weights_of(member, pool), pool.answers(rows.X)
    for m, boosters in enumerate(member.boosters, len(FIXED)):
        for k, booster in enumerate(boosters):
            np.testing.assert_array_equal(weights[k][m], booster.alpha)
    for i in range(5):
        expected = twice_the_votes(weights, answers[i], pool.columns)
        np.testing.assert_allclose(
            scores_of(member, one_row(rows, i, answers, 0), K), expected, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("K", [2, 3])
def test_boosters_learn_as_they_do_alone(K):
    member, pool, rows = begun(K)
    more = some_rows(np.random.default_rng(3), 50, K)
    learn_all(member, more, pool.answers(more.X))
    both = join_rows([rows, more])
    answers = pool.answers(both.X)
    for registered, boosters in zip(USUAL, member.boosters, strict=True):
        for k, c in enumerate(pool.columns):
            y = signs(both.codes, k, len(pool.columns))
            alone = registered.load()(c.stop - c.start, **registered.settings)
            alone.update_many(answers[:, c] * y[:, None], sample_weight=both.weights, labels=y)
            np.testing.assert_allclose(boosters[k].alpha, alone.alpha, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [7, 200])
def test_weights_follow_the_pool(K, n):
    for seed in range(4):
        member, pool, rows = begun(K, n, seed)
        rng = np.random.default_rng(seed)
        for place in (0, 1):
            member.set_fixed(place, [rng.normal(size=c.stop - c.start) for c in pool.columns])
        for i in range(6):
            before = weights_of(member, pool)
            change = pool.change(rows)
            member.follow(change)
            after = weights_of(member, pool)
            k, keep = change.booster, change.keep
            kept, new = after[k][:, : len(keep)], after[k][:, len(keep) :]
            for c in range(len(pool.columns)):
                if c != k:
                    np.testing.assert_array_equal(after[c], before[c])
            np.testing.assert_allclose(kept[STEADY], before[k][STEADY][:, keep], rtol=1e-12)
            ratio = kept[EG] / before[k][EG, keep]  # EG± has a sum to keep
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
            np.testing.assert_allclose(new[[EG, *STEADY]], 0.0, atol=1e-15)
            assert_window_knows_its_rows(member, pool, rows)
            more = some_rows(np.random.default_rng([seed, i]), 3, K)
            learn_all(member, more, pool.answers(more.X))
            rows = join_rows([rows, more])
            assert_window_knows_its_rows(member, pool, rows)


def assert_window_knows_its_rows(member, pool, rows):
    held = rows[max(0, len(rows) - 20) :]
    for k, (booster, c) in enumerate(zip(member.boosters[WINDOW], pool.columns, strict=True)):
        y = signs(held.codes, k, len(pool.columns))
        expected = pool.answers(held.X)[:, c] * y[:, None]
        np.testing.assert_array_equal(booster.head_margins, expected)
        at = int(sum(d.stop - d.start for d in pool.columns[:k]))
        weights = member.tree()["weights"][len(FIXED) + WINDOW, at : at + c.stop - c.start]
        np.testing.assert_allclose(weights, booster.alpha, rtol=1e-11, atol=1e-13)


def test_every_booster_that_can_be_added_follows():
    names = [name for name, each in BOOSTERS.items() if each.load().can_grow and name != "ocb-forgetting"]
    member, pool, rows = begun(3, 60, boosters=[BOOSTERS[name] for name in names])
    for _ in range(4):
        member.follow(pool.change(rows))
        learn_all(member, rows[:5], pool.answers(rows.X[:5]))
        rows = join_rows([rows, rows[:5]])
    out = scores_of(member, one_row(rows, 0, pool.answers(rows.X), 0), 3)
    assert np.isfinite(out).all()
    assert member.experts == (*FIXED, *names)


def test_a_copy_follows_alone():
    member, pool, rows = begun(2)
    copied, before = member.copy(), state_of(member)
    copied.follow(pool.change(rows))
    assert state_of(member) == before


def test_bytes_are_those_of_the_weights_and_boosters():
    member, _, _ = begun(3)
    boosters = sum(b.nbytes for each in member.boosters for b in each)
    assert member.nbytes == member.tree()["weights"].nbytes + boosters


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("weights", lambda w: w[:, :-1], "weights has the wrong shape"),
        ("boosters.0.name", "eg", "its boosters are others than it says"),
        ("boosters", lambda each: each[:-1], "boosters must be a list of 4"),
        ("boosters", lambda each: each[::-1], "its boosters are others than it says"),
        ("boosters.1.of", lambda of: of[:-1], "must be a list of 3"),
        ("boosters.1.of", lambda of: [of[2], *of[1:]], "a booster does not fit"),
        ("boosters.2.of.0.rate", 0.5, "a booster does not fit"),
    ],
)
def test_a_file_that_it_never_wrote_is_refused(path, value, message):
    tree = from_file(begun(3)[0])
    resumed("voting", 3, tree)
    with pytest.raises(ModelFileError, match=message):
        resumed("voting", 3, changed(tree, path, value))


def test_classes_without_an_example_share_hypotheses():
    columns = columns_of(3)
    assert columns[2].start < columns[0].stop
    member, pool, _ = begun(3)
    weights = weights_of(member, pool)
    assert [w.shape[1] for w in weights] == [12, 12, 15]
    assert not np.array_equal(weights[2][:, :12], weights[0])
