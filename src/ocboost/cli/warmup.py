"""``ocboost warmup``: compile all kernels now, as when an image is built."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ocboost.cli.terminal import results
from ocboost.errors import MissingExtraError, OcboostError

WARMED_METHODS = (
    "ocb",
    "ocb-window-20",
    "ocb-forgetting",
    "growing-forgetting",
    "oza",
    "winnow",
    "eg",
    "huang",
)
LINEAR = ("logistic", "perceptron", "pa")
# A detector of two stages, in OpenCV's format.
DETECTOR = """<?xml version="1.0"?>
<opencv_storage><cascade type_id="opencv-cascade-classifier">
<stageType>BOOST</stageType><featureType>HAAR</featureType><height>20</height><width>20</width>
<stageParams><maxWeakCount>1</maxWeakCount></stageParams>
<featureParams><maxCatCount>0</maxCatCount></featureParams><stageNum>2</stageNum>
<stages>
<_><maxWeakCount>1</maxWeakCount><stageThreshold>-2.</stageThreshold><weakClassifiers>
<_><internalNodes>0 -1 0 0.</internalNodes><leafValues>-1. 1.</leafValues></_></weakClassifiers></_>
<_><maxWeakCount>1</maxWeakCount><stageThreshold>-2.</stageThreshold><weakClassifiers>
<_><internalNodes>0 -1 1 0.</internalNodes><leafValues>-1. 1.</leafValues></_></weakClassifiers></_>
</stages>
<features>
<_><rects><_>2 2 16 8 -1.</_><_>2 6 16 4 2.</_></rects></_>
<_><rects><_>4 2 8 16 -1.</_><_>8 2 4 16 2.</_></rects></_>
</features></cascade></opencv_storage>
"""


def warmup() -> int:
    """Compile everything that the commands use, once, and keep it on disk.

    When an image is built, after installing:
        ocboost warmup

    Without it the first command that needs a kernel compiles it, half a minute for
    a first fit. Compiled kernels lie beside the package, or in the folder that
    NUMBA_CACHE_DIR names, or in the user's cache folder: the first that can be
    written. Another user may read them. They are for this kind of processor; on
    another one they are compiled again. The exit code is 1 if they cannot be kept.
    """
    from ocboost._kernels.compilations import COMPILATIONS

    console = results()
    COMPILATIONS.tell = None  # it is expected here
    with TemporaryDirectory(prefix="ocboost-warmup-") as folder:
        for title, work in _WORK.items():
            compiled, began = COMPILATIONS.compiled, time.perf_counter()
            try:
                with _quietly():
                    work(Path(folder))
            except MissingExtraError as error:
                console.print(f"{title}: left out. {error}", soft_wrap=True)
                continue
            console.print(
                f"{title}: {COMPILATIONS.compiled - compiled:,} kernels compiled, "
                f"{time.perf_counter() - began:.1f} s",
                soft_wrap=True,
            )
    places = " and ".join(f"'{place}'" for place in sorted(COMPILATIONS.folders))
    if COMPILATIONS.unsaved:
        raise OcboostError(
            f"{COMPILATIONS.unsaved:,} of {COMPILATIONS.compiled:,} kernels could not be kept, so every "
            f"process compiles them again: {places or 'the cache folder'} cannot be written. Set "
            "NUMBA_CACHE_DIR to a folder that can, here and where ocboost runs."
        )
    console.print(
        f"Compiled {COMPILATIONS.compiled:,} kernels, and found {COMPILATIONS.loaded:,} compiled already, "
        f"for the processor {_processor()}. They are in {places}.",
        soft_wrap=True,
    )
    return 0


def _processor() -> str:
    import llvmlite.binding as llvm
    import numba

    config: Any = numba.config
    return str(config.CPU_NAME or llvm.get_host_cpu_name())


@contextmanager
def _quietly() -> Iterator[None]:
    """Let nothing of what the commands print be seen."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    with redirect_stdout(out), redirect_stderr(out):
        yield


def _run(*words: object) -> None:
    """Run a command on small data."""
    from ocboost.cli.app import run

    code = run([str(word) for word in words])
    if code:
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {code}")


def _stream(folder: Path, n_classes: int, n: int = 400) -> Path:
    """A small stream: numbers, gaps and a text, drawn from a seed."""
    import numpy as np

    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 5))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], np.linspace(-0.8, 0.8, n_classes + 1)[1:-1])
    lines = ["a,b,c,d,e,f,y"]
    for row, label, gap in zip(X, y, rng.random(n) < 0.1, strict=True):
        numbers = ",".join(f"{value:.3f}" for value in row[:4])
        lines.append(f"{numbers},{'' if gap else f'{row[4]:.3f}'},{'uvw'[int(label) % 3]},class{label}")
    path = folder / f"stream-{n_classes}-{n}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _cycle(folder: Path, data: Path, *options: object) -> None:
    """Fit, adapt and predict."""
    model, adapted = folder / "model.ocb", folder / "adapted.ocb"
    _run("fit", data, "--label", "y", "--out", model, "--hypotheses", 30, "--rows", 200, *options)
    _run("adapt", model, data, "--out", adapted)
    _run("predict", adapted, data)
    _run("explain", adapted, data)


def _adaptive(folder: Path) -> None:
    for n_classes in (2, 3):
        data = _stream(folder, n_classes)
        _cycle(folder, data)
        with suppress(MissingExtraError):  # pictures on the page
            more = ("--predictions", folder / "predictions.csv", "--report", folder / "page.html")
            _run("adapt", folder / "model.ocb", data, "--out", folder / "adapted.ocb", "--again", *more)


def _methods(folder: Path) -> None:
    for n_classes in (2, 3):
        data = _stream(folder, n_classes)
        for method in (*WARMED_METHODS, *LINEAR):
            _cycle(folder, data, "--method", method)
    data = _stream(folder, 2)
    for options in (("--learner", "ball"), ("--window", 50), ("--head", 50), ("--grow", 40)):
        if options[0] != "--learner":
            _cycle(folder, data, *options)
    complete = folder / "complete.csv"
    lines = data.read_text(encoding="utf-8").splitlines()
    complete.write_text("\n".join(line for line in lines if ",," not in line) + "\n", encoding="utf-8")
    _cycle(folder, complete, "--learner", "ball", "--drop", "f")


def _comparison(folder: Path) -> None:
    _run("evaluate", _stream(folder, 2), "--label", "y", "--out", folder / "report", "--start", 100)


def _service(folder: Path) -> None:
    """What `ocboost serve` does with a row and its label."""
    from ocboost.live import Adapter

    model = folder / "served.ocb"
    data = _stream(folder, 2)
    _run("fit", data, "--label", "y", "--out", model, "--rows", 200)
    rows: list[dict[str, Any]] = [
        {"a": 0.1 * i, "b": -0.2, "c": 0.3, "d": 0.4, "e": None if i % 5 else 0.1, "f": "u"}
        for i in range(1, 21)
    ]
    with Adapter(model, folder / "state") as adapter:
        for row in rows:
            ids = adapter.predict([row]).ids or []
            adapter.label([{"id": ids[0], "label": "class0" if row["a"] > 1 else "class1"}])


def _fleets(folder: Path) -> None:
    data, model = _stream(folder, 2), folder / "model.ocb"
    _run("fit", data, "--label", "y", "--out", model, "--hypotheses", 30, "--method", "ocb", "--drop", "f")
    _run("fleet", "adapt", model, data, "--key", "f", "--store", folder / "fleet")
    _run("fleet", "predict", folder / "fleet", data, "--key", "f")


def _detectors(folder: Path) -> None:
    import numpy as np

    from ocboost.cascade import StageAdapter, WholeAdapter, detect, read_cascade
    from ocboost.cascade.measure import measure_cascade

    path = folder / "detector.xml"
    path.write_text(DETECTOR, encoding="utf-8")
    cascade = read_cascade(path).cascade
    rng = np.random.default_rng(0)
    windows = rng.integers(0, 200, (1200, 20, 20), np.uint8)
    labels = np.where(rng.random(1200) < 0.5, 1, -1).astype(np.int8)
    windows[labels > 0, 6:10, 8:12] += 50
    for adapter in (WholeAdapter(cascade), StageAdapter(cascade)):
        adapter.update(windows, labels)
        adapter.adapted()
    measure_cascade("detector", cascade, windows[:100], windows[100:200])
    detect(cascade, rng.integers(0, 256, (64, 96), np.uint8))


_WORK: dict[str, Callable[[Path], None]] = {
    "fit, adapt, predict and explain": _adaptive,
    "other methods": _methods,
    "evaluate and compare": _comparison,
    "serve": _service,
    "fleet": _fleets,
    "cascade": _detectors,
}
