"""``members_``, the plot of the shares, and members that are added or left out."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from ocboost import MissingExtraError
from ocboost.estimators.adaptive.history import MAX_POINTS, MembersTable, MemberStatus, ShareHistory
from tests.support.adaptive import classifier, fitted, same, stream

USUAL = {
    *("deployed", "ocb-forgetting", "ocb-window-20", "eg", "logistic", "pa"),
    *("labels-50", "labels-5", "features-0.1", "features-0.01"),
    *("forest-4000", "forest-1000", "forest-300"),
}
GROUPS = {"neighbours": "neighbours-", "labels": "labels-", "features": "features-", "forests": "forest-"}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("delay", [0, 4])
def test_the_table(K, delay):
    X, y = stream(K=K)
    clf = fitted(K)
    for i in range(100, 200):
        clf.predict(X[i : i + 1], ids=[i])
        if i >= 100 + delay:
            clf.partial_fit(X[i - delay : i - delay + 1], y[i - delay : i - delay + 1], ids=[i - delay])
    table = clf.members_
    assert {member.name for member in table} >= USUAL
    assert len({member.name for member in table}) == len(table)
    shares = [member.share for member in table]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 0.0
    assert all(0.0 <= member.accuracy <= 1.0 and 0.0 <= member.log_loss < 20.0 for member in table)
    best = max(member.accuracy for member in table)
    assert best > 1.2 / K


def test_before_the_first_label_nothing_is_known_of_them():
    table = fitted().members_
    assert sum(member.share for member in table) == pytest.approx(1.0)
    assert all(math.isnan(member.accuracy) and math.isnan(member.log_loss) for member in table)
    assert "–" in repr(table)


def test_it_prints_as_a_table():
    table = MembersTable([MemberStatus("eg", 0.75, 0.9, 0.25), MemberStatus("pa", 0.25, 0.5, 1.0)])
    assert repr(table).splitlines() == [
        "member                    share  accuracy  log-loss",
        "eg                        75.0%     90.0%     0.250",
        "pa                        25.0%     50.0%     1.000",
    ]
    assert table[0].name == "eg"
    assert len(fitted().members_) + 1 == len(repr(fitted().members_).splitlines())


@pytest.mark.parametrize("group", GROUPS)
def test_groups_left_out(group):
    X, y = stream()
    clf = fitted(without=(group,))
    names = {member.name for member in clf.members_}
    assert not any(name.startswith(GROUPS[group]) for name in names)
    assert {member.name for member in fitted().members_} - names == {
        member.name for member in fitted().members_ if member.name.startswith(GROUPS[group])
    }
    clf.partial_fit(X[100:150], y[100:150])
    assert sum(member.share for member in clf.members_) == pytest.approx(1.0)


def test_boosters_added_and_left_out():
    X, y = stream()
    clf = fitted(extra=("winnow", "perceptron"), without=("eg", "pa"))
    names = {member.name for member in clf.members_}
    assert {"winnow", "perceptron"} <= names
    assert not {"eg", "pa"} & names
    clf.partial_fit(X[100:180], y[100:180])
    assert np.isfinite(clf.predict_proba(X)).all()


def test_a_set_of_names_has_no_order_to_depend_on():
    X, y = stream()
    given = [
        classifier(extra=names, without={"pa", "eg"}).fit(X[:60], y[:60])
        for names in (
            {"winnow", "perceptron"},
            frozenset(["perceptron", "winnow"]),
            ["perceptron", "winnow", "perceptron"],
        )
    ]
    assert same(given[0], given[1])
    np.testing.assert_array_equal(given[0].predict_proba(X), given[2].predict_proba(X))


def test_with_two_members_alone():
    X, y = stream()
    clf = classifier(
        without=["neighbours", "labels", "features", "forests", "eg", "pa", "logistic", "ocb-window-20"]
    )
    clf.fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert {member.name for member in clf.members_} == {"deployed", "ocb-forgetting"}
    assert (clf.predict(X[300:]) == y[300:]).mean() > 0.6
    begun = classifier(without=clf.without).partial_fit(X[:1], y[:1], classes=[0, 1])
    begun.partial_fit(X[1:], y[1:])
    assert np.isfinite(begun.predict_proba(X)).all()


# Shares through time ---------------------------------------------------------------------------------------


def test_a_history_of_bounded_size():
    history = ShareHistory(2)
    for n in range(1, 100_001):
        if history.due(n):
            history.add(n, np.array([0.5, 0.5]))
    assert MAX_POINTS // 2 - 1 <= len(history.labels) <= MAX_POINTS
    assert len(set(np.diff(history.labels))) == 1
    assert history.labels[-1] > 99_000
    assert history.table.shape == (len(history.labels), 2)


def test_the_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = stream()
    clf = fitted()
    axes = clf.plot_shares()  # nothing yet
    plt.close(axes.figure)
    clf.partial_fit(X[100:], y[100:])
    assert clf.bank_.history.labels == list(range(120, 401, 20))
    np.testing.assert_allclose(clf.bank_.history.table.sum(axis=1), 1.0)
    figure, own = plt.subplots()
    axes = clf.plot_shares(own)
    assert axes is own
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(texts) == 9
    assert sum(text.endswith("others") for text in texts) == 1
    assert axes.get_ylim() == (0.0, 1.0)
    assert axes.get_xlim() == (120.0, 400.0)
    plt.close(figure)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"Drawing the shares .*pip install .*\[plot\]"):
        fitted().plot_shares()
