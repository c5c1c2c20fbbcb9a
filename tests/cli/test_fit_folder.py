"""``ocboost fit`` on a folder of files: the model it writes, how it goes on, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.deployment.model import Model
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.classifier import OCBClassifier
from ocboost.out_of_core import passes
from tests.support.cli_runs import left_in, ran, refused, table, write

pytest.importorskip("datasketches")


@pytest.fixture
def rows():
    """Rows of few values, whose edges are exact, of two classes."""
    return [[*np.round(row[:4], 1).tolist(), row[4]] for row in table(600, drift=False)]


@pytest.fixture
def folder(tmp_path, rows):
    place = tmp_path / "rows"
    place.mkdir()
    for k in range(3):
        write(place / f"part-{k}.csv", rows[200 * k : 200 * k + 200])
    return place


def arrays(rows):
    return np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])


def test_an_adaptive_model_whose_deployed_member_is_what_was_found(tmp_path, folder, rows, capsys):
    out = tmp_path / "model.ocb"
    words = ("fit", folder, "--label", "y", "--hypotheses", "12", "--out", out)
    code, printed, err = ran(capsys, *words)
    assert (code, err) == (0, "")
    assert "Learnt 12 stumps for 2 classes from 600 rows of 4 features; right on" in printed
    assert "They are the deployed member of an adaptive model." in printed
    assert left_in(tmp_path) == []
    X, y = arrays(rows)
    clf = Model.load(out).classifier
    assert isinstance(clf, AdaptiveClassifier)
    expected = OCBClassifier(n_hypotheses=12).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(X, issue=False), expected, atol=1e-9)
    write(tmp_path / "more.csv", rows[:50])
    assert ran(capsys, "adapt", out, tmp_path / "more.csv", "--out", tmp_path / "next.ocb")[0] == 0


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ((), {}),
        (("--forgetting", "0.99"), {"forgetting": 0.99}),
        (("--memory", "20kB", "--smoothing", "2"), {"memory": 20_000, "smoothing": 2.0}),
        (("--keep", "newest", "--head", "50"), {"keep": "newest", "head": 50}),
        (("--class-weight", "balanced"), {"class_weight": "balanced"}),
    ],
    ids=str,
)
def test_method_ocb(tmp_path, folder, rows, capsys, words, settings):
    out = tmp_path / "model.ocb"
    code, _, err = ran(
        capsys, "fit", folder, "--label", "y", "--method", "ocb", "--hypotheses", "12", *words, "--out", out
    )
    assert (code, err) == (0, "")
    model = Model.load(out)
    assert model.history == [{"event": "fit", "stream": "rows", "rows": 600, "learnt": 600}]
    clf, (X, y) = model.classifier, arrays(rows)
    start = {name: value for name, value in settings.items() if name in ("smoothing", "class_weight")}
    expected = OCBClassifier(n_hypotheses=12, **start).fit(X, y)
    np.testing.assert_allclose(clf.alpha_[0], expected.alpha_[0], atol=1e-9)
    for name, value in settings.items():
        assert getattr(clf, name) == value
    assert clf.boosters_[0].n_seen == 600
    clf.partial_fit(X, y)


def test_a_window_votes_as_before_until_it_is_full(tmp_path, folder, rows, capsys):
    out = tmp_path / "model.ocb"
    assert (
        ran(capsys, "fit", folder, "--label", "y", "--window", "40", "--hypotheses", "8", "--out", out)[0]
        == 0
    )
    clf, (X, y) = Model.load(out).classifier, arrays(rows)
    assert clf.boosters_[0].window_size == 40
    assert (clf.predict(X) == OCBClassifier(n_hypotheses=8).fit(X, y).predict(X)).all()


def test_it_goes_on_after_a_stop(tmp_path, folder, capsys, monkeypatch):
    out, work = tmp_path / "model.ocb", tmp_path / ".model.ocb.work"
    words = ("fit", folder, "--label", "y", "--method", "ocb", "--out", out, "--hypotheses")

    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(passes, "_bin", stop)
        code, _, err = ran(capsys, *words, "8")
    assert code == 130
    assert f"what was done is kept in '{work}', and the same line goes on from there" in err
    assert work.is_dir()
    assert not out.exists()
    err = refused(capsys, *words, "9")
    assert "hypotheses was 8, and is 9" in err
    code, _, err = ran(capsys, *words, "8")
    assert code == 0
    assert "going on from where an earlier fit was stopped" in err
    assert not work.exists()


def test_the_work_stays_until_the_model_is_written(tmp_path, folder, capsys, monkeypatch):
    words = ("fit", folder, "--label", "y", "--hypotheses", "12", "--out", tmp_path / "model.ocb")

    def disk_is_full(self, path):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Model, "save", disk_is_full)
        assert ran(capsys, *words)[0] != 0
    assert (tmp_path / ".model.ocb.work" / "fit").exists()
    code, _, err = ran(capsys, *words)
    assert code == 0
    assert "going on from where an earlier fit was stopped" in err
    assert not (tmp_path / ".model.ocb.work").exists()


def test_work_elsewhere(tmp_path, folder, capsys):
    words = ("fit", folder, "--label", "y", "--hypotheses", "4", "--out", tmp_path / "m.ocb")
    assert ran(capsys, *words, "--work", tmp_path / "scratch" / "fit")[0] == 0
    assert left_in(tmp_path) == []
    one = write(tmp_path / "one.csv", table(100))
    assert "--work is for a folder" in refused(capsys, "fit", one, *words[2:], "--work", tmp_path, code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "logistic"), "--method logistic learns example by example, and is not for a folder"),
        (("--learner", "ball"), "--learner is not for a folder of files"),
        (("--classes", "2"), "--classes is not for a folder of files"),
        (("--jobs", "2"), "--jobs is not for a folder of files"),
        (("--method", "adaptive", "--window", "5"), "--method adaptive chooses for itself"),
    ],
    ids=str,
)
def test_options_that_are_not_for_folders(tmp_path, folder, capsys, words, message):
    err = refused(capsys, "fit", folder, "--label", "y", "--out", tmp_path / "m.ocb", *words, code=2)
    assert message in err
    assert left_in(tmp_path) == []


def test_bad_folders(tmp_path, folder, capsys):
    def refusal(place, label="y"):
        return refused(capsys, "fit", place, "--label", label, "--out", tmp_path / "m.ocb")

    assert "label must name a column" in refusal(folder, "z")
    (folder / "part-1.csv").write_text("a,b,c,y\n1,2,3,0\n")
    assert "part-1.csv" in refusal(folder)
    (folder / "part-1.csv").write_text("a,b,c,d\n1,2,3,0\n")
    err = refusal(folder)
    assert "part-1.csv" in err
    assert "y" in err
    (tmp_path / "empty").mkdir()
    assert "empty" in refusal(tmp_path / "empty")
    assert left_in(tmp_path) == []
