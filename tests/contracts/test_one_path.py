"""One way for every example: the same stream by any road ends in the same weights, to the bit.

The roads: `partial_fit` in one call, row by row and in odd pieces; `learn_one`; `ocboost adapt`; a contender
of an evaluation, as `ocboost evaluate` and `ocboost compare` have them; River's `learn_one` and `learn_many`.
Where the first weights sum to 1, all examples are scaled, and a road that forgets that is seen here.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

from ocboost import Growth, Model, OCBClassifier
from ocboost.boosters import BOOSTERS
from ocboost.evaluation import OCB, lineup, prequential
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import METHODS
from ocboost.streams.rows import Rows
from tests.contracts.examples import rows, weights
from tests.support.cli_runs import ran
from tests.support.stream_files import write_csv, write_jsonl, write_parquet

N, FIRST, J = 230, 100, 8
GROWTH = Growth(budget=11, sample=20, candidates=4, test=10, delta=0.5, every=15)
SETTINGS = {
    "default": {},
    "head 1": {"head": 1},
    "head 30, forgetting": {"head": 30, "forgetting": 0.98},
    "newest, order": {"head": 40, "keep": "newest", "order": 3},
    "window": {"head": 25, "tail": False},
    "memory": {"memory": 6000},
    "batches": {"head": 16, "batch_size": 8},
    "growing": {"grow": GROWTH, "head": 60},
    "growing, window": {"grow": GROWTH, "head": 50, "tail": False},
    **{name: {"booster": name} for name in BOOSTERS if name != "ocb"},
    "winnow, growing": {"booster": "winnow", "grow": GROWTH},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS)
two_and_three = pytest.mark.parametrize("K", [2, 3])
scales = pytest.mark.parametrize("total", [None, 1.0], ids=["", "weights that sum to 1"])


def stream(K):
    X, y = rows(N, K)
    return X, y


def first_weights(total):
    """Those of the first examples; None is all ones."""
    if total is None:
        return None
    drawn = np.random.default_rng(4).uniform(0.5, 1.5, FIRST)
    return total * drawn / drawn.sum()


def begun(settings, K, total):
    X, y = stream(K)
    clf = OCBClassifier(n_hypotheses=J, random_state=0, **SETTINGS[settings])
    clf.fit(X[:FIRST], y[:FIRST], first_weights(total))
    assert clf.weight_scale_ == pytest.approx(1.0 if total is None else FIRST / total)
    return clf


def by_partial_fit(clf, K, w=None):
    """The first of all roads: one call."""
    X, y = stream(K)
    return clf.partial_fit(X[FIRST:], y[FIRST:], sample_weight=None if w is None else w[FIRST:])


def assert_same(found, expected, K):
    X, _ = rows(50, K, seed=7)
    assert len(found.alpha_) == len(expected.alpha_) == (1 if K == 2 else K)
    for mine, theirs in zip(found.alpha_, expected.alpha_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found.hypotheses_.answers(X), expected.hypotheses_.answers(X))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert [b.n_seen for b in found.boosters_] == [b.n_seen for b in expected.boosters_]
    assert (found.n_grown_, found.n_retired_) == (expected.n_grown_, expected.n_retired_)


def test_growing_grows_here():
    """Else the roads of those that grow would say nothing."""
    for settings in SETTINGS:
        if "grow" in SETTINGS[settings]:
            assert by_partial_fit(begun(settings, 2, None), 2).n_grown_ > 0, settings


@every_setting
@two_and_three
@scales
def test_calls_of_any_size(settings, K, total):
    X, y = stream(K)
    w = None if total is None else np.maximum(weights(N), 0.1)
    expected = by_partial_fit(begun(settings, K, total), K, w)
    whole_steps = 8 if settings == "batches" else 1
    cuts = ([1] * (N - FIRST), [1, 2, 3, 37, 50, 200]) if whole_steps == 1 else ([8, 16, 80, 200],)
    for sizes in cuts:
        found, at = begun(settings, K, total), FIRST
        for size in sizes:
            part = slice(at, at + size)
            found.partial_fit(X[part], y[part], sample_weight=None if w is None else w[part])
            at += size
            if at >= N:
                break
        assert_same(found, expected, K)


@every_setting
@two_and_three
@scales
def test_learn_one_with_weights(settings, K, total):
    X, y = stream(K)
    w = np.maximum(weights(N), 0.1)
    if SETTINGS[settings].get("batch_size", 1) > 1:
        pytest.skip("one row is a batch of its own")
    found = begun(settings, K, total)
    for i in range(FIRST, N):
        found.learn_one(X[i].tolist(), y[i].item(), w[i])
    assert_same(found, by_partial_fit(begun(settings, K, total), K, w), K)


@every_setting
@two_and_three
@scales
def test_rows_in_parts(settings, K, total):
    """`learn_rows`, which adapt and evaluation call: parts of one table, whose answers are shared."""
    X, y = stream(K)
    w = np.maximum(weights(N), 0.1)
    expected = by_partial_fit(begun(settings, K, total), K, w)
    found = begun(settings, K, total)
    table = Rows(X, codes=y.astype(np.int64), weights=w, first=1000)
    step = 8 if settings == "batches" else 13
    for at in range(FIRST, N, step):
        part = table[at : min(N, at + step)]
        found.votes_of(part)  # answers are computed here, of the whole table
        found.learn_rows(part if at % 2 else table[np.arange(at, min(N, at + step))])
    assert_same(found, expected, K)


@every_setting
@two_and_three
@scales
def test_adapt(settings, K, total, tmp_path, capsys):
    X, y = stream(K)
    clf = begun(settings, K, total)
    model, out = tmp_path / "model.ocb", tmp_path / "out.ocb"
    Model(clf).save(model)
    table = [[*x, int(label)] for x, label in zip(X[FIRST:].tolist(), y[FIRST:], strict=True)]
    number = list(SETTINGS).index(settings) + K
    write, name = ((write_csv, "s.csv"), (write_jsonl, "s.jsonl"), (write_parquet, "s.parquet"))[number % 3]
    data = write(tmp_path / name, ["a", "b", "c", "d", "y"], table)
    batch = 8 if settings == "batches" else (1, 7, 1000)[number % 3]
    words = ["adapt", model, data, "--label", "y", "--out", out, "--batch", batch]
    code, _, err = ran(capsys, *words)
    assert (code, err) == (0, "")
    assert_same(Model.load(out).classifier, by_partial_fit(clf, K), K)


@every_setting
@two_and_three
@scales
def test_a_contender(settings, K, total):
    X, y = stream(K)
    clf = begun(settings, K, total)
    found = copy.copy(clf)
    step = 8 if settings == "batches" else (1, 5)[K % 2]
    prequential(
        [Rows(X[FIRST:], y[FIRST:], first=FIRST)],
        [OCB(found), OCB(copy.copy(clf), "another, so that answers are shared")],
        classes=list(range(K)),
        step=step,
        drift=False,
    )
    assert_same(found, by_partial_fit(clf, K), K)


class Weighed:
    """What α a contender of a comparison has, whatever it keeps it in."""

    def __init__(self, contender):
        self.alphas = (
            contender.classifier.alpha_
            if hasattr(contender, "classifier")
            else [booster.alpha for booster in contender.boosters]
        )


def compared(contender, K):
    X, y = stream(K)
    batches = [Rows(X[FIRST:160], y[FIRST:160], first=FIRST), Rows(X[160:], y[160:], first=160)]
    prequential(batches, [contender], classes=list(range(K)), drift=False)
    return Weighed(contender).alphas


@pytest.mark.parametrize("name", BOOSTERS)
@two_and_three
def test_compare(name, K):
    """A method over answers is the classifier with that booster; OCB's go on from one that remembers all."""
    X, y = stream(K)
    start = FirstRows(X[:FIRST], y[:FIRST].astype(np.int64), list(range(K)), hypotheses=J)
    method = METHODS[name]
    found = compared(method.make(start, method.title), K)
    clf = OCBClassifier(n_hypotheses=J, random_state=0)
    registered = BOOSTERS[name]
    if registered.place == BOOSTERS["ocb"].place:
        if not registered.settings.get("tail", True):
            clf.set_params(keep="newest")
        clf.fit(X[:FIRST], y[:FIRST]).set_params(**registered.settings)
    else:
        clf.set_params(booster=name).fit(X[:FIRST], y[:FIRST])
    expected = by_partial_fit(clf, K).alpha_
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@two_and_three
def test_a_title_means_one_thing(K):
    """What evaluate and compare call the same has the same weights."""
    X, y = stream(K)
    start = FirstRows(X[:FIRST], y[:FIRST].astype(np.int64), list(range(K)), hypotheses=J)
    by_title = {method.title: method for method in METHODS.values() if method.kind == "answers"}
    shared = []
    for contender in lineup(copy.copy(start.classifier), start.view):
        method = by_title.get(contender.name)
        if method is None or not contender.learns:
            continue
        shared.append(contender.name)
        window = "window" in contender.name  # compare begins those with the newest rows
        if window:
            continue
        found, expected = compared(contender, K), compared(method.make(start, method.title), K)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=contender.name)
    assert {"OCB, all history", "OCB, forgetting 0.995", "Oza-Russell"} <= set(shared)


def test_a_title_has_one_memory():
    """The settings that stand behind the titles of evaluate are those of the registry."""
    X, y = stream(2)
    clf = OCBClassifier(n_hypotheses=J, random_state=0).fit(X[:FIRST], y[:FIRST])
    contenders = {each.name: each for each in lineup(clf)}
    for registered in BOOSTERS.values():
        contender = contenders.get(registered.title)
        if contender is None or not hasattr(contender, "classifier"):
            continue
        contender.classifier.follow_settings()
        for setting, value in registered.settings.items():
            found = contender.classifier.boosters_[0].given_settings[setting]
            assert found == value, (registered.title, setting)


@pytest.mark.parametrize("settings", [name for name in SETTINGS if name != "batches"])
@two_and_three
@pytest.mark.parametrize("many", [False, True], ids=["learn_one", "learn_many"])
def test_river(settings, K, many):
    import pandas as pd

    from ocboost.river import OCBClassifier as RiverOCB

    X, y = stream(K)
    names = ["a", "b", "c", "d"]
    model = RiverOCB(n_hypotheses=J, grace_period=FIRST, seed=0, **SETTINGS[settings])
    # learn_many has no weights; those of learn_one sum to 1 in the grace period, and then go on.
    w = np.ones(N) if many else np.concatenate([first_weights(1.0), np.maximum(weights(N), 0.1)[FIRST:]])
    if many:
        for at, until in ((0, 30), (30, 101), (101, 102), (102, N)):
            frame = pd.DataFrame(X[at:until], columns=names)
            model.learn_many(frame[names[::-1]], pd.Series(y[at:until]))
    else:
        for x, label, each in zip(X.tolist(), y.tolist(), w, strict=True):
            model.learn_one(dict(zip(names, x, strict=True)), label, each)
    clf = OCBClassifier(n_hypotheses=J, random_state=0, **SETTINGS[settings])
    clf.fit(X[:FIRST], y[:FIRST], w[:FIRST])
    assert clf.weight_scale_ == pytest.approx(1.0 if many else FIRST)
    assert_same(model._clf, by_partial_fit(clf, K, w), K)
