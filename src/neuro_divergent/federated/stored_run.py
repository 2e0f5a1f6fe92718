"""The rounds of a federation in its directory: what is there already, and those that are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from neuro_divergent.federated.directory import LEDGER, MODEL, ROUNDS, ROWS, FederationDirectory
from neuro_divergent.federated.global_model import GlobalModel
from neuro_divergent.federated.round_log import RoundLog
from neuro_divergent.federated.round_store import RoundState, StoredRounds
from neuro_divergent.federated.server import Server
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.privacy.ledger import Ledger

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A federation whose directory is open.

    Attributes:
        directory: The directory.
        chosen: What was chosen when the federation began.
        rounds: Complete rounds.
        complete: How many there are.
    """

    directory: FederationDirectory
    chosen: dict[str, Any]
    rounds: StoredRounds
    complete: int

    def train(
        self,
        shared: SharedNetwork,
        transport: Transport,
        *,
        observe: Callable[[Row], None] = lambda row: None,
        stops: Callable[[], bool] = lambda: False,
    ) -> tuple[RoundState, bool]:
        """Train the rounds that are left, and write the model after the last one.

        Args:
            shared: The network.
            transport: How clients are reached.
            observe: Called with the row of each round.
            stops: Called before each round; true stops.

        Returns:
            The last complete round, and whether it was stopped before the last one.
        """
        path, settings = self.directory.path, shared.config.federation
        log = RoundLog(path / ROWS, self.complete)

        def write(row: Row) -> None:
            log.write(row)
            observe(row)

        server = Server(
            settings,
            shared.layout,
            transport,
            self.rounds,
            ledger=None if settings.privacy is None else Ledger(path / LEDGER),
            observe=write,
            stops=stops,
        )
        state = server.run(shared.initial)
        if not server.is_stopped:
            GlobalModel.of(shared, state.weights, state.round, state.row.get("epsilon")).save(path / MODEL)
        self.directory.finish("interrupted" if server.is_stopped else "finished")
        return state, server.is_stopped


@contextmanager
def opened_run(directory: FederationDirectory, config: FederationConfig, chosen: dict[str, Any]) -> Iterator[StoredRun]:
    """Open the directory of a federation, as ``FederationDirectory.opened`` does."""
    with directory.opened(config, chosen) as begun:
        rounds = StoredRounds(directory.path / ROUNDS)
        last = rounds.latest()
        yield StoredRun(directory, begun, rounds, 0 if last is None else last.round)
