"""A cascade's file: read from OpenCV's XML, and written back. What has not changed keeps its bytes."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ocboost._core.file_format import write_atomically
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.xml import CascadeReader, CascadeSpans, Span, read_bytes, words_in
from ocboost.errors import InputError

Edit = tuple[int, int, bytes]


def number(value: np.floating) -> bytes:
    """A number as OpenCV writes it, with digits enough for double precision.

    >>> number(np.float32(-5.04255))
    b'-5.0425500869750977e+00'
    """
    return f"{float(value):.16e}".encode("ascii")


class CascadeWriter:
    """Puts a file together from the old one's pieces and new numbers."""

    def __init__(self, data: bytes, old: Cascade, spans: CascadeSpans, new: Cascade) -> None:
        self._data, self._old, self._spans, self._new = data, old, spans, new
        same = (old.width, old.height) == (new.width, new.height) and all(
            np.array_equal(a, b) for a, b in zip(old.features, new.features, strict=True)
        )
        if not same:
            raise InputError(
                "cascade must have the window and the features of the file; it has others. Change the "
                "cascade that was read from this file."
            )

    def written(self) -> bytes:
        """The new file."""
        stages, new = self._spans.stages, self._new
        origins = range(new.n_stages) if new.stage_origin is None else new.stage_origin.tolist()
        pieces: list[bytes] = []
        for s, origin in enumerate(origins):
            if 0 <= origin < len(stages) and self._fits(s, origin):
                gap = b"\n    "
                if origin > 0:
                    gap = self._data[stages[origin - 1].element[1] : stages[origin].element[0]]
                element = self._edited(stages[origin].element, self._edits(s, origin))
                pieces.append(element if s == 0 else gap + element)
            else:
                pieces.append(self._fresh(s) if s == 0 else b"\n    " + self._fresh(s))
        edits = [(stages[0].element[0], stages[-1].element[1], b"".join(pieces))]
        edits += _count(self._spans.stage_count, self._old.n_stages, new.n_stages)
        sizes = [int(np.diff(c.stage_tree).max()) for c in (self._old, new)]
        edits += _count(self._spans.max_weak_count, sizes[0], sizes[1])
        return self._edited((0, len(self._data)), edits)

    def _fits(self, s: int, origin: int) -> bool:
        """Whether a stage has the same nodes as one of the file, so that only numbers differ."""
        old, new = self._old, self._new
        mine, its = new.trees_of(s), old.trees_of(origin)
        if mine.stop - mine.start != its.stop - its.start:
            return False
        if not np.array_equal(np.diff(new.tree_node)[mine], np.diff(old.tree_node)[its]):
            return False
        here = slice(int(new.tree_node[mine.start]), int(new.tree_node[mine.stop]))
        there = slice(int(old.tree_node[its.start]), int(old.tree_node[its.stop]))
        return all(
            np.array_equal(getattr(new, key)[here], getattr(old, key)[there])
            for key in ("node_feature", "node_left", "node_right")
        )

    def _edits(self, s: int, origin: int) -> list[Edit]:
        """What differs between a stage and that of the file."""
        old, new, spans = self._old, self._new, self._spans.stages[origin]
        edits: list[Edit] = []
        if new.stage_threshold[s] != old.stage_threshold[origin]:
            edits.append((*spans.threshold, number(new.stage_threshold[s])))
        first, its_first = int(new.stage_tree[s]), int(old.stage_tree[origin])
        for t, (nodes, leaves) in enumerate(spans.trees):
            n, m = slice(*new.tree_node[first + t :][:2]), slice(*old.tree_node[its_first + t :][:2])
            edits += self._renumbered(nodes, 4, new.node_threshold[n], old.node_threshold[m])
            n, m = slice(*new.tree_leaf[first + t :][:2]), slice(*old.tree_leaf[its_first + t :][:2])
            edits += self._renumbered(leaves, 1, new.leaf[n], old.leaf[m])
        return edits

    def _renumbered(
        self, text: Span, per_entry: int, new: NDArray[np.float32], old: NDArray[np.float32]
    ) -> list[Edit]:
        """Edits for the numbers that differ; each is the last of ``per_entry`` words."""
        changed = np.flatnonzero(new != old).tolist()
        if not changed:
            return []
        words = words_in(self._data, text)
        return [(*words[per_entry * (k + 1) - 1], number(new[k])) for k in changed]

    def _fresh(self, s: int) -> bytes:
        """A stage's text, laid out as OpenCV does."""
        new = self._new
        trees = new.trees_of(s)
        lines = [
            b"<_>",
            b"      <maxWeakCount>%d</maxWeakCount>" % (trees.stop - trees.start),
            b"      <stageThreshold>%s</stageThreshold>" % number(new.stage_threshold[s]),
            b"      <weakClassifiers>",
        ]
        for t in range(trees.start, trees.stop):
            nodes = b" ".join(
                b"%d %d %d %s"
                % (new.node_left[n], new.node_right[n], new.node_feature[n], number(new.node_threshold[n]))
                for n in range(new.tree_node[t], new.tree_node[t + 1])
            )
            leaves = b" ".join(number(v) for v in new.leaf[new.tree_leaf[t] : new.tree_leaf[t + 1]])
            lines += [
                b"        <_>",
                b"          <internalNodes>",
                b"            %s</internalNodes>" % nodes,
                b"          <leafValues>",
                b"            %s</leafValues></_>" % leaves,
            ]
        return b"\n".join(lines) + b"</weakClassifiers></_>"

    def _edited(self, span: Span, edits: list[Edit]) -> bytes:
        """A piece of the old file with some of it replaced."""
        pieces: list[bytes] = []
        at = span[0]
        for start, end, text in sorted(edits):
            pieces += [self._data[at:start], text]
            at = end
        return b"".join([*pieces, self._data[at : span[1]]])


def _count(span: Span | None, old: int, new: int) -> list[Edit]:
    return [] if span is None or old == new else [(*span, b"%d" % new)]


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
    _spans: CascadeSpans = field(repr=False)

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
            A changed copy of ``cascade``. Its features must be the same.
        overwrite : bool, default False
            Whether a file that is there already may be replaced.

        Raises
        ------
        InputError
            If the cascade has other features than the file.
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
        """What `write` writes, not packed.

        Parameters
        ----------
        cascade : Cascade, optional
            What to write; the one that was read if left out.

        Returns
        -------
        bytes
            XML.
        """
        if cascade is None or cascade is self.cascade:
            return self._data
        return CascadeWriter(self._data, self.cascade, self._spans, cascade).written()


def read_cascade(path: str | os.PathLike[str]) -> CascadeFile:
    """Read a cascade in OpenCV's XML format, ``.xml`` or ``.xml.gz``.

    Haar features, upright or tilted, in stumps or in trees of several nodes. Nothing in the file is trusted:
    documents with entities, too many elements, numbers that make no sense and rectangles outside the window
    are refused.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    CascadeFile
        With the cascade, and its name.

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
    cascade, spans = CascadeReader(data, os.fspath(path)).read()
    return CascadeFile(os.fspath(path), cascade, data, spans)
