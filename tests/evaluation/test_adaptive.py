"""The adaptive classifier as a contender: from first rows, from deployed models, with late labels."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, InputError, OCBClassifier
from ocboost.evaluation import Adaptive, FixedAdaptive, View, lineup, prequential
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import METHODS, methods_for, methods_named
from tests.support.comparisons import rows_of


def adaptive(n=220, classes=2, **parameters):
    X, y = rows_of(n, 9, classes)
    names = np.array(["no", "perhaps", "yes"][: classes if classes == 3 else 2])
    clf = AdaptiveClassifier(n_hypotheses=8, random_state=0, **parameters)
    return clf.partial_fit(X, names[y], classes=names)


def test_it_is_listed_first():
    assert next(iter(METHODS)) == "adaptive"
    for names in ("usual", "fast", "all"):
        assert methods_named(names)[0].name == "adaptive"
    assert methods_for()[0].name == "adaptive"
    assert METHODS["adaptive"].deployable


@pytest.mark.parametrize(("step", "delay"), [(1, 0), (1, 30), (5, 0), (4, 17)])
def test_it_learns_from_what_was_predicted_by_row_number(step, delay):
    X, y = rows_of(160, 3)
    X[1::2] = X[0::2]  # equal rows: only their numbers tell them apart
    start = FirstRows(*rows_of(220, 9), [0, 1], hypotheses=8)
    contender = METHODS["adaptive"].contender(start)
    twin = AdaptiveClassifier(n_hypotheses=8, random_state=0).partial_fit(
        start.X, start.codes, classes=[0, 1]
    )
    batches = batches_of(X, y, first=7)
    result = prequential(batches, [contender], classes=[0, 1], step=step, delay=delay, drift=False)
    right, learnt = 0, 0
    for at in range(0, 160, step):
        stop = min(at + step, 160)
        right += (twin.predict(X[at:stop], ids=range(at, stop)) == y[at:stop]).sum()
        while learnt < stop - delay:
            twin.partial_fit(X[learnt : learnt + 1], y[learnt : learnt + 1], ids=[learnt])
            learnt += 1
    assert result.standings[0].metrics["accuracy"] == right / 160
    assert contender.classifier.n_waiting_ == twin.n_waiting_ == min(160, delay)
    np.testing.assert_array_equal(
        contender.classifier.predict_proba(X, issue=False), twin.predict_proba(X, issue=False)
    )
    assert result.standings[0].nbytes == contender.nbytes == contender.classifier.nbytes > 0
    assert (contender.role, contender.name) == ("adaptive", "adaptive")


@pytest.mark.parametrize("classes", [2, 3])
def test_a_deployed_one_goes_on_beside_itself_as_it_was(classes):
    clf = adaptive(classes=classes)
    X, codes = rows_of(150, 4, classes)
    y = clf.classes_[codes]
    frozen, twin, before = copy.copy(clf), copy.copy(clf), clf.predict_proba(X, issue=False)
    found = {one.name: one for one in lineup(clf)}
    assert list(found)[:2] == ["adaptive", "static"]
    result = prequential(batches_of(X, y), list(found.values()), classes=clf.classes_.tolist(), drift=False)
    right = 0
    for k in range(150):
        right += twin.predict(X[k : k + 1], ids=[k])[0] == y[k]
        twin.partial_fit(X[k : k + 1], y[k : k + 1], ids=[k])
    standings = {standing.name: standing for standing in result.standings}
    assert standings["adaptive"].metrics["accuracy"] == right / 150
    assert standings["static"].metrics["accuracy"] == (frozen.predict(X, issue=False) == y).mean()
    assert isinstance(found["static"], FixedAdaptive)
    assert found["static"].classifier.n_waiting_ == 0
    np.testing.assert_array_equal(clf.predict_proba(X, issue=False), before)  # it has not learnt
    over = found["OCB, window 20"].classifier
    driver = clf.bank_.pool.driver
    assert over.hypotheses_ is driver.hypotheses_
    assert over.grower_ is None
    assert over.classes_.tolist() == clf.classes_.tolist()


def test_a_deployed_ocb_becomes_a_member():
    X, y = rows_of(400, 4)
    clf = OCBClassifier(n_hypotheses=8).fit(X[:250], y[:250])
    with_rows = METHODS["adaptive"].contender(FirstRows.of_model(clf, View.of(X[:250], y[:250])))
    without = METHODS["adaptive"].contender(FirstRows.of_model(clf))
    for contender in (with_rows, without):
        view = View.of(X[250:], y[250:])
        np.testing.assert_array_equal(contender.predict(view), clf.predict_proba(X[250:]))
    assert with_rows.classifier.bank_.pool is not None
    assert without.classifier.bank_.pool is None
    for k in range(250, 400):
        without.learn(View.of(X[k : k + 1], y[k : k + 1]))
    assert without.classifier.n_learnt_ == 150
    assert without.classifier.bank_.untouched is None
    for k in range(250):
        without.learn(View.of(X[k : k + 1], y[k : k + 1]))
    assert without.classifier.bank_.pool is not None


def test_what_cannot_begin_with_a_model_is_left_out():
    X, y = rows_of(260, 4)
    clf = OCBClassifier(n_hypotheses=8).fit(*rows_of(250, 9))
    chosen = methods_named("adaptive,ocb,growing,retrained,oza-bayes,majority")
    found = compare_methods(batches_of(X, y), chosen, start=FirstRows.of_model(clf))
    assert [run.method for run in found.runs] == ["adaptive", "ocb", "majority"]
    assert set(found.skipped) == {"growing", "retrained", "oza-bayes"}
    assert "needs the rows that the model was fitted on" in found.skipped["growing"]
    assert "adaptive classifier began as the model" in " ".join(found.result.notes)


def test_a_model_without_hypotheses():
    clf = adaptive(30)
    assert clf.bank_.pool is None
    X, codes = rows_of(120, 4)
    start = FirstRows.of_model(clf)
    found = compare_methods(batches_of(X, clf.classes_[codes]), methods_named("usual"), start=start)
    assert [run.method for run in found.runs][:2] == ["adaptive", "static"]
    assert found.skipped["ocb"] == "the model has no hypotheses yet"
    assert not start.has_ocb


def test_other_classes_are_refused():
    with pytest.raises(InputError, match=r"'adaptive', \['no', 'perhaps'\], in that order"):
        Adaptive(adaptive()).begin(["perhaps", "no"])
    with pytest.raises(InputError, match="must be a fitted classifier"):
        Adaptive(AdaptiveClassifier()).begin([0, 1])
