"""Opening a state folder: the checkpoint, and the journal after it."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ocboost._core.codec import read
from ocboost._core.file_format import load, to_bytes
from ocboost._core.file_lock import HeldError, locked
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.live.clock import LiveClock, system_time
from ocboost.live.journal import Journal, as_storage_error
from ocboost.live.state import STATE_KIND, LiveState
from ocboost.live.versions import Versions, load_model
from ocboost.live.writer import CHECKPOINT_NAME

JOURNAL_NAME = "journal.db"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make a state folder if it is not there, and hold its lock."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it will hold rows
    except FileExistsError:
        raise InputError(f"state must be a folder; '{folder}' is a file. Give another name.") from None
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / "state"))
        except HeldError as error:
            who = re.search(r", process \d+", str(error))
            raise HeldError(
                f"'{folder}' is in use by another model in service{who[0] if who else ''}. Stop that one, or "
                "give another state folder."
            ) from None
        yield


def open_state(folder: Path, model: Model, opened: ExitStack) -> tuple[Journal, LiveState, LiveClock, int]:
    """The journal, the state and the clock of a folder, whose lock is held; new ones if it is empty.

    The last is the entry that the checkpoint was at: those after it were replayed.
    """
    journal = Journal(folder / JOURNAL_NAME)
    opened.callback(journal.close)
    clock = LiveClock(journal.fact("clock"), journal.fact("system_clock"))
    digest = hashlib.sha256(to_bytes(model.kind, model.tree())).hexdigest()
    known = journal.fact("model")
    if known is not None and known != digest:
        raise InputError(
            f"'{folder}' belongs to another model than the one given. Give the model that it began with, or "
            "another state folder."
        )
    if known is None:
        journal.set_facts({"model": digest, "began": system_time()})
    began = journal.fact("began")
    state = state_at_checkpoint(folder)
    if state is None:
        if journal.first_seq > 1:
            raise InputError(
                f"'{folder / CHECKPOINT_NAME}' is missing, and the journal has lost its first entries. "
                "Put the checkpoint back, or begin with another state folder."
            )
        state = LiveState(model, Versions(folder / "versions"), began)
    if not state.seq + 1 >= journal.first_seq:
        raise InputError(
            f"'{folder / CHECKPOINT_NAME}' is older than the journal beside it. Put the right one back, or "
            "begin with another state folder."
        )
    if state.seq > journal.last_seq:
        raise InputError(
            f"'{folder / JOURNAL_NAME}' is older than the checkpoint beside it. Put the right one back, or "
            "begin with another state folder."
        )
    replayed_from = state.seq
    for entry in journal.entries(replayed_from):
        state.apply(entry)
    try:
        state.versions.flush()
    except OSError as error:
        raise as_storage_error(
            error,
            f"'{state.versions.folder}' cannot be written",
            "Make the folder writable, or give another state folder.",
        ) from error
    return journal, state, clock, replayed_from


def state_at_checkpoint(folder: Path) -> LiveState | None:
    """What the checkpoint of a folder holds; None if there is none."""
    place = folder / CHECKPOINT_NAME
    if not place.exists():
        return None
    versions = Versions(folder / "versions")
    return read(
        load(place, STATE_KIND), os.fspath(place), lambda fields: LiveState.from_tree(fields, versions)
    )


def replay(folder: str | os.PathLike[str]) -> LiveState:
    """The state of a folder, found from its whole journal alone, beginning with what was deployed.

    Compare its ``LiveState.model_bytes`` with what the service had: they are the same. Nobody else may use
    the folder meanwhile. The journal must still have its first entry (``keep_labels``).

    Parameters
    ----------
    folder : path
        Of an `Adapter`.

    Returns
    -------
    LiveState
        The state after the last entry.

    Raises
    ------
    InputError
        If the journal no longer has its first entry.
    """
    place = Path(folder)
    journal = Journal(place / JOURNAL_NAME)
    try:
        if journal.first_seq > 1:
            raise InputError(
                f"the journal of '{place}' must have every entry to be replayed; those before "
                f"{journal.first_seq:,} are gone. Keep more: keep_labels."
            )
        began = journal.fact("began")
        with tempfile.TemporaryDirectory() as spare:
            model = load_model((place / "versions" / "000000.ocb").read_bytes(), "version 0")
            state = LiveState(model, Versions(Path(spare) / "versions"), began)
            for entry in journal.entries():
                state.apply(entry)
            return state
    finally:
        journal.close()
