"""Reversible instance normalisation around a network."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.reversible import GainAndShift


class ReversibleNetwork(GainAndShift):
    """Standardises each window before a network and restores its output to the units of the input.

    Reversible instance normalisation (Kim et al., ICLR 2022): the statistics in the batch are
    removed, a learned gain and shift per channel are applied, and both are inverted after the network.
    """

    reads_batch: ClassVar[bool] = True  # the statistics of the windows

    def __init__(self, network: nn.Module, channels: int) -> None:
        super().__init__(channels)
        self.network = network

    def forward(self, batch: Batch) -> Tensor:
        """Return the output ``(batch, horizon, channel, outputs)`` in the units of ``batch.past_y``."""
        return self.outside(self.network(self.inside(batch)), batch)

    def inside(self, batch: Batch) -> Batch:
        """Return a batch on the scale of the inner network."""
        loc, scale = batch.loc, batch.scale
        assert loc is not None
        assert scale is not None

        def normalised(values: Tensor) -> Tensor:
            return self.apply_to((values - loc) / scale)

        return batch._replace(
            past_y=observed(normalised(batch.past_y), batch.past_mask)[0],
            # Autoregressive networks read it in training.
            future_y=None if batch.future_y is None else normalised(batch.future_y),
        )

    def outside(self, raw: Tensor, batch: Batch) -> Tensor:
        """Return outputs of the inner network, ``(batch, horizon, channel, outputs)``, in the units of the batch."""
        loc, scale = batch.loc, batch.scale
        assert loc is not None
        assert scale is not None
        return self.undo(raw) * scale.unsqueeze(-1) + loc.unsqueeze(-1)
