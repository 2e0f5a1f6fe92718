"""The contract of transports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from neuro_divergent.federated.update import RoundTask
from neuro_divergent.federated.update_check import UpdateCheck


class Transport(Protocol):
    """Carries tasks to clients and brings their updates to the server."""

    def clients(self, number: int) -> Sequence[str]:
        """Return the names of the clients of a round, waiting for as many as are needed if that takes time."""

    def collect(self, task: RoundTask, chosen: Sequence[str], check: UpdateCheck, deadline: float | None) -> None:
        """Ask clients for an update of a round, and hand what they answer to the check.

        Args:
            task: What they are asked to do.
            chosen: Their names.
            check: Takes the updates: ``accept`` for each, ``refuse`` for a client that answers without one.
            deadline: Seconds after which no more is waited for; ``None`` waits for all.
        """

    def finish(self, number: int, weights: Tensor) -> None:
        """Give the final weights, those after a round, to all clients that want them."""

    @property
    def num_bytes(self) -> tuple[int, int]:
        """Bytes that were sent to clients and received from them so far; 0 where nothing is sent."""
