"""An audit: an attack on what a server releases, which must not succeed more often than its promise allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.progress import Task, track
from neuro_divergent.privacy.accountant import compute_epsilon
from neuro_divergent.privacy.audit_bound import bound_epsilon, log_likelihood_ratio
from neuro_divergent.privacy.mechanism import Mechanism

if TYPE_CHECKING:
    from torch import Tensor

Release = Callable[[Mapping[str, "Tensor"]], "Tensor"]
"""One round of a server: from what each client sends if it is drawn, to what is released."""

CANARY = "canary"
"""Name of the client whose presence the attack guesses."""

_DIMENSION = 16
_TIMES_TOO_LONG = 1000.0
_SHORT_TRIALS = 200  # of one round each
_DOUBT = {"projection": 0.8, "spread": 0.1, "finiteness": 0.1}  # how the probability of a wrong bound is divided


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes:
        epsilon_lower: The mechanism spends at least this epsilon, with the confidence, if its noise is Gaussian; else
            it is not the mechanism that the claim is about.
        claimed: The epsilon that the accountant computes for it.
        confidence: Probability with which ``epsilon_lower`` holds.
        trials: How many trainings with the canary were run, and as many without it.
        statistic: By what the presence of the canary was guessed best: ``"projection"``, ``"spread"`` or
            ``"finiteness"``.
    """

    epsilon_lower: float
    claimed: float
    confidence: float
    trials: int
    statistic: str

    @property
    def passes(self) -> bool:
        """Whether the claim was not disproved, which does not prove it."""
        return self.epsilon_lower <= self.claimed

    def __str__(self) -> str:
        verdict = "does not contradict" if self.passes else "DISPROVES"
        return (
            f"{self.trials} trainings with a canary and {self.trials} without: epsilon is at least "
            f"{self.epsilon_lower:.3g} with {100 * self.confidence:g} % confidence, by {self.statistic}; that "
            f"{verdict} the claim of {self.claimed:.3g}."
        )


class Audit:
    """Guesses from released vectors whether one client, the canary, took part.

    All other clients send a vector of the clip norm in one direction, and the canary one that is a thousand times too
    long in the opposite direction. Each fault shows in what is released:

    - Too little noise, noise that is repeated, or noise that is the same in all coordinates: the projection on that
      direction tells.
    - No clipping, or of each coordinate instead of the norm: the canary is far too strong. The direction has the same
      size in all coordinates and signs in turn.
    - A fixed number of clients in each round: whenever the canary is drawn, another one is not, so the projection
      moves by twice the clip norm. The number of clients is such that with and without the canary the same number is
      drawn, if it is rounded to the nearest integer or computed once.
    - Division by the number that came: the canary changes the scale of the noise, which the spread of the other
      coordinates tells, from a handful of clients.
    - A vector of infinities or NaN that is not left out: the released one is not finite.

    It does not see what is not in released vectors: scores, logs, times, or what the server tells its clients.

    Args:
        mechanism: What is audited. ``num_clients`` is replaced by the number of clients of the audit; a server that is
            audited uses ``mechanism`` of this object.
        rounds: How many rounds a training has. As much is learned from few rounds with little noise as from many with
            much, in less time, so a round with the noise for the whole budget is a quick audit.
        delta: Probability with which the promise may fail.
        trials: How many trainings to run with the canary, and how many without.
        confidence: Probability with which the bound holds.
        num_clients: How many clients there are, with the canary; chosen if not given.

    Examples:
        >>> import neuro_divergent as nd
        >>> mechanism = nd.privacy.Mechanism(clip_norm=1.0, noise_multiplier=2.0, participation=1.0, num_clients=20)
        >>> audit = nd.privacy.Audit(mechanism, rounds=1, delta=1e-5, trials=300)
        >>> audit.run().passes
        True
        >>> def without_noise(clients):
        ...     return sum(clients.values()) / len(clients)
        >>> audit.run(without_noise).passes
        False
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        rounds: int,
        delta: float,
        trials: int = 2500,
        confidence: float = 0.99,
        num_clients: int | None = None,
    ) -> None:
        if trials < _SHORT_TRIALS:
            raise InputError(f"trials: {trials} tell nothing; give at least {_SHORT_TRIALS}.")
        if not 0.5 <= confidence < 1:
            raise InputError(f"confidence: {confidence} is not from 0.5 to 1.")
        number = _choose_clients(mechanism.participation) if num_clients is None else num_clients
        self.mechanism = replace(mechanism, num_clients=number)
        self.rounds = rounds
        self.delta = delta
        self.trials = trials
        self.confidence = confidence
        self.claimed = compute_epsilon(mechanism.rounds(rounds), delta)
        self._direction = np.resize([1.0, -1.0], _DIMENSION) / math.sqrt(_DIMENSION)

    def clients(self, canary: Tensor | None) -> dict[str, Tensor]:
        """Return what each client sends if it is drawn; without a canary there is one client less."""
        import torch

        vector = torch.from_numpy(self.mechanism.clip_norm * self._direction)
        found = {f"client-{number}": vector for number in range(self.mechanism.num_clients - 1)}
        return found if canary is None else {**found, CANARY: canary}

    def run(self, release: Release | None = None) -> AuditResult:
        """Run trainings with and without the canary, and return what they tell.

        Args:
            release: One round of the server that is audited, which is called with different clients and forgets
                everything in between; that of ``mechanism`` itself if not given. The number of clients that sums are
                divided by is public, and stays that of ``mechanism`` where the canary is missing.
        """
        import torch

        run_round = self._run_round if release is None else release
        canary = torch.from_numpy(-_TIMES_TOO_LONG * self.mechanism.clip_norm * self._direction)
        with track("Auditing", 2 * self.trials, "training") as shown:
            present = self._statistics(run_round, self.clients(canary), shown)
            absent = self._statistics(run_round, self.clients(None), shown)
        scores = {name: (present[name], absent[name]) for name in present}
        scores["finiteness"] = self._finiteness(run_round)
        bounds = {
            name: bound_epsilon(*pair, delta=self.delta, confidence=1 - _DOUBT[name] * (1 - self.confidence))
            for name, pair in scores.items()
        }
        best = max(bounds, key=lambda name: bounds[name])
        return AuditResult(bounds[best], self.claimed, self.confidence, self.trials, best)

    def _run_round(self, clients: Mapping[str, Tensor]) -> Tensor:
        drawn = self.mechanism.sample(list(clients))
        return self.mechanism.release([clients[name] for name in drawn], size=_DIMENSION)

    def _statistics(self, release: Release, clients: Mapping[str, Tensor], shown: Task) -> dict[str, Floats]:
        """Return scores for each of many trainings, which are counted."""
        projections = np.empty((self.trials, self.rounds))
        spreads = np.empty((self.trials, self.rounds))
        for trial in range(self.trials):
            released = np.array([release(clients).numpy() for _ in range(self.rounds)], dtype=np.float64)
            along = released @ self._direction
            projections[trial] = along
            across = released - along[:, np.newaxis] * self._direction
            spreads[trial] = np.einsum("rd,rd->r", across, across)
            shown.update(shown.done + 1)
        mechanism, others = self.mechanism, self.mechanism.num_clients - 1
        chance = mechanism.participation
        sums = projections * mechanism.expected_clients / mechanism.clip_norm
        noise = math.sqrt(mechanism.noise_multiplier**2 + others * chance * (1 - chance))
        return {
            "projection": np.nan_to_num(log_likelihood_ratio(others * chance - sums, chance, noise)),
            "spread": np.nan_to_num(np.log(np.maximum(spreads, 1e-300)).sum(axis=1)),
        }

    def _finiteness(self, release: Release) -> tuple[Floats, Floats]:
        """Return 1 for each release that is not finite, else 0, with a canary that is not finite and without one."""
        import torch

        poisons = [torch.full((_DIMENSION,), value, dtype=torch.float64) for value in (math.inf, math.nan)]
        found = []
        for canaries in ([*poisons], [None]):
            worlds = [self.clients(canary) for canary in canaries]
            broken = [not release(worlds[trial % len(worlds)]).isfinite().all() for trial in range(_SHORT_TRIALS)]
            found.append(np.array(broken, dtype=np.float64))
        return found[0], found[1]


def _choose_clients(participation: float) -> int:
    """Return a number of clients of which as many would be drawn as of one less, if a fixed number was."""
    for number in range(5, 500):
        drawn = round(participation * number)
        if 1 <= drawn == round(participation * (number - 1)) < number - 1:
            return number
    return 8
