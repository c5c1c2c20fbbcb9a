"""`OCBClassifier(booster=…)`: what it takes, what it refuses, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from ocboost import BoostingSketch, InputError, NotSavableError, OCBClassifier, OzaRussell
from ocboost.boosters import BOOSTERS, Booster, EGPlusMinus, Winnow
from ocboost.boosters.registry import BY_CLASS, named
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS
from ocboost.offsets import LinearOffset

OTHERS = [name for name, each in BOOSTERS.items() if not each.place.endswith(":BoostingSketch")]


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def test_the_defaults_are_those_of_the_classifier():
    assert {name: OCBClassifier().get_params()[name] for name in SKETCH_DEFAULTS} == SKETCH_DEFAULTS
    assert set(SKETCH_DEFAULTS) == set(BoostingSketch.settings)


@pytest.mark.parametrize("setting", [("forgetting", 0.9), ("head", 20), ("smoothing", 2.0), ("tail", False)])
@pytest.mark.parametrize("booster", [*OTHERS, "ocb-window-20", EGPlusMinus(1), BoostingSketch(1)])
def test_settings_of_a_sketch_are_refused_with_any_other(booster, setting):
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4, booster=booster, **dict([setting]))
    with pytest.raises(InputError, match=f"{setting[0]} must be left out with the booster"):
        clf.fit(X, y)


@pytest.mark.parametrize("name", OTHERS)
def test_they_are_refused_later_too(name):
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4, booster=name).fit(X, y)
    before = clf.alpha_[0]
    with pytest.raises(InputError, match="forgetting must be left out"):
        clf.set_params(forgetting=0.9).partial_fit(X, y)
    np.testing.assert_array_equal(clf.alpha_[0], before)
    clf.set_params(forgetting=1.0).partial_fit(X, y)
    with pytest.raises(InputError, match="booster cannot change once the classifier has been fitted"):
        clf.set_params(booster="ocb").partial_fit(X, y)


def test_settings_of_its_own_cannot_change_later():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4, booster=EGPlusMinus(1, rate=0.1)).fit(X, y)
    with pytest.raises(
        InputError, match="settings of EGPlusMinus cannot change once it has learnt; got another rate"
    ):
        clf.set_params(booster=EGPlusMinus(1, rate=0.2)).partial_fit(X, y)
    clf.set_params(booster=EGPlusMinus(9, rate=0.1)).partial_fit(X, y)  # the same in another object


def test_those_of_sketches_can():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4).fit(X, y).set_params(booster="ocb-window-20").partial_fit(X, y)
    assert (clf.boosters_[0].tail, clf.boosters_[0].head) == (False, 20)


def test_a_file_holds_no_booster_that_the_classifier_could_not_have(tmp_path):
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4).fit(X, y)
    for other in ("eg", Winnow(1)):
        with pytest.raises(InputError, match="booster cannot change once the classifier has been fitted"):
            clf.set_params(booster=other).save(tmp_path / "model")
    with pytest.raises(InputError, match="got order"):
        clf.set_params(booster=BoostingSketch(4, order=1)).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_file_holds_a_booster_that_was_set_and_waits_for_the_next_example(tmp_path):
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=4).fit(X, y)
    clf.set_params(booster=BoostingSketch(1, tail=False, head=20)).save(tmp_path / "model")
    loaded = OCBClassifier.load(tmp_path / "model")
    for each in (clf, loaded):
        each.partial_fit(X[:30], y[:30])
    assert loaded.boosters_[0].window_size == 20
    np.testing.assert_array_equal(loaded.alpha_[0], clf.alpha_[0])


@pytest.mark.parametrize("given", ["nothing", "OCB", None, 3, EGPlusMinus, ["eg"]])
def test_what_is_no_booster(given):
    with pytest.raises(InputError, match="booster must be the name of a booster, or an object of"):
        OCBClassifier(n_hypotheses=4, booster=given).fit(*rows())


def test_a_name_nearly_right_is_suggested():
    with pytest.raises(InputError, match="Did you mean 'logistic'"):
        named("logistik")


def test_one_that_has_learnt_is_refused():
    booster = Winnow(4)
    booster.update([1, 1, -1, 1])
    with pytest.raises(InputError, match=r"must be one that has learnt nothing.*has seen 1 examples"):
        OCBClassifier(n_hypotheses=4, booster=booster).fit(*rows())


def test_an_object_is_a_pattern():
    X, y = rows()
    pattern = OzaRussell(1, forgetting=0.9)
    clf = OCBClassifier(n_hypotheses=6, booster=pattern).fit(X, y)
    assert clf.boosters_[0].forgetting == 0.9
    assert clf.boosters_[0].n_hypotheses == 6
    assert (pattern.n_seen, clone(clf).booster is pattern) == (0, False)
    assert clone(clf).booster.forgetting == 0.9


@pytest.mark.parametrize(
    "pattern",
    [
        BoostingSketch(1),
        BoostingSketch(1, head="auto"),
        BoostingSketch(1, memory=20_000),
        BoostingSketch(5, order=3, head=10, keep="newest"),
        BoostingSketch(1, head=15, tail=False, smoothing=0.5),
    ],
    ids=str,
)
def test_a_sketch_as_a_pattern_is_the_same_as_its_settings(pattern, tmp_path):
    X, y = rows()
    settings = pattern.given_settings
    if settings["memory"] is not None:
        settings["head"] = "auto"
    one = OCBClassifier(n_hypotheses=6, booster=clone(OCBClassifier(booster=pattern)).booster).fit(X, y)
    other = OCBClassifier(n_hypotheses=6, **settings).fit(X, y)
    one.save(tmp_path / "one")
    loaded = OCBClassifier.load(tmp_path / "one")
    for each in (one, other, loaded):
        each.partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(one.alpha_[0], other.alpha_[0])
    np.testing.assert_array_equal(one.alpha_[0], loaded.alpha_[0])
    assert isinstance(loaded.booster, BoostingSketch)


@pytest.mark.parametrize("name", OTHERS)
def test_growth_and_offsets_where_they_can_be(name):
    X, y = rows()
    kind = BOOSTERS[name].load()
    growing = OCBClassifier(n_hypotheses=4, booster=name, grow=8, random_state=0)
    if kind.can_grow:
        for _ in range(4):
            growing.partial_fit(*rows(400))
        assert growing.n_grown_ > 0
        assert np.isfinite(growing.alpha_[0]).all()
    else:
        with pytest.raises(InputError, match="grow must be None with the booster"):
            growing.fit(X, y)
    above = OCBClassifier(n_hypotheses=4, booster=name, offset=LinearOffset(np.ones(4), 0.0))
    if kind.can_correct:
        assert above.fit(X, y).score(X, y) > 0.7
    else:
        with pytest.raises(InputError, match="offset must be None with the booster"):
            above.fit(X, y)


def test_the_budget_holds_for_all():
    with pytest.raises(InputError, match="grow must be at least the 12 hypotheses there are"):
        OCBClassifier(n_hypotheses=12, booster="eg", grow=8).fit(*rows())


class Mean(Booster):
    """A booster of somebody's own: the mean margin of each hypothesis."""

    kind = "Mean"
    settings = ()

    def __init__(self, n_hypotheses):
        super().__init__(n_hypotheses)
        self.sums, self.n = np.zeros(n_hypotheses), 0

    @property
    def n_seen(self):
        return self.n

    def _weights(self):
        return self.sums / max(1, self.n)

    @property
    def nbytes(self):
        return self.sums.nbytes

    @property
    def _arrays(self):
        return (self.sums,)

    def _take(self, rows, weights, labels, batch_size):
        self.sums += weights @ rows
        self.n += len(rows)

    def copy(self):
        other = type(self)(self.n_hypotheses)
        other.sums[...], other.n = self.sums, self.n
        return other

    def tree(self):
        raise NotImplementedError

    from_tree = classmethod(tree)


def test_a_booster_of_ones_own(tmp_path):
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=6, booster=Mean(1)).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    margins = clf.hypotheses_.answers(X) * np.where(y == 1, 1, -1)[:, None]
    np.testing.assert_allclose(clf.alpha_[0], margins.mean(axis=0))
    clf.learn_one(X[0], y[0])
    assert clf.score(X, y) > 0.7
    with pytest.raises(NotSavableError, match="booster must be one of ocboost's own to be saved; got Mean"):
        clf.save(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_names_can_be_searched():
    X, y = rows()
    found = GridSearchCV(OCBClassifier(n_hypotheses=5), {"booster": ["ocb", "eg", "oza"]}, cv=2).fit(X, y)
    assert found.best_params_["booster"] in ("ocb", "eg", "oza")


def test_every_kind_of_file_has_one_name():
    assert {each.load() for each in BOOSTERS.values()} == {each.load() for each in BY_CLASS.values()}
    assert all(kind == each.load().kind for kind, each in BY_CLASS.items())
