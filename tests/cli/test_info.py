"""``ocboost info``: what is inside a file."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import BoostingSketch, OzaRussell
from ocboost._core.file_format import save
from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from ocboost.hypotheses import Stumps
from ocboost.lineage import Winnow
from tests.old_files import make
from tests.support.cli_runs import fitted, kill_after, killed, ran, refused, table, write


def shown_by(capsys, *words):
    code, out, err = ran(capsys, "info", *words)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    return out


def flat(text):
    """Without the spaces that make columns."""
    return [" ".join(line.split()) for line in text.splitlines()]


class TestModel:
    def test_facts(self, tmp_path, capsys):
        model = fitted(tmp_path)
        out = shown_by(capsys, model)
        assert f"{model}, {model.stat().st_size:,} bytes".replace(" ", "") in "".join(out.split())
        lines = flat(out)
        assert "classes 0, 1" in lines
        assert any(line.startswith("hypotheses 12 stumps over") for line in lines)
        assert "reads 4 columns; the label is y" in lines
        assert "fit 300 rows of train.csv" in lines

    def test_the_heaviest_weights_are_drawn(self, tmp_path, capsys):
        model = fitted(tmp_path)
        alpha = Model.load(model).classifier.alpha_[0]
        out = shown_by(capsys, model, "--top", "3")
        assert "Weights for class 1, the largest 3 of 12:" in out
        rows = [line.split() for line in out.splitlines() if "█" in line]
        order = np.argsort(-np.abs(alpha))[:3]
        assert [int(row[0]) - 1 for row in rows] == order.tolist()
        assert [row[1] for row in rows] == [f"{alpha[j]:.3f}" for j in order]
        assert [len(row[2]) for row in rows] == [round(28 * abs(alpha[j] / alpha[order[0]])) for j in order]

    def test_three_classes(self, tmp_path, capsys):
        out = shown_by(capsys, fitted(tmp_path, classes=3), "--top", "1")
        assert [f"Weights for class {k}" in out for k in range(4)] == [True, True, True, False]

    def test_many_classes(self, tmp_path, capsys):
        rows = [[*row[:4], i % 25] for i, row in enumerate(table(100))]
        data, model = write(tmp_path / "d.csv", rows), tmp_path / "m.ocb"
        words = ["--hypotheses", "2", "--method", "ocb"]
        assert ran(capsys, "fit", data, "--label", "y", "--out", model, *words)[0] == 0
        out = shown_by(capsys, model)
        assert "… and 20 classes more" in out
        assert "19, … (25)" in out

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--window", "30"], "the last 30 examples and nothing else; smoothing 1"),
            (
                ["--head", "20"],
                "all examples in sums, up to 20 by themselves: those with large weights, and a sample of the "
                "others; smoothing 1",
            ),
            (
                ["--head", "20", "--forgetting", "0.995", "--keep", "newest"],
                "all examples in sums, up to 20 recent ones exactly; forgets half in 138 (forgetting 0.995); "
                "smoothing 1",
            ),
        ],
    )
    def test_what_it_remembers(self, words, expected, tmp_path, capsys):
        out = shown_by(capsys, fitted(tmp_path, *words))
        assert f"remembers {expected}" in " ".join(out.split())

    def test_what_it_has_been_through(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(40))
        for _ in range(6):
            assert ran(capsys, "adapt", model, stream, "--out", model, "--again")[0] == 0
        lines = flat(shown_by(capsys, model))
        accuracy = Model.load(model).history[-1]["accuracy"]
        assert f"adapt 40 rows of s.csv, right on {accuracy:.1%} before it learnt them" in lines
        assert sum(line.startswith("adapt ") for line in lines) == 5
        assert "… 2 events before" in lines

    def test_names_are_shown_as_they_are(self, tmp_path, capsys):
        rows = [[*row[:4], ("[red]no", "yes\x1b[31m")[row[4]]] for row in table(200)]
        names = ["[/b]a", ":smile:", "c\nc", "d", "y"]
        data, model = write(tmp_path / "d.csv", rows, names), tmp_path / "m.ocb"
        words = ["--hypotheses", "9", "--method", "ocb"]
        assert ran(capsys, "fit", data, "--label", "y", "--out", model, *words)[0] == 0
        out = shown_by(capsys, model)
        assert "[red]no, yes\\x1b[31m" in out
        assert "[/b]a " in out
        assert ":smile: " in out

    def test_a_classifier_from_python(self, tmp_path, capsys):
        rows = table(100)
        X, y = np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])
        OCBClassifier(n_hypotheses=5).fit(X, y).save(tmp_path / "m.ocb")
        assert "x0 " in shown_by(capsys, tmp_path / "m.ocb")


class TestOtherFiles:
    def test_a_checkpoint(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(200))
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 3)
            killed(capsys, "adapt", model, stream, "--out", model, "--checkpoint-rows", "40")
        out = shown_by(capsys, tmp_path / "model.ocb.checkpoint")
        assert out.startswith("A checkpoint of ocboost adapt after 80 rows, right on ")
        assert "Weights for class 1" in out

    def test_sketches(self, tmp_path, capsys):
        margins = np.random.default_rng(0).choice([-1, 1], (50, 6)).astype(np.int8)
        for kind in (BoostingSketch, OzaRussell):
            sketch = kind(6)
            sketch.update_many(margins)
            sketch.save(tmp_path / "s.ocb")
            out = shown_by(capsys, tmp_path / "s.ocb", "--top", "2")
            assert out.startswith(f"{kind.__name__}(6")
            assert "50 examples seen" in out
            assert sum("█" in line for line in out.splitlines()) == 2

    def test_hypotheses(self, tmp_path, capsys):
        Stumps([0, 2], [0.5, 7.0], [1, -1]).save(tmp_path / "h.ocb")
        lines = flat(shown_by(capsys, tmp_path / "h.ocb"))
        assert lines == ["2 stumps over 2 of 3 features", "1 says yes if x0 ≤ 0.5", "2 says yes if x2 > 7"]

    def test_trees(self, tmp_path, capsys):
        rows = table(100)
        X, y = np.array([row[:4] for row in rows]), np.array([row[4] for row in rows])
        trees = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=0).fit(
            X, y
        )
        clf = OCBClassifier.from_fitted(trees, X, y)
        clf.save(tmp_path / "m.ocb")
        assert "the largest 4 of 4" in shown_by(capsys, tmp_path / "m.ocb")
        clf.hypotheses_.save(tmp_path / "h.ocb")
        out = shown_by(capsys, tmp_path / "h.ocb")
        assert out.startswith("4 trees of ")
        assert re.search(r"says yes if x\d (≤|>) \S+ and x\d (≤|>) ", out)

    def test_balls(self, tmp_path, capsys):
        out = shown_by(capsys, fitted(tmp_path, "--learner", "ball"))
        assert "balls in 4 dimensions" in out
        assert " away from (a " in out

    @pytest.mark.parametrize("name", [*make.MODELS, make.ENTRY])
    def test_every_kind_of_file(self, name, tmp_path, capsys):
        path = tmp_path / "file.ocb"
        if name == make.ENTRY:
            path.write_bytes(make.place(name).read_bytes())
        else:
            make.save(name, make.MODELS[name](), path)
        out = shown_by(capsys, path, "--top", "2")
        assert out == shown_by(capsys, path, "--top", "2")  # no address of an object
        assert "object at" not in out
        if name in make.CLASSIFIERS:
            assert "Weights for class" in out
        if name in make.BOOSTERS:
            assert "examples seen" in out

    def test_another_booster(self, tmp_path, capsys):
        booster = Winnow(6, rate=0.25)
        booster.update_many(np.ones((50, 6), int))
        booster.save(tmp_path / "w.ocb")
        out = shown_by(capsys, tmp_path / "w.ocb", "--top", "2")
        assert out.startswith("Winnow(6, rate=0.25")
        assert "50 examples seen" in out
        assert sum("█" in line for line in out.splitlines()) == 2

    def test_filterboost(self, tmp_path, capsys):
        clf = make.MODELS["filterboost three"]()
        clf.save(tmp_path / "f.ocb")
        out = shown_by(capsys, tmp_path / "f.ocb")
        lines = flat(out)
        assert "classes no, perhaps, yes — ähem" in lines
        assert "hypotheses 1 stumps over 1 of 4 features" in lines
        assert "rounds 1, 0, 1 finished for each class, 1, 0, 1 of 100 found" in lines
        assert f"has seen {clf.n_seen_} examples, and let {str(clf.n_accepted_)[1:-1]} through" in lines
        assert "Weights for class yes — ähem, the largest 1 of 1:" in lines
        assert "Weights for class perhaps" not in out
        assert not any(line.startswith("ended") for line in lines)
        make.MODELS["filterboost ended"]().save(tmp_path / "f.ocb")
        assert "ended n_hypotheses reached: there are 2" in flat(shown_by(capsys, tmp_path / "f.ocb"))

    def test_what_a_file_leaves_out(self, tmp_path, capsys):
        path = tmp_path / "m.ocb"
        make.save("offset given", make.MODELS["offset given"](), path)
        assert "offset not in the file: it is given to load it" in flat(shown_by(capsys, path))
        make.MODELS["offset linear"]().save(path)
        assert "offset a linear score" in flat(shown_by(capsys, path))
        make.MODELS["filterboost estimator"]().save(path)
        assert "Weights for class 1" in shown_by(capsys, path)

    def test_a_cached_result_of_an_earlier_version(self, tmp_path, capsys):
        path = tmp_path / "entry.ocb"
        make.save_entry(path)
        size = f"{path.stat().st_size:,} bytes"
        assert (
            shown_by(capsys, path) == f"A cached result of an earlier version, {size}. It can be deleted.\n"
        )

    def test_an_offset(self, tmp_path, capsys):
        save(tmp_path / "o.ocb", "LinearOffset", make.LINEAR.tree())
        assert shown_by(capsys, tmp_path / "o.ocb") == "An offset: a linear score. It is part of a model.\n"


class TestRefusals:
    @pytest.mark.parametrize(
        ("damage", "what"),
        [
            (lambda data: data[:-9], "damaged or cut short"),
            (lambda data: data[:8] + b"\x03" + data[9:], "has format version 3"),
            (lambda data: b"text", "is not an ocboost model"),
        ],
    )
    def test_models(self, damage, what, tmp_path, capsys):
        model = fitted(tmp_path)
        model.write_bytes(damage(model.read_bytes()))
        assert what in refused(capsys, "info", model)

    def test_a_kind_that_is_not_known(self, tmp_path, capsys):
        save(tmp_path / "m.ocb", "Oracle\x1b[31m", {})
        message = refused(capsys, "info", tmp_path / "m.ocb")
        assert "something of the kind 'Oracle\\x1b[31m', and this ocboost knows" in " ".join(message.split())
        assert "\x1b" not in message

    def test_no_file(self, tmp_path, capsys):
        assert "No such file" in refused(capsys, "info", tmp_path / "none.ocb")

    @pytest.mark.parametrize("words", [[], ["m.ocb", "--top", "-1"], ["m.ocb", "more"]])
    def test_usage(self, words, capsys):
        assert "See: ocboost info --help" in refused(capsys, "info", *words, code=2)

    def test_help_has_examples(self, capsys):
        code, printed, _ = ran(capsys, "info", "--help")
        assert code == 0
        assert "ocboost info model.ocb" in [line.strip() for line in printed.splitlines()]
