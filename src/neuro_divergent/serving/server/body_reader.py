"""Reads the body of a request, within the limits."""

from __future__ import annotations

from neuro_divergent.serving.server.http_message import HttpError, HttpRequest
from neuro_divergent.serving.server.settings import Limits

CLOSE = (b"connection", b"close")
RETRY = (b"retry-after", b"1")


class DisconnectedError(Exception):
    """The client closed the connection, or was cut off, before its request was complete."""


class BodyReader:
    """Reads bodies, and counts the bytes of all that are under way.

    Args:
        limits: Limits of requests.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffered = 0

    async def read(self, request: HttpRequest) -> bytes:
        """Return the body.

        Bytes are counted as they arrive: a Content-Length may be absent.

        Raises:
            HttpError: If it is too long (413), or too much is being received at once (503).
            DisconnectedError: If the client left.
        """
        limit = self._limits.body
        declared = request.headers.get(b"content-length")
        if declared is not None and (not declared.isdigit() or len(declared) > 15 or int(declared) > 2 * limit):
            raise self._too_large(declared[:20].decode("latin-1"))
        message = await request.receive()
        if message["type"] != "http.request":
            raise DisconnectedError
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            return await self._read_rest(request, body)
        request.is_read = True
        if len(body) > limit:
            raise self._too_large(f"{len(body):,}")
        return body

    async def discard(self, request: HttpRequest) -> bool:
        """Receive the rest of a request that is refused, up to the limit, so that its client sees the answer.

        Returns:
            Whether the body ended, so that the connection can be used again.
        """
        size, more = 0, not request.is_read
        while more and size <= 2 * self._limits.body:
            message = await request.receive()
            if message["type"] != "http.request":
                raise DisconnectedError
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        return not more

    async def _read_rest(self, request: HttpRequest, first: bytes) -> bytes:
        """Return a body that arrives in several parts."""
        limit, parts, size, held, more = self._limits.body, [first], len(first), len(first), True
        self._buffered += held
        try:
            while more:
                message = await request.receive()
                if message["type"] != "http.request":
                    raise DisconnectedError
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if size > 2 * limit:
                    raise self._too_large(f"more than {2 * limit:,}")
                if size <= limit:
                    parts.append(part)
                    self._buffered += len(part)
                    held += len(part)
                else:  # the rest is read all the same: a client that is still sending would not see the answer
                    parts.clear()
                if self._buffered > self._limits.buffered:
                    raise HttpError(503, "Too much is being received at once; try again.", "buffers", (RETRY, CLOSE))
        finally:
            self._buffered -= held
        request.is_read = True
        if size > limit:
            raise self._too_large(f"{size:,}")
        return b"".join(parts)

    def _too_large(self, found: str) -> HttpError:
        detail = f"The body has {found} bytes; at most {self._limits.body:,} are accepted. Send fewer series at a time."
        return HttpError(413, detail, "body", (CLOSE,))
