"""The inputs of a graph, as modules hand them on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class GraphInputs(NamedTuple):
    """Raw windows, as ``Description`` lists them: in the units of the data, with a mask of what was observed."""

    past_y: Tensor  # B L C
    past_mask: Tensor  # B L C
    past_x: Tensor | None = None  # B L Fp
    future_x: Tensor | None = None  # B L+H Ff
    static_x: Tensor | None = None  # B Fs
    series: Tensor | None = None  # B

    def last(self, input_size: int) -> GraphInputs:
        """Return the same windows with a shorter history."""
        cut = self.past_y.shape[1] - input_size
        if not cut:
            return self
        return self._replace(
            past_y=self.past_y[:, cut:],
            past_mask=self.past_mask[:, cut:],
            past_x=None if self.past_x is None else self.past_x[:, cut:],
            future_x=None if self.future_x is None else self.future_x[:, cut:],
        )

    def apart(self) -> GraphInputs:
        """Return the channels of each window as windows of one channel, and their places as ``series``.

        Covariates of windows that hold several series are calendar features, which all channels have.
        """
        size, length, channels = self.past_y.shape
        places = torch.arange(channels, device=self.past_y.device)
        future = self.future_x
        if future is not None:
            steps, width = future.shape[1:]
            future = future[:, None].expand(size, channels, steps, width).reshape(-1, steps, width)
        return GraphInputs(
            past_y=self.past_y.transpose(1, 2).reshape(-1, length, 1),
            past_mask=self.past_mask.transpose(1, 2).reshape(-1, length, 1),
            future_x=future,
            series=places[None].expand(size, channels).reshape(-1),
        )


def together(values: Tensor, channels: int) -> Tensor:
    """Undo ``GraphInputs.apart`` for forecasts ``(batch * channel, horizon, 1, ...)``."""
    return values.reshape(-1, channels, values.shape[1], *values.shape[3:]).transpose(1, 2)
