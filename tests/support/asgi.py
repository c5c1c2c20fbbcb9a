"""An application asked in this process, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class AppClient:
    """Asks an ASGI application; each request has an event loop of its own."""

    def __init__(self, app: Any, host: str = "localhost") -> None:
        self.app, self.host = app, host

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask, with the arguments of httpx."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{self.host}") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    def get(self, path: str, **more: Any) -> httpx.Response:
        """``GET``."""
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        """``POST``."""
        return self.request("POST", path, **more)
