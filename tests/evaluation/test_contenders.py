"""The contenders: each does what it would do alone, row by row."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ocboost
from ocboost.boosters.registry import BOOSTERS
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import (
    OCB,
    Fixed,
    LogisticSGD,
    Majority,
    NoChange,
    OverAnswers,
    RiverContender,
    SklearnContender,
    View,
    prequential,
)
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import METHODS
from ocboost.hypotheses import Stumps
from ocboost.lineage import OnlineLogistic


def blobs(n, K, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.5 * codes
    X[:, 1] -= codes == 1
    return X, codes


def stumps(seed=0, J=12):
    rng = np.random.default_rng(seed)
    return Stumps(
        rng.integers(0, 4, J), rng.normal(size=J), rng.choice([-1, 1], J), n_features=4, precision="double"
    )


def run(contenders, X, codes, labels, **parameters):
    """Evaluate, and give what each contender predicted beside the result."""
    seen = {one.name: [] for one in contenders}
    for one in contenders:
        predict = one.predict

        def noted(view, predict=predict, name=one.name):
            share = predict(view)
            seen[name].append(share)
            return share

        one.predict = noted
    batch = SimpleNamespace(X=X, y=np.array(labels, object)[codes])
    result = prequential([batch], contenders, classes=labels, drift=False, **parameters)
    return result, {name: np.concatenate(shares) for name, shares in seen.items()}


@pytest.mark.parametrize("K", [2, 3])
def test_ocb_is_partial_fit_row_by_row(K):
    X, codes = blobs(260, K)
    labels = ["a", "b", "c"][:K]
    y = np.array(labels)[codes]
    pair = [
        OCBClassifier(n_hypotheses=8, head=20, tail=False, random_state=0).fit(X[:100], y[:100]) for _ in "ab"
    ]
    contender = OCB(pair[0])
    result, found = run([contender], X[100:], codes[100:], labels)
    for i in range(100, 260):
        np.testing.assert_allclose(found["OCB"][i - 100], pair[1].predict_proba(X[i : i + 1])[0], atol=1e-12)
        pair[1].partial_fit(X[i : i + 1], y[i : i + 1])
    for mine, other in zip(pair[0].alpha_, pair[1].alpha_, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert result["OCB"].role == "ocb"
    assert result["OCB"].nbytes == sum(booster.nbytes for booster in pair[0].boosters_) > 0


def test_fixed_stays_as_it_was():
    X, codes = blobs(300, 2)
    clf = OCBClassifier(n_hypotheses=8, random_state=0).fit(X[:100], codes[:100])
    before = clf.predict_proba(X[100:])
    contender = Fixed(clf)
    result, found = run([contender], X[100:], codes[100:], [0, 1])
    np.testing.assert_allclose(found["static"], before, atol=1e-12)
    np.testing.assert_array_equal(clf.predict_proba(X[100:]), before)
    contender.learn(View.of(X, codes))
    np.testing.assert_array_equal(clf.predict_proba(X[100:]), before)
    assert result["static"].role == "static"
    assert result["static"].nbytes == 8 * len(clf.alpha_[0])


def test_classifiers_must_know_the_classes():
    X, codes = blobs(100, 2)
    clf = OCBClassifier(n_hypotheses=3).fit(X, codes)
    with pytest.raises(InputError, match=r"those of the classifier 'OCB', \[0, 1\], in that order"):
        OCB(clf).begin([1, 0])
    with pytest.raises(InputError, match="must be a fitted classifier"):
        OCB(OCBClassifier()).begin([0, 1])


def test_oza_and_russell_over_two_classes_is_the_plain_loop():
    X, codes = blobs(150, 2)
    hypotheses = stumps()
    contender = OverAnswers(hypotheses, ocboost.OzaRussell, name="oza")
    _, found = run([contender], X, codes, ["n", "y"])
    booster, answers = ocboost.OzaRussell(12), hypotheses.answers(X)
    for i, code in enumerate(codes):
        p = 1 / (1 + np.exp(-2 * (answers[i] @ booster.alpha)))
        np.testing.assert_allclose(found["oza"][i], [1 - p, p], atol=1e-12)
        booster.update(answers[i] if code == 1 else -answers[i])
    assert contender.nbytes > 0


@pytest.mark.parametrize("columns", [None, [slice(0, 4), slice(4, 7), slice(7, 12)]])
def test_more_classes_have_a_booster_each(columns):
    X, codes = blobs(150, 3)
    hypotheses = stumps()
    contender = OverAnswers(hypotheses, ocboost.OzaRussell, columns=columns, name="oza")
    _, found = run([contender], X, codes, [0, 1, 2])
    answers = hypotheses.answers(X)
    spans = columns or [slice(0, 12)] * 3
    boosters = [ocboost.OzaRussell(span.stop - span.start) for span in spans]
    for i, code in enumerate(codes):
        votes = [answers[i, span] @ booster.alpha for span, booster in zip(spans, boosters, strict=True)]
        share = np.exp(2 * np.array(votes))
        np.testing.assert_allclose(found["oza"][i], share / share.sum(), atol=1e-12)
        for c, (span, booster) in enumerate(zip(spans, boosters, strict=True)):
            booster.update(answers[i, span] * (1 if code == c else -1))


def test_a_booster_may_take_the_hypotheses_of_a_classifier():
    X, codes = blobs(200, 3)
    clf = OCBClassifier(n_hypotheses=6, random_state=0).fit(X, codes)
    contender = OverAnswers.beside(clf, ocboost.OzaRussell, name="oza")
    contender.begin([0, 1, 2])
    assert [booster.n_hypotheses for booster in contender.boosters] == [len(a) for a in clf.alpha_]
    with pytest.raises(InputError, match="one slice for each of the 1 boosters of 2 classes; got 3"):
        contender.begin([0, 1])


def test_a_contender_may_learn_before_the_stream_begins():
    X, codes = blobs(200, 2)
    hypotheses = stumps()
    contender = OverAnswers(hypotheses, lambda J: ocboost.BoostingSketch(J, head=50), name="warm")
    contender.begin([0, 1])
    contender.learn(View.of(X[:100], codes[:100]))
    run([contender], X[100:], codes[100:], [0, 1])
    assert contender.boosters[0].n_seen == 200


@pytest.mark.parametrize("K", [2, 3])
def test_logistic_sgd_is_the_booster(K):
    X, codes = blobs(80, K)
    hypotheses = stumps()
    one = LogisticSGD(hypotheses, learning_rate=0.05)
    other = OverAnswers(hypotheses, lambda J: OnlineLogistic(J, rate=0.05), name="booster")
    result, found = run([one, other], X, codes, list(range(K)))
    np.testing.assert_array_equal(found["logistic SGD"][0], np.full(K, 1 / K))
    np.testing.assert_array_equal(found["logistic SGD"], found["booster"])
    assert found["booster"][-1].max() > 0.5
    assert result["logistic SGD"].nbytes == (1 if K == 2 else K) * 8 * 12


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", [name for name in BOOSTERS if not name.startswith("ocb")])
def test_a_method_over_answers_is_the_classifier_one_would_deploy(name, K, tmp_path):
    X, codes = blobs(260, K)
    start = FirstRows(X[:100], codes[:100], list(range(K)), hypotheses=8)
    contender = METHODS[name].contender(start)
    result, found = run([contender], X[100:], codes[100:], list(range(K)))
    own = OCBClassifier(n_hypotheses=8, booster=name, random_state=0).fit(X[:100], codes[:100])
    for i in range(100, 260):
        want = own.predict_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(found[METHODS[name].title][i - 100], want, atol=1e-9)
        own.partial_fit(X[i : i + 1], codes[i : i + 1])
    assert result.standings[0].deployable
    contender.classifier.save(tmp_path / "model.ocb")
    loaded = OCBClassifier.load(tmp_path / "model.ocb")
    np.testing.assert_array_equal(loaded.predict(X), contender.classifier.predict(X))
    assert contender.classifier.hypotheses_ is start.classifier.hypotheses_  # so that answers are shared


def test_what_can_be_deployed_can_be_saved(tmp_path):
    X, codes = blobs(260, 2)
    start = FirstRows(X, codes, [0, 1], hypotheses=4)
    for name, method in METHODS.items():
        if method.package is None:
            contender = method.contender(start)
            saved = getattr(contender, "classifier", getattr(contender, "estimator", None))
            assert method.deployable is (hasattr(saved, "save") and name != "retrained"), name
            if method.deployable:
                saved.save(tmp_path / name)
                np.testing.assert_array_equal(type(saved).load(tmp_path / name).predict(X), saved.predict(X))
        else:
            assert not method.deployable


class TestBaselines:
    @pytest.mark.parametrize("step", [1, 5])
    def test_against_plain_loops(self, step):
        codes = np.random.default_rng(1).choice(3, 200, p=[0.2, 0.3, 0.5])
        _, found = run([Majority(), NoChange()], np.zeros((200, 1)), codes, [0, 1, 2], step=step)
        counts, last, right, n = np.ones(3), None, 0, 0
        for start in range(0, 200, step):
            for i in range(start, start + step):
                np.testing.assert_allclose(found["majority"][i], counts / counts.sum())
                if last is None:
                    np.testing.assert_allclose(found["no change"][i], 1 / 3)
                else:
                    want = np.full(3, (1 - max((right + 1) / (n + 3), (1 + 1e-6) / 3)) / 2)
                    want[last] = 1 - want.sum() + want[last]
                    np.testing.assert_allclose(found["no change"][i], want)
                    assert found["no change"][i].argmax() == last
            for i in range(start, start + step):
                counts[codes[i]] += 1
                if last is not None:
                    right += int(codes[i] == last)
                    n += 1
                last = codes[i]

    def test_no_change_stays_with_the_last_label_where_it_is_always_wrong(self):
        codes = np.arange(100) % 2
        result, _ = run([NoChange()], np.zeros((100, 1)), codes, [0, 1])
        assert result["no change"].metrics["accuracy"] == 0.01  # only the first, of even odds

    def test_sizes(self):
        assert Majority().nbytes == 16
        assert NoChange().nbytes > 0


class TestSklearn:
    def test_is_partial_fit(self):
        from sklearn.naive_bayes import GaussianNB

        X, codes = blobs(120, 3)
        contender = SklearnContender(GaussianNB())
        result, found = run([contender], X, codes, [0, 1, 2], step=10)
        model = GaussianNB()
        np.testing.assert_allclose(found["GaussianNB"][:10], 1 / 3)
        for start in range(0, 120, 10):
            part = slice(start, start + 10)
            if start:
                np.testing.assert_allclose(found["GaussianNB"][part], model.predict_proba(X[part]))
            model.partial_fit(X[part], codes[part], classes=[0, 1, 2])
        assert result["GaussianNB"].nbytes > 0

    def test_classes_in_another_order(self):
        from sklearn.naive_bayes import GaussianNB

        X, codes = blobs(400, 2)
        y = np.array(["yes", "no"])[codes]
        model = GaussianNB().fit(X[:200], y[:200])  # its own order is no, yes
        want = model.predict_proba(X[200:201])[0, ::-1]
        result, found = run([SklearnContender(model, "nb")], X[200:], codes[200:], ["yes", "no"])
        np.testing.assert_allclose(found["nb"][0], want)
        assert result["nb"].metrics["accuracy"] > 0.8

    def test_a_class_it_has_not_heard_of(self):
        from sklearn.naive_bayes import GaussianNB

        X, codes = blobs(50, 2)
        contender = SklearnContender(GaussianNB().fit(X, codes), "nb")
        contender.begin([0, 1, 2])
        share = contender.predict(View.of(X, codes))
        np.testing.assert_allclose(share[:, 2], 0.0)
        np.testing.assert_allclose(share.sum(axis=1), 1.0)

    def test_what_cannot_learn_is_refused(self):
        from sklearn.svm import SVC

        with pytest.raises(InputError, match="SVC has no partial_fit"):
            SklearnContender(SVC())


class TestRiver:
    def test_is_learn_one(self):
        pytest.importorskip("river")
        from river.naive_bayes import GaussianNB

        X, codes = blobs(150, 3)
        X[7, 2] = np.nan
        contender = RiverContender(GaussianNB())
        _, found = run([contender], X, codes, list("abc"))
        model = GaussianNB()
        for i in range(150):
            x = {j: value for j, value in enumerate(X[i].tolist()) if value == value}
            given = model.predict_proba_one(x)
            if given and sum(given.values()) > 0:
                want = [given.get(c, 0.0) for c in range(3)]
                np.testing.assert_allclose(found["GaussianNB"][i], np.array(want) / sum(want), atol=1e-9)
            else:
                np.testing.assert_allclose(found["GaussianNB"][i], 1 / 3)
            model.learn_one(x, int(codes[i]))
        assert found["GaussianNB"][-1].max() > 0.4
        assert contender.nbytes > 0

    def test_pipelines_are_welcome_and_regressors_are_not(self):
        pytest.importorskip("river")
        from river.linear_model import LinearRegression, LogisticRegression
        from river.preprocessing import StandardScaler

        X, codes = blobs(300, 2)
        result, _ = run([RiverContender(StandardScaler() | LogisticRegression(), "lr")], X, codes, [0, 1])
        assert result["lr"].metrics["accuracy"] > 0.7
        with pytest.raises(InputError, match="must be a river classifier; got LinearRegression"):
            RiverContender(LinearRegression())

    def test_without_river(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "river", None)
        monkeypatch.setitem(sys.modules, "river.base", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[river\]"):
            RiverContender(object())


def test_views_of_rows_and_codes_that_do_not_fit():
    with pytest.raises(InputError, match="codes must be one for each of the 3 rows"):
        View.of(np.zeros((3, 1)), np.zeros(2, int))


def test_sparse_rows():
    sparse = pytest.importorskip("scipy.sparse")
    X, codes = blobs(1500, 2)
    X[np.abs(X) < 0.5] = 0.0
    hypotheses = stumps()
    shares = []
    for rows in (X, sparse.csr_matrix(X)):
        contender = OverAnswers(hypotheses, ocboost.OzaRussell, name="oza")
        batches = [
            SimpleNamespace(X=rows[:700], y=codes[:700]),
            SimpleNamespace(X=rows[700:], y=codes[700:]),
        ]
        shares.append(prequential(batches, [contender], classes=[0, 1], drift=False)["oza"].metrics)
    assert shares[0] == shares[1]
