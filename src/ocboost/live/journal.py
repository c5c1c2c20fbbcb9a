"""Predictions that wait for their labels, and the labels in the order in which they are learnt, on disk.

One SQLite database in WAL mode with ``synchronous=FULL``: once `Journal.commit` returns, what was added
survives a power failure. Many additions share one commit.

``pending``   predictions that wait: the row, what was answered, what the adapted model said
``journal``   labels with the rows they belong to, and commands: everything the model's state depends on
``labelled``  the last labels by prediction, so that one that comes twice is recognised
``own``       ids that users gave, each with the number of its prediction
``meta``      facts about the state as a whole

Predictions are numbered. An id is the number with a keyed digest of it: one that nobody has issued is
recognised without being looked up.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ocboost.errors import InputError, StorageError, StorageFullError

APPLICATION_ID = 0x6F636231  # "ocb1"
FORMAT = 2
MAX_ID_LENGTH = 200
ROWS_PER_SWEEP = 2000  # old ones removed in one transaction
_TAG_BYTES = 5
_WAL_BYTES = 1 << 26
_COUNTERS = ("last_number", "since", "last_seq", "n_pending", "pending_bytes", "_has_own", "_oldest_at")

_SCHEMA = """
create table meta (key text primary key, value) without rowid;
create table pending (
    number integer primary key, epoch integer not null, seen integer not null, at real not null,
    said integer not null, answered integer not null, features blob not null, kept blob, shares blob
);
create table journal (
    seq integer primary key, command text, number integer, code integer, weight real, epoch integer,
    seen integer, said integer, answered integer, since integer, at real, features blob, kept blob,
    shares blob
);
create table labelled (number integer primary key, code integer not null);
create table own (id text primary key, number integer not null) without rowid;
create index own_numbers on own (number);
"""

_FROM_1 = f"""
begin;
alter table pending add column shares blob;
alter table journal add column shares blob;
pragma user_version={FORMAT};
commit;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the journal: a label to learn, or a command.

    Attributes
    ----------
    seq : int
        Its place; the first is 1.
    command : str or None
        A command as JSON; None for a label.
    number : int or None
        The number of the prediction; None if the label came with its row.
    code : int
        The class.
    weight : float
    epoch : int
        Which of the adapted models, between one rollback and the next, made the prediction.
    seen : int
        The last entry that had been applied then.
    said, answered : int
        The class that the adapted model predicted, and the one that was answered; -1 if nothing was.
    since : int
        Predictions since the label before.
    at : float
        When the label came, by the `LiveClock`.
    features : bytes
        The row, float64.
    kept : bytes or None
        What an adaptive classifier kept of its prediction.
    shares : bytes or None
        The probabilities that the adapted model gave, float32; None if it gave none.
    """

    seq: int
    command: str | None
    number: int | None
    code: int
    weight: float
    epoch: int
    seen: int
    said: int
    answered: int
    since: int
    at: float
    features: bytes
    kept: bytes | None
    shares: bytes | None = None


# epoch, seen, said, answered, features, kept, shares
Waiting = tuple[int, int, int, int, bytes, bytes | None, bytes | None]


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a prediction by its id: it waits, or it got a label, or it is gone."""

    number: int
    pending: Waiting | None
    code: int | None  # of the label it got


def as_storage_error(
    error: sqlite3.Error | OSError, what: str, advice: str = "Nothing was taken; send it again."
) -> StorageError:
    """An error of the disk or of SQLite, in ocboost's words."""
    text = str(error) or type(error).__name__
    full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or "disk is full" in text
    full = full or getattr(error, "errno", None) in (28, 27, 122)  # ENOSPC, EFBIG, EDQUOT
    if full:
        return StorageFullError(f"{what}: the disk is full. Nothing was taken; make room and send it again.")
    return StorageError(f"{what}: {text:.200}. {advice}")


class Journal:
    """The database of one state folder; one thread at a time uses it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._db = self._open()
        try:
            self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise as_storage_error(error, f"'{self._path}' cannot be used as a journal") from error
        except BaseException:
            self.close()
            raise

    def _open(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10.0)
        except sqlite3.Error as error:
            raise as_storage_error(error, f"'{self._path}' cannot be opened") from error

    def _prepare(self) -> None:
        db = self._db
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute(f"pragma journal_size_limit={_WAL_BYTES}")
        empty = db.execute("select count(*) from sqlite_master").fetchone()[0] == 0
        if empty:
            db.executescript(f"begin; {_SCHEMA} commit;")
            db.execute(f"pragma application_id={APPLICATION_ID}")
            db.execute(f"pragma user_version={FORMAT}")
        found = [db.execute(f"pragma {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if found == [APPLICATION_ID, 1]:  # of ocboost before it kept probabilities
            db.executescript(_FROM_1)
            found[1] = FORMAT
        if found != [APPLICATION_ID, FORMAT]:
            if found[0] != APPLICATION_ID:
                raise InputError(f"'{self._path}' is not a journal of ocboost. Give another state folder.")
            raise InputError(
                f"'{self._path}' has format {found[1]}, and this ocboost reads {FORMAT}. Use the ocboost "
                "that wrote it, or give another state folder."
            )
        secret = self.fact("secret")
        if secret is None:
            secret = secrets.token_bytes(16)
            self.set_facts({"secret": secret})
        self._secret: bytes = secret
        self._read_counters()

    def _read_counters(self) -> None:
        one = self._one
        highest = one(
            "select max(n) from (select max(number) n from pending union all "
            "select max(number) from labelled union all select value from meta where key='last')"
        )
        self.last_number: int = highest or 0
        self.last_seq: int = max(one("select max(seq) from journal") or 0, self.fact("last_seq") or 0)
        self.since: int = self.fact("since") or 0  # predictions since the last label
        self.n_pending: int = one("select count(*) from pending")
        self.pending_bytes: int = one(
            "select coalesce(sum(length(features) + coalesce(length(kept), 0) "
            "+ coalesce(length(shares), 0)), 0) from pending"
        )
        self._has_own = bool(one("select exists(select 1 from own)"))
        self._oldest_at: float | None = one("select at from pending order by number limit 1")

    def _one(self, query: str, values: Sequence[Any] = ()) -> Any:
        row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    # Facts ------------------------------------------------------------------------------------------------

    def fact(self, key: str) -> Any:
        """A fact, or None."""
        return self._one("select value from meta where key=?", (key,))

    def set_facts(self, facts: dict[str, Any]) -> None:
        """Set facts."""
        self._db.executemany("insert or replace into meta values (?, ?)", list(facts.items()))

    # Transactions -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction."""
        self._before = self._counters
        self._db.execute("begin immediate")

    @property
    def _counters(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _COUNTERS)

    def commit(self) -> None:
        """Make everything since `begin` durable, all of it or nothing.

        Where SQLite reports an error it may have been written all the same. Then the database is opened again
        to see: it was committed if the mark of this transaction is there.
        """
        mark = secrets.token_bytes(8)
        self.set_facts(
            {"mark": mark, "last": self.last_number, "last_seq": self.last_seq, "since": self.since}
        )
        try:
            self._db.execute("commit")
        except sqlite3.Error:
            self.reopen()
            if self.fact("mark") != mark:
                raise

    def rollback(self) -> None:
        """Undo everything since `begin`."""
        try:
            if self._db.in_transaction:
                self._db.execute("rollback")
        except sqlite3.Error:
            self.reopen()
            return
        for name, value in zip(_COUNTERS, self._before, strict=True):
            setattr(self, name, value)

    def reopen(self) -> None:
        """Close the database and open it again; what was not committed is gone."""
        self.close()
        self._db = self._open()
        self._prepare()

    def close(self) -> None:
        """Close it."""
        try:
            self._db.close()
        except sqlite3.Error as error:
            raise as_storage_error(error, f"'{self._path}' cannot be closed") from error

    # Predictions ------------------------------------------------------------------------------------------

    def id_of(self, number: int) -> str:
        """The id of a prediction's number."""
        digest = hashlib.blake2b(b"%d" % number, digest_size=_TAG_BYTES, key=self._secret)
        return f"{number:x}-{digest.hexdigest()}"

    def issued_number(self, id_: str) -> int | None:
        """The number in an id that was issued here; None for any other."""
        head, dash, tag = id_.partition("-")
        if not dash or len(tag) != 2 * _TAG_BYTES or not 0 < len(head) <= 15:
            return None
        try:
            number = int(head, 16)
        except ValueError:
            return None
        return number if secrets.compare_digest(self.id_of(number).encode(), id_.encode()) else None

    def add_pending(
        self,
        features: Sequence[bytes],
        said: Sequence[int],
        answered: Sequence[int],
        kept: Sequence[bytes | None],
        shares: Sequence[bytes],
        epoch: int,
        seen: int,
        at: float,
        ids: Sequence[str] | None,
    ) -> list[str]:
        """Add predictions, and return their ids; one of the same id, if the user gave it, is replaced."""
        first = self.last_number + 1
        numbers = range(first, first + len(features))
        for id_ in ids or ():
            self._replace(id_)
        self._db.executemany(
            "insert into pending values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (number, epoch, seen, at, *rest)
                for number, *rest in zip(numbers, said, answered, features, kept, shares, strict=True)
            ],
        )
        self.last_number += len(features)
        self.since += len(features)
        self.n_pending += len(features)
        self.pending_bytes += sum(map(len, features)) + sum(map(len, shares))
        self.pending_bytes += sum(len(each or b"") for each in kept)
        if self._oldest_at is None:
            self._oldest_at = at
        if ids is None:
            return [self.id_of(number) for number in numbers]
        self._name(ids, numbers)
        return list(ids)

    def _name(self, ids: Sequence[str], numbers: Sequence[int]) -> None:
        self._db.executemany("insert or replace into own values (?, ?)", list(zip(ids, numbers, strict=True)))
        self._has_own = True

    def _replace(self, id_: str) -> None:
        """Remove a prediction that waits under an id of the user's."""
        if self._has_own and (number := self._one("select number from own where id=?", (id_,))) is not None:
            self._remove_pending(number)

    def _remove_pending(self, number: int) -> Waiting | None:
        row: Waiting | None = self._db.execute(
            "delete from pending where number=? returning epoch, seen, said, answered, features, kept, "
            "shares",
            (number,),
        ).fetchone()
        if row is not None:
            self.n_pending -= 1
            self.pending_bytes -= sum(len(each or b"") for each in row[4:])
        return row

    # Labels -----------------------------------------------------------------------------------------------

    def take(self, id_: str) -> Found | None:
        """The prediction of an id, which no longer waits; None if nobody has issued it."""
        number = self.issued_number(id_)
        if number is None and self._has_own:
            number = self._one("select number from own where id=?", (id_,))
        if number is None or number > self.last_number:
            return None
        pending = self._remove_pending(number)
        code = None
        if pending is None:
            code = self._one("select code from labelled where number=?", (number,))
        return Found(number, pending, code)

    def new_number(self, id_: str) -> int:
        """A number for an id of the user's whose row was never predicted."""
        self.last_number += 1
        self._name([id_], [self.last_number])
        return self.last_number

    def add(self, entry: Entry) -> None:
        """Append an entry, whose ``seq`` must be the next."""
        assert entry.seq == self.last_seq + 1
        self._db.execute(
            "insert into journal values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.seq, entry.command, entry.number, entry.code, entry.weight, entry.epoch,
                entry.seen, entry.said, entry.answered, entry.since, entry.at, entry.features, entry.kept,
                entry.shares,
            ),
        )  # fmt: skip
        if entry.number is not None:
            self._db.execute("insert or replace into labelled values (?, ?)", (entry.number, entry.code))
        if entry.command is None:
            self.since = 0
        self.last_seq = entry.seq

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The entries that follow one of this ``seq``, in order."""
        for row in self._db.execute("select * from journal where seq > ? order by seq", (after,)):
            yield Entry(*row)

    @property
    def first_seq(self) -> int:
        """The first entry that is still there; one more than the last if none is."""
        found: int | None = self._one("select min(seq) from journal")
        return self.last_seq + 1 if found is None else found

    # Keeping it small -------------------------------------------------------------------------------------

    @property
    def oldest_at(self) -> float | None:
        """About when the oldest prediction that waits was made."""
        return self._oldest_at if self.n_pending else None

    def is_over(self, before: float, most: int, most_bytes: int) -> bool:
        """Whether predictions are too old, too many or too large."""
        old = self._oldest_at is not None and self._oldest_at < before
        return old or self.n_pending > most or self.pending_bytes > most_bytes

    def expire(self, before: float, most: int, most_bytes: int) -> int:
        """Remove the oldest predictions: those made before a time, and what is too many or too large."""
        removed = 0
        rows = self._db.execute("select number, at from pending order by number limit ?", (ROWS_PER_SWEEP,))
        for number, at in rows.fetchall():
            self._oldest_at = at
            if at >= before and self.n_pending <= most and self.pending_bytes <= most_bytes:
                return removed
            self._remove_pending(number)
            removed += 1
        self._oldest_at = self._one("select at from pending order by number limit 1")
        return removed

    def trim(self, learnt: int, keep: int, remember: int) -> bool:
        """Remove old entries up to ``learnt`` but for the last ``keep``; whether there are more to remove.

        Of labels, and of ids that users gave, those of the last ``remember`` predictions are remembered.
        """
        more = False
        for table, column, end in (
            ("journal", "seq", min(learnt, self.last_seq - keep)),
            ("labelled", "number", self.last_number - remember),
            ("own", "number", self.last_number - remember),
        ):
            least = self._one(f"select min({column}) from {table}")
            if least is None or least > end:
                continue
            stop = min(end, least + ROWS_PER_SWEEP)
            waiting = (
                " and not exists (select 1 from pending where pending.number = own.number)"
                if table == "own"
                else ""
            )
            n = self._db.execute(f"delete from {table} where {column} <= ?{waiting}", (stop,)).rowcount
            more = more or (stop < end and n > 0)
        return more
