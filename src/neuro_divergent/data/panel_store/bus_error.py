"""One clear line instead of a bus error when a file is cut off while its values are read.

The kernel sends SIGBUS to a process that reads a mapped page behind the end of its file. Nothing can be done about the
read itself; by default the process ends without a word. While panels are mapped, a handler writes what happened and
ends the process like other errors of the disk. A handler that somebody else installed stays.
"""

from __future__ import annotations

import ctypes
import os
import signal
import weakref
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import StorageError

_open: dict[int, Path] = {}
_handler: Any = None  # kept alive while it is installed


def guard_panel(owner: object, directory: Path) -> None:
    """Report a bus error as a problem of a panel as long as ``owner``, its open files, exists."""
    if not hasattr(signal, "SIGBUS"):
        return
    _open[id(owner)] = directory
    weakref.finalize(owner, _release, id(owner)).atexit = False
    _install()


def _release(key: int) -> None:
    _open.pop(key, None)
    if not _open:
        _uninstall()


def _install() -> None:
    global _handler
    libc = ctypes.CDLL(None)
    if _handler is not None or _disposition(libc):
        return
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int)
    _handler = kind(_report)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(ctypes.c_int(signal.SIGBUS), _handler)


def _uninstall() -> None:
    global _handler
    libc = ctypes.CDLL(None)
    if _handler is not None and _disposition(libc) == ctypes.cast(_handler, ctypes.c_void_p).value:
        libc.signal(ctypes.c_int(signal.SIGBUS), ctypes.c_void_p(None))
    _handler = None


def _disposition(libc: Any) -> int | None:
    """Return the address of the present handler; ``None`` for the default one.

    ``signal.getsignal`` knows only those installed by Python code, and ``faulthandler`` is not.
    """
    state = ctypes.create_string_buffer(512)  # struct sigaction, whose first field is the handler
    libc.sigaction(ctypes.c_int(signal.SIGBUS), None, state)
    return ctypes.cast(state, ctypes.POINTER(ctypes.c_void_p)).contents.value


def _report(number: int) -> None:
    places = ", ".join(sorted({str(place) for place in _open.values()}))
    message = (
        f"error: {places}: a file was cut off, or its disk failed, while its values were read. "
        "Check it with: nd panel check, or build it again.\n"
    )
    try:
        os.write(2, message.encode("utf-8", "replace"))
    finally:
        os._exit(StorageError.exit_code)
