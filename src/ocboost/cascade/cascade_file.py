"""A cascade's file: read from OpenCV's XML, and written back with what has changed."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError
from ..storage import write_atomically
from .cascade import Cascade
from .xml_reader import Places, Reader
from .xml_tree import read_bytes
from .xml_writer import Writer


@dataclass(frozen=True, eq=False, repr=False)
class CascadeFile:
    """A cascade, and the text of the file that it was read from.

    Attributes
    ----------
    name : str
        The file's name.
    cascade : Cascade
        What it holds.
    """

    name: str
    cascade: Cascade
    _data: bytes = field(repr=False)
    _places: Places = field(repr=False)

    def __repr__(self) -> str:
        return f"<'{self.name}': {self.cascade!r}>"

    def write(
        self, path: str | os.PathLike[str], cascade: Cascade | None = None, *, overwrite: bool = False
    ) -> None:
        """Write the file, or with a changed cascade the same file with the changed numbers and stages.

        Everything that has not changed keeps its text: comments, the licence, the digits of numbers. Changed
        numbers have 17 digits. The file is packed if its name ends in ``.gz``.

        Parameters
        ----------
        path : path
            Where to.
        cascade : Cascade, optional
            A changed copy of `cascade`. Its features must be the same.
        overwrite : bool, default False
            Whether a file that is there already may be replaced.
        """
        place = Path(path)
        if not overwrite and os.path.lexists(place):
            raise InputError(
                f"path must be a new file; '{place}' exists already. Choose another name, or give "
                "overwrite=True."
            )
        data = self.to_bytes(cascade)
        if place.name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        write_atomically(place, data)

    def to_bytes(self, cascade: Cascade | None = None) -> bytes:
        """What `write` writes, not packed."""
        if cascade is None or cascade is self.cascade:
            return self._data
        return Writer(self._data, self.cascade, self._places, cascade).written()


def read_cascade(path: str | os.PathLike[str]) -> CascadeFile:
    """Read a cascade in OpenCV's XML format, ``.xml`` or ``.xml.gz``.

    Haar features, upright or tilted, in stumps or in trees of several nodes. Nothing in the file is trusted:
    documents with entities, too many elements, numbers that make no sense and rectangles outside the window
    are refused.

    Raises
    ------
    ModelFileError
        If the file is not such a cascade; the text says what is wrong, and in which line.
    InputError
        If there is no such file.

    Examples
    --------
    >>> read_cascade("no.xml")
    Traceback (most recent call last):
    ocboost.errors.InputError: path must be an XML file of a cascade; 'no.xml' does not exist. Check the name.
    """
    data = read_bytes(path)
    cascade, places = Reader(data, os.fspath(path)).read()
    return CascadeFile(os.fspath(path), cascade, data, places)
