"""Error against memory, newest and heavy: columns, MNIST, faces and elec2, at the end of each stream."""

from collections.abc import Iterator
from typing import Any

from ocboost import BoostingSketch, InputError, OzaRussell

from .heavy_common import Exact, run, show
from .heavy_margins import STREAMS, Folders, columns, digit, stumps, windows

LINES: dict[str, dict[str, Any]] = {
    "newest, full order": {"keep": "newest"},
    "newest, order 16": {"keep": "newest", "order": 16},
    "heavy": {"keep": "heavy"},
}
SIZES = tuple(2**k for k in range(16, 26))  # 64 KiB to 32 MiB


def subjects(quick: bool, folders: Folders) -> Iterator[tuple[str, str, Any]]:
    """A key, a heading, and what gives the margins."""
    if quick:
        yield "columns", "Columns", lambda: columns(100, 20_000, 0)
        return
    yield "columns", "Columns", lambda: columns(400, 200_000, 0)
    if folders.has("mnist"):
        yield "mnist", "MNIST, digit 8", lambda: digit(folders, 8)
    if folders.has("faces"):
        yield "faces", "Faces", lambda: windows(folders, 1)
    if folders.has(STREAMS["elec2"].file):
        yield "elec2", "elec2", lambda: stumps(folders, "elec2", 200)


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Every subject and line over the sizes; a size that a line does not fit into is left out."""
    for key, heading, make in subjects(quick, folders):
        exact = Exact(make())
        n, J = exact.margins.shape
        about = {"subject": key, "heading": heading, "J": J, "n": n}
        print(f"{heading}: {J} hypotheses, {n:,} examples; error at the end")
        found = run(OzaRussell(J), exact, [n])
        yield show("Oza and Russell", *found, line="Oza and Russell", **about)
        for line, options in LINES.items():
            for memory in SIZES:
                try:
                    sketch = BoostingSketch(J, memory=memory, **options)
                except InputError:
                    continue  # it does not fit
                found = run(sketch, exact, [n])
                yield show(f"{line}, {memory // 1024} KiB", *found, line=line, memory=memory, **about)
                if found[0][0] == 0.0 or sketch.n_head == n:
                    break  # everything fits, and so it does in more
