"""Requests and responses of the server, as small as the hot path needs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from neuro_divergent.core.http_access import SECURITY_HEADERS

Header = tuple[bytes, bytes]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]

JSON = b"application/json"
CSV = b"text/csv"
BINARY = b"application/octet-stream"
FORM = b"application/x-www-form-urlencoded"
"""What curl says of any body unless it is told otherwise; such a body is read as JSON."""
_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
    *SECURITY_HEADERS,
)
_ONCE = frozenset(
    (b"host", b"authorization", b"content-type", b"accept", b"origin", b"inference-header-content-length")
)


class HttpError(Exception):
    """A request that is refused.

    Attributes:
        status: Status code.
        detail: Reason, in one line.
        reason: Short name of the reason, for the metrics.
        headers: Further headers.
    """

    def __init__(self, status: int, detail: str, reason: str, headers: Iterable[Header] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = " ".join(detail.split())
        self.reason = reason
        self.headers = tuple(headers)

    def response(self, *, is_inference: bool = False) -> HttpResponse:
        """Return what is sent; the open inference protocol wants an ``error`` as well."""
        content = {"error": self.detail, "detail": self.detail} if is_inference else {"detail": self.detail}
        return HttpResponse(self.status, msgspec.json.encode(content), headers=self.headers)


class HttpResponse:
    """A response with its body."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        kind: bytes = JSON,
        *,
        headers: Iterable[Header] = (),
        policy: bytes | None = None,
    ) -> None:
        self.status = status
        self.body = body
        safe = _HEADERS if policy is None else ((b"content-security-policy", policy), *_HEADERS[1:])
        self.headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *headers, *safe]


def json_response(content: Any, status: int = 200) -> HttpResponse:
    """Return plain values as strict JSON: numbers that are not finite become null."""
    return HttpResponse(status, msgspec.json.encode(content))


class HttpRequest:
    """A request whose headers have arrived.

    Attributes:
        method: In capitals.
        path: Decoded path.
        query: Bytes after the question mark.
        headers: By name in lower case; of a repeated one the last.
        started: Time of arrival on the clock of ``time.perf_counter``.
        receive: Function of ASGI that returns parts of the body.
        is_read: Whether all of the body has been received.
    """

    __slots__ = ("headers", "is_read", "method", "path", "query", "receive", "started")

    def __init__(self, scope: Mapping[str, Any], receive: Receive, started: float, *, largest: int) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.receive = receive
        self.started = started
        self.is_read = False
        headers: dict[bytes, bytes] = {}
        size = 0
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name in headers and name in _ONCE:
                raise HttpError(400, f"The header {name.decode('latin-1')} is there twice.", "headers")
            headers[name] = value
        if size > largest:
            raise HttpError(431, f"The headers have {size:,} bytes; at most {largest:,} are accepted.", "headers")
        self.headers = headers

    @property
    def content_type(self) -> bytes:
        """Kind of the body in lower case, without its parameters; empty where none is given."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()

    @property
    def prefers_csv(self) -> bool:
        """Whether the Accept header names CSV and not JSON."""
        accepted = self.headers.get(b"accept", b"").lower()
        return CSV in accepted and JSON not in accepted
