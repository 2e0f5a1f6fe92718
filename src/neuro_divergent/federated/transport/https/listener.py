"""The HTTPS server of a federation, in a thread."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from neuro_divergent.core.errors import InputError
from neuro_divergent.federated.transport.https.certificates import AUTHORITY, CERTIFICATE, KEY
from neuro_divergent.federated.transport.https.peer import PeerProtocol

_LARGEST_HEAD = 16 * 1024
_SECONDS_TO_START = 30.0


class Listener:
    """Answers clients that have a certificate of the federation, while the block lasts.

    Args:
        app: What answers.
        certificates: Directory with the certificate and key of the server, and the certificate of the authority.
        host: Address to listen at.
        port: Port to listen at; 0 for one that is free.

    Attributes:
        port: The port.
    """

    def __init__(self, app: Starlette, certificates: Path, host: str, port: int) -> None:
        missing = [name for name in (AUTHORITY, CERTIFICATE, KEY) if not (certificates / name).is_file()]
        if missing:
            raise InputError(f"{certificates / missing[0]}: not found; 'nd federated init' makes certificates.")
        config = uvicorn.Config(
            app,
            http=PeerProtocol,
            ws="none",
            lifespan="on",
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            timeout_graceful_shutdown=1,
            ssl_certfile=certificates / CERTIFICATE,
            ssl_keyfile=certificates / KEY,
            ssl_ca_certs=str(certificates / AUTHORITY),
            ssl_cert_reqs=ssl.CERT_REQUIRED,
        )
        config.load()
        assert config.ssl is not None
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
        self._server = uvicorn.Server(config)
        try:
            self._socket = socket.create_server((host, port), backlog=128)
        except OSError as error:
            raise InputError(f"{host}:{port}: cannot be listened at: {error.strerror or error}.") from None
        # Connections inherit it: without it every answer waits 40 ms for an acknowledgement.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, name="federation-https", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        end = time.monotonic() + _SECONDS_TO_START
        while not self._server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        if not self._server.started:
            raise InputError("the HTTPS server did not start.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])
