"""A board of a small stream, and a summary of four that are made up."""

from __future__ import annotations

import pytest

from ocboost.evaluation.board import Board
from ocboost.evaluation.summary import Summary
from tests.support.comparisons import compared, made_up


@pytest.fixture(scope="module")
def board():
    return Board.of("toy", [compared(seeds=(0, 1, 2))])


@pytest.fixture(scope="module")
def summary():
    return Summary(
        [
            made_up("elec2", {"ocb": 0.80, "growing": 0.82, "eg": 0.81, "oza": 0.70}),
            made_up("insects", {"ocb": 0.60, "growing": 0.66, "eg": 0.61, "oza": 0.61}),
            made_up("sea", {"ocb": 0.90, "growing": 0.896, "eg": 0.91, "oza": 0.50}),
            made_up("spam", {"ocb": 0.90, "growing": 0.95, "eg": 0.91}, oza="too slow"),
        ]
    )
