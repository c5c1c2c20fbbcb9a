"""``ocboost cascade evaluate --boxes``: detectors side by side, on whole pictures with boxes around faces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ocboost._core.escaping import shown
from ocboost._extras import install_line
from ocboost.cli.cascade_shared import interrupted, print_table
from ocboost.cli.terminal import results, say, steps_progress

if TYPE_CHECKING:
    from rich.console import Console

    from ocboost.cascade.annotations import AnnotatedPictures
    from ocboost.cascade.bounds import Bounds
    from ocboost.cascade.file import CascadeFile
    from ocboost.cascade.picture_cost import PictureCosts
    from ocboost.cascade.picture_measure import PictureDifference, PictureMeasurement

RESULT_FILES = ["curve.png", "curve.svg", "results.json"]
FACES_FOR_BOUNDS, FEW_PICTURES = 50, 30
TIMED_PICTURES = 40  # at most; more hardly change the mean


class PictureOptions(NamedTuple):
    """What the command was asked for; None takes the default."""

    boxes: Path
    images: Path | None
    scale_factor: float | None
    min_neighbors: int | None
    min_size: int | None
    iou: float | None
    every: int | None

    @property
    def looking(self) -> dict[str, Any]:
        """How a picture is looked at."""
        return {
            "scale_factor": 1.1 if self.scale_factor is None else self.scale_factor,
            "min_neighbors": 3 if self.min_neighbors is None else self.min_neighbors,
            "min_size": None if self.min_size is None else (self.min_size, self.min_size),
        }

    @property
    def overlap(self) -> float:
        """From which overlap on a detection shows a face."""
        return 0.5 if self.iou is None else self.iou


def evaluate_on_pictures(
    detectors: Sequence[CascadeFile], names: Sequence[str], given: PictureOptions, out: Path
) -> int:
    """Measure the detectors on the pictures, print a table, and write the figure and the figures."""
    from ocboost._report.figures import render
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost.cascade.picture_figures import draw_picture_curves
    from ocboost.cascade.picture_measure import bootstrap_difference

    try:
        with OutputFolder(out, RESULT_FILES) as folder:
            pictures = _read(detectors, given)
            measurements = _measured(detectors, names, pictures, given)
            costs = _timed(detectors, names, pictures, given)
            differences = [bootstrap_difference(measurements[0], other) for other in measurements[1:]]
            counts = _counted(len(pictures), pictures.n_faces)
            note = f"{counts}. The best over thresholds and neighbours; lower is better."
            files = render(draw_picture_curves(measurements, costs.ms, note=note), "curve")
            remarks = _remarks(measurements[0], costs)
            record = {
                "detectors": [shown(Path(file.name).name) for file in detectors],
                "boxes": shown(given.boxes.name),
                "format": shown(pictures.format),
                "n_pictures": len(pictures),
                "n_faces": pictures.n_faces,
                "settings": {**given.looking, "iou": given.overlap},
                "pictures": [shown(picture.name) for picture in pictures.pictures],
                "faces": measurements[0].faces.tolist(),
                "standings": [measured.as_dict() for measured in measurements],
                "against_the_first": [
                    {"name": measured.name, **difference.as_dict()}
                    for measured, difference in zip(measurements[1:], differences, strict=True)
                ],
                "processor_time": costs.as_dict(),
                "notes": remarks,
                "versions": versions("pillow", "opencv-python-headless"),
            }
            files["results.json"] = to_json(record)
            folder.write(files)
    except KeyboardInterrupt:
        return interrupted(out)
    console = results(piped=160)
    console.print(f"{given.boxes}: {pictures.format}; {counts}.", soft_wrap=True)
    print_picture_table(console, measurements, costs, f"On {counts}")
    for measured, difference in zip(measurements[1:], differences, strict=True):
        sentence = f"{measured.name} against {measurements[0].name}: {_difference(difference)}."
        console.print(sentence, soft_wrap=True)
    for remark in remarks:
        say(remark)
    console.print(f"Wrote {', '.join(RESULT_FILES)} to {folder.path.resolve()}", soft_wrap=True)
    return 0


def _read(detectors: Sequence[CascadeFile], given: PictureOptions) -> AnnotatedPictures:
    """The pictures; faces that are smaller than every detector's window, or --min-size, are ignored."""
    from ocboost.cascade.annotations import read_annotations

    smallest = min(min(file.cascade.width, file.cascade.height) for file in detectors)
    with steps_progress("reading") as step:
        step("--boxes", 0, 1)
        return read_annotations(
            given.boxes,
            given.images,
            every=given.every or 1,
            min_side=max(smallest, given.min_size or 1),
            notify=say,
        )


def _measured(
    detectors: Sequence[CascadeFile],
    names: Sequence[str],
    pictures: AnnotatedPictures,
    given: PictureOptions,
) -> list[PictureMeasurement]:
    from ocboost.cascade.picture_measure import measure_on_pictures

    found = []
    total = len(detectors) * len(pictures)
    with steps_progress("evaluating") as step:
        for n, (name, file) in enumerate(zip(names, detectors, strict=True)):

            def tell(picture: str, done: int, before: int = n * len(pictures), who: str = name) -> None:
                step(f"{who}, {picture}", before + done, total)

            found.append(
                measure_on_pictures(
                    name, file.cascade, pictures, **given.looking, iou=given.overlap, progress=tell
                )
            )
    return found


def _timed(
    detectors: Sequence[CascadeFile],
    names: Sequence[str],
    pictures: AnnotatedPictures,
    given: PictureOptions,
) -> PictureCosts:
    from ocboost.cascade.picture_cost import cpu_per_picture

    n = len(pictures)
    some = sorted({k * n // TIMED_PICTURES for k in range(TIMED_PICTURES)})
    xml = {name: file.to_bytes() for name, file in zip(names, detectors, strict=True)}
    with steps_progress("timing") as step:
        return cpu_per_picture(
            xml,
            pictures.subset(some),
            **given.looking,
            progress=lambda picture, done: step(picture, done, len(some)),
        )


def print_picture_table(
    console: Console, measurements: Sequence[PictureMeasurement], costs: PictureCosts, title: str
) -> None:
    """Each detector's figures, with 95 % bounds, and what they mean."""
    from ocboost.cascade.picture_curve import ALARMS

    columns = (
        "detector",
        "recall",
        "false alarms a picture",
        "alarms per million windows",
        *(f"misses at {alarms:g}" for alarms in ALARMS),
        "ms a picture",
    )
    rows = (
        (
            m.name,
            _with_bounds(m.recall, m.recall_bounds, ".1%"),
            _with_bounds(m.alarms_per_picture, m.alarms_per_picture_bounds, ",.2f"),
            _with_bounds(m.alarms_per_million, m.alarms_per_million_bounds, ",.2f"),
            *(_or_dash(m.curve.misses_at(alarms), ".1%") for alarms in ALARMS),
            f"{costs.ms[m.name]:.3g} (× {costs.ratios[m.name]:.2f})",
        )
        for m in measurements
    )
    print_table(console, title, columns, rows)
    settings = measurements[0].settings
    at = ", ".join(f"{alarms:g}" for alarms in ALARMS)
    program = "OpenCV in one thread" if costs.with_opencv else "ocboost's own detection"
    for line in (
        "In brackets: 95 % bounds. Recall and false alarms: with a detector's own thresholds and "
        f"min_neighbors {settings.min_neighbors}; a face is found by a detection that overlaps it by "
        f"{settings.iou:g} or more, intersection over union.",
        f"Misses at {at}: the share of faces missed with at most so many false alarms a picture, by the best "
        "of all last thresholds and neighbours for these pictures; for comparing detectors.",
        f"ms a picture: processor time of {program}; × what the first detector takes.",
    ):
        console.print(line, soft_wrap=True)


def _counted(n_pictures: int, n_faces: int) -> str:
    """How many there are, in words.

    >>> _counted(1, 1), _counted(1200, 0)
    ('1 picture with 1 face', '1,200 pictures with 0 faces')
    """
    return f"{n_pictures:,} picture{'s' * (n_pictures != 1)} with {n_faces:,} face{'s' * (n_faces != 1)}"


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def _with_bounds(value: float | None, bounds: Bounds | None, form: str) -> str:
    """A figure and its bounds.

    >>> _with_bounds(0.5, (0.25, 0.75), ".1%"), _with_bounds(None, None, ".1%")
    ('50.0% (25.0%–75.0%)', '–')
    """
    if bounds is None:
        return _or_dash(value, form)
    return f"{_or_dash(value, form)} ({bounds[0]:{form}}–{bounds[1]:{form}})"


def _difference(found: PictureDifference) -> str:
    words = []
    for what, value, bounds, of, form in (
        ("misses", found.misses, found.misses_bounds, "of the faces", "+.1%"),
        ("false alarms", found.alarms_per_picture, found.alarms_per_picture_bounds, "a picture", "+,.2f"),
    ):
        if value is not None:
            between = f" ({bounds[0]:{form}} to {bounds[1]:{form}})" if bounds is not None else ""
            words.append(f"{what} {value:{form}} {of}{between}")
    return ", ".join(words)


def _remarks(measured: PictureMeasurement, costs: PictureCosts) -> list[str]:
    from ocboost.cascade.picture_curve import ALARMS

    remarks = []
    faces, n = measured.n_faces, measured.n_pictures
    if not faces:
        remarks.append("no picture has a face: recall and misses are not defined, false alarms are.")
    elif faces < FACES_FOR_BOUNDS or n < FEW_PICTURES:
        few = _counted(n, faces)
        remarks.append(f"only {few}: the bounds are wide. More pictures with boxes help.")
    beyond = [f"{alarms:g}" for alarms in ALARMS if alarms * n < 1.0 - 1e-9]
    if beyond and faces:
        pictures = f"{n:,} picture{'s' * (n != 1)}"
        allowed = f"{' and '.join(beyond)} false alarms a picture are less than one in {pictures}"
        remarks.append(f"{allowed}: there, none may happen.")
    if not costs.with_opencv:
        remarks.append(
            "the time is that of ocboost's own detection, as OpenCV is not installed; "
            f"{install_line('vision')} for OpenCV's."
        )
    return remarks
