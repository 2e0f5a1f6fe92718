"""A fitted model as one torch module with the inputs and the output of an exported graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.serving.export.inputs import GraphInputs
from neuro_divergent.serving.export.window_module import WindowModule


class ExportModule(nn.Module):
    """All that ``predict`` does with a window: scaling, networks, combination, intervals, and back to the data's units.

    Args:
        module: The model.
    """

    def __init__(self, module: WindowModule) -> None:
        super().__init__()
        self.module = module
        self.training = False

    def forward(
        self,
        past_y: Tensor,
        past_mask: Tensor,
        past_x: Tensor | None = None,
        future_x: Tensor | None = None,
        static_x: Tensor | None = None,
        series: Tensor | None = None,
    ) -> Tensor:
        """Return point and quantiles, ``(batch, horizon, channel, 1 + quantiles)``; inputs as in ``Description``."""
        point, quantiles = self.module(GraphInputs(past_y, past_mask, past_x, future_x, static_x, series))
        forecast: Tensor = point.unsqueeze(-1)
        return forecast if quantiles is None else torch.cat([forecast, quantiles], -1)
