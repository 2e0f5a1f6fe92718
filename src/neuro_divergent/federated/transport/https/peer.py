"""Who sent a request: the name in its certificate, which the TLS handshake has verified."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.requests import Request

_PEER = "peer"


class PeerProtocol(H11Protocol):
    """HTTP of uvicorn that hands the subject of the client's certificate on to the application.

    ASGI has an extension for it, which uvicorn does not implement; the state of a connection reaches the application.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert")
        self.app_state = {**self.app_state, _PEER: _common_name(certificate or {})}


def peer_name(request: Request) -> str:
    """Return the name in the certificate of the client that sent a request; empty without one."""
    return str(request.scope.get("state", {}).get(_PEER, ""))


def _common_name(certificate: dict[str, Any]) -> str:
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return names[0] if len(names) == 1 else ""
