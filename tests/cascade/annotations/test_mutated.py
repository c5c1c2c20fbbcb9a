"""Damaged annotations are refused or read right: ``experiments/mutated_annotations.py`` reads thousands."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.support.judged_annotations import MutatedSet, judge
from tests.support.mutated_annotations import FILES, KINDS, marks, valid_files, write_pictures

N = 60  # of each format


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_right(tmp_path, kind):
    some = MutatedSet(write_pictures(tmp_path), kind, random.Random(f"7 {kind}"))
    outcomes: Counter[str] = Counter()
    for _ in range(N):
        what, of_folder = some.next()
        verdict = judge(tmp_path, kind, some.files, of_folder)
        assert verdict.outcome != "wrong", (what, verdict.what)
        outcomes[verdict.outcome] += 1
    assert min(outcomes["refused"], outcomes["right"]) > 5, outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_are_right_and_others_are_noticed(tmp_path, kind):
    rng = random.Random(3)
    some = MutatedSet(write_pictures(tmp_path), kind, rng)
    some.write(valid_files(kind, marks(rng), random.Random(1)))
    for of_folder in (False, True):
        assert judge(tmp_path, kind, some.files, of_folder).outcome == "right"
    others = valid_files(kind, marks(rng), random.Random(1))
    if kind == "bg":
        others = {FILES[kind]: some.files[FILES[kind]].replace(b"p00.png\n", b"")}
    assert others.keys() == some.files.keys()
    verdict = judge(tmp_path, kind, others, False)
    assert verdict.outcome == "wrong"
    assert "instead of" in verdict.what
