"""Where a log of Kafka is: hosts, topics, and settings of the client from a file, which are never shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from ocboost._core.escaping import one_line
from ocboost._core.log_address import LogAddress
from ocboost.errors import InputError
from ocboost.live.brokers.url import parameters

IN_ADDRESS = ("predictions", "state", "partition", "config")
MAX_PARTITION = 2**31 - 1
MAX_SETTINGS_BYTES = 1_000_000
TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
WRITE_IT = "Write it like kafka://host:9092/TOPIC or kafka://host1:9092,host2:9092/TOPIC?predictions=TOPIC2."

# What the consumer depends on, or what would load code; a file must not set it.
RESERVED = frozenset(
    {
        "bootstrap.servers",
        "metadata.broker.list",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "transactional.id",
        "enable.idempotence",
        "acks",
        "request.required.acks",
        "enable.auto.commit",
        "auto.commit.enable",
        "enable.auto.offset.store",
        "auto.offset.reset",
        "isolation.level",
        "enable.partition.eof",
        "allow.auto.create.topics",
        "plugin.library.paths",
        "logger",
        "on_delivery",
        "delivery.report.only.error",
        "partitioner",
    }
)


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """One log of Kafka, and where its answers and its state go.

    Attributes
    ----------
    hosts : str
        As librdkafka takes them.
    topic, partition : str, int
        The log.
    predictions, state : str
        Topics for the answers and for the state; always their first partition.
    chosen : bool
        Whether the address names the partition; otherwise the topic must have one only.
    settings : dict
        For librdkafka, from a file. They may hold passwords.
    """

    hosts: str
    topic: str
    partition: int
    predictions: str
    state: str
    chosen: bool = False
    settings: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The log, for people."""
        return f"kafka://{self.hosts}/{self.topic}" + (f"?partition={self.partition}" if self.chosen else "")

    @property
    def log(self) -> str:
        """The log within its cluster."""
        return f"{self.topic}/{self.partition}"

    @property
    def group(self) -> str:
        """The group whose offset is committed, for those who watch how far a consumer is behind."""
        return f"ocboost.{self.topic}" + (f".{self.partition}" if self.chosen else "")

    @property
    def transactional_id(self) -> str:
        """What fences off the consumer before: one for each state."""
        return f"ocboost.{self.state}"

    def hidden(self, text: object) -> str:
        """A text for people, on one line, without anything that the file of settings holds."""
        line = one_line(text)
        for value in sorted(self.settings.values(), key=len, reverse=True):
            if len(value) > 3:
                line = line.replace(one_line(value), "…")
        return line[:500]


def kafka_address(address: LogAddress) -> KafkaAddress:
    """The parts of an address ``kafka://host:9092/TOPIC?…``.

    >>> kafka_address(LogAddress("kafka://localhost:9092/clicks")).predictions
    'clicks.predictions'
    """
    parts = _split(address)
    topic = unquote(parts.path.strip("/"))
    _check_topic(topic, "the address of a log of Kafka must name a topic after the hosts")
    given = parameters(parts, IN_ADDRESS, "Kafka")
    chosen = "partition" in given
    partition = given.get("partition", "0")
    if (
        not (partition.isascii() and partition.isdigit() and len(partition) < 11)
        or int(partition) > MAX_PARTITION
    ):
        raise InputError(f"partition must be a whole number from 0; got {one_line(partition)!r:.60}.")
    stem = f"{topic}.{int(partition)}" if chosen else topic
    predictions = given.get("predictions", f"{stem}.predictions")
    state = given.get("state", f"{stem}.ocboost-state")
    _check_topic(predictions, "predictions must be the name of a topic")
    _check_topic(state, "state must be the name of a topic")
    if len({topic, predictions, state}) < 3:
        raise InputError(
            "the log, its predictions and its state must be three topics; got "
            f"{topic!r}, {predictions!r} and {state!r}."
        )
    settings = read_settings(Path(given["config"])) if "config" in given else {}
    return KafkaAddress(parts.netloc, topic, int(partition), predictions, state, chosen, settings)


def _split(address: LogAddress) -> SplitResult:
    # The ports of several hosts are not what urllib calls a port, so that this differs from `url.split`.
    try:
        parts = urlsplit(str(address))
    except ValueError:
        raise InputError(f"the address {address.public!r} makes no sense. {WRITE_IT}") from None
    if parts.fragment:
        raise InputError(f"the address of a log must have no '#'. {WRITE_IT}")
    if "@" in parts.netloc + parts.path or ("@" in parts.query and not parts.path):
        raise InputError(
            "the address of a log of Kafka must have no user and no password. Put sasl.username, "
            "sasl.password and the like into a file, and add ?config=FILE to the address."
        )
    for host in parts.netloc.split(","):
        found = HOST.fullmatch(host)
        if not found or int(found.group(1) or 1) not in range(1, 65_536):
            raise InputError(f"{one_line(host)!r:.100} is no host with a port. {WRITE_IT}")
    return parts


def _check_topic(name: str, problem: str) -> None:
    if not TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        raise InputError(
            f"{problem}: at most 249 letters, digits, '.', '_' and '-'; got {one_line(name)!r:.100}. "
            f"{WRITE_IT}"
        )


def read_settings(path: Path) -> dict[str, str]:
    """Settings of librdkafka from a JSON object, or from lines like ``sasl.username=me``."""
    shown_path = one_line(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SETTINGS_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"the settings {shown_path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"the settings {shown_path} must be text in UTF-8.") from None
    if len(data) > MAX_SETTINGS_BYTES:
        raise InputError(f"the settings {shown_path} must have at most {MAX_SETTINGS_BYTES:,} bytes.")
    pairs = _of_json(text, shown_path) if text.lstrip().startswith("{") else _of_lines(text, shown_path)
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in RESERVED or name.endswith("_cb"):
            where = " The hosts stand in the address." if name == "bootstrap.servers" else ""
            raise InputError(
                f"the settings {shown_path} must not set {one_line(name)!r:.100}: ocboost sets it.{where}"
            )
        if name in found:
            raise InputError(f"the settings {shown_path} set {one_line(name)!r:.100} twice.")
        found[name] = value
    return found


def _of_json(text: str, shown_path: str) -> list[tuple[str, str]]:
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise InputError(f"the settings {shown_path} begin with '{{' and are no JSON.") from None
    found = []
    for name, value in pairs:
        if not isinstance(value, str | int | float):
            raise InputError(
                f"the settings {shown_path} must give a text, a number, true or false for "
                f"{one_line(name)!r:.100}."
            )
        found.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return found


def _of_lines(text: str, shown_path: str) -> list[tuple[str, str]]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise InputError(f"line {number} of the settings {shown_path} must be like name=value.")
        found.append((name.strip(), value.strip()))
    return found
