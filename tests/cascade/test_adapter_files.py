"""Adapters of cascades in files: they go on as if they had never stopped, and no file is trusted."""

from __future__ import annotations

import copy
import hashlib
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import BoostingSketch
from ocboost._core import file_format
from ocboost._core.codec import read
from ocboost.cascade import Cascade, CascadeAdapter, StageAdapter, WholeAdapter, read_cascade
from ocboost.cascade.adapt_base import NewestWindows
from ocboost.cli.info import load_saved
from ocboost.errors import InputError, ModelFileError
from tests.across.test_changed_files import read_changed
from tests.support.cascades import as_xml
from tests.support.cli_runs import ran
from tests.support.saved_trees import GONE, changed
from tests.support.toy_cascade import boosted, noisy, toy_cascade

SETTINGS = {
    "whole": (WholeAdapter, {"smoothing": 100.0, "batch_size": 10, "calibrate_on": 90}),
    "whole, heavy": (
        WholeAdapter,
        {"smoothing": 100.0, "head": 40, "calibrate_on": 50, "forgetting": 0.99, "face_weight": 3.0},
    ),
    "whole, order": (WholeAdapter, {"order": 4, "head": "auto", "calibrate_on": 50, "batch_size": 7}),
    "stages": (StageAdapter, {"smoothing": 100.0, "batch_size": 10, "least_others": 40, "pass_rate": 0.98}),
    "stages, fading": (StageAdapter, {"forgetting": 0.98, "least_others": 30, "face_weight": 0.5}),
}
PART = 30


@pytest.fixture(scope="module")
def shown():
    """420 windows, their labels and their weights."""
    rng = np.random.default_rng(8)
    order = rng.permutation(420)
    windows, labels = np.concatenate(noisy(9, 210))[order], np.repeat([1, -1], 210)[order]
    return windows, labels, rng.choice([0.5, 1.0, 4.0], 420)


@pytest.fixture(autouse=True)
def no_loss_of_power(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def made(name):
    kind, given_settings = SETTINGS[name]
    return kind(toy_cascade(), **given_settings)


def learnt(name, shown, n):
    adapter = made(name)
    for at in range(0, n, PART):
        adapter.update(*(column[at : min(at + PART, n)] for column in shown))
    return adapter


def bytes_of(adapter):
    return file_format.to_bytes(adapter.kind, adapter.tree())


def same(a, b):
    assert bytes_of(a) == bytes_of(b)
    for name in ("leaf", "stage_threshold", "stage_tree", "node_feature"):
        np.testing.assert_array_equal(getattr(a.adapted(), name), getattr(b.adapted(), name))


def sealed(tree, kind):
    return file_format.to_bytes(kind, tree)


class TestGoingOn:
    @pytest.mark.parametrize("name", SETTINGS)
    def test_between_any_two_updates(self, name, shown, tmp_path):
        straight, stopped = made(name), made(name)
        started = []
        for at in range(0, 420, PART):
            part = [column[at : at + PART] for column in shown]
            straight.update(*part)
            stopped.save(tmp_path / "adapter")
            stopped = type(stopped).load(tmp_path / "adapter")
            stopped.update(*part)
            assert bytes_of(stopped) == bytes_of(straight)
            started.append("'sketch'" in repr(straight.tree()))
        assert not started[0]  # both before the calibration and after it
        assert started[-1]
        same(stopped, straight)
        if isinstance(straight, WholeAdapter):
            np.testing.assert_array_equal(stopped.alpha, straight.alpha)
            np.testing.assert_array_equal(stopped.score(shown[0]), straight.score(shown[0]))
            assert stopped.alpha.any()
            assert (stopped.scale, stopped.shift) == (straight.scale, straight.shift)

    @settings(max_examples=15)
    @given(
        name=st.sampled_from(sorted(SETTINGS)),
        ends=st.lists(st.integers(1, 419), min_size=1, max_size=6, unique=True).map(sorted),
        saved=st.sets(st.integers(0, 6)),
    )
    def test_wherever_the_stream_is_cut(self, name, ends, saved, shown, tmp_path_factory):
        path = tmp_path_factory.mktemp("cut") / "adapter"
        straight, stopped = made(name), made(name)
        for number, (first, last) in enumerate(zip([0, *ends], [*ends, 420], strict=True)):
            if number in saved:
                stopped.save(path)
                stopped = CascadeAdapter.load(path)
                assert type(stopped) is type(straight)
            for adapter in (straight, stopped):
                adapter.update(*(column[first:last] for column in shown))
        same(straight, stopped)

    @pytest.mark.parametrize("name", ["whole", "stages"])
    def test_one_by_one(self, name, shown, tmp_path):
        straight, stopped = made(name), made(name)
        for n, (window, label, weight) in enumerate(zip(*shown, strict=True)):
            if n in (1, 9, 10, 77, 100, 101, 230):
                stopped.save(tmp_path / "adapter")
                stopped = CascadeAdapter.load(tmp_path / "adapter")
            for adapter in (straight, stopped):
                adapter.update(window, label, weight)
        same(straight, stopped)

    def test_faces_alone_while_a_stage_waits(self, shown, tmp_path):
        faces = np.tile(shown[0][shown[1] > 0], (9, 1, 1))
        adapter = made("stages")
        for at in (slice(0, 1500), slice(1500, None)):
            adapter.update(faces[at], np.ones(len(faces[at]), int))
        for _ in range(4):
            adapter.update(faces[:1600], np.ones(1600, int))
            adapter.save(tmp_path / "adapter")
            again = StageAdapter.load(tmp_path / "adapter")
            assert bytes_of(again) == bytes_of(adapter)

    def test_a_stage_that_has_given_up(self, shown, tmp_path):
        adapter = made("stages")
        adapter.update(shown[0], -shown[1])
        assert adapter._stages[0].given_up
        adapter.save(tmp_path / "adapter")
        again = StageAdapter.load(tmp_path / "adapter")
        for each in (adapter, again):
            each.update(*shown)
        same(again, adapter)

    def test_it_saves_what_it_was_when_asked(self, shown):
        adapter = made("whole, heavy")
        for _ in range(3):
            adapter.update(*shown)
        assert len(adapter._faces) == adapter._faces.capacity == 500  # the next ones replace the oldest
        tree = adapter.tree()
        before = sealed(tree, adapter.kind)
        adapter.update(*shown)
        assert bytes_of(adapter) != before
        assert sealed(tree, adapter.kind) == before

    def test_numpy_settings_are_plain_in_files(self, tmp_path):
        adapter = WholeAdapter(
            toy_cascade(), order=np.int64(3), head=np.int32(2), forgetting=np.float32(0.5), face_weight=1
        )
        adapter.save(tmp_path / "adapter")
        assert WholeAdapter.load(tmp_path / "adapter").tree()["settings"] == adapter.tree()["settings"]


class TestParts:
    @pytest.mark.parametrize("origin", [False, True])
    def test_a_cascade(self, origin, tmp_path):
        (tmp_path / "toy.xml").write_bytes(as_xml(toy_cascade()))
        file = read_cascade(tmp_path / "toy.xml")
        cascade = file.cascade.pick([2, 0]) if origin else file.cascade
        tree = file_format.from_bytes(sealed(cascade.tree(), "Cascade"), "Cascade")
        again = read(tree, "a file", Cascade.from_tree)
        for key in cascade.__dataclass_fields__:
            before, after = getattr(cascade, key), getattr(again, key)
            assert getattr(before, "dtype", None) == getattr(after, "dtype", None)
            np.testing.assert_array_equal(before, after)
        assert file.to_bytes(again) == file.to_bytes(cascade)
        with pytest.raises(ValueError, match="read-only"):
            again.leaf[0] = 1.0

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("width", 2, "width must be a whole number from 3"),
            ("height", 1 << 40, "height must be a whole number from 0 to 256"),
            ("leaf", lambda a: a.astype(np.float64), "array leaf has the wrong shape or type"),
            ("leaf", lambda a: a * np.float32(np.nan), "leaf must be finite"),
            ("leaf", lambda a: np.full(a.size, 0x7F800001, np.int32).view(np.float32), "leaf must be finite"),
            ("leaf", lambda a: a[1:], "leaf must be finite numbers of shape"),
            ("rects", lambda a: a + 20, "rects must lie inside"),
            ("rects", lambda a: a[:, :2], "rects must"),
            ("tilted", lambda a: a + 2, "tilted must be"),
            ("node_feature", lambda a: a + 30, "node_feature must be from 0 to 29"),
            ("node_left", lambda a: a + 1, "node_left must"),
            ("tree_node", lambda a: a[:0], "tree_node must be whole numbers"),
            ("stage_tree", lambda a: a[::-1].copy(), "stage_tree must"),
            ("stage_origin", np.zeros(2, np.int32), "stage_origin must be 3"),
            ("stage_origin", GONE, "stage_origin is missing"),
            ("more", 1, "entries that are not known: 'more'"),
        ],
    )
    def test_a_cascade_that_could_not_be_made(self, key, value, message):
        with pytest.raises(ModelFileError, match=message):
            read(changed(toy_cascade().tree(), key, value), "a file", Cascade.from_tree)

    @given(st.integers(1, 7), st.lists(st.integers(0, 9), max_size=8), st.integers(0, 8))
    def test_the_newest_windows(self, most, sizes, cut):
        straight, stopped = NewestWindows(most, 3, 4), NewestWindows(most, 3, 4)
        shade = 0
        for number, size in enumerate(sizes):
            windows = np.arange(shade, shade + size).astype(np.uint8)[:, None, None] * np.ones(
                (1, 3, 4), np.uint8
            )
            if number == cut:
                tree = stopped.tree()
                stopped = read(tree, "a file", lambda each: NewestWindows.from_tree(each, most, 3, 4))
            straight.add(windows)
            stopped.add(windows)
            shade += size
        np.testing.assert_array_equal(straight.windows, stopped.windows)

    @pytest.mark.parametrize(
        ("tree", "message"),
        [
            ({"windows": np.zeros((4, 3, 4), np.uint8), "next": 0}, "at most 3"),
            (
                {"windows": np.zeros((2, 3, 4), np.uint8), "next": 1},
                "next must be a whole number from 0 to 0",
            ),
            ({"windows": np.zeros((3, 3, 4), np.uint8), "next": 3}, "next must be"),
            ({"windows": np.zeros((3, 4, 3), np.uint8), "next": 0}, "wrong shape"),
            ({"windows": np.zeros((3, 3, 4), np.int8), "next": 0}, "wrong shape or type"),
        ],
    )
    def test_windows_that_cannot_be_the_newest(self, tree, message):
        with pytest.raises(ModelFileError, match=message):
            read(tree, "a file", lambda each: NewestWindows.from_tree(each, 3, 3, 4))


def sketch_of(J, **more):
    sketch = BoostingSketch(J, **more)
    sketch.update_many(np.ones((216, J), np.int8))
    return sketch.tree()


WRONG = {
    "whole": [
        ("n_seen", 241, "must hold the newest|must be those shown"),
        ("n_seen", -1, "n_seen must be a whole number"),
        ("n_faces", 1000, "n_faces must be a whole number from 0 to 240"),
        ("n_faces", lambda n: n - 1, "faces must hold the newest"),
        ("faces.windows", lambda a: a * 0, "faces has windows of low contrast"),
        ("held_others.windows", lambda a: a[1:], "held_others must hold the newest"),
        ("settings.face_weight", 0.0, "face_weight must be"),
        ("settings.head", "huge", "head must be"),
        ("settings.head", 2, "adapter's settings"),
        ("settings.order", 31, "order must be"),
        ("settings.order", 5, "adapter's settings"),
        ("settings.forgetting", 0.9, "adapter's settings"),
        ("settings.batch_size", 1 << 30, "batch_size must be"),
        ("settings.more", 1, "not known: 'more'"),
        ("calibrated.scale", 0.0, "half log-odds"),
        ("calibrated.scale", 1e6, "half log-odds"),
        ("calibrated.shift", -601.0, "half log-odds"),
        ("calibrated", None, "must be those shown"),
        ("calibrated.sketch", sketch_of(29), "over the 30 stumps"),
        ("calibrated.sketch", sketch_of(30, head=64), "adapter's settings"),
        ("calibrated.sketch", sketch_of(30, correction="own"), "adapter's settings"),
        ("calibrated.sketch.n_hypotheses", 1 << 40, "do not fit"),
        ("cascade.leaf", lambda a: a * np.float32(1e9), "half log-odds"),
    ],
    "waiting": [
        ("waiting", None, "must be those shown"),
        ("waiting.rows", lambda a: a * 0, "low contrast"),
        ("waiting.rows", lambda a: a.astype(np.int8), "wrong shape or type"),
        ("waiting.labels", lambda a: -a, "must be those shown"),
        ("waiting.labels", lambda a: 0 * a, "labels must be"),
        ("waiting.weights", lambda a: a * np.nan, "weights must be"),
        ("waiting.weights", lambda a: a * 1e8, "weights must be"),
        ("waiting.sizes", lambda a: a + 1, "sizes must be"),
        ("waiting.sizes", lambda a: np.append(a, 0), "sizes must be"),
        ("waiting.sizes", lambda a: np.append(a, [1 << 62] * 4), "sizes must be"),
        ("waiting.sizes", lambda a: a[:0], "sizes must be"),
        ("settings.calibrate_on", 3, "calibrate_on must be"),
    ],
    "stages": [
        ("n_faces_at_thresholds", 1000, "n_faces_at_thresholds must be"),
        ("held.windows", lambda a: a[1:], "held must hold the newest"),
        ("stages", lambda a: a[:2], "stages must be a list of 3"),
        ("stages.0.others", 1000, "others must be a whole number"),
        ("stages.0.others", 5, "do not fit those shown"),
        ("stages.0.given_up", True, "do not fit those shown"),
        ("stages.0.threshold", "high", "threshold must be a number"),
        ("stages.0.calibrated.sketch", sketch_of(6), "adapter's settings"),
        ("settings.pass_rate", 2.0, "pass_rate must be"),
        ("settings.least_others", 10_000, "do not fit those shown"),
    ],
    "stages, waiting": [
        ("stages.1.waiting.rows", lambda a: 0 * a, "answers of -1 and"),
        ("stages.1.waiting.rows", lambda a: a[:, 1:], "wrong shape"),
        ("stages.1.waiting.labels", lambda a: np.abs(a), "do not fit those shown"),
    ],
}
STATES = {"whole": ("whole", 240), "waiting": ("whole", 60), "stages": ("stages", 240)}
STATES["stages, waiting"] = ("stages", 60)


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("state", "number"), [(state, n) for state, cases in WRONG.items() for n in range(len(cases))]
    )
    def test_what_no_windows_lead_to(self, state, number, shown, tmp_path):
        adapter, (path, value, message) = learnt(*_of(state, shown)), WRONG[state][number]
        bad = changed(adapter.tree(), path, value)
        (tmp_path / "bad").write_bytes(sealed(bad, adapter.kind))
        with pytest.raises(ModelFileError, match=message) as caught:
            CascadeAdapter.load(tmp_path / "bad")
        assert "bad is not a valid model" in str(caught.value)

    @pytest.mark.parametrize("state", STATES)
    def test_200_mutations_of_the_bytes(self, state, shown, tmp_path):
        adapter = learnt(*_of(state, shown))
        data = bytes_of(adapter)
        rng = np.random.default_rng(len(state))
        for _ in range(200):
            mutated = bytearray(data)
            at, how = int(rng.integers(len(data))), rng.choice(["flip", "cut", "insert", "swap", "same"])
            if how == "flip":
                mutated[at] ^= 1 << int(rng.integers(8))
            elif how == "cut":
                del mutated[at:]
            elif how == "insert":
                mutated[at:at] = rng.bytes(int(rng.integers(1, 9)))
            elif how == "swap":
                mutated[at : at + 8] = mutated[at : at + 8][::-1]
            (tmp_path / "mutated").write_bytes(mutated)
            if bytes(mutated) == data:
                assert bytes_of(type(adapter).load(tmp_path / "mutated")) == data
                continue
            with pytest.raises(ModelFileError, match="mutated"):
                type(adapter).load(tmp_path / "mutated")

    @pytest.mark.parametrize("state", STATES)
    def test_200_changes_under_a_checksum_that_fits(self, state, shown, tmp_path):
        adapter = learnt(*_of(state, shown))
        path = tmp_path / "changed"
        adapter.save(path)
        assert bytes_of(load_saved(path)[1]) == path.read_bytes()
        tracemalloc.start()
        try:
            refused = read_changed(path.read_bytes(), path, np.random.default_rng(len(state)), 200)
            assert tracemalloc.get_traced_memory()[1] < 50e6
        finally:
            tracemalloc.stop()
        assert refused > 100

    @pytest.mark.parametrize("state", STATES)
    def test_whatever_is_read_can_be_used(self, state, shown):
        """Changed pixels, weights and sums that are accepted: the adapter goes on, or says what is wrong."""
        adapter, rng = learnt(*_of(state, shown)), np.random.default_rng(4)
        tree = adapter.tree()
        taken = 0
        for _ in range(60):
            other = copy.deepcopy(tree)
            inner = other
            while isinstance(inner, dict | list):  # down to an array
                keys = list(inner) if isinstance(inner, dict) else range(len(inner))
                keys = [k for k in keys if isinstance(inner[k], dict | list | np.ndarray) and len(inner[k])]
                if not keys:
                    break
                inner = inner[keys[int(rng.integers(len(keys)))]]
            if isinstance(inner, np.ndarray):
                inner.reshape(-1)[int(rng.integers(inner.size))] = rng.integers(0, 100)
            try:
                again = read(other, "a file", type(adapter).from_tree)
            except ModelFileError:
                continue
            taken += 1
            try:
                again.update(*shown)
                assert np.isfinite(again.adapted().leaf).all()
            except InputError:
                pass
        assert taken

    def test_many_stumps_take_no_memory_for_their_pairs(self, tmp_path):
        n = 20_000  # whose pairs would take 3 GB
        cascade = boosted((6,), *noisy(1, 50))
        many = cascade.with_stage(np.zeros(n, int), np.zeros(n), np.ones((n, 2)), stage_threshold=0.0)
        tree = made("whole").tree() | {"cascade": many.tree()}
        (tmp_path / "many").write_bytes(sealed(tree, "WholeAdapter"))
        tracemalloc.start()
        try:
            assert len(CascadeAdapter.load(tmp_path / "many").stumps) == n + 6
            assert tracemalloc.get_traced_memory()[1] < 60e6
        finally:
            tracemalloc.stop()

    def test_files_of_something_else(self, shown, tmp_path):
        path = tmp_path / "model"
        made("stages").save(path)
        with pytest.raises(ModelFileError, match="holds 'StageAdapter', not WholeAdapter"):
            WholeAdapter.load(path)
        with pytest.raises(ModelFileError, match="holds 'StageAdapter', not BoostingSketch"):
            BoostingSketch.load(path)
        BoostingSketch(3).save(path)
        with pytest.raises(ModelFileError, match="knows WholeAdapter, StageAdapter"):
            CascadeAdapter.load(path)
        path.write_bytes(b"<?xml version='1.0'?>")
        for kind in (CascadeAdapter, WholeAdapter, StageAdapter):
            with pytest.raises(ModelFileError, match="model"):
                kind.load(path)

    def test_trees_of_several_nodes(self, tmp_path):
        tree = made("whole").tree()
        cascade = tree["cascade"]
        cascade |= {
            "tree_node": np.array([0, 2], np.int32),
            "tree_leaf": np.array([0, 3], np.int32),
            "stage_tree": np.array([0, 1], np.int32),
            "stage_threshold": np.zeros(1, np.float32),
            "node_feature": np.zeros(2, np.int32),
            "node_threshold": np.zeros(2, np.float32),
            "node_left": np.array([1, 0], np.int32),
            "node_right": np.array([0, -1], np.int32),
            "leaf": np.zeros(3, np.float32),
            "stage_origin": None,
        }
        for kind in (WholeAdapter, StageAdapter):
            with pytest.raises(ModelFileError, match="cascade of stumps"):
                read(tree | {"settings": kind(toy_cascade()).tree()["settings"]}, "a file", kind.from_tree)

    def test_an_old_file_stays_until_the_new_one_is_whole(self, shown, tmp_path, monkeypatch):
        adapter, path = learnt("whole", shown, 60), tmp_path / "adapter"
        adapter.save(path)
        before = hashlib.sha256(path.read_bytes()).digest()
        adapter.update(*shown)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            adapter.save(path)
        assert hashlib.sha256(path.read_bytes()).digest() == before
        assert [each.name for each in tmp_path.iterdir()] == ["adapter"]


def _of(state, shown):
    name, n = STATES[state]
    return name, shown, n


@pytest.mark.parametrize(
    ("state", "lines"),
    [
        ("whole", ["adapter a cascade adapted as a whole", "the rest learnt, for new weights"]),
        ("waiting", ["has seen 60 windows", "the rest waits for the score to be calibrated"]),
        ("stages", ["adapter a cascade adapted stage by stage", "new weights in 3 of 3 stages"]),
    ],
)
def test_info_says_what_it_is(state, lines, shown, tmp_path, capsys):
    learnt(*_of(state, shown)).save(tmp_path / "adapter.ocb")
    code, out, err = ran(capsys, "info", tmp_path / "adapter.ocb")
    assert (code, err) == (0, "")
    found = [" ".join(line.split()) for line in out.splitlines()]
    assert "cascade cascade of 3 stages, 30 stumps, for windows of 24 × 24 pixels" in found
    for line in lines:
        assert line in found
