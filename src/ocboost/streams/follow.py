"""A log that grows and is rotated, as one stream of rows, like ``tail -F``.

The log is looked at a few times a second. A row is given out when its line has ended. When another file has
come to the log's name, and there is something in it, the old one is read to its end; what lies between the
two (`ocboost.streams.rotated`) comes next, then the new one from its beginning. When the log was truncated,
the rest of what it held is read from the copy of it that lies beside it.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from ocboost.streams.learnt_rows import MAX_FILES, LearntFile, LearntRows
from ocboost.streams.log_file import AnyFile, LogReading, MovedError, PlainFile, RowRules, open_archive
from ocboost.streams.rotated import (
    Archive,
    CopyError,
    Key,
    archives_of,
    files_between,
    find_holder,
    first_line,
    key_of,
)
from ocboost.streams.source import Coverage, Fit, Patience, Source, name_of

_POLL_SECONDS = 0.2
_TRIES = 10  # to find the copy of a log that was truncated


@dataclass(frozen=True)
class FollowStart:
    """Where to begin: after a ``position`` that was learnt before, in the log or in an archived ``file``.

    ``known`` are files that were learnt before, and ``began`` is the time of the first. Without a position,
    files that were rotated away ``since`` a time come before the log.
    """

    position: LearntFile | None = None
    file: Archive | None = None
    known: Sequence[Coverage] = ()
    began: int | None = None
    since: int | None = None


class FollowSource(Source):
    """The text of a log that grows, whole rows at a time; reading waits for more until ``patience`` ends it.

    Rows that were learnt before are left out: the first one given out has the number ``first_row``. ``tell``
    takes what a user should know on the way.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str,
        start: FollowStart | None = None,
        *,
        first_row: int = 0,
        patience: Patience | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        start = FollowStart() if start is None else start
        self.name = name_of(path)
        self.first_row = first_row
        self.bytes_read = 0
        self.bytes_total = None
        self.patience = patience
        self._place = Path(path)
        self._tell = tell
        self._told = ""
        self._rules = RowRules(format)
        self._learnt = LearntRows(first_row)
        self._known: deque[Coverage] = deque(start.known, MAX_FILES)
        self._began = start.began
        self._since = start.since
        self._files: deque[AnyFile] = deque()  # the first is being read; the last may still grow
        self._failed_tries = 0
        self._naming: str | None = None  # of the rotations of this log, once one was found
        self._looked_at = 0  # the time of a log without rows when it was looked at
        self._closed = False
        self._first: bytes | None = None
        if start.position is not None and start.position.header is not None:
            self._rules.take_header(start.position.header.encode())
        self._reading = LogReading(self.name, self._rules, self._learnt, start.position)
        if start.file is not None:
            self._files.append(open_archive(start.file))
        elif start.position is not None and (log := self._open_log()) is not None:
            self._files.append(log)
        if self._rules.header:
            # What was learnt is passed over at once, before the file is truncated.
            try:
                self._first = self._rules.header + b"\n" + (self._next() or b"")
            except BaseException:
                self.close()
                raise

    def read(self) -> bytes:
        """The next whole rows, as soon as there are some; none once it is closed."""
        text, self._first = self._first, None
        while not text and not self._closed:
            text = self._next()
            if text is not None:
                continue
            if self.patience is None:
                time.sleep(_POLL_SECONDS)
            else:
                self.patience.wait(None)
        return text or b""

    def begins_with(self, sign: bytes) -> bool:
        """Whether the text begins so after blanks and line ends; nothing is consumed."""
        while not (self._first or b"").strip() and (more := self.read()):
            self._first = (self._first or b"") + more
        return (self._first or b"").lstrip().startswith(sign)

    def learnt_to(self, row: int) -> None:
        """All rows before this one are learnt, or are to be left out."""
        self._learnt.advance(row)

    def learnt_files(self) -> list[LearntFile]:
        """What was learnt of each file, in order; the last is the position to continue at."""
        return self._learnt.files()

    def coverage(self) -> Coverage | None:
        """None: `learnt_files` says what was learnt."""
        return None

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """Like none: where to begin is decided before it is opened."""
        return ["other"] * len(coverages)

    def close(self) -> None:
        """Close all files; reading ends."""
        self._closed = True
        while self._files:
            self._files.pop().close()

    def _next(self) -> bytes | None:
        """More text; none if something else has been done, None if there is nothing to do now."""
        if not self._files:
            return self._begin_log()
        file = self._files[0]
        data = file.read()
        if data is None:
            return self._after_truncation(file)
        if data:
            return self._look_again(file, data) if self._has_begun_anew(file) else self._taken(file, data)
        if len(self._files) > 1:
            return self._end_of_file()
        return self._look_for_rotation(file)

    def _taken(self, file: AnyFile, data: bytes) -> bytes:
        self.bytes_read += len(data)
        self._told = ""
        text = self._reading.take(data)
        self._reading.mark.time = file.time
        self._began = file.time if self._began is None else self._began
        return text

    def _begin_log(self) -> bytes | None:
        """Open the log for the first time."""
        log = self._open_log()
        if log is None:
            return None
        if self._since is None:
            self._files.append(log)
            return b""
        archives = archives_of(self._place)
        header = first_line(archives, self._since) if self._rules.is_csv else b""
        return self._go_on(log, [], archives, None, self._since, None, (log.key,), header=header)

    def _open_log(self) -> PlainFile | None:
        """The log; None, and a word to the user, if it is not there or cannot be read."""
        try:
            if stat.S_ISREG(os.stat(self._place).st_mode):  # a pipe would block
                return PlainFile(self._place)
            why = "it is not an ordinary file"
        except OSError as error:
            why = error.strerror or "it cannot be read"
        self._tell_once(f"waiting for '{self.name}': {why}.")
        return None

    def _tell_once(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._tell(text)

    def _end_of_file(self) -> bytes:
        """The file that was rotated away is read to its end: go on with the next one."""
        text = self._reading.finish()
        self._begin_next(self._files.popleft())
        return text

    def _begin_next(self, done: AnyFile) -> None:
        done.close()
        self._begin_reading()

    def _begin_reading(self) -> None:
        if self._reading.n_rows:
            self._known.append(self._reading.digest.coverage())
        self._reading = LogReading(self.name, self._rules, self._learnt)

    def _look_for_rotation(self, file: AnyFile) -> bytes | None:
        """When there is something in another file of the log's name, add it to those to be read.

        Whoever writes to that one has written the last of the old one before.
        """
        try:
            status = os.stat(self._place)
            if key_of(status) == file.key:
                if self._has_begun_anew(file) and file.time != self._looked_at:
                    return self._look_again(file, b"")
                return None
            if stat.S_ISREG(status.st_mode) and not status.st_size:
                return None
        except OSError:
            pass  # opening tells why
        log = self._open_log()
        if log is None:
            return None
        data = file.read()  # once more, now that the new file is there
        if data is None or data:
            log.close()
            return self._after_truncation(file) if data is None else self._taken(file, data)
        archives = archives_of(self._place)
        holder = next((each for each in archives if each.key == file.key), None)
        others = (file.key, log.key)
        if not self._reading.n_rows:  # what it held was copied, perhaps, and truncated before
            self._naming = self._naming if holder is None else holder.naming
            return self._go_on(log, [], archives, None, self._bare_since(file), None, others)
        read = None
        if holder is None:  # compressed or moved away by now
            read = self._reading.digest.coverage()
            holder = find_holder(archives, read, file.time)
        return self._go_on(log, [], archives, holder, file.time, read, others)

    def _bare_since(self, file: AnyFile) -> int:
        """The time of a file of which no row was read, when it was looked at before."""
        return file.opened if self._reading.mark.time is None else self._reading.mark.time

    def _after_truncation(self, file: AnyFile) -> bytes | None:
        """The log was copied and truncated: read the rest from the copy, then what is in the log now."""
        if len(self._files) > 1:  # it was no longer the log
            return self._lose_rest(file)
        log = self._open_log()
        if log is None:
            return None
        # The file itself may be an archive by now, with other rows in it.
        archives = [each for each in archives_of(self._place) if each.key != log.key]
        if not self._reading.n_rows:  # every log begins so: what came since is new
            self._reading.drop_rest()
            since = self._bare_since(file)
            return self._go_on(log, [], archives, None, since, None, (log.key,), replaces=True)
        read = self._reading.digest.coverage()
        holder = find_holder(archives, read, self._reading.mark.time)
        if holder is None:
            log.close()
            self._failed_tries += 1
            return None if self._failed_tries < _TRIES else self._lose_rest(file)
        return self._go_on(log, [holder], archives, holder, holder.time, read, (log.key,), replaces=True)

    def _go_on(
        self,
        log: PlainFile,
        first: list[Archive],
        archives: Sequence[Archive],
        holder: Archive | None,
        since: int,
        read: Coverage | None,
        others: Sequence[Key],
        *,
        replaces: bool = False,
        header: bytes = b"",
    ) -> bytes | None:
        """Add ``first``, the files since then and the log to those to be read.

        If they ``replace`` the file that is being read, the first of them goes on where that was.
        """
        try:
            added = self._opened_between(archives, holder, since, read, others, first=first, header=header)
        except BaseException:
            log.close()
            raise
        if added is None:
            log.close()
            return None
        if replaces:
            self._files.popleft().close()
            if not first:
                self._begin_reading()
        self._files += [*added, log]
        self._naming = self._naming if holder is None else holder.naming
        n_between = len(added) - len(first)
        if n_between or self._since is None:
            n = f"{n_between} file" + "s" * (n_between > 1)
            more = f", after {n} between them" if n_between else ""
            self._tell(f"'{self.name}' was rotated; going on with the new file{more}.")
        self._since = None
        return b""

    def _opened_between(
        self,
        archives: Sequence[Archive],
        holder: Archive | None,
        since: int,
        read: Coverage | None,
        others: Sequence[Key],
        *,
        first: Sequence[Archive] = (),
        header: bytes = b"",
    ) -> list[AnyFile] | None:
        """The files that come before the log, ``first`` and those since; None to look again in a moment."""
        opened: list[AnyFile] = []
        try:
            between = files_between(
                self._place,
                archives,
                holder=holder,
                since=since,
                read=read,
                known=self._known,
                began=self._began,
                header=self._rules.header or header,
                others=others,
                naming=self._naming,
            )
            opened.extend(open_archive(each) for each in (*first, *between))
            if first:
                opened[0].pass_over(self._reading.digest.length)
        except BaseException as error:
            for file in opened:
                file.close()
            # Rotated once more just now, or being copied: that is over in a moment.
            self._failed_tries += isinstance(error, MovedError | CopyError)
            if isinstance(error, MovedError | CopyError) and self._failed_tries < _TRIES:
                return None
            raise
        self._failed_tries = 0
        return opened

    def _has_begun_anew(self, file: AnyFile) -> TypeGuard[PlainFile]:
        """Whether no row was read yet of a log that others came before: nothing tells if it is truncated."""
        alone = len(self._files) == 1 and isinstance(file, PlainFile)
        return alone and not self._reading.n_rows and self._began is not None

    def _look_again(self, file: PlainFile, data: bytes) -> bytes | None:
        """Take the first bytes of a log, unless it was copied and truncated since it was opened."""
        archives = [each for each in archives_of(self._place) if each.key != file.key]
        if self._naming is None:
            archives = [each for each in archives if each.path.name.startswith(self._place.name)]
        try:
            is_log = key_of(os.stat(self._place)) == file.key
        except OSError:
            is_log = False
        read = None
        if not is_log:  # those after it come later, and it may be compressed
            archives = [each for each in archives if each.time <= file.time]
            read = self._reading.coverage_with(data)
        more = self._opened_between(archives, None, self._bare_since(file), read, (file.key,))
        if more == []:
            self._looked_at = file.time
            return self._taken(file, data) if data else b""
        file.restart()
        self._begin_reading()
        if more is None:
            return None
        self._files.extendleft(reversed(more))
        return b""

    def _lose_rest(self, file: AnyFile) -> bytes:
        """The log was truncated, and there is no copy of what it held: go on with what it holds now."""
        self._tell(
            f"'{file.path}' was truncated, and no copy of what it held lies beside it. Rows that were "
            "written just before may be missing; going on with what it holds now."
        )
        self._failed_tries = 0
        self._reading.drop_rest()
        if len(self._files) > 1 or not isinstance(file, PlainFile):
            self._begin_next(self._files.popleft())
        else:
            file.restart()
            self._begin_reading()
        return b""
