from __future__ import annotations

import copy
import json
import threading

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, OCBClassifier
from ocboost._core.file_format import to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import ClosedError, InputError, NotSavableError, OcboostError
from ocboost.live import Adapter, replay
from tests.support import live

KINDS = ["ocb", "adaptive"]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def labelled(ids, start=200):
    return [{"id": id_, "label": label} for id_, label in zip(ids, live.labels(start), strict=False)]


class TestAnswers:
    def test_are_those_of_the_model(self, kind, tmp_path):
        rows, model = live.records(200, 230), live.model(kind)
        table = live.table()[0][200:230]
        with Adapter(model, tmp_path / "s") as adapter:
            for given in (rows, table, model.features(table), model.features(table).tolist()):
                answers = adapter.predict(given, issue=False)
                assert answers.ids is None
                assert answers.answered_by == "version 0"  # it has not learnt anything yet
                np.testing.assert_array_equal(answers.probabilities, model.predict_proba(table))
                assert answers.labels == model.predict(table).tolist()

    def test_one_by_one(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            answers = adapter.predict(live.records(200, 203))
            assert [each.id for each in answers] == answers.ids
            assert [each.label for each in answers] == answers.labels
            assert all(list(each.probabilities) == ["no", "yes"] for each in answers)
            assert len(set(answers.ids)) == len(answers) == 3
            assert adapter.facts()["pending"] == 3

    def test_no_rows(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            assert adapter.predict([]).ids == []
            assert adapter.label([]).accepted == 0

    def test_facts_are_json(self, kind, tmp_path):
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            adapter.label(labelled(adapter.predict(live.records(200, 210)).ids))
            facts = json.loads(json.dumps(adapter.facts()))
            json.dumps(adapter.versions())
        assert facts["labels"] == facts["learnt"] == 10
        assert facts["accuracy"] == facts["recent_accuracy"]
        assert facts["columns"] == live.COLUMNS


class TestLearning:
    def test_is_that_of_the_classifier(self, tmp_path):
        rows, y = live.records(200, 300), live.labels(200, 300)
        clf = copy.copy(live.model().classifier)
        with Adapter(live.model(), tmp_path / "s", guard=False) as adapter:
            ids = adapter.predict(rows).ids
            for i in np.random.default_rng(0).permutation(100):
                clf.learn_one(rows[i], y[i])
                assert adapter.label([{"id": ids[i], "label": y[i]}]).accepted == 1
            assert adapter.model_file() == to_bytes("OCBClassifier", Model(clf).tree())

    @pytest.mark.parametrize("lag", [0, 1, 25])
    def test_of_late_labels_is_that_of_an_adaptive_classifier_with_ids(self, lag, tmp_path):
        rows, y = live.table()[0][200:320], live.labels(200, 320)
        clf = copy.copy(live.model("adaptive").classifier)
        with Adapter(live.model("adaptive"), tmp_path / "s", guard=False) as adapter:
            ids = []
            for i in range(len(rows)):
                one = rows[i : i + 1]
                answers = adapter.predict(one)
                np.testing.assert_array_equal(answers.probabilities, clf.predict_proba(one, ids=[i]))
                ids += answers.ids
                if i >= lag:
                    j = i - lag
                    clf.partial_fit(rows[j : j + 1], [y[j]], ids=[j])
                    adapter.label([{"id": ids[j], "label": y[j]}])
            assert adapter.facts()["pending"] == lag

    def test_labels_with_their_rows(self, kind, tmp_path):
        rows, y = live.records(200, 240), live.labels(200, 240)
        clf = copy.copy(live.model(kind).classifier)
        with Adapter(live.model(kind), tmp_path / "s", guard=False) as adapter:
            given = [{"row": row, "label": label, "weight": 2} for row, label in zip(rows, y, strict=True)]
            assert adapter.label(given).accepted == 40
            for row, label in zip(rows, y, strict=True):
                clf.learn_one(row, label, 2.0)
            for one in (adapter._state.adapted.classifier, clf):
                assert one.predict_proba(live.table()[0][:9]).shape == (9, 2)
            got = adapter.predict(rows, issue=False).probabilities
            np.testing.assert_array_equal(got, Model(clf).answers_to(_rows(adapter, rows))[1])

    def test_weight_zero_is_not_learnt(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            before = adapter.model_file()
            report = adapter.label([{"row": live.records(200, 201)[0], "label": "yes", "weight": 0}])
            assert report.accepted == 1
            assert adapter.model_file() == before

    def test_twice_out_of_order_unknown(self, kind, tmp_path):
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            ids = adapter.predict(live.records(200, 210)).ids
            assert adapter.label(labelled(ids)[::-1]).accepted == 10
            before = adapter.model_file()
            again = adapter.label([*labelled(ids), {"id": ids[0], "label": _other(live.labels()[0])}])
            assert (again.accepted, again.duplicates) == (0, 10)
            assert [(each.index, each.reason) for each in again.rejected] == [(10, "conflict")]
            for wrong in ("nothing", "1-0000000000", ids[0][:-1] + "0z", "-", "", "9" * 150):
                assert adapter.label([{"id": wrong, "label": "yes"}]).rejected[0].reason == "unknown_id"
            assert adapter.model_file() == before

    def test_others_are_taken_where_one_is_rejected(self, tmp_path):
        row = live.records(200, 201)[0]
        with Adapter(live.model(), tmp_path / "s") as adapter:
            (id_,) = adapter.predict([row]).ids
            report = adapter.label(
                [
                    {"id": "nobody's", "label": "yes"},
                    {"id": id_, "label": "maybe"},
                    {"row": {**row, "a": "much"}, "label": "yes"},
                    {"id": id_, "label": "yes"},
                    {"id": id_, "label": "yes"},
                ]
            )
            assert (report.accepted, report.duplicates) == (1, 1)
            reasons = ["unknown_id", "unknown_class", "bad_row"]
            assert [each.reason for each in report.rejected] == reasons
            assert [each.index for each in report.rejected] == [0, 1, 2]

    def test_a_row_with_an_id_is_learnt_once(self, kind, tmp_path):
        label = {"id": "order 7", "row": live.records(200, 201)[0], "label": "yes"}
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            assert adapter.label([label]).accepted == 1
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            assert adapter.label([label]).duplicates == 1
            assert adapter.label([{**label, "label": "no"}]).rejected[0].reason == "conflict"
            assert adapter.facts()["learnt"] == 1

    def test_own_ids(self, kind, tmp_path):
        rows = live.records(200, 203)
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            assert adapter.predict(rows, ids=["x", "y", "z"]).ids == ["x", "y", "z"]
            adapter.predict(rows[:1], ids=["y"])  # replaces the first
            assert adapter.facts()["pending"] == 3
            assert adapter.label([{"id": id_, "label": "yes"} for id_ in "xyz"]).accepted == 3
            adapter.predict(rows[:1], ids=["y"])  # another time
            assert adapter.label([{"id": "y", "label": "no"}]).accepted == 1


class TestBadInput:
    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([{"a": 1.0, "b": 2.0}], "lacks 'colour'"),
            ([{"x": 1}], "must have the columns"),
            ([{"a": "much", "b": 1, "colour": "red"}], "row 0: column 'a' must hold numbers"),
            ([{"a": float("inf"), "b": 1, "colour": "red"}], "finite"),
            ([{"a": 1, "b": 1, "colour": 3}], "must hold texts"),
            ([{"a": [1], "b": 1, "colour": "red"}], "must hold numbers"),
            ([{"a": 1, "b": 1, "colour": "red"}, 3], "row 1 must have its values by column"),
            ([[1.0, 2.0]], "must have 5 features"),
            ([[1.0, 2.0, "x", 0.0, 0.0]], "must hold numbers"),
            ([[1.0], [2.0, 3.0]], "same length"),
            ([[float("inf")] * 5], "finite"),
            ([[[1.0]]], "axes"),
            ({"a": 1}, "list"),
            ("abc", "list"),
            (5, "list"),
            ([5], "must hold numbers"),
            ([None], "must hold numbers"),
        ],
    )
    def test_rows(self, rows, words, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            with pytest.raises(InputError, match=words):
                adapter.predict(rows)
            assert adapter.facts()["pending"] == 0

    @pytest.mark.parametrize(
        "labels",
        [
            {"id": "x", "label": 1}, "text", [3], [{"id": "x"}], [{"label": "yes"}],
            [{"id": 3, "label": "yes"}],
            [{"id": "x" * 201, "label": "yes"}], [{"id": "x", "label": "yes", "weight": -1}],
            [{"id": "x", "label": "yes", "weight": True}],
            [{"id": "x", "label": "yes", "weight": float("nan")}],
        ],
    )  # fmt: skip
    def test_labels(self, labels, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter, pytest.raises(InputError):
            adapter.label(labels)

    @pytest.mark.parametrize(
        "ids", ["ab", ["x"], ["x", "x"], ["x", 3], ["x", ""], ["x", "a\n"], ["x", "y" * 201]]
    )
    def test_ids(self, ids, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter, pytest.raises(InputError):
            adapter.predict(live.records(200, 202), ids=ids)

    def test_an_id_of_another_prediction(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            ids = adapter.predict(live.records(200, 201)).ids
            with pytest.raises(InputError, match="your own"):
                adapter.predict(live.records(200, 201), ids=ids)

    def test_models(self, tmp_path):
        with pytest.raises(InputError, match="fitted"):
            Adapter(OCBClassifier(), tmp_path / "s")
        with pytest.raises(FileNotFoundError):
            Adapter(tmp_path / "none.ocb", tmp_path / "s")
        from sklearn.neighbors import KNeighborsClassifier

        X = np.random.default_rng(0).normal(size=(250, 2))
        y = (X[:, 0] > 0).astype(int)
        adopted = AdaptiveClassifier.from_fitted(KNeighborsClassifier().fit(X, y), X, y)
        with pytest.raises(NotSavableError, match="KNeighbors"):
            Adapter(adopted, tmp_path / "s")
        assert not (tmp_path / "s").exists()

    def test_states(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s"), pytest.raises(InputError, match="in use by another"):
            Adapter(live.model(), tmp_path / "s")
        with pytest.raises(InputError, match="another model"):
            Adapter(live.model("adaptive"), tmp_path / "s")
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="is a file"):
            Adapter(live.model(), tmp_path / "file")
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "journal.db").write_bytes(b"no database at all" * 100)
        with pytest.raises(OcboostError, match="cannot be used"):
            Adapter(live.model(), tmp_path / "other")

    def test_after_it_was_closed(self, tmp_path):
        adapter = Adapter(live.model(), tmp_path / "s")
        (id_,) = adapter.predict(live.records(200, 201)).ids
        adapter.close()
        adapter.close()
        for use in (
            lambda: adapter.predict(live.records(200, 201)),
            lambda: adapter.label([{"id": id_, "label": "yes"}]),
            adapter.promote,
        ):
            with pytest.raises(ClosedError):
                use()
        assert adapter.facts()["pending"] == 1


class TestThreads:
    def test_many_readers_and_labellers(self, kind, tmp_path):
        rows, y = live.records(200, 240), live.labels(200, 240)
        done, failed = [], []
        with Adapter(live.model(kind), tmp_path / "s", keep_labels=10_000) as adapter:

            def work(start):
                try:
                    for i in range(start, 40, 4):
                        answers = adapter.predict(rows[i : i + 3])
                        np.testing.assert_allclose(answers.probabilities.sum(axis=1), 1.0)
                        report = adapter.label(
                            [
                                {"id": id_, "label": label}
                                for id_, label in zip(answers.ids, y[i:], strict=False)
                            ]
                        )
                        done.append(report.accepted)
                        adapter.facts()
                except BaseException as error:
                    failed.append(error)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failed
            assert adapter.facts()["learnt"] == sum(done) == sum(min(3, 40 - i) for i in range(40))
            found = adapter.model_file()
        assert replay(tmp_path / "s").model_bytes() == found


def _other(label):
    return "no" if label == "yes" else "yes"


def _rows(adapter, rows):
    from ocboost.streams.rows import Rows

    return Rows(adapter._reader.features(rows))
