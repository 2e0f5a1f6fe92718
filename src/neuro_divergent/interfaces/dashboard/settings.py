"""Settings of the dashboard: address, access and directory of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from neuro_divergent.core.http_access import check_host_names, check_token, host_names, is_loopback, url_of

PORT = 8765


@dataclass(frozen=True)
class Settings:
    """Settings of a dashboard.

    Attributes:
        root: Directory of runs, or one run.
        token: Secret that allows control requests, and reading where that is not open to all on this machine.
        host: Address to listen at.
        port: Port to listen at.
        allowed_hosts: Further names it is reached by, such as that of a reverse proxy; ``name`` or ``name:port``.
    """

    root: Path
    token: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = PORT
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_token(self.token)
        check_host_names(self.allowed_hosts)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def needs_token_to_read(self) -> bool:
        """Whether reading needs the token: where other machines can connect."""
        return not self.is_loopback or bool(self.allowed_hosts)

    @property
    def hosts(self) -> frozenset[str]:
        """Accepted values of the Host header, in lower case."""
        return host_names(self.host, self.port, self.allowed_hosts)

    @property
    def address(self) -> str:
        """URL of the dashboard, without the token."""
        return url_of(self.host, self.port)
