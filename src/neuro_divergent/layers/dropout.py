"""Dropout with fewer random numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_CHANCES = 2**16
_SMALL = 2048  # numbers; below, the calls take longer than the drawing


class Dropout(nn.Dropout):
    """Sets a random fraction of the values to zero and scales the others up, like ``nn.Dropout``.

    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 2014. On a CPU torch
    draws a random number for each value, which takes a third of the step of a PatchTST. Here one
    random integer of 64 bits decides for four of them, so that the probability is a multiple of 1 / 65,536.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name that torch gives it
        if not self.training or self.p == 0:
            return input
        if input.device.type != "cpu" or input.numel() < _SMALL or self.p == 1:
            return super().forward(input)
        return input * _draw(input, self.p)


def _draw(like: Tensor, rate: float) -> Tensor:
    """Return a factor for each value: 0 with probability ``rate``, else the factor that keeps the mean."""
    dropped = min(round(rate * _CHANCES), _CHANCES - 1)
    random = torch.randint(-(2**63), 2**63 - 1, (-(-like.numel() // 4),)).view(torch.int16)
    kept = random[: like.numel()] >= dropped - _CHANCES // 2
    return kept.view(like.shape).to(like.dtype).mul_(_CHANCES / (_CHANCES - dropped))
