"""What an exported model takes and gives, what it says of itself, and what is refused."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from ocboost import AdaptiveClassifier, InputError, MissingExtraError, OCBClassifier
from ocboost.estimators.committee import probabilities
from ocboost.estimators.onnx import graph
from ocboost.estimators.onnx.export import export_onnx
from ocboost.estimators.onnx.scores import turning_point
from ocboost.hypotheses import Callables, CascadeStumps, Hypotheses, Joined, Stumps
from ocboost.offsets import GivenOffset, LinearOffset, ScaledOffset, VotedOffset, fit_offset
from ocboost.streams import Column, Schema
from tests.contracts.examples import is_hinted, rows
from tests.support.onnx_runs import answered, assert_same, session, weighing


def small(K=2):
    X, y = rows(120, K)
    return OCBClassifier(n_hypotheses=8).fit(X, y), X


class TestOffsets:
    @pytest.mark.parametrize("F", [1, 7, 8, 9, 20, 128, 129, 300])
    def test_a_linear_score_of_any_size(self, F):
        """NumPy adds eight sums side by side, and halves what is longer than 128."""
        rng = np.random.default_rng(F)
        X = rng.normal(size=(200, F)) * 10 ** rng.uniform(-2, 2, (200, F))
        offset = LinearOffset(rng.normal(size=F) * 1e-3, 0.3)
        clf = OCBClassifier.from_offset(offset, Stumps([0], [0.0], [1], n_features=F), classes=[0, 1])
        assert_same(clf, X)

    @pytest.mark.parametrize("K", [2, 3])
    def test_a_fitted_linear_model_on_another_scale(self, K):
        X, y = rows(260, K)
        linear = LinearOffset.from_sklearn(LogisticRegression().fit(X[:100], y[:100]))
        clf = OCBClassifier(n_hypotheses=6, offset=fit_offset(linear, X[:100], y[:100])).fit(X, y)
        assert isinstance(clf.committee_.offset, ScaledOffset)
        assert_same(clf, X)

    @pytest.mark.parametrize("shape", [(), (3,)])
    def test_votes_of_other_hypotheses(self, shape):
        rng = np.random.default_rng(0)
        made = Stumps([0, 1, 2], [0.0, 0.1, 0.2], [1, -1, 1], n_features=4)
        offset = VotedOffset(made, rng.normal(size=(*shape, 3)), rng.normal(size=shape))
        X, y = rows(200, 3 if shape else 2)
        clf = OCBClassifier(n_hypotheses=5, offset=offset).fit(X, y)
        assert_same(clf, X)
        scaled = ScaledOffset(offset, rng.normal(size=shape), rng.normal(size=shape))
        assert_same(OCBClassifier(made, offset=scaled).fit(X, y), X)

    def test_python_code_is_refused_by_name(self):
        for offset in (lambda X: X[:, 0], ScaledOffset(GivenOffset(np.ravel), 1.0)):
            clf = OCBClassifier.from_offset(offset, Stumps([0], [0.0], [1], n_features=4), classes=[0, 1])
            with pytest.raises(InputError, match="got GivenOffset") as caught:
                clf.to_onnx()
            assert is_hinted(caught.value)


class TestLabels:
    @pytest.mark.parametrize(
        ("classes", "kind"),
        [
            ([3, -7], np.int64),
            (np.array([5, 250], np.uint8), np.int64),
            ([False, True], np.bool_),
            ([1.0, 3.0], np.float64),
            (["late", "früh"], object),
            (np.array(["a", "b, c", ""], dtype=object), object),
        ],
    )
    def test_are_the_classes(self, classes, kind):
        alphas = [[1.0, 0.5]] if len(classes) == 2 else [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
        clf = weighing(Stumps([0, 0], [0.0, 1.0], [1, -1]), alphas, classes)
        X = np.array([[-1.0], [0.5], [2.0]])
        label = answered(clf.to_onnx(), X)[0]
        assert label.dtype == kind
        assert label.tolist() == clf.predict(X).tolist()

    @pytest.mark.parametrize("classes", [["a", None], [1, "a"], ["a", "\ud800"]])
    def test_classes_that_onnx_does_not_have(self, classes):
        clf = weighing(Stumps([0], [0.0], [1]), [1.0])
        clf.classes_ = np.array(classes, dtype=object)
        with pytest.raises(InputError, match="classes must be whole numbers") as caught:
            clf.to_onnx()
        assert is_hinted(caught.value)

    @pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9, 1.0])
    def test_a_threshold_decides(self, threshold):
        clf, X = small()
        clf.threshold = threshold
        label, shares, _ = answered(clf.to_onnx(), X)
        np.testing.assert_array_equal(label, clf.predict_proba(X)[:, 1] >= threshold)
        np.testing.assert_allclose(shares, clf.predict_proba(X), rtol=1e-12)

    def test_a_threshold_that_is_a_probability_of_a_row(self):
        clf, X = small()
        for share in clf.predict_proba(X)[:5, 1]:
            clf.threshold = float(share)
            label = answered(clf.to_onnx(), X)[0]
            np.testing.assert_array_equal(label, clf.predict_proba(X)[:, 1] >= share)

    @pytest.mark.parametrize("threshold", [1e-9, 0.1, 0.5, 0.77, 1 - 1e-12])
    def test_the_score_of_a_threshold_is_the_smallest(self, threshold):
        low, high, at = turning_point(lambda p: p[:, 1] >= threshold)
        below, here = probabilities(np.array([np.nextafter(at, -np.inf), at]))[:, 1]
        assert (low, high) == (0, 1)
        assert below < threshold <= here

    def test_costs_that_turn_the_classes_round(self):
        clf, X = small()
        clf.costs = [[1.0, 0.0], [0.0, 3.0]]
        label = answered(clf.to_onnx(), X)[0]
        np.testing.assert_array_equal(label, clf.predict_proba(X)[:, 1] <= 0.25)
        assert 0 < label.sum() < len(X)

    def test_costs_of_which_one_class_is_always_the_cheapest(self):
        clf, X = small()
        for costs, only in (([[0.0, 1.0], [0.0, 1.0]], 0), ([[1.0, 0.0], [1.0, 0.0]], 1)):
            clf.costs = costs
            assert set(answered(clf.to_onnx(), X)[0].tolist()) == {only}

    @pytest.mark.parametrize("K", [2, 3])
    def test_costs_decide(self, K):
        clf, X = small(K)
        costs = np.arange(1.0, 1.0 + K * K).reshape(K, K) * (1 - np.eye(K))
        clf.costs = costs.tolist()
        label = answered(clf.to_onnx(), X)[0]
        expected = (clf.predict_proba(X) @ costs).argmin(axis=1)
        assert len(np.unique(expected)) > 1
        np.testing.assert_array_equal(label, expected)

    @pytest.mark.parametrize("K", [2, 3])
    @pytest.mark.parametrize(
        "settings",
        [
            {"class_weight": {0: 3.0}},
            {"class_weight": {0: 0.0, 1: 2.0}},
            {"class_weight": "balanced"},
            {"costs": {(0, 1): 4.0}},
            {"costs": {(0, 1): 4.0}, "class_weight": {1: 2.5}},
            {"threshold": 0.4, "class_weight": {1: 2.5}},
        ],
    )
    def test_whatever_decides(self, settings, K):
        if K == 3 and "threshold" in settings:
            settings = {}
        clf, X = small(K)
        assert_same(clf.set_params(**settings), X)


class TestModel:
    def test_versions_are_as_low_as_can_be(self):
        model = small()[0].to_onnx()
        assert model.ir_version == 7
        assert [(each.domain, each.version) for each in model.opset_import] == [("", 13)]

    @pytest.mark.parametrize("K", [2, 3])
    def test_inputs_and_outputs(self, K):
        run = session(small(K)[0].to_onnx())
        assert [(i.name, i.type, i.shape) for i in run.get_inputs()] == [("X", "tensor(double)", ["N", 4])]
        assert [(o.name, o.type, o.shape) for o in run.get_outputs()] == [
            ("label", "tensor(int64)", ["N"]),
            ("probabilities", "tensor(double)", ["N", K]),
            ("scores", "tensor(double)", ["N"] if K == 2 else ["N", K]),
        ]

    def test_the_same_model_is_the_same_bytes(self, tmp_path):
        clf, _ = small(3)
        path = tmp_path / "model.onnx"
        model = clf.to_onnx(path)
        clf.save(tmp_path / "model.ocb")
        again = OCBClassifier.load(tmp_path / "model.ocb").to_onnx()
        assert path.read_bytes() == model.SerializeToString() == again.SerializeToString()
        assert [p.name for p in tmp_path.iterdir() if p.suffix == ".tmp"] == []

    def test_large_models_are_small_files(self):
        J = 20_000
        rng = np.random.default_rng(0)
        made = Stumps(rng.integers(50, size=J), rng.normal(size=J), np.ones(J, int), n_features=50)
        size = len(weighing(made, rng.normal(size=J)).to_onnx().SerializeToString())
        assert size < J * (4 + 3 * 8) + 4000  # a feature, a threshold, α and -α

    def test_says_the_names_of_its_features_and_classes(self):
        pd = pytest.importorskip("pandas")
        X, y = rows(120)
        clf = OCBClassifier(n_hypotheses=3).fit(
            pd.DataFrame(X, columns=list("abcd")), np.where(y, "ja", "nö")
        )
        known = {each.key: json.loads(each.value) for each in clf.to_onnx().metadata_props}
        assert known["classes"] == ["ja", "nö"]
        assert known["features"] == ["a", "b", "c", "d"]
        assert [each.key for each in small()[0].to_onnx().metadata_props] == ["classes"]

    def test_nothing_is_left_where_it_cannot_be_written(self, tmp_path):
        clf, _ = small()
        with pytest.raises(FileNotFoundError):
            clf.to_onnx(tmp_path / "no" / "model.onnx")
        with pytest.raises(IsADirectoryError):
            clf.to_onnx(tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestColumns:
    SCHEMA = Schema((Column("n"), Column("c", "category", ("UA", "ü", "B6")), Column("m")), "y", "integer")

    def made(self):
        rng = np.random.default_rng(0)
        X = np.zeros((200, 5))
        X[:, 0], X[:, 4] = rng.normal(size=(2, 200)).round(1)
        X[::9, 4] = np.nan
        codes = rng.integers(0, 4, 200)
        X[codes < 3, 1 + codes[codes < 3]] = 1.0
        y = (X[:, 0] + X[:, 1] - X[:, 3] > 0).astype(int)
        texts = np.array([*self.SCHEMA.columns[1].categories, "other"], dtype=object)[codes]
        return OCBClassifier(n_hypotheses=12).fit(X, y), X, texts

    def test_texts_become_features_inside_the_model(self):
        clf, X, texts = self.made()
        expected = clf.decision_function(X)
        clf.schema_ = self.SCHEMA
        model = clf.to_onnx(raw=True)
        onnx.checker.check_model(model, full_check=True)
        found = session(model).run(["scores"], {"n": X[:, :1], "c": texts[:, None], "m": X[:, 4:]})[0]
        np.testing.assert_array_equal(found, expected)
        assert [(each.name) for each in model.graph.input] == ["n", "c", "m"]

    def test_the_columns_are_in_what_it_says_of_itself(self):
        clf, X, _ = self.made()
        model = export_onnx(clf, schema=self.SCHEMA)
        known = {each.key: json.loads(each.value) for each in model.metadata_props}
        assert known["features"] == ["n", "c=UA", "c=ü", "c=B6", "m"]
        assert Schema.from_dict(known["schema"], "it") == self.SCHEMA
        np.testing.assert_array_equal(answered(model, X)[2], clf.decision_function(X))

    @pytest.mark.parametrize("names", [["#1", "#3", "X", "#10", "body"], ["N", "'", "ü", "a b", "#2"]])
    def test_columns_of_any_name(self, names):
        clf, X, _ = self.made()
        schema = Schema.of_numbers(names)
        model = export_onnx(clf, raw=True, schema=schema)
        onnx.checker.check_model(model, full_check=True)
        columns = {column.name: X[:, k : k + 1] for k, column in enumerate(schema.columns)}
        np.testing.assert_array_equal(session(model).run(["scores"], columns)[0], clf.decision_function(X))

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            (None, "raw must be False for a classifier that does not know its columns"),
            (Schema.of_numbers(["a", "b", "scores", "d", "e"]), "a column is called 'scores'"),
        ],
    )
    def test_refusals(self, schema, message):
        clf, _, _ = self.made()
        with pytest.raises(InputError, match=message) as caught:
            export_onnx(clf, raw=True, schema=schema)
        assert is_hinted(caught.value)


class TestRefusals:
    def test_an_adaptive_classifier_names_what_can_be_exported(self, tmp_path):
        X, y = rows(120)
        for clf in (AdaptiveClassifier(), AdaptiveClassifier().fit(X, y)):
            with pytest.raises(InputError, match=r"only an OCBClassifier .* --method ocb") as caught:
                clf.to_onnx(tmp_path / "model.onnx")
            assert is_hinted(caught.value)
        assert list(tmp_path.iterdir()) == []

    def test_an_unfitted_classifier(self):
        with pytest.raises(NotFittedError):
            OCBClassifier().to_onnx()

    def test_hypotheses_without_a_formula(self):
        class Odd(Stumps):
            kind = "Odd"

        rects = np.zeros((1, 3, 4), int)
        rects[:, 0], rects[:, 1] = [0, 0, 3, 3], [1, 0, 1, 1]
        window = CascadeStumps(rects, [[1.0, -1.0, 0.0]], [0.0], width=3, height=3)
        rule = Callables([lambda X: np.where(X[:, 0] > 0, 1, -1)], n_features=9)
        made: list[Hypotheses] = [window, rule, Odd([0], [0.0], [1], n_features=9)]
        for each in (*made, Joined([Stumps([0], [0.0], [1], n_features=9), rule])):
            kind = "Callables" if isinstance(each, Joined) else each.kind
            with pytest.raises(InputError, match=f"to be exported to ONNX; got {kind}") as caught:
                weighing(each, np.ones(len(each))).to_onnx()
            assert is_hinted(caught.value)

    def test_a_model_that_no_file_holds(self, monkeypatch):
        monkeypatch.setattr(graph, "MAX_CONSTANT_BYTES", 100)
        with pytest.raises(InputError, match="must take at most 100 bytes") as caught:
            small()[0].to_onnx()
        assert is_hinted(caught.value)

    def test_without_onnx(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnx.helper", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[onnx\]"):
            small()[0].to_onnx()
