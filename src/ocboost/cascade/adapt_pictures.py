"""Adapting a cascade to the whole pictures of one camera, with thresholds set on pictures.

The short stages and the last one are built from all pictures so far (`build_stages`). After that every
picture is learnt on line by the last stage: its faces, and what the detector wrongly takes for one. Every
third picture is spared instead: it sets the last threshold, so that as many false alarms are made as are
wanted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ocboost._core.checks import as_count, as_number
from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import load, save
from ocboost._core.kinds import KINDS
from ocboost._core.locks import DeepState, Guard, reads, writes
from ocboost.cascade.build_stages import Builder, Built, Progress, ignored_progress, windows_a_face
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import Size
from ocboost.cascade.last_stage import corrected, stumps_of_last
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.own_threshold import own_threshold
from ocboost.cascade.picture_threshold import cautious_threshold
from ocboost.cascade.pictures import Picture
from ocboost.cascade.roc import as_rate
from ocboost.errors import InputError

SPARED_EVERY = 3
OF_SHIPPED, MOST_FALSE_ALARMS = (
    1.0 / 3.0,
    0.1,
)  # of the shipped cascade's, and a picture, where nothing is said
LEARNT_FROM_A_PICTURE = 60  # windows without a face, those that score highest
SHIFTED = 5  # windows of each face besides the face itself
MAX_PICTURE_BYTES = 1 << 31  # of all pictures that are kept
FEWEST_FACES = 10

Known = Literal["learnt", "held out"]


class PictureAdapter(DeepState):
    """Adapts a cascade to whole pictures of one camera, with boxes around the faces in them.

    Show it pictures with `add`, call `build` once there are some, and from then on now and then: pictures
    that come after a build are learnt on line by the last stage. `adapted` gives the cascade. All
    pictures are kept, since each build searches them anew. Those that only judge are kept by `hold_out`,
    and never learnt.

    Parameters
    ----------
    cascade : Cascade
        Of stumps.
    pass_rate : float, default 0.998
        Share of the faces that each short stage must pass.
    smoothing : float, default 2000
        In windows of average weight: how strongly the score that was built is trusted on line.
    time : float, optional
        How long a picture may take, about, as a share of the shipped cascade's time; 0.9 if left out, 1.0
        with fewer than 300 faces. With more time fewer faces are lost before the last stage.
    seed : int, default 0
        For what is drawn at random.

    Attributes
    ----------
    n_pictures, n_faces : int
        Shown so far.
    held_out : tuple of Picture
        Kept to judge by.
    """

    kind: ClassVar[str] = "PictureAdapter"
    settings: ClassVar[tuple[str, ...]] = ("pass_rate", "smoothing", "time", "seed")

    def __init__(
        self,
        cascade: Cascade,
        *,
        pass_rate: float = 0.998,
        smoothing: float = 2000.0,
        time: float | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(cascade, Cascade):
            raise InputError(
                f"cascade must be a Cascade; got {type(cascade).__name__}. Give read_cascade(path).cascade."
            )
        cascade._require_stumps("PictureAdapter")
        if cascade.tilted.all():
            raise InputError(
                "cascade must have features that are not tilted: short stages are made of them. Take another "
                "one, such as haarcascade_frontalface_default."
            )
        self.cascade = cascade
        self.pass_rate = as_rate(pass_rate, "pass_rate")
        self.smoothing = as_number(smoothing, "smoothing", 0.0, 1e15, "2000 is usual.")
        self.time = None if time is None else as_number(time, "time", 0.1, 1e3, "1 is as fast as shipped.")
        self.seed = as_count(seed, "seed", 0, None, "")
        self._guard: Guard[Any] = Guard()
        self._pictures: list[Picture] = []
        self._held_out: list[Picture] = []
        self._known: dict[bytes, tuple[Known, Picture]] = {}  # by what the pixels are
        self._bytes = 0
        self._built: Built | None = None
        self._built_on = 0  # pictures

    @property
    @reads
    def n_pictures(self) -> int:
        """Pictures shown."""
        return len(self._pictures)

    @property
    @reads
    def n_faces(self) -> int:
        """Faces in them."""
        return sum(len(picture.boxes) for picture in self._pictures)

    @property
    @reads
    def n_of_each_kind(self) -> dict[bool, int]:
        """How many pictures with faces, and without, were shown or held out."""
        kinds = [len(picture.boxes) > 0 for picture in (*self._pictures, *self._held_out)]
        return {True: sum(kinds), False: len(kinds) - sum(kinds)}

    @property
    @reads
    def is_built(self) -> bool:
        """Whether there is a cascade to learn on line."""
        return self._built is not None

    @property
    @reads
    def is_built_on_all(self) -> bool:
        """Whether no picture has been added since the build."""
        return self._built is not None and self._built_on == len(self._pictures)

    @property
    @reads
    def held_out(self) -> tuple[Picture, ...]:
        """Pictures kept to judge by."""
        return tuple(self._held_out)

    @reads
    def known(self, picture: Picture) -> tuple[Known, Picture] | None:
        """What became of a picture with the same pixels, if there was one.

        Parameters
        ----------
        picture : Picture
            A picture, by its pixels alone.

        Returns
        -------
        tuple or None
            What became of it, in a word, and the picture that was given then.
        """
        return self._known.get(_digest(picture))

    @writes
    def add(self, picture: Picture, *, learn: bool = True) -> None:
        """Show a picture. Once there is a build, the last stage learns it, unless it is spared.

        It is copied: its pixels may be overwritten afterwards.

        Parameters
        ----------
        picture : Picture
            With boxes around its faces.
        learn : bool, default True
            Whether it is learnt on line; if not, the next build is the first to use it.

        Raises
        ------
        InputError
            If it was held out, or if there are too many pixels in all.
        """
        _require_picture(picture)
        if self._is(picture, "held out"):
            raise InputError(
                f"picture must be none that is held out to judge by; '{picture.name}' is. Leave it out."
            )
        self._require_room(picture)
        n = len(self._pictures)
        spared = which_spared([*self._pictures, picture])[n]
        if learn and not spared and self._built is not None:
            self._learn(self._built, picture, n)
        self._keep(picture, "learnt")

    @writes
    def hold_out(self, picture: Picture) -> None:
        """Keep a picture to judge by, which is never learnt.

        Parameters
        ----------
        picture : Picture
            With boxes around its faces.

        Raises
        ------
        InputError
            If it was learnt already, or if there are too many pixels in all.
        """
        _require_picture(picture)
        if self._is(picture, "learnt"):
            raise InputError(f"picture must be none that was learnt; '{picture.name}' was. Leave it out.")
        self._require_room(picture)
        self._keep(picture, "held out")

    def _is(self, picture: Picture, what: Known) -> bool:
        known = self._known.get(_digest(picture))
        return known is not None and known[0] == what

    def _require_room(self, picture: Picture) -> None:
        if self._bytes + picture.grey.size > MAX_PICTURE_BYTES:
            raise InputError(
                f"pictures must be at most {MAX_PICTURE_BYTES >> 30} GiB of grey pixels in all. Take fewer "
                "or smaller ones."
            )

    def _keep(self, picture: Picture, what: Known) -> None:
        picture = replace(picture, grey=picture.grey.copy())
        (self._pictures if what == "learnt" else self._held_out).append(picture)
        self._known[_digest(picture)] = (what, picture)
        self._bytes += picture.grey.size

    def build(self, progress: Progress = ignored_progress) -> None:
        """Build all stages from the pictures shown so far: about half a minute, while others may read.

        Parameters
        ----------
        progress : callable, optional
            Gets a sentence for each step.

        Raises
        ------
        InputError
            If there are fewer than ten faces, no room beside them, or no picture spared.
        """
        pictures = self._shown()
        spared = which_spared(pictures)
        learnt = [picture for picture, spare in zip(pictures, spared, strict=True) if not spare]
        held = [picture for picture, spare in zip(pictures, spared, strict=True) if spare]
        n_faces = sum(len(picture.boxes) for picture in pictures)
        n_learnt = sum(len(picture.boxes) for picture in learnt)
        if n_learnt < FEWEST_FACES:
            raise InputError(
                f"pictures must show at least {FEWEST_FACES} faces besides those spared; got {n_faces:,} "
                f"faces in {len(pictures):,} pictures, {n_learnt:,} of them to learn from. Mark more faces."
            )
        if not held:
            raise InputError(
                f"pictures must be so many that every third is spared to set thresholds by; got "
                f"{len(pictures):,}. Add more."
            )
        built = Builder(
            self.cascade,
            learnt,
            held,
            pass_rate=self.pass_rate,
            smoothing=self.smoothing,
            time=self.time,
            seed=self.seed,
            progress=progress,
        ).build()
        self._take_over(built, len(pictures))

    @writes
    def _take_over(self, built: Built, n: int) -> None:
        spared = which_spared(self._pictures)
        for k in range(n, len(self._pictures)):  # shown in the meantime
            if not spared[k]:
                self._learn(built, self._pictures[k], k)
        self._built, self._built_on = built, n

    def adapted(self, *, false_alarms: float | None = None, min_size: Size | None = None) -> Cascade:
        """The adapted cascade, its last threshold set on the pictures spared.

        Parameters
        ----------
        false_alarms : float, optional
            How many false alarms a picture are wanted, with ``min_neighbors=3``; where few pictures are
            spared fewer are aimed at. If left out a third of what the shipped cascade makes on them, on
            those with faces and on those without, or more where that finds too few faces: see
            ``ocboost/cascade/own_threshold.py``.
        min_size : (width, height), optional
            The smallest window that will be looked for.

        Returns
        -------
        Cascade
            For ``detectMultiScale`` of OpenCV and for `detect`.

        Raises
        ------
        InputError
            If no picture was spared yet.
        """
        cascade, spared = self._now()
        if not spared:
            raise InputError("a threshold must be set on pictures spared, every third; there is none yet.")
        if false_alarms is None:
            threshold = own_threshold(self.cascade, cascade, spared, min_size)
        else:
            wanted = as_number(
                false_alarms, "false_alarms", 0.0, 1e6, "It is a number a picture, such as 0.1."
            )
            threshold = cautious_threshold(cascade, spared, wanted, min_size)
        return cascade.with_thresholds([*cascade.stage_threshold[:-1], threshold])

    @reads
    def _now(self) -> tuple[Cascade, list[Picture]]:
        if self._built is None:
            raise InputError("build() must be called before there is an adapted cascade.")
        cascade = corrected(self._built.stages, self._built.last, 0.0)
        spared = which_spared(self._pictures)
        return cascade, [p for p, spare in zip(self._pictures, spared, strict=True) if spare]

    @reads
    def _shown(self) -> list[Picture]:
        return list(self._pictures)

    def _learn(self, built: Built, picture: Picture, k: int) -> None:
        """Let a last stage learn picture k: its faces, and what passes the short stages beside them."""
        pyramid = PyramidOf(self.cascade, picture)
        faces, _ = pyramid.faces(
            windows_a_face(SHIFTED, mirrored=built.mirrored),
            np.random.default_rng([self.seed, k + 1]),
            mirrored=built.mirrored,
        )
        detector = corrected(built.stages, built.last, 0.0)
        others, _ = pyramid.passing(detector, LEARNT_FROM_A_PICTURE, lowest=-np.inf)
        windows = np.concatenate([faces, others])
        if not len(windows):
            return
        labels = np.repeat(np.array([1, -1], np.int8), [len(faces), len(others)])
        weights = np.where(labels > 0, built.face_weight, 1.0)
        answers = built.last.stumps.answers(windows.reshape(len(windows), -1))
        built.last.update(answers, labels, weights, len(labels))

    # Files ------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle). It holds the pictures.

        Parameters
        ----------
        path : path
            The file.
        """
        save(path, self.kind, self.tree())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        CascadeAdapter
            Of the class that was saved.
        """
        return read(load(path, cls.kind), os.fspath(path), cls.from_tree)

    @reads
    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {
            "cascade": self.cascade.tree(),
            "settings": {name: getattr(self, name) for name in self.settings},
            "pictures": [_picture_tree(picture) for picture in self._pictures],
            "held_out": [_picture_tree(picture) for picture in self._held_out],
            "built_on": self._built_on,
            "built": None if self._built is None else _built_tree(self._built),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """An adapter of what `tree` gave.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        CascadeAdapter
            It goes on exactly as that one would have.
        """
        cascade = fields.read("cascade", Cascade.from_tree)
        settings = fields.read("settings", lambda each: {name: each.plain(name) for name in cls.settings})
        adapter = fields.make(cls, cascade, **settings)
        kept: tuple[tuple[Known, str], ...] = (("learnt", "pictures"), ("held out", "held_out"))
        for what, key in kept:
            for picture in fields.read_all(key, _picture_from):
                fields.require(
                    what == "learnt" or not adapter._is(picture, "learnt"),
                    "a picture must not be both learnt and held out",
                )
                fields.make(adapter._require_room, picture)
                adapter._keep(picture, what)
        adapter._built_on = fields.count("built_on", most=len(adapter._pictures))
        adapter._built = fields.read_optional("built", lambda own: _built_from(own, cascade))
        fields.require(
            adapter._built is not None or not adapter._built_on, "built_on must be 0 without a build"
        )
        return adapter

    @reads
    def facts(self) -> dict[str, str]:
        """What it is and how far it is, in words.

        Returns
        -------
        dict
            Texts by what they are about.
        """
        return {
            "adapter": KINDS[self.kind].title,
            "cascade": repr(self.cascade).strip("<>"),
            "has seen": f"{self.n_pictures:,} pictures with {self.n_faces:,} faces",
            "holds out": f"{len(self.held_out):,} pictures, to judge by",
            "built": "yes" if self.is_built else "no",
        }


def which_spared(pictures: Sequence[Picture]) -> list[bool]:
    """Every third of the pictures with faces, and of those without."""
    counts = {True: 0, False: 0}
    found = []
    for picture in pictures:
        kind = len(picture.boxes) > 0
        counts[kind] += 1
        found.append(counts[kind] % SPARED_EVERY == 0)
    return found


def _require_picture(picture: object) -> None:
    if not isinstance(picture, Picture):
        raise InputError(
            f"picture must be a Picture; got {type(picture).__name__}. Make one of a grey array and boxes, "
            "or take those that read_annotations gives."
        )


def _digest(picture: Picture) -> bytes:
    """What tells pictures apart: their pixels, not their names."""
    return hashlib.sha256(repr(picture.grey.shape).encode() + picture.grey.tobytes()).digest()


def _built_tree(built: Built) -> Tree:
    return {
        "stages": built.stages.tree(),
        "last": built.last.calibrated_tree(),
        "face_weight": built.face_weight,
        "mirrored": built.mirrored,
    }


def _built_from(fields: Fields, cascade: Cascade) -> Built:
    """What was built over a cascade's features."""
    stages = fields.read("stages", Cascade.from_tree)
    mine, its = ([np.array([c.width, c.height]), *c.features] for c in (stages, cascade))
    same = all(np.array_equal(one, other) for one, other in zip(mine, its, strict=True))
    fields.require(same, "stages must be over the cascade's features")
    fields.require(stages.max_nodes == 1, "stages must be of stumps")
    last = stumps_of_last(stages)
    last.resume(fields, "last", {"head": 1, "keep": "newest", "forgetting": 1.0})
    fields.require(last.sketch is not None, "last must have learnt")
    return Built(stages, last, fields.number("face_weight", 1e-9, 1e9), fields.flag("mirrored"))


def _picture_tree(picture: Picture) -> Tree:
    return {
        "name": picture.name[:1000],
        "grey": picture.grey,
        "boxes": picture.boxes,
        "ignored": picture.ignored,
    }


def _picture_from(fields: Fields) -> Picture:
    grey = fields.array("grey", np.uint8, (None, None))
    boxes, ignored = (fields.array(key, np.int64, (None, 4)) for key in ("boxes", "ignored"))
    picture: Picture = fields.make(Picture, fields.text("name"), grey, boxes, ignored)
    return picture
