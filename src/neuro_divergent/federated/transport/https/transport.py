"""The transport over HTTPS, on the side of the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from torch import Tensor

from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.transport.https.exchange import Announcement, Exchange
from neuro_divergent.federated.transport.https.members import Members
from neuro_divergent.federated.update import RoundTask
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.wire import encode_task


class HttpsTransport(Transport):
    """Hands tasks to clients that ask for them over HTTPS.

    Args:
        shared: The network of the federation.
        exchange: Where requests of clients are answered from.
        members: Who has joined.
        expected: Clients to wait for before the first round.
        waits: Called now and then while clients are waited for, with the names of those that are there; an error that
            it raises ends the wait.
        farewell: Seconds that clients have in the end to fetch the final weights.
    """

    def __init__(
        self,
        shared: SharedNetwork,
        exchange: Exchange,
        members: Members,
        *,
        expected: int,
        waits: Callable[[Sequence[str]], None] = lambda names: None,
        farewell: float = 60.0,
    ) -> None:
        self._shared = shared
        self._exchange = exchange
        self._members = members
        self._expected = expected
        self._waits = waits
        self._farewell = farewell

    def clients(self, number: int) -> Sequence[str]:
        self._members.open_round(number)
        while len(found := self._members.at(number)) < self._expected:
            self._waits(found)
            self._exchange.wait_until_seen(1.0)
        return found

    def collect(self, task: RoundTask, chosen: Sequence[str], check: UpdateCheck, deadline: float | None) -> None:
        content = encode_task(task, self._shared.layout)
        self._members.open_round(task.round + 1)  # who comes now takes part in the next one
        self._exchange.announce(Announcement(task.round, content, frozenset(chosen)), check)
        end = None if deadline is None else time.monotonic() + deadline
        while check.waits_for:
            self._waits(sorted(check.accepted))
            left = 1.0 if end is None else min(1.0, end - time.monotonic())
            if left <= 0:
                break
            self._exchange.wait(check, left)
        self._exchange.withdraw()

    def finish(self, number: int, weights: Tensor) -> None:
        """Give the final weights to all clients that fetch them in time."""
        content = encode_task(RoundTask(number, weights), self._shared.layout)
        self._exchange.announce(Announcement(number, content, frozenset(), is_final=True))
        end = time.monotonic() + self._farewell
        members = set(self._members.at(number + 1))
        while not members <= self._exchange.dismissed and time.monotonic() < end:
            self._waits(sorted(self._exchange.dismissed))
            self._exchange.wait_until_seen(min(1.0, max(end - time.monotonic(), 0.01)))

    @property
    def num_bytes(self) -> tuple[int, int]:
        return self._exchange.sent, self._exchange.received
