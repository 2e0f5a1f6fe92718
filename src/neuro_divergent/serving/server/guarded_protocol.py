"""The HTTP protocol of uvicorn with limits on slow and large requests, and a shutdown that loses none."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import msgspec

from neuro_divergent.serving.server.settings import Limits

_LEAST_RATE = 64 * 1024  # bytes of a body per second that extend its time
_QUIET = 0.1  # seconds without a byte after which an idle connection is closed at the end


class ConnectionGuard:
    """Limits of connections, and whether the server is stopping; one for all connections of a server.

    Args:
        limits: Limits of requests.
        count: Called with the reason of each refusal.
    """

    def __init__(self, limits: Limits, count: Callable[[str], None]) -> None:
        self.limits = limits
        self.count = count
        self.is_stopping = False

    def make_protocol(self) -> type[asyncio.Protocol]:
        """Return the class of the protocol: httptools where it is installed, else h11."""
        place, name = ("h11_impl", "H11Protocol")
        if find_spec("httptools") is not None:
            place, name = ("httptools_impl", "HttpToolsProtocol")
        base = getattr(importlib.import_module(f"uvicorn.protocols.http.{place}"), name)
        return type("GuardedProtocol", (_Guarded, base), {"guard": self})


class _JoiningTransport:
    """A transport that writes the head of a response together with its body.

    uvicorn writes them one after the other, and each write is a system call that wakes the client.
    """

    __slots__ = ("_head", "_transport", "_write")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._write = transport.write
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write bytes, unless they are the head of a response: that waits for the next bytes."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.endswith(b"\r\n\r\n") and data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 100"):
            self._head = data
            return
        self._write(data)

    def flush(self) -> None:
        """Write what waits."""
        if self._head:
            self._write(self._head)
            self._head = b""

    def close(self) -> None:
        """Write what waits, and close."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed or closing."""
        return self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Guarded:
    """What is added to a protocol of uvicorn, which keeps the present request in ``cycle``."""

    guard: ConnectionGuard
    loop: asyncio.AbstractEventLoop
    transport: _JoiningTransport
    cycle: Any
    connections: set[Any]

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin a connection; refuse it where there are too many."""
        super().connection_made(_JoiningTransport(transport))  # type: ignore[misc]
        self._last_byte = self.loop.time()
        self._head_since: float | None = self._last_byte
        self._body_since: float | None = None
        self._received = 0
        self._unread, self._unread_since = 0, self._last_byte
        if len(self.connections) > self.guard.limits.connections:
            detail = "Too many connections; try again."
            self._refuse(503, "Service Unavailable", detail, "connections", b"retry-after: 1\r\n")

    def data_received(self, data: bytes) -> None:
        """Take bytes, and note when the head and the body of a request began."""
        if self.transport.is_closing():
            return
        before = self.cycle
        is_idle = before is None or before.response_complete
        now = self._last_byte = self.loop.time()
        if is_idle and self._head_since is None:
            self._head_since, self._received = now, 0
        self._received += len(data)
        super().data_received(data)  # type: ignore[misc]
        cycle = self.cycle
        if cycle is not before:
            self._head_since = None
            self._body_since, self._received = (now, len(data)) if cycle.more_body else (None, 0)
            if self.guard.is_stopping:
                cycle.keep_alive = False
        elif is_idle:
            if self._received > self.guard.limits.headers:
                most = self.guard.limits.headers
                detail = f"At most {most:,} bytes of headers are accepted."
                self._refuse(431, "Request Header Fields Too Large", detail, "headers")
        elif not cycle.more_body:
            self._body_since = None

    def cut_off_if_late(self, now: float) -> None:
        """End a request whose head or body takes too long to arrive."""
        seconds = self.guard.limits.read_seconds
        if self._head_since is not None:
            is_late = now - self._head_since > seconds
        elif self._body_since is not None and self.cycle is not None and not self.cycle.response_complete:
            is_late = now - self._body_since > seconds + self._received / _LEAST_RATE
        else:
            return
        if is_late:
            self._refuse(408, "Request Timeout", f"The request took longer than {seconds:g} seconds to arrive.", "slow")

    def abort_if_unread(self, now: float) -> None:
        """End a connection whose client does not read its answer; closing would wait for it."""
        unread = self.transport.get_write_buffer_size()
        if unread == 0 or unread != self._unread:
            self._unread, self._unread_since = unread, now
        elif now - self._unread_since > self.guard.limits.request_seconds:
            self.guard.count("unread")
            self.transport.abort()

    def close_if_quiet(self, now: float) -> None:
        """Close a connection without a request, unless one may be arriving."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and now - self._last_byte > _QUIET:
            self.transport.close()

    def shutdown(self) -> None:
        """Let the request under way be the last one; ``close_if_quiet`` ends connections that have none."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """End a response; one to a HEAD request has no body that would take its head along."""
        self.transport.flush()
        super().on_response_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP."""
        self._refuse(400, "Bad Request", "This is not a valid HTTP request.", "http")

    def _refuse(self, status: int, phrase: str, detail: str, reason: str, headers: bytes = b"") -> None:
        """Answer without the application, and close."""
        if self.transport.is_closing():
            return
        self.guard.count(reason)
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # its task gets no body, and writes nothing
            self.cycle.message_event.set()
        body = msgspec.json.encode({"detail": detail})
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n"
        )
        self.transport.write(head.encode() + headers + b"\r\n" + body)
        self.transport.close()
