"""Requests that are wrong in every way one can think of, drawn from a seed."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import random
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.load import BrokenAnswerError, Connection, request_bytes
from tests.support.serving import ServiceProcess

SECONDS = 30.0  # to answer one request; the service's own limit on slow bodies must be below
SLOW_SECONDS = 90.0  # in which it must have given up a client that stalls
MAX_BODY = 200_000  # with which the service is started
DRAINED = 3 * MAX_BODY  # of much longer bodies it reads no more, and closes the connection
INFER = "/v2/models/model/infer"
HEADERS = "Host: localhost\r\nContent-Type: application/json\r\n"
DEEP = "[" * 3000 + "]" * 3000

# Stand-ins in a JSON tree for what `json.dumps` would not write; they are replaced in the text.
LITERALS = {
    "@nan": "NaN",
    "@inf": "-Infinity",
    "@big": "1e999",
    "@tiny": "1e-999",
    "@digits": "9" * 400,
    "@long-digits": "7" * 5000,
    "@deep": DEEP,
    "@surrogate": '"\\ud800"',
    "@nul": '"\\u0000"',
    "@number": "01",
    "@hex": "0x10",
    "@plus": "+1",
    "@nothing": "",
    "@open": "[1, 2",
    "@quote": '"',
    "@comment": "/* */ 1",
    "@twice": '{"id": "a", "id": "b"}',
}
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**31,
    2**53 + 1,
    -(2**63),
    2**64,
    1e308,
    5e-324,
    "",
    "x",
    "1",
    "NaN",
    "a" * 100_000,
    "\x1b[31m",
    "\u202eevil",
    "<script>",
    "'; drop table journal; --",
    "../../etc/passwd",
    [],
    {},
    [None],
    [[]],
    [1] * 5000,
    {"": {}},
    {"rows": []},
    *LITERALS,
]


@dataclass
class Mutated:
    """One request: bytes to send in pieces, and whether the connection is closed without waiting."""

    what: str
    pieces: list[bytes]
    answers: int = 1
    incomplete: bool = False  # nothing more comes, so that closing the connection is an answer too
    hang_up: bool = False


@dataclass
class Seen:
    """What became of the requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Mutations:
    """Draws requests; the same seed gives the same ones."""

    def __init__(self, seed: int, columns: list[str], ids: list[str]) -> None:
        self.rng = random.Random(seed)
        self.columns, self.ids = columns, ids

    def draw(self) -> Mutated:
        """The next request."""
        kinds: list[tuple[int, Callable[[], Mutated]]] = [
            (45, self._tree),
            (15, self._text),
            (12, self._tensors),
            (8, self._headers),
            (8, self._line),
            (5, self._lengths),
            (4, self._chunks),
            (2, self._pipelined),
            (1, self._cut_off),
        ]
        weights = [weight for weight, _ in kinds]
        return self.rng.choices([make for _, make in kinds], weights)[0]()

    # Requests that would be right -------------------------------------------------------------------------

    def _row(self) -> dict[str, Any]:
        return {name: round(self.rng.gauss(0, 1), 3) for name in self.columns}

    def _right(self) -> tuple[str, Any]:
        rng = self.rng
        rows = [self._row() for _ in range(rng.randint(1, 3))]
        label = {"id": rng.choice(self.ids), "label": rng.randint(0, 1)}
        inputs = [
            {"name": name, "shape": [2], "datatype": "FP64", "data": [0.5, 1.5]} for name in self.columns
        ]
        choices: list[tuple[str, Any]] = [
            ("/predict", {"rows": rows}),
            ("/predict", {"rows": rows, "ids": [f"own-{i}" for i in range(len(rows))], "issue": True}),
            ("/predict", {"rows": [list(row.values()) for row in rows], "issue": False}),
            ("/label", {"labels": [label]}),
            ("/label", {"labels": [{"row": rows[0], "label": 1, "weight": 0.5}, label]}),
            ("/rollback", {"version": 0}),
            ("/freeze", {"frozen": False}),
            ("/promote", {}),
            (
                INFER,
                {"inputs": inputs, "outputs": [{"name": "label"}], "id": "7", "parameters": {"issue": False}},
            ),
        ]
        return rng.choice(choices)

    # Mutations --------------------------------------------------------------------------------------------

    def _places(self, tree: Any) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            keys = (
                node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            )
            for key in keys:
                found.append((node, key))
                nodes.append(node[key])
        return found

    def _tree(self) -> Mutated:
        rng = self.rng
        path, tree = self._right()
        tree = copy.deepcopy(tree)
        done = []
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            places = self._places(tree)
            if not places or rng.random() < 0.05:
                tree = rng.choice(VALUES)
                done.append("all")
                break
            node, key = rng.choice(places)
            how = rng.choice(["replace", "replace", "replace", "drop", "rename", "more"])
            done.append(f"{how} {key!r:.20}")
            if how == "replace":
                node[key] = copy.deepcopy(rng.choice(VALUES))
            elif how == "drop":
                del node[key]
            elif how == "rename" and isinstance(node, dict):
                node[rng.choice(["", "x" * 5000, "\x00", "ROWS", "__class__", "id", "label"])] = node.pop(key)
            elif isinstance(node, dict):
                node["more"] = copy.deepcopy(rng.choice(VALUES))
            else:
                node.extend(copy.deepcopy(node[key]) for _ in range(rng.choice([1, 50, 2000])))
        text = json.dumps(tree)
        for stand_in, literal in LITERALS.items():
            text = text.replace(json.dumps(stand_in), literal)
        return Mutated(f"{path} {', '.join(done)}", [request_bytes("POST", path, text.encode())])

    def _text(self) -> Mutated:
        rng = self.rng
        path, tree = self._right()
        raw = bytearray(json.dumps(tree).encode())
        how = rng.choice(
            ["flip", "cut", "insert", "utf-8", "utf-16", "bom", "empty", "twice", "garbage", "spaces"]
        )
        if how == "flip":
            for _ in range(rng.randint(1, 8)):
                raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        elif how == "cut":
            del raw[rng.randrange(len(raw)) :]
        elif how in ("insert", "utf-8"):
            bad = (
                [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
                if how == "utf-8"
                else [b'"', b"[", b"}", b"\x00"]
            )
            place = rng.randrange(len(raw))
            raw[place:place] = rng.choice(bad)
        elif how == "utf-16":
            raw = bytearray(raw.decode().encode("utf-16"))
        elif how == "bom":
            raw[:0] = b"\xef\xbb\xbf"
        elif how == "twice":
            raw += bytes(raw)
        elif how == "garbage":
            raw = bytearray(rng.randbytes(rng.randint(1, 500)))
        elif how == "spaces":
            raw[:0] = b" " * 50_000
        else:
            raw.clear()
        return Mutated(f"{path} text: {how}", [request_bytes("POST", path, bytes(raw))])

    def _tensors(self) -> Mutated:
        """Inference with bytes behind the JSON."""
        rng = self.rng
        F = len(self.columns)
        size = 8 * F
        tensor: dict[str, Any] = {
            "name": rng.choice(["features", self.columns[0], "", "x" * 1000]),
            "shape": rng.choice(
                [[1, F], [1, F], [F], [], [0, F], [-1, F], [10**18, 10**18], [2**63, F], [1.5], "1"]
            ),
            "datatype": rng.choice(["FP64", "FP64", "FP32", "BOOL", "BYTES", "INT64", "FP128", 7, ""]),
            "parameters": {
                "binary_data_size": rng.choice([size, size, 0, -1, 2**70, 1.5, "8", None, size - 1])
            },
        }
        if rng.random() < 0.1:
            tensor["data"] = [0.0]
        asked: dict[str, Any] = {"inputs": [tensor] * rng.choice([1, 1, 1, 2, 300]), "parameters": {}}
        asked["parameters"] = rng.choice(
            [{"binary_data_output": True}, {"binary_data_output": "yes"}, {"issue": 1}, []]
        )
        text = json.dumps(asked).encode()
        numbers = [rng.choice([0.0, 1.5, float("nan"), float("inf"), 1e308]) for _ in range(F)]
        raw = rng.choice([struct.pack(f"<{F}d", *numbers), rng.randbytes(size), b"", rng.randbytes(7)])
        length = rng.choice(
            [len(text)] * 5 + [0, -1, 10**20, "x", "", len(text) - 1, len(text) + 1, "1e3", " 5"]
        )
        path = rng.choice([INFER, INFER, "/v2/models/other/infer", "/v2/models/model/versions/99/infer"])
        headers = {"Inference-Header-Content-Length": str(length), "Content-Type": "application/octet-stream"}
        return Mutated(f"{path} tensors", [request_bytes("POST", path, text + raw, headers)])

    def _headers(self) -> Mutated:
        rng = self.rng
        path, tree = self._right()
        body = json.dumps(tree).encode()
        odd = rng.choice(
            [
                {
                    "Content-Type": rng.choice(
                        ["", "text/plain", "application/xml", "a" * 8000, "multipart/form-data"]
                    )
                },
                {"Content-Encoding": rng.choice(["gzip", "br", "deflate", "x"])},
                {
                    "Host": rng.choice(
                        ["evil.example", "", "localhost:99999", "127.0.0.1.evil", "a b", "[::1"]
                    )
                },
                {
                    "Authorization": rng.choice(
                        ["Bearer", "Bearer x", "Basic YTpi", "\xff" * 100, "Bearer " + "x" * 9000]
                    )
                },
                {"Expect": "100-continue"},
                {"Upgrade": "websocket", "Connection": "Upgrade"},
                {"Origin": "http://evil.example"},
                {"X-" + "a" * 100: "b" * 60_000},
                {"Accept": "\x01", "Cookie": ";;;" * 2000},
                {"Connection": "close"},
                {"Transfer-Encoding": "gzip, chunked"},
                {"bad header": "x"},
                {"X-Fold": "a\r\n b"},
            ]
        )
        return Mutated(f"{path} headers {list(odd)}", [request_bytes("POST", path, body, odd)])

    def _line(self) -> Mutated:
        """The request line: methods, paths, versions."""
        rng = self.rng
        method = rng.choice(
            ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "POST", "BREW", "get", ""]
        )
        path = rng.choice(
            [
                "/predict", "/label", "/health", "/metrics", "/model", "/versions", "/v2", "/nothing",
                "//predict", "/predict/", "/../etc/passwd", "/%2e%2e/%2e%2e/passwd", "/%00", "/%ff", "*",
                "/model/file?version=99", "/model/file?version=x", "/model/file?version=" + "9" * 400,
                "/model/file?version=-1", "/model/file?version=0&version=1", "/v2/models/%0d%0aSet-Cookie:a",
                "/" + "a" * 60_000, "/v2/models/" + "m" * 5000, "http://evil.example/predict", "/?\xff",
                "/v2/models/model/versions/..%2f..", "/openapi.json", "/favicon.ico", "/health#x",
            ]
        )  # fmt: skip
        version = rng.choice(["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "", "SPDY"])
        head = f"{method} {path} {version}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1")
        garbage = rng.random() < 0.15
        if garbage:
            head = rng.choice(
                [
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    rng.randbytes(200),
                    b"\r\n\r\n\r\n",
                    b"\x16\x03\x01" * 9,
                ]
            )
        return Mutated(f"line {method:.8} {path:.40} {version}", [head], incomplete=garbage)

    def _lengths(self) -> Mutated:
        rng = self.rng
        path, tree = self._right()
        body = json.dumps(tree).encode()
        said = rng.choice(
            [len(body) - 1, len(body) + 10, 0, -1, 10**30, "x", "+5", "0x10", "5, 5", " ", "1e3", "٣"]
        )
        head = f"POST {path} HTTP/1.1\r\n{HEADERS}Connection: close\r\n"
        lines = [f"Content-Length: {said}\r\n"] * rng.choice([1, 1, 2])
        chunked = rng.random() < 0.2
        if chunked:
            lines.append("Transfer-Encoding: chunked\r\n")
        raw = (head + "".join(lines) + "\r\n").encode() + body
        too_long = isinstance(said, int) and said > len(body)
        return Mutated(f"{path} length {said}", [raw], incomplete=too_long or chunked)

    def _chunks(self) -> Mutated:
        rng = self.rng
        path, tree = self._right()
        body = json.dumps(tree).encode()
        head = f"POST {path} HTTP/1.1\r\n{HEADERS}Transfer-Encoding: chunked\r\n\r\n"
        half = len(body) // 2
        good = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (half, body[:half], len(body) - half, body[half:])
        right = [
            good,
            b"%x;extension=1\r\n%b\r\n0\r\n\r\n" % (len(body), body),
            b"0\r\n\r\n",
            b"1\r\n{\r\n" * 3000 + b"0\r\n\r\n",
            b"%x\r\n%b\r\n0\r\nTrailer: x\r\n\r\n" % (len(body), body),
        ]
        chunks = rng.choice(
            [
                *right,
                b"zz\r\n" + body + b"\r\n0\r\n\r\n",
                b"-5\r\n" + body,
                b"f" * 40 + b"\r\n" + body,
                b"%x\r\n%b" % (len(body), body),
            ]
        )
        return Mutated(f"{path} chunks", [head.encode(), chunks], incomplete=chunks not in right)

    def _pipelined(self) -> Mutated:
        wrong = [self._tree().pieces[0] for _ in range(3)]
        return Mutated("pipelined", [b"".join(wrong) + request_bytes("GET", "/health")], answers=4)

    def _cut_off(self) -> Mutated:
        """Half a request in small pieces, and then nobody is there any more."""
        raw = self._tree().pieces[0]
        end = self.rng.randrange(1, len(raw))
        cuts = sorted({0, end, *(self.rng.randrange(end) for _ in range(5))})
        pieces = [raw[a:b] for a, b in itertools.pairwise(cuts)]
        return Mutated("cut off", pieces, hang_up=True)


async def send_one(service: ServiceProcess, request: Mutated, seen: Seen) -> None:
    """Send a request on a connection of its own, and note what is wrong with the answer."""
    async with Connection(service.host, service.port) as connection:
        silent = False
        try:
            async with asyncio.timeout(SECONDS):
                for piece in request.pieces:
                    await connection.send(piece)
                if request.hang_up:
                    seen.statuses["hung up"] += 1
                    return
                if request.incomplete:
                    await connection.end_sending()
                for _ in range(request.answers):
                    reply = await connection.answer(head_only=request.pieces[0].startswith(b"HEAD "))
                    seen.statuses[str(reply.status)] += 1
                    if reply.status >= 500 or reply.status < 200:
                        seen.wrong.append(f"{request.what}: {reply.status} {reply.body[:200]!r}")
                    if reply.headers.get("connection") == "close":
                        break
        except TimeoutError:
            seen.wrong.append(f"{request.what}: no answer in {SECONDS:g} s")
        except (OSError, BrokenAnswerError, AssertionError) as error:
            silent = True
            if not request.incomplete and sum(map(len, request.pieces)) < DRAINED:
                seen.wrong.append(f"{request.what}: {type(error).__name__} {error}")
        if silent:
            seen.statuses["closed"] += 1


async def stall(service: ServiceProcess, clients: int, seen: Seen) -> None:
    """Clients that stop in the middle of headers or body, and wait: the service must give up first."""
    whole = request_bytes("POST", "/predict", b'{"rows": []}' + b" " * 1000)
    ends = [40, len(whole) - 500]

    async def client(number: int) -> None:
        async with Connection(service.host, service.port) as connection:
            try:
                async with asyncio.timeout(SLOW_SECONDS):
                    await connection.send(whole[: ends[number % 2]])
                    status = str((await connection.answer()).status)
            except TimeoutError:
                status = "none"
            except (OSError, BrokenAnswerError):
                status = "closed"
        seen.statuses[f"stalled: {status}"] += 1
        if status not in ("408", "closed"):
            seen.wrong.append(f"a client that stalls got {status}")

    await asyncio.gather(*(client(number) for number in range(clients)))


async def hurry(service: ServiceProcess, requests: int, seen: Seen) -> None:
    """More requests than a service with a limit on their rate takes: 429, and no other error."""
    async with Connection(service.host, service.port) as connection:
        for _ in range(requests):
            status = (await connection.request("GET", "/model")).status
            seen.statuses[f"hurried: {status}"] += 1
            if status not in (200, 429):
                seen.wrong.append(f"a client that hurries got {status}")


async def bombard(
    service: ServiceProcess, requests: int, seed: int, columns: list[str], clients: int = 4
) -> Seen:
    """Send mutated requests; in the end the service must still be the same process, and answer."""
    seen = Seen()
    row = dict.fromkeys(columns, 0.5)
    async with Connection(service.host, service.port) as connection:
        first = await connection.request("POST", "/predict", {"rows": [row] * 20})
    ids = [each["id"] for each in first.json()["predictions"]]
    drawn = Mutations(seed, columns, ids)
    left = iter([drawn.draw() for _ in range(requests)])
    pid = service.pid

    async def client() -> None:
        for request in left:
            await send_one(service, request, seen)
            if not service.alive:
                seen.wrong.append(f"{request.what}: the service has ended")
                return

    await asyncio.gather(*(client() for _ in range(clients)))
    if not service.alive or service.pid != pid:
        seen.wrong.append("the service is not the same process")
        return seen
    async with Connection(service.host, service.port) as connection:
        last = await connection.request("POST", "/predict", {"rows": [row], "issue": False})
        health = await connection.request("GET", "/health")
    if last.status != 200 or health.status != 200:
        seen.wrong.append(f"afterwards: /predict {last.status}, /health {health.status}")
    seen.wrong += [f"it said: {line}" for line in service.said if "Traceback" in line]
    return seen
