"""``ocboost sample``: a stream to try things on."""

from __future__ import annotations

from pathlib import Path

from ocboost.cli.options import Flag
from ocboost.cli.terminal import after_writing, results
from ocboost.errors import InputError

FIRST_FILE, LATER_FILE = "first.csv", "later.csv"
N_FIRST, N_LATER, CHANGES_AT = 2_000, 4_000, 2_000


def sample(folder: Path, /, *, seed: int = 0, overwrite: Flag = False) -> int:
    """Write a stream to try things on: first.csv and later.csv.

    For example:
        ocboost sample loans
        ocboost fit loans/first.csv --label late --out model.ocb
        ocboost adapt model.ocb loans/later.csv --out adapted.ocb

    The rows are loans, and made up. first.csv has 2,000 of them to fit a model on,
    later.csv 4,000 that come afterwards: from its row 2,001 on interest rates are
    higher, and other loans are late than before.

    Parameters
    ----------
    folder
        The folder to write to; it is made if it is not there.
    seed
        Another seed draws other loans.
    overwrite
        Replace the files if they are there.
    """
    from ocboost._core.checks import as_count
    from ocboost._core.file_format import write_atomically
    from ocboost.datasets.sample import as_csv, loans

    seed = as_count(seed, "--seed", 0, None, "It is where the drawing begins.")
    paths = folder / FIRST_FILE, folder / LATER_FILE
    there = [str(path) for path in paths if path.exists()]
    if there and not overwrite:
        raise InputError(
            f"the folder must not hold a sample yet; got {' and '.join(there)}. "
            "Give another folder, or --overwrite to replace them."
        )
    columns, late, _ = loans(N_FIRST + N_LATER, changes_at=N_FIRST + CHANGES_AT, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    with after_writing("the sample", folder) as written:
        write_atomically(paths[0], as_csv(columns, late, slice(0, N_FIRST)))
        write_atomically(paths[1], as_csv(columns, late, slice(N_FIRST, None)))
        written()
        console = results()
        console.print(f"Wrote {paths[0]}: {N_FIRST:,} loans, and whether each was paid late", soft_wrap=True)
        console.print(f"Wrote {paths[1]}: the {N_LATER:,} that came later", soft_wrap=True)
        console.print(
            f"From row {CHANGES_AT + 1:,} of that on, other loans are late than before.", soft_wrap=True
        )
    return 0
