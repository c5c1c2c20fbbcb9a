"""Whether everything that is written can be read: random sequences of operations with extreme settings.

Each sequence takes two copies of a model through learning, forgetting, merging, reshaping and other
operations. One of them is written to a file and read again before every step. Both must have the same bytes
all the time, and what was read must be written as the same bytes again. Half of the sequences are of
`BoostingSketch`, the others of all further kinds of models that have files, in turn. The operations are
those of ``tests/support/sequences.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.sequence_draws import NumpyDraw
from tests.support.sequences import KINDS, follow

MAX_STEPS = 14
MEMORY = Path("/dev/shm")  # on a disk, syncing each file would take ten times as long as all the rest


def kind_of(number: int) -> str:
    """Every other sequence is of sketches."""
    first, *others = KINDS
    return first if number % 2 == 0 else others[number // 2 % len(others)]


def main() -> int:
    """Run the sequences; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first one, to repeat one that failed")
    parser.add_argument("--folder", type=Path, default=MEMORY if MEMORY.is_dir() else None)
    options = parser.parse_args()
    sequences, steps, failed = Counter[str](), Counter[str](), Counter[str]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for number in range(options.first, options.first + options.sequences):
            rng, kind = np.random.default_rng(number), kind_of(number)
            sequences[kind] += 1
            try:
                n_steps = int(rng.integers(1, MAX_STEPS + 1))
                steps[kind] += follow(NumpyDraw(rng), kind, n_steps, Path(folder) / "model") - 1
            except Exception as error:  # all failures are counted and reported
                failed[kind] += 1
                notes = "".join(f"\n    {note}" for note in getattr(error, "__notes__", []))
                print(f"sequence {number}: {type(error).__name__}: {error}{notes}", flush=True)
    print(f"{'':20}{'sequences':>10}{'operations':>12}{'failed':>8}")
    for kind in KINDS:
        print(f"{kind:20}{sequences[kind]:10,}{steps[kind]:12,}{failed[kind]:8,}")
    print(f"{'all':20}{sequences.total():10,}{steps.total():12,}{failed.total():8,}")
    print(f"{time.monotonic() - began:.0f} seconds")
    return 1 if failed.total() else 0


if __name__ == "__main__":
    sys.exit(main())
