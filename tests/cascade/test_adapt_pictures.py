"""`PictureAdapter`: it builds, learns on line, goes on from files, and says what it cannot do."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest

from ocboost._core import file_format
from ocboost.cascade import CascadeAdapter, Picture, PictureAdapter, WholeAdapter, detect, read_cascade
from ocboost.cascade import adapt_pictures as module
from ocboost.cascade.adapt_pictures import which_spared
from ocboost.cascade.last_stage import corrected
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.own_threshold import own_threshold
from ocboost.cascade.picture_guard import judge
from ocboost.errors import InputError, ModelFileError
from tests.support.cascades import as_xml, random_cascade
from tests.support.cli_runs import ran
from tests.support.quick_builds import (
    build_quickly,
    quick_builds,
    small_cascade,
    small_picture,
    small_pictures,
)
from tests.support.saved_trees import GONE, changed

N = 13  # of the next three pictures with faces the first two are learnt
MORE = range(N, N + 5)


@pytest.fixture(autouse=True)
def no_loss_of_power(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def shown(n=N, **settings):
    adapter = PictureAdapter(small_cascade(), **{"smoothing": 100.0, **settings})
    for picture in small_pictures(range(n)):
        adapter.add(picture)
    return adapter


def lit(picture):
    """The same with its light from the left, on each face."""
    grey = picture.grey.astype(float)
    for x, y, w, h in picture.boxes.tolist():
        grey[y : y + h, x : x + w] *= np.linspace(1.3, 0.7, w)
    return Picture(picture.name, np.rint(grey).clip(0, 255).astype(np.uint8), picture.boxes)


@pytest.fixture(scope="module")
def first():
    """Built from so many pictures; nobody changes it."""
    adapter = shown()
    build_quickly(adapter)
    return adapter


@pytest.fixture
def built(first):
    return copy.deepcopy(first)


def bytes_of(adapter):
    return file_format.to_bytes(adapter.kind, adapter.tree())


def numbers(cascade):
    names = ("node_feature", "node_threshold", "leaf", "stage_tree", "stage_threshold")
    return [getattr(cascade, name).tolist() for name in names]


class TestBuilding:
    def test_it_finds_more_faces_and_raises_fewer_false_alarms(self):
        adapter = shown(24)
        build_quickly(adapter)
        judged = small_pictures(range(100, 124))
        before, after = judge(small_cascade(), judged), judge(adapter.adapted(false_alarms=0.3), judged)
        assert after.hits > before.hits + 5
        assert after.false_alarms < before.false_alarms / 2

    def test_the_same_seed_builds_the_same(self, first):
        again, other = shown(), shown(seed=1)
        for adapter in (again, other):
            build_quickly(adapter)
        assert bytes_of(again) == bytes_of(first)
        assert numbers(again.adapted()) == numbers(first.adapted())
        assert numbers(other.adapted()) != numbers(first.adapted())

    def test_its_last_threshold_alone_hangs_on_what_is_wanted(self, first):
        few, many = (first.adapted(false_alarms=wanted) for wanted in (0.0, 3.0))
        assert few.stage_threshold[-1] > many.stage_threshold[-1]
        np.testing.assert_array_equal(few.stage_threshold[:-1], many.stage_threshold[:-1])
        np.testing.assert_array_equal(few.leaf, many.leaf)
        spared = [p for p, spare in zip(first._pictures, which_spared(first._pictures), strict=True) if spare]
        assert judge(few, spared).false_alarms == 0
        assert judge(many, spared).a_picture <= 3.0
        large = first.adapted(false_alarms=3.0, min_size=(40, 40))
        assert large.stage_threshold[-1] <= many.stage_threshold[-1]

    def test_steps_are_told(self):
        told = []
        with quick_builds():
            shown().build(lambda *step: told.append(step))
        assert [name for name, _, _ in told][-2:] == ["last stage", "thresholds"]
        assert all(0 <= at < total for _, at, total in told)

    def test_the_file_written_finds_the_same_in_opencv(self, tmp_path):
        cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is not installed")
        (tmp_path / "shipped.xml").write_bytes(as_xml(small_cascade()))
        file = read_cascade(tmp_path / "shipped.xml")
        adapter = PictureAdapter(file.cascade, smoothing=100.0)
        for picture in small_pictures(range(N)):
            adapter.add(picture)
        build_quickly(adapter)
        adapted = adapter.adapted(false_alarms=2.0)
        file.write(tmp_path / "adapted.xml", adapted)
        theirs = cv2.CascadeClassifier(str(tmp_path / "adapted.xml"))
        n = 0
        for picture in small_pictures(range(100, 112)):
            found = sorted(tuple(map(int, box)) for box in theirs.detectMultiScale(picture.grey))
            assert found == sorted(detect(adapted, picture.grey))
            n += len(found)
        assert n > 5


class TestPictures:
    def test_every_third_of_either_kind_is_spared(self):
        kinds = np.random.default_rng(0).integers(0, 2, 40).tolist()
        found = which_spared([small_picture(0, 2 * kind) for kind in kinds])
        for kind in (0, 1):
            own = [k for k in range(40) if kinds[k] == kind]
            assert [k for k in own if found[k]] == own[2::3]

    def test_pixels_may_be_overwritten_afterwards(self):
        adapter, again = PictureAdapter(small_cascade()), PictureAdapter(small_cascade())
        buffer = np.empty((108, 114), np.uint8)
        for picture in small_pictures(range(3)):
            buffer[:] = picture.grey
            again.add(Picture(picture.name, buffer, picture.boxes))
            adapter.add(picture)
        buffer[:] = 0
        assert bytes_of(again) == bytes_of(adapter)

    def test_they_are_counted(self, first):
        assert (first.n_pictures, first.n_faces) == (N, 18)
        assert first.is_built
        assert not shown(3).is_built

    def test_those_held_out_are_not_learnt(self, built):
        before = numbers(built.adapted())
        built.hold_out(small_picture(77))
        assert numbers(built.adapted()) == before
        assert [picture.name for picture in built.held_out] == ["77.png"]
        with pytest.raises(InputError, match=r"held out to judge by; '77\.png' is"):
            built.add(small_picture(77))
        with pytest.raises(InputError, match=r"none that was learnt; '0\.png' was"):
            built.hold_out(small_picture(0))


class TestOnLine:
    def test_the_last_stage_learns_faces_and_what_scores_highest_beside_them(self, built):
        n, picture = built.n_pictures, small_picture(N)
        twin = copy.deepcopy(built._built.last)
        built.add(picture)
        pyramid = PyramidOf(small_cascade(), picture)
        faces, _ = pyramid.faces(5, np.random.default_rng([0, n + 1]))
        others, scores = pyramid.passing(corrected(built._built.stages, twin, 0.0), 10**6, lowest=-np.inf)
        assert len(others) > 60
        hardest = np.sort(np.argsort(-scores, kind="stable")[:60])
        windows = np.concatenate([faces, others[hardest]])
        labels = np.repeat(np.array([1, -1], np.int8), [len(faces), 60])
        weights = np.where(labels > 0, built._built.face_weight, 1.0)
        twin.update(twin.stumps.answers(windows.reshape(len(windows), -1)), labels, weights, len(labels))
        assert twin.sketch.n_seen == len(labels)
        np.testing.assert_array_equal(built._built.last.sketch.alpha, twin.sketch.alpha)
        np.testing.assert_array_equal(built.adapted().leaf, corrected(built._built.stages, twin, 0.0).leaf)

    def test_faces_lit_from_one_side_are_not_learnt_mirrored(self, built):
        assert built._built.mirrored
        adapter = PictureAdapter(small_cascade(), smoothing=100.0)
        for picture in small_pictures(range(31)):
            adapter.add(lit(picture))
        build_quickly(adapter)
        assert not adapter._built.mirrored
        twin, seen = copy.deepcopy(adapter._built.last), []
        adapter._built.last.update = lambda answers, labels, *_: seen.append((answers, labels))
        picture = lit(small_picture(31))
        adapter.add(picture)
        (answers, labels), n_windows = seen[0], 2 * 12  # two faces as they are, and eleven windows about each
        assert (labels > 0).sum() == n_windows
        faces, _ = PyramidOf(small_cascade(), picture).faces(
            11, np.random.default_rng([0, 32]), mirrored=False
        )
        np.testing.assert_array_equal(answers[:n_windows], twin.stumps.answers(faces.reshape(n_windows, -1)))

    def test_pictures_spared_move_the_last_threshold_alone(self, built):
        while not which_spared([*built._pictures, small_picture(40)])[-1]:
            built.add(small_picture(30 + built.n_pictures))
        before, learnt = built.adapted(false_alarms=0.5), built._built.last.sketch.n_seen
        built.add(small_picture(40))
        after = built.adapted(false_alarms=0.5)
        assert built._built.last.sketch.n_seen == learnt > 0
        np.testing.assert_array_equal(after.leaf, before.leaf)
        assert after.stage_threshold[-1] != before.stage_threshold[-1]

    def test_it_may_wait_for_the_next_build(self, built):
        built.add(small_picture(N), learn=False)
        assert built._built.last.sketch.n_seen == 0
        assert built.n_pictures == N + 1
        assert not built.is_built_on_all

    def test_what_cannot_be_learnt_is_not_kept(self, built, monkeypatch):
        before = bytes_of(built)

        def broken(*_, **__):
            raise MemoryError

        monkeypatch.setattr(PyramidOf, "passing", broken)
        with pytest.raises(MemoryError):
            built.add(small_picture(N))
        assert bytes_of(built) == before

    def test_pictures_shown_during_a_build_are_learnt_after_it(self, built):
        late = small_pictures(MORE)
        adapter, in_build, go_on = shown(), threading.Event(), threading.Event()

        def stop(*_):
            in_build.set()
            assert go_on.wait(60)

        with quick_builds():
            builder = threading.Thread(target=adapter.build, args=(stop,))
            builder.start()
            assert in_build.wait(60)
            for picture in late:
                adapter.add(picture)  # does not wait for the build
            assert not adapter.is_built
            go_on.set()
            builder.join()
        for picture in late:
            built.add(picture)
        assert bytes_of(adapter) == bytes_of(built)
        assert built._built.last.sketch.n_seen > 100

    def test_copies_go_on_by_themselves(self, built):
        copies = [copy.deepcopy(built), copy.copy(built), pickle.loads(pickle.dumps(built))]
        before = bytes_of(built)
        built.add(small_picture(N))
        assert bytes_of(built) != before
        for other in copies:
            assert bytes_of(other) == before
            other.add(small_picture(N))
            assert bytes_of(other) == bytes_of(built)


class TestFiles:
    def test_it_goes_on_bit_for_bit(self, tmp_path):
        straight, stopped = shown(0), shown(0)
        for adapter in (straight, stopped):
            adapter.hold_out(small_picture(77))
        steps = [*small_pictures(range(N)), None, *small_pictures(MORE), None, small_picture(20)]
        for step in steps:
            stopped.save(tmp_path / "adapter")
            stopped = CascadeAdapter.load(tmp_path / "adapter")
            assert type(stopped) is PictureAdapter
            for adapter in (straight, stopped):
                if step is None:
                    build_quickly(adapter)
                else:
                    adapter.add(step)
            assert bytes_of(stopped) == bytes_of(straight)
        assert straight._built.last.sketch.n_seen > 0
        assert numbers(stopped.adapted()) == numbers(straight.adapted())

    def test_info_says_what_it_is(self, first, tmp_path, capsys):
        first.save(tmp_path / "adapter.ocb")
        code, out, err = ran(capsys, "info", tmp_path / "adapter.ocb")
        assert (code, err) == (0, "")
        found = [" ".join(line.split()) for line in out.splitlines()]
        assert "adapter a cascade adapted to whole pictures" in found
        assert "has seen 13 pictures with 18 faces" in found
        assert "built yes" in found

    @pytest.mark.parametrize(
        ("path", "value", "message"),
        [
            ("built", None, "built_on must be 0 without a build"),
            ("built.last", None, "last must have learnt"),
            ("built.last", GONE, "last is missing"),
            ("built.stages", None, "stages must be"),
            ("built.mirrored", 2, "mirrored must be"),
            ("built.last.sketch.n_hypotheses", 3, "do not fit|must be over|wrong shape"),
            ("built.last.scale", 1e6, "half log-odds"),
            ("built_on", N + 1, "built_on must be a whole number from 0 to 13"),
            ("built.face_weight", 0.0, "face_weight must be"),
            ("settings.pass_rate", 2.0, "pass_rate must be"),
            ("settings.seed", -1, "seed must be"),
            ("settings.more", 1, "not known: 'more'"),
            ("more", 1, "not known: 'more'"),
            ("pictures.0.grey", lambda a: a.astype(np.int8), "wrong shape or type"),
            ("pictures.0.grey", lambda a: a[:20], "boxes must lie inside"),
            ("pictures.0.boxes", lambda a: -a, "boxes must be"),
            ("pictures.0.name", 3, "name must be a text"),
            ("built.stages.width", 40, "over the cascade's features"),
            ("built.stages.height", 25, "over the cascade's features"),
            ("built.stages.rects", lambda a: a[:, ::-1].copy(), "rects must|over the cascade's features"),
            ("built.stages.weights", lambda a: 2 * a, "over the cascade's features"),
            ("built.stages.leaf", lambda a: a * np.float32(np.nan), "leaf must be finite"),
        ],
    )
    def test_what_no_adapter_has_written(self, path, value, message, first, tmp_path):
        bad = changed(first.tree(), path, value)
        (tmp_path / "bad").write_bytes(file_format.to_bytes("PictureAdapter", bad))
        with pytest.raises(ModelFileError, match=message):
            PictureAdapter.load(tmp_path / "bad")

    def test_built_on_pictures_without_a_build(self, tmp_path):
        (tmp_path / "bad").write_bytes(
            file_format.to_bytes("PictureAdapter", changed(shown(3).tree(), "built_on", 2))
        )
        with pytest.raises(ModelFileError, match="built_on must be 0 without a build"):
            PictureAdapter.load(tmp_path / "bad")

    def test_a_picture_both_learnt_and_held_out(self, first, tmp_path):
        tree = first.tree()
        bad = changed(tree, "held_out", [tree["pictures"][0]])
        (tmp_path / "bad").write_bytes(file_format.to_bytes("PictureAdapter", bad))
        with pytest.raises(ModelFileError, match="both learnt and held out"):
            PictureAdapter.load(tmp_path / "bad")

    def test_too_many_pixels(self, first, tmp_path, monkeypatch):
        first.save(tmp_path / "adapter")
        monkeypatch.setattr(module, "MAX_PICTURE_BYTES", 50_000)
        with pytest.raises(ModelFileError, match="grey pixels in all"):
            PictureAdapter.load(tmp_path / "adapter")

    def test_cut_off_or_of_another_kind(self, first, tmp_path):
        first.save(tmp_path / "adapter")
        data = (tmp_path / "adapter").read_bytes()
        (tmp_path / "adapter").write_bytes(data[:-100])
        with pytest.raises(ModelFileError):
            PictureAdapter.load(tmp_path / "adapter")
        (tmp_path / "adapter").write_bytes(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
        with pytest.raises(ModelFileError):
            PictureAdapter.load(tmp_path / "adapter")
        WholeAdapter(small_cascade()).save(tmp_path / "whole")
        with pytest.raises(ModelFileError, match="WholeAdapter"):
            PictureAdapter.load(tmp_path / "whole")


class TestErrors:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"pass_rate": 1.5}, "pass_rate must be"),
            ({"pass_rate": "high"}, "pass_rate must be"),
            ({"smoothing": -1.0}, "smoothing must be"),
            ({"time": 0.0}, "time must be"),
            ({"seed": -1}, "seed must be"),
        ],
    )
    def test_settings(self, settings, message):
        with pytest.raises(InputError, match=message):
            PictureAdapter(small_cascade(), **settings)

    def test_what_is_no_cascade_and_no_picture(self, built):
        with pytest.raises(InputError, match=r"cascade must be a Cascade; got str. Give read_cascade"):
            PictureAdapter("detector.xml")
        for show in (built.add, built.hold_out):
            with pytest.raises(InputError, match=r"picture must be a Picture; got ndarray. Make one of"):
                show(np.zeros((40, 40), np.uint8))

    def test_cascades(self):
        with pytest.raises(InputError, match="cascade of stumps"):
            PictureAdapter(random_cascade(0, max_nodes=3))
        tilted = random_cascade(1, width=16, height=16, share_tilted=1.1)
        with pytest.raises(InputError, match="features that are not tilted"):
            PictureAdapter(tilted)

    @pytest.mark.parametrize("wanted", [-0.1, float("nan"), "few", 1e9])
    def test_false_alarms(self, wanted, first):
        with pytest.raises(InputError, match="false_alarms must be"):
            first.adapted(false_alarms=wanted)

    def test_not_built(self):
        with pytest.raises(InputError, match=r"build\(\) must be called before"):
            shown(3).adapted()

    def test_too_few_faces(self):
        adapter = shown(7)
        with pytest.raises(
            InputError, match="at least 10 faces besides those spared; got 10 faces in 7 pict"
        ):
            adapter.build()
        assert not adapter.is_built

    def test_no_picture_spared(self):
        adapter = PictureAdapter(small_cascade())
        grey, box = small_picture(0).grey, small_picture(0).boxes[0]
        for k in range(2):
            adapter.add(Picture(str(k), grey + np.uint8(k), np.repeat(box[None], 6, axis=0)))
        with pytest.raises(InputError, match="every third is spared to set thresholds by; got 2"):
            adapter.build()

    def test_faces_that_are_too_small(self):
        adapter = PictureAdapter(small_cascade())
        for k in range(9):
            adapter.add(Picture(str(k), small_picture(k).grey, np.array([[5, 5, 9, 9], [40, 40, 12, 12]])))
        with pytest.raises(InputError, match="faces of at least 24 × 24 pixels"):
            adapter.build()

    def test_nothing_beside_the_faces(self):
        adapter = PictureAdapter(small_cascade())
        for k in range(16):
            face = small_picture(k)
            x, y, w, h = face.boxes[0]
            adapter.add(Picture(str(k), face.grey[y : y + h, x : x + w], np.array([[0, 0, w, h]])))
        with pytest.raises(InputError, match="pictures must show something"), quick_builds():
            adapter.build()

    def test_boxes_beside_the_faces(self):
        adapter = PictureAdapter(small_cascade())
        for k in range(24):
            face = small_picture(k, 2 if k % 3 else 0)
            adapter.add(Picture(str(k), face.grey, np.array([[33, 30, 48, 48]] * bool(k % 3)).reshape(-1, 4)))
        before = bytes_of(adapter)
        with pytest.raises(InputError, match="boxes must be around faces"), quick_builds():
            adapter.build()
        assert bytes_of(adapter) == before

    def test_too_many_pixels(self, built, monkeypatch):
        monkeypatch.setattr(module, "MAX_PICTURE_BYTES", built._bytes + 12_000)
        before = bytes_of(built)
        for show in (built.add, built.hold_out):
            with pytest.raises(InputError, match="grey pixels in all"):
                show(small_picture(N))
        assert bytes_of(built) == before


def test_left_out_it_is_the_own_threshold(built):
    cascade, spared = built._now()
    for size in (None, (40, 40)):
        threshold = built.adapted(min_size=size).stage_threshold[-1]
        assert threshold == np.float32(own_threshold(built.cascade, cascade, spared, size))
