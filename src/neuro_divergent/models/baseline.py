"""A seasonal naive forecast under a network, which learns what that misses."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Inputs, TaskSpec


class SeasonalNaiveNetwork(nn.Module):
    """Adds the seasonal naive forecast to every output of a network.

    The forecast of a step is the last observed value of the same phase of the season within the history, and the mean
    of the history (0 on the scale of the network) where there is none. All outputs must be values of the target.

    Args:
        network: The network.
        spec: What it was built for.
        season: Rows in a season; at most the length of the history.
    """

    def __init__(self, network: nn.Module, spec: TaskSpec, season: int) -> None:
        super().__init__()
        self.network = network
        steps = torch.arange(spec.horizon) % season
        cycles = spec.input_size // season
        # The latest season comes first: H x seasons in the history.
        places = spec.input_size - season + steps[:, None] - season * torch.arange(cycles)
        self.register_buffer("places", places, persistent=False)

    places: Tensor

    def forward(self, batch: Inputs) -> Tensor:
        """Return the output ``(batch, horizon, channel, outputs)`` on the scale of ``batch.past_y``."""
        corrections: Tensor = self.network(batch)
        return corrections + self.baseline(batch).unsqueeze(-1)

    def baseline(self, batch: Inputs) -> Tensor:
        """Return the seasonal naive forecast, ``(batch, horizon, channel)``."""
        if batch.past_mask is None:
            return batch.past_y[:, self.places[:, 0]]
        candidates, seen = (batch.past_y * batch.past_mask)[:, self.places], batch.past_mask[:, self.places]  # B H S C
        latest = seen.argmax(2, keepdim=True)  # the first of several equal ones
        return candidates.gather(2, latest).squeeze(2)
