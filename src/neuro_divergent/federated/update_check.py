"""Checks of an update before it counts."""

from __future__ import annotations

import math
from collections.abc import Collection

from torch import Tensor

from neuro_divergent.core.errors import RejectedUpdateError
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.federated.update import RoundTask, Update

_MOST_EXAMPLES = 2**53


class UpdateCheck:
    """Collects the updates of a round, and refuses those that must not count.

    Args:
        task: What the clients were asked to do.
        chosen: Names of those that were asked.
        settings: How the federation trains.

    Attributes:
        accepted: The updates that count, by client.
        refused: Why others do not, by client.
    """

    def __init__(self, task: RoundTask, chosen: Collection[str], settings: FederationSettings) -> None:
        self._task = task
        self._chosen = set(chosen)
        self._settings = settings
        self.accepted: dict[str, Update] = {}
        self.refused: dict[str, str] = {}

    @property
    def waits_for(self) -> set[str]:
        """Names of those that have not answered."""
        return self._chosen - set(self.accepted) - set(self.refused)

    def accept(self, update: Update) -> None:
        """Let an update count.

        Raises:
            RejectedUpdateError: If it does not; the client has then answered, unless it was not asked or has before.
        """
        if update.client not in self._chosen:
            raise RejectedUpdateError(f"client {update.client!r} was not asked in round {self._task.round}.")
        if update.client in self.accepted or update.client in self.refused:
            raise RejectedUpdateError(f"client {update.client!r} has answered round {self._task.round} before.")
        if update.round != self._task.round:
            raise RejectedUpdateError(f"an update of round {update.round} in round {self._task.round}.")
        reason = self._reason(update)
        if reason is not None:
            self.refuse(update.client, reason)
            raise RejectedUpdateError(f"client {update.client!r}: {reason}.")
        self.accepted[update.client] = update

    def refuse(self, client: str, reason: str) -> None:
        """Note that a client has answered with nothing that counts."""
        self.refused[client] = reason

    def _reason(self, update: Update) -> str | None:
        """Return why an update does not count."""
        size = self._task.weights.shape
        vectors: list[Tensor] = [update.delta, *update.message.values()]
        if any(vector.shape != size or vector.dtype != self._task.weights.dtype for vector in vectors):
            return f"an update of shape {tuple(update.delta.shape)}; expected {tuple(size)}"
        if set(update.message) != set(self._task.message):
            return f"an update with {sorted(update.message)}; expected {sorted(self._task.message)}"
        if not all(bool(vector.isfinite().all()) for vector in vectors):
            return "an update with numbers that are not finite"
        if type(update.examples) is not int or not 1 <= update.examples <= _MOST_EXAMPLES:
            return f"an update from {update.examples!r} windows"
        if update.loss is not None and not math.isfinite(update.loss):
            return "a training loss that is not finite"
        largest = self._settings.max_norm
        norm = float(update.delta.norm())
        if not math.isfinite(norm) or (largest is not None and norm > largest):
            return f"an update with norm {norm:.4g}; at most {largest} is accepted"
        return None
