"""A PostgreSQL of Debian's packages for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


def find_binaries() -> Path | None:
    """Return where the programs of the latest version are, or ``None`` if there is none."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def running_postgresql(binaries: Path) -> Iterator[str]:
    """Run a server on loopback, as a user that is not root, and give the address of its database ``postgres``."""
    is_root = os.geteuid() == 0
    owner = "nobody" if is_root else pwd.getpwuid(os.geteuid()).pw_name
    place = Path("/tmp") / f"nd-postgresql-{os.getpid()}"
    place.mkdir(mode=0o700)
    options: dict[str, Any] = {"user": owner} if is_root else {}
    if is_root:
        shutil.chown(place, owner)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    setup = [str(binaries / "initdb"), "-D", str(place / "data"), "-A", "trust", "-U", "nd", "--no-sync"]
    subprocess.run(setup, check=True, capture_output=True, cwd=place, **options)
    settings = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(place), "-c", "fsync=off"]
    command = [str(binaries / "postgres"), "-D", str(place / "data"), *settings]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=place, **options)
    try:
        end = time.monotonic() + 600
        while not _answers(port):
            assert time.monotonic() < end, "PostgreSQL does not answer"
            time.sleep(0.05)
        yield f"postgresql://nd@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(place, ignore_errors=True)


def new_database(address: str, name: str) -> str:
    """Create a database beside the one at an address, and return its address."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{address.rpartition('/')[0]}/{name}"


def _answers(port: int) -> bool:
    import psycopg

    with suppress(psycopg.OperationalError):
        psycopg.connect(f"postgresql://nd@127.0.0.1:{port}/postgres", connect_timeout=2).close()
        return True
    return False
