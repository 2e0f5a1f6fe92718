"""A cable between two network namespaces that delays and loses packets: ``python cable.py FIRST SECOND DELAY LOSS``.

Linux has that as ``netem``, which not every kernel has. Each end is a TUN device ``link0``; what one sends comes out of
the other after ``DELAY`` seconds, unless it is lost, which happens to a fraction ``LOSS`` of the packets of the second.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import select
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

DEVICE = "link0"
READY = "ready\n"
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_LONGEST = 65536


def open_device(namespace: str) -> int:
    """Make the device of a namespace, and return what reads and writes its packets."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{namespace}").open() as place:
        if library.setns(place.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH14x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


def carry(first: int, second: int, delay: float, loss: float) -> None:
    """Pass packets on until the end."""
    others, draw = {first: second, second: first}, Random(0)
    travelling: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        wait = max(travelling[0][0] - time.monotonic(), 0.0) if travelling else None
        for device in select.select([first, second], [], [], wait)[0]:
            packet = os.read(device, _LONGEST)
            if device == first or draw.random() >= loss:
                count += 1
                heapq.heappush(travelling, (time.monotonic() + delay, count, others[device], packet))
        while travelling and travelling[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(travelling)
            with suppress(OSError):  # that end is down: the packet is lost
                os.write(device, packet)


if __name__ == "__main__":
    ends = [open_device(name) for name in sys.argv[1:3]]
    sys.stdout.write(READY)
    sys.stdout.flush()
    carry(*ends, float(sys.argv[3]), float(sys.argv[4]))
