from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.autoformer import Autoformer


def test_window_is_odd() -> None:
    with pytest.raises(ConfigError, match="24 must be odd"):
        Autoformer(kernel_size=24)


def test_autoformer_forecasts_the_mean_with_zero_season_and_trend() -> None:
    torch.manual_seed(0)
    network = Autoformer(hidden_size=16).build(TaskSpec(5, 12, channels=2, outputs=3)).eval()
    with torch.no_grad():
        for parameter in (*network.projection.parameters(), network.decoder.layers[0].trend_projection.weight):
            parameter.zero_()
    history = torch.randn(4, 12, 2)
    forecast = network(Batch(history, torch.ones_like(history)))
    torch.testing.assert_close(forecast, history.mean(1)[:, None, :, None].expand(4, 5, 2, 3))


def test_every_season_is_free_of_a_constant() -> None:
    torch.manual_seed(0)
    network = Autoformer(hidden_size=16, kernel_size=5).build(TaskSpec(5, 12)).eval()
    history = torch.randn(4, 12, 1)
    batch, shifted = (Batch(values, torch.ones_like(history)) for values in (history, history + 3))
    _, begun = network._tokens(batch, batch.past_y, network.decomposition(batch.past_y))
    _, same = network._tokens(shifted, shifted.past_y, network.decomposition(shifted.past_y))
    torch.testing.assert_close(begun, same)
