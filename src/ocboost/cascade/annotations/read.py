"""Read whole pictures with boxes around faces, whatever program marked them."""

from __future__ import annotations

import os
from pathlib import Path

from ocboost._core.checks import as_count
from ocboost.cascade.annotations.annotated import AnnotatedPictures
from ocboost.cascade.annotations.assembly import Assembly, Unnamed
from ocboost.cascade.annotations.boxes import MarkedPicture
from ocboost.cascade.annotations.coco import read_coco
from ocboost.cascade.annotations.folder import FolderContent, content_of
from ocboost.cascade.annotations.lookup import ImageFinder, is_video
from ocboost.cascade.annotations.opencv import BACKGROUND, INFO, is_background, read_background, read_info
from ocboost.cascade.annotations.table import read_table
from ocboost.cascade.annotations.voc import read_voc
from ocboost.cascade.annotations.yolo import label_files, looks_like_labels, read_yolo
from ocboost.cascade.sources import PICTURE_ENDINGS, Notify
from ocboost.errors import InputError

DETECTIONS = "detections.csv"  # of ``ocboost cascade detect``
FILES = (
    "a JSON file of COCO, a CSV file with the columns image, x, y, w, h, info.dat or bg.txt of OpenCV, "
    "an XML file of Pascal VOC, or a folder with annotations"
)


def _ignored(*_: object) -> None:
    """For callers that need no messages."""


def read_annotations(
    place: str | os.PathLike[str],
    images: str | os.PathLike[str] | None = None,
    *,
    every: int = 1,
    min_side: int = 1,
    name: str = "--boxes",
    images_name: str = "--images",
    notify: Notify = _ignored,
) -> AnnotatedPictures:
    """Whole pictures with boxes around the faces in them, from annotations of any usual format.

    Pictures without boxes have no face and are kept; so are pictures in a folder for which it has no file of
    Pascal VOC or YOLO, or no row of its CSV file. Boxes are rounded to whole pixels, cut at the edge of the
    picture, and become regions to ignore if less than half of them is inside, if they are marked as crowds or
    as difficult, or if they are too small.

    Pictures become grey with 8 bits, the upper ones of 16, and are turned as EXIF says. Boxes are for the
    upright picture, unless width and height of the picture are given and are those of the stored one. Links
    are followed; a path that leads out of the folder is looked for by its file name.

    Parameters
    ----------
    place : path
        A JSON file of COCO, a CSV file with the columns image, x, y, w (or width), h (or height),
        ``info.dat`` or ``bg.txt`` of OpenCV, an XML file of Pascal VOC, or a folder: with one of these, with
        text files of YOLO, or with pictures only, none of which then has a face.
    images : path, optional
        The folder where the pictures are, at any depth; otherwise they are looked for beside the annotations.
        Or a video, whose frames are named like frame-000012.
    every : int, default 1
        Of a video, take only frames whose number is a multiple of this.
    min_side : int, default 1
        Boxes with a shorter side, in pixels, are ignored: no detector's window is that small.
    name, images_name : str
        What users call ``place`` and ``images``, for errors.
    notify : callable
        Called with a sentence about what was cut, ignored or left out.

    Returns
    -------
    AnnotatedPictures
        The pictures; they are read when it is iterated.

    Raises
    ------
    InputError
        Anything in the files is not what it must be.
    """
    every = as_count(every, "every", 1, None, "1 takes all frames.")
    min_side = as_count(min_side, "min_side", 1, None, "1 takes boxes of any size.")
    path = Path(place)
    if not path.is_file() and not path.is_dir():
        state = "is no ordinary file" if path.exists() else "does not exist"
        raise InputError(f"{name} must be {FILES}; '{path}' {state}. Check the name.")
    folder, video = _where_images_are(images, images_name)
    reader = _Reader(path, folder, video, (name, images_name), notify)
    format, marked = reader.of_folder() if path.is_dir() else reader.of_file(path)
    assembly = Assembly(reader.finder, video, every, min_side, (name, images_name), path, notify)
    return assembly.assemble(format, marked, reader.unnamed)


def _where_images_are(images: str | os.PathLike[str] | None, name: str) -> tuple[Path | None, Path | None]:
    """The folder of the images, or the video."""
    if images is None:
        return None, None
    path = Path(images)
    if path.is_dir():
        return path, None
    if path.is_file() and is_video(path):
        return None, path
    state = "is neither" if path.exists() else "does not exist"
    raise InputError(f"{name} must be a folder of images, or a video; '{path}' {state}. Check the name.")


class _Reader:
    """Reads what is named, and notes where its pictures are looked for."""

    def __init__(
        self, place: Path, images: Path | None, video: Path | None, names: tuple[str, str], notify: Notify
    ) -> None:
        self._place = place
        self._images = images
        self._video = video
        self._name, self._images_name = names
        self._notify = notify
        self.finder = self._finder([])
        self.unnamed: Unnamed = "not looked for"  # of pictures that are there and not named

    def of_file(self, path: Path) -> tuple[str, list[MarkedPicture]]:
        ending = path.suffix.lower()
        if ending in PICTURE_ENDINGS or is_video(path):
            raise InputError(
                f"{self._name} must be {FILES}; '{path}' is a picture or a video. Give its annotations, "
                f"and it as {self._images_name} if it is a video."
            )
        if ending == ".json":
            self.finder = self._finder([path.parent, path.parent / "images", *self._beside(path, "images")])
            if self._place.is_dir():
                self.unnamed = "left out"
            return f"COCO ({path.name})", read_coco(path, self._notify)
        if ending == ".xml":
            return self._voc([path], alone=True)
        self.finder = self._finder([path.parent])
        if ending == ".csv":
            self._refuse_drawings(path)
            self.unnamed = "without faces" if self._place.is_dir() else "left out"
            return "CSV", read_table(path)
        return self._opencv([path])

    def of_folder(self) -> tuple[str, list[MarkedPicture]]:
        content = content_of(self._place, self._images, self._name)
        if content.kind == "Pascal VOC":
            return self._voc(content.files, alone=False)
        if content.kind == "YOLO":
            return self._yolo(content)
        if content.kind == "OpenCV":
            self.finder = self._finder([self._place])
            self.unnamed = "left out"
            return self._opencv(content.files)
        if content.kind in ("COCO", "CSV"):
            return self.of_file(content.files[0])
        return self._only_pictures(content)

    def _voc(self, files: list[Path], alone: bool) -> tuple[str, list[MarkedPicture]]:
        folders = dict.fromkeys(path.parent for path in files)
        beside = [place for folder in folders for place in (folder, folder / "JPEGImages")]
        self.finder = self._finder([*beside, *self._beside(files[0], "JPEGImages")])
        count = f"{len(files):,} XML file{'s' if len(files) > 1 else ''}"
        return f"Pascal VOC ({count})", read_voc(files, self.finder, self._notify, alone)

    def _yolo(self, content: FolderContent) -> tuple[str, list[MarkedPicture]]:
        labels, names = self._place, [self._place]
        pictures: Path | None = self._place
        if (self._place / "labels").is_dir():
            labels = self._place / "labels"
            names = [self._place, labels]
            pictures = self._place / "images"
        elif self._place.name.lower() == "labels":
            names = [self._place, self._place.parent]
            pictures = self._place.parent / "images" if not content.pictures else self._place
        pictures = self._images or pictures
        if self._video is not None:
            pictures = None
        self.finder = self._finder([] if pictures is None else [pictures])
        return "YOLO", read_yolo(content.files, labels, pictures, names, self._notify)

    def _opencv(self, files: list[Path]) -> tuple[str, list[MarkedPicture]]:
        marked: list[MarkedPicture] = []
        words = []
        for path in sorted(files, key=is_background):  # info.dat is first
            background = is_background(path)
            if not background and looks_like_labels(path):
                raise InputError(
                    f"{self._name} must be {FILES}; '{path}' looks like the labels of one picture in "
                    "YOLO's format. Give the folder that holds them."
                )
            marked += read_background(path) if background else read_info(path)
            words.append(BACKGROUND if background else INFO)
        return f"OpenCV {' and '.join(words)}", marked

    def _only_pictures(self, content: FolderContent) -> tuple[str, list[MarkedPicture]]:
        if self._images is not None or self._video is not None:
            raise InputError(
                f"{self._name} must be annotations where {self._images_name} is given; '{self._place}' "
                f"holds only pictures. Leave {self._images_name} out if none of them has a face."
            )
        labels = self._place.parent / "labels"
        if self._place.name.lower() == "images" and label_files(labels):
            raise InputError(
                f"{self._name} must be annotations; '{self._place}' holds only pictures, and '{labels}' "
                f"beside it the labels of YOLO. Give '{self._place.parent}', which holds both."
            )
        n = len(content.pictures)
        self._notify(
            f"'{self._place}' holds {n:,} pictures and no boxes: they are taken for pictures without faces."
        )
        marked = [MarkedPicture(path.name, f"'{path}'", path=path) for path in content.pictures]
        return "pictures without boxes", marked

    def _refuse_drawings(self, path: Path) -> None:
        """The drawings of ``ocboost cascade detect`` are called like the pictures, and have boxes in them."""
        if path.name == DETECTIONS and self._images is None and self._video is None:
            raise InputError(
                f"{self._images_name} must be given with '{path}': `ocboost cascade detect` writes "
                f"{DETECTIONS} beside copies of the pictures with boxes drawn on them. Give the folder "
                "of the pictures, or the video."
            )

    def _beside(self, path: Path, *folders: str) -> list[Path]:
        """Folders beside that of the file, if that is called Annotations."""
        if path.parent.name.lower() != "annotations":
            return []
        return [path.parent.parent / name for name in folders]

    def _finder(self, beside: list[Path]) -> ImageFinder:
        if self._video is not None:
            beside = []
        return ImageFinder([place for place in beside if place.is_dir()], self._images, self._images_name)
