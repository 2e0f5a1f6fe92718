from __future__ import annotations

from math import exp, log

import pytest
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.models.recurrent import LSTM
from neuro_divergent.training.teacher_forcing import (
    ConstantForcing,
    ExponentialForcing,
    InverseSigmoidForcing,
    LinearForcing,
    TeacherForcing,
    set_ratio,
)

DECAYS = [LinearForcing, ExponentialForcing, InverseSigmoidForcing]


@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize(("start", "end"), [(1.0, 0.0), (0.9, 0.2), (0.1, 0.6), (0.5, 0.5)])
def test_a_decay_runs_from_start_to_end_without_turning(kind: type[TeacherForcing], start: float, end: float) -> None:
    curve = [kind(start=start, end=end).ratio(step / 100) for step in range(101)]  # type: ignore[call-arg]
    assert curve[0] == pytest.approx(start)
    assert curve[-1] == pytest.approx(end)
    assert curve == sorted(curve, reverse=start > end)
    assert all(0 <= ratio <= 1 for ratio in curve)


def test_constant_stays() -> None:
    assert {ConstantForcing(share=0.3).ratio(step / 10) for step in range(11)} == {0.3}


def test_linear_is_a_line() -> None:
    assert [LinearForcing(end=0.2).ratio(step / 4) for step in range(5)] == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])


def test_exponential_is_bengios_power_of_the_step() -> None:
    # There, step i of n uses k ** i; here k is exp(-rate / n) and the last value is taken out.
    steps, rate = 50, 3.0
    power = [exp(-rate / steps) ** step for step in range(steps + 1)]
    expected = [(value - power[-1]) / (power[0] - power[-1]) for value in power]
    found = [ExponentialForcing(rate=rate).ratio(step / steps) for step in range(steps + 1)]
    assert found == pytest.approx(expected)


def test_inverse_sigmoid_is_bengios_curve() -> None:
    # There, step i uses k / (k + exp(i / k)), which is one half at k * log(k): the middle of 2 * k * log(k) steps.
    k = 40.0
    steps = 2 * k * log(k)
    theirs = [k / (k + exp(share * steps / k)) for share in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)]
    expected = [(value - theirs[-1]) / (theirs[0] - theirs[-1]) for value in theirs]
    forcing = InverseSigmoidForcing(steepness=steps / k)
    assert [forcing.ratio(share) for share in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)] == pytest.approx(expected)


def test_the_ratio_reaches_every_part_that_has_one() -> None:
    spec = TaskSpec(3, 6)
    decoders = [LSTM(hidden_size=4, decoding="autoregressive").build(spec) for _ in range(2)]
    module = nn.Sequential(nn.Linear(1, 1), nn.ModuleList(decoders))
    assert set_ratio(module, 0.25) == 2
    assert [part.teacher_forcing_ratio for part in decoders] == [0.25, 0.25]
    assert decoders[0].__class__.teacher_forcing_ratio == 1.0, "other networks keep theirs"
    assert set_ratio(LSTM(hidden_size=4).build(spec), 0.25) == 0


def test_settings_round_trip() -> None:
    for name in TeacherForcing.registry.names():
        made = TeacherForcing.from_dict(name)
        assert TeacherForcing.from_dict(made.to_dict()) == made
    with pytest.raises(ConfigError, match="start"):
        LinearForcing(start=1.5)
