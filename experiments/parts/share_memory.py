"""Error and memory of the paper's own update and of MOA's OCBoost, beside the curve of `heavy_curve.py`.

Both keep two sums for each pair of hypotheses and no example. The paper's update has its sign corrected,
order 400 as in the paper (fewer where there are fewer hypotheses), and starts from AdaBoost on the first
5,000 examples, as the paper's does. MOA's has its defaults, then its largest smoothing, and starts from
nothing, as it can do nothing else. It is stopped when a weight is NaN or infinite, as it stays so. Twenty
columns, as many as in the paper's first experiment, are few enough for MOA; there the lines of the curve
are measured too.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ocboost import BoostingSketch, InputError, OzaRussell, approximation_error

from .heavy_common import Exact, run, show
from .heavy_curve import LINES
from .heavy_curve import subjects as curve_subjects
from .heavy_margins import Folders, columns

PAPER, MOA = "the paper", "MOA"
START, ORDER = 5_000, 400
BLOCK = 1_000  # examples between two looks at MOA's weights


SIZES = tuple(2**k for k in range(12, 20))  # 4 KiB to 512 KiB, for the twenty columns


def subjects(quick: bool, folders: Folders) -> Iterator[tuple[str, str, Any]]:
    """Those of the curve, and twenty columns."""
    yield "twenty", "Columns", lambda: columns(20, 6_000 if quick else 30_000, 0)
    yield from curve_subjects(quick, folders)


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Both methods on every subject; MOA's only where Java and its jar are found."""
    for key, heading, make in subjects(quick, folders):
        exact = Exact(make())
        n, J = exact.margins.shape
        about = {"subject": key, "heading": heading, "J": J, "n": n}
        print(f"{heading}: {J} hypotheses, {n:,} examples; error at the end")
        wanted = exact.alpha(n)
        paper = BoostingSketch.from_margins(
            exact.margins[:START], order=min(ORDER, J), correction="theorem", head=1
        )
        paper.update_many(exact.margins[START:], batch_size=1)
        error = approximation_error(wanted, paper.alpha)
        yield show(PAPER, [error], size=paper.nbytes, line=PAPER, diverged=paper.diverged, **about)
        if key == "twenty":
            yield from _curve(exact, about)
        for smoothing in (None, "100"):
            found = moa_weights(exact.margins, smoothing)
            if found is None:
                break
            alpha, seen = found
            lost = int((~np.isfinite(alpha)).sum())
            error = None if lost else approximation_error(wanted, alpha)
            size = 2 * J * J * 8  # two sums of a double for each pair
            name = MOA if smoothing is None else f"{MOA}, largest smoothing"
            print(
                f"  {name}: error {error}, {lost} of {J} weights not finite after {seen:,} examples",
                flush=True,
            )
            yield {
                "name": name,
                "errors": [error],
                "bytes": size,
                "line": name,
                "nan": lost,
                "seen": seen,
            } | about


def _curve(exact: Exact, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Oza and Russell, and the lines of the curve over their sizes."""
    found = run(OzaRussell(about["J"]), exact, [about["n"]])
    yield show("Oza and Russell", *found, line="Oza and Russell", **about)
    for line, options in LINES.items():
        if "order" in options:
            continue
        for memory in SIZES:
            try:
                sketch = BoostingSketch(about["J"], memory=memory, **options)
            except InputError:
                continue  # it does not fit
            found = run(sketch, exact, [about["n"]])
            yield show(f"{line}, {memory // 1024} KiB", *found, line=line, memory=memory, **about)
            if sketch.n_head == about["n"]:
                break


def moa_weights(margins: np.ndarray, smoothing: str | None) -> tuple[np.ndarray, int] | None:
    """The weights of MOA's OCBoost, and after how many examples; None without Java or MOA."""
    from harness import UnavailableError  # of benchmarks/
    from peers import moa

    n, J = margins.shape
    try:
        path = os.pathsep.join([str(moa.classes()), str(moa.jar())])
    except UnavailableError as error:
        print(f"  skipped: {error}")
        return None
    labels = np.where(np.random.default_rng(0).random(n) < 0.5, 1, -1).astype(np.int8)
    rows = np.hstack([margins * labels[:, None], labels[:, None]]).astype(np.int8)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "margins.bin"
        data.write_bytes(np.array([n, J], dtype=">i4").tobytes() + rows.tobytes())
        words = [
            "java",
            "-XX:+UseSerialGC",
            "-Xmx4g",
            "-cp",
            path,
            "MoaDriver",
            str(data),
            "ocboost",
            "shared",
        ]
        with subprocess.Popen(
            [*words, *([] if smoothing is None else [smoothing])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            alpha, seen = np.zeros(J), 0
            while seen < n and np.isfinite(alpha).all():  # what is not finite stays so
                count = min(BLOCK if seen else 100, n - seen)
                seen += count
                print(f"{count} 0\nweights", file=process.stdin, flush=True)
                process.stdout.readline()
                alpha = np.array(process.stdout.readline().split(), dtype=float)
            process.stdin.close()
        return alpha, seen
