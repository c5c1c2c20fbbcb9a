"""`fit --method` and `adapt --method`: every booster in a model's file."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import Model, OCBClassifier
from ocboost._core.kinds import KINDS
from ocboost.boosters import BOOSTERS
from tests.support.cli_runs import fitted, ran, refused, table, write

GROWING = ["growing", "growing-forgetting", "growing-window-200", "growing-window-20"]


@pytest.fixture
def stream(tmp_path):
    return write(tmp_path / "stream.csv", table(150, 3))


@pytest.mark.parametrize("method", [*BOOSTERS, *GROWING])
def test_a_model_of_every_method_is_fitted_adapted_shown_and_asked(tmp_path, capsys, stream, method):
    model, out = fitted(tmp_path, "--method", method), tmp_path / "out.ocb"
    before = OCBClassifier.load(model)
    base = "ocb" if method.startswith(("ocb", "growing")) else method
    assert before.booster == base
    assert (before.grow is not None) == method.startswith("growing")
    code, _, err = ran(capsys, "adapt", model, stream, "--out", out, "--method", method)
    assert (code, err) == (0, "")
    after = Model.load(out).classifier
    assert after.boosters_[0].n_seen == before.boosters_[0].n_seen + 150
    rows = np.array(table(150, 3))
    if after.grower_ is None:
        before.partial_fit(rows[:, :4], rows[:, 4].astype(int))
        np.testing.assert_array_equal(before.alpha_[0], after.alpha_[0])
    code, printed, err = ran(capsys, "info", out)
    assert (code, err) == (0, "")
    assert (
        "Online Coordinate Boosting" if base == "ocb" else KINDS[type(after.boosters_[0]).kind].title
    ) in printed
    code, printed, _ = ran(capsys, "predict", out, stream)
    assert code == 0
    assert len(printed.splitlines()) == 151


def test_another_method_than_the_models(tmp_path, capsys, stream):
    model, out = fitted(tmp_path, "--method", "eg"), tmp_path / "out.ocb"
    for method in ("ocb", "logistic", "growing"):
        message = refused(capsys, "adapt", model, stream, "--out", out, "--method", method)
        assert f"--method must be the model's own, eg, or be left out; got {method}" in message
    model = fitted(tmp_path, name="ocb.ocb")
    assert "the model's own, ocb" in refused(capsys, "adapt", model, stream, "--out", out, "--method", "eg")
    model = fitted(tmp_path, "--method", "oza", name="oza.ocb")
    message = refused(capsys, "adapt", model, stream, "--out", out, "--method", "oza-forgetting")
    assert "other settings than the model" in message
    assert not out.exists()
    assert not (tmp_path / "out.ocb.checkpoint").exists()


def test_a_model_of_ocb_can_remember_otherwise(tmp_path, capsys, stream):
    model, out = fitted(tmp_path, "--method", "ocb-forgetting"), tmp_path / "out.ocb"
    assert ran(capsys, "adapt", model, stream, "--out", out, "--method", "ocb-window-20")[0] == 0
    clf = OCBClassifier.load(out)
    assert (clf.head, clf.tail, clf.boosters_[0].n_head) == (20, False, 20)
    assert ran(capsys, "adapt", model, stream, "--out", out, "--window", "30")[0] == 0


def test_options_that_do_not_go_with_a_method(tmp_path, capsys, stream):
    model, out = fitted(tmp_path, "--method", "eg"), tmp_path / "out.ocb"
    message = refused(
        capsys, "fit", stream, "--label", "y", "--out", out, "--method", "eg", "--forgetting", "0.9", code=2
    )
    assert "the options for forgetting are those of --method ocb" in message
    message = refused(capsys, "adapt", model, stream, "--out", out, "--window", "20", code=2)
    assert "the model's method is eg" in message
    words = ["--method", "ocb-window-20", "--window", "30"]
    message = refused(capsys, "fit", stream, "--label", "y", "--out", out, *words, code=2)
    assert "Leave out one of them" in message
    words = ["--method", "oza", "--grow", "200"]
    message = refused(capsys, "fit", stream, "--label", "y", "--out", out, *words, code=2)
    assert "--grow has no meaning for --method oza" in message
    assert ran(capsys, "fit", stream, "--label", "y", "--out", out, "--method", "eg", "--grow", "200")[0] == 0


@pytest.mark.parametrize("command", ["fit", "adapt"])
def test_names_that_are_none(tmp_path, capsys, stream, command):
    out = tmp_path / "out.ocb"
    first = [stream, "--label", "y"] if command == "fit" else [fitted(tmp_path), stream]
    message = refused(capsys, command, *first, "--out", out, "--method", "forest", code=2)
    assert "--method forest is for comparison only" in message
    message = refused(capsys, command, *first, "--out", out, "--method", "nothing", code=2)
    assert "--method must be one of adaptive, ocb, " in message
    message = refused(capsys, command, *first, "--out", out, "--method", "Logistik", code=2)
    assert "Did you mean logistic?" in message
    message = refused(capsys, command, *first, "--out", out, "--method", "static", code=2)
    assert "a model as it was fitted" in message
    message = refused(capsys, command, *first, "--out", out, "--method", "filterboost", code=2)
    assert "ocboost.lineage's, in Python" in message
    assert not out.exists()


def test_a_run_goes_on_with_the_same_method_only(tmp_path, capsys, stream):
    from ocboost.deployment.adaptation import Adaptation

    model, out = fitted(tmp_path, "--method", "eg"), tmp_path / "out.ocb"
    words = ["adapt", model, stream, "--out", out]
    bad = write(tmp_path / "bad.csv", [*table(60, 3), [1, 2, 3, 4, 9]])
    message = refused(capsys, "adapt", model, bad, "--out", out, "--method", "eg")
    assert "60 rows are kept" in message
    assert Adaptation.load(f"{out}.checkpoint").origin["method"] == "eg"
    message = refused(capsys, "adapt", model, bad, "--out", out, "--resume")
    assert "belongs to a run with another --method" in message
    assert ran(capsys, *words, "--restart")[0] == 0


def test_rows_of_an_unseen_class_can_be_left_out_from_there_on(tmp_path, capsys):
    rows = [*table(60, 3), [1, 2, 3, 4, 9], *table(30, 4)]
    model, stream, out = fitted(tmp_path), write(tmp_path / "s.csv", rows), tmp_path / "out.ocb"
    words = ["adapt", model, stream, "--out", out]
    assert "--resume continues from there" in refused(capsys, *words)
    assert ran(capsys, *words, "--resume", "--leave-unseen")[0] == 0
    straight = tmp_path / "straight.ocb"
    assert ran(capsys, "adapt", model, stream, "--out", straight, "--leave-unseen")[0] == 0
    one, other = (Model.load(each).classifier for each in (out, straight))
    np.testing.assert_array_equal(one.alpha_[0], other.alpha_[0])
    assert one.boosters_[0].n_seen == other.boosters_[0].n_seen
