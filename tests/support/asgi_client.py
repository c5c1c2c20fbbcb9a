"""A client that calls an ASGI application without a network, and small models to put behind one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocboost import OCBClassifier

JSON = "application/json"


@dataclass
class Reply:
    """What the application answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return self.json["error"]["code"]


class Client:
    """Calls an application; ``token`` is sent with every request."""

    def __init__(self, app: Any, token: str | None = None) -> None:
        self.app = app
        self.token = token

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, content: Any = None, **headers: str) -> Reply:
        """Post something as JSON; bytes as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.request("POST", path, body, headers={"content-type": JSON, **headers})

    def request(self, method: str, path: str, body: bytes = b"", headers: Any = None) -> Reply:
        return asyncio.run(self.call(method, path, [body], headers or {}))

    async def call(self, method: str, path: str, pieces: Any, headers: dict[str, str]) -> Reply:
        """One request, its body in pieces; None among them is a client that leaves, ... one that stalls."""
        path, _, query = path.partition("?")
        named = {"host": "localhost:8080", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if self.token is not None:
            named.setdefault("authorization", f"Bearer {self.token}")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in named.items()],
            "client": ("10.0.0.1", 5000),
            "server": ("127.0.0.1", 8080),
            "scheme": "http",
            "http_version": "1.1",
        }
        left = list(pieces)
        sent: list[dict[str, Any]] = []

        async def receive():
            piece = left.pop(0)
            if piece is ...:
                await asyncio.Event().wait()
            if piece is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": bool(left)}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return Reply(0, {}, b"")
        start, *parts = sent
        found = {k.decode(): v.decode("latin-1") for k, v in start["headers"]}
        return Reply(start["status"], found, b"".join(part["body"] for part in parts))


def small_model(names: bool = True, classes: Any = ("no", "yes")) -> OCBClassifier:
    """A model of three numbers a, b and c, with or without names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.asarray(classes)[np.digitize(X[:, 0], np.linspace(-0.5, 0.5, len(classes))[1:])]
    if names:
        import pandas as pd

        X = pd.DataFrame(X, columns=["a", "b", "c"])
    return OCBClassifier(n_hypotheses=8, random_state=0).fit(X, y)


ROW = {"a": 1.0, "b": -0.5, "c": 0.25}
