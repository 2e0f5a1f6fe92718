"""Access control of the dashboard: a middleware that checks each request before any route.

The page has no cookie; the token travels in a header that pages of other origins cannot set, so requests cannot be
forged by other pages. The host is compared exactly, which prevents DNS rebinding. No response leaves without the
headers that allow a browser to run our own files only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neuro_divergent.core.http_access import (
    LARGEST_HEADERS,
    LONGEST_PATH,
    LONGEST_QUERY,
    SECURITY_HEADERS,
    TokenCheck,
    is_own_address,
    is_same_origin,
)
from neuro_divergent.interfaces.dashboard.settings import Settings

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = ((b"content-security-policy", CONTENT_POLICY.encode()), *SECURITY_HEADERS)
LARGEST_BODY = 1024

_WISH = re.compile(r"/api/runs/[^/]+/(stop|checkpoint)")
_METHODS = ("GET", "HEAD", "POST")
_log = logging.getLogger(__name__)


class Security:
    """Passes allowed requests on, and refuses all others.

    A HEAD request is passed on as GET, and the body is dropped; ``scope["is_head"]`` tells endless streams.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.hosts
        self._token = TokenCheck(settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1000})
            return
        sender = _HeaderSender(send, is_api=scope["path"].startswith("/api"), is_head=scope["method"] == "HEAD")
        refusal = self._refusal(scope)
        if refusal is not None:
            await sender.refuse(*refusal)
            return
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "is_head": True}
        try:
            await self._app(scope, receive, sender.send)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException:  # a panic inside a reader of tables is no Exception
            _log.exception("a request failed")
            if sender.has_started:
                raise
            await sender.refuse(500, "Something went wrong here; the terminal of the dashboard says what.")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request is refused, or ``None`` if it is."""
        headers = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > LARGEST_HEADERS:
            return 431, "The headers are too large."
        hosts = _values(headers, b"host")
        if len(hosts) != 1:
            return 400, "A request needs exactly one host."
        if not self._is_ours(hosts[0], scope):
            return 421, "This is not the host that was asked for. 'nd dashboard --allow-host NAME' allows another name."
        method, path = scope["method"], scope["path"]
        if method not in _METHODS or (method == "POST" and _WISH.fullmatch(path) is None):
            return 405, f"{method[:20]} is not possible here."
        if len(scope.get("raw_path") or path.encode("utf-8", "replace")) > LONGEST_PATH:
            return 414, "The address is too long."
        if len(scope["query_string"]) > LONGEST_QUERY:
            return 414, "The question is too long."
        lengths = _values(headers, b"content-length")
        if any(not length.isdigit() or len(length) > 9 or int(length) > LARGEST_BODY for length in lengths):
            return 413, "Nothing is to be sent here."
        if method == "POST" and not is_same_origin(
            _values(headers, b"origin"), _values(headers, b"sec-fetch-site"), hosts[0]
        ):
            return 403, "Only the dashboard's own page may ask for this."
        needs_token = method == "POST" or (self._settings.needs_token_to_read and path.startswith("/api"))
        if needs_token and not self._token.accepts(_values(headers, b"authorization")):
            return 401, "This needs the token; open the address that 'nd dashboard' printed."
        return None

    def _is_ours(self, host: bytes, scope: Scope) -> bool:
        name = host.decode("latin-1").lower()
        own, port = self._settings.host, self._settings.port
        return name in self._hosts or is_own_address(name, own, port, scope.get("server"))


class _HeaderSender:
    """Adds the security headers to a response."""

    def __init__(self, send: Send, *, is_api: bool, is_head: bool) -> None:
        self._send = send
        self._is_api = is_api
        self._is_head = is_head
        self.has_started = False

    async def send(self, message: Message) -> None:
        """Pass on a part of the response."""
        if message["type"] == "http.response.start":
            self.has_started = True
            names = {name for name, _ in HEADERS} | ({b"cache-control"} if self._is_api else set())
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            cache = [(b"cache-control", b"no-store")] if self._is_api else []
            message = {**message, "headers": [*kept, *HEADERS, *cache]}
        elif self._is_head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def refuse(self, status: int, reason: str) -> None:
        """Send a response with nothing but a reason."""
        body = json.dumps({"detail": reason}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if status == 405:
            headers.append((b"allow", b"GET, HEAD"))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]
