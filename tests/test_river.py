"""The River classifier: River's own checks, and streams that are not kind."""

from __future__ import annotations

import datetime
import math
import random

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")

from river import checks, compose, datasets, evaluate, metrics, preprocessing

from ocboost import AdaptiveClassifier as SklearnAdaptive
from ocboost import InputError
from ocboost.river import AdaptiveClassifier, OCBClassifier


def named_checks():
    for kind in (OCBClassifier, AdaptiveClassifier):
        for parameters in kind._unit_test_params():
            for check in checks.yield_checks(kind(**parameters)):
                yield pytest.param(check, kind, parameters, id=f"{kind.__name__}-{check.__name__}")


@pytest.mark.parametrize(("check", "kind", "parameters"), list(named_checks()))
def test_river_check(check, kind, parameters):
    check(kind(**parameters))


def stream(n, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        a, b, c = rng.normal(size=3).round(2).tolist()
        score = a + 0.5 * b + 0.5 * rng.normal()
        yield {"a": a, "b": b, "c": c}, int(np.digitize(score, np.linspace(-0.7, 0.7, n_classes + 1)[1:-1]))


def accuracy(model, examples):
    return np.mean([model.predict_one(x) == y for x, y in examples])


def fed(examples, **parameters):
    model = OCBClassifier(**{"n_hypotheses": 20, "grace_period": 60, **parameters})
    for x, y in examples:
        model.learn_one(x, y)
    return model


def assert_same(a, b, xs):
    for x in xs:
        assert a.predict_proba_one(x) == b.predict_proba_one(x)


def test_progressive_validation_in_a_pipeline():
    model = preprocessing.StandardScaler() | OCBClassifier(n_hypotheses=30, grace_period=100)
    found = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert found.get() > 0.82


def test_text_is_encoded_in_a_pipeline():
    examples = [
        ({"colour": colour, "a": k % 5}, colour == "red") for k, colour in enumerate(["red", "blue"] * 90)
    ]
    model = compose.TransformerUnion(
        compose.SelectType(str) | preprocessing.OneHotEncoder(), compose.SelectType(int)
    ) | OCBClassifier(n_hypotheses=5, grace_period=50)
    for x, y in examples:
        model.learn_one(x, y)
    assert accuracy(model, examples) == 1.0


@pytest.mark.parametrize("value", ["red", np.str_("red"), datetime.date(2024, 1, 31)])
def test_text_where_numbers_were_is_refused(value):
    for model in (OCBClassifier(), fed(stream(100))):
        model.learn_one({"a": 1}, 1)
        with pytest.raises(InputError, match=r"x must hold numbers for 'a', as before; got .*"):
            model.learn_one({"a": value}, 1)
    with pytest.raises(InputError, match=r"x must hold numbers for 'a', as before; got .*"):
        model.predict_one({"a": value})


@pytest.mark.parametrize("value", [[1], 10**400, object()])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(
        InputError, match=r"x must hold numbers, texts or dates; got .* for 'a'. Leave it out"
    ):
        OCBClassifier().learn_one({"a": value}, 1)


def test_infinity_is_refused_and_none_and_nan_are_missing():
    with pytest.raises(InputError, match="x must hold finite numbers; got inf for 'a'"):
        OCBClassifier().learn_one({"a": math.inf}, 1)
    a, b, c = (
        fed([({**x, **hole} if k % 3 == 0 else {**x, "d": 1}, y) for k, (x, y) in enumerate(stream(200))])
        for hole in ({"d": None}, {"d": math.nan}, {})
    )
    assert_same(a, b, [{"a": 0.3, "d": None}, {"a": 0.3}])
    assert_same(a, c, [{"a": 0.3, "d": 1.0}, {"a": 0.3}])


def test_nothing_seen():
    model = OCBClassifier()
    assert model.predict_proba_one({"a": 1}) == {}
    assert model.predict_one({"a": 1}) is None
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_many(frame).tolist() == [None, None]


def test_in_the_grace_period_labels_have_their_frequency():
    model = OCBClassifier(grace_period=50)
    for k in range(10):
        model.learn_one({"a": k}, "no" if k % 5 else "yes")
    assert model.predict_proba_one({"a": 3}) == {"yes": 0.2, "no": 0.8}


def test_two_labels_and_three():
    for n_classes, least in ((2, 0.75), (3, 0.55)):
        model = fed(stream(400, n_classes))
        assert accuracy(model, stream(300, n_classes, seed=1)) > least
        shares = model.predict_proba_one({"a": 0.1, "b": 0.2, "c": 0.0})
        assert set(shares) == set(range(n_classes))
        assert sum(shares.values()) == pytest.approx(1.0)


def test_one_label_for_the_first_thousand():
    model = fed([(x, 0) for x, _ in stream(1000)])
    assert model.predict_proba_one({"a": 5.0}) == {0: 1.0}
    assert model._clf is None
    for k, (x, y) in enumerate(stream(600, seed=2)):
        model.learn_one(x, y)
        assert (model._clf is None) == (k < 30) or model._clf is not None
    assert accuracy(model, stream(300, seed=3)) > 0.75


def test_a_second_label_waits_for_company():
    model = fed([(x, 0) for x, _ in stream(200)])
    model.learn_one({"a": 1.0}, 1)
    assert model._clf is None  # stumps are not learnt from one example of it
    for x, y in stream(40, seed=4):
        model.learn_one(x, y)
    assert model._clf is not None


def test_a_label_that_comes_later():
    model = fed(stream(300))
    model.learn_one({"a": 9.0, "b": 9.0, "c": 0.0}, "new")
    shares = model.predict_proba_one({"a": 0.0, "b": 0.0, "c": 0.0})
    assert 0 < shares["new"] < 0.02
    assert sum(shares.values()) == pytest.approx(1.0)
    rng = np.random.default_rng(5)
    for k, (x, y) in enumerate(stream(300, seed=5)):
        model.learn_one({**x, "a": 9 + rng.normal()} if k % 4 == 0 else x, "new" if k % 4 == 0 else y)
    assert model.predict_one({"a": 9.0, "b": 0.0, "c": 0.0}) == "new"
    assert accuracy(model, stream(200, seed=6)) > 0.6


def test_a_rare_label_is_never_lost():
    """It comes now and then, with other new labels in between; the stumps are found anew for those only."""
    model = fed([({"a": 7.0, "b": 7.0, "c": 7.0}, "rare"), *stream(300)])
    assert "rare" in model._codes or "rare" not in {label for _, label in model._recent}
    for k, (x, y) in enumerate(stream(400, seed=7)):
        model.learn_one(x, "other" if k > 200 and k % 5 == 0 else y)
    assert set(model._codes) == {0, 1, "rare", "other"}
    first = model._clf
    model.learn_one({"a": 7.0, "b": 7.0, "c": 7.0}, "rare")
    for x, y in stream(100, seed=8):
        model.learn_one(x, y)
    assert model._clf is first


def test_features_that_come_and_go():
    rng = random.Random(0)
    examples = [({name: value for name, value in x.items() if rng.random() < 0.8}, y) for x, y in stream(500)]
    model = fed(examples[:250])
    for k, (x, y) in enumerate(examples[250:]):
        model.learn_one({**x, f"new{k}": 1.0}, y)
    assert accuracy(model, examples) > 0.65
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)
    assert sum(model.predict_proba_one({"strange": 3.0}).values()) == pytest.approx(1.0)


def test_examples_without_any_feature():
    model = fed([({}, k % 2) for k in range(200)])
    assert model.predict_proba_one({}) == {0: 0.5, 1: 0.5}


def test_the_order_of_features_means_nothing():
    straight = fed(stream(200))
    turned = fed([(dict(reversed(x.items())), y) for x, y in stream(200)])
    assert_same(straight, turned, [x for x, _ in stream(50, seed=9)])


@pytest.mark.parametrize("cuts", [[], [1], [59, 60, 61], [30, 100, 101, 250], list(range(20, 400, 37))])
@pytest.mark.parametrize("parameters", [{}, {"tail": False, "head": 50}, {"forgetting": 0.99, "head": 10}])
def test_many_at_once_are_one_by_one(cuts, parameters):
    examples = list(stream(400, 3))
    examples = [(x, "late" if k > 150 and k % 11 == 0 else y) for k, (x, y) in enumerate(examples)]
    many = OCBClassifier(n_hypotheses=10, grace_period=60, **parameters)
    frame = pd.DataFrame([x for x, _ in examples])
    labels = pd.Series([y for _, y in examples], dtype=object)
    for start, stop in zip([0, *cuts], [*cuts, 400], strict=True):
        many.learn_many(frame[start:stop], labels[start:stop])
    one = fed(examples, n_hypotheses=10, **parameters)
    assert_same(one, many, [x for x, _ in examples[::7]])
    assert list(many._recent) == list(one._recent)
    table = many.predict_proba_many(frame)
    for i in (0, 200, 399):
        assert table.loc[i].to_dict() == pytest.approx(one.predict_proba_one(examples[i][0]))
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x, _ in examples]


@pytest.mark.parametrize("grace_period", [0, 1, 2.5, None])
def test_a_wrong_grace_period(grace_period):
    with pytest.raises(InputError, match="grace_period must be a whole number of at least 2"):
        OCBClassifier(grace_period=grace_period)


def test_a_clone_starts_anew_with_the_same_settings():
    model = fed(stream(100), forgetting=0.9)
    other = model.clone()
    assert other.forgetting == 0.9
    assert other._clf is None
    assert other.predict_proba_one({"a": 1}) == {}


@pytest.mark.parametrize("label", [None, float("nan")])
def test_labels_that_are_not_known_are_refused(label):
    model = OCBClassifier(grace_period=10)
    with pytest.raises(InputError, match="y must be a label"):
        model.learn_one({"a": 1.0}, label)
    with pytest.raises(InputError, match="y must be a label"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1, label], dtype=object))
    assert model.predict_proba_one({"a": 1.0}) == {}


class TestAdaptive:
    def fed(self, examples, **parameters):
        model = AdaptiveClassifier(**{"n_hypotheses": 10, "seed": 0, **parameters})
        for x, y in examples:
            model.learn_one(x, y)
        return model

    def test_it_is_the_classifier_for_scikit_learn(self):
        model, examples = AdaptiveClassifier(n_hypotheses=10, grace_period=30, seed=0), list(stream(400))
        for x, y in examples[:30]:
            model.learn_one(x, y)
        X, y = np.array([list(x.values()) for x, _ in examples]), np.array([y for _, y in examples])
        own = SklearnAdaptive(n_hypotheses=10, random_state=0).partial_fit(X[:30], y[:30], classes=[0, 1])
        for k in range(30, 400):
            x, label = examples[k]
            assert list(model.predict_proba_one(x).values()) == own.predict_proba_one(X[k]).tolist()
            model.learn_one(x, label)
            own.learn_one(X[k], label)
        assert own.bank_.pool is not None
        assert model._clf.n_waiting_ == own.n_waiting_ == 0

    def test_late_labels(self):
        model, examples = AdaptiveClassifier(n_hypotheses=10, seed=0), list(stream(500))
        for k, (x, _) in enumerate(examples):
            if k > 20:
                model.predict_one(x)
            if k >= 50:
                model.learn_one(*examples[k - 50])
        assert 0 < model._clf.n_waiting_ <= 51

    def test_a_label_that_comes_later(self):
        model = self.fed(stream(300))
        first = model._clf
        model.learn_one({"a": 9.0, "b": 9.0, "c": 0.0}, "new")
        assert 0 < model.predict_proba_one({"a": 0.0, "b": 0.0, "c": 0.0})["new"] < 0.02
        rng = np.random.default_rng(5)
        for k, (x, y) in enumerate(stream(200, seed=5)):
            model.learn_one({**x, "a": 9 + rng.normal()} if k % 4 == 0 else x, "new" if k % 4 == 0 else y)
        assert model._clf is not first
        assert model._clf.n_learnt_ == 501  # from all that it kept
        assert model.predict_one({"a": 9.0, "b": 0.0, "c": 0.0}) == "new"

    def test_nothing_seen_one_label_and_no_features(self):
        assert AdaptiveClassifier().predict_proba_one({"a": 1}) == {}
        assert self.fed([(x, 0) for x, _ in stream(100)]).predict_proba_one({"a": 5.0}) == {0: 1.0}
        assert self.fed([({}, k % 2) for k in range(60)]).predict_proba_one({}) == {0: 0.5, 1: 0.5}

    def test_many_at_once_are_one_by_one(self):
        examples = [(x, "late" if k > 150 and k % 11 == 0 else y) for k, (x, y) in enumerate(stream(300))]
        many = AdaptiveClassifier(n_hypotheses=10, seed=0)
        frame = pd.DataFrame([x for x, _ in examples])
        labels = pd.Series([y for _, y in examples], dtype=object)
        for start, stop in ((0, 100), (100, 230), (230, 300)):
            many.learn_many(frame[start:stop], labels[start:stop])
        one = self.fed(examples)
        assert_same(one, many, [x for x, _ in examples[::7]])

    def test_a_clone_and_wrong_values(self):
        model = self.fed(stream(60), without=["forests"])
        other = model.clone()
        assert other.without == ["forests"]
        assert other._clf is None
        with pytest.raises(InputError, match="without must be some of"):
            self.fed(stream(60), without=["nobody"])
        with pytest.raises(InputError, match="grace_period must be a whole number of at least 2"):
            AdaptiveClassifier(grace_period=1)
        with pytest.raises(InputError, match="y must be a label"):
            model.learn_one({"a": 1.0}, None)


def test_dates_among_moments_do_not_hinder_a_new_start():
    """A label that is new makes it start over from what it has kept."""
    clf = OCBClassifier(n_hypotheses=3, grace_period=10)
    for i in range(20):
        clf.learn_one({"d": datetime.datetime(2024, 1, 1 + i, i), "x": float(i)}, i % 2)
    clf.learn_one({"d": datetime.date(2024, 2, 1), "x": 1.0}, 1)
    with pytest.raises(InputError, match="must hold dates for 'd', as before"):
        clf.learn_one({"d": datetime.time(3), "x": 1.0}, 1)
    for i in range(10):
        clf.learn_one({"d": datetime.datetime(2024, 3, 1 + i), "x": 100.0}, "new")
    assert set(clf.predict_proba_one({"x": 100.0})) == {0, 1, "new"}
