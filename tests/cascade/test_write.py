"""Writing cascades back: what has not changed keeps its text, and what has is read back exactly."""

from __future__ import annotations

import dataclasses
import gzip

import numpy as np
import pytest

from ocboost.cascade import read_cascade
from ocboost.errors import InputError
from tests.cascade.test_xml import same
from tests.support.cascades import LICENCE, as_xml, random_cascade


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.xml"
    path.write_bytes(as_xml(random_cascade(seed=8)))
    return read_cascade(path)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.xml"


def lines_changed(old, new):
    before, after = old.decode().splitlines(), new.decode().splitlines()
    assert len(before) == len(after)
    return [b for a, b in zip(before, after, strict=True) if a != b]


def test_nothing_changed_is_the_same_bytes(file, out, tmp_path):
    original = (tmp_path / "in.xml").read_bytes()
    file.write(out)
    assert out.read_bytes() == original
    copies = (
        file.cascade,
        dataclasses.replace(file.cascade),
        file.cascade.first(3),
        file.cascade.pick([0, 1, 2]),
    )
    for copy in copies:
        assert file.to_bytes(copy) == original
    without = dataclasses.replace(file.cascade, stage_origin=None)
    assert file.to_bytes(without) == original


def test_only_changed_numbers_are_written(file, out):
    old = file.to_bytes()
    thresholds = file.cascade.stage_threshold.copy()
    thresholds[1] = 0.1
    changed = lines_changed(old, file.to_bytes(file.cascade.with_thresholds(thresholds)))
    assert changed == ["    <stageThreshold>1.0000000149011612e-01</stageThreshold>"]
    leaves = file.cascade.leaf.copy()
    leaves[5] = -1 / 3
    new = file.cascade.with_leaves(leaves)
    changed = lines_changed(old, file.to_bytes(new))
    assert len(changed) == 1
    assert changed[0].startswith(f"{leaves[4]:.9g} -3.33333343267440")
    file.write(out, new)
    same(read_cascade(out).cascade, new)
    bars = file.cascade.node_threshold.copy()
    bars[3] = 2e-30
    new = dataclasses.replace(file.cascade, node_threshold=bars)
    file.write(out, new, overwrite=True)
    assert len(lines_changed(old, out.read_bytes())) == 1
    same(read_cascade(out).cascade, new)


@pytest.mark.parametrize("max_nodes", [1, 3])
@pytest.mark.parametrize("stages", [[0], [2], [0, 2], [2, 1, 0], [1, 1]])
def test_stages_can_be_dropped_and_moved(tmp_path, out, stages, max_nodes):
    (tmp_path / "in.xml").write_bytes(as_xml(random_cascade(seed=9, max_nodes=max_nodes)))
    file = read_cascade(tmp_path / "in.xml")
    new = file.cascade.pick(stages)
    file.write(out, new)
    same(read_cascade(out).cascade, new)
    text = out.read_text()
    assert LICENCE in text
    assert f"<stageNum>{len(stages)}</stageNum>" in text
    for s in set(range(3)) - set(stages):
        assert f"{file.cascade.stage_threshold[s]:.9g}<" not in text
    read_again = read_cascade(out)
    read_again.write(out, read_again.cascade.first(1), overwrite=True)
    same(read_cascade(out).cascade, new.first(1))


def adapted(cascade, seed=0):
    """The first two stages, relaxed, then one of all stumps with new leaves."""
    leaves = np.random.default_rng(seed).normal(0, 1, cascade.leaf_pairs.shape)
    begun = cascade.first(2)
    begun = begun.with_thresholds(begun.stage_threshold - np.float32(0.5))
    return begun.with_stage(cascade.node_feature, cascade.node_threshold, leaves, stage_threshold=-0.25)


def test_a_stage_of_all_stumps_is_written(file, out):
    new = adapted(file.cascade)
    file.write(out, new)
    found = read_cascade(out).cascade
    same(found, new)
    assert np.diff(found.stage_tree).tolist() == [3, 4, 12]
    text = out.read_text()
    assert "<stageParams><maxWeakCount>12</maxWeakCount></stageParams>" in text
    assert "<!-- stage 1 -->" in text
    assert "<!-- stage 2 -->" not in text
    assert (
        text[text.index("<features>") :] == file.to_bytes().decode()[file.to_bytes().index(b"<features>") :]
    )


def test_a_new_stage_between_old_ones_and_at_the_front(file, out):
    longer = adapted(file.cascade)
    for order in ([2, 0, 1], [0, 2, 1], [2]):
        file.write(out, longer.pick(order), overwrite=True)
        same(read_cascade(out).cascade, longer.pick(order))


def test_an_origin_that_does_not_fit_is_only_a_hint(file, out):
    for origin in ([2, 1, 0], [7, -9, 100], [0, 0, 0]):
        new = dataclasses.replace(file.cascade, stage_origin=np.array(origin, np.int32))
        file.write(out, new, overwrite=True)
        same(read_cascade(out).cascade, new)


def test_extreme_numbers_are_read_back(file, out):
    tiny, huge = np.float32(1e-45), np.finfo(np.float32).max
    new = file.cascade.with_thresholds([tiny, -huge, huge])
    new = new.with_leaves(np.resize(np.array([tiny, -tiny, 1e20, 1 / 3], np.float32), 24))
    file.write(out, new)
    same(read_cascade(out).cascade, new)


def test_packed_output(file, tmp_path):
    out = tmp_path / "out.xml.gz"
    file.write(out)
    assert gzip.decompress(out.read_bytes()) == file.to_bytes()
    file.write(tmp_path / "again.xml.gz")
    assert (tmp_path / "again.xml.gz").read_bytes() == out.read_bytes()
    same(read_cascade(out).cascade, file.cascade)


def test_windows_line_ends_stay(tmp_path, out):
    (tmp_path / "in.xml").write_bytes(as_xml(random_cascade(seed=8)).replace(b"\n", b"\r\n"))
    file = read_cascade(tmp_path / "in.xml")
    new = file.cascade.with_leaves(file.cascade.leaf + 1)
    file.write(out, new)
    assert out.read_bytes().count(b"\r\n") == file.to_bytes().count(b"\r\n")
    same(read_cascade(out).cascade, new)


def test_what_is_there_already_is_not_replaced(file, out):
    out.write_text("mine")
    with pytest.raises(InputError, match=r"path must be a new file; .* exists already.*overwrite=True"):
        file.write(out)
    assert out.read_text() == "mine"
    file.write(out, overwrite=True)
    same(read_cascade(out).cascade, file.cascade)
    assert [p.name for p in sorted(out.parent.iterdir())] == ["in.xml", "out.xml"]


def test_a_cascade_of_other_features_is_refused(file, out):
    for other in (random_cascade(seed=1), random_cascade(seed=8, width=9)):
        with pytest.raises(InputError, match="cascade must have the window and the features of the file"):
            file.write(out, other)
    assert not out.exists()
