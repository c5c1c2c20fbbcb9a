"""Windows and images from folders, mosaics, files and videos, and what strange files make of it."""

from __future__ import annotations

import struct
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image

from ocboost.cascade import sources
from ocboost.cascade.figures import EDGE, LINE, draw_boxes
from ocboost.cascade.sources import images_in, windows_in
from ocboost.errors import InputError, MissingExtraError
from tests.support.toy_cascade import write_folder, write_mosaic, write_video


@pytest.fixture
def windows():
    return np.random.default_rng(0).integers(0, 256, (20, 24, 24), dtype=np.uint8)


def empty_png(width, height):
    """A PNG that claims a size and holds nothing."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def outcome(task):
    """What a task returns, or what its error says."""
    try:
        return task(), None
    except InputError as error:
        return None, str(error)


class TestWindows:
    def test_a_mosaic(self, tmp_path, windows):
        path = write_mosaic(tmp_path / "m.png", windows)
        np.testing.assert_array_equal(windows_in(path, 24, 24), windows)

    def test_a_mosaic_of_windows_that_are_not_square(self, tmp_path):
        windows = np.arange(6 * 20 * 30, dtype=np.uint8).reshape(6, 20, 30)
        path = write_mosaic(tmp_path / "m.png", windows, columns=3)
        np.testing.assert_array_equal(windows_in(path, 30, 20), windows)

    @pytest.mark.parametrize("ending", [".png", ".BMP", ".pgm", ".tif", ".tiff", ".webp"])
    def test_a_folder(self, tmp_path, windows, ending):
        folder = tmp_path / "windows"
        folder.mkdir()
        for n, window in enumerate(windows):
            Image.fromarray(window).save(folder / f"{n:02d}{ending}", lossless=True)
        told = []
        found = windows_in(folder, 24, 24, notify=told.append)
        if ending == ".webp":  # has no grey, and its colours are rounded
            assert np.abs(found.astype(int) - windows).max() <= 2
        else:
            np.testing.assert_array_equal(found, windows)
        assert told == []

    def test_jpeg(self, tmp_path):
        Image.fromarray(np.full((24, 24), 90, np.uint8)).save(tmp_path / "a.jpg")
        assert np.abs(windows_in(tmp_path / "a.jpg", 24, 24).astype(int) - 90).max() <= 1

    def test_one_window(self, tmp_path, windows):
        Image.fromarray(windows[0]).save(tmp_path / "one.bmp")
        np.testing.assert_array_equal(windows_in(tmp_path / "one.bmp", 24, 24), windows[:1])

    def test_by_name(self, tmp_path, windows):
        for n in (7, 3, 10, 1):
            Image.fromarray(windows[n]).save(tmp_path / f"{n}.png")
        np.testing.assert_array_equal(windows_in(tmp_path, 24, 24), windows[[1, 10, 3, 7]])

    def test_other_sizes_are_averaged(self, tmp_path, windows):
        Image.fromarray(windows[0]).save(tmp_path / "a.png")
        large = np.kron(windows[1], np.ones((3, 3), np.uint8))
        large[::3, ::3] ^= 6  # not all nine the same
        Image.fromarray(large).save(tmp_path / "b.png")
        told = []
        found = windows_in(tmp_path, 24, 24, notify=told.append)
        mean = large.reshape(24, 3, 24, 3).mean(axis=(1, 3))
        assert np.abs(found[1] - mean).max() <= 0.5
        np.testing.assert_array_equal(found[0], windows[0])
        assert told == [f"1 of 2 images in '{tmp_path}' were scaled to 24 × 24 pixels."]

    def test_what_is_no_image_is_left_out(self, tmp_path, windows):
        write_folder(tmp_path, windows[:3])
        (tmp_path / "notes.txt").write_text("notes")
        (tmp_path / ".hidden.png").write_text("no image")
        (tmp_path / "folder.png").mkdir()
        told, steps = [], []
        found = windows_in(
            tmp_path, 24, 24, notify=told.append, progress=lambda done, total: steps.append((done, total))
        )
        np.testing.assert_array_equal(found, windows[:3])
        assert told == [f"3 of 6 things in '{tmp_path}' are no image and were left out."]
        assert steps == [(1, 3), (2, 3), (3, 3)]

    def test_colours_become_grey(self, tmp_path):
        colour = np.zeros((24, 24, 3), np.uint8)
        colour[:12] = 255, 0, 0
        colour[12:] = 0, 255, 0
        Image.fromarray(colour).save(tmp_path / "a.png")
        found = windows_in(tmp_path, 24, 24)[0]
        assert (found[0, 0], found[23, 0]) == (76, 150)

    def test_sixteen_bits(self, tmp_path):
        deep = (np.arange(576, dtype=np.uint16) * 100).reshape(24, 24)
        for name in ("a.png", "b.pgm", "c.tif"):
            Image.fromarray(deep).save(tmp_path / name)
        for found in windows_in(tmp_path, 24, 24):
            np.testing.assert_array_equal(found, deep >> 8)

    def test_palettes_and_see_through(self, tmp_path, windows):
        grey = Image.fromarray(windows[0])
        grey.convert("RGBA").save(tmp_path / "a.png")
        grey.convert("P").save(tmp_path / "b.png")
        grey.convert("LA").save(tmp_path / "c.png")
        for found in windows_in(tmp_path, 24, 24):
            np.testing.assert_array_equal(found, windows[0])


class TestRefused:
    """Every error names the file."""

    def refused(self, place, text):
        with pytest.raises(InputError, match=text) as caught:
            windows_in(place, 24, 24, name="--faces")
        assert str(place) in str(caught.value)

    def test_nothing_there(self, tmp_path):
        self.refused(tmp_path / "none", r"--faces must be a folder of windows of 24 × 24 .* does not exist")

    def test_an_empty_folder(self, tmp_path):
        self.refused(tmp_path, "--faces must be a folder .* it is empty. Put some there")

    def test_a_folder_without_images(self, tmp_path):
        (tmp_path / "a.txt").write_text("")
        self.refused(tmp_path, "none of the 1 things in it is one")

    @pytest.mark.parametrize("ending", [".mp4", ".AVI"])
    def test_videos_are_for_detect(self, tmp_path, ending):
        (tmp_path / f"v{ending}").write_bytes(b"")
        self.refused(tmp_path / f"v{ending}", "--faces must be .* is a video. Videos are for detect")

    def test_no_tiles(self, tmp_path):
        Image.new("L", (48, 25)).save(tmp_path / "a.png")
        self.refused(tmp_path / "a.png", "must be one window of 24 × 24 .* it is a PNG of 48 × 25")

    def test_mosaics_are_png(self, tmp_path):
        Image.new("L", (48, 48)).save(tmp_path / "a.jpg")
        self.refused(tmp_path / "a.jpg", "it is a JPEG of 48 × 48. Give a folder")

    def test_mosaics_are_grey(self, tmp_path):
        Image.new("RGB", (48, 48)).save(tmp_path / "a.png")
        self.refused(tmp_path / "a.png", "must be grey .* 'RGB'")

    def test_other_formats_are_not_tried(self, tmp_path):
        Image.new("L", (24, 24)).save(tmp_path / "a.png", format="GIF")
        self.refused(tmp_path / "a.png", "must be an image .PNG, JPEG.* it cannot be read")

    @pytest.mark.parametrize("ending", [".png", ".jpg", ".bmp", ".pgm", ".tif", ".webp"])
    def test_cut_short(self, tmp_path, ending):
        path = tmp_path / f"a{ending}"
        Image.fromarray(np.random.default_rng(1).integers(0, 256, (24, 24), dtype=np.uint8)).save(path)
        content = path.read_bytes()
        whole = windows_in(path, 24, 24)
        for end in range(0, len(content) - 30, 41):
            path.write_bytes(content[:end])
            found, error = outcome(lambda: windows_in(path, 24, 24))
            if error is None:  # what was cut off was not needed
                np.testing.assert_array_equal(found, whole)
            else:
                assert str(path) in error
        path.write_bytes(content[: len(content) // 2])
        self.refused(path, "it cannot be read")

    @pytest.mark.parametrize("rows", [30_000, 50_000, 800_000])
    def test_bombs(self, tmp_path, rows):
        (tmp_path / "a.png").write_bytes(empty_png(2400, rows))
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=r"a.png' must have at most 67,108,864 pixels"):
                windows_in(tmp_path, 24, 24)
            with pytest.raises(InputError, match=r"a.png' must have at most 67,108,864 pixels"):
                list(images_in(tmp_path / "a.png"))
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_too_many(self, tmp_path, windows, monkeypatch):
        write_folder(tmp_path, windows[:3])
        monkeypatch.setattr(sources, "MAX_BYTES_OF_WINDOWS", 2 * 576 + 1)
        self.refused(tmp_path, "must hold at most 2 windows; .* holds 3")

    def test_fractions(self, tmp_path):
        Image.fromarray(np.ones((24, 24), np.float32)).save(tmp_path / "a.tif")
        self.refused(tmp_path / "a.tif", "its pixels are fractions")
        Image.fromarray(np.full((24, 24), -5, np.int32)).save(tmp_path / "b.tif")
        self.refused(tmp_path / "b.tif", "it has 32 bits")

    def test_without_pillow(self, tmp_path, windows, monkeypatch):
        write_folder(tmp_path, windows[:1])
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(MissingExtraError, match=r"'pillow'.*\[vision\]"):
            windows_in(tmp_path, 24, 24)


class TestImages:
    def test_a_folder_by_name(self, tmp_path):
        rng = np.random.default_rng(2)
        for name in ("b.png", "a.bmp"):
            Image.fromarray(rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(tmp_path / name)
        images = images_in(tmp_path)
        found = list(images)
        assert [image.name for image in found] == ["a.bmp", "b.png"]
        assert images.expected == 2
        for image in found:
            colour = Image.open(tmp_path / image.name)
            np.testing.assert_array_equal(image.colour, np.asarray(colour))
            np.testing.assert_array_equal(image.grey, np.asarray(colour.convert("L")))

    @pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "I;16"])
    def test_turned_as_the_camera_was_held(self, tmp_path, mode):
        pixels = np.zeros((20, 30), np.uint16 if mode == "I;16" else np.uint8)
        pixels[:5, :5] = 0xFF00 if mode == "I;16" else 255
        image = Image.fromarray(pixels)
        image = image if mode == "I;16" else image.convert(mode)
        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned by 90° to the right
        image.save(tmp_path / "a.png", exif=exif)
        (found,) = images_in(tmp_path / "a.png")
        assert found.grey.shape == (30, 20)
        assert found.colour.shape == (30, 20, 3)
        assert found.grey[0, -1] == 255
        assert found.grey[0, 0] == 0

    def test_damaged_exif_does_no_harm(self, tmp_path):
        Image.new("L", (30, 20), 7).save(
            tmp_path / "a.png", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\xff nonsense"
        )
        (found,) = images_in(tmp_path / "a.png")
        assert found.grey.shape == (20, 30)

    def test_damage_is_found_when_it_is_its_turn(self, tmp_path):
        Image.new("L", (30, 20)).save(tmp_path / "a.png")
        (tmp_path / "b.png").write_bytes(b"no image")
        images = iter(images_in(tmp_path))
        assert next(images).name == "a.png"
        with pytest.raises(InputError, match=r"b.png' must be an image"):
            next(images)

    def test_refusals(self, tmp_path):
        with pytest.raises(InputError, match=r"PLACE must be a folder of images.*does not exist"):
            images_in(tmp_path / "none", name="PLACE")
        with pytest.raises(InputError, match="every must be"):
            images_in(tmp_path, every=0)


class TestVideo:
    def test_every_third_frame(self, tmp_path):
        images = images_in(write_video(tmp_path / "v.avi"), every=3)
        found = list(images)
        assert [image.name for image in found] == [f"frame-{n:06d}" for n in (0, 3, 6, 9)]
        assert images.expected == 4
        for n, image in zip((0, 3, 6, 9), found, strict=True):
            assert image.grey.shape == (48, 64)
            assert np.abs(image.colour.astype(int) - [255, 20 * n, 20 * n]).max() <= 12
            assert abs(float(image.grey.mean()) - (0.299 * 255 + 0.701 * 20 * n)) <= 6

    def test_no_video(self, tmp_path):
        pytest.importorskip("cv2")
        (tmp_path / "v.mp4").write_bytes(b"no video" * 100)
        with pytest.raises(InputError, match=r"v.mp4' must be a video that OpenCV can read"):
            images_in(tmp_path / "v.mp4")

    def test_an_ending_that_nobody_knows(self, tmp_path):
        for name, told in (("v.flv", True), ("v", True), ("v.png", False)):
            (tmp_path / name).write_bytes(b"no image")
            with pytest.raises(InputError, match=r"must be an image \(PNG, .*cannot be read") as caught:
                list(images_in(tmp_path / name))
            assert ("or a video whose name ends in .avi, .mp4, " in str(caught.value)) == told

    def test_cut_short(self, tmp_path):
        path = write_video(tmp_path / "v.avi", frames=40)
        content = path.read_bytes()
        for share in (0.05, 0.3, 0.6, 0.9):
            path.write_bytes(content[: int(share * len(content))])
            told = []
            found, error = outcome(lambda told=told: list(images_in(path, notify=told.append)))
            if error is None:
                assert 0 < len(found) <= 40
                assert len(found) == 40 or "could be read" in told[0]
            else:
                assert "must be a video" in error

    def test_frames_too_large(self, tmp_path, monkeypatch):
        path = write_video(tmp_path / "v.avi")
        monkeypatch.setattr("ocboost.cascade.sources.MAX_PIXELS", 64 * 48 - 1)
        with pytest.raises(InputError, match="at most 3,071 pixels; it has 64 × 48"):
            images_in(path)

    def test_without_opencv(self, tmp_path, monkeypatch):
        (tmp_path / "v.avi").write_bytes(b"")
        monkeypatch.setitem(sys.modules, "cv2", None)
        with pytest.raises(MissingExtraError, match=r"'opencv-python-headless'.*\[vision\]"):
            images_in(tmp_path / "v.avi")


class TestDrawn:
    def test_a_box_and_nothing_else(self, tmp_path):
        image = np.full((60, 80, 3), 100, np.uint8)
        (tmp_path / "a.png").write_bytes(draw_boxes(image, [(10, 20, 30, 25)]))
        found = np.asarray(Image.open(tmp_path / "a.png"))
        assert (image == 100).all()
        changed = (found != 100).any(axis=2)
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        assert (rows[0], rows[-1], columns[0], columns[-1]) == (20, 44, 10, 39)
        assert tuple(found[20, 25]) == EDGE
        assert tuple(found[21, 25]) == LINE
        assert not changed[28:36, 18:32].any()

    def test_boxes_too_small_for_a_line(self):
        assert draw_boxes(np.zeros((20, 20, 3), np.uint8), [(0, 0, 1, 1), (5, 5, 3, 2)]).startswith(
            b"\x89PNG"
        )
