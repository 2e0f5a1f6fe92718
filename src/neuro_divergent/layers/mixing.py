"""Mixing layers over time and over features (TSMixer).

Letters: B batch, T time, F feature.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.normalization import BatchNorm, Normalization


class WindowBatchNorm(BatchNorm):
    """Batch normalisation of each number of a window, time by feature, over the windows of a batch."""

    def __init__(self, steps: int, features: int) -> None:
        # The small momentum is that of Keras, which the published results used.
        super().__init__(steps * features, eps=1e-3, momentum=0.01)

    def forward(self, values_BTF: Tensor) -> Tensor:
        return super().forward(values_BTF.flatten(1)).view(values_BTF.shape)


class _Mixing(nn.Module):
    """A residual block with a normalisation over whole windows before it or after the addition."""

    def __init__(
        self, steps: int, inputs: int, outputs: int, dropout: float, norm: Normalization, norm_place: str
    ) -> None:
        super().__init__()
        self._norm_first = norm_place == "before"
        width = inputs if self._norm_first else outputs
        self.norm = WindowBatchNorm(steps, width) if norm == "batch" else nn.LayerNorm((steps, width))
        self.skip = nn.Identity() if inputs == outputs else nn.Linear(inputs, outputs)
        self.dropout = Dropout(dropout)

    def forward(self, values_BTF: Tensor) -> Tensor:
        mixed = self.mix(self.norm(values_BTF) if self._norm_first else values_BTF)
        total: Tensor = self.skip(values_BTF) + self.dropout(mixed)
        return total if self._norm_first else self.norm(total)

    @abstractmethod
    def mix(self, values_BTF: Tensor) -> Tensor:
        """Return the residual branch."""


class TimeMixing(_Mixing):
    """One linear layer over time, the same for every feature, and a rectifier, added to its input.

    Whole windows are normalised over the ``batch`` or the ``layer``, before the mixing or after the addition.
    """

    def __init__(
        self, steps: int, features: int, *, dropout: float, norm: Normalization, norm_place: Literal["before", "after"]
    ) -> None:
        super().__init__(steps, features, features, dropout, norm, norm_place)
        self.linear = nn.Linear(steps, steps)

    def mix(self, values_BTF: Tensor) -> Tensor:
        return torch.relu(self.linear(values_BTF.transpose(1, 2))).transpose(1, 2)


class FeatureMixing(_Mixing):
    """A perceptron over the features, the same for every step, added to its input.

    A linear layer makes the input fit the addition where outputs differ from inputs. Normalised like ``TimeMixing``.
    """

    def __init__(
        self,
        steps: int,
        inputs: int,
        outputs: int,
        *,
        hidden_size: int,
        dropout: float,
        norm: Normalization,
        norm_place: Literal["before", "after"],
    ) -> None:
        super().__init__(steps, inputs, outputs, dropout, norm, norm_place)
        self.perceptron = multilayer_perceptron((inputs, hidden_size, outputs), "ReLU", dropout)

    def mix(self, values_BTF: Tensor) -> Tensor:
        mixed: Tensor = self.perceptron(values_BTF)
        return mixed


def mixing_layer(steps: int, inputs: int, outputs: int, *, hidden_size: int, **settings: Any) -> nn.Sequential:
    """Return a mixing over time followed by one over the features, with the settings of both."""
    return nn.Sequential(
        TimeMixing(steps, inputs, **settings),
        FeatureMixing(steps, inputs, outputs, hidden_size=hidden_size, **settings),
    )
