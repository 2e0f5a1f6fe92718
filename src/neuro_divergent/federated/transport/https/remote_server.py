"""The server of a federation whose clients are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from neuro_divergent.federated.directory import FederationDirectory
from neuro_divergent.federated.global_model import GlobalModel
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.stored_run import opened_run
from neuro_divergent.federated.transport.https.app import Front, create_app
from neuro_divergent.federated.transport.https.dependencies import require_installed
from neuro_divergent.federated.transport.https.exchange import Exchange
from neuro_divergent.federated.transport.https.listener import Listener
from neuro_divergent.federated.transport.https.members import Members
from neuro_divergent.federated.transport.https.transport import HttpsTransport

MEMBERS = "members.json"
Row = dict[str, Any]


class RemoteServer:
    """Runs the rounds of a federation for clients that ask over HTTPS.

    It can be killed and started again at any moment: it goes on after the last complete round.

    Args:
        config: The settings; where it lists clients, only those may join.
        directory: Directory of the federation.
        certificates: Directory with the certificate of the server.
        host: Address to listen at.
        port: Port to listen at; 0 for one that is free.
        expected: Clients to wait for before the first round; unset, those that the settings list, or as many as a
            round needs.
        farewell: Seconds that clients have in the end to fetch the final weights.
    """

    def __init__(
        self,
        config: FederationConfig,
        directory: Path,
        certificates: Path,
        *,
        host: str = "0.0.0.0",
        port: int = 8443,
        expected: int | None = None,
        farewell: float = 60.0,
    ) -> None:
        require_installed()
        self.shared = SharedNetwork(config)
        self._directory = FederationDirectory(directory)
        self._certificates = certificates
        self._host, self._port = host, port
        self._expected = expected or len(config.clients) or config.federation.min_clients
        self._farewell = farewell

    def run(
        self,
        *,
        listening: Callable[[int], None] = lambda port: None,
        observe: Callable[[Row], None] = lambda row: None,
        waits: Callable[[Sequence[str]], None] = lambda names: None,
        stops: Callable[[], bool] = lambda: False,
    ) -> GlobalModel:
        """Run all rounds that are left, and return the global model.

        Args:
            listening: Called with the port when clients can come.
            observe: Called with the row of each round.
            waits: Called about once in a second while clients are waited for, with those that are there.
            stops: Called before each round; true stops.
        """
        config = self.shared.config
        with opened_run(self._directory, config, {}) as run:
            path = self._directory.path / MEMBERS
            members = Members(path, frozenset(config.clients), config.run.data.frequency)
            exchange = Exchange()
            transport = HttpsTransport(
                self.shared, exchange, members, expected=self._expected, waits=waits, farewell=self._farewell
            )
            app = create_app(Front(self.shared, exchange, members))
            with Listener(app, self._certificates, self._host, self._port) as listener:
                listening(listener.port)
                try:
                    state, _ = run.train(self.shared, transport, observe=observe, stops=stops)
                finally:
                    exchange.close()
        return GlobalModel.of(self.shared, state.weights, state.round, state.row.get("epsilon"))
