"""Where windows and images come from: folders, mosaics, single files, videos. None of them is trusted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost.datasets.images import MAX_PIXELS, read_picture, refused, tiles
from ocboost.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]
Notify = Callable[[str], None]
Progress = Callable[[int, int], None]
T = TypeVar("T")

FORMATS = ("PNG", "JPEG", "BMP", "PPM", "TIFF", "WEBP")
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pnm", ".tif", ".tiff", ".webp")
IMAGE_KIND = "an image (PNG, JPEG, BMP, PGM, PPM, TIFF or WebP)"
MAX_BYTES_OF_WINDOWS = 1 << 31  # of one place
MANY_TIMES = 4  # an image whose side is more than so many times the window's is hardly a window
MAX_STRETCH = 1.25  # of width against height; a large image that needs more is a whole picture
_ORIENTATION = 0x0112  # the tag of EXIF
_TIFF_WIDTH, _TIFF_HEIGHT = 0x0100, 0x0101  # those of TIFF
_PNG_NOTES = (b"eXIf", b"tEXt", b"zTXt", b"iTXt")  # parts of a PNG that can hold EXIF or XMP
SILENT = 0  # a log level of OpenCV
VIDEO_ENDINGS = (".avi", ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")


def _ignored(*_: object) -> None:
    """For callers that need no messages."""


class Video:
    """Every n-th frame of a video, with its number: (number, grey, colour).

    Opened at once, so that a file that is no video is refused before anything else is done. ``notify`` is
    called with a sentence if the video ends before it says it does.
    """

    def __init__(self, path: Path, every: int, notify: Notify = _ignored) -> None:
        self.path = path
        self.every = every
        self._notify = notify
        with self._opened() as capture:
            count = capture.get(_cv2().CAP_PROP_FRAME_COUNT)
            self._claimed = int(count) if 0 < count < 1 << 40 else 0
            rate = capture.get(_cv2().CAP_PROP_FPS)
            self.per_second = rate if 0 < rate < 1 << 10 else None  # frames, if the video says it
            if not capture.grab():
                raise self._refused()

    @property
    def expected(self) -> int | None:
        """How many frames there will be, if the video knows."""
        return -(-self._claimed // self.every) if self._claimed else None

    def __iter__(self) -> Iterator[tuple[int, Pixels, Pixels]]:
        cv2 = _cv2()
        number = 0
        with self._opened() as capture:
            while capture.grab():
                if number % self.every == 0:
                    there, frame = capture.retrieve()
                    if not there:
                        break
                    if frame.ndim != 3 or frame.dtype != np.uint8 or frame.size > 3 * MAX_PIXELS:
                        raise self._refused()
                    grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
                    yield number, grey, np.ascontiguousarray(frame[:, :, ::-1])
                number += 1
        if number < self._claimed:
            self._notify(
                f"'{self.path}' says it has {self._claimed:,} frames, and {number:,} of them could be read."
            )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        cv2 = _cv2()
        log = getattr(cv2.utils, "logging", cv2)  # where it is since 4.13, and where it was
        before = log.getLogLevel()
        log.setLogLevel(SILENT)  # what is wrong is said by us
        capture = None
        try:
            for backend in (cv2.CAP_FFMPEG, cv2.CAP_OPENCV_MJPEG):
                capture = cv2.VideoCapture(_for_opencv(self.path), backend)
                if capture.isOpened():
                    break
                capture.release()
            else:
                raise self._refused()
            side = [capture.get(prop) for prop in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)]
            if not 0 < side[0] * side[1] <= MAX_PIXELS:
                raise refused(
                    self.path,
                    f"have frames of at most {MAX_PIXELS:,} pixels",
                    f"it has {side[0]:.0f} × {side[1]:.0f}",
                )
            yield capture
        finally:
            if capture is not None:
                capture.release()
            log.setLogLevel(before)

    def _refused(self) -> InputError:
        return refused(
            self.path,
            "be a video that OpenCV can read",
            "it cannot be read",
            "Is it whole? Else turn it into MP4 or AVI.",
        )


def _cv2() -> Any:
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # silent; read when OpenCV first opens a video
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise MissingExtraError("opencv-python-headless", "vision", "Reading videos") from error
    return cv2


def _for_opencv(path: Path) -> Any:
    """A file's name for OpenCV, which crashes on a text that is not UTF-8."""
    name = os.fspath(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name


class SourceImage(NamedTuple):
    """An image to look for faces in, grey, and in red, green and blue to draw on."""

    name: str  # of its file in a folder, or of its frame in a video
    grey: Pixels
    colour: Pixels


def windows_in(
    place: str | os.PathLike[str],
    width: int,
    height: int,
    *,
    name: str = "place",
    notify: Notify = _ignored,
    progress: Progress = _ignored,
) -> Pixels:
    """The windows in a folder or in a file, (n, height, width), grey; ``name`` is for errors.

    The place is a folder of image files, each one window, in the order of their names; other sizes are
    scaled by averaging over areas. Images that are large and of another shape are whole pictures, and are
    refused, as no detector ever sees a picture squashed into one window. Or a grey PNG whose tiles are the
    windows, row by row. Or one image of the window's size. ``notify`` is called with a sentence about what
    was left out or scaled, ``progress`` with how many files are done, and of how many.
    """
    path = Path(place)
    size = (width, height)
    if path.is_file():
        if path.suffix.lower() in VIDEO_ENDINGS:
            raise InputError(
                f"{name} must be a folder of windows of {width} × {height} pixels, or an image; '{path}' is "
                "a video. Videos are for detect: cut windows out of its frames first."
            )
        return _window_file(path, size)
    files = _files_of(path, name, f"windows of {width} × {height} pixels", notify)
    if len(files) > MAX_BYTES_OF_WINDOWS // (width * height):
        raise InputError(
            f"{name} must hold at most {MAX_BYTES_OF_WINDOWS // (width * height):,} windows; '{path}' holds "
            f"{len(files):,}. Take fewer, or several times some."
        )
    found = np.empty((len(files), height, width), np.uint8)
    scaled = 0
    large: list[str] = []  # of the window's shape
    pictures: list[str] = []
    for n, file in enumerate(files):
        found[n], (across, down) = _read(file, lambda image: _scaled(image, size))
        scaled += (across, down) != size
        if max(across / width, down / height) > MANY_TIMES:
            stretch = (across / width) / (down / height)
            fits = 1.0 / MAX_STRETCH <= stretch <= MAX_STRETCH
            (large if fits else pictures).append(f"'{file.name}' with {across} × {down} pixels")
        progress(n + 1, len(files))
    advice = (
        "Whole pictures go with --boxes: a folder with info.dat for those with faces and bg.txt for those "
        "without; or cut windows out of them"
    )
    if pictures:
        raise InputError(
            f"{name} must hold windows of {width} × {height} pixels, or such as can be scaled to it; "
            f"{len(pictures):,} of {len(files):,} images in '{path}' are whole pictures, such as "
            f"{pictures[0]}. {advice}."
        )
    if large:
        notify(
            f"{len(large):,} of {len(files):,} images in '{path}' are more than {MANY_TIMES} times as large "
            f"as a window, such as {large[0]}, and each was scaled down to one window. Is each one window? "
            f"{advice}."
        )
    if scaled:
        notify(f"{scaled:,} of {len(files):,} images in '{path}' were scaled to {width} × {height} pixels.")
    return found


@dataclass(frozen=True)
class ImageSource:
    """Images one after the other, each read when it is needed: those of files, or of a video."""

    place: Path
    files: list[Path]
    video: Video | None = None

    @property
    def expected(self) -> int | None:
        """How many there will be, if anybody knows; a video may be wrong about it."""
        return len(self.files) if self.video is None else self.video.expected

    def __iter__(self) -> Iterator[SourceImage]:
        if self.video is not None:
            for number, grey, colour in self.video:
                yield SourceImage(f"frame-{number:06d}", grey, colour)
        for file in self.files:
            kind = IMAGE_KIND
            if file.suffix.lower() not in PICTURE_ENDINGS:  # perhaps a video was meant
                kind += (
                    f", or a video whose name ends in {', '.join(VIDEO_ENDINGS[:-1])} or {VIDEO_ENDINGS[-1]}"
                )
            yield SourceImage(file.name, *_read(file, _both, kind=kind))


def images_in(
    place: str | os.PathLike[str], *, every: int = 1, name: str = "place", notify: Notify = _ignored
) -> ImageSource:
    """The images of a folder in the order of their names, one image, or the frames of a video.

    Of a video, only every n-th frame; ``notify`` is called with a sentence about what was left out.
    """
    every = as_count(every, "every", 1, None, "1 takes all frames.")
    path = Path(place)
    if path.is_file():
        if path.suffix.lower() in VIDEO_ENDINGS:
            return ImageSource(path, [], Video(path, every, notify))
        return ImageSource(path, [path])
    return ImageSource(path, _files_of(path, name, "images, or an image or video file", notify))


def grey_picture(path: Path) -> Pixels:
    """One picture, grey with 8 bits, turned as its camera was held; of 16 bits, the upper 8."""
    return _read(path, lambda image: np.asarray(_upright(image).convert("L")))


class PictureSize(NamedTuple):
    """The size of a picture that `grey_picture` reads, and how it lies in its file."""

    width: int
    height: int
    stored: tuple[int, int]  # width and height before it is turned
    orientation: int  # of EXIF: 1 to 8
    deep: bool = False  # its pixels have 16 bits, of which the upper 8 are read


def picture_size(path: Path) -> PictureSize:
    """How large a picture is, without its pixels being unpacked where that can be avoided."""
    return _read(path, lambda image: _size_of(path, image))


def _size_of(path: Path, image: Image.Image) -> PictureSize:
    stored, orientation = image.size, 1
    if image.format == "TIFF":
        tags: Any = image.tag_v2  # type: ignore[attr-defined]
        stored = int(tags[_TIFF_WIDTH]), int(tags[_TIFF_HEIGHT])  # pillow gives the size after it is turned
    stored_bytes = path.read_bytes() if image.format == "PNG" else b""
    if image.format != "PNG" or any(kind in stored_bytes for kind in _PNG_NOTES):
        with suppress(Exception):  # damaged EXIF does not damage the pixels
            orientation = image.getexif().get(_ORIENTATION, 1)  # of a PNG unpacks the pixels
    if orientation not in range(1, 9):
        orientation = 1
    width, height = stored if orientation < 5 else stored[::-1]
    return PictureSize(width, height, stored, int(orientation), image.mode.startswith("I"))


def _files_of(folder: Path, name: str, what: str, notify: Notify) -> list[Path]:
    """The image files in a folder, by name."""
    if not folder.is_dir():
        state = "is no ordinary file" if folder.exists() else "does not exist"
        raise InputError(f"{name} must be a folder of {what}; '{folder}' {state}. Check the name.")
    there = sorted(folder.iterdir(), key=lambda path: path.name)
    files = [
        path
        for path in there
        if not path.name.startswith(".") and path.suffix.lower() in PICTURE_ENDINGS and path.is_file()
    ]
    left = len(there) - len(files)
    if not files:
        holds = f"none of the {left:,} things in it is one" if left else "it is empty"
        raise InputError(
            f"{name} must be a folder of {what}: '{folder}' must hold image files "
            f"({', '.join(PICTURE_ENDINGS)}); {holds}. Put some there, or give another folder."
        )
    if left:
        notify(
            f"{left:,} of {len(there):,} things in '{folder}' {'is' if left == 1 else 'are'} no image and "
            f"{'was' if left == 1 else 'were'} left out."
        )
    return files


def _window_file(path: Path, size: tuple[int, int]) -> Pixels:
    """The windows in one file: the tiles of a mosaic, or a single one."""
    width, height = size

    def check(path: Path, image: Image.Image) -> None:
        if image.size == size:
            return
        across, down = image.size
        if image.format != "PNG" or across % width or down % height:
            raise refused(
                path,
                f"be one window of {width} × {height} pixels, or a PNG that consists of such tiles",
                f"it is a {image.format} of {across} × {down}",
                "Give a folder if the windows are files of any size.",
            )
        if image.mode != "L":
            raise refused(
                path,
                "be grey with 8 bits per pixel to be a mosaic of windows",
                f"it has the mode {image.mode!r} of pillow",
                "Turn it into grey, or give a folder if it is a picture of one face.",
            )

    def turned(image: Image.Image) -> Pixels:
        if image.size == size:
            return _scaled(image, size)[0][None]
        return tiles(np.asarray(image), width, height)

    return np.ascontiguousarray(_read(path, turned, check))


def _read(path: Path, turned: Callable[[Image.Image], T], check: Any = None, kind: str = IMAGE_KIND) -> T:
    purpose = "Reading images"
    return read_picture(
        path, turned, formats=FORMATS, kind=kind, extra="vision", purpose=purpose, check=check
    )


def _scaled(image: Image.Image, size: tuple[int, int]) -> tuple[Pixels, tuple[int, int]]:
    """A window of a size, and the width and height that it had before."""
    from PIL import Image

    grey = _upright(image).convert("L")
    if grey.size == size:
        return np.asarray(grey), grey.size
    return np.asarray(grey.resize(size, Image.Resampling.BOX)), grey.size


def _both(image: Image.Image) -> tuple[Pixels, Pixels]:
    upright = _upright(image)
    return np.asarray(upright.convert("L")), np.asarray(upright.convert("RGB"))


def _upright(image: Image.Image) -> Image.Image:
    """The picture with 8 bits, grey or coloured, turned as its camera was held."""
    from PIL import Image, ImageOps

    if image.format == "TIFF":
        # Pillow maps the file with the size that the picture has after it is turned, so that rows have a
        # wrong length. Without a name it reads the file instead.
        image.filename = ""  # type: ignore[attr-defined]
    image.load()
    if image.mode.startswith("I"):  # 16 bits: pillow would cut off what is above 255
        deep = np.asarray(image).astype(np.int64)
        if deep.min() < 0 or deep.max() > 0xFFFF:
            raise ValueError("it has 32 bits, so that it is unknown which value is white")
        image = _with_exif(Image.fromarray((deep >> 8).astype(np.uint8)), image)
    elif image.mode == "F":
        raise ValueError("its pixels are fractions, so that it is unknown which value is white")
    elif image.mode not in ("L", "RGB"):
        image = _with_exif(image.convert("RGB"), image)
    with suppress(Exception):  # damaged EXIF does not damage the pixels
        image = ImageOps.exif_transpose(image)
    return image


def _with_exif(image: Image.Image, source: Image.Image) -> Image.Image:
    with suppress(Exception):
        image.getexif()[_ORIENTATION] = source.getexif().get(_ORIENTATION, 1)
    return image
