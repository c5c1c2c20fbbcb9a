"""Who answers: the limits, the count as a plain loop, held-out rows, versions, and files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.live.judge import (
    BOUND,
    HEAD_START,
    KEPT_VERSIONS,
    LABELS_BETWEEN,
    LOOKS_BETWEEN,
    MARGIN,
    RECENT,
    VERSION_BEHIND,
    Judge,
)
from tests.support.saved_trees import GONE, changed

FIRST_TAKEOVER = HEAD_START + MARGIN


def take(judge, n, adapted, deployed, **others):
    """The same result n times; the number of the version that answers after each."""
    answering = []
    for _ in range(n):
        judge.take(adapted, {judge.judged[0]: deployed, **{int(k[1:]): v for k, v in others.items()}})
        answering.append(judge.answering)
    return answering


def in_good_standing(deployed=0):
    """A judge whose adapted model answers, far ahead of the deployed one."""
    judge = Judge(deployed=deployed)
    take(judge, BOUND + HEAD_START, True, False)
    assert judge.answering is None
    return judge


def again(judge):
    """The judge after a file."""
    return read(from_bytes(to_bytes("Judge", judge.tree()), "Judge"), "x", Judge.from_tree)


def row(judge, name):
    return next(each for each in judge.table() if each["name"] == name)


# Limits -----------------------------------------------------------------------------------------------------


def test_the_deployed_one_answers_first_and_for_ever_if_the_adapted_one_is_the_same():
    judge = Judge(deployed=4)
    rng = np.random.default_rng(0)
    for right in (rng.random(3_000) < 0.8).tolist():
        assert judge.answering == 4
        judge.take(right, {4: right})
    assert not judge.wants_version()
    assert [each["behind"] for each in judge.table()] == [HEAD_START, 0]
    assert row(judge, "version 4")["z"] == 0.0


def test_the_adapted_one_answers_once_it_was_right_on_twelve_labels_more():
    judge = Judge()
    answering = take(judge, FIRST_TAKEOVER, True, False)
    assert answering == [0] * (FIRST_TAKEOVER - 1) + [None]
    assert FIRST_TAKEOVER == 12  # as the documentation has it


def test_labels_on_which_both_are_right_or_wrong_change_nothing():
    judge = Judge()
    take(judge, 500, True, True)
    take(judge, 500, False, False)
    assert [each["behind"] for each in judge.table()] == [HEAD_START, 0]


def test_a_collapse_is_noticed_within_the_bound_and_the_adapted_one_recovers():
    judge = in_good_standing()
    take(judge, 5_000, True, False)  # a lead counts no further than the bound
    answering = take(judge, BOUND + MARGIN, False, True)
    assert answering == [None] * (BOUND + MARGIN - 1) + [0]
    take(judge, 5_000, False, True)
    answering = take(judge, BOUND + MARGIN, True, False)
    assert answering == [0] * (BOUND + MARGIN - 1) + [None]


def test_a_version_notices_a_collapse_sooner_than_the_deployed_one():
    judge = in_good_standing()
    assert judge.saved(3) == [0, 3]
    answering = take(judge, VERSION_BEHIND + MARGIN, False, False, v3=True)
    assert answering == [None] * (VERSION_BEHIND + MARGIN - 1) + [3]


@pytest.mark.parametrize("worse", [0.05, 0.1, 0.3])
def test_with_three_tenths_of_the_labels_flipped_the_worse_one_seldom_answers(worse):
    rng = np.random.default_rng(1)
    truth = rng.random((20_000, 2)) < (0.85 - worse, 0.85)
    came = truth ^ (rng.random(20_000) < 0.3)[:, None]
    judge, lost = Judge(), 0
    for t, (adapted, deployed) in enumerate(came.tolist()):
        lost += int(truth[t, 1]) - int(truth[t, 0]) if judge.answering is None else 0
        judge.take(adapted, {0: deployed})
    assert lost / len(truth) < 0.01


def test_of_two_that_get_there_together_the_adapted_one_takes_over():
    judge = Judge()
    judge.saved(1)
    take(judge, VERSION_BEHIND, False, False, v1=True)  # as far as the adapted one
    assert take(judge, FIRST_TAKEOVER, True, False, v1=True) == [0] * (FIRST_TAKEOVER - 1) + [None]


def test_by_hand_the_adapted_one_answers_first():
    judge = in_good_standing()
    judge.saved(1)
    judge.restart(7, adapted_first=True)
    assert (judge.answering, judge.judged) == (None, [7])
    assert take(judge, FIRST_TAKEOVER, False, True) == [None] * (FIRST_TAKEOVER - 1) + [7]
    judge.restart(8)
    assert (judge.answering, judge.judged, row(judge, "adapted")["labels"]) == (8, [8], 0)


# A plain loop -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.95), st.floats(0.1, 0.95), st.floats(0.1, 0.95))
def test_scores_and_statistics_are_those_of_a_plain_loop(seed, a, d, v):
    rng = np.random.default_rng(seed)
    results = (rng.random((400, 3)) < (a, d, v)).tolist()
    seen = (rng.random(400) < 0.8).tolist()  # rows predicted before version 5 was saved do not count for it
    judge = Judge()
    judge.saved(5)
    scores, answering = [0, HEAD_START, -VERSION_BEHIND], 1
    names = ["adapted", "version 0", "version 5"]
    for results_now, counts in zip(results, seen, strict=True):
        judge.take(results_now[0], {0: results_now[1]} | ({5: results_now[2]} if counts else {}))
        for k in range(3):
            scores[k] += results_now[k] if counts or k < 2 else results_now[0]
        scores = [max(score, max(scores) - BOUND) for score in scores]
        ahead = [k for k in range(3) if scores[k] - scores[answering] >= MARGIN]
        if ahead:
            answering = max(ahead, key=lambda k: scores[k])
        assert judge.answering == (None, 0, 5)[answering]
    assert [each["behind"] for each in judge.table()] == [max(scores) - score for score in scores]
    fade = 1 - 1 / RECENT
    for k, name in enumerate(names):
        own = [each for each, counts in zip(results, seen, strict=True) if counts or k < 2][::-1]
        ages = [fade**i for i in range(len(own))]
        weight = sum(ages)
        right = sum(age * each[k] for age, each in zip(ages, own, strict=True))
        difference = sum(age * (each[k] - each[0]) for age, each in zip(ages, own, strict=True))
        spread = sum(age**2 * (each[k] - each[0]) ** 2 for age, each in zip(ages, own, strict=True))
        found = row(judge, name)
        assert found["recent_accuracy"] == pytest.approx(right / weight)
        assert found["difference"] == pytest.approx(difference / weight)
        assert found["z"] == pytest.approx(difference / math.sqrt(spread) if spread else 0.0)
        assert found["labels"] == len(own)


def test_the_table_says_who_answers_and_what_another_needs():
    judge = Judge()
    take(judge, 3, True, False)
    adapted, deployed = judge.table()
    assert adapted["to_take_over"] == FIRST_TAKEOVER - 3
    assert (deployed["answering"], deployed["deployed"], deployed["to_take_over"]) == (True, True, None)
    assert (adapted["answering"], adapted["deployed"], adapted["version"]) == (False, False, None)
    take(judge, FIRST_TAKEOVER - 3, True, False)
    assert [each["answering"] for each in judge.table()] == [True, False]
    assert json.loads(json.dumps(judge.table())) == judge.table()


def test_a_new_judge_has_no_figures_yet():
    assert [(each["recent_accuracy"], each["difference"], each["z"]) for each in Judge().table()] == [
        (None, None, 0.0)
    ] * 2


# Versions ---------------------------------------------------------------------------------------------------


def test_a_version_is_wanted_when_the_adapted_one_answers_leads_and_has_learnt_enough():
    judge = in_good_standing()
    take(judge, LABELS_BETWEEN - BOUND - HEAD_START - 1, True, True)
    assert not judge.wants_version()
    take(judge, 1, True, True)
    assert judge.wants_version()
    judge.saved(1)
    assert not judge.wants_version()
    take(judge, LABELS_BETWEEN, True, True, v1=True)
    assert judge.wants_version()
    take(judge, VERSION_BEHIND + 1, False, False, v1=True)  # behind, if not by the margin
    assert judge.answering is None
    assert not judge.wants_version()


def test_no_version_is_wanted_while_the_deployed_one_answers():
    judge = Judge()
    take(judge, HEAD_START + 1, True, False)  # ahead, but not by the margin
    take(judge, 2 * LABELS_BETWEEN, True, True)
    assert (judge.answering, row(judge, "adapted")["behind"]) == (0, 0)
    assert not judge.wants_version()


def test_the_worst_of_the_older_versions_makes_room_never_the_deployed_one():
    judge = in_good_standing()
    judge.saved(1)
    judge.saved(2)
    take(judge, 4, False, False, v1=True, v2=False)
    assert judge.saved(3) == [0, 1, 3]
    take(judge, 6, False, False, v1=False, v3=True)
    assert judge.saved(4) == [0, 3, 4]
    assert len(judge.judged) == 1 + KEPT_VERSIONS
    with pytest.raises(InputError, match="version 4 is judged already"):
        judge.saved(4)


def test_of_equally_good_versions_the_older_makes_room_and_the_one_that_answers_stays():
    judge = in_good_standing()
    judge.saved(1)
    judge.saved(2)
    assert judge.saved(3) == [0, 2, 3]
    take(judge, VERSION_BEHIND + MARGIN, False, False, v2=True, v3=False)
    assert judge.answering == 2
    take(judge, VERSION_BEHIND + MARGIN + MARGIN - 1, False, False, v2=False, v3=True)
    assert (judge.answering, row(judge, "version 2")["behind"]) == (2, MARGIN - 1)  # not far enough
    assert judge.saved(4) == [0, 2, 4]
    assert min(each["behind"] for each in judge.table()) == 0


@pytest.mark.parametrize("versions", [{}, {1: True}, {0: True, 9: False}])
def test_results_of_others_are_refused(versions):
    with pytest.raises(InputError, match=r"results must be of the deployed version, 0"):
        Judge().take(True, versions)


# Held-out rows ----------------------------------------------------------------------------------------------


def held_out(n, right):
    return np.arange(n) < right


def test_on_held_out_rows_mcnemars_test_decides():
    judge = Judge()
    judge.take_held_out(held_out(400, 300), {0: held_out(400, 300)})
    assert judge.answering is None
    judge.take_held_out(held_out(400, 298), {0: held_out(400, 300)})  # z = √2
    assert judge.answering is None
    judge.take_held_out(held_out(400, 297), {0: held_out(400, 300)})  # z = √3
    assert judge.answering == 0
    assert row(judge, "version 0")["z"] == pytest.approx(math.sqrt(3))
    judge.take_held_out(held_out(400, 299), {0: held_out(400, 300)})  # z = 1: not yet
    assert judge.answering == 0
    judge.take_held_out(held_out(400, 300), {0: held_out(400, 300)})
    assert judge.answering is None
    assert row(judge, "adapted")["recent_accuracy"] == 0.75
    assert (row(judge, "adapted")["labels"], row(judge, "adapted")["judged_on"]) == (400, "held-out rows")


def test_on_held_out_rows_the_best_version_answers():
    judge = Judge()
    for _ in range(LOOKS_BETWEEN):
        assert not judge.wants_version()
        judge.take_held_out(held_out(100, 90), {0: held_out(100, 70)})
    assert judge.wants_version()
    judge.saved(2)
    judge.take_held_out(held_out(100, 60), {0: held_out(100, 70), 2: held_out(100, 90)})
    assert judge.answering == 2
    judge.take_held_out(held_out(100, 60), {0: held_out(100, 91), 2: held_out(100, 90)})
    assert judge.answering == 2  # one row is no difference
    judge.take_held_out(held_out(100, 60), {0: held_out(100, 95), 2: held_out(100, 90)})
    assert judge.answering == 0
    assert again(judge).table() == judge.table()


def test_on_held_out_rows_a_version_is_wanted_only_if_the_adapted_one_is_best_and_the_worst_makes_room():
    judge = Judge()
    judge.take_held_out(held_out(100, 90), {0: held_out(100, 90)})
    for _ in range(LOOKS_BETWEEN):
        judge.take_held_out(held_out(100, 89), {0: held_out(100, 90)})
    assert judge.answering is None
    assert not judge.wants_version()
    judge.saved(1)
    judge.saved(2)
    judge.take_held_out(held_out(100, 90), {0: held_out(100, 90), 1: held_out(100, 80), 2: held_out(100, 70)})
    assert judge.saved(3) == [0, 1, 3]


@pytest.mark.parametrize(
    ("adapted", "versions"),
    [
        (np.ones(3, bool), {0: np.ones(4, bool)}),
        (np.ones(0, bool), {0: np.ones(0, bool)}),
        (np.True_, {0: np.True_}),
    ],
)
def test_results_on_other_rows_are_refused(adapted, versions):
    with pytest.raises(InputError, match="one value for each row"):
        Judge().take_held_out(adapted, versions)


# Files ------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_judge_goes_on_after_a_file_as_if_it_had_never_stopped(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rates = rng.random(8)
    judge = Judge(deployed=data.draw(st.integers(0, 9)))
    other, number = again(judge), 10
    for _ in range(data.draw(st.integers(1, 12))):
        what = data.draw(st.sampled_from(["labels", "labels", "saved", "held out", "restart", "file"]))
        for each in (judge, other):
            draws = np.random.default_rng(int(rates[0] * 1e9) + number)
            if what == "labels":
                for _ in range(60):
                    results = (draws.random(4) < rates[:4]).tolist()
                    each.take(results[0], dict(zip(each.judged, results[1:], strict=False)))
            elif what == "saved":
                each.saved(number)
            elif what == "held out":
                results = draws.random((4, 50)) < rates[4:, None]
                each.take_held_out(results[0], dict(zip(each.judged, results[1:], strict=False)))
            elif what == "restart":
                each.restart(number, adapted_first=bool(draws.random() < 0.5))
        number += 1
        other = again(other)
        assert to_bytes("Judge", other.tree()) == to_bytes("Judge", judge.tree())
        assert (other.answering, other.judged) == (judge.answering, judge.judged)
        assert other.table() == judge.table()


def filled():
    judge = in_good_standing()
    judge.saved(1)
    take(judge, 30, False, True, v1=True)
    return judge


@pytest.mark.parametrize("key", ["answering", "deployed", "since", "on_held_out", "records"])
def test_a_hostile_file_is_refused(key):
    tree = filled().tree()
    for value in (GONE, "x", -1, 1.5, [], {}, 1 << 70, np.zeros(3)):
        with pytest.raises(ModelFileError):
            read(changed(tree, [key], value), "x", Judge.from_tree)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("key", ["number", "behind", "labels", "right", "weight", "difference", "spread"])
def test_a_hostile_record_is_refused(which, key):
    tree = filled().tree()
    for value in (GONE, "x", -1, 1e300, math.nan, math.inf, 1 << 70, True, None if which else []):
        with pytest.raises(ModelFileError):
            read(changed(tree, ["records", which, key], value), "x", Judge.from_tree)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["records", 1, "right"], 200.0, "does not fit the labels"),
        (["records", 1, "difference"], -200.0, "does not fit the labels"),
        (["records", 1, "spread"], 0.0, "differences make no sense"),
        (["records"], lambda records: [records[0], records[2], records[1]], "do not fit"),
        (["records", 0, "spread"], 1.0, "a difference makes no sense"),
        (["records", 2, "number"], 0, "do not fit"),
        (["answering"], 5, "the version that answers is not judged"),
    ],
)
def test_what_cannot_be_is_refused(place, value, message):
    with pytest.raises(ModelFileError, match=message):
        read(changed(filled().tree(), place, value), "x", Judge.from_tree)


def test_somebody_leads():
    tree = filled().tree()
    for each in tree["records"]:
        each["behind"] = 3
    with pytest.raises(ModelFileError, match="nobody leads"):
        read(tree, "x", Judge.from_tree)
