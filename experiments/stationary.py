"""Whether every online method reaches its batch counterpart on data that do not change.

    python experiments/stationary.py [--data DIR] [--only sea,agrawal,rbf,hyperplane,cancer,digits,mnist]
                                     [--seeds N] [--jobs N] [--share S] [--out DIR] [--read FILE]

Each method sees a stream once, in order. Its counterpart learns from the same rows in batch, and again from
another sample of the same size, which shows how much batch training itself varies. Tables go to stdout,
everything measured to experiments/results/stationary.json, and the page to docs/stationary.md; with --out
both go there. --read writes the page again from such a JSON file, without a run. MNIST is skipped where its
files are not there.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from parts.common import MissingDataError, Options
from parts.stationary_data import SOURCES, require, split
from parts.stationary_page import page, tables

import ocboost
from ocboost._report.output import OutputFolder, to_json, versions

HERE = Path(__file__).parent
RESULTS, DOCS = HERE / "results", HERE.parent / "docs"
JSON, PAGE = "stationary.json", "stationary.md"


def one(name: str, data: Path | None, seed: int, share: float) -> list[dict[str, Any]]:
    """All methods on one data set with one seed."""
    from parts.stationary_methods import outcomes

    ocboost.set_num_threads(1)
    began = time.perf_counter()
    found = [vars(outcome) for outcome in outcomes(name, split(name, data, seed, share), seed)]
    print(f"{name}, seed {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def measured(names: Sequence[str], given: argparse.Namespace) -> dict[str, Any]:
    """Every data set with every seed: lists over the seeds, for each method."""
    work = [(name, seed) for name in names for seed in range(given.seeds)]
    found = Parallel(given.jobs)(delayed(one)(name, given.data, seed, given.share) for name, seed in work)
    record: dict[str, Any] = {name: {} for name in names}
    for (name, _), outcomes in zip(work, found, strict=True):
        for outcome in outcomes:
            method = outcome.pop("method")
            for key, value in outcome.items():
                record[name].setdefault(method, {}).setdefault(key, []).append(value)
    return record


def data_sets(text: str) -> list[str]:
    """The data sets of a comma-separated list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not set(names) <= set(SOURCES):
        raise argparse.ArgumentTypeError(f"must be some of {','.join(SOURCES)}, with commas; got {text!r}")
    return names


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("OCBOOST_DATA")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder with mnist/ ($OCBOOST_DATA)"
    )
    parser.add_argument("--only", type=data_sets, default=list(SOURCES), help="some of the data sets")
    parser.add_argument("--seeds", type=int, default=5, help="at least 2 (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, to try it out")
    parser.add_argument("--out", type=Path, help="folder for both files")
    parser.add_argument("--read", type=Path, help="a JSON file to write the page from")
    options = parser.parse_args(given)
    if options.seeds < 2:
        parser.error(f"--seeds must be at least 2, to know a spread; got {options.seeds}")
    if not 0.0 < options.share <= 1.0:
        parser.error(f"--share must be above 0 and at most 1; got {options.share}")
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Run it; 1 if nothing could be run."""
    options = arguments(given)
    results, docs = (options.out, options.out) if options.out else (RESULTS, DOCS)
    with OutputFolder(results, [JSON]) as folder, OutputFolder(docs, [PAGE]) as beside:
        if options.read:
            record = json.loads(options.read.read_text())
        else:
            names = []
            for name in options.only:
                try:
                    require(name, Options(options.data))
                    names.append(name)
                except MissingDataError as error:
                    print(f"{name} is skipped: {error}.")
            if not names:
                print("Nothing was measured, so nothing is written.")
                return 1
            record = {
                "seeds": options.seeds,
                "share": options.share,
                "data": measured(names, options),
                "versions": versions("scikit-learn", "scipy", "river"),
            }
            folder.write({JSON: to_json(record)})
        for table in tables(record):
            print(f"{table}\n")
        for path in beside.write({PAGE: page(record).encode()}):
            print(f"Written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
