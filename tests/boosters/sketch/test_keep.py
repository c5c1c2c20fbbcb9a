"""Which examples a booster keeps unless someone says: by its other settings, everywhere they are given."""

import numpy as np
import pytest
from sklearn.base import clone

from ocboost import BoostingSketch, Growth, InputError, OCBClassifier
from ocboost.boosters.sketch.settings import automatic_memory


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(3)
    return X, (X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=0.7, size=n) > 0).astype(int)


def fitted(n=400, **how):
    X, y = rows()
    return OCBClassifier(n_hypotheses=8, random_state=0, **how).fit(X[:n], y[:n])


class TestDefault:
    @pytest.mark.parametrize(
        ("how", "keep"),
        [
            ({}, "newest"),  # head=1: the paper's algorithm
            ({"head": 2}, "heavy"),
            ({"head": "auto"}, "heavy"),
            ({"memory": 5000}, "heavy"),
            ({"head": 30, "tail": False}, "newest"),
            ({"head": 30, "order": 8}, "newest"),  # also if it is the full one
            ({"head": 30, "correction": "theorem"}, "newest"),
            ({"memory": 5000, "order": 2}, "newest"),
            ({"head": 30, "keep": "newest"}, "newest"),
        ],
    )
    def test_of_a_sketch(self, how, keep):
        assert BoostingSketch(8, **how).keep == keep

    @pytest.mark.parametrize(
        ("how", "keep"),
        [
            ({}, "heavy"),
            ({"head": 50}, "heavy"),
            ({"memory": 4000}, "heavy"),
            ({"head": 1}, "newest"),
            ({"order": 2}, "newest"),
            ({"tail": False, "head": 50}, "newest"),
            ({"correction": "own"}, "newest"),
            ({"grow": 12}, "newest"),
            ({"grow": 12, "memory": 4000}, "newest"),
            ({"keep": "newest"}, "newest"),
        ],
    )
    def test_of_a_classifier(self, how, keep, tmp_path):
        clf = fitted(**how)
        assert [booster.keep for booster in clf.boosters_] == [keep]
        clf.save(tmp_path / "a.ocb")
        loaded = OCBClassifier.load(tmp_path / "a.ocb")
        assert (loaded.keep, loaded.memory) == (how.get("keep"), how.get("memory"))
        X, y = rows(300, 1)
        for each in (clf, loaded):
            each.partial_fit(X, y)
        assert (clf.alpha_[0] == loaded.alpha_[0]).all()
        assert clone(clf).get_params() == clf.get_params()

    def test_automatic_head_has_the_same_bytes(self):
        sketch = BoostingSketch(40, head="auto")
        assert sketch.memory == automatic_memory(40)


class TestAgainst:
    @pytest.mark.parametrize(
        "how",
        [
            {"head": 1},
            {"head": 30, "tail": False},
            {"head": 30, "order": 8},
            {"head": 30, "correction": "own"},
        ],
    )
    def test_heavy_with_what_it_cannot_be(self, how):
        with pytest.raises(InputError, match="keep='heavy' needs"):
            BoostingSketch(8, keep="heavy", **how)
        with pytest.raises(InputError, match="keep='heavy' needs"):
            fitted(keep="heavy", **how)

    def test_heavy_and_growing(self):
        with pytest.raises(InputError, match="keep must be 'newest' where hypotheses come and go"):
            fitted(keep="heavy", grow=12)

    @pytest.mark.parametrize("keep", ["last", 3, ["heavy"]])
    def test_unknown(self, keep):
        with pytest.raises(InputError, match="keep must be 'heavy' or 'newest'"):
            fitted(keep=keep)

    def test_head_and_memory(self):
        with pytest.raises(InputError, match="head and memory exclude each other"):
            fitted(head=50, memory=5000)
        with pytest.raises(InputError, match="head and memory exclude each other"):
            BoostingSketch(8, head="auto", memory=5000)

    def test_memory_too_small(self):
        with pytest.raises(InputError, match="memory must be at least"):
            fitted(memory=10)


class TestMemory:
    @pytest.mark.parametrize("keep", ["heavy", "newest"])
    @pytest.mark.parametrize("memory", [2500, 6000, 20_001])
    def test_holds(self, keep, memory):
        clf = fitted(memory=memory, keep=keep)
        X, y = rows(3000, 2)
        clf.partial_fit(X, y)
        spare = 0 if keep == "heavy" else 2 * 64 * 20  # a ring begins and ends within a block
        assert clf.boosters_[0].nbytes <= memory + spare

    def test_of_a_budget_that_grows(self):
        clf = fitted(memory=6000, grow=Growth(20, sample=20, test=5, delta=1.0))
        X, y = rows(3000, 2)
        clf.partial_fit(X, y)
        assert clf.n_grown_ > 0
        assert clf.boosters_[0].nbytes <= 6000 + 2 * 64 * 20


class TestChanges:
    """What `set_params` makes of a classifier whose first examples have left the head."""

    def test_another_size(self):
        clf = fitted(memory=2500)
        before = clf.alpha_[0]
        clf.set_params(memory=None, head=60).follow_settings()
        assert clf.boosters_[0].keep == "heavy"
        assert clf.boosters_[0].head == 60
        np.testing.assert_allclose(clf.alpha_[0], before, atol=0.05)
        clf.set_params(head="auto", memory=9000).follow_settings()
        assert clf.boosters_[0].memory == 9000

    def test_newest_stay_newest(self):
        clf = fitted(head=1)
        clf.set_params(head=60).follow_settings()
        assert clf.boosters_[0].keep == "newest"
        clf.set_params(keep="heavy")
        with pytest.raises(
            InputError, match="keep can change from 'newest' to 'heavy' only while nothing has been folded"
        ):
            clf.follow_settings()

    @pytest.mark.parametrize("how", [{"head": 1}, {"keep": "newest"}, {"grow": 14}])
    def test_heavy_become_newest(self, how, tmp_path):
        clf = fitted(head=60)
        assert clf.boosters_[0].n_head < 400
        before = clf.alpha_[0]
        clf.set_params(**how).follow_settings()
        assert clf.boosters_[0].keep == "newest"
        np.testing.assert_allclose(clf.alpha_[0], before, atol=0.05)
        clf.save(tmp_path / "a.ocb")
        X, y = rows(300, 1)
        loaded = OCBClassifier.load(tmp_path / "a.ocb")
        for each in (clf, loaded):
            each.partial_fit(X, y)
        assert clf.boosters_[0].n_seen == 700
        assert (clf.alpha_[0] == loaded.alpha_[0]).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_heavy_become_a_window(self, n_classes, tmp_path):
        """It votes as before, and less so the more of the window has come."""
        X, y = rows(900)
        y = y + (X[:, 2] > 0.8) * (n_classes - 2)
        clf = OCBClassifier(n_hypotheses=8, random_state=0, head=60).fit(X[:400], y[:400])
        before, votes = clf.alpha_, clf.decision_function(X)
        clf.set_params(tail=False, head=100).follow_settings()
        assert (clf.decision_function(X) == votes).all()
        assert (
            clf.predict(X)
            == clf.classes_[np.atleast_2d(votes.T).T.argmax(1) if votes.ndim > 1 else (votes > 0).astype(int)]
        ).all()
        clf.partial_fit(X[400:450], y[400:450])
        for k, booster in enumerate(clf.boosters_):
            assert booster.n_seen == 450
            assert booster.n_head == 50
            np.testing.assert_allclose(clf.alpha_[k], 0.5 * booster.alpha + 0.5 * before[k])
        clf.save(tmp_path / "a.ocb")
        loaded = OCBClassifier.load(tmp_path / "a.ocb")
        for each in (clf, loaded):
            each.partial_fit(X[450:], y[450:])
        window = OCBClassifier(clf.hypotheses_, tail=False, head=100, keep="newest")
        for k, booster in enumerate(clf.boosters_):
            assert (clf.alpha_[k] == booster.alpha).all()
            assert (loaded.alpha_[k] == booster.alpha).all()
        if n_classes == 2:
            window.partial_fit(X[-100:], y[-100:], classes=[0, 1])
            np.testing.assert_allclose(clf.alpha_[0], window.alpha_[0])

    def test_a_window_that_holds_all_there_is(self):
        """Nothing has left: the window begins with the last examples."""
        clf = fitted(100, head=200)
        own = fitted(100, tail=False, head=40)
        clf.set_params(tail=False, head=40).follow_settings()
        assert (clf.alpha_[0] == own.alpha_[0]).all()
