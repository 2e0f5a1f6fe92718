"""The common norm of all gradients."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neuro_divergent.training.parted import put_together


def gradient_norm(parameters: list[nn.Parameter]) -> Tensor:
    """Return the Euclidean norm of all gradients together."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return torch.zeros(())
    return put_together(torch.nn.utils.get_total_norm(gradients)) if is_mixed(gradients) else norm_of(gradients)


def is_mixed(gradients: list[Tensor]) -> bool:
    """Whether gradients are on several devices or of several types."""
    return len({(gradient.device, gradient.dtype) for gradient in gradients}) > 1


def norm_of(gradients: list[Tensor]) -> Tensor:
    """Return the common norm of gradients of one type on one device, also where processes hold parts of them."""
    norm = _joined(torch._foreach_norm(gradients))
    if norm.device.type == "cpu" and math.isinf(norm):  # perhaps it is only the squares that are too large
        largest = torch.stack([put_together(item) for item in torch._foreach_norm(gradients, math.inf)]).max()
        if largest.isfinite():
            norm = largest * _joined(torch._foreach_norm(torch._foreach_div(gradients, largest)))
    return norm


def _joined(norms: tuple[Tensor, ...] | list[Tensor]) -> Tensor:
    """Return the norm of what several norms are of."""
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return put_together(norm)
