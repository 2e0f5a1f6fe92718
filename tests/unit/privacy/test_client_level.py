"""A budget gives the noise that keeps it, or the rounds that it allows."""

from __future__ import annotations

import math

import pytest

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.privacy.accountant import Rounds, compute_epsilon
from neuro_divergent.privacy.client_level import ClientLevel


def test_noise_follows_from_the_budget() -> None:
    mechanism = ClientLevel(epsilon=1.0, delta=1e-5, clip_norm=0.5).mechanism(0.8, 50, 100)
    assert mechanism.noise_multiplier == pytest.approx(21.15, rel=2e-3)
    assert (mechanism.clip_norm, mechanism.participation, mechanism.num_clients) == (0.5, 0.8, 100)
    assert compute_epsilon(mechanism.rounds(50), 1e-5) <= 1.0


def test_noise_that_is_given_limits_the_rounds() -> None:
    privacy = ClientLevel(epsilon=1.0, delta=1e-5, noise_multiplier=21.2)
    assert privacy.mechanism(0.8, 500, 100).noise_multiplier == 21.2
    allowed = privacy.affordable_rounds(0.8, 500)
    assert compute_epsilon(Rounds(0.8, 21.2, allowed), 1e-5) <= 1.0
    assert compute_epsilon(Rounds(0.8, 21.2, allowed + 1), 1e-5) > 1.0
    assert privacy.affordable_rounds(0.8, 10) == 10


def test_all_rounds_are_affordable_where_the_noise_follows_from_the_budget() -> None:
    assert ClientLevel(epsilon=1.0, delta=1e-5).affordable_rounds(0.8, 500) == 500


def test_noise_that_does_not_allow_a_single_round_is_refused() -> None:
    with pytest.raises(InputError, match="noise_multiplier: with 1, one round spends an epsilon of 4"):
        ClientLevel(epsilon=1.0, delta=1e-5, noise_multiplier=1.0).mechanism(0.8, 50, 100)


def test_settings_survive_a_round_trip() -> None:
    for privacy in (
        ClientLevel(epsilon=3.0, delta=1e-6),
        ClientLevel(epsilon=3.0, delta=1e-6, clip_norm=2.0, noise_multiplier=5.0),
    ):
        assert ClientLevel.from_toml(privacy.to_toml()) == privacy


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"delta": 0.0},
        {"delta": 1.0},
        {"clip_norm": 0.0},
        {"clip_norm": math.nan},
        {"noise_multiplier": 0.1},
        {"noise_multiplier": math.inf},
    ],
)
def test_settings_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ClientLevel(**{"epsilon": 1.0, "delta": 1e-5, **wrong})
