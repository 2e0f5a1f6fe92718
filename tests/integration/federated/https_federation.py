"""A federation over HTTPS on this machine, for tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neuro_divergent as nd
from neuro_divergent.federated.transport.https.certificates import Authority
from neuro_divergent.federated.transport.https.remote_client import RemoteClient
from neuro_divergent.federated.transport.https.remote_server import RemoteServer
from tests.unit.federated.tables import federation, table

NAMES = ("client-0", "client-1", "client-2")


def config(names: Sequence[str] = NAMES, **settings: Any) -> nd.federated.FederationConfig:
    """Return the settings of a small federation, in which the server knows no tables."""
    made = federation(0, **settings)
    return made.config.replace(clients=dict.fromkeys(names, ""))


def issue(directory: Path, names: Sequence[str] = NAMES) -> Authority:
    """Make an authority, and certificates for the server and clients."""
    authority = Authority(directory / "authority")
    authority.issue_server(directory / "server", ["127.0.0.1", "localhost"])
    for name in names:
        authority.issue_client(directory / name, name)
    return authority


@dataclass
class RunningServer:
    """A server in a thread."""

    server: RemoteServer
    stop: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    model: nd.federated.GlobalModel | None = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> RunningServer:
        """Start it, and wait until it listens."""
        self._thread.start()
        assert self._listens.wait(60)
        if self.error is not None:
            raise self.error
        return self

    def join(self, seconds: float = 120) -> None:
        """Wait for its end."""
        self._thread.join(seconds)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error

    def halt(self) -> None:
        """Make it end in the middle of a round."""
        self.stop.set()
        self._thread.join(60)

    @property
    def address(self) -> str:
        """Its address."""
        return f"https://127.0.0.1:{self.port}"

    def _run(self) -> None:
        def heard(port: int) -> None:
            self.port = port
            self._listens.set()

        def wait(names: Sequence[str]) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt

        try:
            self.model = self.server.run(listening=heard, observe=self.rows.append, waits=wait)
        except BaseException as error:  # noqa: BLE001 (which the test looks at)
            self.error = None if isinstance(error, KeyboardInterrupt) and self.stop.is_set() else error
        finally:
            self._listens.set()


def serve(directory: Path, settings: nd.federated.FederationConfig, **options: Any) -> RunningServer:
    """Start a server."""
    made = {"host": "127.0.0.1", "port": 0, "farewell": 20.0, **options}
    return RunningServer(RemoteServer(settings, directory / "run", directory / "server", **made)).start()


def client(directory: Path, name: str, address: str, number: int, **options: Any) -> RemoteClient:
    """Return a client with a table of its own."""
    return RemoteClient(address, directory / name, table(number), state=directory / name / "state", **options)
