"""``ocboost cascade evaluate``: detectors side by side, on windows with faces and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ocboost._core.escaping import shown
from ocboost.cli.cascade_shared import interrupted, print_table, read_windows
from ocboost.cli.options import UsageError
from ocboost.cli.terminal import results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from ocboost.cascade import Cascade
    from ocboost.cascade.measure import Measurement

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
    faces: Path,
    others: Path,
    out: Path = Path("results/cascade"),
) -> int:
    """Compare detectors on windows with faces and without: what they miss, what they wrongly find.

    Before and after:
        ocboost cascade evaluate detector.xml adapted.xml --faces f/ --others o/

    Hits and false positives are those of each detector with its own thresholds.
    Moving these together gives a curve; from it come the misses when at most
    0.01, 0.001 or 0.0001 of the other windows are accepted. The folder gets
    roc.png, roc.svg and results.json.

    Parameters
    ----------
    detectors
        Cascades of Haar features in OpenCV's XML format, gzipped or not, for windows of the same size.
    faces
        Windows with faces: a folder of images, each one window, or a grey PNG whose tiles are the windows.
    others
        Windows without.
    out
        Folder for the results; made if needed, older files are replaced.
    """
    from ocboost._report.figures import render, require_matplotlib
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost.cascade import read_cascade
    from ocboost.cascade.figures import draw_roc
    from ocboost.cascade.measure import measure_cascade

    if not detectors:
        raise UsageError("DETECTORS is missing: give at least one detector.")
    require_matplotlib()
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

    >>> _names((Path("a/face.xml.gz"), Path("b/adapted.xml")))
    ['face', 'adapted']
    >>> _names((Path("a/face.xml"), Path("b/face.xml")))
    ['a/face.xml', 'b/face.xml']
    """
    short = [shown(path.name.removesuffix(".gz").removesuffix(".xml")) for path in detectors]
    return short if len(set(short)) == len(short) else [path.as_posix() for path in detectors]


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
