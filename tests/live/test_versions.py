from __future__ import annotations

import numpy as np
import pytest

from ocboost._core.file_format import to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import InputError, UnknownVersionError
from ocboost.live import Adapter, versions
from tests.support import live

ROWS, LABELS = live.records(200, 400), live.labels(200, 400)
TAUGHT = [{"row": row, "label": label} for row, label in zip(ROWS[:40], LABELS, strict=False)]


@pytest.fixture(params=["ocb", "adaptive"])
def kind(request):
    return request.param


@pytest.fixture
def adapter(kind, tmp_path):
    with Adapter(live.model(kind), tmp_path / "s") as adapter:
        yield adapter


def loaded(data, tmp_path):
    (tmp_path / "model.ocb").write_bytes(data)
    return Model.load(tmp_path / "model.ocb")


def test_what_was_deployed_is_version_0(adapter, kind, tmp_path):
    deployed = to_bytes(live.model(kind).kind, live.model(kind).tree())
    assert adapter.model_file(0) == deployed
    adapter.label(TAUGHT)
    assert adapter.model_file(0) == deployed
    assert adapter.model_file() != deployed
    (facts,) = adapter.versions()
    assert (facts["number"], facts["reason"], facts["deployed"]) == (0, "deployed", True)
    assert facts["bytes"] == len(deployed)


def test_a_downloaded_model_predicts_the_same(kind, tmp_path):
    X = live.table()[0][300:350]
    with Adapter(live.model(kind), tmp_path / "s", guard=False) as adapter:
        adapter.label(TAUGHT)
        answered = adapter.predict(X, issue=False)
        model = loaded(adapter.model_file(), tmp_path)
    assert answered.answered_by == "adapted"
    np.testing.assert_array_equal(model.predict_proba(X), answered.probabilities)


def test_promote(adapter):
    adapter.label(TAUGHT)
    facts = adapter.promote()
    assert facts["deployed"] == 1
    assert [each["deployed"] for each in adapter.versions()] == [False, True]
    assert adapter.model_file(1) == adapter.model_file()


def test_rollback_continues_from_a_version(adapter, kind, tmp_path):
    pending = adapter.predict(ROWS[:3]).ids
    deployed = adapter.model_file()
    adapter.label(TAUGHT)
    taught = adapter.model_file()
    facts = adapter.rollback(0)
    assert facts["answering"] == "adapted"
    assert adapter.model_file() == deployed
    assert adapter.model_file(1) == taught  # nothing is lost
    # a label of a prediction that another model made is learnt as if there had been none
    adapter.label([{"id": pending[0], "label": LABELS[0]}])
    with Adapter(live.model(kind), tmp_path / "other") as other:
        other.label([{"row": ROWS[0], "label": LABELS[0]}])
        assert other.model_file() == adapter.model_file()
    adapter.rollback(1)
    assert adapter.model_file() == taught


def test_freeze(adapter):
    adapter.label(TAUGHT[:5])
    adapter.freeze()
    before = adapter.model_file()
    ids = adapter.predict(ROWS[:2]).ids
    assert adapter.label([{"id": ids[0], "label": LABELS[0]}, TAUGHT[6]]).accepted == 2
    facts = adapter.facts()
    assert (facts["frozen"], facts["labels"], facts["learnt"]) == (True, 7, 5)
    assert adapter.model_file() == before
    adapter.freeze(False)
    assert adapter.model_file() == before  # what came meanwhile is not learnt later
    adapter.label([{"id": ids[1], "label": LABELS[1]}])
    assert adapter.model_file() != before


def test_unknown_ones(adapter):
    for wrong in (1, -1, 10**30):
        with pytest.raises(UnknownVersionError, match="must be one of those that are kept, 0"):
            adapter.rollback(wrong)
        with pytest.raises(UnknownVersionError):
            adapter.model_file(wrong)
    for wrong in (True, "0", 0.0, None):
        with pytest.raises(InputError):
            adapter.rollback(wrong)
    with pytest.raises(InputError):
        adapter.freeze("yes")
    assert adapter.facts()["seq"] == 0


def test_old_ones_go(monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "MAX_VERSIONS", 3)
    with Adapter(live.model(), tmp_path / "s") as adapter:
        for label in TAUGHT[:6]:
            adapter.label([label])
            adapter.promote()
        numbers = [each["number"] for each in adapter.versions()]
        assert numbers == [0, 5, 6]
        files = adapter._state.versions.folder
        adapter.rollback(5)
        adapter._in_turn(lambda: adapter._writer._sweep(float("-inf")))
        assert sorted(place.name for place in files.iterdir()) == ["000000.ocb", "000006.ocb", "000007.ocb"]
    with Adapter(live.model(), tmp_path / "s") as adapter:
        assert [each["number"] for each in adapter.versions()] == [0, 6, 7]
        with pytest.raises(UnknownVersionError):
            adapter.rollback(5)


def test_a_prediction_of_the_model_before_a_rollback_is_not_learnt_from(kind, tmp_path):
    with (
        Adapter(live.model(kind), tmp_path / "s") as adapter,
        Adapter(live.model(kind), tmp_path / "t") as other,
    ):
        adapter.label(TAUGHT)
        (id_,) = adapter.predict(ROWS[50:51]).ids
        adapter.rollback(0)
        adapter.label([{"id": id_, "label": LABELS[50]}])
        other.label([{"row": ROWS[50], "label": LABELS[50]}])
        assert adapter.model_file() == other.model_file()
        judged = {each["name"]: each["labels"] for each in adapter.facts()["judge"]}
        assert judged == {"adapted": 0, "version 0": 0}


def test_a_version_is_judged_on_rows_that_were_predicted_after_it(adapter, monkeypatch):
    def judged():
        return {each["name"]: each["labels"] for each in adapter.facts()["judge"]}

    (before,) = adapter.predict(ROWS[:1]).ids
    with monkeypatch.context() as patched:
        patched.setattr(adapter._state.judge, "wants_version", lambda: True)
        adapter.label(TAUGHT[:1])
    assert judged() == {"adapted": 1, "version 0": 1, "version 1": 0}
    adapter.label([{"id": before, "label": LABELS[0]}])
    assert judged() == {"adapted": 2, "version 0": 2, "version 1": 0}
    (after,) = adapter.predict(ROWS[1:2]).ids
    adapter.label([{"id": after, "label": LABELS[1]}])
    assert judged() == {"adapted": 3, "version 0": 3, "version 1": 1}
