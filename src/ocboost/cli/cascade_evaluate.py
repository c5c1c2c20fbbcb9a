"""``ocboost cascade evaluate``: detectors side by side, on windows with faces and without, or on pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.cascade_evaluate_pictures import PictureOptions, evaluate_on_pictures
from ocboost.cli.cascade_shared import interrupted, print_table, read_windows, require_places
from ocboost.cli.options import MaybeCount, UsageError
from ocboost.cli.terminal import results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from ocboost.cascade import Cascade
    from ocboost.cascade.measure import Measurement

MaybeFactor = Annotated[float | None, Parameter(validator=validators.Number(gte=1.001))]
MaybeNeighbors = Annotated[int | None, Parameter(validator=validators.Number(gte=0))]
MaybeOverlap = Annotated[float | None, Parameter(validator=validators.Number(gt=0, lte=1))]

RESULT_FILES = ["roc.png", "roc.svg", "results.json"]
SCORES = {
    "slack": "by how much a window clears the stage it clears least",
    "last stage": "by how much a window clears the last stage, which has all stumps of those before it",
}
KINDS_DIFFER = (
    "the scores are of different kinds, and that of the last stage is the same for all windows that earlier "
    "stages reject."
)


def evaluate(
    *detectors: Annotated[Path, Parameter(negative="")],
    faces: Path | None = None,
    others: Path | None = None,
    boxes: Path | None = None,
    images: Path | None = None,
    scale_factor: MaybeFactor = None,
    min_neighbors: MaybeNeighbors = None,
    min_size: MaybeCount = None,
    iou: MaybeOverlap = None,
    every: MaybeCount = None,
    out: Path = Path("results/cascade"),
) -> int:
    """Compare detectors on pictures with boxes, or on windows: what they miss, what they wrongly find.

    Before and after, on windows with faces and without:
        ocboost cascade evaluate detector.xml adapted.xml --faces f/ --others o/

    As they are used, on whole pictures with boxes around the faces:
        ocboost cascade evaluate detector.xml adapted.xml --boxes marked.json

    On windows, hits and false positives are those of each detector with its own
    thresholds. Moving these together gives a curve; from it come the misses when
    at most 0.01, 0.001 or 0.0001 of the other windows are accepted. The folder
    gets roc.png, roc.svg and results.json.

    On pictures, a detection shows a face if they overlap enough; others are false
    alarms. Recall and false alarms have 95 % bounds. Moving the last threshold and
    the number of neighbours gives a curve; from it come the misses with at most
    0.1, 0.3 and 1 false alarms a picture. Time is the processor's, with OpenCV in
    one thread. The folder gets curve.png, curve.svg and results.json.

    Parameters
    ----------
    detectors
        Cascades of Haar features in OpenCV's XML format, gzipped or not; on windows, for windows of the same
        size. The others are compared with the first.
    faces
        Windows with faces: a folder of images, each one window, or a grey PNG whose tiles are the windows.
    others
        Windows without.
    boxes
        Pictures with boxes, instead of windows: a JSON file of COCO, a CSV file with the columns image, x, y,
        w, h, an info.dat or bg.txt of OpenCV, or a folder with annotations of Pascal VOC or YOLO.
    images
        With --boxes: the folder of the pictures, or a video, if they are not beside the annotations.
    scale_factor
        With --boxes: the window grows by this from one size to the next; 1.1 if left out.
    min_neighbors
        With --boxes: how many windows at least, besides one, must be found at about the same place; 3 if left
        out.
    min_size
        With --boxes: leave out what is smaller, in pixels; smaller faces do not count.
    iou
        With --boxes: the overlap, intersection over union, from which on a detection shows a face; 0.5 if
        left out.
    every
        With --boxes: of a video, look at every n-th frame only.
    out
        Folder for the results; made if needed, older files are replaced.
    """
    if not detectors:
        raise UsageError("DETECTORS is missing: give at least one detector.")
    if boxes is not None:
        if faces is not None or others is not None:
            raise UsageError(
                "--boxes and --faces or --others do not go together: give pictures with boxes, or windows."
            )
        if every is not None and (images is None or images.is_dir()):
            raise UsageError(
                "--every goes with a video as --images: pictures are all looked at. Leave it out."
            )
        require_places(*detectors, boxes=boxes, images=images)

        from ocboost._report.figures import require_matplotlib
        from ocboost.cascade import read_cascade

        require_matplotlib()
        given = PictureOptions(boxes, images, scale_factor, min_neighbors, min_size, iou, every)
        files = [read_cascade(path) for path in detectors]
        return evaluate_on_pictures(files, _names(detectors), given, out)
    if faces is None or others is None:
        raise UsageError(
            "give pictures with boxes around the faces as --boxes, or windows as --faces and --others."
        )
    of_pictures = {
        "--images": images,
        "--scale-factor": scale_factor,
        "--min-neighbors": min_neighbors,
        "--min-size": min_size,
        "--iou": iou,
        "--every": every,
    }
    for option, value in of_pictures.items():
        if value is not None:
            raise UsageError(f"{option} goes with --boxes: windows are judged as they are. Leave it out.")
    require_places(*detectors, faces=faces, others=others)

    from ocboost._report.figures import require_matplotlib

    require_matplotlib()
    return _evaluate_on_windows(detectors, faces, others, out)


def _evaluate_on_windows(detectors: tuple[Path, ...], faces: Path, others: Path, out: Path) -> int:
    from ocboost._report.figures import render
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost.cascade import read_cascade
    from ocboost.cascade.figures import draw_roc
    from ocboost.cascade.measure import measure_cascade

    cascades = [read_cascade(path).cascade for path in detectors]
    _check_sizes(detectors, cascades)
    names = _names(detectors)
    try:
        with OutputFolder(out, RESULT_FILES) as folder:
            windows = [
                read_windows(option, place, cascades[0])
                for option, place in (("--faces", faces), ("--others", others))
            ]
            measurements = []
            with steps_progress("evaluating") as step:
                for n, (name, cascade) in enumerate(zip(names, cascades, strict=True)):
                    step(name, n, len(cascades))
                    measurements.append(measure_cascade(name, cascade, windows[0], windows[1]))
            counts = f"{len(windows[0]):,} faces and {len(windows[1]):,} other windows"
            note = f"{counts} of {cascades[0].width} × {cascades[0].height} pixels. Lower is better."
            files = render(draw_roc(measurements, note=note), "roc")
            files["results.json"] = to_json(
                _record(measurements, detectors, faces, others, versions("pillow"))
            )
            folder.write(files)
    except KeyboardInterrupt:
        return interrupted(out)
    console = results(piped=120)
    _print_table(console, measurements, f"On {counts}")
    bounds = (f"{m.name} {_with_bounds(m.false_positives, m.curve.n_others)}" for m in measurements)
    console.print(f"False positives, 95 % bounds: {', '.join(bounds)}.", soft_wrap=True)
    if not _comparable(measurements):
        console.print(f"1 − AUC is left out: {KINDS_DIFFER}", soft_wrap=True)
    for kind, meaning in SCORES.items():
        own = ", ".join(s.name for s in measurements if s.kind == kind)
        if own:
            console.print(f"Score of {own}: {meaning}.", soft_wrap=True)
    for remark in _remarks(measurements[0]):
        say(remark)
    console.print(f"Wrote {', '.join(RESULT_FILES)} to {folder.path.resolve()}", soft_wrap=True)
    return 0


def _check_sizes(detectors: tuple[Path, ...], cascades: list[Cascade]) -> None:
    first = cascades[0]
    for path, cascade in zip(detectors, cascades, strict=True):
        if (cascade.width, cascade.height) != (first.width, first.height):
            raise InputError(
                f"the detectors must have windows of the same size; '{detectors[0]}' has {first.width} × "
                f"{first.height} pixels and '{path}' {cascade.width} × {cascade.height}. Evaluate each alone."
            )


def _names(detectors: tuple[Path, ...]) -> list[str]:
    """What the detectors are called: their files' names without the ending, or all of it if two are the same.

    A file that is given twice is told apart by its place.

    >>> _names((Path("a/face.xml.gz"), Path("b/adapted.xml")))
    ['face', 'adapted']
    >>> _names((Path("a/face.xml"), Path("b/face.xml")))
    ['a/face.xml', 'b/face.xml']
    >>> _names((Path("face.xml"), Path("face.xml")))
    ['1: face.xml', '2: face.xml']
    """
    short = [shown(path.name.removesuffix(".gz").removesuffix(".xml")) for path in detectors]
    whole = [shown(path.as_posix()) for path in detectors]
    numbered = [f"{n}: {name}" for n, name in enumerate(whole, 1)]
    return next(names for names in (short, whole, numbered) if len(set(names)) == len(detectors))


def _comparable(measurements: list[Measurement]) -> bool:
    """Whether all are measured by the same kind of score, so that areas can be compared."""
    return len({measured.kind for measured in measurements}) == 1


def _print_table(console: Console, measurements: list[Measurement], title: str) -> None:
    from ocboost.cascade.roc import RATES

    comparable = _comparable(measurements)
    columns = (
        "detector",
        "hits",
        "false positives",
        *(f"misses at {rate:.4g}" for rate in RATES),
        *(("1 − AUC",) if comparable else ()),
        "stumps per other window",
    )
    rows = (
        (
            m.name,
            f"{m.hits:.2%}",
            f"{m.false_positives:.3%}",
            *(f"{m.curve.misses_at(rate):.2%}" for rate in RATES),
            *((f"{m.one_minus_auc:.2e}",) if comparable else ()),
            f"{m.cost:.1f}",
        )
        for m in measurements
    )
    print_table(console, title, columns, rows)


def _with_bounds(share: float, n: int) -> str:
    """95 % bounds of a share of n windows.

    >>> _with_bounds(0.0, 458)
    '0.000% to 0.652%'
    """
    from ocboost.cascade.bounds import share_bounds

    low, high = share_bounds(round(share * n), n)
    return f"{low:.3%} to {high:.3%}"


def _remarks(measured: Measurement) -> list[str]:
    from ocboost.cascade.roc import RATES

    n = measured.curve.n_others
    beyond = [f"{rate:.4g}" for rate in RATES if not measured.curve.resolves(rate)]
    if not beyond:
        return []
    *first, last = beyond
    rates = f"{', '.join(first)} and {last} are each" if first else f"{last} is"
    return [f"{rates} less than one of {n:,} others: there, none of them may pass."]


def _record(
    measurements: list[Measurement],
    detectors: tuple[Path, ...],
    faces: Path,
    others: Path,
    made_with: dict[str, Any],
) -> dict[str, Any]:
    curve = measurements[0].curve
    return {
        "detectors": [shown(path.name) for path in detectors],
        "faces": faces.name,
        "others": others.name,
        "n_faces": curve.n_faces,
        "n_others": curve.n_others,
        "standings": [measured.as_dict() for measured in measurements],
        "notes": [
            *([] if _comparable(measurements) else [f"one_minus_auc must not be compared: {KINDS_DIFFER}"]),
            *_remarks(measurements[0]),
        ],
        "versions": made_with,
    }
