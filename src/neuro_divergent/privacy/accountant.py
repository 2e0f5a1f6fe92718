"""How much privacy rounds of training spend, and how much noise a budget needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scipy.optimize import brentq

from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.privacy_loss import PrivacyLoss, compose
from neuro_divergent.privacy.sampled_gaussian import SampledGaussian

_WIDTH, _POINTS = 1e-3, 4000  # at most, and for one round at least
_LEFT_OUT = 1e-4  # of delta
_LEAST_NOISE, _MOST_NOISE = 0.2, 1e6


class Rounds(NamedTuple):
    """Rounds of training with the same settings.

    Attributes:
        participation: Probability with which each participant takes part in a round, independently of all others. A
            fixed number of participants in each round is something else, for which nothing here holds.
        noise_multiplier: Standard deviation of the Gaussian noise over the norm that contributions are clipped to.
        number: How many rounds.

    Examples:
        >>> import neuro_divergent as nd
        >>> rounds = nd.privacy.Rounds(participation=0.1, noise_multiplier=1.0, number=100)
        >>> round(nd.privacy.compute_epsilon(rounds, delta=1e-5), 1)
        7.0
        >>> round(nd.privacy.compute_epsilon(rounds._replace(number=200), delta=1e-5), 1)
        10.0
    """

    participation: float
    noise_multiplier: float
    number: int = 1


def compute_epsilon(rounds: Rounds | Sequence[Rounds], delta: float) -> float:
    """Return the epsilon that rounds of training have spent, for neighbours that differ by one participant.

    It is computed from the distribution of the privacy loss, is never below the truth, and is within a thousandth of it
    in what was tried.

    Args:
        rounds: Rounds with the same settings, or several kinds of them.
        delta: Probability with which the promise may fail, well below one over the number of participants.

    Raises:
        InputError: If a number is outside its range.

    Examples:
        >>> import neuro_divergent as nd
        >>> all_clients = nd.privacy.Rounds(participation=1.0, noise_multiplier=4.0, number=20)
        >>> a_tenth = all_clients._replace(participation=0.1)
        >>> [round(nd.privacy.compute_epsilon(rounds, delta=1e-5), 2) for rounds in (all_clients, a_tenth)]
        [4.98, 0.43]
    """
    _check_delta(delta)
    return max(loss.epsilon(delta) for loss in _compose(_checked(rounds), delta))


def compute_delta(rounds: Rounds | Sequence[Rounds], epsilon: float) -> float:
    """Return the delta that goes with an epsilon after rounds of training; about 1e-10 is the least that is resolved.

    Raises:
        InputError: If a number is outside its range.

    Examples:
        >>> import neuro_divergent as nd
        >>> rounds = nd.privacy.Rounds(participation=0.1, noise_multiplier=1.0, number=100)
        >>> delta = nd.privacy.compute_delta(rounds, epsilon=4.0)
        >>> f"{delta:.1e}"
        '4.0e-03'
        >>> round(nd.privacy.compute_epsilon(rounds, delta), 2)
        4.0
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon: {epsilon} is below 0.")
    return max(loss.delta(epsilon) for loss in _compose(_checked(rounds), 1e-7))


def find_noise_multiplier(*, epsilon: float, delta: float, participation: float, rounds: int) -> float:
    """Return the least noise multiplier with which rounds of training keep to a budget.

    Args:
        epsilon: The budget.
        delta: Probability with which the promise may fail.
        participation: Probability with which each participant takes part in a round.
        rounds: How many rounds.

    Raises:
        InputError: If a number is outside its range, or no noise is enough.

    Examples:
        >>> import neuro_divergent as nd
        >>> noise = nd.privacy.find_noise_multiplier(epsilon=2.0, delta=1e-5, participation=0.5, rounds=10)
        >>> round(noise, 1)
        3.4
        >>> rounds = nd.privacy.Rounds(participation=0.5, noise_multiplier=noise, number=10)
        >>> nd.privacy.compute_epsilon(rounds, delta=1e-5) <= 2.0
        True
    """
    _check_delta(delta)
    if not epsilon > 0:
        raise InputError(f"epsilon: {epsilon} is not above 0.")

    def excess(noise: float) -> float:
        return compute_epsilon(Rounds(participation, noise, rounds), delta) - epsilon

    low, high = _LEAST_NOISE, 1.0
    if excess(low) <= 0:
        return low
    while excess(high) > 0:
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            raise InputError(f"epsilon: {epsilon} is too small for {rounds} rounds, whatever the noise.")
    found = float(brentq(excess, low, high, rtol=1e-5))
    return found if excess(found) <= 0 else found * (1 + 2e-5)


def _compose(rounds: Sequence[Rounds], delta: float) -> list[PrivacyLoss]:
    """Return the distributions of the loss of all rounds, for removal and addition of a participant."""
    tail = _LEFT_OUT * delta
    own = tail / sum(item.number for item in rounds)
    mechanisms = [SampledGaussian(item.participation, item.noise_multiplier) for item in rounds]
    width = min(_WIDTH, *(mechanism.span(own) / _POINTS for mechanism in mechanisms))
    losses = [mechanism.privacy_losses(width, own) for mechanism in mechanisms]
    numbers = [item.number for item in rounds]
    return [compose(list(zip(parts, numbers, strict=True)), tail) for parts in zip(*losses, strict=True)]


def _checked(rounds: Rounds | Sequence[Rounds]) -> list[Rounds]:
    given = [rounds] if isinstance(rounds, Rounds) else list(rounds)
    if not given:
        raise InputError("rounds: there are none.")
    for item in given:
        if not 0 < item.participation <= 1:
            raise InputError(f"participation: {item.participation} is not a probability above 0.")
        if not _LEAST_NOISE <= item.noise_multiplier <= _MOST_NOISE:
            raise InputError(
                f"noise_multiplier: {item.noise_multiplier} is not from {_LEAST_NOISE:g} to {_MOST_NOISE:g}; with less "
                "noise there is no privacy to speak of."
            )
        if item.number < 1:
            raise InputError(f"number: {item.number} rounds; give at least 1.")
    return given


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"delta: {delta} is not between 0 and 1; one over a hundred times the participants is usual.")
