"""Hypotheses in words, and names of their features."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ocboost.hypotheses import (
    Balls,
    Boxes,
    Callables,
    CascadeStumps,
    Hypotheses,
    Joined,
    Stumps,
    Trees,
    from_sklearn,
)
from ocboost.hypotheses.describe import (
    Condition,
    Feature,
    NamedFeatures,
    features_of,
    in_words,
    path_in_words,
)
from ocboost.streams import Column, Schema

AB = (Feature("a"), Feature("b"))


@pytest.mark.parametrize(
    ("threshold", "left", "missing", "words"),
    [
        (2.5, 1, -1, "a ≤ 2.5"),
        (2.5, 1, 1, "a ≤ 2.5 or missing"),
        (2.5, -1, 1, "a > 2.5"),
        (2.5, -1, -1, "a > 2.5, not missing"),
        (np.inf, 1, 1, "always"),
        (np.inf, -1, -1, "never"),
        (np.inf, 1, -1, "always, unless a is missing"),
        (np.inf, -1, 1, "never, unless a is missing"),
        (-np.inf, 1, -1, "never"),
        (-np.inf, -1, -1, "always, unless a is missing"),
    ],
)
def test_stumps_in_words(threshold, left, missing, words):
    stumps = Stumps([0], [threshold], [left], [missing])
    assert in_words(stumps, [Feature("a")], 0) == words
    yes = stumps.answers(np.array([[2.5], [2.6], [np.nan]]))[:, 0] > 0
    said = {
        "a ≤ 2.5": [True, False],
        "a > 2.5": [False, True],
        "always": [True, True],
        "never": [False, False],
    }
    base = words.split(" or")[0].split(",")[0]
    assert yes[:2].tolist() == said[base]


@pytest.mark.parametrize(("left", "words"), [(1, "carrier is not UA"), (-1, "carrier is UA")])
def test_categories_in_words(left, words):
    stumps = Stumps([1], [0.5], [left])
    assert in_words(stumps, [Feature("x"), Feature("carrier", "UA")], 0) == words


@pytest.mark.parametrize("threshold", [np.inf, -np.inf])
@pytest.mark.parametrize("left", [-1, 1])
def test_a_constant_category(threshold, left):
    stumps = Stumps([0], [threshold], [left])
    words = in_words(stumps, [Feature("carrier", "UA")], 0)
    assert words == {1: "always", -1: "never"}[int(stumps.answers(np.array([[1.0]]))[0, 0])]


class TestTrees:
    TREES = Trees(
        root=[0, 0],
        feature=[0, 1, -1, -1, 0, -1, -1],
        threshold=[1, 5, 0, 0, 3, 0, 0],
        left=[1, 2, -1, -1, 5, -1, -1],
        right=[4, 3, -1, -1, 6, -1, -1],
        answer=[[1, 1], [1, 1], [1, 1], [-1, 1], [1, 1], [1, -1], [-1, -1]],
    )

    def test_ways_to_yes(self):
        assert in_words(self.TREES, AB, 0) == "a ≤ 1 and b ≤ 5, or 1 < a ≤ 3"

    def test_parts_that_agree_are_one(self):
        # The second answer is yes on the left whatever b is, and no on the right whatever a is.
        assert in_words(self.TREES, AB, 2) == "a ≤ 1"

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ([0.5, 2.0], "a ≤ 1 and b ≤ 5"),
            ([0.5, 9.0], "a ≤ 1 and b > 5"),
            ([2.0, 9.0], "1 < a ≤ 3"),
            ([4.0, 9.0], "a > 3"),
            ([np.nan, 9.0], "a is missing"),
            ([0.5, np.nan], "a ≤ 1 and b is missing"),
        ],
    )
    def test_the_path_of_a_row(self, row, words):
        assert path_in_words(self.TREES, AB, 1, np.array(row)) == words

    def test_a_path_ends_where_all_leaves_agree(self):
        assert path_in_words(self.TREES, AB, 3, np.array([0.5, 9.0])) == "a ≤ 1"

    @pytest.mark.parametrize(("answers", "words"), [([1, 1, 1], "always"), ([-1, -1, -1], "never")])
    def test_constant(self, answers, words):
        tree = Trees([0], [0, -1, -1], [2, 0, 0], [1, -1, -1], [2, -1, -1], answers)
        assert in_words(tree, AB, 0) == path_in_words(tree, AB, 0, np.zeros(2)) == words

    def test_many_ways_are_counted(self):
        X = np.random.default_rng(0).normal(size=(300, 2))
        forest = RandomForestClassifier(2, max_depth=6, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
        assert "more ways through the tree" in in_words(from_sklearn(forest), AB, 0)

    def test_infinite_thresholds_are_not_shown(self):
        tree = Trees([0], [0, -1, -1], [np.inf, 0, 0], [1, -1, -1], [2, -1, -1], [-1, 1, -1])
        assert in_words(tree, AB, 0) == "a is not missing"
        assert path_in_words(tree, AB, 0, np.array([np.nan, 0.0])) == "a is missing"

    @pytest.mark.parametrize("precision", ["single", "double"])
    def test_paths_lead_to_the_answer(self, precision):
        rng = np.random.default_rng(1)
        X = np.float64(np.float32(rng.normal(size=(200, 2))))
        forest = from_sklearn(
            RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, X.sum(axis=1) > 0)
        )
        trees = Trees(
            **{**{n: getattr(forest, n) for n in forest._arrays}, "precision": precision, "n_features": 2}
        )
        X[rng.random(X.shape) < 0.1] = np.nan
        answers = trees.answers(X)
        for i, j in itertools.product(range(40), range(3)):
            path = path_in_words(trees, AB, j, X[i])
            same = [path_in_words(trees, AB, j, x) == path for x in X]
            assert (answers[same, j] == answers[i, j]).all()  # one path, one answer
            for name, value in zip("ab", X[i], strict=True):
                if name in path and math.isnan(value):
                    assert f"{name} is missing" in path


def test_conditions_do_not_speak_of_infinity():
    limits = (-math.inf, -1.0, 0.5, 1.0, math.inf)
    for low, high, missing in itertools.product(limits, limits, (False, True)):
        for feature in (Feature("a"), Feature("a", "x")):
            assert "inf" not in Condition(low, high, missing).words(feature).lower()


@pytest.mark.parametrize(
    ("hypotheses", "words"),
    [
        (Balls([[1.0, 2.0]], [0.5]), "at least 0.5 away from (a 1, b 2)"),
        (Balls([[1.0, 2.0]], [0.5], [-1]), "less than 0.5 away from (a 1, b 2)"),
        (Balls([[1.0, 2.0]], [0.0]), "always"),
        (Balls([[1.0, 2.0]], [0.0], [-1]), "never"),
        (Joined([Stumps([0], [1], [1], n_features=2), Stumps([1], [2], [1], n_features=2)])[[1]], "b ≤ 2"),
        (Callables([np.sign], 2), "sign says 1"),
        (Callables([lambda X: np.ones(len(X))], 2), "function 1 says 1"),
        (
            Callables([LogisticRegression().fit([[0, 0], [1, 1]], ["n\x1b", "y\x1b"])], 2),
            "LogisticRegression 1 predicts y\\x1b",
        ),
    ],
)
def test_other_kinds(hypotheses, words):
    assert in_words(hypotheses, AB, 0) == words
    assert path_in_words(hypotheses, AB, 0, np.zeros(2)) == words


def test_balls_of_many_features():
    named = NamedFeatures.of_names([f"x{i}" for i in range(9)])
    assert in_words(Balls(np.ones((1, 9)), [2.0]), named.features, 0).endswith(
        "(x0 1, x1 1, x2 1, … 9 features)"
    )


def test_box_filters():
    rects = [[[0, 0, 1, 2], [1, 0, 1, 2], [0, 0, 0, 0], [0, 0, 0, 0]]]
    boxes = Boxes(rects, [[1, -2, 0, 0]], [0.25], [-1], side=2)
    named = NamedFeatures.of_names([f"x{i}" for i in range(4)])
    assert in_words(boxes, named.features, 0) == "[1×2 at 0, 0] - 2·[1×2 at 1, 0] ≤ 0.25"
    haar = CascadeStumps([[[0, 0, 2, 4], [2, 0, 2, 4], [0, 0, 0, 0]]], [[1, -1, 0]], [0.0], width=4, height=4)
    assert in_words(haar, [], 0) == "[2×4 at 0, 0] - [2×4 at 2, 0] ≥ 0"


def test_an_unknown_kind_is_shown_by_its_repr():
    class Odd(Hypotheses):
        n_hypotheses, n_features = 3, 2

        def __repr__(self):
            return "<odd\x1b[31m>"

        _fill = __getitem__ = tree = from_tree = None

    assert in_words(Odd(), AB, 2) == "hypothesis 3 of odd\\x1b[31m"


class TestNames:
    SCHEMA = Schema((Column("distance"), Column("carrier", "category", ("UA", "B6"))))

    def test_a_schema(self):
        named = NamedFeatures.of_schema(self.SCHEMA)
        assert named.features == (
            Feature("distance", None, 0),
            Feature("carrier", "UA", 1),
            Feature("carrier", "B6", 1),
        )
        assert named.of_columns(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 5.0]
        values = [named.value(1, {1: one, 2: two}) for one, two in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))]
        assert values == ["UA", "B6", "other"]
        assert (named.value(0, {0: 2.5}), named.value(0, {0: np.nan})) == ("2.5", "missing")

    def test_columns_that_the_schema_leaves_out(self):
        named = NamedFeatures.of_schema(self.SCHEMA, ["id", "carrier", "distance"])
        assert [feature.column for feature in named.features] == [2, 1, 1]
        assert named.of_columns(np.ones(3)).tolist() == [0.0, 2.0, 1.0]

    def test_parts_of_a_column(self):
        class Parts:
            name, kind, categories, feature_names = "when", "date", (), ("when.hour", "when.day")

        class Dates:
            columns = (Parts,)

        named = NamedFeatures.of_schema(Dates)
        assert in_words(Stumps([0, 1], [6.0, 2.0], [-1, 1]), named.features, 0) == "when.hour > 6"
        assert named.value(0, {0: 13.0, 1: 2.0}) == "hour 13, day 2"

    def test_names_of_a_classifier(self):
        class Fitted:
            n_features_in_ = 2

        assert features_of(Fitted).columns == ("x0", "x1")
        Fitted.feature_names_in_ = np.array(["p", "q"])
        assert features_of(Fitted).columns == ("p", "q")
        Fitted.schema_ = self.SCHEMA
        assert features_of(Fitted).columns == ("distance", "carrier")

    def test_names_are_escaped(self):
        named = NamedFeatures.of_names(["evil\x1b[31m", "b" * 100])
        assert in_words(Stumps([0], [1.0], [1]), named.features, 0) == "evil\\x1b[31m ≤ 1"
        assert named.title(0) == "evil\\x1b[31m"
        assert len(named.title(1)) == 60
