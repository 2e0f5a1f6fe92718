"""Clients in this process, one after the other or several in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from torch import Tensor

from neuro_divergent.core.errors import DivergedError, RejectedUpdateError
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.stacked_clients import StackedClients
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.update_check import UpdateCheck


class InProcess(Transport):
    """Trains clients in this process; for simulations, and for data that lie in one place.

    Args:
        clients: The clients by name.
        vectorize: Whether several are trained in one step.
    """

    def __init__(self, clients: Mapping[str, Client], *, vectorize: bool) -> None:
        self._clients = dict(clients)
        self._vectorize = vectorize

    def clients(self, number: int) -> Sequence[str]:
        return sorted(self._clients)

    def collect(self, task: RoundTask, chosen: Sequence[str], check: UpdateCheck, deadline: float | None) -> None:
        if self._vectorize and len(chosen) > 1:
            found = self._stacked.train(task, [self._clients[name] for name in chosen])
        else:
            found = [self._train(task, name) for name in chosen]
        for name, answer in zip(chosen, found, strict=True):
            if isinstance(answer, str):
                check.refuse(name, answer)
                continue
            try:
                check.accept(answer)
            except RejectedUpdateError:
                continue  # which the check has noted

    def finish(self, number: int, weights: Tensor) -> None:
        """Do nothing: the clients are at hand."""

    @property
    def num_bytes(self) -> tuple[int, int]:
        return 0, 0

    @cached_property
    def _stacked(self) -> StackedClients:
        return StackedClients(list(self._clients.values()))

    def _train(self, task: RoundTask, name: str) -> Update | str:
        """Return the update of a client, or why it has none."""
        try:
            return self._clients[name].train(task)
        except DivergedError as error:
            return str(error)
