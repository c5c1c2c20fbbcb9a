"""Damaged annotations and detectors: each is refused with a word on the file, or read right.

Annotations of COCO, Pascal VOC, YOLO, CSV and OpenCV's info.dat and bg.txt, and detectors as OpenCV's XML:
bits flipped, lines and words dropped, repeated and swapped, other numbers, other encodings, entities, files
cut short. Right are annotations that give the pictures and boxes that plain loops over the same bytes give
(``tests/naive/annotations.py``), and detectors that find in a picture what OpenCV finds with the same file.
The mutations are those of ``tests/support/mutated_annotations.py``. Files are read in another process, with a
limit of time and memory for each.

    python experiments/mutated_annotations.py --files 5000 --seed 0

Without OpenCV, detectors are only read. Exits with 1 if anything else happened to any of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ocboost.cascade import detect, read_cascade, stage_sums
from ocboost.errors import InputError, ModelFileError
from tests.support.cascades import as_xml, noise, random_cascade
from tests.support.judged_annotations import MutatedSet, Verdict, expected, judge
from tests.support.mutated_annotations import KINDS, Mutations, marks, valid_files, write_pictures

SECONDS = 20.0  # for one file, on a busy machine
GIGABYTES = 6  # of address space; the libraries alone take two
LOOKED_AT = (72, 96)  # height and width of the picture
FACTOR = 1.3
RESULTS = Path(__file__).parent / "results" / "mutated_annotations.json"
SHARE_OF_LARGE = 0.1  # of the detectors


class Reader:
    """A process that reads files; one that hangs or crashes is replaced."""

    def __init__(self, read: Callable[..., Any], *warm: Any) -> None:
        self._read, self._warm = read, warm
        self._process: Any = None
        self.grown = 0

    def __call__(self, *given: Any) -> Any:
        """What reading gives, or a text in brackets: what happened instead."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._read, self._warm, theirs), daemon=True)
            self._process.start()
            theirs.close()
            self._pipe.recv()
        self._pipe.send(given)
        try:
            if self._pipe.poll(SECONDS):
                found, grown = self._pipe.recv()
                self.grown = max(self.grown, grown)
                return found
            what = f"[no end after {SECONDS:g} s]"
        except EOFError:
            what = "[the process ended]"
        self.end()
        return what

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(read: Callable[..., Any], warm: tuple[Any, ...], pipe: Any) -> None:
    if warm:
        read(*warm)
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    before = _megabytes()
    pipe.send(None)
    while True:
        found = read(*pipe.recv())
        pipe.send((found, _megabytes() - before))


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


# Annotations ------------------------------------------------------------------------------------------------


def annotations(kind: str, n: int, seed: int, wrong: list[str]) -> tuple[Counter[str], int]:
    """Read damaged annotations of a kind; counts, and by how many megabytes the process grew."""
    rng = random.Random(f"{seed} {kind}")
    counts: Counter[str] = Counter()
    reader = Reader(judge)
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_pictures(Path(scratch) / "set")
        some = MutatedSet(folder, kind, rng)
        some.write(valid_files(kind, marks(rng), rng))
        whole = judge(folder, kind, some.files, True)
        assert whole.outcome == "right", whole
        for number in range(n):
            what, of_folder = some.next()
            found = reader(folder, kind, some.files, of_folder)
            verdict = found if isinstance(found, Verdict) else Verdict("wrong", found)
            counts[verdict.outcome] += 1
            if verdict.outcome == "wrong":
                wrong.append(f"{kind} {number}, {what}: {verdict.what}")
            elif verdict.outcome == "refused" and _readable(kind, some.files, of_folder):
                counts["refused, but plain"] += 1
    reader.end()
    return counts, reader.grown


def _readable(kind: str, files: dict[str, bytes], of_folder: bool) -> bool:
    from tests.naive.annotations import Unreadable

    try:
        expected(kind, files, of_folder)
    except Unreadable:
        return False
    return True


# Detectors --------------------------------------------------------------------------------------------------


def picture() -> np.ndarray:
    """Noise of several sizes, in which small detectors find some."""
    rng = np.random.default_rng(3)
    total = np.zeros(LOOKED_AT)
    for size in (1, 4, 12):
        coarse = rng.normal(0, 30, (-(-LOOKED_AT[0] // size), -(-LOOKED_AT[1] // size)))
        total += np.kron(coarse, np.ones((size, size)))[: LOOKED_AT[0], : LOOKED_AT[1]]
    return (128 + total).clip(0, 255).astype(np.uint8)


def ours(path: Path) -> tuple[str, Any]:
    """What the package finds with a detector."""
    try:
        cascade = read_cascade(path).cascade
    except (InputError, ModelFileError) as error:
        return ("refused", str(error)) if str(path) in str(error) else ("wrong", f"names no file: {error}")
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error!s:.300}"
    return "read", sorted(detect(cascade, picture(), FACTOR, 0))


def opencvs(path: Path) -> tuple[str, Any]:
    """What OpenCV finds with it."""
    import cv2

    cv2.setNumThreads(1)
    cv2.utils.logging.setLogLevel(0)
    try:
        classifier = cv2.CascadeClassifier()
        if not classifier.load(str(path)):
            return "refused", ""
        found = classifier.detectMultiScale(picture(), FACTOR, 0)
    except cv2.error as error:
        return "refused", str(error)
    return "read", sorted(map(tuple, np.reshape(found, (-1, 4)).tolist()))


def valid_detectors(rng: random.Random) -> Iterator[bytes]:
    """Small detectors of stumps and trees, upright and tilted, and now and then one of OpenCV's own."""
    large = _large()
    while True:
        if large and rng.random() < SHARE_OF_LARGE:
            yield large
            continue
        seed = rng.randrange(1 << 30)
        made = random_cascade(
            seed, 9, 8, (2, 3), max_nodes=rng.choice([1, 3]), share_tilted=rng.choice([0.0, 0.5])
        )
        windows = noise(seed, 80, 8, 9)
        made = made.with_thresholds(np.quantile(stage_sums(made, windows), 0.5, axis=0))
        yield as_xml(made)


def _large() -> bytes:
    try:
        import cv2
    except ModuleNotFoundError:
        return b""
    return (Path(cv2.data.haarcascades) / "haarcascade_frontalface_alt2.xml").read_bytes()


def detectors(n: int, seed: int, wrong: list[str]) -> tuple[Counter[str], int]:
    """Read damaged detectors, here and with OpenCV."""
    rng = random.Random(f"{seed} detectors")
    counts: Counter[str] = Counter()
    made, mutations = valid_detectors(rng), Mutations(rng)
    with tempfile.TemporaryDirectory() as scratch:
        path, whole = Path(scratch) / "detector.xml", Path(scratch) / "whole.xml"
        whole.write_bytes(next(made))
        readers = [Reader(ours, whole), Reader(opencvs)]
        with_opencv = bool(_large())
        for number in range(n):
            what, data = mutations.draw(next(made), xml=True)
            path.write_bytes(data)
            found = readers[0](path)
            outcome, what_found = found if isinstance(found, tuple) else ("wrong", found)
            if outcome == "read":
                theirs = readers[1](path) if with_opencv else ("not asked", None)
                outcome, what_found = _compared(what_found, theirs)
            counts[outcome] += 1
            if outcome == "wrong":
                wrong.append(f"detector {number}, {what}: {what_found!s:.400}")
    for reader in readers:
        reader.end()
    return counts, readers[0].grown


def _compared(found: list[Any], theirs: Any) -> tuple[str, str]:
    if not isinstance(theirs, tuple):
        return "read, OpenCV crashed", theirs
    if theirs[0] != "read":
        return f"read, OpenCV {theirs[0]}", theirs[1]
    if theirs[1] != found:
        return "wrong", f"{len(found)} found, OpenCV {len(theirs[1])}: {found!s:.150} and {theirs[1]!s:.150}"
    return "right", ""


def main() -> int:
    """Read them, print a table, and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*KINDS, "detectors"])
    parser.add_argument("--out", type=Path, default=RESULTS, help="a file for the counts, as JSON")
    given = parser.parse_args()
    kinds = [*KINDS, "detectors"]
    wrong: list[str] = []
    result: dict[str, Any] = {"files": given.files, "seed": given.seed, "kinds": {}}
    for k, kind in enumerate(kinds):
        if given.only in (None, kind):
            n = given.files * (k + 1) // len(kinds) - given.files * k // len(kinds)
            read = detectors if kind == "detectors" else lambda *some, kind=kind: annotations(kind, *some)
            counts, grown = read(n, given.seed, wrong)
            counts["wrong"] += 0
            result["kinds"][kind] = {"files": n, **dict(sorted(counts.items())), "grown_mb": grown}
            print(f"{kind:>10}: {n:,} files, {dict(sorted(counts.items()))}, {grown} MB", flush=True)
    for each in wrong[:50]:
        print(ascii(each))
    print(f"{len(wrong)} wrong of {given.files:,}")
    result["wrong"] = [ascii(each) for each in wrong[:20]]
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
