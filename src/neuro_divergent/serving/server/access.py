"""Access to the server: the host, the origin and the token of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuro_divergent.core.http_access import (
    LONGEST_PATH,
    LONGEST_QUERY,
    TokenCheck,
    is_own_address,
    is_same_origin,
)
from neuro_divergent.serving.server.http_message import HttpError, HttpRequest
from neuro_divergent.serving.server.settings import TOKEN, ServerSettings

_CHALLENGE = ((b"www-authenticate", b"Bearer"),)


class Access:
    """Refuses requests that are not allowed, before any route.

    Args:
        settings: Settings of the server, with the port that it listens at.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._hosts = frozenset(name.encode() for name in settings.hosts)
        self._needs_token = settings.needs_token
        self._token = None if settings.token is None else TokenCheck(settings.token)

    def check(self, request: HttpRequest, scope: Mapping[str, Any]) -> None:
        """Refuse a request for another host, from a page of another origin, or with an address that is too long.

        Raises:
            HttpError: If it is refused.
        """
        host = request.headers.get(b"host")
        if host is None:
            raise HttpError(400, "A request needs a host.", "host")
        if host not in self._hosts and not self._is_ours(host, scope):
            raise HttpError(421, "This is not the host of this server; --allow-host NAME allows another name.", "host")
        if len(scope.get("raw_path") or b"") > LONGEST_PATH or len(request.query) > LONGEST_QUERY:
            raise HttpError(414, "The address is too long.", "address")
        origin, site = request.headers.get(b"origin"), request.headers.get(b"sec-fetch-site")
        if (origin is not None or site is not None) and request.method != "GET":
            given = [] if origin is None else [origin]
            if not is_same_origin(given, [] if site is None else [site], host):
                raise HttpError(403, "Pages of other origins may not use this server.", "origin")

    def check_token(self, request: HttpRequest, *, always: bool = False) -> None:
        """Refuse a request without the token, where one is needed.

        Args:
            request: The request.
            always: Whether it is needed on this machine too.

        Raises:
            HttpError: If it is refused.
        """
        if not (always or self._needs_token):
            return
        if self._token is None:
            raise HttpError(403, f"Start the server with --token or {TOKEN} to allow this.", "token")
        given = request.headers.get(b"authorization")
        if not self._token.accepts([] if given is None else [given]):
            raise HttpError(401, "This needs the token: Authorization: Bearer TOKEN.", "token", _CHALLENGE)

    def _is_ours(self, host: bytes, scope: Mapping[str, Any]) -> bool:
        name = host.decode("latin-1").lower()
        if name.encode("latin-1") in self._hosts:
            return True
        return is_own_address(name, self._settings.host, self._settings.port, scope.get("server"))
