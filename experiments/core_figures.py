"""How close the boosting sketch is to AdaBoost: the figures of the documentation, measured again.

    python experiments/core_figures.py [--data DIR] [--only columns,insects,merge,order,mnist]
                                       [--seeds N] [--out FILE]

Seeded; tables go to stdout, progress to stderr, and everything measured to a JSON file. A part whose data
are missing is skipped with a note.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from parts import columns, insects, merge, mnist, order
from parts.common import MissingDataError, Options, Table

import ocboost
from ocboost._report.output import OutputFolder, to_json

PARTS = {
    "columns": columns.run,
    "insects": insects.run,
    "merge": merge.run,
    "order": order.run,
    "mnist": mnist.run,
}
OUT = Path(__file__).parent / "results" / "core_figures.json"


def plain(table: Table) -> str:
    """A table as text."""
    lines = [table.header, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.header))]
    text = [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
    return "\n".join([table.title, text[0], "  ".join("-" * width for width in widths), *text[1:]])


def show(table: Table) -> None:
    """Print a table, with rich if that is installed."""
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        print(plain(table), end="\n\n")
        return
    rich = RichTable(box=box.SIMPLE_HEAD)
    for i, name in enumerate(table.header):
        rich.add_column(name, justify="right" if i else "left")
    for row in table.rows:
        rich.add_row(*row)
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 110)
    console.print(table.title, style="bold")  # a title of the table itself would be wrapped to its width
    console.print(rich)


def parts_named(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in PARTS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"must be some of {','.join(PARTS)}, with commas; got {text!r}")
    return names


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="How close the boosting sketch is to AdaBoost.")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("OCBOOST_DATA") or None,
        help="folder with streams/ and mnist/ (default: $OCBOOST_DATA)",
    )
    parser.add_argument(
        "--only", type=parts_named, default=list(PARTS), help=f"some of {','.join(PARTS)} (default: all)"
    )
    parser.add_argument(
        "--seeds", type=count, help="seeds of every seeded part (default: 9, merge 8, order 5)"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="the JSON file (default: %(default)s)")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run the parts; 1 if none could be run, 2 if the results cannot be written, 130 on Ctrl-C."""
    options = arguments(given)
    settings = Options(options.data, options.seeds)
    measured, skipped = {}, {}
    try:
        with OutputFolder(options.out.parent, [options.out.name]) as folder:
            for name in options.only:
                begun = time.perf_counter()
                try:
                    figures = PARTS[name](settings)
                except MissingDataError as error:
                    skipped[name] = str(error)
                    print(f"{name} is skipped: {error}.\n")
                    continue
                seconds = round(time.perf_counter() - begun, 1)
                for table in figures.tables:
                    show(table)
                for remark in figures.remarks:
                    print(remark)
                print(f"({name}: {seconds:.0f} s)\n", flush=True)
                measured[name] = {**figures.record, "seconds": seconds}
            if not measured:
                print("Nothing was measured, so nothing is written.")
                return 1
            record = {
                "versions": {
                    "python": platform.python_version(),
                    "ocboost": ocboost.__version__,
                    **{name: version(name) for name in ("numpy", "numba", "scikit-learn")},
                },
                "threads": ocboost.get_num_threads(),
                "parts": measured,
                "skipped": skipped,
            }
            for path in folder.write({options.out.name: to_json(record)}):
                print(f"Written: {path}")
    except (ocboost.InputError, OSError) as error:
        print(f"core_figures: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("core_figures: interrupted; no result was written.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
