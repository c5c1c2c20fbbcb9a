"""Settings that change on the way, in orders that nobody planned: what is refused changes nothing."""

import numpy as np
import pytest

from ocboost import BoostingSketch, InputError, ModelFileError, OCBClassifier
from ocboost._core.codec import read
from ocboost.cli.options import MethodOptions, UsageError
from ocboost.estimators.classifier_file import committee_from_tree, committee_tree


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(3)
    return X, (X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=0.7, size=n) > 0).astype(int)


class TestOfAFittedClassifier:
    @pytest.mark.parametrize(
        ("how", "change"),
        [
            ({"head": 50}, {"memory": 7000}),
            ({"memory": 9000}, {"tail": False, "head": 100}),
            ({"keep": "heavy", "head": 50}, {"tail": False}),
            ({"head": 50}, {"head": np.array([1, 2])}),
            ({"head": 50}, {"keep": np.array(["heavy", "newest"])}),
        ],
    )
    def test_what_fit_refuses(self, how, change, tmp_path):
        X, y = rows()
        clf = OCBClassifier(n_hypotheses=8, **how).fit(X[:400], y[:400])
        before, known = clf.alpha_[0], clf.get_params()
        clf.set_params(**change)
        with pytest.raises(InputError):
            clf.partial_fit(X[400:], y[400:])
        np.testing.assert_array_equal(clf.alpha_[0], before)
        clf.set_params(**known).partial_fit(X[400:], y[400:]).save(tmp_path / "a.ocb")
        assert OCBClassifier.load(tmp_path / "a.ocb").boosters_[0].n_seen == 600

    @pytest.mark.parametrize("folded", [False, True])
    def test_from_a_memory_to_a_head_of_one(self, folded, tmp_path):
        X, y = rows()
        clf = OCBClassifier(n_hypotheses=8, memory=2000 if folded else 90_000).fit(X[:400], y[:400])
        clf.set_params(memory=None, head=1).partial_fit(X[400:], y[400:]).save(tmp_path / "a.ocb")
        assert (clf.boosters_[0].keep, clf.boosters_[0].head) == ("newest", 1)
        np.testing.assert_array_equal(OCBClassifier.load(tmp_path / "a.ocb").alpha_[0], clf.alpha_[0])

    @pytest.mark.parametrize("change", [{"tail": False, "head": 800}, {"tail": False}])
    def test_a_window_where_one_class_still_held_all(self, change):
        X, y = rows(1600)
        y = np.where(X[:, 3] > 0.8, 0, y + 1)
        first = np.flatnonzero(y)[:60]  # the class that is not among them has the hypotheses of the others
        clf = OCBClassifier(n_hypotheses=30).partial_fit(X[first], y[first], classes=[0, 1, 2])
        clf.partial_fit(X[:1000], y[:1000])
        assert [booster.n_seen > booster.n_head for booster in clf.boosters_] == [False, True, True]
        before = clf.decision_function(X[1000:])
        clf.set_params(**change).follow_settings()
        np.testing.assert_allclose(clf.decision_function(X[1000:]), before, atol=1e-12)
        right = clf.score(X[1000:], y[1000:])
        clf.partial_fit(X[:1], y[:1])
        assert clf.score(X[1000:], y[1000:]) > right - 0.05

    @pytest.mark.parametrize("how", [{}, {"memory": 3000}, {"head": 60}])
    def test_a_window_can_be_loaded(self, how, tmp_path):
        X, y = rows()
        clf = OCBClassifier(n_hypotheses=8, **how).fit(X[:400], y[:400])
        clf.set_params(tail=False).partial_fit(X[400:450], y[400:450]).save(tmp_path / "a.ocb")
        loaded = OCBClassifier.load(tmp_path / "a.ocb")
        refitted = OCBClassifier(n_hypotheses=8, tail=False, **how).fit(X, y)
        assert loaded.boosters_[0].head == clf.boosters_[0].head == refitted.boosters_[0].head
        for each in (clf, loaded):
            each.partial_fit(X[450:], y[450:])
        np.testing.assert_array_equal(loaded.alpha_[0], clf.alpha_[0])

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_first_examples_of_a_window_do_not_drown_the_votes(self, n_classes):
        X, y = rows(1600)
        y = np.where((X[:, 3] > 0.8) & (n_classes == 3), 2, y)
        clf = OCBClassifier(n_hypotheses=50, head=200).fit(X[:600], y[:600])
        right = clf.score(X[1000:], y[1000:])
        clf.set_params(tail=False, head=200)
        for i in range(600, 640):
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
            assert clf.score(X[1000:], y[1000:]) > right - 0.05

    @pytest.mark.parametrize(
        "change", [{"smoothing": 2.0}, {"head": 300}, {"head": 100}, {"forgetting": 0.9999}, {"tail": True}]
    )
    def test_other_settings_while_a_window_fills(self, change):
        X, y = rows(1600)
        clf = OCBClassifier(n_hypotheses=50, head=200).fit(X[:600], y[:600])
        right = clf.score(X[1000:], y[1000:])
        clf.set_params(tail=False, head=200).partial_fit(X[600:605], y[600:605])
        before = clf.alpha_[0]
        clf.set_params(**change).follow_settings()
        assert abs(clf.alpha_[0] - before).max() < 0.1
        clf.partial_fit(X[605:606], y[605:606])
        assert clf.score(X[1000:], y[1000:]) > right - 0.05

    def test_what_a_window_has_passed_does_not_come_back(self):
        X, y = rows()
        clf = OCBClassifier(n_hypotheses=8, head=60).fit(X[:400], y[:400])
        clf.set_params(tail=False, head=20).partial_fit(X[400:450], y[400:450])
        np.testing.assert_array_equal(clf.alpha_[0], clf.boosters_[0].alpha)
        clf.set_params(head=500).partial_fit(X[450:460], y[450:460])
        np.testing.assert_array_equal(clf.alpha_[0], clf.boosters_[0].alpha)


def test_more_than_there_can_be():
    with pytest.raises(InputError, match="memory must be a whole number of at most 1099511627776"):
        BoostingSketch(5, memory=10**15)


@pytest.mark.parametrize("keep", ["", False, 0, [], {}])
def test_nothing_is_not_a_name(keep):
    X, y = rows()
    with pytest.raises(InputError, match="keep must be 'heavy' or 'newest'"):
        OCBClassifier(n_hypotheses=4, grow=6, keep=keep).fit(X, y)
    sketch = BoostingSketch(3, head=9)
    with pytest.raises(InputError, match="keep must be 'heavy' or 'newest'"):
        sketch.remade(keep=keep)
    committee = OCBClassifier(n_hypotheses=4).fit(X, y).committee_
    tree = committee_tree(committee)
    tree["settings"]["keep"] = keep
    with pytest.raises(ModelFileError, match="settings"):
        read(tree, "a file", lambda fields: committee_from_tree(fields, 2))


def test_a_smaller_memory_leaves_no_room_behind():
    sketch = BoostingSketch(3, memory=20_000)
    sketch.update_many(np.ones((3000, 3)), sample_weight=np.zeros(3000))
    assert sketch.remade(memory=2000).nbytes <= 2000


class TestOptions:
    def test_a_head_of_one_is_the_newest(self):
        assert MethodOptions(head="1").settings() == {"head": 1, "memory": None, "tail": True, "keep": None}
        with pytest.raises(UsageError, match="--head 1 needs the newest examples"):
            MethodOptions(head="1", keep="heavy").settings()

    def test_a_model_that_keeps_heavy_ones_takes_it(self):
        X, y = rows()
        clf = OCBClassifier(n_hypotheses=8, keep="heavy").fit(X[:400], y[:400])
        clf.set_params(**MethodOptions(head="1").settings()).partial_fit(X[400:], y[400:])
        assert (clf.boosters_[0].keep, clf.boosters_[0].head) == ("newest", 1)
