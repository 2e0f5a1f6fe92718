"""Calls an application as a server would, without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

TOKEN = "t" * 20 + "0123456789_-ABCDEFGHIJ"
HOST = "127.0.0.1:8765"


@dataclass
class Reply:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value.decode("latin-1") for key, value in self.headers if key.decode().lower() == name.lower()]
        assert len(found) < 2, f"{name} twice: {found}"
        return found[0] if found else None

    def json(self) -> Any:
        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.body, parse_constant=refuse)


class Client:
    """Sends requests one after the other in one event loop.

    A stream is read until it ends or ``stream_seconds`` have passed, whichever comes first.
    """

    def __init__(self, app: Any, *, token: str | None = None, host: str | None = HOST, stream_seconds: float = 0.1):
        self.app = app
        self.token = token
        self.host = host
        self.stream_seconds = stream_seconds
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def get(self, target: str | bytes, **options: Any) -> Reply:
        return self.request("GET", target, **options)

    def post(self, target: str | bytes, **options: Any) -> Reply:
        return self.request("POST", target, **options)

    def request(
        self, method: str, target: str | bytes, *, headers: Iterable[tuple[str | bytes, str | bytes]] = (),
        host: str | None = "", token: str | None = "", body: bytes = b"",
    ) -> Reply:  # fmt: skip
        """Send a request; ``target`` is what stands in the first line, with its percent signs."""
        host = self.host if host == "" else host
        token = self.token if token == "" else token
        sent = [] if host is None else [(b"host", host.encode("latin-1"))]
        if token is not None:
            sent.append((b"authorization", f"Bearer {token}".encode()))
        if body:
            sent.append((b"content-length", str(len(body)).encode()))
        for name, value in headers:
            sent.append((_bytes(name).lower(), _bytes(value)))
        return self._loop.run_until_complete(self._request(method, _bytes(target), sent, body))

    async def _request(self, method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> Reply:
        raw, _, query = target.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            # As uvicorn does it: percent signs are resolved, and what is no UTF-8 then is not dropped.
            "path": unquote_to_bytes(raw).decode("utf-8", "replace"),
            "raw_path": raw,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8765),
            "state": {},
        }
        reply = Reply(0, [], b"")
        is_done = asyncio.Event()
        has_sent = False

        async def receive() -> dict[str, Any]:
            nonlocal has_sent
            if not has_sent:
                has_sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await is_done.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                assert reply.status == 0, "two answers to one request"
                reply.status, reply.headers = message["status"], list(message["headers"])
            else:
                reply.body += message.get("body", b"")
                if not message.get("more_body"):
                    is_done.set()

        timer = self._loop.call_later(self.stream_seconds, is_done.set)
        try:
            await asyncio.wait_for(self.app(scope, receive, send), 60)
        finally:
            timer.cancel()
        assert reply.status, "no answer"
        return reply


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
