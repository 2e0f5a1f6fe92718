"""Work that is done in a forked process, so that what it mounts, limits or gives up ends with it."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 0x1, 0x20, 0x4000, 0x40000
_NOBODY = 65534


def run_apart(function: Callable[[], Any], seconds: int = 120) -> Any:
    """Return what a function returns in a process of its own.

    Args:
        function: What to do; what it returns must be JSON.
        seconds: After how long the process is ended.

    Raises:
        AssertionError: If it raised something or took too long, with its traceback.
    """
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # The child uses none of the threads there may be; Python from 3.12 on cannot know that.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            try:
                report = {"result": function()}
            except BaseException:  # noqa: BLE001 - whatever it is, the test is to show it
                report = {"traceback": traceback.format_exc()}
            with os.fdopen(sending, "w") as file:
                json.dump(report, file)
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as file:
        content = file.read()
    os.waitpid(child, 0)
    assert content, f"the process ended without a word, perhaps after {seconds} s"
    report = json.loads(content)
    assert "traceback" not in report, report["traceback"]
    return report["result"]


@functools.cache
def why_no_mounts() -> str | None:
    """Return why a process cannot have file systems of its own here, or ``None`` if it can."""
    if sys.platform != "linux":
        return f"small file systems are mounted on Linux only, this is {sys.platform}"
    with tempfile.TemporaryDirectory() as place:

        def attempt() -> str | None:
            try:
                mount_memory(Path(place), "size=64k")
            except OSError as error:
                return f"mounting is not permitted here: {error}"
            return None

        reason: str | None = run_apart(attempt)
        return reason


def mount_memory(place: Path, options: str) -> None:
    """Mount a file system in memory that only this process sees, with options such as ``size=64k``."""
    user, group = os.getuid(), os.getgid()
    library = _c_library()
    if library.unshare(_NEW_MOUNTS):
        _require(library.unshare(_NEW_MOUNTS | _NEW_USERS))  # where users may have name spaces, they may mount this
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _require(library.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    _require(library.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, options.encode()))


def remount(place: Path, *, writable: bool) -> None:
    """Make a mounted file system read-only, or writable again."""
    flags = _REMOUNT | (0 if writable else _READ_ONLY)
    _require(_c_library().mount(None, os.fsencode(place), None, flags, None))


def give_up_rights(place: Path) -> None:
    """Be an ordinary user who owns a directory: what root may do proves nothing."""
    if os.geteuid() == 0:
        for path in (place, *place.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY)
        os.seteuid(_NOBODY)


def _require(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _c_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    text = ctypes.c_char_p
    library.mount.argtypes = [text, text, text, ctypes.c_ulong, text]
    return library
