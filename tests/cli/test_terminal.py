"""What the command line shows: nothing from outside that a terminal would obey, and no traceback."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import sys
from fractions import Fraction

import pytest

from ocboost import __main__
from ocboost.__main__ import main
from ocboost._core.escaping import one_line, shown
from ocboost.cli import terminal
from ocboost.deployment.model import Model
from tests.support.cli_runs import NAMES, feed, fitted, ran, refused, shown_on_terminal, table, write

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX file names")
EVIL = "\x1b]0;gone\x07\x1b[31m\x9b1m\x7f\u202e\u2028\u2066[red]"
OBEYED = {*map(chr, range(32)), *map(chr, range(127, 160)), *"\u2028\u2029\u202a\u202e\u2066\u2069\udcff"} - {
    "\n"
}


def harmless(*texts):
    return not OBEYED & set("".join(texts))


class TestShown:
    @pytest.mark.parametrize("letter", sorted(OBEYED))
    def test_is_spelt_out(self, letter):
        assert shown(f"a{letter}b") == f"a{ascii(letter)[1:-1]}b"

    @pytest.mark.parametrize("text", ["Grüße 日本 α ≤ …", "a\u00a0b", "[red]x[/red]", "\\x1b"])
    def test_the_rest_stays(self, text):
        assert shown(text) == text

    def test_one_line(self):
        assert one_line("a\n  b\x1b\r\n") == "a b\\x1b"


class TestConsole:
    def printed(self, monkeypatch, *what, **how):
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        terminal.results().print(*what, **how)
        return out.getvalue()

    def test_text(self, monkeypatch):
        printed = self.printed(monkeypatch, f"Wrote {EVIL}", soft_wrap=True)
        assert harmless(printed)
        assert "[red]" in printed
        assert printed.endswith("\n")

    def test_tables(self, monkeypatch):
        from rich.table import Table

        drawn = Table(title=EVIL)
        drawn.add_column(EVIL)
        drawn.add_row(EVIL)
        printed = self.printed(monkeypatch, drawn)
        assert harmless(printed)
        assert printed.count("\n") > 3

    def test_plain_text_stays_as_it_is(self, monkeypatch):
        assert self.printed(monkeypatch, "two\nlines", soft_wrap=True) == "two\nlines\n"

    def test_say(self, capsys):
        terminal.say(f"{EVIL} and\nmore")
        message = capsys.readouterr().err
        assert harmless(message)
        assert message.count("\n") == 1


def hostile(path, kind):
    """A model file whose header says anything."""
    header = json.dumps({"kind": kind, "parameters": {}, "arrays": []}).encode()
    body = struct.pack("<8sII", b"ocboost\n", 1, len(header)) + header
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


class TestFromOutside:
    @pytest.mark.parametrize("kind", [EVIL, [EVIL], {EVIL: EVIL}])
    def test_the_header_of_a_model(self, kind, tmp_path, capsys):
        model, stream = hostile(tmp_path / "m.ocb", kind), write(tmp_path / "s.csv", table(5))
        for words in (["predict", model, stream], ["info", model], ["adapt", model, stream, "--out", model]):
            assert harmless(refused(capsys, *words))

    def test_labels_columns_and_arguments(self, tmp_path, capsys):
        rows = [[*row[:4], f"{EVIL}{row[4]}"] for row in table(80)]
        names = [f"a{EVIL}", *NAMES[1:4], f"y{EVIL}"]
        data, model = write(tmp_path / "d.jsonl", rows, names), tmp_path / "m.ocb"
        assert ran(capsys, "fit", data, "--label", names[4], "--out", model)[0] == 0
        assert ran(capsys, "info", model)[0] == 0
        for words in (
            ["adapt", model, data, "--out", model],
            ["info", model],
            ["adapt", model, write(tmp_path / "e.csv", table(9)), "--out", model],
            ["adapt", model, data, "--out", model, "--label", EVIL],
            ["adapt", model, data, "--out", model, f"--{EVIL}"],
            ["fit", data, "--label", names[4], "--out", model, "--drop", EVIL],
            [EVIL],
            ["info", EVIL],
        ):
            _, out, err = ran(capsys, *words)
            assert harmless(out, err), words

    @posix
    def test_predictions_on_a_terminal(self, tmp_path, capsys):
        rows = [[*row[:4], f"\x1b[31m{row[4]}"] for row in table(80)]
        data, model = write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"
        assert ran(capsys, "fit", data, "--label", "y", "--out", model)[0] == 0
        assert "\x1b[31m1," in ran(capsys, "predict", model, data)[1]  # a file gets them as they are
        text, code = shown_on_terminal("predict", model, data)
        assert code == 0
        assert "\\x1b[31m1," in text
        assert "\x1b[31m1" not in text

    @posix
    def test_a_file_name_that_is_not_utf8(self, tmp_path, capsys):
        data = tmp_path / os.fsdecode(b"n\xff\x1b[1m.csv")
        try:
            write(data, table(120))
        except OSError:
            pytest.skip("this file system takes UTF-8 only")
        model = tmp_path / os.fsdecode(b"m\xff.ocb")
        for words in (
            ["fit", data, "--label", "y", "--out", model],
            ["adapt", model, data, "--out", model],
            ["info", model],
            ["evaluate", data, "--label", "y", "--start", "60", "--out", tmp_path / "e", "--no-drift"],
            ["evaluate", data, "--model", model, "--out", tmp_path / "e", "--no-drift"],
        ):
            code, out, err = ran(capsys, *words)
            assert code == 0, err
            assert harmless(out, err)
        assert json.loads((tmp_path / "e" / "results.json").read_text())["about"]["stream"] == shown(
            data.name
        )


class TestNet:
    @pytest.mark.parametrize(
        ("error", "code", "what"),
        [
            (TypeError(f"bad {EVIL}\nthing"), 70, "this should not have happened (TypeError: bad "),
            (RecursionError("deep"), 70, "this should not have happened (RecursionError: deep)"),
            (MemoryError(), 1, "there is not enough memory"),
            (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no"), 70, "UnicodeEncodeError"),
        ],
    )
    def test_every_error_is_one_line(self, error, code, what, capsys, monkeypatch):
        def fails(words):
            raise error

        monkeypatch.setattr(__main__, "_command_line", lambda: fails)
        message = refused(capsys, "anything", code=code)
        assert what in message
        assert harmless(message)
        assert ("issue tracker" in message) is ("OCBOOST_TRACEBACK=1" in message) is (code == 70)

    def test_the_traceback_is_there_if_wanted(self, capsys, monkeypatch):
        def fails(words):
            raise Fraction(EVIL)

        monkeypatch.setattr(__main__, "_command_line", lambda: fails)
        monkeypatch.setenv("OCBOOST_TRACEBACK", "1")
        assert main([]) == 70
        message = capsys.readouterr().err
        assert "Traceback (most recent call last):\n" in message
        assert harmless(message)

    def test_nul_in_an_argument(self, capsys):
        assert "NUL" in refused(capsys, "info", "a\0b", code=2)


class TestMended:
    def test_labels_of_thirty_digits_are_names(self, tmp_path, capsys):
        long = [10**29, 10**29 + 1]
        rows = [[*row[:4], long[row[4]]] for row in table(80)]
        model = tmp_path / "m.ocb"
        data = write(tmp_path / "d.csv", rows)
        assert ran(capsys, "fit", data, "--label", "y", "--out", model)[0] == 0
        assert Model.load(model).classifier.classes_.tolist() == [str(n) for n in long]
        assert ran(capsys, "adapt", model, data, "--out", model)[0] == 0

    @pytest.mark.parametrize("classes", [(10**29, 2 * 10**29), (10**29, 10**29 + 1), (1e30, 2.0)])
    def test_large_numbers_are_refused(self, classes, tmp_path, capsys):
        rows = [[*row[:4], classes[row[4]]] for row in table(80)]
        data = write(tmp_path / "d.jsonl", rows)
        for command in (["fit"], ["evaluate", "--start", "40"]):
            message = refused(capsys, command[0], data, "--label", "y", "--out", tmp_path / "o", *command[1:])
            assert "too large to be an exact number. Write it as text" in message

    def test_json_lines_on_standard_input(self, tmp_path, capsys, monkeypatch):
        model = fitted(tmp_path)
        data = write(tmp_path / "s.jsonl", table(40)).read_bytes()
        for text in (data, b"\n  " + data):
            feed(monkeypatch, text)
            assert ran(capsys, "adapt", model, "-", "--out", model)[0] == 0
        assert Model.load(model).classifier.boosters_[0].n_seen == 380
        feed(monkeypatch, data)
        assert "names of the columns" not in refused(
            capsys, "adapt", model, "-", "--out", model, "--format", "csv"
        )

    def test_a_film_is_no_cascade(self, tmp_path, capsys):
        film = tmp_path / "film.mp4"
        film.write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
        said = refused(capsys, "cascade", "info", film)
        assert "must be a cascade of OpenCV, an XML file" in said
        assert "it is a video (MP4 or the like). Was another file meant?" in said
        film.write_bytes(b"\0\0\0\x18ftypmp42" + bytes(17 << 20))  # larger than any cascade
        assert "it is a video" in refused(capsys, "cascade", "info", film)
        film.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
        assert "it is a picture (PNG)" in refused(capsys, "cascade", "info", film)
        film.write_bytes(b"ab\0\1\2")
        assert "it is not text" in refused(capsys, "cascade", "info", film)
        film.write_bytes('<?xml version="1.0"?><a/>'.encode("utf-16"))
        assert "it is UTF-16" in refused(capsys, "cascade", "info", film)
        film.write_bytes('<?xml version="1.0"?><a/>'.encode("utf-16-le"))
        assert "it is UTF-16" in refused(capsys, "cascade", "info", film)
