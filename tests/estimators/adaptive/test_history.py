"""The shares of the members through time."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.estimators.adaptive.history import (
    FIRST_DISTANCE,
    MAX_POINTS,
    MembersTable,
    MemberStatus,
    ShareHistory,
    plot,
)
from tests.support.saved_trees import changed


def filled(n, E=3, history=None, first=1):
    history = ShareHistory(E) if history is None else history
    for i in range(first, n + 1):
        if history.due(i):
            history.add(i, np.eye(E)[i // FIRST_DISTANCE % E])
    return history


def back(tree, E=3):
    history = ShareHistory(E)
    read(tree, "a file", history.resume)
    return history


def tree_of(history):
    return from_bytes(to_bytes("x", history.tree()), "x")


def test_it_has_few_points_however_many_labels_there_were():
    history = filled(FIRST_DISTANCE * MAX_POINTS)
    assert history.labels == list(range(FIRST_DISTANCE, FIRST_DISTANCE * MAX_POINTS + 1, FIRST_DISTANCE))
    for n in (8020, 16_100, 100_000):
        history = filled(n)
        steps = np.diff(history.labels)
        assert (steps == steps[0]).all()
        assert MAX_POINTS // 2 <= len(history.labels) <= MAX_POINTS
        assert history.labels[-1] > n - steps[0]
        for label, shares in zip(history.labels, history.table, strict=True):
            np.testing.assert_array_equal(shares, np.eye(3)[label // FIRST_DISTANCE % 3])


def test_an_empty_one_has_an_empty_table():
    assert ShareHistory(4).table.shape == (0, 4)


@pytest.mark.parametrize("n", [0, 15, 500, 12_345])
def test_loaded_it_goes_on(n):
    history = filled(n)
    loaded = back(tree_of(history))
    copied = history.copy()
    for each in (history, loaded, copied):
        filled(n + 9000, history=each, first=n + 1)
        assert each.labels == filled(n + 9000).labels
        np.testing.assert_array_equal(each.table, filled(n + 9000).table)


def test_a_copy_goes_its_own_way():
    history = filled(100)
    filled(200, history=history.copy(), first=101)
    assert history.labels == [20, 40, 60, 80, 100]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("every", 0, "every must be a whole number"),
        ("every", 20.0, "every must be a whole number"),
        ("labels", lambda n: n[:-1], "shares has the wrong shape"),
        ("labels", lambda n: n.astype(float), "labels has the wrong shape or type"),
        ("labels", lambda n: n[::-1].copy(), "out of order"),
        ("labels", lambda n: n - 100, "out of order"),
        ("labels", np.arange(MAX_POINTS + 1), "too many points"),
        ("shares", lambda s: s[:, :2], "shares has the wrong shape"),
        ("shares", lambda s: s * np.nan, "shares must be finite"),
    ],
)
def test_a_file_that_was_never_written_is_refused(name, value, message):
    tree = tree_of(filled(100))
    back(tree)
    with pytest.raises(ModelFileError, match=message):
        back(changed(tree, name, value))


def test_the_table_of_members_prints():
    lines = [MemberStatus("eg", 0.75, 0.9, 0.25), MemberStatus("pa", 0.25, float("nan"), float("nan"))]
    assert repr(MembersTable(lines)).splitlines() == [
        "member                    share  accuracy  log-loss",
        "eg                        75.0%     90.0%     0.250",
        "pa                        25.0%         –         –",
    ]


def test_the_plot_draws_what_matters():
    pytest.importorskip("matplotlib").use("Agg")
    names = [f"member {i}" for i in range(12)]
    history = ShareHistory(12)
    for i in (20, 40):
        history.add(i, np.arange(12) / 66)
    ax = plot(names, history)
    assert len(ax.collections) == 9
    assert [text.get_text() for text in ax.get_legend().get_texts()][::-1][0] == "member 11"
    assert "4 others" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert plot(names[:2], ShareHistory(2)).get_xlabel() == "labels learnt"  # nothing has been learnt
    pytest.importorskip("matplotlib.pyplot").close("all")
