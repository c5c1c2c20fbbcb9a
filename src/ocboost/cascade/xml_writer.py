"""Put a cascade's file together again: only what has changed is written anew, all else keeps its text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .cascade import Cascade
from .xml_reader import Places, Span, words_in

Edit = tuple[int, int, bytes]


def number(value: np.floating) -> bytes:
    """A number as OpenCV writes it, with digits enough for double precision.

    >>> number(np.float32(-5.04255))
    b'-5.0425500869750977e+00'
    """
    return f"{float(value):.16e}".encode("ascii")


class Writer:
    """Puts a file together from the old one's pieces and new numbers."""

    def __init__(self, data: bytes, old: Cascade, places: Places, new: Cascade) -> None:
        self._data, self._old, self._places, self._new = data, old, places, new
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
        stages, new = self._places.stages, self._new
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
        edits += _count(self._places.stage_count, self._old.n_stages, new.n_stages)
        sizes = [int(np.diff(c.stage_tree).max()) for c in (self._old, new)]
        edits += _count(self._places.largest_count, sizes[0], sizes[1])
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
        old, new, places = self._old, self._new, self._places.stages[origin]
        edits: list[Edit] = []
        if new.stage_threshold[s] != old.stage_threshold[origin]:
            edits.append((*places.threshold, number(new.stage_threshold[s])))
        first, its_first = int(new.stage_tree[s]), int(old.stage_tree[origin])
        for t, (nodes, leaves) in enumerate(places.trees):
            n, m = slice(*new.tree_node[first + t :][:2]), slice(*old.tree_node[its_first + t :][:2])
            edits += self._renumbered(nodes, 4, new.node_threshold[n], old.node_threshold[m])
            n, m = slice(*new.tree_leaf[first + t :][:2]), slice(*old.tree_leaf[its_first + t :][:2])
            edits += self._renumbered(leaves, 1, new.leaf[n], old.leaf[m])
        return edits

    def _renumbered(
        self, text: Span, per_entry: int, new: NDArray[np.float32], old: NDArray[np.float32]
    ) -> list[Edit]:
        """Edits for the numbers that differ; of so many words in a row the last is the number."""
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
