"""Normalisation inside the network, undone on its output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch


class ReversibleNetwork(nn.Module):
    """Standardises each window before a network and brings its output back to the units that came in.

    Reversible instance normalisation (Kim et al., ICLR 2022): the level and spread that the loader measured are taken
    out, a learned gain and shift per channel are applied, and all of it is undone after the network.
    """

    def __init__(self, network: nn.Module, channels: int) -> None:
        super().__init__()
        self.network = network
        self.gain = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, batch: Batch) -> Tensor:
        """Return the output ``(batch, horizon, channel, outputs)`` in the units of ``batch.past_y``."""
        loc, scale = batch.loc, batch.scale
        assert loc is not None
        assert scale is not None
        raw = self.network(self.inside(batch))
        # A gain that training brought near zero must not blow the output up.
        gain = self.gain + self.gain.sign() * 1e-5
        raw = (raw - self.shift[:, None]) / gain[:, None]
        output: Tensor = raw * scale.unsqueeze(-1) + loc.unsqueeze(-1)
        return output

    def inside(self, batch: Batch) -> Batch:
        """Return a batch as the network inside sees it."""
        loc, scale = batch.loc, batch.scale
        assert loc is not None
        assert scale is not None

        def normalised(values: Tensor) -> Tensor:
            return (values - loc) / scale * self.gain + self.shift

        return batch._replace(
            past_y=normalised(batch.past_y) * batch.past_mask,
            # Autoregressive networks read it in training.
            future_y=None if batch.future_y is None else normalised(batch.future_y),
        )
