"""Settings of the dashboard: address, access and directory of runs."""

from __future__ import annotations

import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from neuro_divergent.core.errors import InputError

PORT = 8765
_MOST_LETTERS = 512
_TOKEN = re.compile(r"[A-Za-z0-9_\-]{22,}")
_NAME = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?"
)


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
        for name in self.allowed_hosts:
            if _NAME.fullmatch(name.lower()) is None:
                raise InputError(
                    f"{name!r} is not the name of a host; accepted is a name such as runs.example.org or one with a "
                    "port such as 10.0.0.7:8765, without http:// and without *."
                )

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
        own = {_bracketed(self.host), "localhost"}
        if self.is_loopback or is_wildcard(self.host):
            own |= {"127.0.0.1", "[::1]"}
        given = {name.lower() for name in self.allowed_hosts}
        with_port = {f"{name}:{self.port}" for name in own | {name for name in given if not _has_port(name)}}
        return frozenset(with_port | given | (own if self.port == 80 else set()))  # browsers leave port 80 out

    @property
    def address(self) -> str:
        """URL of the dashboard, without the token."""
        host = "127.0.0.1" if is_wildcard(self.host) else self.host
        return f"http://{_bracketed(host)}:{self.port}/"


def new_token() -> str:
    """Return a token of 256 random bits."""
    return secrets.token_urlsafe(32)


def check_token(token: str) -> None:
    """Refuse a token that could be guessed.

    Raises:
        InputError: If it is too short for 128 bits, or has characters that a header or a URL cannot hold.
    """
    # Hexadecimal digits have 4 bits each, letters of base64url 6: 32 or 22 of them are 128 bits or more.
    is_hex = re.fullmatch(r"[0-9a-fA-F]+", token) is not None
    if len(token) > _MOST_LETTERS or _TOKEN.fullmatch(token) is None or (is_hex and len(token) < 32):
        raise InputError(
            f"a token of {len(token)} characters was given; at least 128 bits are needed: 32 hexadecimal digits or 22 "
            f"of A-Z a-z 0-9 - _, at most {_MOST_LETTERS}. {HOW_TO_MAKE_ONE}"
        )


HOW_TO_MAKE_ONE = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether an address stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]
