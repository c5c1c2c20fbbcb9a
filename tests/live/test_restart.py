"""After a crash at any moment: the same, to the last bit."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ocboost.errors import InputError, ModelFileError
from ocboost.live import Adapter, StorageError, replay
from tests.support import live

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("predict"), st.integers(1, 5)),
        st.tuples(st.just("own ids"), st.integers(1, 3)),
        st.tuples(st.just("label"), st.integers(0, 30)),
        st.tuples(st.just("row"), st.integers(0, 30)),
        st.tuples(st.just("row with id"), st.integers(0, 5)),
        st.tuples(st.sampled_from(["promote", "freeze", "go on", "rollback", "checkpoint"]), st.just(0)),
        st.tuples(st.sampled_from(["crash", "stop"]), st.just(0)),
    ),
    min_size=5,
    max_size=25,
)
ROWS, LABELS = live.records(200, 400), live.labels(200, 400)

OF_THIS_RUN = ("checkpoint", "expired", "last_label", "oldest_pending")  # facts with times and the like


class Run:
    """Does operations, with or without the crashes among them."""

    def __init__(self, kind, folder, *, crashes):
        self.kind, self.folder, self.crashes = kind, folder, crashes
        self.n_folders = 0
        self.waiting = []  # ids and labels
        self.row = 0
        self.adapter = self._open()

    def _open(self):
        return Adapter(live.model(self.kind), self.folder, checkpoint_labels=4, keep_labels=10_000)

    def do(self, what, n):
        adapter = self.adapter
        if what in ("predict", "own ids"):
            places = [(self.row + i) % len(ROWS) for i in range(n)]
            ids = [f"mine {i}" for i in range(n)] if what == "own ids" else None
            answers = adapter.predict([ROWS[i] for i in places], ids=ids)
            self.waiting += [(id_, LABELS[i]) for id_, i in zip(answers.ids, places, strict=True)]
            self.row += n
        elif what == "label" and self.waiting:
            id_, label = self.waiting[n % len(self.waiting)]
            adapter.label([{"id": id_, "label": label}])
        elif what == "row":
            adapter.label([{"row": ROWS[n], "label": LABELS[n]}])
        elif what == "row with id":
            adapter.label([{"id": f"row {n}", "row": ROWS[n], "label": LABELS[n]}])
        elif what in ("promote", "checkpoint"):
            getattr(adapter, what)()
        elif what in ("freeze", "go on"):
            adapter.freeze(what == "freeze")
        elif what == "rollback":
            adapter.rollback(0)
        elif what in ("crash", "stop") and self.crashes:
            if what == "crash":
                self.n_folders += 1
                left = live.crashed_copy(self.folder, self.folder.with_name(f"after{self.n_folders}"))
                self.adapter.close()
                self.folder = left
            else:
                self.adapter.close()
            self.adapter = self._open()

    def end(self):
        adapter = self.adapter
        report = adapter.label([{"id": id_, "label": label} for id_, label in self.waiting])
        facts = {k: v for k, v in adapter.facts().items() if k not in OF_THIS_RUN}
        versions = [{k: v for k, v in each.items() if k != "time"} for each in adapter.versions()]
        found = adapter.model_file(), facts, versions, (report.accepted, report.duplicates)
        adapter.close()
        replayed = replay(self.folder)
        assert replayed.model_bytes() == found[0]
        assert [each.sha256 for each in replayed.versions.kept] == [each["sha256"] for each in versions]
        return found


@pytest.mark.parametrize("kind", ["ocb", "adaptive"])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(operations=OPERATIONS)
def test_crashes_change_nothing(kind, operations, tmp_path):
    found = []
    for crashes in (False, True):
        folder = tmp_path / f"{crashes}"
        folder.mkdir()
        run = Run(kind, folder / "state", crashes=crashes)
        for operation in operations:
            run.do(*operation)
        found.append(run.end())
        shutil.rmtree(folder)
    # ids differ, as each state has a secret of its own; everything else is the same
    assert found[0] == found[1]


class TestLostFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s", keep_labels=0, checkpoint_labels=5) as adapter:
            for _ in range(4):
                adapter.label([{"row": ROWS[i], "label": LABELS[i]} for i in range(5)])
            adapter.promote()
        return tmp_path / "s"

    def open(self, folder):
        Adapter(live.model(), folder).close()

    def test_nothing_is_lost(self, folder):
        self.open(folder)

    def test_checkpoint(self, folder):
        os.unlink(folder / "checkpoint.ocb")
        with pytest.raises(InputError, match="is missing"):
            self.open(folder)

    def test_damaged_checkpoint(self, folder):
        data = bytearray((folder / "checkpoint.ocb").read_bytes())
        data[len(data) // 2] ^= 1
        (folder / "checkpoint.ocb").write_bytes(data)
        with pytest.raises(ModelFileError, match="damaged"):
            self.open(folder)

    def test_journal(self, folder):
        for place in folder.glob("journal.db*"):
            place.unlink()
        with pytest.raises(InputError, match="older than the checkpoint"):
            self.open(folder)

    def test_version(self, folder):
        os.unlink(folder / "versions" / "000001.ocb")
        with Adapter(live.model(), folder) as adapter:
            with pytest.raises(ModelFileError, match="missing"):
                adapter.rollback(1)
            with pytest.raises(ModelFileError, match="missing"):
                adapter.model_file(1)

    def test_checkpoint_of_a_whole_journal(self, tmp_path):
        with Adapter(live.model(), tmp_path / "t") as adapter:
            adapter.label([{"row": ROWS[i], "label": LABELS[i]} for i in range(5)])
            found = adapter.model_file()
        os.unlink(tmp_path / "t" / "checkpoint.ocb")
        with Adapter(live.model(), tmp_path / "t") as adapter:
            assert adapter.model_file() == found


def test_a_folder_that_cannot_be_written_is_told_so_at_the_start(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ocboost.live.versions.Versions.flush", refuse)
    with pytest.raises(StorageError, match="Make the folder writable"):
        Adapter(live.model(), tmp_path / "s")


def test_what_was_replayed_is_in_a_checkpoint(tmp_path):
    with Adapter(live.model(), tmp_path / "t") as adapter:
        adapter.label([{"row": ROWS[i], "label": LABELS[i]} for i in range(5)])
        left = live.crashed_copy(tmp_path / "t", tmp_path / "after")
    assert not (left / "checkpoint.ocb").exists()
    with Adapter(live.model(), left) as adapter:
        assert adapter.facts()["checkpoint"] == adapter.facts()["seq"] == 5
