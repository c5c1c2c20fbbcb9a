"""``ocboost adapt``: it follows the stream, and ends in the same model however often it was stopped."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from cli_runs import feed, fitted, left_in, ran, refused, shown_on_terminal, started, table, write
from ocboost.__main__ import main
from ocboost.adaptation import Adaptation
from ocboost.classifier import OCBClassifier
from ocboost.cli import adapt
from ocboost.model import Model

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals or a pseudo-terminal")


class Killed(BaseException):
    """The process is gone: nobody catches this."""


def kill_after(monkeypatch, owner, name, calls):
    """Let the process die when a method has returned so many times."""
    method, left = getattr(owner, name), [calls]

    def dying(*words, **more):
        result = method(*words, **more)
        left[0] -= 1
        if not left[0]:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, dying)


def killed(capsys, *words):
    with pytest.raises(Killed):
        ran(capsys, *words)


@pytest.fixture
def often(monkeypatch):
    """Read a few rows at once, so that small streams have many places to stop at."""
    monkeypatch.setattr(adapt, "READ", 40)


class TestAdapt:
    def test_is_what_the_library_learns(self, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(400)
        stream = write(tmp_path / "s.csv", rows)
        out = tmp_path / "out.ocb"
        code, told, err = ran(capsys, "adapt", model, stream, "--out", out, "--window", "30")
        assert (code, err) == (0, "")
        clf = Model.load(model).classifier.set_params(head=30, tail=False)
        clf._follow_settings()
        right = 0
        for row in rows:
            X = np.array([row[:4]])
            right += int(clf.predict(X)[0] == row[4])
            clf.partial_fit(X, row[4:])
        found = Model.load(out)
        np.testing.assert_array_equal(found.classifier.alpha_[0], clf.alpha_[0])
        assert found.history[-1]["accuracy"] == right / 400
        assert f"{right / 400:.1%}" in told
        assert f"Wrote {out}" in told
        assert left_in(tmp_path) == []
        assert Model.load(model).classifier.boosters_[0].n_seen == 300

    @pytest.mark.parametrize("name", ["s.csv.gz", "s.jsonl", "s.parquet"])
    def test_formats(self, name, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(120)
        outs = [tmp_path / "a.ocb", tmp_path / "b.ocb"]
        for path, out in zip(
            [write(tmp_path / name, rows), write(tmp_path / "s.csv", rows)], outs, strict=True
        ):
            assert ran(capsys, "adapt", model, path, "--out", out)[0] == 0
        a, b = (Model.load(out).classifier.alpha_[0] for out in outs)
        np.testing.assert_array_equal(a, b)

    def test_steps_end_in_the_same_weights(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(403))
        outs = [tmp_path / f"{step}.ocb" for step in (1, 7, 1000)]
        for step, out in zip((1, 7, 1000), outs, strict=True):
            assert ran(capsys, "adapt", model, stream, "--out", out, "--batch", step)[0] == 0
        found = [Model.load(out) for out in outs]
        for other in found[1:]:
            np.testing.assert_array_equal(found[0].classifier.alpha_[0], other.classifier.alpha_[0])
            assert other.history[-1]["learnt"] == 403

    def test_unlabelled_rows_are_passed_over(self, tmp_path, capsys):
        rows = table(100)
        for i in (0, 7, 8, 99):
            rows[i][4] = None
        model = fitted(tmp_path)
        out = tmp_path / "out.ocb"
        for words in ([], ["--batch", "3"]):
            code, told, _ = ran(capsys, "adapt", model, write(tmp_path / "s.csv", rows), "--out", out, *words)
            assert code == 0
            assert "4 rows had no label" in told
            found = Model.load(out)
            assert found.classifier.boosters_[0].n_seen == 396
            assert (found.history[-1]["rows"], found.history[-1]["learnt"]) == (100, 96)

    def test_another_label(self, tmp_path, capsys):
        model = fitted(tmp_path)
        stream = write(tmp_path / "s.csv", table(50), ["a", "b", "c", "d", "truth"])
        assert "'y'" in refused(capsys, "adapt", model, stream, "--out", model)
        assert ran(capsys, "adapt", model, stream, "--out", model, "--label", "truth")[0] == 0

    def test_many_classes_are_cut_short(self, tmp_path, capsys):
        rows = [[*row[:4], f"[b]{i % 25:02}"] for i, row in enumerate(table(100))]
        data = write(tmp_path / "d.csv", rows)
        model = tmp_path / "m.ocb"
        assert ran(capsys, "fit", data, "--label", "y", "--out", model, "--hypotheses", "2")[0] == 0
        _, told, _ = ran(capsys, "adapt", model, data, "--out", model)
        assert "[b]19" in told
        assert "[b]20" not in told
        assert "… 5 more" in told


class TestFromPython:
    def saved(self, path, names=None, labels=(0, 1)):
        rows = table(300, 99)
        X = np.array([row[:4] for row in rows])
        y = np.array([labels[row[4]] for row in rows])
        clf = OCBClassifier(n_hypotheses=5)
        clf.fit(X, y)
        if names is not None:
            clf.feature_names_in_ = np.array(names, dtype=object)
        clf.save(path)
        return path

    def test_needs_a_label(self, tmp_path, capsys):
        model, stream = self.saved(tmp_path / "m.ocb"), write(tmp_path / "s.csv", table(60))
        told = refused(capsys, "adapt", model, stream, "--out", model)
        assert "--label must name the column that holds the class" in told

    def test_without_names_the_order_counts(self, tmp_path, capsys):
        model, stream = self.saved(tmp_path / "m.ocb"), write(tmp_path / "s.csv", table(60))
        words = ["--out", model, "--label", "y"]
        assert ran(capsys, "adapt", model, stream, *words)[0] == 0
        more = [[7, *row] for row in table(60)]
        wide = write(tmp_path / "w.csv", more, ["id", "a", "b", "c", "d", "y"])
        assert "must have the 4 features of the model" in refused(capsys, "adapt", model, wide, *words)
        assert ran(capsys, "adapt", model, wide, *words, "--drop", "id")[0] == 0
        texts = write(tmp_path / "t.csv", [["u", *row[1:]] for row in table(60)])
        assert "the column 'a' holds texts" in refused(capsys, "adapt", model, texts, *words)

    def test_with_names_the_names_count(self, tmp_path, capsys):
        model = self.saved(tmp_path / "m.ocb", ["a", "b", "c", "d"])
        rows = [[row[4], 7, *row[3::-1]] for row in table(60)]
        stream = write(tmp_path / "s.csv", rows, ["y", "other", "d", "c", "b", "a"])
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "o.ocb", "--label", "y")[0] == 0
        straight = write(tmp_path / "t.csv", table(60))
        assert ran(capsys, "adapt", model, straight, "--out", tmp_path / "p.ocb", "--label", "y")[0] == 0
        a, b = (Model.load(tmp_path / name).classifier.alpha_[0] for name in ("o.ocb", "p.ocb"))
        np.testing.assert_array_equal(a, b)

    def test_classes_that_are_texts_of_numbers(self, tmp_path, capsys):
        model = self.saved(tmp_path / "m.ocb", ["a", "b", "c", "d"], labels=("0", "1"))
        stream = write(tmp_path / "s.csv", table(60))
        assert ran(capsys, "adapt", model, stream, "--out", model, "--label", "y")[0] == 0


RUNS = {
    "csv": ("s.csv", 2, []),
    "gzip, forgetting": ("s.csv.gz", 2, ["--forgetting", "0.99"]),
    "three classes, window": ("s.jsonl", 3, ["--window", "25"]),
    "three classes": ("s.jsonl.gz", 3, []),
    "steps": ("s.parquet", 2, ["--batch", "7"]),
    "head of one": ("s.csv", 2, ["--head", "1"]),
}


@pytest.mark.usefixtures("often")
class TestKilled:
    @pytest.mark.parametrize("in_place", [False, True])
    @pytest.mark.parametrize("run", RUNS)
    def test_anywhere_in_the_stream(self, run, in_place, tmp_path, capsys, monkeypatch):
        name, classes, options = RUNS[run]
        model = fitted(tmp_path, classes=classes)
        stream = write(tmp_path / name, table(403, classes=classes))
        whole = tmp_path / "whole.ocb"
        monkeypatch.setattr(adapt, "READ", 500)
        assert ran(capsys, "adapt", model, stream, "--out", whole, *options)[0] == 0
        monkeypatch.setattr(adapt, "READ", 40)
        out = model if in_place else tmp_path / "out.ocb"
        before = model.read_bytes()
        words = ["adapt", model, stream, "--out", out, *options, "--checkpoint-rows", "60"]
        for attempt, calls in enumerate([1, 3, 2, 4]):
            with monkeypatch.context() as patch:
                kill_after(patch, Adaptation, "take", calls)
                killed(capsys, *words, *(["--resume"] if attempt else []))
            assert model.read_bytes() == before
            assert left_in(tmp_path) == ["out.ocb.checkpoint" if not in_place else "model.ocb.checkpoint"]
        code, _, err = ran(capsys, *words, "--resume")
        assert (code, err) == (0, "")
        assert out.read_bytes() == whole.read_bytes()
        assert left_in(tmp_path) == []

    @pytest.mark.parametrize("in_place", [False, True])
    @pytest.mark.parametrize(
        ("owner", "name", "calls"),
        [
            (Adaptation, "save", 1),  # the first checkpoint, before any row
            (Adaptation, "finish", 1),
            (Adaptation, "save", 5),  # the last one, of the finished state
            (Model, "save", 1),
            (Path, "unlink", 1),  # the checkpoint is gone
        ],
    )
    def test_while_it_writes(self, owner, name, calls, in_place, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(120))
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "whole.ocb")[0] == 0
        out = model if in_place else tmp_path / "out.ocb"
        words = ["adapt", model, stream, "--out", out, "--checkpoint-rows", "40"]
        with monkeypatch.context() as patch:
            kill_after(patch, owner, name, calls)
            killed(capsys, *words)
        for _ in range(2):  # once more than needed: it must not learn the stream twice
            assert ran(capsys, *words, "--resume")[0] == 0
            assert out.read_bytes() == (tmp_path / "whole.ocb").read_bytes()
        assert left_in(tmp_path) == []

    def test_the_same_stream_on_purpose(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(120))
        words = ["adapt", model, stream, "--out", model]
        assert ran(capsys, *words)[0] == 0
        code, told, err = ran(capsys, *words, "--resume")
        assert (code, told) == (0, "")
        assert "nothing to resume" in err
        with monkeypatch.context() as patch:  # a second time, and killed at once
            kill_after(patch, Adaptation, "save", 1)
            killed(capsys, *words)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert [event["event"] for event in Model.load(model).history] == ["fit", "adapt", "adapt"]

    def test_another_model_has_not_been_through_it(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(80))
        other = fitted(tmp_path, "--rows", "200", name="other.ocb")
        out = tmp_path / "out.ocb"
        assert ran(capsys, "adapt", model, stream, "--out", out)[0] == 0
        _, _, err = ran(capsys, "adapt", other, stream, "--out", out, "--resume")
        assert "no checkpoint was found; beginning at the first row" in err
        assert Model.load(out).classifier.boosters_[0].n_seen == 280

    def test_standard_input_piped_again(self, tmp_path, capsys, monkeypatch):
        model = fitted(tmp_path)
        data = write(tmp_path / "s.csv", table(403)).read_bytes()
        feed(monkeypatch, data)
        assert ran(capsys, "adapt", model, "-", "--out", tmp_path / "whole.ocb")[0] == 0
        words = ["adapt", model, "-", "--out", tmp_path / "out.ocb", "--checkpoint-rows", "40"]
        for calls in (4, 3):
            feed(monkeypatch, data)
            with monkeypatch.context() as patch:
                kill_after(patch, Adaptation, "take", calls)
                killed(capsys, *words, "--resume")
        feed(monkeypatch, data)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert (tmp_path / "out.ocb").read_bytes() == (tmp_path / "whole.ocb").read_bytes()

    def test_what_was_half_written_is_removed(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(80))
        for name in (".model.ocb.0123abcd.tmp", ".model.ocb.checkpoint.0123abcd.tmp"):
            (tmp_path / name).write_bytes(b"half")
        (tmp_path / ".other.ocb.0123abcd.tmp").write_bytes(b"of another")
        assert ran(capsys, "adapt", model, stream, "--out", model, "--resume")[0] == 0
        assert left_in(tmp_path) == [".other.ocb.0123abcd.tmp"]


@pytest.mark.usefixtures("often")
class TestResumption:
    @pytest.fixture
    def begun(self, tmp_path, capsys, monkeypatch):
        """The words of a run that was killed."""
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(400))
        words = ["adapt", model, stream, "--out", tmp_path / "out.ocb", "--checkpoint-rows", "40"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 4)
            killed(capsys, *words)
        return words

    def test_must_be_asked_for(self, begun, capsys, tmp_path):
        told = refused(capsys, *begun)
        assert "interrupted after 120 rows. Give --resume to go on from there, or --restart" in told
        assert ran(capsys, *begun, "--restart")[0] == 0
        assert ran(capsys, *begun[:4], tmp_path / "whole.ocb")[0] == 0
        assert (tmp_path / "out.ocb").read_bytes() == (tmp_path / "whole.ocb").read_bytes()

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (["--window", "20"], "with other settings"),
            (["--forgetting", "0.9"], "with other settings"),
            (["--batch", "2"], "with another --batch"),
            (["--label", "d2"], "with another --label"),
        ],
    )
    def test_other_settings(self, begun, change, what, capsys, tmp_path):
        stream = begun[2]
        stream.write_text(
            stream.read_text().replace("a,b,c,d,y", "a,b,c,d,d2") if "d2" in change else stream.read_text()
        )
        before = (tmp_path / "out.ocb.checkpoint").read_bytes()
        assert what in refused(capsys, *begun, *change, "--resume")
        assert (tmp_path / "out.ocb.checkpoint").read_bytes() == before

    def test_another_model(self, begun, capsys, tmp_path):
        begun[1] = fitted(tmp_path, "--rows", "250", name="other.ocb")
        assert "belongs to a run with another model" in refused(capsys, *begun, "--resume")

    def test_another_stream(self, begun, capsys, tmp_path):
        begun[2] = write(tmp_path / "t.csv", table(400, 7))
        assert "belongs to another stream" in refused(capsys, *begun, "--resume")

    def test_a_stream_that_has_grown(self, begun, capsys, tmp_path):
        write(begun[2], table(400) + table(30, 8))
        assert ran(capsys, *begun, "--resume")[0] == 0
        assert Model.load(tmp_path / "out.ocb").history[-1]["rows"] == 430

    def test_a_damaged_checkpoint(self, begun, capsys, tmp_path):
        place = tmp_path / "out.ocb.checkpoint"
        place.write_bytes(place.read_bytes()[:-50])
        for words in (begun, [*begun, "--resume"]):
            told = refused(capsys, *words)
            assert "damaged or cut short" in told
            assert "--restart to begin anew" in told
        assert ran(capsys, *begun, "--restart")[0] == 0

    def test_both_options(self, begun, capsys):
        told = refused(capsys, *begun, "--resume", "--restart", code=2)
        assert "exclude each other" in told


@pytest.mark.usefixtures("often")
class TestBadInput:
    @pytest.mark.parametrize(
        ("bad", "what"),
        [
            (
                "1,2,3,4,5",
                "the label 5 in row 100 (the first is row 0) is no class of the model, which knows [0, 1]",
            ),
            ("1,2,3,4,maybe", "'maybe' in row 100"),
            ("1,two,3,4,1", "column 'b' must hold numbers; got 'two' in row 100"),
            ("1,2,-inf,4,1", "column 'c' must hold finite numbers; got -inf in row 100"),
            ("1,2,3", "line 102"),
        ],
    )
    def test_rows_before_it_are_kept(self, bad, what, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("ocboost.streams.fingerprints.LONGEST", 100)  # the beginning stays as it is
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(140))
        out, good = tmp_path / "out.ocb", stream.read_text()
        stream.write_text(good)
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "whole.ocb", "--batch", "7")[0] == 0
        lines = good.splitlines()
        lines[101] = bad
        stream.write_text("\n".join(lines) + "\n")
        words = ["adapt", model, stream, "--out", out, "--batch", "7"]
        told = refused(capsys, *words)
        assert what in told
        assert f"rows are kept in '{out}.checkpoint'; --resume goes on from there" in told
        assert not out.exists()
        assert left_in(tmp_path) == ["out.ocb.checkpoint"]
        assert Adaptation.load(tmp_path / "out.ocb.checkpoint").rows in (84, 98)
        stream.write_text(good)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert out.read_bytes() == (tmp_path / "whole.ocb").read_bytes()

    def test_nothing_is_kept_of_nothing(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", [[1, 2, 3, 4, 9]])
        before = model.read_bytes()
        assert refused(capsys, "adapt", model, stream, "--out", model).endswith("Nothing was learnt.\n")
        assert left_in(tmp_path) == []
        assert model.read_bytes() == before

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("", "is empty"),
            ("a,b,c,d,y\n", "holds no rows"),
            ("a,b,c,y\n1,2,3,1\n", "it lacks 'd'"),
            ("a,b,c,dd,y\n1,2,3,4,1\n", "rename 'dd' to 'd'"),
            ("a,b,c,d\n1,2,3,4\n", "label must name a column"),
        ],
    )
    def test_columns(self, text, what, tmp_path, capsys):
        model, stream = fitted(tmp_path), tmp_path / "s.csv"
        stream.write_text(text)
        assert what in refused(capsys, "adapt", model, stream, "--out", tmp_path / "out.ocb")
        assert left_in(tmp_path) == []

    def test_missing_numbers(self, tmp_path, capsys):
        rows = table(100)
        rows[60][1] = None
        stream = write(tmp_path / "s.csv", rows)
        assert ran(capsys, "adapt", fitted(tmp_path), stream, "--out", tmp_path / "a.ocb")[0] == 0
        balls = fitted(tmp_path, "--learner", "ball")
        told = refused(capsys, "adapt", balls, stream, "--out", tmp_path / "b.ocb")
        assert "'b' is missing in row 60 (the first is row 0), and balls need every number" in told

    @pytest.mark.parametrize("out", ["none/out.ocb", ".", "s.csv"])
    def test_out(self, out, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(20))
        assert "--out must" in refused(capsys, "adapt", model, "s.csv", "--out", out)
        assert stream.read_text().startswith("a,b,c,d,y")

    @pytest.mark.parametrize(
        ("damage", "what"),
        [
            (lambda data: data[:-9], "damaged or cut short"),
            (
                lambda data: data[:8] + b"\x02" + data[9:],
                "has format version 2, and this ocboost",
            ),
            (lambda data: b"a,b\n1,2\n" * 9, "is not an ocboost model"),
            (lambda data: b"", "is not an ocboost model"),
        ],
    )
    def test_models(self, damage, what, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(20))
        model.write_bytes(damage(model.read_bytes()))
        before = model.read_bytes()
        assert what in refused(capsys, "adapt", model, stream, "--out", model)
        assert model.read_bytes() == before
        assert left_in(tmp_path) == []

    def test_a_full_disk(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(200))
        words = ["adapt", model, stream, "--out", tmp_path / "out.ocb", "--checkpoint-rows", "40"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 3)
            killed(capsys, *words)

        def full(*_):
            raise OSError(28, "No space left on device")

        before = (tmp_path / "out.ocb.checkpoint").read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            assert "No space left on device" in refused(capsys, *words, "--resume")
        assert (tmp_path / "out.ocb.checkpoint").read_bytes() == before
        assert left_in(tmp_path) == ["out.ocb.checkpoint"]

    def test_help_has_examples(self, capsys):
        code, told, _ = ran(capsys, "adapt", "--help")
        assert code == 0
        lines = [line.strip() for line in told.splitlines()]
        assert "ocboost adapt model.ocb stream.csv --out model.ocb" in lines
        assert "ocboost adapt model.ocb stream.csv --out model.ocb --resume" in lines


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    model = fitted(folder, "--window", "20")
    stream = write(folder / "s.csv", table(8000))
    assert main(["adapt", str(model), str(stream), "--out", str(folder / "whole.ocb")]) == 0
    return model.read_bytes(), stream, (folder / "whole.ocb").read_bytes()


@posix
class TestProcess:
    """Real processes and real signals, at moments nobody chose."""

    def stop(self, number, words, checkpoint, rng):
        """Start, wait for some checkpoints, and send a signal a moment later."""
        running = started(*words, stdout=-1, stderr=-1, text=True)
        seen, changes = None, rng.randint(2, 5)
        while running.poll() is None and changes:
            now = checkpoint.stat().st_ino if checkpoint.exists() else None
            changes -= now != seen
            seen = now
            time.sleep(0.001)
        time.sleep(rng.random() * 0.03)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
        return running.returncode, err

    def test_kill_9(self, case, tmp_path):
        data, stream, whole = case
        model = tmp_path / "model.ocb"
        model.write_bytes(data)
        words = ["adapt", model, stream, "--out", model, "--checkpoint-rows", "1", "--resume"]
        rng, codes = random.Random(5), []
        for _ in range(3):
            codes.append(self.stop(signal.SIGKILL, words, tmp_path / "model.ocb.checkpoint", rng)[0])
            if codes[-1] == 0:
                break
            assert model.read_bytes() in (data, whole)
        assert codes[0] == -signal.SIGKILL
        assert started(*words, stdout=-3, stderr=-3).wait(timeout=120) == 0
        assert model.read_bytes() == whole
        assert left_in(tmp_path) == []

    def test_ctrl_c(self, case, tmp_path):
        data, stream, whole = case
        model, out = tmp_path / "model.ocb", tmp_path / "out.ocb"
        model.write_bytes(data)
        words = ["adapt", model, stream, "--out", out, "--checkpoint-rows", "1"]
        code, err = self.stop(signal.SIGINT, words, tmp_path / "out.ocb.checkpoint", random.Random(1))
        assert code == 130
        assert err.startswith("ocboost: interrupted. ")
        assert err.count("\n") == 1
        assert "--resume goes on from there" in err
        assert Adaptation.load(tmp_path / "out.ocb.checkpoint").rows > 0
        assert not out.exists()
        assert left_in(tmp_path) == ["out.ocb.checkpoint"]
        assert started(*words, "--resume", stdout=-3, stderr=-3).wait(timeout=120) == 0
        assert out.read_bytes() == whole

    def test_accuracy_on_a_terminal(self, case, tmp_path):
        data, stream, _ = case
        model = tmp_path / "model.ocb"
        model.write_bytes(data)
        text, code = shown_on_terminal("adapt", model, stream, "--out", model)
        assert code == 0
        assert "adapting" in text
        assert "right: " in text
        assert "lately" in text
