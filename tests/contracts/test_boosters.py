"""The boosters' contract, for every name in the registry."""

from __future__ import annotations

import copy
import os
import pickle
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocboost
from ocboost import InputError, ModelFileError
from ocboost.boosters import BOOSTERS
from ocboost.boosters.base import SummingBooster
from ocboost.boosters.stepping import SteppingBooster
from tests.contracts.examples import booster, is_hinted, margins
from tests.contracts.taught import J, N, assert_same, every, given_to, goes_on_as, taught
from tests.support import thread_stress

# What it is -------------------------------------------------------------------------------------------


def test_the_registry_has_every_class():
    """A class of the package that nobody registered is none that a model can have."""
    ours = [getattr(ocboost.boosters, name) for name in ocboost.boosters.__all__]
    classes = {each for each in ours if isinstance(each, type) and each is not ocboost.boosters.Booster}
    assert {each.load() for each in BOOSTERS.values()} == classes
    for name, each in BOOSTERS.items():
        assert each.name == name
        assert each.load().kind == each.load().__name__
    assert len({each.title for each in BOOSTERS.values()}) == len(BOOSTERS)


@every
def test_an_empty_one(name):
    empty = booster(name, J)
    assert isinstance(empty, ocboost.boosters.Booster)
    assert (empty.n_seen, empty.n_hypotheses, empty.n_head) == (0, J, 0)
    assert not empty.alpha.any()
    assert empty.nbytes > 0
    assert type(empty).__name__ in repr(empty)


@every
def test_what_it_says_of_itself(name):
    begun = taught(name)
    alpha = begun.alpha
    assert (alpha.shape, alpha.dtype, begun.n_seen) == ((J,), np.float64, N)
    assert alpha.any()
    alpha[:] = 99.0  # it was a copy
    assert (begun.alpha != 99.0).all()
    assert begun.n_head <= max(begun.head, 1)
    assert begun.window_size is None or begun.window_size == begun.head
    assert 0.0 < begun.forgetting <= 1.0


@every
def test_weights_follow_what_is_right(name):
    rng = np.random.default_rng(5)
    begun = booster(name, 2)
    rows = np.where(rng.random((400, 2)) < [0.9, 0.1], 1, -1)
    alphas = []
    for row in rows:
        begun.update(row)
        alphas.append(begun.alpha)
    lately = np.mean(alphas[200:], axis=0)  # some jump about
    assert lately[0] > 0.0 > lately[1]


# Learning ---------------------------------------------------------------------------------------------


@every
def test_many_are_one_by_one(name, saved_bytes):
    rows, more = given_to(name)
    one, many = booster(name, J), booster(name, J)
    for row, w, label in zip(rows, *more.values(), strict=True):
        one.update(row, sample_weight=w, label=label)
    many.update_many(rows, **more)
    assert_same(one, many)
    assert saved_bytes(one) == saved_bytes(many)


@every
def test_how_it_is_cut_means_nothing(name):
    @settings(max_examples=8)
    @given(st.lists(st.integers(0, N), max_size=6))
    def cut(places):
        rows, more = given_to(name)
        pieces = booster(name, J)
        ends = sorted({0, *places, N})
        for start, stop in pairwise(ends):
            part = {key: each[start:stop] for key, each in more.items()}
            pieces.update_many(rows[start:stop], **part)
            assert np.isfinite(pieces.alpha).all()  # reading in between changes nothing
        assert_same(pieces, whole)

    rows, more = given_to(name)
    whole = booster(name, J)
    whole.update_many(rows, **more)
    cut()


@every
def test_a_beginning(name):
    """All at once where there are sums; one by one where there are steps."""
    rows, more = given_to(name)
    registered = BOOSTERS[name]
    begun = registered.load().from_margins(rows, **more, **registered.settings)
    assert (begun.n_seen, begun.n_hypotheses) == (N, J)
    twin = booster(name, J)
    if isinstance(begun, SteppingBooster):
        for row, w, label in zip(rows, *more.values(), strict=True):
            twin.update(row, sample_weight=w, label=label)
    elif isinstance(begun, SummingBooster):
        twin.update_many(rows, batch_size=N, **more)
    else:
        assert np.abs(begun.alpha).max() > 0.05
        return
    assert_same(begun, twin)


@every
def test_labels_are_taken_and_the_classes_are_equals(name):
    """One that tells classes apart does so; all others, and all with the classes exchanged, are the same."""
    rows, more = given_to(name)
    with_labels, turned, without = (booster(name, J) for _ in range(3))
    with_labels.update_many(rows, **more)
    turned.update_many(rows, **{**more, "labels": -more["labels"]})
    without.update_many(rows, sample_weight=more["sample_weight"])
    np.testing.assert_allclose(turned.alpha, with_labels.alpha, rtol=0, atol=1e-9)
    if name != "huang":
        np.testing.assert_array_equal(without.alpha, with_labels.alpha)


def test_huang_tells_classes_apart():
    """Once examples have left its window, and are known by their class only."""
    rng = np.random.default_rng(0)
    labels = rng.choice([-1, 1], 600)
    rows = np.where(rng.random((600, 2)) < np.where(labels[:, None] > 0, [0.9, 0.5], [0.5, 0.9]), 1, -1)
    apart, alike = (ocboost.boosters.HuangBooster(2, window=20) for _ in range(2))
    apart.update_many(rows, labels=labels)
    alike.update_many(rows)
    assert np.abs(apart.alpha - alike.alpha).max() > 1e-3


def takes(name, weight):
    """Whether a booster takes so heavy an example; if not, it says what it takes."""
    try:
        booster(name, J).update(np.ones(J), sample_weight=weight)
    except InputError as error:
        if not re.search(r"sample_weight must be at most 1e\+100 .* Divide all weights", str(error)):
            raise
        return False
    return True


@every
def test_weights_of_any_size_in_any_order_leave_alpha_finite(name):
    heaviest = 1e300 if takes(name, 1e300) else 1e100

    @settings(max_examples=25)
    @given(st.lists(st.sampled_from([0.0, 1e-300, 1.0, heaviest]), min_size=1, max_size=30), st.data())
    def finite(chosen, data):
        n = len(chosen)
        how = data.draw(st.sampled_from(["chance", "right", "wrong"]))
        rows = {"chance": margins(30, J)[0][:n], "right": np.ones((n, J)), "wrong": -np.ones((n, J))}[how]
        fed = booster(name, J)
        for row, w in zip(rows, chosen, strict=True):
            fed.update(row, sample_weight=w)
            assert np.isfinite(fed.alpha).all()
        fed.update_many(rows, sample_weight=chosen, batch_size=7)
        assert np.isfinite(fed.alpha).all()
        registered = BOOSTERS[name]
        begun = registered.load().from_margins(rows, sample_weight=chosen, **registered.settings)
        assert np.isfinite(begun.alpha).all()

    finite()


# What is refused --------------------------------------------------------------------------------------

GOOD = np.ones((3, J), int)
BAD = {
    "too few columns": lambda b: b.update_many(GOOD[:, 1:]),
    "too few margins": lambda b: b.update(GOOD[0, 1:]),
    "a matrix for a row": lambda b: b.update(GOOD),
    "a row for a matrix": lambda b: b.update_many(GOOD[0]),
    "no rows": lambda b: b.update_many(GOOD[:0]),
    "NaN": lambda b: b.update_many(GOOD * np.nan),
    "NaN in a row": lambda b: b.update(GOOD[0] * np.nan),
    "zeros": lambda b: b.update_many(GOOD * 0),
    "a two at the end": lambda b: b.update_many(np.where(np.arange(3)[:, None] == 2, 2, GOOD)),
    "booleans": lambda b: b.update_many(GOOD > 0),
    "texts": lambda b: b.update_many([["a"] * J]),
    "labels of 0": lambda b: b.update_many(GOOD, labels=[0, 1, 1]),
    "too few labels": lambda b: b.update_many(GOOD, labels=[1, 1]),
    "a label of 2": lambda b: b.update(GOOD[0], label=2),
    "a label that is a text": lambda b: b.update(GOOD[0], label="yes"),
    "a negative weight": lambda b: b.update(GOOD[0], sample_weight=-1.0),
    "a weight of NaN": lambda b: b.update_many(GOOD, sample_weight=[1, np.nan, 1]),
    "an infinite weight": lambda b: b.update(GOOD[0], sample_weight=np.inf),
    "too few weights": lambda b: b.update_many(GOOD, sample_weight=[1, 1]),
    "a weight that is a text": lambda b: b.update(GOOD[0], sample_weight="1"),
    "batches of 0": lambda b: b.update_many(GOOD, batch_size=0),
    "half a batch": lambda b: b.update_many(GOOD, batch_size=0.5),
}


@every
def test_what_makes_no_sense_is_refused_and_changes_nothing(name, saved_bytes):
    begun = taught(name)
    before = saved_bytes(begun)
    for what, act in BAD.items():
        with pytest.raises(InputError) as caught:
            act(begun)
        assert is_hinted(caught.value), (what, str(caught.value))
    assert saved_bytes(begun) == before
    for wrong in (0, -1, 1.5, "3", True):
        with pytest.raises(InputError, match="n_hypotheses must be a whole number"):
            booster(name, wrong)


# Copies and files -------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "copied",
    [lambda b: b.copy(), copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))],
    ids=["copy()", "copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("make", [taught, lambda name: booster(name, J)], ids=["taught", "empty"])
def test_copies_are_the_same_and_by_themselves(name, copied, make, saved_bytes):
    original = make(name)
    before, twin = saved_bytes(original), copied(original)
    assert type(twin) is type(original)
    assert saved_bytes(twin) == before
    twin.update_many(*given_to(name, 20)[:1])
    assert saved_bytes(original) == before
    goes_on_as(copied(original), original, saved_bytes)


@every
@pytest.mark.parametrize("make", [taught, lambda name: booster(name, J)], ids=["taught", "empty"])
def test_what_was_saved_goes_on(name, make, tmp_path, saved_bytes):
    original, path = make(name), tmp_path / "booster.ocb"
    original.save(path)
    loaded = type(original).load(path)
    assert type(loaded) is type(original)
    assert loaded.has_settings(loaded.given_settings)
    goes_on_as(loaded, original, saved_bytes)
    for other in {each.load() for each in BOOSTERS.values()} - {type(original)}:
        with pytest.raises(ModelFileError):
            other.load(path)


# Settings ---------------------------------------------------------------------------------------------


@every
def test_settings_are_those_it_was_made_with(name):
    empty, kind = booster(name, J), BOOSTERS[name].load()
    chosen = empty.given_settings
    assert set(chosen) == set(kind.settings)
    assert {key: chosen[key] for key in BOOSTERS[name].settings} == BOOSTERS[name].settings
    kind.check_settings(chosen, J)
    for made in (kind.create(J, chosen), taught(name), taught(name).copy()):
        assert made.given_settings == chosen
        assert made.has_settings(chosen)
    if chosen:
        less = dict(list(chosen.items())[1:])
        assert not empty.has_settings(less)
    assert not empty.has_settings({**chosen, "colour": 1})
    for other in BOOSTERS.values():
        if other.load() is kind and other.settings != BOOSTERS[name].settings:
            assert not empty.has_settings(booster(other.name, J).given_settings)


@every
def test_what_it_was_made_with_makes_one_that_learns_the_same(name):
    rows, more = given_to(name)
    one = booster(name, J)
    other = type(one).create(J, one.given_settings)
    for each in (one, other):
        each.update_many(rows, **more)
    assert_same(one, other)


@every
def test_strange_settings_are_refused(name):
    kind = BOOSTERS[name].load()
    for setting in kind.settings:
        for wrong in (object(), np.array([1, 2]), "strange"):
            with pytest.raises((InputError, TypeError, ValueError)) as caught:
                kind.check_settings({**booster(name, J).given_settings, setting: wrong}, J)
            assert isinstance(caught.value, InputError), (setting, wrong)


# Compiled code ----------------------------------------------------------------------------------------

LEARNS = """
import numpy as np
from ocboost.boosters import HuangBooster
rng = np.random.default_rng(0)
booster = HuangBooster(7)
rows = np.where(rng.random((90, 7)) < rng.uniform(0.3, 0.8, 7), 1, -1)
booster.update_many(rows, sample_weight=rng.uniform(0.5, 2.0, 90), labels=rng.choice([-1, 1], 90))
print(booster.alpha.tobytes().hex())
"""


def test_compiled_or_read_from_the_cache_it_rounds_the_same(tmp_path):
    """A function beside the kernel has a version of its own while it is compiled, and another in the cache.

    Only of Huang's, since compiling takes seconds: no other kernel computes much in such functions.
    """
    # of a copy: kernels that lie compiled beside the package would be read
    copied = shutil.copytree(
        Path(ocboost.__file__).parent,
        tmp_path / "src" / "ocboost",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(copied.parent)}
    compiled, read = (
        subprocess.run(
            [sys.executable, "-c", LEARNS], env=env, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("huang.learn*.nbc"))
    assert compiled == read != ""


# Threads ----------------------------------------------------------------------------------------------


@every
def test_readers_while_it_learns(name):
    subject = thread_stress.booster_subject(name, lambda: booster(name, J), J, n=120, size=6)
    alone = thread_stress.expected(subject)
    faults = []
    for seed, interval in ((0, None), (1, 1e-6)):
        with thread_stress.switching(interval):
            faults += thread_stress.trial(subject, alone, n_readers=2, seed=seed)
    assert not faults
