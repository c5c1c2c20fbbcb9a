"""Synthetic scenes: seeds, parts that share nothing, boxes that are where the faces are."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import rotate, zoom

from ocboost.cascade.annotations import read_annotations
from ocboost.datasets import scenes
from ocboost.datasets.cameras import CAMERAS
from ocboost.datasets.faces import draw_toys
from ocboost.datasets.images import Images
from ocboost.datasets.scenes import SCENE_HEIGHT, SCENE_WIDTH, SceneMaker, main
from ocboost.errors import InputError


def labels(n):
    return np.repeat(np.array([1, -1], np.int8), n)


def marked_images(n=30):
    """Faces and others, of even pixels in the adapting part and of odd ones in the judging part."""
    parts = []
    for seed in (0, 1):
        windows = np.concatenate(draw_toys(n, seed=seed)) // 2 * 2 + np.uint8(seed)
        parts.append(windows.astype(np.uint8))
    return Images(parts[0], labels(n), parts[1], labels(n), "drawn")


@pytest.fixture
def pasted(monkeypatch):
    """The windows that are pasted, one after the other, as (window, x, y, side)."""
    found = []
    original = scenes._paste

    def paste(canvas, window, x, y, side, rng):
        found.append((np.array(window), x, y, side))
        original(canvas, window, x, y, side, rng)

    monkeypatch.setattr(scenes, "_paste", paste)
    return found


def correlation(one, other):
    return float(np.corrcoef(one.ravel().astype(float), other.ravel().astype(float))[0, 1])


class TestSeeds:
    def test_the_same_seed_gives_the_same_scenes(self):
        images = marked_images()
        one, again, other = (
            list(SceneMaker(images, camera=CAMERAS["grain"], seed=seed).scenes(3)) for seed in (4, 4, 5)
        )
        for a, b, c in zip(one, again, other, strict=True):
            assert np.array_equal(a.grey, b.grey)
            assert np.array_equal(a.boxes, b.boxes)
            assert not np.array_equal(a.grey, c.grey)

    def test_scenes_differ(self):
        first, second = SceneMaker(marked_images()).scenes(2)
        assert not np.array_equal(first.grey, second.grey)
        assert first.grey.shape == (SCENE_HEIGHT, SCENE_WIDTH)
        assert first.grey.dtype == np.uint8


class TestParts:
    def test_no_window_is_shared(self, pasted):
        images = marked_images()
        for part, odd in (("adapting", 0), ("judging", 1)):
            pasted.clear()
            list(SceneMaker(images, part, seed=1).scenes(8))
            assert len(pasted) > 50
            assert all((window % 2 == odd).all() for window, *_ in pasted)

    def test_no_photo_is_shared(self):
        names = [set(scenes.PHOTOS[part]) | {scenes.SAMPLE_PHOTOS[part]} for part in ("adapting", "judging")]
        assert not names[0] & names[1]
        with_faces = {"astronaut", "camera", "cell", "lfw_subset"}  # cell is no photo of a thing
        assert not (names[0] | names[1]) & with_faces
        adapting, judging = (scenes._photos(part) for part in ("adapting", "judging"))
        for one in adapting:
            assert not any(np.array_equal(one, other) for other in judging)

    def test_every_face_comes_before_one_comes_again(self, pasted):
        maker = SceneMaker(marked_images(12))
        faces = [window for scene in range(3) for window in self.faces_of(maker, pasted)]
        upright = {min(window.tobytes(), window[:, ::-1].tobytes()) for window in faces}
        assert len(faces) == maker.n_faces == 12
        assert len(upright) == 12

    def faces_of(self, maker, pasted):
        pasted.clear()
        scene = maker.scene(n_faces=4, n_others=0)
        places = {tuple(box) for box in scene.boxes.tolist()}
        return [window for window, x, y, side in pasted if (x, y, side, side) in places]

    def test_refused(self):
        with pytest.raises(InputError, match="part must be 'adapting' or 'judging'; got 'both'"):
            SceneMaker(marked_images(), "both")


class TestBoxes:
    @pytest.mark.parametrize("camera", [None, "roll", "dark"])
    def test_inside_and_apart(self, camera):
        maker = SceneMaker(marked_images(), camera=CAMERAS.get(camera), seed=2)
        for scene in maker.scenes(12, 8, 4):
            x, y, w, h = scene.boxes.T
            assert (w == h).all()
            assert ((w >= scenes.SMALLEST_SIDE) & (w <= scenes.LARGEST_SIDE)).all()
            assert ((x >= 0) & (y >= 0) & (x + w <= SCENE_WIDTH) & (y + h <= SCENE_HEIGHT)).all()
            if camera != "roll":  # turned boxes may touch
                for k, (a, b, s, _) in enumerate(scene.boxes.tolist()):
                    for c, d, t, _ in scene.boxes[:k].tolist():
                        assert a + s <= c or c + t <= a or b + s <= d or d + t <= b

    @pytest.mark.parametrize("camera", [None, "roll"])
    def test_the_faces_are_where_the_boxes_say(self, pasted, camera):
        angle = 0.0 if camera is None else CAMERAS[camera].angle
        assert (angle != 0.0) == (camera == "roll")
        maker = SceneMaker(marked_images(), camera=CAMERAS.get(camera), seed=3)
        right, wrong, untwisted = [], [], []
        for _ in range(12):
            pasted.clear()
            scene = maker.scene(4, 0)
            own = pasted[-len(scene.boxes) :]  # clutter comes before
            for (window, *_, side), (x, y, w, h) in zip(own, scene.boxes.tolist(), strict=True):
                assert (w, h) == (side, side)
                seen = scene.grey[y : y + h, x : x + w]
                plain = zoom(window.astype(float), side / 24, order=1, mode="nearest")
                turned = rotate(plain, angle, reshape=False, order=1, mode="nearest")
                middle = slice(side // 6, side - side // 6)
                right.append(correlation(seen[middle, middle], turned[middle, middle]))
                untwisted.append(correlation(seen[middle, middle], plain[middle, middle]))
                there = scene.grey[y : y + h, (x + side) % (SCENE_WIDTH - side) :][:, :side]
                if there[middle, middle].std() > 0:  # a place may be all black
                    wrong.append(correlation(there[middle, middle], turned[middle, middle]))
        assert np.median(right) > 0.9
        assert np.median(wrong) < 0.6
        if camera == "roll":
            assert np.median(right) > np.median(untwisted) + 0.02

    def test_boxes_move_by_less_than_a_pixel_from_where_points_go(self):
        """A bright square, turned by the camera, has its middle in the middle of the turned box."""
        camera = CAMERAS["roll"]
        for x, y in ((60, 50), (300, 200), (180, 140)):
            picture = np.zeros((SCENE_HEIGHT, SCENE_WIDTH), np.uint8)
            picture[y : y + 21, x : x + 21] = 255
            seen = camera(picture[None], np.random.default_rng(0))[0].astype(float)
            down, across = np.mgrid[:SCENE_HEIGHT, :SCENE_WIDTH]
            middle = np.array([(seen * across).sum(), (seen * down).sum()]) / seen.sum()
            box = scenes.turned(np.array([[x, y, 21, 21]]), camera.angle)[0]
            assert np.abs(box[:2] + 10 - middle).max() < 0.75
            assert np.abs(box[:2] - [x, y]).max() > 2 or (x, y) == (180, 140)

    def test_full_scenes_leave_faces_out(self):
        scene = SceneMaker(marked_images()).scene(n_faces=400, n_others=0)
        assert 20 < len(scene.boxes) < 400

    def test_no_faces(self, pasted):
        maker = SceneMaker(marked_images())
        scene = maker.scene(n_faces=0)
        assert scene.boxes.shape == (0, 4)
        assert maker.n_faces == 0
        assert len(pasted) >= 6  # others are pasted all the same


class TestWords:
    def test_synthetic(self):
        source = SceneMaker(marked_images(), "judging", CAMERAS["roll"]).source
        assert source.startswith("Synthetic scenes of 400 × 300 pixels, judging part: 30 face windows and 30")
        assert CAMERAS["roll"].about in source
        assert "no distortion" in SceneMaker(marked_images()).source
        assert "synthetic" in scenes.__doc__


class TestCommand:
    def test_writes(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv("OCBOOST_DATA", raising=False)
        for name in ("one", "two"):
            assert main([str(tmp_path / name), "--scenes", "3", "--faces", "2", "--camera", "roll"]) == 0
        printed = capsys.readouterr().out
        assert "Synthetic scenes" in printed
        assert f"Wrote 3 scenes with 6 faces to {tmp_path / 'one'}." in printed
        text = (tmp_path / "one" / "boxes.csv").read_text()
        assert text == (tmp_path / "two" / "boxes.csv").read_text()
        rows = list(csv.reader(text.splitlines()))
        assert rows[0] == ["image", "x", "y", "w", "h"]
        assert len(rows) == 7
        with Image.open(tmp_path / "one" / "scene-0002.png") as image:
            assert image.size == (SCENE_WIDTH, SCENE_HEIGHT)
        found = read_annotations(tmp_path / "one")
        assert (len(found), found.n_faces) == (3, 6)

    def test_without_faces(self, tmp_path, monkeypatch):
        monkeypatch.delenv("OCBOOST_DATA", raising=False)
        assert main([str(tmp_path / "a"), "--scenes", "2", "--faces", "0"]) == 0
        found = read_annotations(tmp_path / "a")
        assert (len(found), found.n_faces) == (2, 0)

    def test_without_data_it_says_what_the_faces_are(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv("OCBOOST_DATA", raising=False)
        assert main([str(tmp_path / "a"), "--scenes", "1"]) == 0
        assert (
            "A small set, not the paper's size" in (said := capsys.readouterr().out) or "Drawn faces" in said
        )
        assert "--data" in said

    def test_drawn_faces(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv("OCBOOST_DATA", raising=False)
        monkeypatch.setattr("ocboost.datasets.faces._lfw_of_skimage", lambda: None)
        assert main([str(tmp_path / "a"), "--scenes", "1"]) == 0
        assert "Drawn faces, no photographs" in capsys.readouterr().out

    def test_without_photos(self, monkeypatch):
        monkeypatch.setattr(scenes, "_photos", lambda part: [])
        maker = SceneMaker(marked_images())
        assert "pasted into textures" in maker.source
        assert maker.scene().grey.std() > 5

    def test_help(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["--help"])
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        assert "synthetic scenes" in printed
        for option in ("--data", "--part", "--camera", "--scenes", "--faces", "--seed"):
            assert option in printed

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (["--scenes", "0"], "--scenes must be at least 1"),
            (["--faces", "-1"], "--faces and --seed at least 0"),
            (["--camera", "none"], "invalid choice"),
            (["--data", "no-such-folder"], "no-such-folder"),
        ],
    )
    def test_refused(self, tmp_path, capsys, words, what):
        with pytest.raises(SystemExit) as ended:
            main([str(tmp_path / "a"), *words])
        assert ended.value.code == 2
        assert what in capsys.readouterr().err
        assert not (tmp_path / "a").exists()

    def test_a_folder_that_holds_something(self, tmp_path, capsys):
        (tmp_path / "a.txt").write_text("mine")
        for place in (tmp_path, tmp_path / "a.txt"):
            with pytest.raises(SystemExit):
                main([str(place), "--scenes", "1"])
            assert "OUT must be a new or an empty folder" in capsys.readouterr().err
        assert (tmp_path / "a.txt").read_text() == "mine"
