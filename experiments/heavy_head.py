"""What keeping heavy examples gains: error to AdaBoost in equal bytes, beside keeping the newest.

    python experiments/heavy_head.py [--quick] [--data DIR] [--only PARTS] [--cache DIR] [--out DIR]

Each part is a file `experiments/parts/heavy_*.py` that says what it does: columns and hard (independent weak
columns, and adversarial inputs), streams (stumps on real streams that drift, in equal bytes),
shards (sketches merged), faces and mnist (the paper's hypotheses), curve (error against memory, with its
figure), and accuracy (classifiers that follow the streams of `streams.py`). Tables go to stdout, everything
measured to heavy_PART.json in the folder of results.
`--quick` is smaller throughout, to check that it runs, and writes only if `--out` is given.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from parts import (
    heavy_accuracy,
    heavy_columns,
    heavy_curve,
    heavy_curve_figure,
    heavy_faces,
    heavy_mnist,
    heavy_shards,
    heavy_streams,
)
from parts.heavy_margins import Folders

OUT = Path(__file__).parent / "results"
PARTS: dict[str, Callable[[bool, Folders], Iterator[dict[str, Any]]]] = {
    "columns": heavy_columns.measure,
    "hard": heavy_columns.measure_hard,
    "streams": heavy_streams.measure,
    "shards": heavy_shards.measure,
    "faces": heavy_faces.measure,
    "mnist": heavy_mnist.measure,
    "curve": heavy_curve.measure,
    "accuracy": heavy_accuracy.measure,
}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller throughout")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("OCBOOST_DATA"),
        help="holds streams/, mnist/ and faces/",
    )
    parser.add_argument("--cache", type=Path, help="stores the answers of stumps, balls and filters")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--out", type=Path, help="folder for the results")
    options = parser.parse_args()
    folders = Folders(Path(options.data) if options.data else None, options.cache)
    out = OUT if options.out is None and not options.quick else options.out
    names = options.only.split(",")
    for name in names:
        if name not in PARTS:
            parser.error(f"--only must name some of {', '.join(PARTS)}; got {name!r}")
    for name in names:
        record = list(PARTS[name](options.quick, folders))
        if out is None or not record:
            continue
        out.mkdir(parents=True, exist_ok=True)
        (out / f"heavy_{name}.json").write_text(
            json.dumps(record, allow_nan=False).replace("}, {", "},\n {") + "\n"
        )
        if name == "curve":
            heavy_curve_figure.write(record, out if options.out else heavy_curve_figure.FOLDER)


if __name__ == "__main__":
    main()
