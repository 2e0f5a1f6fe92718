"""The network interface through which this machine reaches another one."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

_IPV6_ADDRESSES = Path("/proc/net/if_inet6")
_SIOCGIFADDR = 0x8915  # request of Linux: the IPv4 address of an interface
_REQUEST, _ADDRESS = "256s", slice(20, 24)  # struct ifreq, and where the address is in it


def interface_towards(host: str) -> str | None:
    """Return the name of the interface that this machine uses to reach a host, such as ``eth0``; it sends nothing.

    ``None`` if the host is not known or cannot be reached, or where the system is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # a datagram socket only looks up the route
            own = probe.getsockname()[0]
    except OSError:
        return None
    names = [name for _, name in socket.if_nameindex()]
    if family == socket.AF_INET:
        return next((name for name in names if _ipv4_address(name) == own), None)
    return _ipv6_interface(own.partition("%")[0])


def _ipv4_address(name: str) -> str | None:
    """Return the first address of an interface."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket, _SIOCGIFADDR, struct.pack(_REQUEST, name.encode()[:15]))
        except OSError:  # it has none
            return None
    return socket.inet_ntoa(answer[_ADDRESS])


def _ipv6_interface(address: str) -> str | None:
    """Return the interface that has an address."""
    wanted = socket.inet_pton(socket.AF_INET6, address).hex()
    try:
        lines = _IPV6_ADDRESSES.read_text("ascii").splitlines()
    except OSError:
        return None
    return next((line.split()[-1] for line in lines if line.startswith(wanted)), None)
