"""What a privacy budget means before training: the noise it needs, and whether a model can learn through it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuro_divergent.privacy.accountant import Rounds, compute_epsilon
from neuro_divergent.privacy.client_level import ClientLevel

LARGEST_RATIO = 7.0
"""Noise over clip norm in one round above which little was learned in what was tried."""

_LEAST_NOISE = 0.2  # that the accountant knows


@dataclass(frozen=True)
class BudgetMeaning:
    """What a budget means for some clients and a model.

    Attributes:
        noise_multiplier: Standard deviation of the noise in a sum, over the clip norm.
        noise_ratio: Norm of the noise in a released vector, over the clip norm.
        rounds: How many of the planned rounds the budget allows.
        sentences: The meaning, in plain language.
        warnings: What should be changed before training.
    """

    noise_multiplier: float
    noise_ratio: float
    rounds: int
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*self.sentences, *(f"Warning: {warning}" for warning in self.warnings)))


def explain_budget(
    privacy: ClientLevel, participation: float, rounds: int, num_clients: int, num_parameters: int
) -> BudgetMeaning:
    """Return what a budget means.

    Args:
        privacy: The budget.
        participation: Probability with which each client takes part in a round.
        rounds: How many rounds are planned.
        num_clients: How many clients there are.
        num_parameters: How many weights are trained.

    Raises:
        InputError: If a number is outside its range, or the budget does not allow a single round.

    Examples:
        >>> import neuro_divergent as nd
        >>> privacy = nd.privacy.ClientLevel(epsilon=3.0, delta=1e-4, noise_multiplier=6.0)
        >>> plan = {"participation": 1.0, "rounds": 10, "num_clients": 5, "num_parameters": 1000}
        >>> meaning = nd.privacy.explain_budget(privacy, **plan)
        >>> meaning.rounds, round(meaning.noise_ratio)
        (10, 38)
        >>> meaning.warnings[0].partition(" Each")[0]
        'the noise is 37.9 times as long as the longest update; above 7, little is learned.'
    """
    mechanism = privacy.mechanism(participation, rounds, num_clients)
    noise, ratio = mechanism.noise_multiplier, mechanism.noise_ratio(num_parameters)
    affordable = privacy.affordable_rounds(participation, rounds)
    sentences = (
        f"Epsilon {privacy.epsilon:g}: with or without the data of any one client, no result becomes more than "
        f"{_format(math.exp(min(privacy.epsilon, 700.0)))} times as likely, but for a probability of "
        f"{privacy.delta:g}. {_strength(privacy.epsilon)}",
        f"For {affordable} rounds with a participation of {participation:g}, the noise in a sum has {noise:.4g} times "
        f"the clip norm as its standard deviation.",
        f"In one round the noise is {ratio:.3g} times as long as the longest update, for {num_parameters:,} weights "
        f"and {num_clients:,} clients.",
    )
    warnings = []
    if ratio > LARGEST_RATIO:
        warnings.append(_remedies(privacy, Rounds(participation, noise, affordable), num_clients, num_parameters))
    if privacy.delta >= 1 / num_clients:
        warnings.append(
            f"delta {privacy.delta:g} allows the data of one of {num_clients:,} clients to be published; give less "
            f"than {0.01 / num_clients:.1g}."
        )
    if affordable < rounds:
        warnings.append(f"the budget allows {affordable} of {rounds} rounds; more noise in each allows more of them.")
    return BudgetMeaning(noise, ratio, affordable, sentences, tuple(warnings))


def _remedies(privacy: ClientLevel, rounds: Rounds, num_clients: int, num_parameters: int) -> str:
    """Return how the noise could be brought down to what a model can learn through."""
    ratio = rounds.noise_multiplier * math.sqrt(num_parameters) / (rounds.participation * num_clients)
    factor = ratio / LARGEST_RATIO
    found = [
        f"{math.ceil(num_clients * factor):,} clients",
        f"{math.floor(num_parameters / factor**2):,} weights",
    ]
    noise = rounds.noise_multiplier / factor
    if noise >= _LEAST_NOISE:
        found.append(f"an epsilon of {compute_epsilon(rounds._replace(noise_multiplier=noise), privacy.delta):.3g}")
    return (
        f"the noise is {ratio:.3g} times as long as the longest update; above {LARGEST_RATIO:g}, little is learned. "
        f"Each of these alone would bring it to {LARGEST_RATIO:g}: {', '.join(found)}. Fewer rounds hardly help."
    )


def _strength(epsilon: float) -> str:
    if epsilon <= 1:
        return "That is strong."
    if epsilon <= 10:
        return "That is usual in practice, and protects against most attacks rather than all."
    return "That promises next to nothing."


def _format(factor: float) -> str:
    return f"{factor:.2f}" if factor < 100 else f"{factor:.3g}"
