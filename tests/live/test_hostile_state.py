"""A checkpoint that somebody has changed is refused, or is one that can be used."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._core.codec import read
from ocboost._core.file_format import load, save
from ocboost.errors import ModelFileError
from ocboost.live import Adapter
from ocboost.live.opening import state_at_checkpoint
from ocboost.live.state import STATE_KIND, LiveState
from ocboost.live.versions import Versions
from tests.support import live
from tests.support.saved_trees import GONE, changed, found, places

WRONG = [None, -1, 10**15, "x", True, 0.5, [], {}, GONE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("state") / "s"
    with Adapter(live.model(), place) as adapter:
        ids = adapter.predict(live.records(200, 220)).ids
        adapter.label([{"id": id_, "label": "yes"} for id_ in ids])
        adapter.promote()
    return place


@pytest.fixture(scope="module")
def tree(folder):
    return load(folder / "checkpoint.ocb", STATE_KIND)


def test_every_entry_is_checked(folder, tree):
    own = [path for path in places(tree) if path[0] != "adapted"]  # models have tests of their own
    assert len(own) > 20
    n_refused = 0
    for path in own:
        for value in WRONG:
            other = changed(tree, path, value)
            try:
                state = read(
                    other, "it", lambda fields: LiveState.from_tree(fields, Versions(folder / "versions"))
                )
            except ModelFileError:
                n_refused += 1
                continue
            facts = state.facts()
            assert facts["recent_accuracy"] is None or 0.0 <= facts["recent_accuracy"] <= 1.0
            state.tree()
    assert n_refused > 100


def test_arrays_of_other_shapes(folder, tree):
    for path in places(tree):
        array = found(tree, path)
        if path[0] == "adapted" or not isinstance(array, np.ndarray):
            continue
        unknown = np.full(array.shape, np.inf if path[-1] == "x" else np.nan)  # rows may lack numbers
        for wrong in (np.zeros((3, 3, 3)), np.full(2000, 1, np.int8), unknown):
            with pytest.raises(ModelFileError):
                read(
                    changed(tree, path, wrong),
                    "it",
                    lambda fields: LiveState.from_tree(fields, Versions(folder / "versions")),
                )


def test_files_are_not_looked_for_elsewhere(folder, tree, tmp_path):
    for digest in ("../../../etc/passwd", "/" * 64, "a" * 63, "a" * 64):
        other = changed(tree, ("held_out",), digest)
        (tmp_path / "s").mkdir(exist_ok=True)
        save(tmp_path / "s" / "checkpoint.ocb", STATE_KIND, other)
        with pytest.raises(ModelFileError, match="held-out rows"):
            state_at_checkpoint(tmp_path / "s")
