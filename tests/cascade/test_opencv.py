"""Side by side with OpenCV: its own cascades, its own decisions; skipped where it is not installed."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from ocboost._kernels.pyramid import shrink
from ocboost.cascade import accepts, candidates, detect, passed, read_cascade, stage_sums
from ocboost.errors import ModelFileError
from tests.support.cascades import as_xml, data_folder, noise, random_cascade

cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is not installed")
CASCADES = Path(cv2.data.haarcascades)
NAMES = sorted(p.stem for p in CASCADES.glob("haarcascade_*.xml") if "16stages" not in p.stem)
FACES = CASCADES / "haarcascade_frontalface_default.xml"


@pytest.fixture(autouse=True)
def one_thread():
    cv2.setNumThreads(1)


read_once = lru_cache(read_cascade)


def loaded(path):
    classifier = cv2.CascadeClassifier()
    assert classifier.load(str(path))
    return classifier


def accepted_by(classifier, windows):
    """Which windows OpenCV accepts, and the last stage's sum of those.

    Asked for sums, it also reports windows of low contrast if there is a single stage; so it is asked twice.
    """
    height, width = windows.shape[1:]
    size = (width, height)
    accepted, sums = np.zeros(len(windows), bool), np.zeros(len(windows))
    for i, window in enumerate(windows):
        if len(classifier.detectMultiScale(window, 1.1, 0, 0, size, size)):
            _, _, weights = classifier.detectMultiScale3(window, 1.1, 0, 0, size, size, True)
            accepted[i], sums[i] = True, np.ravel(weights)[0]
    return accepted, sums


@lru_cache
def pictures():
    """Grey images that scikit-image ships."""
    data = pytest.importorskip("skimage.data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        colour = data.astronaut().astype(float) @ [0.299, 0.587, 0.114]
        return {"astronaut": colour.astype(np.uint8), "camera": data.camera(), "coins": data.coins()}


def cut_from(image, n, height, width, seed=0):
    """Windows of many sizes from an image."""
    rng = np.random.default_rng(seed)
    out = np.empty((n, height, width), np.uint8)
    for i in range(n):
        scale = rng.uniform(1, min(image.shape[0] / height, image.shape[1] / width))
        h, w = int(height * scale), int(width * scale)
        y, x = rng.integers(0, image.shape[0] - h + 1), rng.integers(0, image.shape[1] - w + 1)
        shrink(np.ascontiguousarray(image[y : y + h, x : x + w]), out[i])
    return out


def as_set(rects):
    return sorted(map(tuple, np.asarray(rects).reshape(-1, 4).tolist()))


@pytest.mark.parametrize("name", NAMES)
def test_the_cascades_of_opencv_say_the_same(name, tmp_path):
    file = read_cascade(CASCADES / f"{name}.xml")
    cascade = file.cascade
    windows = cut_from(pictures()["astronaut"], 60, cascade.height, cascade.width)
    for stages in ([0], [cascade.n_stages - 1], [0, 1]):  # one stage, one of the largest, and two
        some = cascade.pick(stages)
        bars = some.stage_threshold if len(stages) == 2 else [-1e5]
        some = some.with_thresholds(bars)
        file.write(tmp_path / "some.xml", some, overwrite=True)
        accepted, sums = accepted_by(loaded(tmp_path / "some.xml"), windows)
        np.testing.assert_array_equal(accepts(some, windows), accepted)
        np.testing.assert_array_equal(stage_sums(some, windows)[accepted, -1], sums[accepted])
        assert accepted.any()


@pytest.mark.parametrize("max_nodes", [1, 3])
@pytest.mark.parametrize("share_tilted", [0.0, 0.5])
def test_small_cascades_say_the_same(tmp_path, max_nodes, share_tilted):
    path = tmp_path / "small.xml"
    for seed in range(4):
        windows = noise(seed, 80, 8, 9)
        cascade = random_cascade(seed, 9, 8, (2, 3), max_nodes=max_nodes, share_tilted=share_tilted)
        cascade = cascade.with_thresholds(np.quantile(stage_sums(cascade, windows), 0.3, axis=0))
        path.write_bytes(as_xml(cascade))
        accepted, sums = accepted_by(loaded(path), windows)
        np.testing.assert_array_equal(accepts(cascade, windows), accepted)
        np.testing.assert_array_equal(stage_sums(cascade, windows)[accepted, -1], sums[accepted])
        assert 0 < accepted.sum() < 80


def test_an_adapted_cascade_is_loaded_and_decides_as_ours(tmp_path):
    file = read_once(FACES)
    cascade = file.cascade
    begun = cascade.first(10)
    begun = begun.with_thresholds(begun.stage_threshold - np.float32(0.5))
    leaves = cascade.leaf_pairs * np.random.default_rng(0).uniform(0.5, 1.5, (cascade.n_trees, 1))
    windows = cut_from(pictures()["astronaut"], 400, 24, 24)
    new = begun.with_stage(cascade.node_feature, cascade.node_threshold, leaves, stage_threshold=0)
    bar = np.median(stage_sums(new, windows)[accepts(begun, windows), 10])
    new = new.with_thresholds([*begun.stage_threshold, bar])
    for name in ("adapted.xml", "adapted.xml.gz"):
        file.write(tmp_path / name, new)
        accepted, _ = accepted_by(loaded(tmp_path / name), windows)
        np.testing.assert_array_equal(accepts(new, windows), accepted)
        assert 0 < accepted.sum() < 400


def test_the_old_format_is_refused():
    with pytest.raises(ModelFileError, match="the format before OpenCV 2"):
        read_cascade(CASCADES / "haarcascade_license_plate_rus_16stages.xml")


def test_shrinking_is_opencvs():
    image = pictures()["camera"][:301, :422]
    rng = np.random.default_rng(1)
    sizes = [(301, 422), (150, 211), (151, 211), (100, 100), (1, 1), (2, 3), (400, 500)]
    for height, width in sizes + rng.integers(5, 400, (20, 2)).tolist():
        out = np.empty((height, width), np.uint8)
        shrink(image, out)
        expected = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR_EXACT)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("picture", ["astronaut", "camera", "coins"])
@pytest.mark.parametrize("name", ["frontalface_default", "frontalface_alt2", "eye", "smile"])
def test_the_same_is_found_in_pictures(name, picture):
    image = pictures()[picture]
    path = CASCADES / f"haarcascade_{name}.xml"
    cascade, classifier = read_once(path).cascade, loaded(path)
    every = detect(cascade, image, 1.4, 0)
    assert as_set(every) == as_set(classifier.detectMultiScale(image, 1.4, 0))
    assert len(candidates(cascade, image, 1.4)) == len(every)
    for options in ((1.25, 3), (2.0, 1), (1.3, 2, (30, 30), (200, 220))):
        factor, neighbors, *sizes = options
        expected = classifier.detectMultiScale(image, factor, neighbors, 0, *sizes)
        assert as_set(detect(cascade, image, *options)) == as_set(expected)


def test_the_astronauts_face_is_found():
    found = detect(read_once(FACES).cascade, pictures()["astronaut"], 1.1, 5)
    assert any(150 < x + w / 2 < 300 and 50 < y + h / 2 < 200 and 80 < w < 200 for x, y, w, h in found)


@pytest.mark.skipif(data_folder() is None, reason="OCBOOST_DATA does not name the face data")
def test_windows_of_faces_and_others(tmp_path):
    from PIL import Image

    parts = []
    for name, n in (("faces24_test", 1200), ("nonfaces24_test", 1800), ("hardneg24_test", 1000)):
        with Image.open(data_folder() / "faces" / f"{name}.png") as image:
            mosaic = np.asarray(image.crop((0, 0, image.width, 24 * -(-n * 24 // image.width))))
        tiles = mosaic.reshape(mosaic.shape[0] // 24, 24, -1, 24).transpose(0, 2, 1, 3)
        parts.append(tiles.reshape(-1, 24, 24)[:n])
    windows = np.concatenate(parts)
    file = read_once(FACES)
    accepted, sums = accepted_by(loaded(FACES), windows)
    np.testing.assert_array_equal(passed(file.cascade, windows) == 25, accepted)
    np.testing.assert_array_equal(stage_sums(file.cascade, windows, [24])[accepted, 0], sums[accepted])
    assert accepted[:1200].mean() > 0.85
    assert accepted[1200:3000].mean() < 0.01
