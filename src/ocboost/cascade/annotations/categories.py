"""Which of the categories, names or classes in annotation files are faces."""

from __future__ import annotations

from collections.abc import Iterable

from ocboost.errors import InputError

FACE_NAMES = ("face", "faces")
MAX_SHOWN = 10


def face_names(names: Iterable[str], what: str, where: str) -> set[str]:
    """Those of the names that mean a face: the only one, or those that say so.

    >>> face_names(["Face", "car"], "names", "a.xml"), face_names(["head"], "names", "a.xml")
    ({'Face'}, {'head'})
    """
    found = set(names)
    if len(found) <= 1:
        return found
    faces = {name for name in found if name.strip().casefold() in FACE_NAMES}
    if not faces:
        shown = ", ".join(f"{name!r:.40}" for name in sorted(found)[:MAX_SHOWN])
        more = f" and {len(found) - MAX_SHOWN:,} more" if len(found) > MAX_SHOWN else ""
        raise InputError(
            f"{where} must have one of its {what} called 'face', or only one; found {shown}{more}. Keep "
            "only faces, or call them so."
        )
    return faces


def told(faces: set[str], others: int, what: str, where: str) -> list[str]:
    """Sentences about what was taken for a face, where that is not plain, and what was not."""
    sentences = []
    if len(faces) == 1 and next(iter(faces)).strip().casefold() not in FACE_NAMES:
        sentences.append(
            f"The only one of the {what} in {where}, {next(iter(faces))!r:.40}, is taken for faces."
        )
    if others:
        sentences.append(f"{others:,} boxes in {where} are of other {what} than faces and were left out.")
    return sentences
