"""``ocboost fleet``: a model for every key, learnt, asked, exported, dropped, verified."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings

import numpy as np
import pytest

from ocboost.__main__ import main
from ocboost._extras import install_line
from ocboost.fleet import Fleet
from tests.support.cli_runs import feed, fitted, process, ran, refused
from tests.support.fleet_runs import KEYED, damage, entries, keyed_table, learnt, write

pytest.importorskip("lmdb")


@pytest.fixture
def stream(tmp_path):
    """A stream of some keys."""
    return write(tmp_path / "s.csv", keyed_table(400))


@pytest.fixture
def store(tmp_path, ocb, stream, capsys):
    """A store that has learnt it."""
    assert ran(capsys, "fleet", "adapt", ocb, stream, "--key", "id", "--store", tmp_path / "store")[0] == 0
    return tmp_path / "store"


def adapt_words(model, stream, store, *more):
    return ["fleet", "adapt", model, stream, "--key", "id", "--store", store, *more]


def predictions_in(text):
    """The predictions and probabilities of CSV."""
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["prediction", "probability"]
    return [row[0] for row in rows], [float(row[1]) for row in rows]


class TestAdapt:
    def test_it_tells_how_it_went(self, tmp_path, model, stream, capsys):
        store, out = tmp_path / "store", tmp_path / "p.csv"
        code, printed, err = ran(capsys, *adapt_words(model, stream, store, "--predictions", out))
        assert (code, err) == (0, "")
        found, _ = predictions_in(out.read_text())
        labels = [str(row[-1]) for row in keyed_table(400)]
        right = np.mean([a == b for a, b in zip(found, labels, strict=True)])
        assert f"{right:.1%}" in printed
        assert "7, 7 of them new" in printed
        with Fleet(store=store, read_only=True) as fleet:
            told = fleet.info()
            assert (told.rows, told.n_keys, told.accuracy) == (400, 7, pytest.approx(right))
            assert f"{told.deployed_accuracy:.1%}" in printed
            assert f"{told.bytes:,} bytes" in printed
        assert told.accuracy > told.deployed_accuracy + 0.1  # every second key is the other way round

    @pytest.mark.parametrize("name", ["s.jsonl", "s.parquet", "s.csv.gz"])
    def test_other_formats(self, name, tmp_path, ocb, store, capsys):
        other, out = tmp_path / "other", tmp_path / "p"
        stream = write(tmp_path / name, keyed_table(400))
        assert ran(capsys, *adapt_words(ocb, stream, other, "--predictions", out))[0] == 0
        assert learnt(other) == learnt(store)
        first = out.read_text().splitlines()[0]
        assert set(json.loads(first)) == {"prediction", "probability"} if "json" in name else "," in first

    @pytest.mark.parametrize("batch", [1, 7, 1000])
    def test_it_does_not_matter_how_it_is_cut(self, batch, tmp_path, ocb, stream, store, capsys):
        other = tmp_path / "other"
        assert ran(capsys, *adapt_words(ocb, stream, other, "--batch", batch))[0] == 0
        assert entries(other) == entries(store)

    def test_keys_as_they_are_written(self, tmp_path, ocb, capsys):
        names = ["017", "NA", "17", "-1", "é", "a\x1b[31mb"]
        rows = [[names[i % 6], *row[1:]] for i, row in enumerate(keyed_table(60))]
        stream, store = write(tmp_path / "s.csv", rows), tmp_path / "store"
        assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
        with Fleet(store=store, read_only=True) as fleet:
            assert sorted(fleet.keys()) == sorted(name.encode() for name in names)
        code, printed, _ = ran(capsys, "fleet", "info", store)
        assert code == 0
        assert "\x1b" not in printed
        assert "a\\x1b[31mb" in printed

    def test_three_classes(self, tmp_path, capsys):
        model = fitted(tmp_path, classes=3)
        stream = write(tmp_path / "s.csv", keyed_table(200, classes=3))
        code, printed, _ = ran(capsys, *adapt_words(model, stream, tmp_path / "store"))
        assert (code, "200" in printed) == (0, True)

    def test_standard_input_is_all_learnt(self, tmp_path, ocb, stream, store, monkeypatch, capsys):
        other = tmp_path / "other"
        for n in (1, 2):
            feed(monkeypatch, stream.read_bytes())
            assert ran(capsys, *adapt_words(ocb, "-", other))[0] == 0
            with Fleet(store=other, read_only=True) as fleet:
                assert fleet.rows == n * 400
                assert fleet.sources == {}
            assert n == 2 or learnt(other) == learnt(store)

    def test_predictions_on_standard_output(self, tmp_path, ocb, stream, monkeypatch, capsys):
        out = tmp_path / "p.csv"
        assert ran(capsys, *adapt_words(ocb, stream, tmp_path / "a", "--predictions", out))[0] == 0
        for where in (stream, "-"):
            feed(monkeypatch, stream.read_bytes())
            store = tmp_path / f"b{where == '-'}"
            code, printed, err = ran(capsys, *adapt_words(ocb, where, store, "--predictions", "-"))
            assert code == 0
            assert printed == out.read_text()
            assert "deployed model" in err

    def test_rows_without_a_label(self, tmp_path, ocb, capsys):
        rows = keyed_table(100)
        some = [[*row[:-1], None] if i % 3 == 0 else row for i, row in enumerate(rows)]
        stream, out = write(tmp_path / "s.csv", some), tmp_path / "p.csv"
        code, printed, _ = ran(capsys, *adapt_words(ocb, stream, tmp_path / "a"))
        assert code == 0
        assert "34 rows had no label and were not learnt." in printed
        assert ran(capsys, *adapt_words(ocb, stream, tmp_path / "b", "--predictions", out))[0] == 0
        assert len(predictions_in(out.read_text())[0]) == 100
        for store in ("a", "b"):
            with Fleet(store=tmp_path / store, read_only=True) as fleet:
                assert fleet.rows == 66
        assert learnt(tmp_path / "a") == learnt(tmp_path / "b")
        _, _, err = ran(capsys, *adapt_words(ocb, stream, tmp_path / "a"))
        assert "nothing new: all 100 rows" in err

    def test_a_stream_without_labels_is_only_predicted(self, tmp_path, ocb, store, capsys):
        rows = [row[:-1] for row in keyed_table(30, 5)]
        stream, out = write(tmp_path / "new.csv", rows, KEYED[:-1]), tmp_path / "p.csv"
        before = learnt(store)
        assert ran(capsys, *adapt_words(ocb, stream, store, "--predictions", out))[0] == 0
        assert learnt(store) == before
        assert out.read_text() == ran(capsys, "fleet", "predict", store, stream, "--key", "id")[1]
        assert "label must name a column" in refused(capsys, *adapt_words(ocb, stream, store))

    def test_a_class_that_the_model_does_not_know(self, tmp_path, ocb, capsys):
        rows = keyed_table(50)
        rows[30][-1] = 7
        stream, store = write(tmp_path / "s.csv", rows), tmp_path / "store"
        said = refused(capsys, *adapt_words(ocb, stream, store))
        assert "the label 7 in row 30" in said
        assert "--leave-unseen" in said
        assert "30 rows of the stream are in the store; the same line continues after them" in said
        code, printed, err = ran(capsys, *adapt_words(ocb, stream, store, "--leave-unseen"))
        assert code == 0
        assert "continuing at row 30" in err
        assert "1 row had no label, or one the model does not know, and was not learnt." in printed
        with Fleet(store=store, read_only=True) as fleet:
            assert fleet.rows == 49

    def test_skip(self, tmp_path, ocb, stream, capsys):
        assert ran(capsys, *adapt_words(ocb, stream, tmp_path / "a", "--skip", "150"))[0] == 0
        rest = write(tmp_path / "rest.csv", keyed_table(400)[150:])
        assert ran(capsys, *adapt_words(ocb, rest, tmp_path / "b"))[0] == 0
        assert learnt(tmp_path / "a") == learnt(tmp_path / "b")

    def test_a_window(self, tmp_path, ocb, stream, capsys):
        store = tmp_path / "store"
        assert ran(capsys, *adapt_words(ocb, stream, store, "--window", "9"))[0] == 0
        assert "the last 9 rows of each key" in ran(capsys, "fleet", "info", store)[1]
        assert "window must be 9" in refused(capsys, *adapt_words(ocb, stream, store, "--window", "10"))


class TestPredict:
    def test_as_python_does(self, tmp_path, store, capsys):
        rows = keyed_table(50, 8, keys=9)  # two of the keys are new
        data = write(tmp_path / "new.csv", rows)
        code, printed, err = ran(capsys, "fleet", "predict", store, data, "--key", "id")
        assert (code, err) == (0, "")
        found, shares = predictions_in(printed)
        with Fleet(store=store, read_only=True) as fleet:
            proba = fleet.predict_proba([row[0] for row in rows], np.array([row[1:-1] for row in rows]))
        assert found == [str(code) for code in proba.argmax(axis=1)]
        assert shares == pytest.approx(proba.max(axis=1), rel=1e-5)
        code, printed, _ = ran(
            capsys, "fleet", "predict", store, data, "--key", "id", "--all", "--batch", "7"
        )
        assert printed.splitlines()[0] == "prediction,p(0),p(1)"
        assert np.loadtxt(io.StringIO(printed), delimiter=",", skiprows=1)[:, 1:] == pytest.approx(
            proba, rel=1e-5
        )

    def test_a_threshold(self, tmp_path, store, capsys):
        data = write(tmp_path / "new.csv", keyed_table(50, 8))
        words = ["fleet", "predict", store, data, "--key", "id", "--threshold", "1=0.0001"]
        assert set(predictions_in(ran(capsys, *words)[1])[0]) == {"1"}

    def test_while_somebody_learns(self, tmp_path, store):
        data = write(tmp_path / "new.csv", keyed_table(5, 8))
        with Fleet(store=store):
            assert process("fleet", "predict", store, data, "--key", "id").stdout.count("\n") == 6
            assert "400" in process("fleet", "info", store).stdout

    def test_a_damaged_key_is_said(self, tmp_path, store, capsys):
        damage(store, b"k003")
        data = write(tmp_path / "new.csv", keyed_table(50, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            code, printed, err = ran(capsys, "fleet", "predict", store, data, "--key", "id")
        assert code == 0
        assert printed.count("\n") == 51
        assert err.startswith("ocboost: the record of key b'k003'")


class TestInfo:
    def test_it_has_everything(self, store, capsys):
        code, printed, err = ran(capsys, "fleet", "info", store, "--top", "3")
        assert (code, err) == (0, "")
        for text in ("400", "7", "s.csv", "yes", "the last 200 rows", "predicted worst", "moved most"):
            assert text in printed
        with Fleet(store=store, read_only=True) as fleet:
            worst, moved = (fleet.table(top=3, by=by) for by in ("worst", "moved"))
        names = [line.split()[1] for line in printed.splitlines() if line.startswith("│ k")]
        assert names == [each.key.decode() for each in (*worst, *moved)]
        assert "predicted worst" not in ran(capsys, "fleet", "info", store, "--top", "0")[1]

    def test_a_store_without_rows(self, tmp_path, ocb, capsys):
        Fleet(ocb, store=tmp_path / "store").close()
        code, printed, _ = ran(capsys, "fleet", "info", tmp_path / "store")
        assert code == 0
        assert "right" not in printed

    def test_a_key_that_is_not_utf8(self, tmp_path, ocb, capsys):
        with Fleet(ocb, store=tmp_path / "store") as fleet:
            rows = keyed_table(3)
            fleet.learn([b"\xff\n"] * 3, np.array([row[1:-1] for row in rows]), [row[-1] for row in rows])
        _, printed, _ = ran(capsys, "fleet", "info", tmp_path / "store")
        assert "\\xff\\n" in printed


class TestExport:
    def test_an_ordinary_model(self, tmp_path, store, capsys):
        out = tmp_path / "k.ocb"
        code, printed, _ = ran(capsys, "fleet", "export", store, "k003", "--out", out)
        assert (code, printed) == (0, f"Wrote {out}\n")
        data = write(tmp_path / "new.csv", [["k003", *row[1:]] for row in keyed_table(50, 8)])
        found, shares = predictions_in(ran(capsys, "predict", out, data)[1])
        wanted, theirs = predictions_in(ran(capsys, "fleet", "predict", store, data, "--key", "id")[1])
        assert found == wanted
        assert shares == pytest.approx(theirs, rel=1e-4)
        assert ran(capsys, "adapt", out, data, "--out", out)[0] == 0
        assert "k003" not in ran(capsys, "info", out)[2]

    def test_no_such_key(self, tmp_path, store, capsys):
        said = refused(capsys, "fleet", "export", store, "k9", "--out", tmp_path / "k.ocb")
        assert "there is no 'k9'" in said
        assert not (tmp_path / "k.ocb").exists()

    def test_out_must_be_a_file(self, tmp_path, store, capsys):
        said = refused(capsys, "fleet", "export", store, "k003", "--out", tmp_path)
        assert "--out must be a file" in said


class TestDropVerifyCompact:
    def test_dropped_keys_begin_anew(self, tmp_path, ocb, stream, store, capsys):
        code, printed, err = ran(capsys, "fleet", "drop", store, "k003", "k001", "k003")
        assert (code, printed, err) == (0, "Dropped 2 keys; 5 are left.\n", "")
        with Fleet(store=store, read_only=True) as fleet:
            assert b"k003" not in fleet
            assert b"k002" in fleet
        more = write(tmp_path / "more.csv", [["k003", *row[1:]] for row in keyed_table(10, 8)])
        assert "6, 1 of them new" in ran(capsys, *adapt_words(ocb, more, store))[1]

    def test_a_key_that_is_not_there(self, store, capsys):
        code, printed, err = ran(capsys, "fleet", "drop", store, "k003", "-x", "k9")
        assert (code, printed) == (1, "Dropped 1 key; 6 are left.\n")
        assert err == f"ocboost: '{store}' does not hold '-x', 'k9'.\n"

    def test_verify(self, tmp_path, ocb, stream, store, capsys):
        assert ran(capsys, "fleet", "verify", store) == (0, f"{store} is as it should be: 7 keys.\n", "")
        damage(store, b"k001", b"k004")
        code, printed, err = ran(capsys, "fleet", "verify", store)
        assert code == 1
        assert [line.split(":")[0] for line in printed.splitlines()] == ["k001", "k004"]
        assert "2 keys of 7" in err
        assert "ocboost fleet drop" in err
        more = write(tmp_path / "more.csv", keyed_table(50, 8))
        said = refused(capsys, *adapt_words(ocb, more, store))
        assert "k001" in said
        assert "Nothing was learnt" in said
        assert ran(capsys, "fleet", "drop", store, "k001", "k004")[0] == 0
        assert ran(capsys, "fleet", "verify", store)[0] == 0
        assert ran(capsys, *adapt_words(ocb, more, store))[0] == 0

    def test_compact(self, store, capsys):
        before = entries(store)
        size = (store / "data.mdb").stat().st_size
        code, printed, _ = ran(capsys, "fleet", "compact", store)
        assert code == 0
        now = (store / "data.mdb").stat().st_size
        assert printed == f"{store}: {size:,} bytes before, {now:,} now.\n"
        assert now < size
        assert entries(store) == before

    @pytest.mark.parametrize("words", [["compact"], ["drop", "k001"]])
    def test_not_while_somebody_learns(self, words, store, capsys):
        with Fleet(store=store):
            command, *more = words
            assert "is open in this process already" in refused(capsys, "fleet", command, store, *more)


class TestRefused:
    def test_no_such_key_column(self, tmp_path, ocb, stream, capsys):
        said = refused(capsys, "fleet", "adapt", ocb, stream, "--key", "customer", "--store", tmp_path / "st")
        assert "key must name a column" in said
        assert "'customer'" in said
        assert not (tmp_path / "st").exists()
        assert "--key is missing" in refused(capsys, "fleet", "adapt", ocb, stream, "--store", "st", code=2)

    def test_the_label_as_key(self, tmp_path, ocb, stream, capsys):
        said = refused(capsys, "fleet", "adapt", ocb, stream, "--key", "y", "--store", tmp_path / "st")
        assert "key must not be the label column" in said

    @pytest.mark.parametrize(("key", "why"), [(None, "has none"), ("k" * 501, "is 501 bytes long")])
    def test_a_bad_key(self, key, why, tmp_path, ocb, capsys):
        rows = keyed_table(20)
        rows[12][0] = key
        stream, store = write(tmp_path / "s.csv", rows), tmp_path / "store"
        said = refused(capsys, *adapt_words(ocb, stream, store))
        assert f"row 12 (the first is row 0) {why}" in said
        assert "12 rows of the stream are in the store" in said
        assert why in refused(capsys, "fleet", "predict", store, stream, "--key", "id")

    def test_another_model(self, tmp_path, ocb, stream, store, capsys):
        other = fitted(tmp_path, "--rows", "200", name="other.ocb")
        before = entries(store)
        said = refused(capsys, *adapt_words(other, stream, store))
        assert "belongs to another model" in said
        assert entries(store) == before

    def test_no_model(self, tmp_path, stream, capsys):
        said = refused(capsys, *adapt_words(tmp_path / "m.ocb", stream, tmp_path / "store"))
        assert "m.ocb" in said
        assert not (tmp_path / "store").exists()

    @pytest.mark.parametrize(
        "words", [["info"], ["verify"], ["compact"], ["drop", "k"], ["export", "k", "--out", "o.ocb"]]
    )
    def test_no_store(self, words, tmp_path, capsys):
        command, *more = words
        (tmp_path / "empty").mkdir()
        (tmp_path / "file").write_text("x")
        for name, why in (("nowhere", "is not there"), ("empty", "holds none"), ("file", "is a file")):
            said = refused(capsys, "fleet", command, tmp_path / name, *more)
            assert "a store must be a folder that `ocboost fleet adapt` has made" in said
            assert why in said
        assert not list((tmp_path / "empty").iterdir())

    def test_a_folder_that_is_no_store(self, tmp_path, ocb, stream, capsys):
        assert "a store must be a folder" in refused(capsys, *adapt_words(ocb, stream, stream))
        assert "holds other files" in refused(capsys, *adapt_words(ocb, stream, tmp_path))
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken" / "data.mdb").write_bytes(b"no LMDB" * 2000)
        said = refused(capsys, *adapt_words(ocb, stream, tmp_path / "broken"))
        assert "damaged, or no store" in said
        assert "damaged, or no store" in refused(capsys, "fleet", "info", tmp_path / "broken")

    def test_predictions_somewhere_else(self, tmp_path, ocb, stream, store, capsys):
        for path, why in (
            (stream, "must not be the stream"),
            (ocb, "must not be the model"),
            (store, "must be a file"),
            (store / "p.csv", "must lie outside the store"),
            (tmp_path / "no" / "p.csv", "must lie in a folder that exists"),
        ):
            assert why in refused(capsys, *adapt_words(ocb, stream, store, "--predictions", path))

    def test_without_lmdb(self, tmp_path, ocb, stream, store, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, "lmdb", None)
        for words in (adapt_words(ocb, stream, store), ["fleet", "info", store]):
            assert install_line("fleet") in refused(capsys, *words)


@pytest.mark.parametrize("command", ["adapt", "predict", "info", "export", "drop", "verify", "compact"])
def test_help_has_examples(command, capsys):
    assert main(["fleet", command, "--help"]) == 0
    assert f"ocboost fleet {command} " in capsys.readouterr().out
