"""``ocboost cascade adapt``: a detector learns from the windows of one camera."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from ocboost.cli.cascade_adapt_pictures import AdaptOptions, adapt_to_pictures
from ocboost.cli.cascade_shared import interrupted, print_table, read_windows, require_places
from ocboost.cli.files import check_out, is_same
from ocboost.cli.options import Flag, MaybeCount, Seed, UsageError
from ocboost.cli.terminal import after_writing, results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ocboost.cascade import Cascade, StageAdapter, WholeAdapter
    from ocboost.cascade.measure import Measurement

Rate = Annotated[float | None, Parameter(validator=validators.Number(gt=0, lte=1))]
Weight = Annotated[float, Parameter(validator=validators.Number(gte=1e-6, lte=1e6))]
Forgetting = Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1))]
Smoothing = Annotated[float, Parameter(validator=validators.Number(gte=0))]
Keep = Annotated[int | None, Parameter(validator=validators.Number(gte=0), show_default=False)]
Time = Annotated[float | None, Parameter(validator=validators.Number(gte=0.1, lte=1000), show_default=False)]
Alarms = Annotated[float | None, Parameter(validator=validators.Number(gte=0), show_default=False)]
Quiet = Annotated[Rate, Parameter(show_default=False)]

PASS_RATE = 0.998
MIN_WINDOWS = 50  # of either kind
MAX_SMOOTHING_PER_WINDOW = 10  # beyond it the windows are few beside the smoothing
MIN_FACES_FOR_THRESHOLD = 100  # a threshold set by fewer is rough
MAX_FALSE_POSITIVES = 1e-3  # per window: more are worth a word
WINDOWS_PER_UPDATE = 500
HOLD_OUT_EVERY = 10


def adapt(
    detector: Path,
    /,
    *,
    faces: Path | None = None,
    others: Path | None = None,
    boxes: Path | None = None,
    images: Path | None = None,
    out: Path,
    false_alarms: Alarms = None,
    time: Time = None,
    every: MaybeCount = None,
    adapter: Path | None = None,
    force: Flag = False,
    mode: Literal["whole", "stages"] = "whole",
    face_weight: Weight = 1.0,
    smoothing: Smoothing = 20_000.0,
    forgetting: Forgetting = 1.0,
    keep: Keep = None,
    pass_rate: Quiet = None,
    hits: Quiet = None,
    false_positives: Quiet = None,
    seed: Seed = 0,
    overwrite: Flag = False,
) -> int:
    r"""Let a detector learn from pictures or windows of one camera, and write it as OpenCV reads it.

    From whole pictures with boxes around the faces:
        ocboost cascade adapt detector.xml --boxes boxes.csv --out a.xml

    From two folders of images, each file one window:
        ocboost cascade adapt detector.xml --faces f/ --others o/ --out a.xml

    At most one window of 10,000 without a face may pass:
        ocboost cascade adapt detector.xml --faces f.png --others o.png \
            --out a.xml --false-positives 1e-4

    The same stages, each with new weights:
        ocboost cascade adapt detector.xml --faces f.png --others o.png \
            --out a.xml --mode stages

    Of whole pictures every fourth is held out, of windows every tenth: on those
    the detector is compared, before and after. One that has become worse on
    pictures is not written. Go on another day, with more pictures:
        ocboost cascade adapt detector.xml --boxes day2.csv --out b.xml --adapter a.ocb

    Parameters
    ----------
    detector
        A cascade of Haar stumps in OpenCV's XML format, gzipped or not.
    faces
        Windows with faces: a folder of images, each one window, or a grey PNG whose tiles are the windows.
    others
        Windows without, such as what the detector wrongly finds.
    boxes
        Whole pictures instead of windows: boxes in COCO, Pascal VOC, YOLO, CSV (image,x,y,w,h) or OpenCV's
        info.dat and bg.txt, as a file or a folder. A picture without boxes shows no face.
    images
        With boxes: the folder of the pictures, if they are not beside the boxes, or a video.
    out
        The file for the adapted detector.
    false_alarms
        With boxes: how many false alarms a picture are wanted; if left out, fewer than the shipped detector
        makes.
    time
        With boxes: how long a picture may take, about, where the shipped detector takes 1; 0.9 if left out,
        1 with fewer than 300 faces. With more time fewer faces are missed.
    every
        With boxes: of a video, every n-th frame only.
    adapter
        With boxes: a file to go on from if it exists, and to save to; it holds the pictures. Those that it
        has already are not learnt again, and those held out stay so.
    force
        With boxes: write the detector even if it is worse on the pictures held out.
    mode
        whole: short stages, then one of all stumps. stages: each stage on its own.
    face_weight
        As how many other windows a face counts.
    smoothing
        The shipped detector is trusted as if it had seen this many windows.
    forgetting
        λ: a window of n windows ago has the weight λ^n; 1 forgets nothing.
    keep
        Mode whole: how many first stages to keep; by default as many as make the detector fastest.
    pass_rate
        Share of the faces that must pass all stages but the last (mode whole), or each (stages); 0.998.
    hits
        Mode whole: share of the faces that must pass the last stage; 0.95.
    false_positives
        Mode whole, instead of hits: share of the others that may pass the last stage.
    seed
        For the order in which the windows are shown.
    overwrite
        Replace the file if it exists.
    """
    if hits is not None and false_positives is not None:
        raise UsageError("--hits and --false-positives exclude each other: say which of them to hold.")
    if mode == "stages" and any(given is not None for given in (keep, hits, false_positives)):
        raise UsageError("--keep, --hits and --false-positives are for --mode whole; leave them out.")
    _check_places(faces, others, boxes, images)
    defaults = (face_weight, smoothing, forgetting, mode) == (1.0, 20_000.0, 1.0, "whole")
    if boxes is not None and not (defaults and keep is pass_rate is hits is false_positives is None):
        raise UsageError(
            "--mode, --face-weight, --smoothing, --forgetting, --keep, --pass-rate, --hits and "
            "--false-positives are for windows; leave them out with --boxes."
        )
    if boxes is None and (
        adapter is not None or force or false_alarms is not None or time is not None or every is not None
    ):
        raise UsageError(
            "--adapter, --force, --false-alarms, --time and --every go with --boxes; leave them out."
        )
    if every is not None and (images is None or images.is_dir()):
        raise UsageError("--every goes with a video as --images: pictures are all looked at. Leave it out.")
    require_places(detector, faces=faces, others=others, boxes=boxes, images=images)

    from ocboost.cascade import StageAdapter, read_cascade
    from ocboost.cascade.measure import measure_cascade

    places = [detector, *(place for place in (faces, others, boxes, images) if place is not None)]
    check_out(out, *places)
    if adapter is not None:
        check_out(adapter, *places, option="--adapter")
        if is_same(adapter, out):
            raise InputError(f"--adapter must not be --out; got '{adapter}' for both. Give another name.")
    if os.path.lexists(out) and not overwrite:
        raise InputError(
            f"--out must be a new file; '{out}' exists already. Give another name, or --overwrite."
        )
    file = read_cascade(detector)
    if boxes is not None:
        return adapt_to_pictures(
            file,
            AdaptOptions(
                detector, boxes, images, out, false_alarms, time, every or 1, adapter, seed, overwrite, force
            ),
        )
    assert faces is not None
    assert others is not None
    shipped = file.cascade
    if keep is not None and keep > shipped.n_stages:
        raise InputError(
            f"--keep must be at most {shipped.n_stages}, the stages of '{detector}'; got {keep}. Take fewer."
        )
    settings = {"face_weight": face_weight, "smoothing": smoothing, "forgetting": forgetting}
    rate = PASS_RATE if pass_rate is None else pass_rate
    _adapter(mode, shipped, 500, rate, settings)  # what it refuses is refused before the work
    try:
        windows = _Windows(shipped, faces, others)
        shown, labels = windows.stream(seed)
        n = len(labels)
        learner = _adapter(mode, shipped, n, rate, settings)
        with steps_progress("adapting") as step:
            for at in range(0, n, WINDOWS_PER_UPDATE):
                some = slice(at, at + WINDOWS_PER_UPDATE)
                learner.update(shown[some], labels[some])
                step("windows", min(some.stop, n), n)
            step("thresholds", n, n)
            if isinstance(learner, StageAdapter):
                adapted = learner.adapted()
            else:
                adapted = learner.adapted(
                    keep=keep, pass_rate=rate, hits=hits, false_positives=false_positives
                )
            before = measure_cascade("before", shipped, windows.tests[0], windows.tests[1])
            after = measure_cascade("after", adapted, windows.tests[0], windows.tests[1])
        file.write(out, adapted, overwrite=overwrite)
    except KeyboardInterrupt:
        return interrupted(out)
    with after_writing("the detector", out) as written:
        written()
        _report(detector, out, windows, learner, before, after, false_positives)
    return 0


def _check_places(faces: Path | None, others: Path | None, boxes: Path | None, images: Path | None) -> None:
    """Whole pictures or windows: one of the two."""
    if boxes is not None and (faces is not None or others is not None):
        raise UsageError("--boxes replaces --faces and --others: give pictures or windows, not both.")
    if boxes is None and (faces is None or others is None):
        raise UsageError(
            "--boxes is missing, or --faces and --others: give whole pictures with boxes, or windows."
        )
    if boxes is None and images is not None:
        raise UsageError("--images goes with --boxes; leave it out.")


def _adapter(
    mode: str, shipped: Cascade, n: int, pass_rate: float, settings: dict[str, Any]
) -> WholeAdapter | StageAdapter:
    """The adapter of a mode, for n windows: where they are few, the score is calibrated on fewer."""
    from ocboost.cascade import StageAdapter, WholeAdapter

    if mode == "stages":
        return StageAdapter(shipped, pass_rate=pass_rate, **settings)
    return WholeAdapter(shipped, **settings, calibrate_on=min(500, max(n, 2 * MIN_WINDOWS)))


class _Windows:
    """The windows of both kinds, some to learn from and some held out, without those of low contrast."""

    def __init__(self, cascade: Cascade, faces: Path, others: Path) -> None:
        from ocboost.cascade import has_contrast

        self.cascade = cascade
        self.clear: list[NDArray[np.uint8]] = []
        self.flat: list[int] = []
        for option, place in (("--faces", faces), ("--others", others)):
            found = read_windows(option, place, cascade)
            clear = has_contrast(found)
            self.clear.append(found[clear])
            self.flat.append(int((~clear).sum()))
            if clear.sum() < MIN_WINDOWS:
                without = f", and {self.flat[-1]:,} without contrast" if self.flat[-1] else ""
                raise InputError(
                    f"{option} must hold at least {MIN_WINDOWS} windows with contrast; '{place}' holds "
                    f"{int(clear.sum()):,}{without}. Collect more: hundreds do little, thousands help."
                )

    def stream(self, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
        """Those to show and their labels, mixed in an order drawn from the seed."""
        import numpy as np

        from ocboost.cascade.measure import leaf_sums
        from ocboost.cascade.roc import one_minus_auc

        rng = np.random.default_rng(seed)
        orders = [rng.permutation(len(windows)) for windows in self.clear]
        tests = [order[HOLD_OUT_EVERY - 1 :: HOLD_OUT_EVERY] for order in orders]
        self.tests = [windows[test] for windows, test in zip(self.clear, tests, strict=True)]
        sums = np.concatenate([leaf_sums(self.cascade, windows) for windows in self.tests])
        if one_minus_auc(sums, np.repeat([True, False], [len(t) for t in self.tests])) > 0.5:
            raise InputError(
                "--faces must hold faces and --others windows without; the detector's score is higher for "
                "the others. Are the two turned round?"
            )
        learnt = [np.delete(order, slice(HOLD_OUT_EVERY - 1, None, HOLD_OUT_EVERY)) for order in orders]
        windows = np.concatenate([w[rows] for w, rows in zip(self.clear, learnt, strict=True)])
        labels = np.repeat(np.array([1, -1], np.int8), [len(rows) for rows in learnt])
        order = rng.permutation(len(labels))
        return windows[order], labels[order]


def _remarks(adapter: WholeAdapter | StageAdapter, n: int, false_positives: float | None) -> Iterator[str]:
    """Whether the stumps' weights could change, and how sure the thresholds are, after n windows."""
    from ocboost.cascade import WholeAdapter
    from ocboost.cascade.adapt_base import MIN_OF_EACH

    if isinstance(adapter, WholeAdapter):
        faces, others = adapter.n_held_out
        if false_positives is None:
            if faces < MIN_FACES_FOR_THRESHOLD:
                yield (
                    f"the last stage's threshold was set by only {faces:,} faces held out: its share of hits "
                    "is rough. Thousands of faces help."
                )
        elif false_positives * others < 1.0 - 1e-9:
            yield (
                f"--false-positives {false_positives:g} is less than one of the {others:,} others it is set "
                "by."
            )
        return
    faces = adapter.n_held_out
    lasting = n if adapter.forgetting == 1.0 else min(n, round(1.0 / (1.0 - adapter.forgetting)))
    if MAX_SMOOTHING_PER_WINDOW * lasting < adapter.smoothing:
        what = f"{n:,} windows" if lasting == n else f"the last {lasting:,} windows, which forgetting leaves,"
        yield (
            f"{what} are few beside a smoothing of {adapter.smoothing:,.0f}: the stumps' weights have "
            "changed little. Thousands help."
        )
    if faces < MIN_OF_EACH:
        yield (
            f"only {faces:,} faces were held out, and thresholds are set by {MIN_OF_EACH} or more: they have "
            "not changed. Collect more faces."
        )
    elif faces * (1.0 - adapter.pass_rate) < 1.0 - 1e-9:
        yield (
            f"{faces:,} faces held out are too few for a pass rate of {adapter.pass_rate:g}: each threshold "
            "was set by the single worst of them."
        )


def _bounds(share: float, n: int) -> tuple[float, float]:
    from ocboost.cascade.bounds import share_bounds

    return share_bounds(round(share * n), n)


def _with_bounds(share: float, n: int, decimals: int) -> str:
    low, high = _bounds(share, n)
    return f"{share:.{decimals}%} ({low:.{decimals}%}–{high:.{decimals}%})"


def _report(
    detector: Path,
    out: Path,
    windows: _Windows,
    adapter: WholeAdapter | StageAdapter,
    before: Measurement,
    after: Measurement,
    false_positives: float | None,
) -> None:
    from ocboost.cascade import StageAdapter

    console = results()

    def line(text: str) -> None:
        console.print(text, soft_wrap=True)

    held = [len(test) for test in windows.tests]
    learnt = [len(clear) - n for clear, n in zip(windows.clear, held, strict=True)]
    line(f"Shown {learnt[0]:,} faces and {learnt[1]:,} others.")
    if any(windows.flat):
        line(
            f"{windows.flat[0]:,} faces and {windows.flat[1]:,} others more had no contrast: OpenCV never "
            "looks at such windows, and they were left out."
        )
    rows = (
        (
            m.name,
            _with_bounds(m.hits, held[0], 1),
            _with_bounds(m.false_positives, held[1], 3),
            f"{m.cost:.1f}",
            f"{m.n_stages}",
        )
        for m in (before, after)
    )
    title = f"On {held[0]:,} faces and {held[1]:,} others that were not shown (95 % bounds)"
    print_table(console, title, ("", "hits", "false positives", "stumps per other window", "stages"), rows)
    for remark in _remarks(adapter, sum(learnt), false_positives):
        say(remark)
    most = _bounds(after.false_positives, held[1])[1]
    if false_positives is None and after.false_positives <= MAX_FALSE_POSITIVES < most:
        say(
            f"{held[1]:,} others cannot tell how often it is wrong: up to {most:.2%} may pass, and a picture "
            "has some hundred thousand windows. Judge it on whole pictures before it is used: ocboost "
            f"cascade evaluate {detector} {out} --boxes …"
        )
    if false_positives is None and after.false_positives > MAX_FALSE_POSITIVES:
        stages = isinstance(adapter, StageAdapter)
        lower = "a lower --pass-rate" if stages else "--false-positives 1e-4, or less,"
        line(
            f"A picture has some hundred thousand windows: {lower} finds less that is no face, and fewer "
            "faces."
        )
    if isinstance(adapter, StageAdapter) and adapter.n_adapted < after.n_stages:
        line(
            f"{adapter.n_adapted} of {after.n_stages} stages got new weights; too few others reached the "
            "rest, where at most the thresholds changed."
        )
    line(f"Wrote {out}")
    line(f"Next, on windows of other days: ocboost cascade evaluate {detector} {out} --faces … --others …")
