"""An audit of the server's own code: a canary client that tries to be noticed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from neuro_divergent.core.errors import ConfigError, RejectedUpdateError
from neuro_divergent.federated.round_store import MemoryRounds, RoundState
from neuro_divergent.federated.server import Server
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.weight_layout import WeightLayout
from neuro_divergent.privacy.accountant import Rounds
from neuro_divergent.privacy.audit import Audit, AuditResult
from neuro_divergent.privacy.ledger import Charge, Ledger
from neuro_divergent.privacy.mechanism import Mechanism

_RULE = "fedavg"  # whatever a rule does after the release is done to private numbers


def audit_server(settings: FederationSettings, *, trials: int = 10_000, confidence: float = 0.99) -> AuditResult:
    """Attack the server that a federation has, and return what that tells about its promise.

    Every trial is a round of ``Server``: drawing of clients, checks of their updates, clipping, noise and the step.
    The budget of the federation is spent in that one round: as much is learned as from all of its rounds, in seconds.

    Args:
        settings: Those of a federation with privacy.
        trials: Rounds with the canary, and as many without.
        confidence: Probability with which the bound holds.

    Raises:
        ConfigError: If the settings promise no privacy.
    """
    privacy = settings.privacy
    if privacy is None:
        raise ConfigError("privacy: this federation promises none, so there is nothing to audit.")
    once = settings.replace(
        rounds=1, aggregation=_RULE, min_clients=1, privacy=privacy.replace(noise_multiplier=None), deadline=None
    )
    assert once.privacy is not None
    mechanism = once.privacy.mechanism(once.participation, 1, 1)
    audit = Audit(mechanism, rounds=1, delta=privacy.delta, trials=trials, confidence=confidence)
    server = _AuditedServer(once, sorted(audit.clients(torch.zeros(1))))
    return audit.run(server.release)


class _AuditedServer(Server):
    """A server whose clients are vectors, and which forgets each round.

    The number of clients is public, and stays what it is where the canary is missing. Nothing is charged: no data are
    involved.
    """

    def __init__(self, settings: FederationSettings, names: Sequence[str]) -> None:
        self._sending = _Sending()
        layout = WeightLayout.of(torch.nn.Linear(16, 1, bias=False, dtype=torch.float64))
        super().__init__(settings, layout, self._sending, MemoryRounds(), ledger=_NoLedger(None))
        self._public = list(names)
        self._start = RoundState(0, torch.zeros(layout.size, dtype=torch.float64), {}, {})

    def release(self, clients: Mapping[str, Tensor]) -> Tensor:
        """Return the weights after one round that starts from zeros."""
        self._sending.vectors = dict(clients)
        return self._round(self._start, self._sending.clients(1)).weights

    def _mechanism(self, names: Sequence[str]) -> Mechanism:
        return super()._mechanism(self._public)

    def _spent(self) -> float | None:
        return None


class _NoLedger(Ledger):
    """Takes no charges."""

    def charge(self, round_number: int, settings: Rounds) -> Charge:
        return Charge(round_number, 1, settings.participation, settings.noise_multiplier, time.strftime("%FT%T+00:00"))


class _Sending(Transport):
    """Clients that send a vector each."""

    def __init__(self) -> None:
        self.vectors: dict[str, Tensor] = {}

    def clients(self, number: int) -> Sequence[str]:
        return sorted(self.vectors)

    def collect(self, task: RoundTask, chosen: Sequence[str], check: UpdateCheck, deadline: float | None) -> None:
        for name in chosen:
            try:
                check.accept(Update(name, task.round, self.vectors[name], examples=1))
            except RejectedUpdateError:
                continue  # which the check has noted

    def finish(self, number: int, weights: Tensor) -> None:
        """Do nothing: nobody waits."""

    @property
    def num_bytes(self) -> tuple[int, int]:
        return 0, 0
