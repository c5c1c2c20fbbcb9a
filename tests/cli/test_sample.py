"""``ocboost sample``: the stream of the first steps."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

from ocboost.cli.sample import CHANGES_AT, N_FIRST, N_LATER
from ocboost.datasets.sample import WRONG, as_csv, loans
from tests.support.cli_runs import ran, refused


def test_it_writes_two_files_that_fit_and_adapt_read(tmp_path, capsys):
    folder, model = tmp_path / "loans", tmp_path / "model.ocb"
    code, printed, err = ran(capsys, "sample", folder)
    assert (code, err) == (0, "")
    assert "2,000 loans" in printed
    assert sorted(os.listdir(folder)) == ["first.csv", "later.csv"]
    for name, n in (("first.csv", N_FIRST), ("later.csv", N_LATER)):
        with open(folder / name, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == n
        assert {row["late"] for row in rows} == {"yes", "no"}
    short = ["--rows", 400, "--hypotheses", 10, "--method", "ocb"]
    assert ran(capsys, "fit", folder / "first.csv", "--label", "late", *short, "--out", model)[0] == 0
    assert ran(capsys, "adapt", model, folder / "later.csv", "--out", tmp_path / "b.ocb")[0] == 0


def test_a_folder_that_holds_one_stays_as_it_is(tmp_path, capsys):
    ran(capsys, "sample", tmp_path, "--seed", "1")
    before = (tmp_path / "first.csv").read_bytes()
    assert "--overwrite" in refused(capsys, "sample", tmp_path)
    assert (tmp_path / "first.csv").read_bytes() == before
    assert ran(capsys, "sample", tmp_path, "--overwrite")[0] == 0
    assert (tmp_path / "first.csv").read_bytes() != before


@pytest.mark.parametrize("seed", ["-1", "x"])
def test_a_seed_that_is_none(seed, tmp_path, capsys):
    assert ran(capsys, "sample", tmp_path / "loans", "--seed", seed)[0] in (1, 2)
    assert not (tmp_path / "loans").exists()


def test_the_rule_changes_where_it_says():
    """Each rule, in plain words, explains the labels of its own part, and not those of the other."""
    columns, late, changed = loans(N_FIRST + N_LATER, changes_at=N_FIRST + CHANGES_AT, seed=3)
    assert int(np.argmax(changed)) == N_FIRST + CHANGES_AT
    right = {"before": [], "after": []}
    for i, said in enumerate(late):
        row = {name: values[i] for name, values in columns.items()}
        debt = 0.45 * (row["debt"] / row["income"] - 4.0) - 0.015 * (row["months_employed"] - 40)
        rate = 9.0 * (row["monthly_rate"] / row["income"] - 0.4)
        car, business = row["purpose"] == "car", row["purpose"] == "business"
        right["before"].append((debt + 1.2 * car > 0.4) == (said == "yes"))
        right["after"].append((rate + 2.0 * business - 1.2 * car > 0.4) == (said == "yes"))
    for rule, part, other in (("before", ~changed, changed), ("after", changed, ~changed)):
        held = np.array(right[rule])
        assert abs(held[part].mean() - (1.0 - WRONG)) < 0.02
        assert held[other].mean() < 0.6


def test_the_same_seed_gives_the_same_bytes():
    files = [as_csv(*loans(50, changes_at=20, seed=seed)[:2], slice(0, 50)) for seed in (0, 0, 1)]
    assert files[0] == files[1] != files[2]
