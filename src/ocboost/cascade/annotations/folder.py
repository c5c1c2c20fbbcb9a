"""Which annotations a folder holds: exactly one format, or only pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ocboost.cascade.annotations.coco import is_coco
from ocboost.cascade.annotations.lookup import pictures_under
from ocboost.cascade.annotations.opencv import BACKGROUND, INFO
from ocboost.cascade.annotations.table import is_table
from ocboost.cascade.annotations.voc import is_detector, is_voc
from ocboost.cascade.annotations.yolo import NAME_FILES, label_files, looks_like_labels
from ocboost.errors import InputError

ENDINGS = (".json", ".csv", ".xml", ".txt", ".dat", ".lst")
LOOKED_FOR = (
    "one JSON file of COCO, XML files of Pascal VOC (also in Annotations/), text files of YOLO (also in "
    f"labels/), one CSV file with the columns image, x, y, w, h, {INFO} or {BACKGROUND} of OpenCV, or "
    "only images"
)


@dataclass
class FolderContent:
    """The format that a folder holds, and its files."""

    kind: str  # COCO, Pascal VOC, YOLO, CSV, OpenCV, or "pictures"
    files: list[Path]
    pictures: list[Path] = field(default_factory=list)


def content_of(folder: Path, images: Path | None, name: str) -> FolderContent:
    """What a folder holds; two formats, or none, are refused."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file())
    pictures = pictures_under(folder)
    inner = [path for path in folder.iterdir() if path.is_dir() and path.name.lower() == "annotations"]
    deeper = [path for place in inner for path in sorted(place.iterdir()) if path.is_file()]
    kinds = {
        "COCO": [path for path in files + deeper if path.suffix.lower() == ".json" and is_coco(path)],
        "Pascal VOC": _voc_files([path for path in files + deeper if path.suffix.lower() == ".xml"]),
        "YOLO": _labels(folder, pictures, images),
        "CSV": [path for path in files if path.suffix.lower() == ".csv" and is_table(path)],
        "OpenCV": [path for path in files if path.name.lower() in (INFO, BACKGROUND)],
    }
    kinds = {kind: some for kind, some in kinds.items() if some}
    if not kinds and (folder / "labels").is_dir() and (folder / "images").is_dir():
        kinds = {"YOLO": []}  # no picture has a face
    if len(kinds) > 1:
        raise InputError(
            f"{name} must be a folder with annotations of one format; '{folder}' holds "
            f"{' and '.join(kinds)}. Give the file itself, or move the others away."
        )
    for kind, found in kinds.items():
        if kind in ("COCO", "CSV") and len(found) > 1:
            raise InputError(
                f"{name} must be a folder with one file of annotations; '{folder}' holds {len(found):,} "
                f"of {kind}, such as '{found[0].name}' and '{found[1].name}'. Give the file itself."
            )
        return FolderContent(kind, found, pictures)
    strange = [path.name for path in files if path.suffix.lower() in ENDINGS and not _is_note(path)]
    alone = (
        {".json": "COCO", ".csv": "CSV"}.get(Path(strange[0]).suffix.lower()) if len(strange) == 1 else None
    )
    if alone is not None:  # read as what it seems to be, which says what is wrong with it
        return FolderContent(alone, [folder / strange[0]], pictures)
    if not pictures or strange:
        what = f"'{strange[0]}' is none of them" if strange else "there is none of them"
        raise InputError(
            f"{name} must be a folder with annotations: {LOOKED_FOR}; in '{folder}' {what}. Give the "
            "file itself, or another folder."
        )
    return FolderContent("pictures", [], pictures)


def _voc_files(files: list[Path]) -> list[Path]:
    """All XML files if one of them is of Pascal VOC: without a damaged one its picture would have no face.

    Detectors of OpenCV are XML files too, and may lie there.
    """
    return [path for path in files if not is_detector(path)] if any(map(is_voc, files)) else []


def _labels(folder: Path, pictures: list[Path], images: Path | None) -> list[Path]:
    if (folder / "labels").is_dir():
        return label_files(folder / "labels")
    if folder.name.lower() == "labels":
        return label_files(folder)
    stems = {path.stem for path in pictures}
    if images is not None and images.is_dir():
        stems |= {path.stem for path in pictures_under(images, deep=True)}
    return [
        path
        for path in label_files(folder)
        if path.name.lower() != BACKGROUND and (path.stem in stems or looks_like_labels(path))
    ]


def _is_note(path: Path) -> bool:
    return path.name.lower() in NAME_FILES or path.name.lower().startswith(("readme", "licen", "copying"))
