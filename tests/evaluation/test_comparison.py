"""How methods are compared: the first rows, then each row predicted and learnt."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from ocboost.errors import InputError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation.board import Board
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.contenders import Contender
from ocboost.evaluation.first_rows import FirstRows, rows_of_seed
from ocboost.evaluation.methods import Method, methods_named
from tests.support.comparisons import QUICK, SMALL, compared, rows_of


class Witness(Contender):
    """Remembers what it was shown."""

    def __init__(self, start):
        super().__init__("witness")
        self.start = start
        self.predicted, self.learnt = [], []

    def predict(self, view):
        self.predicted += view.rows.tolist()
        return np.full((len(view), 2), 0.5)

    def learn(self, view):
        self.learnt += view.rows.tolist()


def witnessed(X, y, **changes):
    """The witness of each seed of a run."""
    seen = []

    def make(start, title):
        seen.append(Witness(start))
        return seen[-1]

    method = Method("witness", "witness", "", "features", make, package="numpy")
    settings = {"hypotheses": 4, "start": 100, "seeds": (0, 1), **changes}
    return compare_methods(batches_of(X, y), [method], **settings), seen


class TestProtocol:
    def test_the_start_is_learnt_and_the_rest_predicted_then_learnt(self):
        X, y = rows_of(600)
        found, (first, second) = witnessed(X, y)
        assert found.start == 100
        for witness in (first, second):
            assert witness.predicted == witness.learnt == list(range(100, 600))
        np.testing.assert_array_equal(first.start.X, X[:100])
        np.testing.assert_array_equal(first.start.codes, y[:100])
        assert len(second.start.X) == 80
        held = {row.tobytes() for row in X[:100]}
        assert all(row.tobytes() in held for row in second.start.X)

    def test_at_most_a_fifth(self):
        X, y = rows_of(600)
        found, _ = witnessed(X, y, start=None)
        assert found.start == 120
        assert found.result.n_scored == 480
        assert found.result.notes == []

    def test_a_start_that_is_asked_for(self):
        X, y = rows_of(600)
        for start in (300, 540):
            found, _ = witnessed(X, y, start=start)
            assert (found.start, found.result.n_scored) == (start, 600 - start)
            assert found.result.notes == []
        found, _ = witnessed(X, y, start=2_000)
        assert found.start == 540
        assert found.result.notes == [
            "The start is 540 rows, nine tenths of the stream; 2,000 were asked for."
        ]

    def test_a_step_as_long_as_the_stream(self):
        assert "predicted in one step" in compared(300, names="oza", step=200).result.notes[0]
        assert compared(300, names="oza", step=199).result.notes == []

    def test_rows_without_labels_are_not_learnt(self):
        X, y = rows_of(600)
        known = np.ones(600, bool)
        known[::7] = False
        batches = [SimpleNamespace(X=X, y=y, known=known, first=0)]
        found = compare_methods(batches, methods_named("static"), seeds=(0,), **SMALL)
        expected = OCBClassifier(n_hypotheses=8, random_state=0).fit(
            X[:100][known[:100]], y[:100][known[:100]]
        )
        score = expected.score(X[100:][known[100:]], y[100:][known[100:]])
        assert found.runs[0].standing.metrics["accuracy"] == pytest.approx(score)
        assert found.result.notes == ["86 rows have no label: not learnt, and not scored."]

    def test_how_the_stream_is_cut_makes_no_difference(self):
        X, y = rows_of(500)
        cut = [SimpleNamespace(X=X[a : a + 37], y=y[a : a + 37]) for a in range(0, 500, 37)]
        one = compared(500)
        other = compare_methods(cut, methods_named(QUICK), seeds=(0, 1), **SMALL)
        for a, b in zip(one.runs, other.runs, strict=True):
            assert (a.method, a.seed) == (b.method, b.seed)
            assert a.standing.metrics == b.standing.metrics
            assert a.standing.confusion == b.standing.confusion

    def test_one_pass_or_one_for_each_seed(self):
        together = Board.of("toy", [compared(seeds=(0, 1))])
        apart = Board.of("toy", [compared(seeds=(0,)), compared(seeds=(1,))])
        assert [p.values for p in together.entries] == [p.values for p in apart.entries]
        assert [p.ranks for p in together.entries] == [p.ranks for p in apart.entries]
        assert [p.curves for p in together.entries] == [p.curves for p in apart.entries]
        assert together.seeds == apart.seeds == [0, 1]

    def test_rows(self):
        assert compared(600, rows=300, start=None).result.n_scored == 240  # a fifth of 300 to begin with

    def test_a_class_that_comes_late(self):
        X, y = rows_of(600)
        y[300::10] = 2
        found = compare_methods(batches_of(X, y), methods_named("ocb,oza"), seeds=(0, 1), **SMALL)
        assert found.result.classes == [0, 1, 2]

    def test_sparse_rows_skip_those_that_are_too_slow(self):
        X, y = rows_of(500)
        wide = sparse.hstack([sparse.csr_matrix(X), sparse.csr_matrix((500, 1500))], format="csr")
        names = "static,ocb-window-20,retrained,hoeffding,oza-bayes"
        found = compare_methods(batches_of(wide, y), methods_named(names), seeds=(0, 1), **SMALL)
        expected = {"hoeffding": "too slow on 1,504 features", "oza-bayes": "too slow on 1,504 features"}
        assert found.skipped == expected
        dense = compare_methods(
            batches_of(X, y), methods_named("static,ocb-window-20"), seeds=(0, 1), **SMALL
        )
        for run in dense.runs:
            match = next(r for r in found.runs if (r.method, r.seed) == (run.method, run.seed))
            assert match.standing.metrics == run.standing.metrics

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"seeds": ()}, "seeds must be at least one"),
            ({"seeds": (1, 1)}, "each another"),
            ({"seeds": (-1,)}, "seeds must be"),
            ({"start": 1}, "start must be"),
            ({"hypotheses": 0}, "hypotheses must be"),
            ({"rows": 0}, "rows must be"),
            ({"rows": 9}, "at least 10 rows"),
            ({"step": 0}, "step must be"),
            ({"window": 0}, "window must be"),
        ],
    )
    def test_bad_settings(self, changes, said):
        with pytest.raises(InputError, match=said):
            compared(300, names="static", **changes)

    def test_nobody(self):
        with pytest.raises(InputError, match="at least one"):
            compare_methods([], [])

    def test_nobody_can(self):
        X, y = rows_of(300)
        wide = np.hstack([X, np.zeros((300, 1500))])
        with pytest.raises(InputError, match=r"no method can take part: hoeffding: too slow"):
            compare_methods(batches_of(wide, y), methods_named("hoeffding"), **SMALL)

    def test_one_class_at_first(self):
        X, y = rows_of(600)
        y[:110], y[110] = 1, 0
        text = (
            r"first 100 rows must hold at least two classes; they hold 1\. Take more .*--start: .* row 111\."
        )
        with pytest.raises(InputError, match=text):
            compare_methods(batches_of(X, y), methods_named("static"), **SMALL)
        compare_methods(batches_of(X, y), methods_named("static"), **{**SMALL, "start": 115})
        y[:150], y[150] = 1, 0
        with pytest.raises(
            InputError, match=r"first 120 rows .*--start: the second one first appears in row 151\."
        ):
            compare_methods(batches_of(X, y), methods_named("static"), hypotheses=8)
        compare_methods(batches_of(X, y), methods_named("static"), hypotheses=8, start=151)
        y[:550], y[550] = 1, 0
        text = r"row 551, and nine tenths of the stream, 540 rows, are the most to begin with: mix its rows"
        for start in (100, 540, 5000):  # more would not help
            with pytest.raises(InputError, match=text):
                compare_methods(batches_of(X, y), methods_named("static"), **{**SMALL, "start": start})

    def test_rows_without_a_label_are_no_class(self):
        X, y = rows_of(600)
        y[:110], y[110] = 1, 0
        y[3], known = 0, np.arange(600) != 3
        batch = SimpleNamespace(X=X, y=y, known=known, first=7)
        with pytest.raises(InputError, match=r"the second one first appears in row 111\."):
            compare_methods([batch], methods_named("static"), **SMALL)

    def test_one_class_throughout(self):
        X, y = rows_of(600)
        with pytest.raises(InputError, match=r"they hold 1\. The whole stream holds no other: is the label"):
            compare_methods(batches_of(X, 0 * y), methods_named("static"), **SMALL)
        X = np.zeros((12_000, 1))  # more than is looked at
        with pytest.raises(InputError, match=r"they hold 1\. Take more with --start\.$"):
            compare_methods(batches_of(X, np.zeros(12_000, int)), methods_named("static"), **SMALL)

    def test_numbers_are_no_classes(self):
        X, y = rows_of(600)
        with pytest.raises(InputError, match=r"must hold classes; it holds numbers with fractions: .*column"):
            compare_methods(batches_of(X, X[:, 0]), methods_named("static"), **SMALL)
        with pytest.raises(
            InputError, match=r"each in several rows; it holds 600 values in 600 rows: 0, 1, 2"
        ):
            compare_methods(batches_of(X, np.arange(600)), methods_named("majority"), **SMALL)
        compare_methods(batches_of(X, y.astype(float)), methods_named("static"), **SMALL)

    def test_no_labels(self):
        with pytest.raises(InputError, match="must have labels"):
            compare_methods([SimpleNamespace(X=np.zeros((50, 2)), y=None)], methods_named("static"))


class TestStart:
    def test_seeds_take_other_rows_in_their_order(self):
        codes = np.repeat([0, 1], 50)
        assert rows_of_seed(codes, 0).tolist() == list(range(100))
        one, two = rows_of_seed(codes, 1), rows_of_seed(codes, 2)
        assert len(one) == len(two) == 80
        assert (np.diff(one) > 0).all()
        assert one.tolist() != two.tolist()
        assert one.tolist() == rows_of_seed(codes, 1).tolist()

    def test_no_class_is_lost(self):
        codes = np.zeros(100, np.int64)
        codes[3] = 1
        assert all(3 in rows_of_seed(codes, seed) for seed in range(40))

    def test_means_of_what_is_known(self):
        X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
        assert FirstRows(X, np.array([0, 1, 0]), [0, 1]).means.tolist() == [2.0, 0.0]
