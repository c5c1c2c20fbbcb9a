"""``ocboost export``: the model for other runtimes."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest

from ocboost._extras import install_line
from ocboost.deployment.model import Model
from tests.support.cli_runs import fitted, ran, refused, table, write
from tests.support.onnx_runs import answered, session


class TestExport:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_answers_as_the_model_does(self, classes, tmp_path, capsys):
        model, out = fitted(tmp_path, classes=classes), tmp_path / "model.onnx"
        before = model.read_bytes()
        code, printed, err = ran(capsys, "export", model, out)
        assert (code, err) == (0, "")
        assert f"Wrote {out}: " in printed
        assert "label, probabilities, scores" in printed
        X = np.array([row[:4] for row in table(250, 4, classes)])
        label, _, scores = answered(onnx.load(out), X)
        clf = Model.load(model).classifier
        np.testing.assert_array_equal(label, clf.predict(X))
        np.testing.assert_array_equal(scores, clf.decision_function(X))
        assert model.read_bytes() == before

    def test_columns_as_inputs(self, tmp_path, capsys):
        rows = [[row[0], ("UA", "B6")[row[1] > 0], row[4]] for row in table(300)]
        data, model, out = (
            write(tmp_path / "d.csv", rows, ["a", "c", "y"]),
            tmp_path / "m.ocb",
            tmp_path / "m.onnx",
        )
        assert ran(capsys, "fit", data, "--label", "y", "--method", "ocb", "--out", model)[0] == 0
        assert ran(capsys, "export", model, out, "--raw")[0] == 0
        numbers, texts = (
            np.array([row[k] for row in rows], kind)[:, None] for k, kind in ((0, float), (1, object))
        )
        (label,) = session(out.read_bytes()).run(["label"], {"a": numbers, "c": texts})
        predicted = ran(capsys, "predict", model, data)[1].splitlines()[1:]
        assert [str(each) for each in label] == [line.partition(",")[0] for line in predicted]

    @pytest.mark.parametrize("name", ["model.pmml", "model", "model.onnx.ocb"])
    def test_other_endings(self, name, tmp_path, capsys):
        said = refused(capsys, "export", fitted(tmp_path), tmp_path / name)
        assert "must end in .onnx" in said
        assert not (tmp_path / name).exists()

    def test_an_adaptive_model_names_what_can_be_exported(self, tmp_path, capsys):
        model, out = fitted(tmp_path, "--method", "adaptive"), tmp_path / "model.onnx"
        assert "--method ocb" in refused(capsys, "export", model, out)
        assert not out.exists()

    def test_bad_files(self, tmp_path, capsys):
        model = fitted(tmp_path)
        assert "no such folder" in refused(capsys, "export", model, tmp_path / "no" / "model.onnx")
        assert "No such file" in refused(capsys, "export", tmp_path / "none.ocb", tmp_path / "model.onnx")
        same = model.rename(tmp_path / "same.onnx")
        before = same.read_bytes()
        assert "must not be the model" in refused(capsys, "export", same, same)
        assert same.read_bytes() == before

    def test_without_onnx(self, tmp_path, capsys, monkeypatch):
        model = fitted(tmp_path)
        monkeypatch.setitem(sys.modules, "onnx.helper", None)
        assert install_line("onnx") in refused(capsys, "export", model, tmp_path / "model.onnx")
