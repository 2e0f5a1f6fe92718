from __future__ import annotations

import torch

from neuro_divergent.layers.channels import fold_channels, unfold_channels


def test_channels_become_rows_and_come_back() -> None:
    values = torch.arange(2 * 5 * 3.0).view(2, 5, 3)
    rows = fold_channels(values)
    for batch in range(2):
        for channel in range(3):
            assert torch.equal(rows[batch * 3 + channel], values[batch, :, channel])
    assert torch.equal(unfold_channels(rows, channels=3, horizon=5)[..., 0], values)


def test_outputs_of_a_step_adjoin() -> None:
    flat = torch.arange(6 * 4 * 2.0).view(6, 8)
    forecast = unfold_channels(flat, channels=3, horizon=4)
    assert forecast.shape == (2, 4, 3, 2)
    assert forecast[1, 2, 0].tolist() == flat[3, 4:6].tolist()
    assert torch.equal(unfold_channels(flat.view(6, 4, 2), channels=3, horizon=4), forecast)


def test_one_channel_is_a_view() -> None:
    values = torch.randn(4, 9, 1)[:, :6]
    assert fold_channels(values).data_ptr() == values.data_ptr()
