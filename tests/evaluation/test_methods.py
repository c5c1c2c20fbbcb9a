"""The methods of a comparison: their names, what they need, and how they start."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._extras import install_line
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import View, methods
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.contenders import Majority, Retrained
from ocboost.evaluation.external import Imputed
from ocboost.evaluation.first_rows import FirstRows
from ocboost.evaluation.methods import METHODS, methods_named
from tests.support.comparisons import compared, rows_of


class TestMethods:
    def test_every_method_learns_a_small_stream(self):
        pytest.importorskip("river")
        found = compared(260, seeds=(0,), names="all", hypotheses=5, start=50)
        assert [run.method for run in found.runs] == list(METHODS)
        assert not found.skipped
        for run in found.runs:
            assert run.standing.name == METHODS[run.method].title
            assert 0.3 < run.standing.metrics["accuracy"] <= 1.0, run.method
            assert run.standing.role == METHODS[run.method].role
            assert run.standing.deployable == METHODS[run.method].deployable

    def test_every_method_takes_three_classes_and_gaps(self):
        pytest.importorskip("river")
        X, y = rows_of(260, classes=3)
        X[::5, 1] = np.nan
        found = compare_methods(batches_of(X, y), methods_named("all"), seeds=(1,), hypotheses=4, start=50)
        assert [run.method for run in found.runs] == list(METHODS)

    def test_names(self):
        assert [m.name for m in methods_named("eg, ocb,eg")] == ["eg", "ocb"]
        assert [m.name for m in methods_named("all")] == list(METHODS)
        usual = [m.name for m in methods_named("usual")]
        assert usual == [name for name, method in METHODS.items() if method.usual]
        assert "majority" in usual
        with pytest.raises(
            InputError, match=r"got 'ocb-forgeting'\. Did you mean ocb-forgetting\? There are ad"
        ):
            methods_named("ocb,ocb-forgeting")
        with pytest.raises(InputError, match=r"got 'xyz'\. There are adaptive"):
            methods_named("xyz")
        with pytest.raises(InputError, match="got none"):
            methods_named(",")

    def test_titles_are_different(self):
        assert len({method.title for method in METHODS.values()}) == len(METHODS)
        assert all(method.about for method in METHODS.values())
        assert not [m.name for m in METHODS.values() if m.about.startswith("the same")]  # as which?

    def test_without_river(self, monkeypatch):
        monkeypatch.setattr(methods, "find_spec", lambda name: None)
        assert install_line("river") in METHODS["forest"].refuses(3)
        assert METHODS["ocb"].refuses(3) is None
        with pytest.raises(MissingExtraError, match="The method 'forest'"):
            METHODS["forest"].require()
        assert set(compared(300, names="static,hoeffding").skipped) == {"hoeffding"}


class TestRetrained:
    def test_it_is_what_was_learnt_from_the_last_rows(self):
        X, y = rows_of(400)
        start = FirstRows(X[:100], y[:100], [0, 1], hypotheses=6)
        contender = Retrained(start, rows=150, every=60, name="retrained")
        contender.learn(View.of(X[100:159], y[100:159]))
        assert contender.classifier is start.classifier
        contender.learn(View.of(X[159:230], y[159:230]))  # trained after rows 160 and 220
        expected = OCBClassifier(n_hypotheses=6, random_state=0).fit(X[70:220], y[70:220])
        view = View.of(X[300:], y[300:])
        np.testing.assert_allclose(contender.predict(view), expected.predict_proba(X[300:]))
        assert contender.nbytes == 230 * (4 * 8 + 8 + 8) + 6 * 8  # rows leave in blocks of 256

    def test_one_class_leaves_it_as_it_is(self):
        X, y = rows_of(200)
        start = FirstRows(X[:100], y[:100], [0, 1], hypotheses=6)
        contender = Retrained(start, rows=20, every=20, name="retrained")
        contender.learn(View.of(X[100:160], np.ones(60, np.int64)))
        assert contender.classifier is start.classifier


def test_gaps_are_filled_with_the_means():
    witness = Majority("witness")
    seen = []
    witness.predict = lambda view: seen.append(view.X) or np.full((len(view), 2), 0.5)
    filled = Imputed(witness, np.array([7.0, 9.0]))
    filled.predict(View.of(np.array([[np.nan, 1.0], [2.0, np.nan]]), np.array([0, 1])))
    np.testing.assert_array_equal(seen[0], [[7, 1], [2, 9]])
