"""A connection to a Ray cluster. Ray is an extra and takes seconds to import."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.core.threads import available_cores

AUTO, LOCAL = "auto", "local"
_HOST = re.compile(r"(ray://)?(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_SECONDS_TO_ANSWER = 10.0
_OBJECT_STORE = 256 << 20  # bytes for what is sent to tasks, of a Ray of our own
_OWN = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to anybody
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the only switch by which Ray listens on the loopback interface alone
    "RAY_worker_niceness": "0",  # 15 by default: beside other programs a training would get next to nothing
}


def load_ray() -> Any:
    """Return Ray.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ImportError:
        raise MissingDependencyError(
            'Ray is not installed. Run: pip install "neuro-divergent[ray]", in the version that the cluster has.'
        ) from None
    return ray


def check_address(address: str) -> str:
    """Return an address that Ray understands: ``auto``, ``local``, ``host:port`` or ``ray://host:port``.

    Raises:
        InputError: If it is none of them.
    """
    found = _HOST.fullmatch(address)
    if address not in (AUTO, LOCAL) and (found is None or not 0 < int(found["port"]) < 65536):
        raise InputError(
            f"ray: {address!r} is no address of a cluster; write auto, local, host:port or ray://host:port."
        )
    return address


@contextmanager
def connected(address: str, *, cpus: int = 1) -> Iterator[Any]:
    """Give Ray, connected to a cluster, for the block; a connection that the program has already is used and kept.

    ``local`` starts a Ray of its own on this machine that ends with the block and listens to this machine only. It has
    as many CPUs as this process may use, and at least ``cpus``: Ray counts them, and does not look what they are.

    Raises:
        InputError: If there is no cluster at the address.
        MissingDependencyError: If Ray is not installed.
    """
    check_address(address)
    if address == LOCAL and "ray" not in sys.modules:
        os.environ.update(_OWN)
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    _require_answer(address)
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        count = max(available_cores(), cpus)
        options |= {"num_cpus": count, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    with _silent(ray):
        try:
            with _own_handler(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _connect(ray, options)
            yield ray
        finally:
            ray.shutdown()


def _connect(ray: Any, options: dict[str, Any]) -> None:
    try:
        ray.init(**options)
    except ConnectionError as error:
        raise InputError(
            f"ray: there is no cluster at {options['address']!r} ({error}). Start one with 'ray start --head', or use "
            "'local'."
        ) from None


def _require_answer(address: str) -> None:
    """Refuse an address where nobody listens; Ray itself would try for minutes."""
    found = _HOST.fullmatch(address)
    if found is None:
        return
    try:
        with socket.create_connection((found["host"].strip("[]"), int(found["port"])), _SECONDS_TO_ANSWER):
            pass
    except OSError as error:
        raise InputError(f"ray: there is no cluster at {address!r}: {error.strerror or error}.") from None


@contextmanager
def _silent(ray: Any) -> Iterator[None]:
    """Keep Ray from printing that a worker died, which it does to standard output whatever it is told."""
    worker = ray._private.worker
    before = worker._worker_logs_enabled
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


@contextmanager
def _own_handler() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)
