"""``ocboost fleet``: a model for every key, in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ocboost.cli.files import check_out
from ocboost.cli.fleet_adapt import adapt
from ocboost.cli.fleet_info import info
from ocboost.cli.fleet_predict import predict
from ocboost.cli.fleet_shared import KeyName, StoreFolder, as_bytes, as_text, counted, opened_store
from ocboost.cli.terminal import after_writing, results, say
from ocboost.errors import InputError

ABOUT = """Keep a model for every customer, device or other key: shared hypotheses, weights of their own.

Predict each row, then learn it for its key and for all:
    ocboost fleet adapt model.ocb stream.csv --key customer --store store/

Predict other rows, also while another process learns:
    ocboost fleet predict store/ new.csv --key customer > predictions.csv

How it does, and which keys it does worst with:
    ocboost fleet info store/

One key's model as an ordinary one:
    ocboost fleet export store/ 4711 --out 4711.ocb

The store is a folder, with the model it began with inside. It needs the package
lmdb, which ocboost's extra fleet installs.
"""
MAX_DAMAGED_SHOWN = 100

app = App(name="fleet", help=ABOUT, help_format="plaintext")
app.command(adapt)
app.command(predict)
app.command(info)


@app.command
def export(store: StoreFolder, key: KeyName, /, *, out: Path) -> int:
    """Write the model of one key to a file, as any other model.

    For example:
        ocboost fleet export store/ 4711 --out 4711.ocb
        ocboost predict 4711.ocb new.csv

    The store is only read, also while `ocboost fleet adapt` learns.

    Parameters
    ----------
    out
        The file for the model.
    """
    from ocboost.deployment.model import Model

    check_out(out)
    path, wanted = Path(store), as_bytes(key)
    with after_writing("the model", out) as written, opened_store(path, read_only=True) as fleet:
        if wanted not in fleet:
            raise InputError(f"key must be one that '{path}' holds; there is no {as_text(wanted)!r:.80}.")
        deployed = fleet.model
        model = Model(fleet.export(wanted), deployed.schema, deployed.history)
        model.save(out)
        written()
        results().print(f"Wrote {out}", soft_wrap=True)
    return 0


@app.command
def drop(
    store: StoreFolder,
    keys: Annotated[list[str], Parameter(allow_leading_hyphen=True, negative="", help="Keys to forget.")],
    /,
) -> int:
    """Forget keys: what they have learnt of their own is removed, and they begin anew.

    For example:
        ocboost fleet drop store/ 4711 4712

    What was learnt from their rows for all keys together stays. Their room is used
    again; `ocboost fleet compact` gives it back to the disk.

    If a key is not there, the others are dropped, and the exit code is 1.
    """
    path = Path(store)
    wanted = list(dict.fromkeys(map(as_bytes, keys)))
    with after_writing("the change", path) as written, opened_store(path, read_only=False) as fleet:
        unknown = [key for key in wanted if key not in fleet]
        dropped = fleet.drop([key for key in wanted if key in fleet])
        written()
        results().print(f"Dropped {counted(dropped, 'key')}; {len(fleet):,} are left.", soft_wrap=True)
        if unknown:
            named = ", ".join(f"{as_text(key)!r:.80}" for key in unknown[:20])
            more = f" and {len(unknown) - 20:,} more" if len(unknown) > 20 else ""
            say(f"'{path}' does not hold {named}{more}.")
            return 1
    return 0


@app.command
def verify(store: StoreFolder, /) -> int:
    """Read everything in a store, and name the keys whose records are damaged.

    For example:
        ocboost fleet verify store/

    The exit code is 1 if there are any. The store is only read.
    """
    path = Path(store)
    with opened_store(path, read_only=True) as fleet:
        n, damaged = len(fleet), fleet.verify()
    if not damaged:
        results().print(f"{path} is as it should be: {counted(n, 'key')}.", soft_wrap=True)
        return 0
    console = results()
    for key, reason in damaged[:MAX_DAMAGED_SHOWN]:
        console.print(f"{as_text(key)}: {reason}", soft_wrap=True)
    if len(damaged) > MAX_DAMAGED_SHOWN:
        console.print(f"… and {len(damaged) - MAX_DAMAGED_SHOWN:,} more", soft_wrap=True)
    say(
        f"{counted(len(damaged), 'key')} of {n:,} in '{path}' are damaged. Put back a copy of the store, or "
        "give them up with `ocboost fleet drop`: they begin anew, from the deployed model."
    )
    return 1


@app.command
def compact(store: StoreFolder, /) -> int:
    """Write a store anew without the room that is not in use, such as that of dropped keys.

    For example:
        ocboost fleet compact store/

    For a moment both are on the disk. Whoever reads the store goes on reading the
    old one until it is opened again; nobody may learn meanwhile.
    """
    path = Path(store)
    with after_writing("the store", path) as written, opened_store(path, read_only=False) as fleet:
        before, after = fleet.compact()
        written()
        results().print(f"{path}: {before:,} bytes before, {after:,} now.", soft_wrap=True)
    return 0
