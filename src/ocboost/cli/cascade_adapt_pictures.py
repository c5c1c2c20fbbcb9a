"""``ocboost cascade adapt --boxes``: a detector learns from whole pictures of one camera."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ocboost.cli.cascade_evaluate_pictures import print_picture_table
from ocboost.cli.cascade_shared import interrupted
from ocboost.cli.terminal import after_writing, results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.cascade.annotations import AnnotatedPictures
    from ocboost.cascade.file import CascadeFile
    from ocboost.cascade.picture_cost import PictureCosts
    from ocboost.cascade.picture_measure import PictureMeasurement

FEWEST_PICTURES = 8
FEW_FACES = 100
TIMED_PICTURES = 12


class AdaptOptions(NamedTuple):
    """What the command was asked for."""

    detector: Path
    boxes: Path
    images: Path | None
    out: Path
    false_alarms: float | None
    every: int
    adapter: Path | None
    seed: int
    overwrite: bool
    force: bool


def adapt_to_pictures(file: CascadeFile, given: AdaptOptions) -> int:
    """Adapt the detector, judge it on pictures held out, and write it if it is not worse."""
    from ocboost.cascade import PictureAdapter
    from ocboost.cascade.picture_cost import cpu_per_picture
    from ocboost.cascade.picture_guard import Judged, worse
    from ocboost.cascade.picture_measure import measure_on_pictures

    shipped = file.cascade
    console = results()
    try:
        annotated = read_pictures(given.boxes, given.images, given.every, shipped.width)
        console.print(
            f"{given.boxes}: {annotated.format}; {len(annotated):,} pictures with {annotated.n_faces:,} "
            "faces.",
            soft_wrap=True,
        )
        learnt, judged = _split(annotated)
        if given.adapter is not None and given.adapter.exists():
            adapter = PictureAdapter.load(given.adapter)
            if not _same(adapter.cascade, shipped):
                raise InputError(
                    f"--adapter must have begun with the detector '{given.detector}'; '{given.adapter}' "
                    "began with another. Give the detector that it began with."
                )
        else:
            adapter = PictureAdapter(shipped, seed=given.seed)
        with steps_progress("reading") as step:
            for n, picture in enumerate(annotated.subset(learnt), 1):
                adapter.add(picture)
                step("pictures", n, len(learnt))
            guards = list(annotated.subset(judged))
        with steps_progress("adapting") as step:
            adapter.build(progress=step)
            step("threshold", 1, 1)
            adapted = adapter.adapted(false_alarms=given.false_alarms)
        with steps_progress("judging") as step:
            step("before", 0, 3)
            before = measure_on_pictures("before", shipped, guards)
            step("after", 1, 3)
            after = measure_on_pictures("after", adapted, guards)
            step("time", 2, 3)
            xml = {"before": file.to_bytes(), "after": file.to_bytes(adapted)}
            costs = cpu_per_picture(xml, guards[:TIMED_PICTURES])
        why = worse(Judged.of(before), Judged.of(after), given.false_alarms)
        if given.adapter is not None:
            adapter.save(given.adapter)
        if why is None or given.force:
            file.write(given.out, adapted, overwrite=given.overwrite)
    except KeyboardInterrupt:
        return interrupted(given.out)
    if why is not None and not given.force:
        _report(before, after, costs)
        raise InputError(
            f"the adapted detector must not be worse than the shipped one on {len(guards):,} pictures that "
            f"were held out; {why}. Nothing was written to '{given.out}'. Mark more pictures, or give "
            "--force to write it all the same."
        )
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
    return 0


def read_pictures(boxes: Path, images: Path | None, every: int, min_side: int) -> AnnotatedPictures:
    """The annotated pictures that ``--boxes`` names."""
    from ocboost.cascade.annotations import read_annotations

    return read_annotations(boxes, images, every=every, min_side=min_side, notify=say)


def _split(annotated: AnnotatedPictures) -> tuple[list[int], list[int]]:
    """Pictures to learn from, and those to judge by."""
    from ocboost.cascade.picture_guard import GUARD_EVERY, split

    have_faces = [picture.n_boxes > 0 for picture in annotated.pictures]
    n = sum(have_faces)
    if len(annotated) < FEWEST_PICTURES or n < GUARD_EVERY:
        raise InputError(
            f"--boxes must name at least {FEWEST_PICTURES} pictures, {GUARD_EVERY} of them with faces; got "
            f"{len(annotated):,}, {n:,} with faces. A quarter is held out to judge by. Mark more."
        )
    return split(have_faces)


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
