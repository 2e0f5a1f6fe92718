"""Client-level differential privacy: a budget, and the noise that keeps it."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.accountant import Rounds, compute_epsilon, find_noise_multiplier
from neuro_divergent.privacy.mechanism import Mechanism


class ClientLevel(Config):
    """A promise to each client about all of its data.

    Whatever is released is almost as likely if the data of one client are replaced by none, so that it contributes
    nothing: no probability differs by more than a factor of exp(``epsilon``), but for ``delta``. All other clients
    stay as they are, and how many clients there are is public.

    The server is trusted: it sees what each client sends, and adds the noise. The promise is about everyone who sees
    what the server releases, the other clients among them.

    A client is the unit, and a window is not: windows overlap, so one reading is in many of them, and a promise about
    a window is none about the reading (Schuchardt et al., Privacy Amplification by Structured Subsampling for Deep
    Differentially Private Time Series Forecasting, ICML 2025, arXiv 2502.02410). For a promise to each series, make
    each series a client.

    Attributes:
        epsilon: The budget for all rounds together.
        delta: Probability with which the promise may fail, well below one over the number of clients.
        clip_norm: Largest L2 norm of what a client contributes to a round.
        noise_multiplier: Standard deviation of the noise over ``clip_norm``. Unset, it is the least that keeps the
            budget for the planned rounds; set, the budget limits the number of rounds.

    Examples:
        >>> import neuro_divergent as nd
        >>> privacy = nd.privacy.ClientLevel(epsilon=3.0, delta=1e-5, noise_multiplier=4.0)
        >>> [privacy.affordable_rounds(participation=fraction, rounds=50) for fraction in (1.0, 0.2)]
        [8, 50]
        >>> privacy.mechanism(participation=0.2, rounds=50, num_clients=100).expected_clients
        20.0
    """

    epsilon: float = Field(gt=0, allow_inf_nan=False)
    delta: float = Field(gt=0, lt=1)
    clip_norm: float = Field(1.0, gt=0, allow_inf_nan=False)
    noise_multiplier: float | None = Field(None, ge=0.2, le=1e6)

    def mechanism(self, participation: float, rounds: int, num_clients: int) -> Mechanism:
        """Return what is done in each round.

        Args:
            participation: Probability with which each client takes part in a round.
            rounds: How many rounds are planned. With ``noise_multiplier`` set, ``affordable_rounds`` tells how many of
                them the budget allows.
            num_clients: How many clients there are.

        Raises:
            InputError: If a number is outside its range, or the budget does not allow a single round.
        """
        noise = self.noise_multiplier
        if noise is None:
            noise = find_noise_multiplier(
                epsilon=self.epsilon, delta=self.delta, participation=participation, rounds=rounds
            )
        elif self.affordable_rounds(participation, 1) < 1:
            spent = compute_epsilon(Rounds(participation, noise), self.delta)
            raise InputError(
                f"noise_multiplier: with {noise:g}, one round spends an epsilon of {spent:.3g}, the budget is "
                f"{self.epsilon:g}. Give more noise, or leave it unset."
            )
        return Mechanism(self.clip_norm, noise, participation, num_clients)

    def affordable_rounds(self, participation: float, rounds: int) -> int:
        """Return how many of the planned rounds the budget allows; all of them if the noise follows from the budget."""
        noise = self.noise_multiplier
        if noise is None:
            return rounds
        low, high = 0, rounds
        while low < high:
            middle = (low + high + 1) // 2
            fits = compute_epsilon(Rounds(participation, noise, middle), self.delta) <= self.epsilon
            low, high = (middle, high) if fits else (low, middle - 1)
        return low
