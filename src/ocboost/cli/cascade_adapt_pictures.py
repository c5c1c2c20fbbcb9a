"""``ocboost cascade adapt --boxes``: a detector learns from whole pictures of one camera."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ocboost.cli.cascade_evaluate_pictures import print_picture_table
from ocboost.cli.cascade_shared import interrupted
from ocboost.cli.terminal import after_writing, results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.cascade import Cascade, PictureAdapter
    from ocboost.cascade.annotations import AnnotatedPictures
    from ocboost.cascade.file import CascadeFile
    from ocboost.cascade.picture_cost import PictureCosts
    from ocboost.cascade.picture_measure import PictureMeasurement

FEWEST_PICTURES = 8
FEW_FACES = 100
TIMED_PICTURES = 12
USELESS_RECALL = 0.1  # a detector that finds fewer is not written


class AdaptOptions(NamedTuple):
    """What the command was asked for."""

    detector: Path
    boxes: Path
    images: Path | None
    out: Path
    false_alarms: float | None
    time: float | None
    every: int
    adapter: Path | None
    seed: int
    overwrite: bool
    force: bool


def adapt_to_pictures(file: CascadeFile, given: AdaptOptions) -> int:
    """Adapt the detector, judge it on pictures held out, and write it if it is not worse."""
    from ocboost.cascade.picture_cost import cpu_per_picture
    from ocboost.cascade.picture_measure import measure_on_pictures

    shipped = file.cascade
    console = results()
    try:
        adapter = _begin(given, shipped)
        annotated = read_pictures(given.boxes, given.images, given.every, min(shipped.width, shipped.height))
        console.print(
            f"{given.boxes}: {annotated.format}; {len(annotated):,} pictures with {annotated.n_faces:,} "
            "faces.",
            soft_wrap=True,
        )
        _show(adapter, annotated, given)
        with steps_progress("adapting") as step:
            if not adapter.is_built_on_all:
                adapter.build(progress=step)
            step("threshold", 1, 1)
            adapted = adapter.adapted(false_alarms=given.false_alarms)
        guards = list(adapter.held_out)
        with steps_progress("judging") as step:
            step("before", 0, 3)
            before = measure_on_pictures("before", shipped, guards)
            step("after", 1, 3)
            after = measure_on_pictures("after", adapted, guards)
            step("time", 2, 3)
            xml = {"before": file.to_bytes(), "after": file.to_bytes(adapted)}
            costs = cpu_per_picture(xml, guards[:TIMED_PICTURES])
        why = _why_not(before, after, given.false_alarms)
        if why is None or given.force:
            file.write(given.out, adapted, overwrite=given.overwrite)
    except KeyboardInterrupt:
        return interrupted(given.out)
    if why is not None and not given.force:
        _report(before, after, costs)
        also = "" if given.adapter is None else f" or '{given.adapter}'"
        raise InputError(
            f"the adapted detector must not be worse than the shipped one on {len(guards):,} pictures that "
            f"were held out; {why}. Nothing was written to '{given.out}'{also}. {_remedy(before)}, or give "
            "--force to write it all the same."
        )
    if given.adapter is not None and not _saved(adapter, given.adapter, given.out):
        return 130
    with after_writing("the detector", given.out) as written:
        written()
        _report(before, after, costs)
        if why is not None:
            say(f"written because of --force, though {why}.")
        if before.n_faces < FEW_FACES:
            say(
                f"judged on {before.n_faces:,} faces only: the bounds are wide. More pictures with boxes "
                "help."
            )
        console.print(f"Wrote {given.out}", soft_wrap=True)
        if given.adapter is not None:
            console.print(f"Wrote {given.adapter}, to go on from", soft_wrap=True)
        console.print(
            f"Next, on pictures of other days: ocboost cascade evaluate {given.detector} {given.out} "
            "--boxes …",
            soft_wrap=True,
        )
    return 0


def _saved(adapter: PictureAdapter, path: Path, out: Path) -> bool:
    """Save the adapter beside the detector, which is written already; whether it was not interrupted."""
    try:
        adapter.save(path)
    except KeyboardInterrupt:
        say(f"interrupted; '{out}' was written, '{path}' was not.")
        return False
    except OSError as error:
        raise InputError(
            f"--adapter '{path}' could not be written: {error.strerror or error}. '{out}' was. Give another "
            "name, and --overwrite, to try again."
        ) from None
    return True


def read_pictures(boxes: Path, images: Path | None, every: int, min_side: int) -> AnnotatedPictures:
    """The annotated pictures that ``--boxes`` names."""
    from ocboost.cascade.annotations import read_annotations

    return read_annotations(boxes, images, every=every, min_side=min_side, notify=say)


def _begin(given: AdaptOptions, shipped: Cascade) -> PictureAdapter:
    """The adapter that was saved, or a new one."""
    from ocboost.cascade import PictureAdapter

    if given.adapter is None or not given.adapter.exists():
        return PictureAdapter(shipped, time=given.time, seed=given.seed)
    adapter = PictureAdapter.load(given.adapter)
    if not _same(adapter.cascade, shipped):
        raise InputError(
            f"--adapter must have begun with the detector '{given.detector}'; '{given.adapter}' "
            "began with another. Give the detector that it began with."
        )
    if given.time is not None and given.time != adapter.time:
        raise InputError(
            f"--time must be as it was when '{given.adapter}' began, {adapter.time or 'left out'}; got "
            f"{given.time:g}. Leave it out, or begin another adapter."
        )
    if given.seed not in (0, adapter.seed):
        raise InputError(
            f"--seed must be as it was when '{given.adapter}' began, {adapter.seed}; got {given.seed}. Leave "
            "it out, or begin another adapter."
        )
    return adapter


def _show(adapter: PictureAdapter, annotated: AnnotatedPictures, given: AdaptOptions) -> None:
    """Show the adapter the pictures that it has not seen; every fourth of either kind is held out.

    The count goes on from the pictures of earlier days, and what was held out then is never learnt.
    """
    import numpy as np

    from ocboost.cascade.picture_guard import is_held_out

    counts = adapter.n_of_each_kind
    coming = sum(picture.n_boxes > 0 for picture in annotated.pictures)
    _check_enough(counts[True] + coming, counts[False] + len(annotated) - coming)
    again = {"learnt": 0, "held out": 0}
    twice = changed = 0
    began_with = counts[True] + counts[False]
    new: set[int] = set()
    with steps_progress("reading") as step:
        for n, picture in enumerate(annotated, 1):
            step("pictures", n, len(annotated))
            known = adapter.known(picture)
            if known is not None:
                what, own = known
                twice += id(own) in new
                again[what] += id(own) not in new
                changed += not np.array_equal(own.boxes, picture.boxes)
                continue
            kind = len(picture.boxes) > 0
            counts[kind] += 1
            if is_held_out(counts[kind]):
                adapter.hold_out(picture)
            else:
                adapter.add(picture, learn=False)
            kept = adapter.known(picture)
            assert kept is not None
            new.add(id(kept[1]))  # the adapter's own, which lives as long as this
    _check_enough(counts[True], counts[False])
    if twice:
        say(f"{twice:,} of {len(annotated):,} pictures are there twice, and were taken once.")
    if sum(again.values()):
        say(
            f"'{given.adapter}' has {sum(again.values()):,} of {len(annotated):,} pictures already: "
            f"{again['learnt']:,} are not learnt again, {again['held out']:,} stay held out."
        )
    if changed:
        say(
            f"{changed:,} of those have other boxes now, which were not taken. To learn them, begin with a "
            "new --adapter."
        )
    if annotated.is_video:
        say("frames held out look like those beside them, which were learnt: judge on another video, too.")
    if began_with:
        n_new = counts[True] + counts[False] - began_with
        say(f"going on from {began_with:,} pictures, with {n_new:,} new ones.")


def _check_enough(with_faces: int, without: int) -> None:
    from ocboost.cascade.picture_guard import GUARD_EVERY

    if with_faces + without < FEWEST_PICTURES or with_faces < GUARD_EVERY:
        raise InputError(
            f"--boxes must name at least {FEWEST_PICTURES} pictures, {GUARD_EVERY} of them with faces; got "
            f"{with_faces + without:,}, {with_faces:,} with faces. A quarter is held out to judge by. Mark "
            "more."
        )


def _why_not(before: PictureMeasurement, after: PictureMeasurement, wanted: float | None) -> str | None:
    """Why the adapted detector should not be written, if there is a reason."""
    from ocboost.cascade.picture_guard import Judged, worse

    shipped, adapted = Judged.of(before), Judged.of(after)
    why = worse(shipped, adapted, wanted)
    if why is None and adapted.hits < USELESS_RECALL * adapted.n_faces:
        why = f"it finds {adapted.hits:,} of {adapted.n_faces:,} faces"
    return why


def _remedy(before: PictureMeasurement) -> str:
    """What may help: where the shipped detector finds nearly nothing, boxes may lie beside the faces."""
    from ocboost.cascade.picture_guard import Judged

    shipped = Judged.of(before)
    if shipped.hits < USELESS_RECALL * shipped.n_faces:
        return (
            f"The shipped detector finds {shipped.hits:,} faces in the boxes, and {shipped.false_alarms:,} "
            "things elsewhere: check that x and y are the upper left corners, in pixels"
        )
    return "Mark more pictures"


def _same(one: object, other: object) -> bool:
    import numpy as np

    names = (
        "width",
        "height",
        "rects",
        "weights",
        "node_feature",
        "node_threshold",
        "leaf",
        "stage_threshold",
    )
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _report(before: PictureMeasurement, after: PictureMeasurement, costs: PictureCosts) -> None:
    title = f"On {before.n_pictures:,} pictures with {before.n_faces:,} faces that were held out"
    print_picture_table(results(piped=160), [before, after], costs, title)
