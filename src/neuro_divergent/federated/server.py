"""The server: sample clients, collect updates, check, aggregate, commit."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.progress import track
from neuro_divergent.federated.round_store import MemoryRounds, RoundState
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.weight_layout import WeightLayout
from neuro_divergent.privacy.ledger import Ledger
from neuro_divergent.privacy.mechanism import Mechanism

Row = dict[str, Any]


class Server:
    """Runs the rounds of a federation.

    A round that is committed is never done again; one that was not is done again from its beginning, with the same
    clients and weights, so that a server that was killed ends with the same weights as one that was not. With privacy
    who takes part and the noise are drawn again, and both attempts are charged.

    Args:
        settings: How to train.
        layout: Which weights are shared.
        transport: How clients are reached.
        rounds: Where complete rounds are kept.
        ledger: Where private rounds are charged; needed with ``settings.privacy``.
        observe: Called with the row of a round before that is committed.
        stops: Called before each round; true stops.
    """

    def __init__(
        self,
        settings: FederationSettings,
        layout: WeightLayout,
        transport: Transport,
        rounds: MemoryRounds,
        *,
        ledger: Ledger | None = None,
        observe: Callable[[Row], None] = lambda row: None,
        stops: Callable[[], bool] = lambda: False,
    ) -> None:
        if (settings.privacy is None) != (ledger is None):
            raise InputError("ledger: privacy needs one, and nothing else does.")
        self.settings = settings
        self._layout = layout
        self._transport = transport
        self._rounds = rounds
        self._ledger = ledger
        self._observe = observe
        self._stops = stops
        self._noise: float | None = None
        self.is_stopped = False  # before the last round

    def run(self, initial: Tensor) -> RoundState:
        """Train until the last round, until the budget is spent, or until it is asked to stop.

        Args:
            initial: Weights before the first round, unless there are complete rounds to go on from.
        """
        state = self._rounds.latest()
        if state is None:
            first = self._layout.rounded(initial)
            state = RoundState(0, first, self.settings.aggregation.init_state(first), {})
            self._rounds.commit(state)
        self._check_ledger(state.round)
        with track("Federation", self.settings.rounds, "round") as shown:
            while state.round < self.settings.rounds:
                shown.update(state.round)
                if self._stops():
                    self.is_stopped = True
                    return state
                names = sorted(self._transport.clients(state.round + 1))
                if not self._can_afford(names):
                    break
                state = self._round(state, names)
            shown.update(state.round)
        self._transport.finish(state.round, state.weights)
        return state

    def sample(self, names: Sequence[str], number: int) -> list[str]:
        """Return the clients that take part in a round.

        Without privacy the same ones each time that the round is done: as many as ``participation`` says, and at least
        one. With it, each by its own chance.
        """
        if self.settings.privacy is not None:
            return self._mechanism(names).sample(names)
        count = max(1, round(self.settings.participation * len(names)))
        return sorted(random.Random(f"{self.settings.seed}/{number}").sample(list(names), count))

    def _round(self, before: RoundState, names: Sequence[str]) -> RoundState:
        settings, number = self.settings, before.round + 1
        began, sent = time.time(), self._transport.num_bytes
        chosen = self.sample(names, number)
        task = RoundTask(
            number,
            before.weights,
            settings.local_scale(number),
            {
                name: self._layout.rounded(vector)
                for name, vector in settings.aggregation.to_clients(before.aggregation).items()
            },
        )
        check = UpdateCheck(task, chosen, settings)
        if chosen:
            self._transport.collect(task, chosen, check, settings.deadline)
        updates = [check.accepted[name] for name in sorted(check.accepted)]
        # With privacy a client that answers without an update that counts has answered: whether it does depends on its
        # data, and whether a round is void must not.
        answered = len(updates) + (len(check.refused) if settings.privacy is not None else 0)
        is_void = answered < settings.min_clients
        if settings.privacy is not None:
            assert self._ledger is not None
            self._ledger.charge(number, self._mechanism(names).rounds())
        weights, state = before.weights, before.aggregation
        if not is_void:
            weights, state = self._aggregate(before, updates, names)
        row = {
            "round": number,
            "time": began,
            "seconds": time.time() - began,
            "clients": len(names),
            "sampled": len(chosen),
            "participants": sorted(check.accepted),
            "refused": check.refused,
            "dropped": sorted(check.waits_for),
            "is_void": is_void,
            "change": float((weights - before.weights).norm()),
            **self._losses(updates),
            **self._traffic(sent),
            "epsilon": self._spent(),
        }
        self._observe(row)
        after = RoundState(number, weights, state, row)
        self._rounds.commit(after)
        return after

    def _aggregate(
        self, before: RoundState, updates: Sequence[Update], names: Sequence[str]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the new weights and the new state of the aggregation."""
        aggregation, scale = self.settings.aggregation, self.settings.server_scale(before.round + 1)
        if self.settings.privacy is not None:
            vectors = [update.delta for update in updates]
            direction = self._mechanism(names).release(vectors, size=self._layout.size)
        else:
            direction = aggregation.combine(torch.stack([update.delta for update in updates]), self._weights(updates))
        moved, state = aggregation.step(before.weights, direction, before.aggregation, scale=scale)
        if self.settings.privacy is None:
            state = aggregation.from_clients([update.message for update in updates], len(names), state)
        return self._layout.rounded(moved), state

    def _weights(self, updates: Sequence[Update]) -> Tensor:
        """Return how much each update counts; together they count 1."""
        if self.settings.counts_equally:
            counts = torch.ones(len(updates), dtype=torch.float64)
        else:
            most = self.settings.max_examples
            told = [update.examples if most is None else min(update.examples, most) for update in updates]
            counts = torch.tensor(told, dtype=torch.float64)
        return counts / counts.sum()

    def _losses(self, updates: Sequence[Update]) -> Row:
        """Return loss and norms of the updates; with privacy none of them, since they have no noise."""
        if self.settings.privacy is not None or not updates:
            return {"loss": None, "mean_norm": None, "max_norm": None, "examples": None}
        norms = [float(update.delta.norm()) for update in updates]
        told = [(update.loss, weight) for update, weight in zip(updates, self._weights(updates).tolist(), strict=True)]
        losses = [(loss, weight) for loss, weight in told if loss is not None]
        total = sum(weight for _, weight in losses)
        return {
            "loss": sum(loss * weight for loss, weight in losses) / total if total else None,
            "mean_norm": sum(norms) / len(norms),
            "max_norm": max(norms),
            "examples": sum(update.examples for update in updates),
        }

    def _traffic(self, before: tuple[int, int]) -> Row:
        down, up = self._transport.num_bytes
        return {"bytes_down": down - before[0], "bytes_up": up - before[1]}

    def _mechanism(self, names: Sequence[str]) -> Mechanism:
        """Return what makes a round private; the noise follows from the budget once."""
        settings, privacy = self.settings, self.settings.privacy
        assert privacy is not None
        if self._noise is None:
            mechanism = privacy.mechanism(settings.participation, settings.rounds, max(len(names), 1))
            self._noise = mechanism.noise_multiplier
        return Mechanism(privacy.clip_norm, self._noise, settings.participation, max(len(names), 1))

    def _can_afford(self, names: Sequence[str]) -> bool:
        """Whether the budget has room for another round."""
        privacy = self.settings.privacy
        if privacy is None:
            return True
        assert self._ledger is not None
        return self._ledger.allows(self._mechanism(names).rounds(), epsilon=privacy.epsilon, delta=privacy.delta)

    def _check_ledger(self, rounds: int) -> None:
        """Refuse a ledger that has lost charges: each complete round has one."""
        if self._ledger is not None and len(self._ledger.entries) < rounds:
            raise UntrustedFileError(
                f"{self._ledger.path}: {len(self._ledger.entries)} charges for {rounds} complete rounds; the ledger "
                "was lost or replaced, so what was spent is not known."
            )

    def _spent(self) -> float | None:
        privacy = self.settings.privacy
        return None if privacy is None or self._ledger is None else self._ledger.spent(privacy.delta)
