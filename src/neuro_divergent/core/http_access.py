"""Access to a server: accepted host names, the token, same-origin requests, and the listening socket."""

from __future__ import annotations

import errno
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
from collections.abc import Iterable, Sequence

from neuro_divergent.core.errors import InputError

LONGEST_PATH = 1024
LONGEST_QUERY = 4096
LARGEST_HEADERS = 32 * 1024
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
HOW_TO_MAKE_ONE = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"

_MOST_LETTERS = 512
_TOKEN = re.compile(r"[A-Za-z0-9_\-]{22,}")
_NAME = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?"
)


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


class TokenCheck:
    """Compares tokens of requests with the right one.

    Args:
        token: The right one.
    """

    def __init__(self, token: str) -> None:
        self._digest = _digest(token.encode())

    def accepts(self, authorizations: Sequence[bytes]) -> bool:
        """Whether there is exactly one Authorization header, and it is ``Bearer`` and the token."""
        scheme, _, token = authorizations[0].partition(b" ") if len(authorizations) == 1 else (b"", b"", b"")
        # Digests have equal length, and their comparison takes constant time.
        return hmac.compare_digest(_digest(token.strip()), self._digest) and scheme.lower() == b"bearer"


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


def check_host_names(names: Iterable[str]) -> None:
    """Refuse what cannot be the name of a host.

    Raises:
        InputError: If one is not ``name`` or ``name:port``.
    """
    for name in names:
        if _NAME.fullmatch(name.lower()) is None:
            raise InputError(
                f"{name!r} is not the name of a host; accepted is a name such as runs.example.org or one with a "
                "port such as 10.0.0.7:8765, without http:// and without *."
            )


def host_names(host: str, port: int, allowed: Iterable[str]) -> frozenset[str]:
    """Return the accepted values of the Host header, in lower case.

    Args:
        host: Address that the server listens at.
        port: Port that it listens at.
        allowed: Further names, with or without a port.
    """
    own = {_bracketed(host), "localhost"}
    if is_loopback(host) or is_wildcard(host):
        own |= {"127.0.0.1", "[::1]"}
    given = {name.lower() for name in allowed}
    with_port = {f"{name}:{port}" for name in own | {name for name in given if not _has_port(name)}}
    return frozenset(with_port | given | (own if port == 80 else set()))  # browsers leave port 80 out


def is_own_address(name: str, host: str, port: int, server: tuple[str, int | None] | None) -> bool:
    """Whether a Host header is the address at which a connection to a server at all addresses arrived.

    Args:
        name: The header, in lower case.
        host: Address that the server listens at.
        port: Port that it listens at.
        server: Address and port at which the connection arrived.
    """
    if not server or not is_wildcard(host):
        return False
    return name == f"{_bracketed(server[0])}:{server[1]}" and server[1] == port


def is_same_origin(origins: Iterable[bytes], sites: Iterable[bytes], host: bytes) -> bool:
    """Whether a request comes from a page of this host, or from no page at all.

    Args:
        origins: Values of the Origin header.
        sites: Values of the Sec-Fetch-Site header.
        host: The Host header.
    """
    own = {b"http://" + host.lower(), b"https://" + host.lower()}
    return {origin.lower() for origin in origins} <= own and set(sites) <= {b"same-origin", b"none"}


def url_of(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a server."""
    reached = "127.0.0.1" if is_wildcard(host) else host
    return f"http://{_bracketed(reached)}:{port}/"


def listen(host: str, port: int, *, who: str = "server", backlog: int = 128) -> socket.socket:
    """Return a listening socket, so that the address that is shown works.

    Args:
        host: Address to listen at.
        port: Port to listen at; 0 for one that is free.
        who: What listens, for the message.
        backlog: Connections that may wait to be accepted.

    Raises:
        InputError: If it cannot listen there.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family)
        try:
            if os.name == "posix":  # where it means no more than that the last one may have ended a moment ago
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it: without it an answer may wait 40 ms for an acknowledgement.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.bind(address)
            listener.listen(backlog)
        except BaseException:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        what = f"is taken, perhaps by another {who}" if taken else f"cannot be used ({error})"
        raise InputError(f"{host}, port {port}: {what}; choose another, or --port 0 for one that is free.") from error
    return listener


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _bracketed(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]
