"""Settings of the server: address, access and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from pathlib import Path

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.http_access import (
    HOW_TO_MAKE_ONE,
    LARGEST_HEADERS,
    check_host_names,
    check_token,
    host_names,
    is_loopback,
    url_of,
)

PORT = 8080
TOKEN = "ND_SERVE_TOKEN"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and all of them together, may take.

    Attributes:
        body: Bytes of a body.
        buffered: Bytes of all bodies that are being received.
        series: Series of a request.
        values: Numbers of a request.
        levels: Levels and quantiles of a request.
        request_seconds: From the end of the headers to the answer.
        read_seconds: For the headers, and again for the body.
        idle_seconds: For which a connection without a request stays open.
        queue: Requests that wait for their forecast.
        headers: Bytes of the headers.
        connections: Open connections.
        batch: Windows that go through the network together.

    Examples:
        >>> import neuro_divergent as nd
        >>> limits = nd.serving.Limits(body=1_000_000, series=100)
        >>> limits.series, limits.queue
        (100, 1024)
        >>> nd.serving.Limits(series=0)
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: limit series: 0 must be above 0.
    """

    body: int = 16 * 1024**2
    buffered: int = 256 * 1024**2
    series: int = 10_000
    values: int = 4_000_000
    levels: int = 100
    request_seconds: float = 30.0
    read_seconds: float = 10.0
    idle_seconds: float = 75.0
    queue: int = 1024
    headers: int = LARGEST_HEADERS
    connections: int = 2048
    batch: int = 1024

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"limit {item.name}: {value:g} must be above 0.")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of a server.

    Attributes:
        host: Address to listen at.
        port: Port to listen at; 0 for one that is free.
        token: Secret that requests need, where other machines can connect, and that ``/admin/reload`` always needs.
        allowed_hosts: Further names it is reached by, such as that of a reverse proxy; ``name`` or ``name:port``.
        limits: Limits of requests.
        poll_seconds: Time between two looks for a new version; 0 switches it off.
        drain_seconds: Time from the request to stop, when ``/health/ready`` begins to refuse, to the moment when no
            connection is accepted any more: for a load balancer to notice.
        stop_seconds: Longest time for requests under way to end.
        inline_seconds: Batches that take less run between requests; others in a thread.
        threads: Threads of the network.
        log_forecasts: Directory for a log of the forecasts; ``None`` for none.
        log_inputs: Whether the log holds the requests as well.

    Examples:
        >>> import neuro_divergent as nd
        >>> settings = nd.serving.ServerSettings(port=9000, limits=nd.serving.Limits(request_seconds=5))
        >>> settings.needs_token
        False
        >>> nd.serving.ServerSettings(host="0.0.0.0")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.InputError: host 0.0.0.0: anybody who reaches it could use the models; give ...
    """

    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = Limits()
    poll_seconds: float = 5.0
    drain_seconds: float = 0.0
    stop_seconds: float = 30.0
    inline_seconds: float = 0.002
    threads: int = 1
    log_forecasts: Path | None = None
    log_inputs: bool = False

    def __post_init__(self) -> None:
        check_host_names(self.allowed_hosts)
        if self.token is not None:
            check_token(self.token)
        elif self.needs_token:
            raise InputError(
                f"host {self.host}: anybody who reaches it could use the models; give a token with --token or {TOKEN}. "
                f"{HOW_TO_MAKE_ONE}"
            )
        if self.log_inputs and self.log_forecasts is None:
            raise ConfigError("log_inputs: needs the directory of a log, log_forecasts.")
        for name in ("poll_seconds", "drain_seconds", "stop_seconds", "inline_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"{name}: {value:g} must be 0 or above.")
        if self.threads < 1:
            raise ConfigError(f"threads: {self.threads} must be 1 or above.")

    @property
    def needs_token(self) -> bool:
        """Whether requests need the token: where other machines can connect."""
        return not is_loopback(self.host) or bool(self.allowed_hosts)

    @property
    def hosts(self) -> frozenset[str]:
        """Accepted values of the Host header, in lower case."""
        return host_names(self.host, self.port, self.allowed_hosts)

    @property
    def address(self) -> str:
        """URL of the server."""
        return url_of(self.host, self.port)
