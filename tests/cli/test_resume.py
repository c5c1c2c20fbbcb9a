"""``ocboost adapt``: it ends in the same model however often, and wherever, it was stopped."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from ocboost.__main__ import main
from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.support.cli_runs import (
    feed,
    fitted,
    kill_after,
    killed,
    left_in,
    ran,
    refused,
    shown_on_terminal,
    started,
    table,
    write,
)

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals or a pseudo-terminal")


@pytest.fixture
def often(monkeypatch):
    """Read a few rows at once, so that small streams have many places to stop at."""
    monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)


RUNS = {
    "csv": ("s.csv", 2, []),
    "gzip, forgetting": ("s.csv.gz", 2, ["--forgetting", "0.99"]),
    "three classes, window": ("s.jsonl", 3, ["--window", "25"]),
    "three classes": ("s.jsonl.gz", 3, []),
    "steps": ("s.parquet", 2, ["--batch", "7"]),
    "head of one": ("s.csv", 2, ["--head", "1"]),
    "growing": ("s.csv", 2, ["--window", "25", "--grow", "14"]),
    "adaptive": ("s.csv", 2, []),
    "adaptive, three classes, steps": ("s.jsonl.gz", 3, ["--batch", "7"]),
    "growing, three classes": ("s.csv", 3, ["--head", "30", "--forgetting", "0.99", "--grow", "14"]),
}


@pytest.mark.usefixtures("often")
class TestKilled:
    @pytest.mark.parametrize("in_place", [False, True])
    @pytest.mark.parametrize("run", RUNS)
    def test_anywhere_in_the_stream(self, run, in_place, tmp_path, capsys, monkeypatch):
        name, classes, options = RUNS[run]
        method = "adaptive" if run.startswith("adaptive") else "ocb"
        model = fitted(tmp_path, "--method", method, classes=classes)
        stream = write(tmp_path / name, table(403, classes=classes))
        whole = tmp_path / "whole.ocb"
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 500)
        assert ran(capsys, "adapt", model, stream, "--out", whole, *options)[0] == 0
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
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

    @pytest.mark.parametrize("method", ["ocb", "adaptive"])
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
    def test_while_it_writes(self, owner, name, calls, in_place, method, tmp_path, capsys, monkeypatch):
        model = fitted(tmp_path, "--method", method)
        stream = write(tmp_path / "s.csv", table(120))
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
        code, printed, err = ran(capsys, *words, "--resume")
        assert (code, printed) == (0, "")
        assert "nothing to resume" in err
        with monkeypatch.context() as patch:  # a second time, and killed at once
            kill_after(patch, Adaptation, "save", 1)
            killed(capsys, *words, "--again")
        for _ in range(2):  # once more than needed: --resume never begins a third time
            assert ran(capsys, *words, "--again", "--resume")[0] == 0
        assert [event["event"] for event in Model.load(model).history] == ["fit", "adapt", "adapt"]
        assert ran(capsys, *words, "--again")[0] == 0
        assert Model.load(model).classifier.boosters_[0].n_seen == 300 + 3 * 120

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
        message = refused(capsys, *begun)
        assert "interrupted after 120 rows. Give --resume to continue it, or --restart" in message
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

    def test_a_checkpoint_from_before_there_was_memory(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(400))
        words = [
            "adapt",
            model,
            stream,
            "--out",
            tmp_path / "out.ocb",
            "--checkpoint-rows",
            "40",
            "--window",
            "30",
        ]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 4)
            killed(capsys, *words)
        place = tmp_path / "out.ocb.checkpoint"
        begun = Adaptation.load(place)
        assert begun.origin["settings"].pop("memory") is None
        begun.origin["settings"].pop("keep", None)
        begun.save(place)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert Model.load(tmp_path / "out.ocb").history[-1]["rows"] == 400

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
            message = refused(capsys, *words)
            assert "damaged or cut short" in message
            assert "--restart to start over" in message
        assert ran(capsys, *begun, "--restart")[0] == 0

    def test_both_options(self, begun, capsys):
        message = refused(capsys, *begun, "--resume", "--restart", code=2)
        assert "exclude each other" in message


@pytest.fixture(scope="module", params=["ocb", "adaptive"])
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    adaptive = request.param == "adaptive"
    model = fitted(folder, "--method", request.param, *([] if adaptive else ["--window", "20"]))
    stream = write(folder / "s.csv", table(2000 if adaptive else 4000))
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
        words = ["adapt", model, stream, "--out", model, "--resume"]
        often = [*words, "--checkpoint-rows", "1"]
        rng, codes = random.Random(5), []
        for _ in range(3):
            codes.append(self.stop(signal.SIGKILL, often, tmp_path / "model.ocb.checkpoint", rng)[0])
            if codes[-1] == 0:
                break
            assert model.read_bytes() in (data, whole)
        assert codes[0] == -signal.SIGKILL
        assert main([str(word) for word in words]) == 0
        assert model.read_bytes() == whole
        assert left_in(tmp_path) == []

    def test_ctrl_c(self, case, tmp_path):
        data, stream, whole = case
        model, out = tmp_path / "model.ocb", tmp_path / "out.ocb"
        model.write_bytes(data)
        words = ["adapt", model, stream, "--out", out]
        often = [*words, "--checkpoint-rows", "1"]
        code, err = self.stop(signal.SIGINT, often, tmp_path / "out.ocb.checkpoint", random.Random(1))
        assert code == 130
        assert err.startswith("ocboost: interrupted. ")
        assert err.count("\n") == 1
        assert "--resume continues from there" in err
        assert Adaptation.load(tmp_path / "out.ocb.checkpoint").rows > 0
        assert not out.exists()
        assert left_in(tmp_path) == ["out.ocb.checkpoint"]
        assert main([str(word) for word in [*words, "--resume"]]) == 0
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


def test_other_rows_from_standard_input_are_not_dropped(tmp_path, capsys, monkeypatch):
    model = fitted(tmp_path)
    first, second = (write(tmp_path / f"{k}.csv", table(60, k)).read_bytes() for k in (1, 2))
    feed(monkeypatch, first)
    assert ran(capsys, "adapt", model, "-", "--out", model)[0] == 0
    feed(monkeypatch, second)
    err = refused(capsys, "adapt", model, "-", "--out", model, "--resume")
    assert "nobody can tell whether the same rows" in err
    feed(monkeypatch, second)
    assert ran(capsys, "adapt", model, "-", "--out", model)[0] == 0
    assert [event["rows"] for event in Model.load(model).history] == [300, 60, 60]
