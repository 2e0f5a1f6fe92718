"""SOFTS: channels that exchange information through one shared core."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import sinusoidal_positions
from neuro_divergent.layers.encoder import EncoderLayer
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.models.base import Architecture


@register("softs")
class SOFTS(Architecture):
    """Encoder whose tokens are the histories of the channels, with a core of them all in the place of attention.

    Han et al., "SOFTS: Efficient Multivariate Time Series Forecasting with Series-Core Fusion", NeurIPS 2024. With
    ``sharp=True`` it is SOFTS# (Ljubić, https://github.com/hljubic/SOFTSsharp): the place of a channel is added to its
    token now and then in training, and always, but weaker, afterwards; and there is dropout inside the core. Whether
    the place is added is drawn for each window here, and for a whole batch there.

    Attributes:
        hidden_size: Width of a token.
        core_size: Width of the core.
        num_layers: Encoder layers.
        feedforward_size: Hidden units of the perceptron in each layer.
        dropout: Fraction of token features and hidden units dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.
        sharp: Whether it is SOFTS#.
        position_rate: Fraction of windows with positional encoding in training, for SOFTS#.

    Examples:
        The size of the network does not depend on how many series there are:

        >>> import neuro_divergent as nd
        >>> architecture, counts = nd.SOFTS(hidden_size=32, core_size=16, feedforward_size=64), []
        >>> for channels in (2, 200):
        ...     network = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48, channels=channels))
        ...     counts.append(sum(parameter.numel() for parameter in network.parameters()))
        >>> counts[0] == counts[1]
        True
    """

    traits: ClassVar[Traits] = Traits(family="mlp", mixes_channels=True, paper="https://arxiv.org/abs/2404.14197")

    hidden_size: int = knob(512, low=64, high=512, log=True, ge=1)
    core_size: int = knob(512, low=64, high=512, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    feedforward_size: int = knob(2048, low=64, high=2048, log=True, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    use_norm: bool = True
    sharp: bool = knob(False, choices=(False, True))
    position_rate: float = knob(0.5, low=0.1, high=1.0, gt=0.0, le=1.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: SOFTS, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.use_norm = config.use_norm
        self.embedding = nn.Linear(spec.input_size, config.hidden_size)
        self.dropout = Dropout(config.dropout)
        size, units = config.hidden_size, config.feedforward_size
        layer = partial(EncoderLayer, size, feedforward_size=units, activation="GELU", dropout=config.dropout)
        cores = (_Core(config, spec.channels) for _ in range(config.num_layers))
        self.layers = nn.Sequential(*(layer(attention=core) for core in cores))
        self.projection = nn.Linear(config.hidden_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        if not self.use_norm:
            return self._forecast(values)
        measured = Standardisation.of(values, mask)
        return measured.restore(self._forecast(measured.remove(values)))

    def _forecast(self, values_BLC: Tensor) -> Tensor:
        tokens_BCD = self.layers(self.dropout(self.embedding(values_BLC.transpose(1, 2))))
        forecast: Tensor = self.projection(tokens_BCD)
        return forecast.view(values_BLC.shape[0], -1, self.spec.horizon, self.spec.outputs).transpose(1, 2)


class _Core(nn.Module):
    """Gathers all channels in a core, and hands it back to each (STAD, "star aggregate-redistribute")."""

    positions: Tensor

    def __init__(self, config: SOFTS, channels: int) -> None:
        super().__init__()
        hidden, core = config.hidden_size, config.core_size
        self.rate = config.position_rate
        self.position_scale = nn.Parameter(torch.ones(())) if config.sharp else None
        if config.sharp:
            self.register_buffer("positions", sinusoidal_positions(channels, hidden), persistent=False)
        self.dropout = Dropout(config.dropout if config.sharp else 0.0)
        self.describe = nn.Linear(hidden, hidden)
        self.offer = nn.Linear(hidden, core)
        self.fuse = nn.Linear(hidden + core, hidden)
        self.output = nn.Linear(hidden, hidden)

    def forward(self, tokens_BCD: Tensor, *_: Tensor) -> Tensor:
        tokens_BCD = self._placed(tokens_BCD)
        offers_BCK = self.offer(self.dropout(functional.gelu(self.describe(tokens_BCD))))
        core_BCK = self._pool(offers_BCK)
        if self.training and self.dropout.p:  # each channel has its own dropout mask
            core_BCK = self.dropout(core_BCK.expand_as(offers_BCK))
        # The core is mostly the same for all channels, so its projection is computed once.
        width = tokens_BCD.shape[2]
        own, shared = self.fuse.weight[:, :width], self.fuse.weight[:, width:]
        fused = functional.linear(tokens_BCD, own, self.fuse.bias) + functional.linear(core_BCK, shared)
        result: Tensor = self.output(self.dropout(functional.gelu(fused)))
        return result

    def _placed(self, tokens_BCD: Tensor) -> Tensor:
        if self.position_scale is None:
            return tokens_BCD
        strength: float | Tensor = self.rate
        if self.training:
            strength = tokens_BCD.new_empty(tokens_BCD.shape[0], 1, 1).bernoulli_(self.rate)
        return tokens_BCD + strength * self.position_scale * self.positions

    def _pool(self, offers_BCK: Tensor) -> Tensor:
        """Return the core by stochastic pooling over the channels: sampled in training, else the expectation."""
        if not self.training:
            return (offers_BCK * offers_BCK.softmax(1)).sum(1, keepdim=True)
        # The largest after adding Gumbel noise is a draw by the softmax, without working it out.
        noise = torch.rand(offers_BCK.shape, device=offers_BCK.device).log_().neg_().log_()
        # Much faster than torch's argmax.
        return offers_BCK.gather(1, (offers_BCK.detach() - noise).max(1, keepdim=True).indices)
