from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from neuro_divergent.layers.decomposition import moving_average_matrix


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
