from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.nbeats import NBEATS
from neuro_divergent.models.nhits import NHITS


def forecast_of(config: NBEATS | NHITS, spec: TaskSpec) -> torch.Tensor:
    torch.manual_seed(0)
    values = torch.randn(3, spec.input_size, 1, dtype=torch.float64)
    network = config.build(spec).double().eval()
    forecast = network(Batch(values, torch.ones(1, 1, 1, dtype=torch.float64).expand(values.shape)))
    return forecast[:, :, 0, 0] - values[:, -1]


def test_a_trend_stack_forecasts_a_polynomial() -> None:
    change = forecast_of(NBEATS(stacks=["trend"], degree=2, hidden_size=8), TaskSpec(12, 24))
    assert change.diff(dim=1, n=2).abs().max() > 1e-6
    torch.testing.assert_close(change.diff(dim=1, n=3), torch.zeros(3, 9, dtype=torch.float64), atol=1e-6, rtol=0)


def test_a_seasonality_stack_forecasts_a_wave_with_the_period_of_the_horizon() -> None:
    change = forecast_of(NBEATS(stacks=["seasonality"], harmonics=1, hidden_size=8), TaskSpec(12, 24))
    spectrum = torch.fft.rfft(change).abs()
    assert spectrum[:, :6].min() > 1e-6
    assert spectrum[:, 6].max() < 1e-4, "half the sampling rate is not among the frequencies"


def test_shared_weights_are_one_block() -> None:
    spec = TaskSpec(4, 12)
    once = NBEATS(stacks=["trend", "generic"], hidden_size=8)
    shared = once.replace(num_blocks=(3, 2), share_weights=True)
    count = [sum(value.numel() for value in config.build(spec).parameters()) for config in (once, shared)]
    assert count[0] == count[1]
    assert not torch.allclose(forecast_of(once, spec), forecast_of(shared, spec))
    assert len(shared.replace(share_weights=False).build(spec).stack.blocks) == 5


def test_the_published_sizes_can_be_built() -> None:
    interpretable = NBEATS(stacks=("trend", "seasonality"), num_blocks=3, share_weights=True)
    assert len(interpretable.build(TaskSpec(6, 12)).stack.blocks) == 2
    assert len(NBEATS(stacks=("generic",) * 30, hidden_size=8).build(TaskSpec(6, 12)).stack.blocks) == 30


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (NBEATS, {"stacks": []}, "there must be at least one stack"),
        (NHITS, {"pooling": [], "downsample": []}, "there must be at least one stack"),
        (NBEATS, {"stacks": ["wave"]}, "stacks: 'wave' must be 'generic', 'trend' or 'seasonality'"),
        (NBEATS, {"num_blocks": (1, 2)}, "num_blocks: \\(1, 2\\) must be one number for all 3 stacks"),
        (NHITS, {"num_blocks": 0}, "num_blocks: 0 must be"),
        (NHITS, {"pooling": (2, 1)}, "pooling and downsample must hold one number for each stack; got 2 and 3"),
        (NHITS, {"pooling": (2, 1, 0)}, "pooling: 0 must be greater than 0"),
        (NHITS, {"hiden_size": 3}, "Did you mean 'hidden_size'"),
    ],
)
def test_wrong_stacks_are_refused(kind: type[NBEATS | NHITS], wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(**wrong)


@pytest.mark.parametrize("interpolation", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("pooling_mode", ["max", "average"])
def test_a_stack_forecasts_no_more_values_than_it_may(interpolation: str, pooling_mode: str) -> None:
    spec = TaskSpec(12, 25)
    config = NHITS(pooling=[4], downsample=[6], hidden_size=8, interpolation=interpolation, pooling_mode=pooling_mode)
    torch.manual_seed(0)
    values = torch.randn(40, 25, 1)
    network = config.build(spec)
    change = network(Batch(values, torch.ones_like(values)))[:, :, 0, 0] - values[:, -1]
    assert torch.linalg.matrix_rank(change, atol=1e-4) <= 2
