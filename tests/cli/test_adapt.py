"""``ocboost adapt``: it follows the stream, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from tests.support.cli_runs import fitted, kill_after, killed, left_in, ran, refused, table, write


@pytest.fixture
def often(monkeypatch):
    """Read a few rows at once, so that small streams have many places to stop at."""
    monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)


class TestAdapt:
    def test_is_what_the_library_learns(self, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(400)
        stream = write(tmp_path / "s.csv", rows)
        out = tmp_path / "out.ocb"
        code, printed, err = ran(capsys, "adapt", model, stream, "--out", out, "--window", "30")
        assert (code, err) == (0, "")
        clf = Model.load(model).classifier.set_params(head=30, tail=False)
        clf.follow_settings()
        right = 0
        for row in rows:
            X = np.array([row[:4]])
            right += int(clf.predict(X)[0] == row[4])
            clf.partial_fit(X, row[4:])
        found = Model.load(out)
        np.testing.assert_array_equal(found.classifier.alpha_[0], clf.alpha_[0])
        assert found.history[-1]["accuracy"] == right / 400
        assert f"{right / 400:.1%}" in printed
        assert f"Wrote {out}" in printed
        assert left_in(tmp_path) == []
        assert Model.load(model).classifier.boosters_[0].n_seen == 300

    def test_new_hypotheses_come(self, tmp_path, capsys):
        model, rows = fitted(tmp_path), table(600)
        stream = write(tmp_path / "s.csv", rows)
        out = tmp_path / "out.ocb"
        before = len(Model.load(model).classifier.hypotheses_)
        grow = ["--window", "60", "--grow", before + 3]
        assert ran(capsys, "adapt", model, stream, "--out", out, *grow)[::2] == (0, "")
        found = Model.load(out).classifier
        clf = Model.load(model).classifier.set_params(head=60, tail=False, grow=before + 3)
        clf.partial_fit(np.array([row[:4] for row in rows]), np.array([row[4] for row in rows]))
        np.testing.assert_array_equal(found.alpha_[0], clf.alpha_[0])
        assert found.n_grown_ > 0
        assert len(found.hypotheses_) == before + found.n_grown_ - found.n_retired_ <= before + 3
        shown = " ".join(ran(capsys, "info", out)[1].split())
        assert f"up to {before + 3} hypotheses; {found.n_grown_} have come" in shown

    @pytest.mark.parametrize(
        ("before", "words", "kept"),
        [
            ([], ["--memory", "20kB"], ("heavy", 20_000)),
            (["--memory", "20kB"], ["--head", "40"], ("heavy", None)),
            (["--head", "40", "--keep", "heavy"], ["--window", "30"], ("newest", None)),
            (["--head", "40"], ["--keep", "newest"], ("newest", None)),
            (["--head", "40", "--keep", "newest"], ["--memory", "20kB"], ("newest", None)),
            (["--window", "40"], ["--memory", "20kB"], ("newest", None)),
            (["--head", "40"], ["--grow", "60"], ("newest", None)),
        ],
    )
    def test_what_is_kept_can_change(self, before, words, kept, tmp_path, capsys):
        model, stream = fitted(tmp_path, *before), write(tmp_path / "s.csv", table(200))
        code, _, err = ran(capsys, "adapt", model, stream, "--out", model, *words)
        assert (code, err) == (0, "")
        booster = Model.load(model).classifier.boosters_[0]
        assert (booster.keep, booster.memory) == kept
        assert booster.n_seen == 500

    def test_what_is_kept_cannot_become_heavy(self, tmp_path, capsys):
        model, stream = (
            fitted(tmp_path, "--head", "40", "--keep", "newest"),
            write(tmp_path / "s.csv", table(200)),
        )
        old = model.read_bytes()
        code, _, err = ran(capsys, "adapt", model, stream, "--out", model, "--keep", "heavy")
        assert code == 1
        assert "only while nothing has been folded" in err
        assert model.read_bytes() == old

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
            code, printed, _ = ran(
                capsys, "adapt", model, write(tmp_path / "s.csv", rows), "--out", out, *words
            )
            assert code == 0
            assert "4 rows had no label" in printed
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
        _, printed, _ = ran(capsys, "adapt", model, data, "--out", model)
        assert "[b]19" in printed
        assert "[b]20" not in printed
        assert "… 5 more" in printed


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
        message = refused(capsys, "adapt", model, stream, "--out", model)
        assert "--label must name the column that holds the class" in message

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
        monkeypatch.setattr("ocboost.streams.stream.FINGERPRINT_BYTES", 100)  # the beginning stays as it is
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(140))
        out, good = tmp_path / "out.ocb", stream.read_text()
        stream.write_text(good)
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "whole.ocb", "--batch", "7")[0] == 0
        lines = good.splitlines()
        lines[101] = bad
        stream.write_text("\n".join(lines) + "\n")
        words = ["adapt", model, stream, "--out", out, "--batch", "7"]
        message = refused(capsys, *words)
        assert what in message
        assert f"rows are kept in '{out}.checkpoint'; --resume continues from there" in message
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
        message = refused(capsys, "adapt", balls, stream, "--out", tmp_path / "b.ocb")
        assert "'b' is missing in row 60 (the first is row 0), and balls need every number" in message

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
                lambda data: data[:8] + b"\x03" + data[9:],
                "has format version 3, and this ocboost",
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

    @pytest.mark.parametrize("command", ["adapt", "predict", "evaluate"])
    def test_a_model_without_its_offset(self, command, tmp_path, capsys):
        # Python code is in no file: it is found before a row is read, not when the run has come to its end.
        rows = np.array(table(200))
        clf = OCBClassifier(n_hypotheses=4, offset=lambda X: X[:, 0]).fit(rows[:, :4], rows[:, 4].astype(int))
        clf.save(tmp_path / "model.ocb", without_offset=True)
        model, stream = tmp_path / "model.ocb", write(tmp_path / "s.csv", table(50))
        words = {
            "adapt": [model, stream, "--label", "y", "--out", tmp_path / "out.ocb"],
            "predict": [model, stream],
            "evaluate": [stream, "--label", "y", "--model", model, "--out", tmp_path / "report"],
        }
        before = sorted(tmp_path.iterdir())
        assert "not in the file" in ran(capsys, "info", model)[1]
        err = refused(capsys, command, *words[command])
        assert "holds a classifier without its offset" in err
        assert "OCBClassifier.load(path, offset=scorer)" in err
        assert sorted(tmp_path.iterdir()) == before

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
        code, printed, _ = ran(capsys, "adapt", "--help")
        assert code == 0
        lines = [line.strip() for line in printed.splitlines()]
        assert "ocboost adapt model.ocb stream.csv --out model.ocb" in lines
        assert "ocboost adapt model.ocb stream.csv --out model.ocb --resume" in lines


class TestWhatIsLearnt:
    def test_skip_passes_over_the_first_rows(self, tmp_path, capsys):
        rows = table(700, 3)
        model = fitted(tmp_path)
        whole = write(tmp_path / "whole.csv", rows)
        rest = write(tmp_path / "rest.csv", rows[300:])
        for path, out, words in ((whole, "a.ocb", ["--skip", "300"]), (rest, "b.ocb", [])):
            assert ran(capsys, "adapt", model, path, "--out", tmp_path / out, *words)[0] == 0
        a, b = (Model.load(tmp_path / name) for name in ("a.ocb", "b.ocb"))
        np.testing.assert_array_equal(a.classifier.alpha_[0], b.classifier.alpha_[0])
        assert a.history[-1]["rows"] == b.history[-1]["rows"] == 400
        assert a.history[-1]["accuracy"] == b.history[-1]["accuracy"]

    def test_unseen_classes_are_left_out_if_wanted(self, tmp_path, capsys):
        rows = table(300, 3)
        strange = [[*row[:4], 7] if i in (5, 200) else row for i, row in enumerate(rows)]
        path = write(tmp_path / "strange.csv", strange)
        clean = write(tmp_path / "clean.csv", [row for i, row in enumerate(rows) if i not in (5, 200)])
        model = fitted(tmp_path)
        err = refused(capsys, "adapt", model, path, "--out", tmp_path / "a.ocb")
        assert "the label 7 in row 5 " in err
        assert "--leave-unseen" in err
        code, printed, _ = ran(
            capsys, "adapt", model, path, "--out", tmp_path / "a.ocb", "--leave-unseen", "--restart"
        )
        assert code == 0
        assert "2 rows had no label, or one the model does not know," in printed
        assert ran(capsys, "adapt", model, clean, "--out", tmp_path / "b.ocb")[0] == 0
        a, b = (Model.load(tmp_path / name).classifier.alpha_[0] for name in ("a.ocb", "b.ocb"))
        np.testing.assert_array_equal(a, b)

    def test_a_class_that_comes_later(self, tmp_path, capsys):
        model = fitted(tmp_path, "--classes", "7")
        assert Model.load(model).classifier.classes_.tolist() == [0, 1, 7]
        rows = [[*row[:4], 7] if row[0] > 1 else row for row in table(300, 3)]
        path = write(tmp_path / "new.csv", rows)
        assert ran(capsys, "adapt", model, path, "--out", model)[0] == 0
        again = Model.load(model).classifier
        X = np.array([row[:4] for row in rows])
        assert (again.predict(X) == 7).any()

    def test_classes_of_another_kind(self, tmp_path, capsys):
        data = write(tmp_path / "data.csv", table(100))
        words = ("fit", data, "--label", "y", "--out", tmp_path / "m.ocb", "--classes", "many")
        assert "--classes must be whole numbers" in refused(capsys, *words)

    def test_a_stream_that_changes_gets_a_hint(self, tmp_path, capsys):
        model = fitted(tmp_path)
        rows = table(2600, 3, drift=False)
        turned = [[*row[:4], 1 - row[4]] if i > 1300 else row for i, row in enumerate(rows)]
        for name, lines, hinted in (("steady", rows, False), ("turned", turned, True)):
            path = write(tmp_path / f"{name}.csv", lines)
            _, out, _ = ran(capsys, "adapt", model, path, "--out", tmp_path / "a.ocb", "--batch", "50")
            assert "Of the last 1,000 rows" in out
            assert ("--window 200" in out) is hinted
