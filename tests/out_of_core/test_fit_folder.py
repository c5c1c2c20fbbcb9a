"""Fits of a folder: what `OCBClassifier` finds in memory, piece by piece, also after kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ocboost import InputError, OCBClassifier
from ocboost.learners import StumpLearner
from ocboost.out_of_core import fit_folder, passes
from ocboost.out_of_core.work import WorkFolder
from tests.support.shards import some_rows

pa = pytest.importorskip("pyarrow")
pytest.importorskip("datasketches")


def write_parts(folder, X, y, n_files=3, format="parquet", unlabelled=()):
    """Write rows as a folder of files."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    labels = np.array(y).astype(object)
    labels[list(unlabelled)] = None
    for k, rows in enumerate(np.array_split(np.arange(len(y)), n_files)):
        columns = {f"x{f}": pa.array(X[rows, f], from_pandas=True) for f in range(X.shape[1])}
        part = pa.table({**columns, "y": pa.array(labels[rows].tolist())})
        if format == "parquet":
            pq.write_table(part, folder / f"part-{k}.parquet")
        elif format == "csv":
            pyarrow.csv.write_csv(part, folder / f"part-{k}.csv")
        else:
            lines = [__import__("json").dumps(row) for row in part.to_pylist()]
            (folder / f"part-{k}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def small_chunks(monkeypatch):
    """Many chunks and batches, though there are few rows."""
    monkeypatch.setattr(passes, "MIN_ROWS", 70)
    monkeypatch.setattr(passes, "BYTES_PER_CHUNK", 1)
    monkeypatch.setattr("ocboost.streams.folder.MAX_BATCH_ROWS", 30)


def assert_same(clf, expected):
    one, other = clf.hypotheses_, expected.hypotheses_
    for name in ("feature", "threshold", "left", "missing"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for a, b in zip(clf.alpha_, expected.alpha_, strict=True):
        assert np.abs(a - b).max() < 1e-10


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_finds_what_is_found_in_memory(tmp_path, small_chunks, format, n_classes):
    X, y = some_rows(500, 1, n_classes=n_classes)
    found = fit_folder(write_parts(tmp_path / "rows", X, y, format=format), "y", n_hypotheses=40)
    expected = OCBClassifier(n_hypotheses=40).fit(X, y)
    assert_same(found.classifier, expected)
    assert found.accuracy == pytest.approx(np.mean(expected.predict(X) == y))
    assert (found.n_read, found.n_learnt, found.resumed) == (500, 500, False)
    assert found.classifier.feature_names_in_.tolist() == [f"x{f}" for f in range(6)]
    assert (
        found.classifier.partial_fit(X, y).predict(X) == expected.partial_fit(X, y).predict(X)
    ).mean() > 0.98


def test_settings(tmp_path, small_chunks):
    X, y = some_rows(600, 2, values=40)
    how = {"memory": 8000, "smoothing": 2.0, "class_weight": "balanced", "threshold": 0.6}
    learner = StumpLearner(max_bins=7, criterion="gini")
    found = fit_folder(write_parts(tmp_path / "rows", X, y), "y", estimator=learner, n_hypotheses=30, **how)
    expected = OCBClassifier(learner, n_hypotheses=30, **how).fit(X, y)
    assert_same(found.classifier, expected)
    assert (found.classifier.predict(X) == expected.predict(X)).all()


def test_balanced_classes_stay_balanced_in_the_stream_that_follows(tmp_path):
    X, y = some_rows(600, 11)
    rare = np.flatnonzero((y == 0) | (np.arange(600) % 7 == 0))
    X, y = X[rare], y[rare]
    found = fit_folder(write_parts(tmp_path / "rows", X, y), "y", n_hypotheses=10, class_weight="balanced")
    expected = OCBClassifier(n_hypotheses=10, class_weight="balanced").fit(X, y)
    assert found.classifier.class_shares_.shares == pytest.approx(expected.class_shares_.shares, abs=0.02)
    after = found.classifier.partial_fit(X, y).alpha_[0], expected.partial_fit(X, y).alpha_[0]
    assert np.abs(after[0] - after[1]).max() < 0.01


def test_rows_without_labels_and_the_first_rows_only(tmp_path, small_chunks):
    X, y = some_rows(400, 3)
    folder = write_parts(tmp_path / "rows", X, y, unlabelled=[0, 5, 399])
    known = np.ones(400, bool)
    known[[0, 5, 399]] = False
    found = fit_folder(folder, "y", n_hypotheses=10)
    assert (found.n_read, found.n_learnt) == (400, 397)
    assert_same(found.classifier, OCBClassifier(n_hypotheses=10).fit(X[known], y[known]))
    assert np.array_equal(found.last_rows(50)[0], X[known][-50:], equal_nan=True)
    first = fit_folder(folder, "y", n_hypotheses=10, rows=190)
    known[190:] = False
    assert (first.n_read, first.n_learnt) == (190, 188)
    assert_same(first.classifier, OCBClassifier(n_hypotheses=10).fit(X[known], y[known]))
    assert np.array_equal(first.last_rows(50)[0], X[known][-50:], equal_nan=True)


def test_last_rows_of_sorted_labels_are_spread(tmp_path, small_chunks):
    X, y = some_rows(300, 4)
    order = np.argsort(y, kind="stable")
    found = fit_folder(write_parts(tmp_path / "rows", X[order], y[order]), "y", n_hypotheses=3)
    rows, labels = found.last_rows(40)
    assert len(rows) == len(labels) == 40
    assert 0.2 < np.mean(labels == 1) < 0.8


def test_edges_of_many_values_repeat_a_fit(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    folder = write_parts(tmp_path / "rows", X, y)
    found = fit_folder(folder, "y", n_hypotheses=20)
    learner = StumpLearner(edges=found.edges)
    assert_same(fit_folder(folder, "y", estimator=learner, n_hypotheses=20).classifier, found.classifier)
    assert_same(OCBClassifier(learner, 20).fit(X, y), found.classifier)


# Stops -----------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from ocboost.out_of_core import fit_folder, passes
passes.MIN_ROWS, passes.BYTES_PER_CHUNK, passes.SECONDS_PER_SAVE = 70, 1, -1.0
import ocboost.streams.folder
ocboost.streams.folder.MAX_BATCH_ROWS = 30
folder, work, step, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
def progress(what, done, total):
    global count
    if what.startswith(step):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
fit_folder(folder, "y", n_hypotheses=70, memory=12_000, work=work, progress=progress)
"""


def test_kills(tmp_path, small_chunks):
    X, y = some_rows(500, 6)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"
    kills = [("looking", 9), ("binning", 11), ("finding stumps", 40), ("summing pairs", 2)]
    for step, count in kills:
        command = [sys.executable, "-c", KILLED, str(folder), str(work), step, str(count)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
    rounds = []
    found = fit_folder(
        folder,
        "y",
        n_hypotheses=70,
        memory=12_000,
        work=work,
        progress=lambda what, done, total: rounds.append(what),
    )
    assert found.resumed
    assert not {"looking at the rows", "binning the rows", "finding stumps"} & set(rounds)
    assert not work.exists()
    undisturbed = fit_folder(folder, "y", n_hypotheses=70, memory=12_000)
    assert found.classifier.alpha_[0].tolist() == undisturbed.classifier.alpha_[0].tolist()
    one, other = found.classifier.boosters_[0].tree(), undisturbed.classifier.boosters_[0].tree()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_stumps_go_on_to_the_bit(tmp_path, small_chunks):
    """Stopped after the first 32 stumps: the rest are those of an undisturbed fit, and so are the weights."""
    X, y = some_rows(500, 7)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"

    def stop(what, done, total):
        if what == "finding stumps" and done == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_folder(folder, "y", n_hypotheses=90, work=work, progress=stop)
    rounds = []

    def note(what, done, total):
        if what == "finding stumps":
            rounds.append(done)

    found = fit_folder(folder, "y", n_hypotheses=90, work=work, progress=note)
    assert rounds[0] == 33
    expected = fit_folder(folder, "y", n_hypotheses=90).classifier
    assert found.classifier.alpha_[0].tolist() == expected.alpha_[0].tolist()
    assert_same(found.classifier, expected)


def test_a_kill_right_after_the_last_of_some_rows(tmp_path, small_chunks, monkeypatch):
    """What was saved then ends where a file ends, and is not marked complete."""
    X, y = some_rows(120, 12)
    folder, work = write_parts(tmp_path / "rows", X, y, n_files=2), tmp_path / "work"
    monkeypatch.setattr(passes, "SECONDS_PER_SAVE", -1.0)
    put = WorkFolder.put

    def put_or_stop(self, name, tree):
        if name == "facts" and tree["complete"]:
            raise KeyboardInterrupt
        put(self, name, tree)

    with monkeypatch.context() as patched:
        patched.setattr(WorkFolder, "put", put_or_stop)
        with pytest.raises(KeyboardInterrupt):
            fit_folder(folder, "y", n_hypotheses=5, rows=60, work=work)
    found = fit_folder(folder, "y", n_hypotheses=5, rows=60, work=work)
    assert_same(found.classifier, OCBClassifier(n_hypotheses=5).fit(X[:60], y[:60]))


def test_a_kill_while_the_work_folder_is_made_or_removed(tmp_path, monkeypatch):
    X, y = some_rows(100, 13)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"
    work.mkdir()
    (work / ".fit.0a1b2c3d.tmp").write_bytes(b"half")  # all that there was
    removed = []
    unlink = Path.unlink

    def unlink_or_stop(self, **how):
        if len(removed) == 2:
            raise KeyboardInterrupt
        removed.append(self.name)
        unlink(self, **how)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink_or_stop)
        with pytest.raises(KeyboardInterrupt):
            fit_folder(folder, "y", n_hypotheses=5, work=work)
    found = fit_folder(folder, "y", n_hypotheses=5, work=work)
    assert_same(found.classifier, OCBClassifier(n_hypotheses=5).fit(X, y))
    assert not work.exists()


def stopped(folder, work, **how):
    def stop(what, done, total):
        if what.startswith("binning"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_folder(folder, "y", work=work, progress=stop, **how)


def test_a_work_folder_of_something_else_is_refused(tmp_path):
    X, y = some_rows(200, 8)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"
    stopped(folder, work, n_hypotheses=5)
    with pytest.raises(InputError, match=r"hypotheses was 5, and is 6\. Remove it"):
        fit_folder(folder, "y", n_hypotheses=6, work=work)
    write_parts(folder, X[:150], y[:150])
    with pytest.raises(InputError, match="the files of the folder have changed"):
        fit_folder(folder, "y", n_hypotheses=5, work=work)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="must be empty, or of a fit that was stopped"):
        fit_folder(folder, "y", work=tmp_path / "other")
    assert (tmp_path / "other" / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("damage", ["shorter", "gone", "broken note", "broken facts"])
def test_what_is_damaged_in_the_work_folder_is_done_again(tmp_path, small_chunks, damage):
    X, y = some_rows(400, 9)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"

    def stop(what, done, total):
        if what == "finding stumps":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_folder(folder, "y", n_hypotheses=20, work=work, progress=stop)
    second = work / "rows-000001.bin"
    if damage == "shorter":
        second.write_bytes(second.read_bytes()[:-1])
    elif damage == "gone":
        second.unlink()
    else:
        place = work / ("chunk-000002" if damage == "broken note" else "facts")
        place.write_bytes(place.read_bytes()[:-3])
    found = fit_folder(folder, "y", n_hypotheses=20, work=work)
    assert_same(found.classifier, OCBClassifier(n_hypotheses=20).fit(X, y))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no disk that is always full")
def test_a_full_disk_is_named(tmp_path):
    X, y = some_rows(100, 14)
    folder, work = write_parts(tmp_path / "rows", X, y), tmp_path / "work"
    stopped(folder, work, n_hypotheses=5)
    (work / "rows-000000.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: .*rows-000000\.part"):
        fit_folder(folder, "y", n_hypotheses=5, work=work)
    found = fit_folder(folder, "y", n_hypotheses=5, work=work)
    assert_same(found.classifier, OCBClassifier(n_hypotheses=5).fit(X, y))


# Bad input -------------------------------------------------------------------------------------------------


def test_bad_input(tmp_path):
    X, y = some_rows(100, 10)
    folder = write_parts(tmp_path / "rows", X, y)
    with pytest.raises(InputError, match="label must name a column"):
        fit_folder(folder, "z")
    with pytest.raises(InputError, match="estimator must be None, 'stump'"):
        fit_folder(folder, "y", estimator="ball")
    with pytest.raises(InputError, match="edges must be given for each of the 6 features; got 1"):
        fit_folder(folder, "y", estimator=StumpLearner(edges=[[0.0]]))
    with pytest.raises(InputError, match="'y' must hold at least two classes; it is 1 in all 100 rows"):
        fit_folder(write_parts(tmp_path / "one", X, np.ones(100, int)), "y")
    with pytest.raises(InputError, match=r"must hold classes.*numbers with fractions"):
        fit_folder(write_parts(tmp_path / "numbers", X, np.random.default_rng(0).random(100)), "y")
    infinite = X.copy()
    infinite[70, 3] = np.inf
    with pytest.raises(
        InputError, match=r"part-2\.parquet: column 'x3' must hold finite numbers; got inf in row 3"
    ):
        fit_folder(write_parts(tmp_path / "inf", infinite, y), "y")
    with pytest.raises(FileNotFoundError):
        fit_folder(tmp_path / "nowhere", "y")
