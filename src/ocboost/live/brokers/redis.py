"""A log in Redis Streams: read from one stream, answer in another, place and state beside them.

``NAME``                the stream of requests and labels: entries with one field, ``json``
``NAME:predictions``    the answers; each has the id of the entry that it answers
``NAME:ocboost``        a hash: ``epoch`` of the consumer that may commit; ``answered`` and ``after``, the
                        last entry that is answered and the last that the state has taken; ``taken``, how
                        many the stream had up to that; ``deleted``, ``last_answer`` and the stream that
                        it is in, ``predictions``: to notice losses
``NAME:ocboost:state``  the state, as the bytes of a file

All of a commit is in one MULTI, guarded by WATCH: it is done as a whole or not at all, also if the server
dies. The newest consumer has raised the epoch, so older ones commit nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ocboost._core.escaping import one_line
from ocboost.errors import MissingExtraError
from ocboost.live.brokers.base import AwayError, BrokerError, FencedError, Message, Resumed
from ocboost.live.brokers.redis_address import PASSWORD_VARIABLE, RedisAddress, own_keys
from ocboost.live.brokers.url import LogAddress

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ModuleNotFoundError as error:
    if error.name != "redis":
        raise
    raise MissingExtraError("redis", "redis", "a log in Redis") from error

FIELD = b"json"
MAX_STATE_BYTES = 400_000_000  # Redis takes 512 MB
CONNECT_SECONDS, ANSWER_SECONDS = 2.0, 5.0
STATE_SECONDS = 20.0  # that a server may take to take in a state, or to give it
BEGINNING = "0-0"
_PLACE = re.compile(rb"[0-9]{1,20}(-[0-9]{1,20})?")
_LATER = ("LOADING", "MISCONF", "OOM", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "BUSY")  # it may pass
_META = ("epoch", "answered", "after", "taken", "deleted", "last_answer")


def open_log(address: LogAddress) -> RedisLog:
    """The log at an address; nothing is connected yet."""
    return RedisLog(RedisAddress.of(address))


class RedisLog:
    """A `Broker` over Redis."""

    def __init__(self, address: RedisAddress) -> None:
        self.name = address.name
        self.predictions = one_line(f"the stream {address.predictions!r}")
        self._stream, self._out = address.stream, address.predictions
        self._meta, self._state = own_keys(address.stream)
        self._redis, self._redis_of_state = _client(address, ANSWER_SECONDS), _client(address, STATE_SECONDS)
        self._epoch = 0
        self._answered: str | None = None  # as it was committed last
        self._deleted = BEGINNING  # the last entry that had been removed from within when it began
        # How many entries the stream has ever had up to the last ones that were read.
        self._counts: dict[str, int] = {}

    # The contract -----------------------------------------------------------------------------------------

    def take_over(self, *, afresh: bool = False) -> Resumed:
        """Raise the epoch, and say where to continue."""
        with self._errors():
            self._check_server()
            while (resumed := self._taken_over(afresh)) is None:
                pass  # another consumer has committed meanwhile: look again
        return resumed

    def _taken_over(self, afresh: bool) -> Resumed | None:
        """Look at all that is there, and change something only if it can be used."""
        with self._redis_of_state.pipeline(transaction=True) as steps:
            steps.watch(self._meta, self._state)
            found = [self._checked(*each) for each in zip(_META, steps.hmget(self._meta, _META), strict=True)]
            epoch, answered, after, taken, deleted, last_answer = found
            elsewhere = steps.hget(self._meta, "predictions") not in (None, self._out.encode())
            state = None if afresh else steps.get(self._state)
            after = None if afresh else after
            forgotten = ["after"] if afresh else []
            facts, notes = self._facts(self._info()), []
            if afresh and answered is not None and id_key(facts["last"]) < id_key(answered):
                answered = None
                forgotten.append("answered")
                notes.append("The log was made anew: it is answered from its beginning.")
            if afresh or elsewhere:  # the last answer is no matter any more
                last_answer = None
                forgotten.append("last_answer")
            notes += self._check_log(facts, answered, last_answer, begins=after is None)
            if (state is None) != (after is None) or (taken is None and after is not None):
                raise BrokerError(
                    f"the state of {self.name} is not complete: {self._meta!r} and {self._state!r} do not "
                    "fit together. Restore both, or start over with --restart."
                )
            steps.multi()
            steps.hset(self._meta, mapping={"epoch": int(epoch or 0) + 1, "predictions": self._out})
            if forgotten:
                steps.hdel(self._meta, *forgotten)
            if afresh:
                steps.delete(self._state)
            try:
                steps.execute()
            except redis.WatchError:
                return None
        self._epoch, self._answered = int(epoch or 0) + 1, answered
        self._counts = {} if after is None else {after: id_key(taken or "0")[0]}
        self._deleted = deleted or BEGINNING
        return Resumed(state, after, answered, tuple(notes))

    def read(self, after: str | None, most: int, seconds: float) -> list[Message]:
        """The next entries; they and what tells whether some were lost are looked at together."""
        with self._errors():
            entries = self._entries(after, most)
            if not entries:
                block = max(1, int(1000 * seconds))
                if self._redis.xread({self._stream: after or BEGINNING}, count=1, block=block):
                    entries = self._entries(after, most)
        return [_message(*entry) for entry in entries]

    def commit(self, answers: Sequence[tuple[str, bytes]], after: str, state: bytes | None = None) -> None:
        """Add the answers, and set place and state, if no newer consumer has come and nothing was lost."""
        if state is not None and len(state) > MAX_STATE_BYTES:
            raise BrokerError(
                f"the state takes {len(state):,} bytes, and at most {MAX_STATE_BYTES:,} fit into Redis. "
                "Let fewer predictions wait for their labels: --max-pending."
            )
        with self._errors():
            while not self._committed(answers, after, state):
                pass  # somebody changed one of the keys meanwhile: look again
        self._answered = after

    def key(self, offset: str) -> tuple[int, int]:
        """What ids of entries are ordered by."""
        return id_key(offset)

    def close(self) -> None:
        """End the connection."""
        with self._errors():
            self._redis.close()
            self._redis_of_state.close()

    # Commits ----------------------------------------------------------------------------------------------

    def _committed(self, answers: Sequence[tuple[str, bytes]], after: str, state: bytes | None) -> bool:
        client = self._redis if state is None else self._redis_of_state
        with client.pipeline(transaction=True) as steps:
            steps.watch(self._meta, self._out)
            epoch, answered = steps.hmget(self._meta, ["epoch", "answered"])
            self._require_epoch(epoch)
            found = None if answered is None else answered.decode(errors="replace")
            if found == after and after != self._answered:
                return True  # done before, though the answer did not come
            if found != self._answered:
                raise self._lost(f"the last entry answered was {self._answered}, and is {found} now")
            if answers and (top := self._last_id(steps, self._out)) is not None:
                self._require_free(top, answers[0][0])
            steps.multi()
            for offset, data in answers:
                steps.xadd(self._out, {FIELD: data}, id=offset)
            place: dict[str, Any] = {"answered": after}
            if answers:
                place["last_answer"] = answers[-1][0]
            if state is not None:
                place |= {"after": after, "taken": self._counts[after], "deleted": self._deleted}
                steps.set(self._state, state)
            steps.hset(self._meta, mapping=place)
            try:
                steps.execute()
            except redis.WatchError:
                return False
        return True

    def _require_epoch(self, found: bytes | None) -> None:
        epoch = int(found) if found is not None and _PLACE.fullmatch(found) and found.isdigit() else 0
        if epoch > self._epoch:
            raise FencedError(
                f"another consumer has taken over {self.name}; this one ends, and nothing of it was "
                "committed since."
            )
        if epoch < self._epoch:
            raise self._lost(
                "it no longer knows this consumer. Give the file of --out as MODEL, to keep what was learnt"
            )

    def _checked(self, name: str, value: bytes | None) -> str | None:
        """A field of the hash, which are numbers and ids of entries."""
        if value is not None and not _PLACE.fullmatch(value):
            raise BrokerError(
                f"the field {name!r} of the hash {self._meta!r:.200} of {self.name} makes no sense: somebody "
                f"else has written there. Restore it, or remove {self._meta!r:.200} and {self._state!r:.200} "
                "to begin anew."
            )
        return None if value is None else value.decode()

    def _require_free(self, top: str, first: str) -> None:
        """Answers have the ids of what they answer, so theirs must be the highest."""
        if id_key(top) >= id_key(first):
            raise BrokerError(
                f"{self.predictions} has an entry {top}, and the answer to {first} cannot follow it: "
                "somebody else writes there. Give a name of its own: predictions=NAME in the address."
            )

    def _lost(self, what: str) -> BrokerError:
        return BrokerError(
            f"the Redis server of {self.name} has lost data, as after a restart without appendfsync always: "
            f"{what}. Start again to continue from what it has."
        )

    # Looking at the log -----------------------------------------------------------------------------------

    def _check_server(self) -> None:
        """Refuse what is no Redis, and keys of other kinds."""
        kinds = {self._stream: "stream", self._out: "stream", self._meta: "hash", self._state: "string"}
        for name, kind in kinds.items():
            try:
                found = self._redis.type(name).decode()
            except (AttributeError, ValueError, TypeError) as error:  # what the client makes of other answers
                raise BrokerError(
                    f"{self.name} does not answer as Redis does. Check the host and the port."
                ) from error
            if found not in (kind, "none"):
                raise BrokerError(
                    f"the key {name!r:.200} of {self.name} must be a {kind}; it is a {found}. Give another "
                    "name."
                )

    def _facts(self, raw: Any) -> dict[str, Any]:
        """What XINFO STREAM says; of a stream that is not there, what it would say of an empty one."""
        if isinstance(raw, redis.ResponseError):
            if "no such key" in str(raw):
                return {"length": 0, "added": 0, "deleted": BEGINNING, "last": BEGINNING, "first": None}
            raise raw
        if "entries-added" not in raw:
            raise BrokerError(
                f"the server of {self.name} is too old: Redis 7.0 or newer is needed, which says whether "
                "entries were removed before they were read."
            )
        first = raw["first-entry"]
        return {
            "length": int(raw["length"]),
            "added": int(raw["entries-added"]),
            "deleted": _text(raw["max-deleted-entry-id"]),
            "last": _text(raw["last-generated-id"]),
            "first": None if first is None else _text(first[0]),
        }

    def _last_id(self, client: Any, stream: str) -> str | None:
        try:
            return _text(client.xinfo_stream(stream)["last-generated-id"])
        except redis.ResponseError as error:
            if "no such key" in str(error):
                return None
            raise

    def _check_log(
        self, facts: dict[str, Any], answered: str | None, last_answer: str | None, *, begins: bool
    ) -> list[str]:
        """Refuse a log or answers that are shorter than they were."""
        if answered is not None and id_key(facts["last"]) < id_key(answered):
            raise BrokerError(
                f"{self.name} ends at {facts['last']}, and {answered} was answered: it was made anew, or the "
                "server has lost data. Restore it, or begin anew with what is there: --restart."
            )
        if last_answer is not None:
            top = self._last_id(self._redis, self._out)
            if top is not None and id_key(top) < id_key(last_answer):
                raise self._lost(f"{self.predictions} ends at {top}, and {last_answer} was written")
        gone = facts["added"] - facts["length"]
        if begins and gone > 0:
            return [f"{gone:,} entries of {self.name} were removed before; it begins with what is there."]
        return []

    def _info(self) -> Any:
        try:
            return self._redis.xinfo_stream(self._stream)
        except redis.ResponseError as error:
            return error

    def _entries(self, after: str | None, most: int) -> list[Any]:
        """The next entries that are there, none of those before them lost."""
        with self._redis.pipeline(transaction=True) as steps:
            steps.xinfo_stream(self._stream)
            steps.xread({self._stream: after or BEGINNING}, count=most)
            steps.hget(self._meta, "epoch")
            raw, found, epoch = steps.execute(raise_on_error=False)
        for result in (found, epoch):
            if isinstance(result, Exception):
                raise result
        self._require_epoch(epoch)
        facts = self._facts(raw)
        if after is None:  # what was removed before is not missed
            taken, self._deleted = facts["added"] - facts["length"], facts["deleted"]
        else:
            taken = self._counts[after]
            self._require_whole(facts, after, taken)
        entries = _of_one_stream(found)
        self._counts = {} if after is None else {after: taken}
        for number, (id_, _) in enumerate(entries, taken + 1):
            self._counts[_text(id_)] = number
        return entries

    def _require_whole(self, facts: dict[str, Any], after: str, taken: int) -> None:
        """Refuse to go on if entries behind ``after`` were removed."""
        if id_key(facts["last"]) < id_key(after):
            raise self._lost(f"the log ends at {facts['last']}, and {after} was read")
        if facts["first"] is not None and id_key(facts["first"]) <= id_key(after):
            lost = id_key(facts["deleted"]) > max(id_key(after), id_key(self._deleted))
        else:  # all that was taken is gone from the stream, so the rest can be counted
            lost = facts["added"] - taken != facts["length"]
        if lost:
            raise BrokerError(
                f"entries of {self.name} behind {after} were removed before they were read (XTRIM, MAXLEN or "
                "XDEL), so the model cannot go on as if it had seen them. To begin anew with what is left, "
                "give --restart; to keep what was learnt, give the file of --out as MODEL too. Let the log "
                "keep more: everything behind the field 'after' of the hash "
                f"{self._meta!r:.200} is still needed."
            )

    # Errors -----------------------------------------------------------------------------------------------

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the client and the server, in ocboost's words."""
        try:
            yield
        except (redis.AuthenticationError, redis.exceptions.AuthorizationError):
            raise BrokerError(
                f"{self.name} does not accept the user or the password. Give them in the address, or the "
                f"password in {PASSWORD_VARIABLE}."
            ) from None
        except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
            text = f"{one_line(error):.200}"
            if "certificate" in text.lower():
                raise BrokerError(f"{self.name} cannot be trusted: {text}. Give ca=FILE.") from None
            raise AwayError(f"{self.name} cannot be reached: {text.rstrip('.')}.") from error
        except redis.RedisError as error:
            text = f"{one_line(str(error).rpartition('caused error: ')[2]):.200}"  # without what was sent
            later = isinstance(error, redis.OutOfMemoryError) or text.partition(" ")[0] in _LATER
            raise (AwayError if later else BrokerError)(f"{self.name} refuses: {text}") from error


def _client(address: RedisAddress, seconds: float) -> Any:
    """A client whose server must answer within so many seconds."""
    options: dict[str, Any] = {"ssl": True, **address.tls} if address.tls is not None else {}
    return redis.Redis(
        host=address.host,
        port=address.port,
        db=address.db,
        username=address.user,
        password=address.password,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
        client_name="ocboost",
        **options,
    )


def _of_one_stream(found: Any) -> list[Any]:
    """The entries in the answer of XREAD, which old and new protocols give as a list or a mapping."""
    if not found:
        return []
    (entries,) = found.values() if isinstance(found, dict) else [one[1] for one in found]
    if isinstance(found, dict):
        entries = entries[0]
    return list(entries)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _message(id_: bytes, fields: dict[bytes, bytes]) -> Message:
    offset = id_.decode()
    time = id_key(offset)[0] / 1000.0
    if list(fields) == [FIELD]:
        return Message(offset, time, fields[FIELD])
    names = ", ".join(name.decode(errors="replace") for name in fields)
    return Message(
        offset, time, None, f"an entry must have one field, 'json', with the message; got {names!r:.80}."
    )


def id_key(offset: str) -> tuple[int, int]:
    """The two numbers of an entry's id.

    >>> id_key("1700000000000-2")
    (1700000000000, 2)
    """
    head, _, tail = offset.partition("-")
    return int(head), int(tail or 0)
