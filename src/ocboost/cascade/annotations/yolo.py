"""Annotations of YOLO: a text file for each picture, boxes as shares of its width and height."""

from __future__ import annotations

import re
from pathlib import Path

from ocboost.cascade.annotations.boxes import MarkedPicture, in_shares, without_faces
from ocboost.cascade.annotations.categories import face_names, told
from ocboost.cascade.annotations.lookup import pictures_under
from ocboost.cascade.annotations.text import lines_of, number_in
from ocboost.cascade.sources import Notify
from ocboost.datasets.images import refused
from ocboost.errors import InputError

NAME_FILES = ("classes.txt", "data.yaml", "data.yml")
_CLASS = re.compile(r"[0-9]{1,6}")
_ITEM = re.compile(r"(?:-|([0-9]{1,6})\s*:)\s+(.+)")
_LABELS = "labels"


def label_files(folder: Path) -> list[Path]:
    """The text files of a folder, at any depth if it is called labels; none that names classes."""
    found = folder.rglob("*") if folder.name.lower() == _LABELS else folder.iterdir()
    return sorted(
        path
        for path in found
        if path.suffix.lower() == ".txt"
        and path.name.lower() not in NAME_FILES
        and path.name[0] != "."
        and path.is_file()
    )


def looks_like_labels(path: Path) -> bool:
    """Whether each line is a class and four numbers."""
    try:
        rows = [line.split() for _, line in lines_of(path)]
    except InputError:
        return False
    return bool(rows) and all(
        len(row) == 5 and _CLASS.fullmatch(row[0]) and all(number_in(word) is not None for word in row[1:])
        for row in rows
    )


def read_yolo(
    labels: list[Path], folder: Path, pictures: Path | None, names: list[Path], notify: Notify
) -> list[MarkedPicture]:
    """The pictures in a folder with their labels from another; without labels a picture has no face.

    ``pictures`` is None for a video, of which only the frames that have labels are taken; ``names`` are the
    folders where names of classes may be.
    """
    by_stem: dict[str, MarkedPicture] = {}
    for path in [] if pictures is None else pictures_under(pictures, deep=pictures != folder):
        assert pictures is not None
        stem = path.relative_to(pictures).with_suffix("").as_posix()
        name = path.relative_to(pictures).as_posix()
        before = by_stem.setdefault(stem, MarkedPicture(name, f"'{path}'", path=path, relative=True))
        if before.path != path:
            raise InputError(
                "Pictures must have names that differ before the ending, as labels have only that; "
                f"'{before.path}' and '{path}' do not. Rename one of them."
            )
    n_pictures = len(by_stem)
    labelled = _labelled(labels, folder, by_stem)
    boxes = []
    for file, picture in labelled.items():
        for number, line in lines_of(file):
            where = f"'{file}', line {number:,}"
            words = line.split()
            if len(words) != 5 or not _CLASS.fullmatch(words[0]):
                raise InputError(
                    "A label of YOLO must be a class and four numbers: class, the centre's x and y, "
                    f"width, height; got {line!r:.80} ({where}). Correct or remove it."
                )
            values = [number_in(word) for word in words[1:]]
            if None in values:
                raise InputError(
                    f"A label of YOLO must have four finite numbers after the class; got {line!r:.80} "
                    f"({where}). Correct or remove it."
                )
            boxes.append((picture, int(words[0]), in_shares(values, where)))
    faces, all_names = _face_classes(names, folder)
    others = 0
    for picture, class_, box in boxes:
        if class_ not in all_names:
            raise InputError(_unknown(class_, all_names, names, box.where))
        if class_ in faces:
            picture.boxes.append(box)
        else:
            others += 1
    for sentence in told({all_names[id_] for id_ in faces} - {"0"}, others, "classes", f"'{folder}'"):
        notify(sentence)
    unlabelled = n_pictures - sum(picture.path is not None for picture in labelled.values())
    if unlabelled:
        notify(without_faces(unlabelled, "text file"))
    return list(by_stem.values())


def _labelled(
    labels: list[Path], folder: Path, by_stem: dict[str, MarkedPicture]
) -> dict[Path, MarkedPicture]:
    """The picture of each file of labels: of the same path but for the ending, or else in another folder.

    A file without a picture adds one, which is then missing.
    """
    stems = {file: file.relative_to(folder).with_suffix("").as_posix() for file in labels}
    elsewhere: dict[str, list[str]] = {}
    for stem in by_stem.keys() - set(stems.values()):
        elsewhere.setdefault(stem.rsplit("/", 1)[-1], []).append(stem)
    found: dict[Path, MarkedPicture] = {}
    taken: dict[str, Path] = {}
    for file, stem in stems.items():
        fits = [stem] if stem in by_stem else []
        if not fits:
            candidates = elsewhere.get(stem.rsplit("/", 1)[-1], [])
            fits = sorted(
                s for s in candidates if f"/{s}".endswith(f"/{stem}") or f"/{stem}".endswith(f"/{s}")
            )
        if len(fits) > 1:
            raise InputError(
                f"A file of labels must be for one picture; '{file}' fits '{by_stem[fits[0]].path}' and "
                f"'{by_stem[fits[1]].path}'. Put labels into folders as the pictures are."
            )
        if fits and taken.setdefault(fits[0], file) != file:
            raise InputError(
                f"A picture must have one file of labels; '{by_stem[fits[0]].path}' fits '{taken[fits[0]]}' "
                f"and '{file}'. Remove one, or put pictures into folders as the labels are."
            )
        if not fits:
            fits = [stem]
            by_stem[stem] = MarkedPicture(stem, f"'{file}'", relative=True)
        found[file] = by_stem[fits[0]]
    return found


def _unknown(class_: int, all_names: dict[int, str], names: list[Path], where: str) -> str:
    if list(all_names.values()) == ["0"]:
        return (
            f"The class of a label must be 0 where no names of classes are given; got {class_} "
            f"({where}). Put classes.txt into '{names[0]}', with a line for each class, one of them face."
        )
    return (
        f"The class of a label must be one of the {len(all_names)} that are named; got {class_} ({where}). "
        "Correct it."
    )


def _face_classes(folders: list[Path], labels: Path) -> tuple[set[int], dict[int, str]]:
    """The classes that are faces, and the names of all; without names, only 0."""
    files = dict.fromkeys(folder / name for folder in folders for name in NAME_FILES)
    path = next((path for path in files if path.is_file()), None)
    if path is None:
        return {0}, {0: "0"}
    names = _names_in_yaml(path) if path.suffix != ".txt" else _names_in_lines(path)
    found = names if isinstance(names, dict) else dict(enumerate(names))
    if not found:
        raise refused(
            path, "name the classes", "it names none", "Write a line for each class into classes.txt."
        )
    faces = face_names(found.values(), "classes", f"'{path}'")
    return {id_ for id_, name in found.items() if name in faces}, found


def _names_in_lines(path: Path) -> list[str]:
    lines = list(lines_of(path))
    for k, (number, _) in enumerate(lines, 1):
        if number != k:
            raise refused(
                path,
                "have the name of a class in each line",
                f"line {k:,} is empty, and those after it would be of other classes",
                "Remove it, or write a name.",
            )
    return [line for _, line in lines]


def _names_in_yaml(path: Path) -> list[str] | dict[int, str]:
    """The names after ``names:``, in any of the three ways to write them."""
    lines = [(n, line.split(" #")[0].rstrip()) for n, line in lines_of(path)]
    start = next((k for k, (_, line) in enumerate(lines) if line.startswith("names:")), None)
    unclear = refused(
        path,
        "have the names of the classes as a list after 'names:'",
        "it cannot be understood",
        "Write a line for each class into classes.txt instead.",
    )
    if start is None:
        raise unclear
    inline = lines[start][1].removeprefix("names:").strip()
    if inline:
        while not inline.endswith(("]", "}")) and start + 1 < len(lines):
            start += 1
            inline += " " + lines[start][1]
        if inline[:1] not in "[{" or inline[-1:] not in "]}":
            raise unclear
        words = [word.strip() for word in inline[1:-1].split(",") if word.strip()]
        if any(word.count(quote) not in (0, 2) for word in words for quote in "'\""):  # a comma inside
            raise unclear
        if inline[0] == "[":
            return [_unquoted(word) for word in words]
        items = [_ITEM.fullmatch(word) for word in words]
    else:
        items = []
        for _, line in lines[start + 1 :]:
            match = _ITEM.fullmatch(line)
            if match is None:
                break
            items.append(match)
        if items and all(item is not None and item[1] is None for item in items):
            return [_unquoted(item[2]) for item in items if item is not None]
    if any(item is None or item[1] is None for item in items):
        raise unclear
    found = {int(item[1]): _unquoted(item[2]) for item in items if item is not None}
    if len(found) != len(items):  # a class has two names
        raise unclear
    return found


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
