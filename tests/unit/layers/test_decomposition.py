from __future__ import annotations

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from torch.nn import functional

from neuro_divergent.layers.decomposition import Decomposition, SeasonalNorm, Window, moving_average_matrix


@pytest.mark.parametrize(("steps", "window"), [(1, 1), (1, 5), (12, 1), (12, 3), (12, 5), (12, 25), (30, 25)])
def test_matrix_gives_the_mean_of_a_window_with_repeated_ends(steps: int, window: int) -> None:
    series = torch.randn(steps, generator=torch.Generator().manual_seed(0))
    half = (window - 1) // 2
    values = series.tolist()
    expected = [
        sum(values[min(max(step + offset, 0), steps - 1)] for offset in range(-half, half + 1)) / window
        for step in range(steps)
    ]
    averaging = moving_average_matrix(steps, window)
    torch.testing.assert_close(averaging @ series, torch.tensor(expected))
    padded = functional.pad(series[None, None], (half, half), mode="replicate")
    torch.testing.assert_close(averaging @ series, functional.avg_pool1d(padded, window, 1)[0, 0])


def test_a_constant_is_its_own_average() -> None:
    torch.testing.assert_close(moving_average_matrix(40, 25) @ torch.full((40,), 3.0), torch.full((40,), 3.0))


def test_season_and_trend_add_up_to_the_series() -> None:
    torch.manual_seed(0)
    decomposition, series = Decomposition(12, 5), torch.randn(3, 12, 4)
    season, trend = decomposition.split(series)
    torch.testing.assert_close(season + trend, series)
    torch.testing.assert_close(trend[1, :, 2], moving_average_matrix(12, 5) @ series[1, :, 2])
    torch.testing.assert_close(decomposition(series), season)
    assert not decomposition.state_dict()


def test_seasonal_norm_leaves_no_mean_over_time() -> None:
    torch.manual_seed(0)
    norm, tokens = SeasonalNorm(6), torch.randn(3, 12, 6)
    torch.testing.assert_close(norm(tokens).mean(1), torch.zeros(3, 6), atol=1e-6, rtol=0)
    reference = functional.layer_norm(tokens, (6,), bias=torch.randn(6))
    torch.testing.assert_close(norm(tokens), reference - reference.mean(1, keepdim=True))


@pytest.mark.parametrize("window", [0, 4])
def test_a_window_is_odd(window: int) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Window).validate_python(window)
    assert TypeAdapter(Window).validate_python(5) == 5
