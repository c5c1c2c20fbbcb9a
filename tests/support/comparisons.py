"""Small comparisons, run or made up."""

from __future__ import annotations

import numpy as np

from ocboost.evaluation.board import Board
from ocboost.evaluation.comparison import batches_of, compare_methods
from ocboost.evaluation.methods import METHODS, methods_named
from tests.support.cli_runs import table

QUICK = "static,ocb,oza,no-change"
SMALL = {"hypotheses": 8, "start": 100}


def rows_of(n, seed=0, classes=2):
    """A small stream: features and labels."""
    data = np.array(table(n, seed, classes))
    return data[:, :4], data[:, 4].astype(int)


def compared(n=600, seeds=(0, 1), names=QUICK, **changes):
    X, y = rows_of(n)
    return compare_methods(batches_of(X, y), methods_named(names), seeds=seeds, **{**SMALL, **changes})


def made_up(stream, accuracies, **skipped):
    """A board of two seeds whose accuracies are given."""
    runs = {name: [value, value] for name, value in accuracies.items()}
    X, y = rows_of(200)
    found = compare_methods(batches_of(X, y), methods_named("majority"), seeds=(0, 1), **SMALL)
    template = Board.of(stream, [found])
    entries = []
    for name, values in runs.items():
        method = METHODS[name]
        change = {"name": name, "title": method.title, "role": method.role, "deployable": method.deployable}
        one = {**template.entries[0].__dict__, **change}
        one["values"] = {**one["values"], "accuracy": values}
        entries.append(type(template.entries[0])(**one))
    content = {**template.__dict__, "entries": entries, "skipped": skipped}
    return Board(**content)
